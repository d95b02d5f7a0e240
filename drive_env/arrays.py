"""The arrays that a batch shares with the core: the table of their names and shapes, and their memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .binding import ffi, lib, table, text
from .errors import ConfigError, DriveMemoryError, a_type, value_text
from .names import check_names

ALIGNMENT_BYTES = 64
"""A cache line: every array begins on one, so that threads that write to different arrays never share a line."""


@dataclass(frozen=True)
class Shared:
    """One shared array, with one entry per world where `per_world`, else per agent."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    per_world: bool
    meaning: str


def shared_table(config, needs, num_worlds: int) -> tuple[Shared, ...]:
    """All shared arrays of a batch, from the core's table.

    Args:
        config: the core's form of the config, a drv_config pointer.
        needs: what drv_batch_plan returned for it, a drv_batch_needs pointer.
        num_worlds: worlds of the batch.
    """
    return tuple(
        Shared(text(field.name), np.dtype(text(field.type)),
               (num_worlds if field.per_world else needs.num_agents,
                *filter(None, (field.columns, field.depth, field.width))),
               bool(field.per_world), text(field.meaning))
        for field in table(lib.drv_array_fields, "drv_array_field", config, needs))


CHANNELS = tuple(shared.name for shared in shared_table(ffi.new("drv_config *"), ffi.new("drv_batch_needs *"), 0)
                 if not shared.per_world and shared.name not in ("actions", "observations"))
"""Names of the arrays that have one number per agent, whatever the config."""


def allocate(table: tuple[Shared, ...], given: Mapping | None) -> dict[str, np.ndarray]:
    """Arrays for every name of the table, zeroed except for the caller's actions.

    Args:
        table: from `shared_table`.
        given: the caller's arrays by name, unchecked, or None; all other arrays become views of one new block.

    Raises:
        ConfigError: a given array has an unknown name, or a type, shape or layout that the core cannot write to.
        DriveMemoryError: the block cannot be allocated.
    """
    # The caller's arrays: known names, the form that the core writes, memory of their own.
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"arrays is {value_text(given)}; it must be a mapping of numpy arrays by name")
    given = dict(given or {})
    check_names("Batch(arrays=...)", given, [shared.name for shared in table], "array")
    for shared in table:
        if shared.name in given:
            _check(shared, given[shared.name])

    for name, other in combinations(given, 2):
        if np.may_share_memory(given[name], given[other]):
            raise ConfigError(f"arrays[{name!r}] and arrays[{other!r}] share memory; each must have its own")

    for name, array in given.items():
        if name != "actions":  # entries that the core never writes are zero, as in new arrays
            array[...] = 0

    # All others, each on a cache line of one block.
    made = [shared for shared in table if shared.name not in given]
    sizes = [int(np.prod(shared.shape)) * shared.dtype.itemsize for shared in made]
    ends = np.cumsum([-(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES for size in sizes], dtype=np.int64).tolist()
    block = aligned_block(ends[-1] if ends else 0)
    for shared, size, start in zip(made, sizes, [0, *ends]):
        given[shared.name] = block[start : start + size].view(shared.dtype).reshape(shared.shape)
    return given


def aligned_block(size_bytes: int) -> np.ndarray:
    """(size_bytes,) uint8 zeros that begin on a cache line.

    Raises:
        DriveMemoryError: they cannot be allocated.
    """
    try:
        block = np.zeros(size_bytes + ALIGNMENT_BYTES, np.uint8)
    except (MemoryError, ValueError):  # ValueError: above the largest size of any array
        raise DriveMemoryError(f"no memory for {size_bytes} bytes of state and arrays; use fewer worlds") from None
    start = -block.ctypes.data % ALIGNMENT_BYTES
    return block[start : start + size_bytes]


def _check(shared: Shared, array) -> None:
    dtype, shape = shared.dtype, shared.shape
    if not isinstance(array, np.ndarray):
        raise ConfigError(f"arrays[{shared.name!r}] is {a_type(type(array))}; it must be a numpy array")
    if array.dtype != dtype or array.shape != shape:
        raise ConfigError(f"arrays[{shared.name!r}] is {array.dtype} of shape {array.shape}; "
                          f"it must be {dtype} of shape {shape}")
    if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
        raise ConfigError(f"arrays[{shared.name!r}] must be C-contiguous, aligned and writeable")
