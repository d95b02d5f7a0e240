"""How are the arrays of a recording compressed? Quantised, differenced along time, split into byte planes, deflated."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np

from ..action_space import action_dimensions
from ..batch import OUTCOMES, REWARD_TERMS
from ..config import DISTURBANCES, disturbances_of, varied_parameters
from ..fields import flat_values
from ..scenes.levels import LEVEL_HEIGHT_M, levels_of, road_pieces
from ..scenes.scene import CONTROL_KINDS, LIGHT_STATES, OBJECT_KINDS, ROAD_KINDS
from .trials import FLAGS, RecordedTrials, Trial, own_features, set_features

CENTIMETRE = 0.01
HEADING_QUANTUM_RAD = np.pi / 2**15
SPEED_QUANTUM_MPS = 0.01
OBSERVED_QUANTUM = 1.0 / 2**15
"""Observations lie in [-1, 1]; this is 1.2 mm/s of a speed, and 1.2 cm of the distance to a goal."""
ACTION_QUANTUM = 1.0 / 2**12

SECOND_ORDER = 2
"""Second differences: small for steady motion."""
FIRST_ORDER = 1
"""First differences: 0 while a value is constant."""

CONFIG_FIELDS = ("goal_radius_m", "goal_reveal_s", "vertical_clearance_m", "partners", "roads", "view_radius_m")
"""Fields of the config that the page reads."""

EXACT = 0.0
"""A quantum that means: store the bits of the float32 values unchanged."""

COUNT_LIMIT = 2.0**31 - 1
"""Counts are 32-bit integers; differences may wrap, and their sums wrap back."""


def pack_recording(recording: RecordedTrials) -> bytes:
    """A zlib stream of the length of the header (uint32), the header (JSON) and the arrays.

    The header's `arrays` holds, by name, the arguments of `encoded` and the offset of the array behind the header.
    """
    store = _Store()
    for number, roles in enumerate(recording.roles):
        _put_scene(store, f"scene{number}/", roles)
    for number, trial in enumerate(recording.trials):
        _put_trial(store, f"trial{number}/", trial, recording.rewarded)
    header = _header(recording) | {"arrays": store.index}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    return zlib.compress(struct.pack("<I", len(text)) + text + b"".join(store.parts), 9)


def encoded(values: np.ndarray, quantum: float, order: int) -> np.ndarray:
    """Values as byte planes, (planes, series, frames) uint8, lowest first; upper planes of zeros are left out.

    Args:
        values: (series, frames).
        quantum: value of one count; with `EXACT` the bits of the float32 values are the counts.
        order: how often counts are replaced by their differences along the frames.
    """
    if quantum == EXACT:
        counts = np.ascontiguousarray(values, np.float32).view(np.int32)
    else:
        rounded = np.rint(values.astype(np.float64) / quantum)
        counts = np.clip(rounded, -COUNT_LIMIT, COUNT_LIMIT).astype(np.int32)
    for _ in range(order):
        counts = np.diff(counts, axis=1, prepend=np.int32(0))
    # Zigzag: the sign goes to the lowest bit, so that small differences of both signs have empty upper planes.
    unsigned = ((counts << 1) ^ (counts >> 31)).view(np.uint32)
    planes = np.stack([(unsigned >> np.uint32(8 * plane)).astype(np.uint8) for plane in range(4)])
    nonzero = [plane + 1 for plane in range(4) if planes[plane].any()]
    return planes[: max(nonzero, default=0)]


class _Store:
    """Encoded arrays, concatenated, and an index of them by name."""

    def __init__(self):
        self.index: dict[str, dict] = {}
        self.parts: list[bytes] = []
        self._offset = 0

    def put(self, name: str, values: np.ndarray, quantum: float = 1.0, order: int = FIRST_ORDER) -> None:
        """Appends values of shape (series, frames), or (n,), which is one series; the rest as for `encoded`."""
        values = np.atleast_2d(values)
        planes = encoded(values, quantum, order)
        series, frames = values.shape
        self.index[name] = {"at": self._offset, "series": series, "frames": frames, "planes": len(planes),
                            "quantum": quantum, "order": order}
        self.parts.append(planes.tobytes())
        self._offset += planes.nbytes


# ---- scenes and trials ----


def _put_scene(store, name, roles):
    roads, objects, controls = roles.scene.roads, roles.scene.objects, roles.scene.traffic_controls
    # Exact, so that the page selects the same k nearest segments as the core.
    for field in ("x_m", "y_m", "width_m"):
        store.put(f"{name}road_{field}", getattr(roads, field), EXACT)
    store.put(f"{name}road_start", roads.start)
    store.put(f"{name}road_kind", roads.kind)
    if len(levels_of(roads)):
        store.put(f"{name}road_z_m", roads.z_m, EXACT)
    for field, values in road_pieces(roads)._asdict().items():
        store.put(f"{name}piece_{field}", values)
    store.put(f"{name}length_m", objects.length_m[roles.objects], EXACT)
    store.put(f"{name}width_m", objects.width_m[roles.objects], EXACT)
    store.put(f"{name}kind", objects.kind[roles.objects])
    store.put(f"{name}control_kind", controls.kind)
    store.put(f"{name}control_line_m", controls.line_m.T, CENTIMETRE, 0)
    store.put(f"{name}candidate_m", roles.scene.candidate_goals_m.T, EXACT)
    store.put(f"{name}script_line_m", roles.scripts.line_m.T, CENTIMETRE, 0)
    for field in ("group", "option", "options"):
        store.put(f"{name}script_{field}", getattr(roles.scripts, field))


def _put_trial(store, name, trial, rewarded):
    store.put(f"{name}goal_x_m", trial.goal_m[:, :, 0].T, EXACT)
    store.put(f"{name}goal_y_m", trial.goal_m[:, :, 1].T, EXACT)
    # 0 stands for any heading, and the headings themselves are from pi to 3 pi.
    turned_rad = np.nan_to_num(np.mod(trial.goal_heading_rad, 2 * np.pi) + np.pi)
    store.put(f"{name}goal_heading_rad", turned_rad.T, HEADING_QUANTUM_RAD)
    store.put(f"{name}respawns", trial.respawns.T)
    store.put(f"{name}weights", trial.weights.T, EXACT)
    store.put(f"{name}hidden", np.array([*trial.hidden.values()]).reshape(len(trial.hidden), len(trial.weights)), EXACT)
    store.put(f"{name}x_m", trial.x_m.T, CENTIMETRE, SECOND_ORDER)
    store.put(f"{name}y_m", trial.y_m.T, CENTIMETRE, SECOND_ORDER)
    store.put(f"{name}z_m", trial.z_m.T, CENTIMETRE, SECOND_ORDER)
    heading_rad = np.unwrap(trial.heading_rad.astype(np.float64), axis=0)
    store.put(f"{name}heading_rad", heading_rad.T, HEADING_QUANTUM_RAD, SECOND_ORDER)
    store.put(f"{name}speed_mps", trial.speed_mps.T, SPEED_QUANTUM_MPS, SECOND_ORDER)
    store.put(f"{name}present", trial.present.T)
    store.put(f"{name}follows_log", trial.follows_log.T)
    store.put(f"{name}rewards", trial.rewards.T, EXACT)
    # One array per term: that of a term without a reward has no bytes.
    for term, sums in zip(rewarded, np.moveaxis(trial.reward_sums, 2, 0), strict=True):
        store.put(f"{name}reward_sum_{term}", sums.T, EXACT)
    store.put(f"{name}events", _bits(np.moveaxis(trial.events, 2, 0)).T)
    store.put(f"{name}flags", _bits([trial.flags[flag] for flag in FLAGS]).T)
    store.put(f"{name}disturbances", _bits([trial.blind, trial.braking]).T)
    store.put(f"{name}outcome", trial.outcome.T)
    store.put(f"{name}light_state", trial.light_state.T)
    store.put(f"{name}script_frame", trial.script_frame.T)
    store.put(f"{name}actions", _series(trial.actions), ACTION_QUANTUM)
    store.put(f"{name}own", _series(trial.own), OBSERVED_QUANTUM, SECOND_ORDER)
    store.put(f"{name}sets", _series(trial.sets), OBSERVED_QUANTUM, SECOND_ORDER)


def _bits(arrays):
    """Bool arrays as one integer array, the first of them as the lowest bit."""
    return sum(np.asarray(array, np.int32) << bit for bit, array in enumerate(arrays))


def _series(values):
    """(frames, R, n) as (R n, frames)."""
    return values.reshape(len(values), -1).T


def _header(recording: RecordedTrials) -> dict:
    config, own = recording.config, own_features(recording.layout)
    return {
        "config": {name: value for name, value in flat_values(config).items() if name in CONFIG_FIELDS},
        "terms": REWARD_TERMS, "rewarded": recording.rewarded, "has_own_reward": recording.has_own_reward,
        "drawn_terms": _drawn_terms(config), "hidden": varied_parameters(config.hidden),
        "disturbances": {name: 1 << DISTURBANCES.index(name) for name in disturbances_of(config)},
        "controls": [{"name": one.name, "unit": one.unit} for one in action_dimensions(config)],
        "events": recording.events, "flags": FLAGS, "outcomes": OUTCOMES,
        "object_kinds": OBJECT_KINDS, "road_kinds": ROAD_KINDS,
        "control_kinds": CONTROL_KINDS, "light_states": LIGHT_STATES,
        "own": [_feature(feature) for feature in own],
        "sets": [_feature(feature) | {"slots": feature.slots} for feature in set_features(recording.layout)],
        "slots": [_feature(feature) for feature in recording.layout.values() if feature not in own],
        "scenes": [_scene_header(roles) for roles in recording.roles],
        "trials": [_trial_header(trial) for trial in recording.trials],
    }


def _drawn_terms(config):
    """The reward terms whose weights are drawn, each agent's own."""
    ranges = config.reward_ranges.to_dict().values() if config.draw_reward_weights else ()
    return [term for term, span in zip(REWARD_TERMS, ranges) if span is not None]


def _feature(feature):
    return {"name": feature.name, "unit": feature.unit, "meaning": feature.meaning, "scale": feature.scale}


def _scene_header(roles):
    # Ids are 64-bit integers; JavaScript's numbers are not.
    ids = [str(number) for number in roles.scene.objects.id[roles.objects]]
    return {"name": roles.scene.name, "dt_s": roles.dt_s, "agents": roles.num_agents,
            "log_replays": roles.log_replay_count, "rule_based": roles.rule_based_count, "ids": ids,
            "has_levels": len(levels_of(roles.scene.roads)) > 0, "level_height_m": LEVEL_HEIGHT_M}


def _trial_header(trial: Trial):
    return {"episode": trial.episode, "index": trial.index, "scene": trial.scene, "frames": trial.frame_count,
            "coplayers": np.flatnonzero(trial.coplayer).tolist()}
