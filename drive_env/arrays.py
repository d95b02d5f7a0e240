"""Which arrays does a batch share with the core? One table: name, type, shape, which array the core calls it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .config import DriveConfig
from .errors import ConfigError, DriveMemoryError, shown

ALIGNMENT_BYTES = 64
"""A cache line: arrays begin on one, so that two threads never write to the same line at a border."""


@dataclass(frozen=True)
class Shared:
    """One shared array: `shape` is made of R agents, W worlds, O entries an observation, A numbers an action, V vehicles
    a world and nobody before them, 8 numbers a record."""

    name: str
    dtype: type
    shape: str
    ctype: str


SHARED = (
    Shared("rewards", np.float32, "R", "float[]"),
    Shared("terminations", np.bool_, "R", "uint8_t[]"),
    Shared("truncations", np.bool_, "R", "uint8_t[]"),
    Shared("trial_ended", np.bool_, "R", "uint8_t[]"),
    Shared("truncation", np.bool_, "R", "uint8_t[]"),
    Shared("invalid_step", np.bool_, "R", "uint8_t[]"),
    Shared("first", np.bool_, "R", "uint8_t[]"),
    Shared("trial_index", np.int32, "R", "int32_t[]"),
    Shared("removed", np.bool_, "R", "uint8_t[]"),
    Shared("stopped", np.bool_, "R", "uint8_t[]"),
    Shared("waits", np.bool_, "R", "uint8_t[]"),
    Shared("outcome", np.uint8, "R", "uint8_t[]"),
    Shared("code", np.uint16, "R", "uint16_t[]"),
    Shared("scene_index", np.int32, "W", "int32_t[]"),
)


def shared_table(config: DriveConfig) -> tuple[Shared, ...]:
    """All shared arrays, actions and observations among them in the form that the config asks for."""
    actions = {
        "discrete": Shared("actions", np.int64, "R", "int64_t[]"),
        "multi_discrete": Shared("actions", np.int64, "RA", "int64_t[]"),
        "continuous": Shared("actions", np.float32, "RA", "float[]"),
    }[config.action_type]
    observations = {
        "float32": (Shared("observations", np.float32, "RO", "uint8_t[]"),),
        "float16": (Shared("observations", np.float16, "RO", "uint8_t[]"),),
        "index": (Shared("observations", np.uint8, "RO", "uint8_t[]"),
                  Shared("vehicle_table", np.float32, "WV8", "float[]")),
    }[config.observation_type]
    return (actions, *observations, *SHARED)


def allocate(table: tuple[Shared, ...], sizes: dict[str, int], given: dict | None) -> dict[str, np.ndarray]:
    """Arrays for every name of the table: the caller's where given, else views of one block; all zeroed but the
    caller's actions.

    Raises:
        ConfigError: an array given has an unknown name, or a type, shape or layout the core cannot write to.
    """
    if given is not None and not isinstance(given, dict):
        raise ConfigError(f"arrays is {shown(given)}; it must be a dict of numpy arrays by name")
    given = dict(given or {})
    names = {shared.name for shared in table}
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ConfigError(f"arrays has {shown(unknown[0])}; it may have {', '.join(shared.name for shared in table)}")
    shapes = {shared.name: tuple(sizes.get(letter) or int(letter) for letter in shared.shape) for shared in table}
    for shared in table:
        if shared.name in given:
            _check(shared, given[shared.name], shapes[shared.name])

    for name, other in combinations(given, 2):
        if np.may_share_memory(given[name], given[other]):
            raise ConfigError(f"arrays[{name!r}] and arrays[{other!r}] share memory; each must have its own")

    for name, array in given.items():
        if name != "actions":  # what the core never writes is zero, here as in arrays of its own
            array[...] = 0

    made = [shared for shared in table if shared.name not in given]
    offsets, used = {}, 0
    for shared in made:
        offsets[shared.name] = used
        size_bytes = int(np.prod(shapes[shared.name])) * np.dtype(shared.dtype).itemsize
        used += -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    block = aligned_block(used)
    for shared in made:
        shape, start = shapes[shared.name], offsets[shared.name]
        end = start + int(np.prod(shape)) * np.dtype(shared.dtype).itemsize
        given[shared.name] = block[start:end].view(shared.dtype).reshape(shape)
    return given


def aligned_block(size_bytes: int) -> np.ndarray:
    """Zeroed bytes that begin on a cache line.

    Raises:
        DriveMemoryError: there is not so much memory.
    """
    try:
        block = np.zeros(size_bytes + ALIGNMENT_BYTES, np.uint8)
    except (MemoryError, ValueError):  # a ValueError where no array could be so large
        raise DriveMemoryError(f"no memory for {size_bytes} bytes of state and arrays; take fewer worlds") from None
    start = -block.ctypes.data % ALIGNMENT_BYTES
    return block[start : start + size_bytes]


def _check(shared: Shared, array, shape: tuple[int, ...]) -> None:
    wanted = np.dtype(shared.dtype)
    if not isinstance(array, np.ndarray):
        raise ConfigError(f"arrays[{shared.name!r}] is a {type(array).__name__}; it must be a numpy array")
    if array.dtype != wanted or array.shape != shape:
        raise ConfigError(f"arrays[{shared.name!r}] is {array.dtype} of shape {array.shape}; "
                          f"it must be {wanted} of shape {shape}")
    if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
        raise ConfigError(f"arrays[{shared.name!r}] must be C-contiguous, aligned and writeable")
