"""Which byte of a `.drv` file means what? The core's own tables, as numpy types."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ..binding import ffi, lib

MAGIC = bytes(ffi.buffer(lib.drv_file_magic(), lib.DRV_FILE_MAGIC_BYTES))
VERSION = (lib.DRV_FILE_MAJOR, lib.DRV_FILE_MINOR)
ALIGNMENT_BYTES = lib.DRV_FILE_ALIGNMENT_BYTES


@dataclass(frozen=True)
class Field:
    """One number of the header, or of an entry of the section table; `low` and `high` are allowed."""

    name: str
    type: str
    unit: str
    meaning: str
    low: float
    high: float
    offset: int


@dataclass(frozen=True)
class Kind:
    """One kind of section: an array of a scene with `rows`, or `rows` times `columns`, elements of `type`.

    Every value is from `low` to `high`, unless both are 0, and obeys `rule`, unless it is empty. Files of minor version
    `since` or later have it; in earlier ones it reads as zeros or, where `may_be_nan`, as NaN.
    """

    code: int
    since: int
    name: str
    type: str
    rows: str
    columns: str
    unit: str
    rule: str
    meaning: str
    low: float
    high: float

    @property
    def dtype(self) -> np.dtype:
        """Of an element in the file, little-endian."""
        return np.dtype(f"<{self.type}")

    @property
    def may_be_nan(self) -> bool:
        """Whether NaN is allowed, which then stands for an absent number."""
        return self.rule == "or nan"


def _table(of, ctype, entry):
    """All entries of one of the core's tables."""
    count = of(ffi.NULL, 0)
    native = ffi.new(f"{ctype}[]", count)
    of(native, count)

    def value(found):
        return ffi.string(found).decode() if isinstance(found, ffi.CData) else found

    names = [field.name for field in dataclasses.fields(entry)]
    return tuple(entry(**{name: value(getattr(line, name)) for name in names}) for line in native)


def _record(fields: tuple[Field, ...], size_bytes: int) -> np.dtype:
    return np.dtype({
        "names": [field.name for field in fields], "formats": [f"<{field.type}" for field in fields],
        "offsets": [field.offset for field in fields], "itemsize": size_bytes})


HEADER_FIELDS: tuple[Field, ...] = _table(lib.drv_file_header_fields, "drv_file_field", Field)
ENTRY_FIELDS: tuple[Field, ...] = _table(lib.drv_file_entry_fields, "drv_file_field", Field)
KINDS: tuple[Kind, ...] = _table(lib.drv_file_kinds, "drv_file_kind", Kind)

HEADER = _record(HEADER_FIELDS, lib.DRV_FILE_HEADER_BYTES)
ENTRY = _record(ENTRY_FIELDS, lib.DRV_FILE_ENTRY_BYTES)
