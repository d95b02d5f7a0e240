"""What is a scene in memory? The arrays that every reader and generator fills.

Coordinates are metres in the scene's own frame; `origin_m` is what was subtracted from the file's coordinates, in
float64. Angles are radians, counter-clockwise from +x. A time step of the log is a *frame*. Heights, z, are metres
above the zero of the source; they are 0 where the source has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..config import ConfigSource, checked_config, config_of_model
from ..errors import plain
from ..names import named_arguments
from .expert_actions import ExpertActions, expert_actions

OBJECT_KINDS = {1: "vehicle", 2: "pedestrian", 3: "cyclist", 4: "other"}
"""Codes of `Objects.kind`; an observation holds code / 4."""

ROAD_KINDS = {1: "lane", 2: "line", 3: "edge", 4: "crosswalk", 5: "stop_sign", 6: "speed_bump", 7: "driveway"}
"""Codes of `Roads.kind`; an observation holds code / 8. Crossing an `edge` is off-road."""

CONTROL_KINDS = {1: "light", 2: "stop", 3: "yield"}
"""Codes of `TrafficControls.kind`."""

LIGHT_STATES = {0: "off", 1: "red", 2: "yellow", 3: "green"}
"""Codes of what a traffic light shows; "off" also where it is unknown."""

OBJECT_KIND_CODES = {name: code for code, name in OBJECT_KINDS.items()}
ROAD_KIND_CODES = {name: code for code, name in ROAD_KINDS.items()}
CONTROL_KIND_CODES = {name: code for code, name in CONTROL_KINDS.items()}
LIGHT_STATE_CODES = {name: code for code, name in LIGHT_STATES.items()}


@dataclass
class Report:
    """Differences between a source and its scene: what was dropped, what was imputed.

    Attributes:
        dropped, imputed: counts by reason.
        notes: other remarks, one sentence each.
    """

    dropped: dict[str, int] = field(default_factory=dict)
    imputed: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, count: int = 1) -> None:
        """Adds `count` to what was dropped for this reason; 0 adds no entry."""
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + int(count)

    def impute(self, reason: str, count: int = 1) -> None:
        """Adds `count` to what was imputed for this reason; 0 adds no entry."""
        if count:
            self.imputed[reason] = self.imputed.get(reason, 0) + int(count)

    def __str__(self) -> str:
        lines = [f"dropped: {reason}: {count}" for reason, count in self.dropped.items()]
        lines += [f"imputed: {reason}: {count}" for reason, count in self.imputed.items()]
        return "\n".join(lines + self.notes) or "nothing dropped, nothing imputed"


@dataclass(frozen=True)
class Provenance:
    """Origin and licence of the data; "" where unknown.

    Attributes:
        dataset: its name, such as "Waymo Open Motion Dataset 1.2".
        licence: the terms, as text.
        source_sha256: of the converted file, 64 lower-case hexadecimal digits.
        converter: the program that wrote the first `.drv` file, and its version.
    """

    dataset: str = ""
    licence: str = ""
    source_sha256: str = ""
    converter: str = ""


def _set_absent(part: Objects | Roads | GoalLists, name: str, like: object, fill: float) -> None:
    """Sets heights or headings that are absent, or all `fill` and of another shape, to `fill` in the shape of `like`.

    So `dataclasses.replace` can change the shape of a part without them.
    """
    values = getattr(part, name)
    if not isinstance(like, np.ndarray) or getattr(values, "shape", None) == like.shape:
        return
    if values is None or (isinstance(values, np.ndarray) and values.dtype.kind == "f"
                          and (np.isnan(values) if np.isnan(fill) else values == fill).all()):
        object.__setattr__(part, name, np.full(like.shape, fill, np.float32))


@dataclass(frozen=True, eq=False)
class Objects:
    """Vehicles, pedestrians and cyclists: n objects over t frames.

    Attributes:
        id: (n,) int64, as in the source.
        kind: (n,) uint8, see `OBJECT_KINDS`.
        length_m, width_m, height_m: (n,) float32, true sizes, above 0.
        goal_m: (n, 2) float32.
        marked_expert: (n,) bool, the source marks it for log replay.
        x_m, y_m, heading_rad, vx_mps, vy_mps: (t, n) float32; meaningful where `valid`, 0 elsewhere.
        valid: (t, n) bool.
        z_m: (t, n) float32, height of the centre of the box; `Objects(z_m=None)`, the default, is 0 everywhere.
        goal_z_m: (n,) float32, height of the centre of the box at the goal; the same.
        goal_heading_rad: (n,) float32, heading with which the goal is to be reached under
            `goal_heading_tolerance_rad`; NaN: that of the lane there. `Objects(goal_heading_rad=None)`, the default,
            is NaN everywhere.
    """

    id: np.ndarray
    kind: np.ndarray
    length_m: np.ndarray
    width_m: np.ndarray
    height_m: np.ndarray
    goal_m: np.ndarray
    marked_expert: np.ndarray
    x_m: np.ndarray
    y_m: np.ndarray
    heading_rad: np.ndarray
    vx_mps: np.ndarray
    vy_mps: np.ndarray
    valid: np.ndarray
    z_m: np.ndarray = None  # type: ignore[assignment]
    goal_z_m: np.ndarray = None  # type: ignore[assignment]
    goal_heading_rad: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _set_absent(self, "z_m", self.x_m, 0.0)
        _set_absent(self, "goal_z_m", self.length_m, 0.0)
        _set_absent(self, "goal_heading_rad", self.length_m, np.nan)

    @property
    def count(self) -> int:
        """n."""
        return len(self.id)

    @property
    def frame_count(self) -> int:
        """t."""
        return len(self.valid)


@dataclass(frozen=True, eq=False)
class Roads:
    """Polylines of the map, r of them, p points in all.

    Attributes:
        id: (r,) int64, as in the source, or imputed in file order.
        kind: (r,) uint8, see `ROAD_KINDS`.
        start: (r + 1,) int32; polyline i is points start[i] to start[i + 1]. A single point is allowed.
        x_m, y_m: (p,) float32.
        width_m: (r,) float32, lane width, 0 where unknown.
        speed_limit_mps: (r,) float32, 0 where unknown.
        z_m: (p,) float32, heights; `Roads(z_m=None)`, the default, is 0 everywhere.
    """

    id: np.ndarray
    kind: np.ndarray
    start: np.ndarray
    x_m: np.ndarray
    y_m: np.ndarray
    width_m: np.ndarray
    speed_limit_mps: np.ndarray
    z_m: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _set_absent(self, "z_m", self.x_m, 0.0)

    @property
    def count(self) -> int:
        """r."""
        return len(self.id)


@dataclass(frozen=True, eq=False)
class LaneGraph:
    """Successors of lanes: those of road i are successor[start[i]:start[i + 1]], road indices.

    Attributes:
        start: (r + 1,) int32; roads that are no lanes have no successors.
        successor: (e,) int32.
    """

    start: np.ndarray
    successor: np.ndarray

    def after(self, road: int) -> np.ndarray:
        """(n,) int32, road indices of the successors of lane `road`; empty if it is no lane."""
        return self.successor[self.start[road] : self.start[road + 1]]


@dataclass(frozen=True, eq=False)
class TrafficControls:
    """Traffic lights, stop signs and yield signs: c controls over t frames, each with a stop line.

    A light with phases runs them as a program, over and over; one without shows its logged states.

    Attributes:
        kind: (c,) uint8, see `CONTROL_KINDS`.
        line_m: (c, 4) float32, stop line: x and y of its left end, then of its right end, as approaching traffic sees
            it. Traffic that crosses the line from the near side to the far one must obey the control.
        start: (c + 1,) int32; control i applies to the lanes lane[start[i]:start[i + 1]].
        lane: (k,) int32, road indices.
        state: (t, c) uint8, logged states, see `LIGHT_STATES`; 0 for signs and programs.
        phase_start: (c + 1,) int32; the program of control i is phases phase_start[i] to phase_start[i + 1].
        phase_state: (p,) uint8, what the light shows in each phase.
        phase_s: (p,) float32, duration of each phase.
        offset_s: (c,) float32, time since the first phase of a program began, at frame 0.
        junction: (c,) int32, from 0 to c - 1: the programs of all controls with this number are shifted by a share of
            their cycle that is drawn for each episode; -1: not shifted.
    """

    kind: np.ndarray
    line_m: np.ndarray
    start: np.ndarray
    lane: np.ndarray
    state: np.ndarray
    phase_start: np.ndarray
    phase_state: np.ndarray
    phase_s: np.ndarray
    offset_s: np.ndarray
    junction: np.ndarray

    @property
    def count(self) -> int:
        """c."""
        return len(self.kind)


def no_traffic_controls(frame_count: int) -> TrafficControls:
    """The controls of a scene that has none."""
    return logged_traffic_controls(
        np.zeros(0, np.uint8), np.zeros((0, 4), np.float32), np.zeros(1, np.int32), np.zeros(0, np.int32),
        np.zeros((frame_count, 0), np.uint8))


def logged_traffic_controls(kind: np.ndarray, line_m: np.ndarray, start: np.ndarray, lane: np.ndarray,
                            state: np.ndarray) -> TrafficControls:
    """Controls with logged states and without programs; the arguments are as in `TrafficControls`."""
    count = len(kind)
    return TrafficControls(
        kind=kind, line_m=line_m, start=start, lane=lane, state=state, phase_start=np.zeros(count + 1, np.int32),
        phase_state=np.zeros(0, np.uint8), phase_s=np.zeros(0, np.float32), offset_s=np.zeros(count, np.float32),
        junction=np.full(count, -1, np.int32))


@dataclass(frozen=True, eq=False)
class Scripts:
    """Objects of which an episode has only some, and whose logs wait for an agent: s scripts.

    Each episode draws one option of every group, all equally likely, from a random stream that nothing else uses; it
    holds for all trials of the episode. An object exists only where its option is drawn. It stays in the frame of
    `start_step`, by default frame 0, until the centre of an agent crosses its line; from the next step on, it replays
    its log. Scripts apply to log-replay vehicles; an object with another role, such as an agent, ignores its script.

    Attributes:
        object: (s,) int32, object indices, strictly ascending.
        group: (s,) int32, from 0 to s - 1.
        option: (s,) int32, from 0 to s - 1. A group has the options from 0 to its highest one, also those without an
            object.
        line_m: (s, 4) float32, x and y of the left end of the line, then of its right end, as an agent that crosses
            it sees it.
    """

    object: np.ndarray
    group: np.ndarray
    option: np.ndarray
    line_m: np.ndarray

    @property
    def count(self) -> int:
        """s."""
        return len(self.object)


def no_scripts() -> Scripts:
    """The scripts of a scene that has none."""
    none = np.zeros(0, np.int32)
    return Scripts(none, none, none, np.zeros((0, 4), np.float32))


@dataclass(frozen=True, eq=False)
class GoalLists:
    """The goals of objects after the one in `Objects.goal_m`, for `on_goal="next"`: g goals in all.

    The list of an object is finite: after its last goal the agent is removed. Or it repeats, for laps: then the goal in
    `Objects.goal_m` follows the last one, and after it the list again. An object without a list has its next goals
    along the lanes.

    Attributes:
        object: (g,) int32, object indices, never descending: that of each goal. The goals of an object are in order.
        goal_m: (g, 2) float32.
        goal_z_m: (g,) float32, height of the centre of the box at the goal; `GoalLists(goal_z_m=None)`, the default, is
            0 everywhere.
        goal_heading_rad: (g,) float32, as in `Objects`; None, the default, is NaN everywhere.
        repeating: (r,) int32, object indices, strictly ascending: those whose lists repeat; None, the default: none.
    """

    object: np.ndarray
    goal_m: np.ndarray
    goal_z_m: np.ndarray = None  # type: ignore[assignment]
    goal_heading_rad: np.ndarray = None  # type: ignore[assignment]
    repeating: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _set_absent(self, "goal_z_m", self.object, 0.0)
        _set_absent(self, "goal_heading_rad", self.object, np.nan)
        if self.repeating is None:
            object.__setattr__(self, "repeating", np.zeros(0, np.int32))

    @property
    def count(self) -> int:
        """g."""
        return len(self.object)


def no_goal_lists() -> GoalLists:
    """The lists of a scene that has none."""
    return GoalLists(np.zeros(0, np.int32), np.zeros((0, 2), np.float32))


def _rows(array: object) -> int | None:
    """The length of an array; None of anything else, which `validate_scene` refuses."""
    return len(array) if isinstance(array, np.ndarray) and array.ndim else None


@dataclass(frozen=True, eq=False)
class Scene:
    """Map, tracks and goals. Immutable, shared by all worlds that use it.

    Attributes:
        name: short; need not be unique.
        source: the file, or the generator call.
        generated: True for `generate_scene`; agents of such a scene have no logs.
        dt_s: time between two frames, s.
        origin_m: (2,) float64, subtracted from the source's coordinates.
        objects, roads, lanes: tracks and goals, map, lane graph.
        sdc: object index of the recording vehicle, -1 if unknown.
        tracks_to_predict: object indices that the source names, may be empty.
        objects_of_interest: object indices that the source names as interacting, may be empty.
        candidate_goals_m: (c, 2) float32; where c > 0, each episode draws the goal of each agent among them, the same
            for all its trials, in place of the goal of its object.
        scripts: objects of which each episode draws some, and whose logs wait for an agent.
        goal_lists: the goals of objects after their first one; a scene with candidate goals has none.
        scenario_id: of the source, "" if unknown.
        report: differences from the source.
        provenance: origin and licence of the data.
        traffic_controls: traffic lights and signs; `Scene(traffic_controls=None)`, the default, has none.
    """

    name: str
    source: str
    generated: bool
    dt_s: float
    origin_m: np.ndarray
    objects: Objects
    roads: Roads
    lanes: LaneGraph
    sdc: int = -1
    tracks_to_predict: tuple[int, ...] = ()
    objects_of_interest: tuple[int, ...] = ()
    candidate_goals_m: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.float32))
    scripts: Scripts = field(default_factory=no_scripts)
    goal_lists: GoalLists = field(default_factory=no_goal_lists)
    scenario_id: str = ""
    report: Report = field(default_factory=Report)
    provenance: Provenance = Provenance()
    traffic_controls: TrafficControls = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        # Without controls, the frames of `state` follow those of the objects, which `dataclasses.replace` may replace.
        controls = self.traffic_controls
        has_none = controls is None or (isinstance(controls, TrafficControls) and _rows(controls.kind) == 0)
        if has_none and isinstance(self.objects, Objects):
            object.__setattr__(self, "traffic_controls", no_traffic_controls(_rows(self.objects.valid) or 0))
        for name in ("generated", "dt_s", "sdc"):  # scenes made by hand may hold numpy scalars
            object.__setattr__(self, name, plain(getattr(self, name)))
        for name in ("tracks_to_predict", "objects_of_interest"):
            if isinstance(indices := getattr(self, name), tuple):
                object.__setattr__(self, name, tuple(plain(index) for index in indices))

    @named_arguments
    def expert_actions(self, config: ConfigSource | str | None = None) -> ExpertActions:
        """The actions with which a vehicle model replays the logs, one per object and pair of successive frames.

        `Batch.expert_actions` returns those of a batch's agents, from its start frame on and at its time step. See
        docs/actions.md for what they reproduce.

        Args:
            config: sets the action type, and under `dynamics` the model of a vehicle with its limits; None: the
                defaults. Its other fields are not used. A string is the name of a model: its default limits, and
                discrete actions where it has any.

        Raises:
            ConfigError: there is no such model, or the config is none.
            SceneError: a number of the tracks is outside of the range that the core allows.
        """
        chosen = config_of_model(config) if isinstance(config, str) else checked_config(config)
        return expert_actions(chosen, self.dt_s, self.objects.length_m, self.objects)

    def __repr__(self) -> str:
        return (f"Scene({self.name!r}, {self.objects.count} objects x {self.objects.frame_count} frames, "
                f"{self.roads.count} roads)")


def control_counts(scene: Scene) -> dict[str, int]:
    """The number of traffic lights, stop signs and yield signs, by these words, of the kinds that the scene has."""
    words = dict(zip(CONTROL_KINDS, ("traffic lights", "stop signs", "yield signs"), strict=True))
    counts = {word: int((scene.traffic_controls.kind == code).sum()) for code, word in words.items()}
    return {word: count for word, count in counts.items() if count}
