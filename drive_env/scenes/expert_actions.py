"""Which actions does a log stand for? Those with which the vehicle model replays it, computed by the core."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..binding import check, ffi, lib, per_thread
from ..config import DriveConfig
from ..native_config import native_config


class ExpertActions(NamedTuple):
    """The actions with which the vehicle model replays logs, one for each vehicle and pair of successive frames.

    Attributes:
        actions: in the form of `Batch.actions`, with (steps, n) in place of its first axis; where not `valid`, the
            action whose numbers all stand for 0.
        valid: (steps, n) bool, the vehicle is on the map in both frames.
        clipped: (steps, n) bool, the limits of the config do not allow the logged change of speed or heading, which
            the following actions correct.
        slow: (steps, n) bool, the vehicle is too slow for its heading to determine the wheel angle, which is set to 0.
    """

    actions: npt.NDArray[Any]
    valid: npt.NDArray[np.bool_]
    clipped: npt.NDArray[np.bool_]
    slow: npt.NDArray[np.bool_]


def expert_actions(config: DriveConfig, dt_s: float, length_m: npt.NDArray[Any], tracks: Any) -> ExpertActions:
    """The actions that replay tracks.

    Args:
        config: sets the action type, and the model of a vehicle with its limits.
        dt_s: time between two frames, s.
        length_m: (n,) lengths of the vehicles.
        tracks: `x_m`, `y_m`, `heading_rad`, `vx_mps`, `vy_mps` and `valid`, all (frames, n).

    Raises:
        SceneError: a number is outside of the range that the core allows.
    """
    native, kept = native_config(config), []

    def pointer(kind: str, array: npt.NDArray[Any]) -> Any:
        kept.append(np.ascontiguousarray(array, np.float32 if kind == "float" else np.uint8))
        return ffi.from_buffer(f"{kind}[]", kept[-1]) if array.size else ffi.NULL

    frames, count = tracks.valid.shape
    names = ("x_m", "y_m", "heading_rad", "vx_mps", "vy_mps")
    log = ffi.new("drv_log *", dict(
        dt_s=dt_s, frame_count=frames, vehicle_count=count, length_m=pointer("float", length_m),
        valid=pointer("uint8_t", tracks.valid), **{name: pointer("float", getattr(tracks, name)) for name in names}))
    width = lib.drv_action_space_of(native).width
    shape = (frames - 1, count) if width == 1 else (frames - 1, count, width)
    actions = np.zeros(shape, np.float32 if config.action_type == "continuous" else np.int64)
    bits = np.zeros(shape[:2], np.uint8)
    check(lib.drv_expert_actions(native, log, ffi.from_buffer(actions), ffi.from_buffer("uint8_t[]", bits),
                                 per_thread.message), per_thread.message)
    return ExpertActions(actions, *((bits & bit) > 0 for bit in (
        lib.DRV_EXPERT_VALID, lib.DRV_EXPERT_CLIPPED, lib.DRV_EXPERT_SLOW)))
