"""What is a file that no reader reads? Named by its content, with what to do with it."""

from __future__ import annotations

import re

from ...errors import value_text
from ..json_text import looks_like_json

HEAD_BYTES = 2**20
"""The first bytes that are examined: the tables of a database and the root element of an XML file stand there."""

CRC32C_POLYNOMIAL = 0x82F63B78
"""Castagnoli, reflected, as RFC 3720 defines it."""

CRC32C_MASK = 0xA282EAD8
"""What TFRecords add to a CRC, after they have rotated it by 15 bits."""

NOT_YET = "drive-env has no reader for it yet"
LOGIN_PAGE = "a server sends such a page in place of a file where a download needs a login, or failed"

SQLITE = b"SQLite format 3\0"
NUPLAN_TABLES = (b"lidar_pc", b"ego_pose", b"scenario_tag")
GEOPACKAGE_AT, GEOPACKAGE = 68, b"GPKG"
TAR_AT, TAR = 257, b"ustar"
LFS = b"version https://git-lfs.github.com/spec/"

MAGIC = (
    (b"PAR1", "a parquet file, as Argoverse 2 has for its scenarios", NOT_YET),
    (b"\x93NUMPY", "a NumPy array (.npy)", "drive-env reads no scenes from arrays; build_scene makes them"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", NOT_YET),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture", "it holds no scene"),
    (b"BZh", "a file compressed by bzip2", "decompress it; gzip is the only compression that is read"),
    (b"\xfd7zXZ\0", "a file compressed by xz", "decompress it; gzip is the only compression that is read"),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd", "decompress it; gzip is the only compression that is read"),
)
"""First bytes of a file, what it is, and what to do."""

XML_ROOTS = {
    "OpenDRIVE": "an OpenDRIVE map (XML{})",
    "OpenSCENARIO": "an OpenSCENARIO scenario (XML)",
    "osm": "an OpenStreetMap file (XML)",
    "net": "a SUMO network (XML)",
    "routes": "the routes of a SUMO simulation (XML)",
}
"""By the name of the root element; {} stands for the version."""

OPENDRIVE_VERSION = re.compile(
    rb"revMajor\s*=\s*[\"'](\d{1,3})[\"'][^>]{0,200}?revMinor\s*=\s*[\"'](\d{1,3})[\"']")

LANELET = re.compile(rb"v\s*=\s*[\"'](?:lanelet|multipolygon)[\"']")
ROOT = re.compile(rb"<([A-Za-z_][\w.:-]{0,60})")
HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SPACE = b" \t\r\n"
COMMENTS = ((b"<!--", b"-->"),)
XML_PROLOG = (*COMMENTS, (b"<?", b"?>"), (b"<!", b">"))
"""First and last bytes of what can be before the first element."""

TEXT_BYTES, TEXT_LEAST_BYTES, TEXT_SHOWN = 4096, 16, 40
"""Bytes of text that are examined, below which nothing is called text, and characters that the error shows."""

INTERACTION_HEADER = (b"track_id,frame_id", b"case_id,track_id")


def described_foreign(data: bytes) -> str | None:
    """What the file is and what to do, as the end of an error; None if it is of no known foreign format.

    Args:
        data: the decompressed file, or at least its first `HEAD_BYTES`.
    """
    head = data[:HEAD_BYTES]
    for describe in (_magic, _database, _archive, _pickle, _tfrecord, _text):
        found = describe(head)
        if found is not None:
            return f"it is {found[0]}; {found[1]}"
    return None


def _magic(head):
    return next(((what, advice) for magic, what, advice in MAGIC if head.startswith(magic)), None)


def _database(head):
    if not head.startswith(SQLITE):
        return None
    if all(table in head for table in NUPLAN_TABLES):
        return "a log of nuPlan (an SQLite database)", NOT_YET
    if head[GEOPACKAGE_AT : GEOPACKAGE_AT + len(GEOPACKAGE)] == GEOPACKAGE:
        return "a GeoPackage (an SQLite database), as nuPlan has for its maps", NOT_YET
    return "an SQLite database, but no log of nuPlan", "it holds no scene that drive-env could read"


def _archive(head):
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
        if name.endswith(b".npy"):
            return "a NumPy archive (.npz)", "drive-env reads no scenes from arrays; build_scene makes them"
        return "a zip archive", "unpack it and pass its files or folders"
    if head[TAR_AT : TAR_AT + len(TAR)] == TAR:
        return "a tar archive", "unpack it and pass its files or folders"
    return None


