"""Is a file of another format named, and never read as a layout that it does not have?"""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sqlite3
import struct
import tarfile
import time
import zipfile

import numpy as np
import pytest
from bin_writer import small_file
from json_writer import small_json
from samples import sample
from small_scene import small_scene

from drive_env.errors import SceneError
from drive_env.scenes import load_scene
from drive_env.scenes.readers import READERS, source
from drive_env.scenes.readers.drv.write import drv_bytes
from drive_env.scenes.readers.foreign import described_foreign


def refusal(path):
    with pytest.raises(SceneError) as caught:
        load_scene(path)
    return str(caught.value).removeprefix(f"{path}: ")


def crc32c(data):
    """By polynomial division bit by bit, most significant bit first; the code has the reflected form."""
    def reversed_bits(value, width):
        return int(f"{value:0{width}b}"[::-1], 2)

    value = 0xFFFFFFFF
    for byte in data:
        value ^= reversed_bits(byte, 8) << 24
        for _ in range(8):
            value = (value << 1) & 0xFFFFFFFF ^ (0x1EDC6F41 if value >> 31 else 0)
    return reversed_bits(value, 32) ^ 0xFFFFFFFF


def record(data):
    """A TFRecord."""
    def masked(part):
        crc = crc32c(part)
        return struct.pack("<I", ((crc >> 15) + (crc << 17) + 0xA282EAD8) % 2**32)

    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def database(folder, *tables):
    path = folder / "tables.db"
    with sqlite3.connect(path) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (token BLOB)")
    connection.close()
    return path.read_bytes()


def zipped(**files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("scene.json")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"{}\n"))
    return packed.getvalue()


def numpy_array():
    packed = io.BytesIO()
    np.save(packed, np.zeros(3))
    return packed.getvalue()


def numpy_archive():
    packed = io.BytesIO()
    np.savez(packed, x=np.zeros(3))
    return packed.getvalue()


PROLOG = b'<?xml version="1.0" encoding="UTF-8"?>\n<!-- <html> made by hand -->\n'
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0f" * 32 + b"\nsize 193936\n"

