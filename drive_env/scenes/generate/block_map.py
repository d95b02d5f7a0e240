"""Which map does a string of letters mean? One block a letter, each joined to the one before it, with cars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import SceneError, checked_int, value_text
from .blocks import BLOCKS, RoadKind
from .chain import BlockSpec, assembled, chain
from .lane_map import LaneMap
from .parameters import Parameter, fill_parameters
from .parts import Parts
from .placing import INSET_M, PlacingSpec, Span, most_cars, place
from .rng import Rng
from .roadnet import SPEED_LIMIT_MPS

DEFAULT_AGENTS = 10
"""They fit on every map of one random block with two lanes."""

PARAMETERS = {
    "lanes": Parameter(2, "lanes", "lanes each way of the first road", 1, 3),
    "lane_width_m": Parameter(3.5, "m", "width of every lane", 3.0, 4.5),
    "speed_limit_mps": Parameter(SPEED_LIMIT_MPS, "m/s", "speed limit of all roads but ramps, rings, tolls and parking",
                                 5.0, 25.0),
}

MOST_BLOCKS = 32

LETTER_OF = {kind.name: letter for letter, kind in BLOCKS.items()}

SOCKET = "socket"
"""The parameter that every block has: index of the previous block's road at which it begins, 0 for the leftmost."""

SPEED_SHARE, HEADWAY_S = (0.3, 0.8), (1.0, 3.0)

ROUTE_RANGE_M = (100.0, 260.0)
"""A longer route, at 13.9 m/s and with stops, takes more than the 40 s of a trial. On short maps, any goal is drawn."""

AHEAD_M, AHEAD_SHARE = (45.0, 100.0), 1 / 3
"""Least distance on streets ahead of a car: `AHEAD_SHARE` of the longest on the map, clamped to the range `AHEAD_M`."""

OPEN_M = 20.0
"""No car starts within this distance of the open end of a street, so that there always is a clear goal."""

BEFORE_LINE_M = 13.5
"""Least distance from a car to a stop line, so that it can still stop or drive on."""


def block_specs(blocks: Any) -> tuple[BlockSpec, ...]:
    """The blocks that a caller names, checked.

    Args:
        blocks: a string of letters, or a sequence of letters, names, and pairs of one of these and a mapping of
            parameters.

    Raises:
        ArgumentError: a block has no such parameter.
        SceneError: an unknown letter or name, with its place and the known ones; a value out of its range.
    """
    if isinstance(blocks, str):
        blocks = list(blocks)
    if not isinstance(blocks, Sequence) or isinstance(blocks, (bytes, bytearray)):
        raise SceneError(f"blocks is {value_text(blocks)}; it must be a string of letters, or a list of letters, names "
                         "and pairs of one of these and parameters")
    if not 1 <= len(blocks) <= MOST_BLOCKS:
        raise SceneError(f"blocks has {len(blocks)} blocks; it must have from 1 to {MOST_BLOCKS}")
    return tuple(_spec(at, block) for at, block in enumerate(blocks))


def _spec(at, block):
    name, values = block if isinstance(block, (tuple, list)) and len(block) == 2 else (block, {})
    letter = LETTER_OF.get(name, name) if isinstance(name, str) else None
    if letter not in BLOCKS:
        known = ", ".join(f"{letter!r} ({kind.name})" for letter, kind in BLOCKS.items())
        raise SceneError(f"blocks[{at}] is {value_text(block)}; it must be one of {known}, or a pair of one of these "
                         "and a mapping of parameters")
    if not isinstance(values, Mapping):
        raise SceneError(f"the parameters of blocks[{at}] are {value_text(values)}; they must be a mapping of values "
                         "by name")
    socket = values.get(SOCKET)
    if socket is not None:
        socket = checked_int(f"{SOCKET} of blocks[{at}]", socket, 0, 2, SceneError)
    known = {name: choice.parameter for name, choice in BLOCKS[letter].choices.items()}
    own = {name: value for name, value in values.items() if name != SOCKET}
    try:
        filled = fill_parameters(f"block {letter!r}", known, own, (SOCKET,))
    except SceneError as error:
        raise SceneError(f"blocks[{at}], {letter!r}: {error}") from None
    return BlockSpec(letter, tuple((name, filled[name]) for name in own), socket)


def text_of(specs: Sequence[BlockSpec]) -> str:
    """The shortest `blocks` argument that gives these specs."""
    if all(spec == BlockSpec(spec.letter) for spec in specs):
        return repr("".join(spec.letter for spec in specs))
    return repr([(spec.letter, dict(spec.values) | ({} if spec.socket is None else {SOCKET: spec.socket}))
                 if spec != BlockSpec(spec.letter) else spec.letter for spec in specs])


def build(rng: Rng, agents: int | None, specs: Sequence[BlockSpec], lanes: int, lane_width_m: float,
          speed_limit_mps: float) -> Parts:
    """The map of these blocks, with cars on its streets; None: `DEFAULT_AGENTS`, or as many as fit."""
    return built(rng, agents, lambda number: specs[number], len(specs), lanes, lane_width_m, speed_limit_mps)


def built(rng: Rng, agents: int | None, spec_of: Callable[[int], BlockSpec], count: int, lanes: int,
          lane_width_m: float, speed_limit_mps: float) -> Parts:
    """As `build`, for the arguments of `chain`."""
    roads, streets = assembled(chain(rng, spec_of, count, lanes, RoadKind(lane_width_m, speed_limit_mps)))
    spec = PlacingSpec(_starts(roads, streets), [Span(lane) for lane in streets], ROUTE_RANGE_M, SPEED_SHARE, HEADWAY_S)
    if agents is None:
        agents = min(DEFAULT_AGENTS, most_cars(roads, spec))
    return roads.parts(place(rng, roads, agents, spec))


def _starts(roads: LaneMap, streets: Sequence[int]) -> list[Span]:
    """Where cars can start: far enough from the open ends of streets, and not just before a stop line."""
    length_m = roads.samples.length_m
    goal_m = np.zeros(len(length_m))
    goal_m[streets] = length_m[streets]
    # Metres of streets beyond the end of each lane on the longest route, as far as they matter.
    low_m, high_m = AHEAD_M
    before, after = np.array(roads.links, np.int64).T
    beyond_m = np.zeros(len(length_m))
    while True:
        longer_m = beyond_m.copy()
        np.maximum.at(longer_m, before, np.minimum((goal_m + beyond_m)[after], high_m / AHEAD_SHARE))
        if (longer_m == beyond_m).all():
            break
        beyond_m = longer_m
    ahead_m = min(max(AHEAD_SHARE * float(beyond_m.max()), low_m), high_m)
    lines = {lane for stop in roads.stop_lines for lane in stop.lanes}
    found, entered = [], set(after.tolist())
    for lane in streets:
        from_m = INSET_M if lane in entered else OPEN_M
        away_m = max(ahead_m - float(beyond_m[lane]), BEFORE_LINE_M if lane in lines else 0.0, INSET_M)
        if length_m[lane] - away_m > from_m:
            found.append(Span(lane, from_m, float(length_m[lane]) - away_m))
    return found