def _pickle(head):
    # Protocol 2 to 5, then the first operation: a frame, an empty dict, list or tuple, a mark, or a global.
    if len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5 and head[2:3] in (b"\x95", b"}", b"]", b")", b"(", b"c"):
        return "a Python pickle, as ScenarioNet has for its scenarios", NOT_YET
    return None


def _tfrecord(head):
    # The length of the first record, then its CRC.
    if len(head) < 12 or int.from_bytes(head[8:12], "little") != _masked(_crc32c(head[:8])):
        return None
    what = "a TFRecord file"
    if b"roadgraph_samples/" in head or b"state/" in head:
        return f"{what} of tf.Example records, as the Waymo Open Motion Dataset has", NOT_YET
    return f"{what}, as the Waymo Open Motion Dataset has", NOT_YET


def _text(head):
    if head.startswith(LFS):
        size = re.search(rb"\nsize (\d{1,18})\n", head)
        of_bytes = f" to a file of {int(size[1]):,} bytes" if size else ""
        return f"a Git-LFS pointer{of_bytes}, not the file itself", "get that with: git lfs pull"
    if HTML.match(head, _behind(head, COMMENTS)):
        return "an HTML page", LOGIN_PAGE
    return _xml(head) or _csv(head) or _other_text(head)


def root_element(data: bytes) -> str | None:
    """The name of the first element of an XML document; None if the data are none."""
    head = data[:HEAD_BYTES]
    root = ROOT.match(head, _behind(head, XML_PROLOG))
    return root[1].decode() if root else None


def _behind(head, parts):
    """The byte behind the space, comments and other parts that a document begins with; these are (first, last) bytes.

    A loop and not a regular expression, which would take exponential time for many comments.
    """
    at = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
    while True:
        while at < len(head) and head[at] in SPACE:
            at += 1
        end = next((last for first, last in parts if head.startswith(first, at)), None)
        behind = -1 if end is None else head.find(end, at)
        if behind < 0:
            return at
        at = behind + len(end)


def _xml(head):
    name = root_element(head)
    if name is None:
        return None
    if name not in XML_ROOTS:
        return f"an XML document with the root element {name!r}", "drive-env has no reader for it"
    if name == "osm" and LANELET.search(head):
        return "a Lanelet2 map (XML)", NOT_YET
    version = OPENDRIVE_VERSION.search(head)
    return XML_ROOTS[name].format(f", version {b'.'.join(version.groups()).decode()}" if version else ""), NOT_YET


def _csv(head):
    # Two lines of text with as many commas, of which the first has no numbers.
    lines = [line.rstrip(b"\r") for line in head.removeprefix(BYTE_ORDER_MARK).split(b"\n", 2)[:2]]
    if len(lines) < 2 or not re.fullmatch(rb"[ -~\t]+", lines[0]) or not re.fullmatch(rb"[\t -~\x80-\xff]+", lines[1]):
        return None
    separators = [separator for separator in b",;\t" if lines[0].count(separator) == lines[1].count(separator) > 0]
    cells = re.split(rb"[,;\t]", lines[0])
    if not separators or not all(re.fullmatch(rb"\s*\"?[A-Za-z_][^{}\[\]:]*", cell) for cell in cells):
        return None
    if lines[0].startswith(INTERACTION_HEADER):
        return "a table of tracks of the INTERACTION dataset (csv)", NOT_YET
    names = ", ".join(cell.decode().strip(' "')[:20] for cell in cells[:4]) + (", ..." if len(cells) > 4 else "")
    return f"a table (csv) with the columns {names}", "drive-env has no reader for it"


def _other_text(head):
    sample = head[:TEXT_BYTES]
    if looks_like_json(sample) or not re.fullmatch(rb"[\t\n\r -~\x80-\xff]{%d,}" % TEXT_LEAST_BYTES, sample):
        return None
    try:
        text = sample.decode()
    except UnicodeDecodeError as error:
        # The sample may end within a character.
        if error.end < len(sample) or len(sample) < TEXT_BYTES:
            return None
        text = sample[: error.start].decode()
    first = text.lstrip("\ufeff\t\n\r ")
    if first.startswith("["):
        return "JSON, but its outermost value is an array", "that of a scene is an object"
    return f"text that begins {value_text(first.split(chr(10), 1)[0][:TEXT_SHOWN])}", (
        "it is neither JSON nor XML nor a table")


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (CRC32C_POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _masked(crc):
    return ((crc >> 15 | crc << 17) + CRC32C_MASK) & 0xFFFFFFFF