FOREIGN = {
    "TFRecord": (record(b"\x2a\x10a Scenario"), "a TFRecord file, as the Waymo Open Motion Dataset has"),
    "TFRecord of tf.Example": (record(b"\x0a\x18\x0a\x16\x0a\x0cstate/past/x\x12\x00"), "of tf.Example records"),
    **{f"pickle {protocol}": (pickle.dumps({"id": "sd_x", "length": 91}, protocol=protocol), "a Python pickle")
       for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    "pickle of a list": (pickle.dumps([], protocol=4), "a Python pickle"),
    "OpenDRIVE": (PROLOG + b'<OpenDRIVE>\n<header revMajor="1" revMinor="4" name="a"/></OpenDRIVE>',
                  "an OpenDRIVE map (XML, version 1.4)"),
    "OpenDRIVE without a version": (b"\xef\xbb\xbf<OpenDRIVE><road/></OpenDRIVE>", "an OpenDRIVE map (XML)"),
    "OpenSCENARIO": (PROLOG + b"<OpenSCENARIO/>", "an OpenSCENARIO scenario (XML)"),
    "Lanelet2": (b"<osm version='0.6'><relation id='1'><tag k='type' v='lanelet'/></relation></osm>",
                 "a Lanelet2 map (XML)"),
    "OpenStreetMap": (PROLOG + b"<osm version='0.6'><node id='1'/></osm>", "an OpenStreetMap file (XML)"),
    "SUMO": (b"<net version='1.9'/>", "a SUMO network (XML)"),
    "XML": (PROLOG + b"<!DOCTYPE note>\n<note/>", "an XML document with the root element 'note'"),
    "HTML": (b"\n<!DOCTYPE html><html><body>Log in</body></html>", "an HTML page; a server sends such a page in place"),
    "HTML without a type": (b"<!-- x --><HTML lang='en'>", "an HTML page"),
    "parquet": (b"PAR1\x15\x04\x15" + bytes(60) + b"PAR1", "a parquet file"),
    "zip": (zipped(**{"scene.json": b"{}"}), "a zip archive; unpack it"),
    "an empty zip": (zipped(), "a zip archive"),
    "npz": (numpy_archive(), "a NumPy archive (.npz)"),
    "npy": (numpy_array(), "a NumPy array (.npy)"),
    "tar": (tarred(), "a tar archive; unpack it"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(80), "an HDF5 file"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(80), "a PNG picture"),
    "bzip2": (b"BZh91AY&SY" + bytes(80), "compressed by bzip2; decompress it"),
    "xz": (b"\xfd7zXZ\0" + bytes(80), "compressed by xz"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(80), "compressed by zstd"),
    "LFS": (LFS, "a Git-LFS pointer to a file of 193,936 bytes, not the file itself; get that with: git lfs pull"),
    "LFS without a size": (LFS[:60], "a Git-LFS pointer, not"),
    "INTERACTION": (b"track_id,frame_id,timestamp_ms,agent_type,x,y\n1,1,100,car,1002.5,980.1\n",
                    "a table of tracks of the INTERACTION dataset (csv)"),
    "csv": (b'"id",x,y,speed,length\r\n7,1.5,2.0,3.0,4.5\r\n',
            "a table (csv) with the columns id, x, y, speed, ..."),
    "semicolons": (b"frame; x\n1; 2.5\n", "a table (csv) with the columns frame, x;"),
    "an array": (b' [{"objects": []}, {"roads": []}]', "JSON, but its outermost value is an array"),
    "nearly JSON": (b"{objects: [], roads: []}", "text that begins '{objects: [], roads: []}'; it is neither JSON"),
    "text": (b"# Scenes\n\nSome of them are here.\n", "text that begins '# Scenes'; it is neither JSON nor XML"),
    "text of two bytes a character": ("é".encode() * 4000, "text that begins 'é"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_named_and_no_reader_reports_a_number_of_its_own_layout(name, tmp_path):
    content, words = FOREIGN[name]
    path = tmp_path / "scene.bin"
    formats = "; formats that can be read are " + ", ".join(reader.format for reader in READERS)
    for stored in (content, gzip.compress(content)):
        path.write_bytes(stored)
        found = refusal(path)
        assert found.startswith("it is ") and found.endswith(formats) and words in found
        assert "num_objects" not in found and "PufferDrive" not in found.removesuffix(formats)


@pytest.mark.parametrize(("tables", "words"), [
    (("lidar_pc", "ego_pose", "scenario_tag", "lidar_box"), "a log of nuPlan (an SQLite database)"),
    (("lidar_pc", "ego_pose"), "an SQLite database, but no log of nuPlan"),
    ((), "an SQLite database, but no log of nuPlan")])
def test_a_database_is_named_by_its_tables(tables, words, tmp_path):
    content = database(tmp_path, *tables) or b"SQLite format 3\0" + bytes(84)
    assert words in described_foreign(content)


def test_a_geopackage_is_named(tmp_path):
    content = bytearray(database(tmp_path, "gpkg_contents"))
    content[68:72] = b"GPKG"
    assert "a GeoPackage (an SQLite database), as nuPlan has for its maps" in described_foreign(bytes(content))


@pytest.mark.parametrize("content", [small_file(), small_json(), drv_bytes(small_scene()), b"{", b"[]", b"", b"\0" * 99,
                                     b"\xff" * 99, b"\x80\x03", record(b"")[:11], b"a,b\nc\n", b"1,2\n3,4\n"])
def test_a_scene_and_unknown_bytes_are_not_foreign(content):
    assert described_foreign(content) is None


def test_a_flipped_bit_in_the_length_makes_no_tfrecord():
    content = FOREIGN["TFRecord"][0]
    for bit in range(96):
        flipped = (int.from_bytes(content, "little") ^ 1 << bit).to_bytes(len(content), "little")
        assert "TFRecord" not in (described_foreign(flipped) or "")


@pytest.mark.parametrize("head", [b"<!---->", b"<!-- ", b"<? ?>", b"<!a>", b" ", b"\n<!---->", b'revMajor="1" ',
                                  b"<OpenDRIVE revMajor='1'"])
def test_heads_of_many_parts_take_little_time(head):
    start_s = time.process_time()
    for tail in (b"\0", b"<", b""):
        described_foreign(head * (2**20 // len(head)) + tail)
    assert time.process_time() - start_s < 5.0


def test_a_file_beyond_the_limit_is_named_by_its_head(tmp_path, monkeypatch):
    """Databases of logs are larger than what is read into memory."""
    content = database(tmp_path, "lidar_pc", "ego_pose", "scenario_tag")
    path = tmp_path / "large.db"
    for stored in (content, gzip.compress(content)):
        path.write_bytes(stored)
        monkeypatch.setattr(source, "FILE_LIMIT_BYTES", len(stored) - 1)
        assert refusal(path).startswith("it is a log of nuPlan (an SQLite database); ")
    path.write_bytes(b"\x1f\x8b\x08" + b"\xff" * len(stored))
    assert "it must have 1 to" in refusal(path)


def test_a_compressed_file_that_grows_beyond_the_limit_is_named(tmp_path, monkeypatch):
    path = tmp_path / "map.xodr.gz"
    path.write_bytes(gzip.compress(b"<OpenDRIVE>" + b" " * 100_000))
    monkeypatch.setattr(source, "FILE_LIMIT_BYTES", 50_000)
    assert refusal(path).startswith("it is an OpenDRIVE map (XML); ")


@pytest.mark.parametrize(("name", "words"), [
    ("womd/motion_data_one_scenario.tfrecord", "a TFRecord file, as the Waymo"),
    ("scenarionet/sd_waymo_v1.2_eb4b91b10ca94ff2.pkl", "a Python pickle"),
    ("opendrive/Town01.xodr.gz", "an OpenDRIVE map (XML, version 1.4)"),
    ("opendrive/simple_4way_intersection.xodr", "an OpenDRIVE map (XML, version 1.5)"),
    ("nuplan/synthetic_nuplan.db", "a log of nuPlan"),
    ("realism/synth_inputs.npz", "a NumPy archive"),
    ("README.md", "text that begins '# Real samples'")])
def test_real_files_are_named(name, words):
    content = sample(name).read_bytes()
    found = described_foreign(gzip.decompress(content) if name.endswith(".gz") else content)
    assert words in found


def test_json_of_another_kind_is_left_to_the_reader_of_json():
    assert described_foreign(json.dumps({"type": "FeatureCollection", "features": []}).encode()) is None
