"""What does a PufferDrive `.bin` hold? Tracks, roads and traffic controls: the same in every layout, at other bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....errors import SceneError, value_text
from ...limits import POINT_LIMIT

ROAD_LIMIT = 100_000
"""Some hundred times those of a real map; reading a road takes ten times its bytes of memory."""


class LayoutError(SceneError):
    """The bytes are not of the layout.

    Attributes:
        reached: the number of entities and sections that fit, a measure of how much of the file does.
        ends: whether the file ends too early, as a truncated one of the layout does.
        at: the byte up to which it was read.
    """

    def __init__(self, message: str, reached: int, ends: bool = False, at: int = 0) -> None:
        super().__init__(message)
        self.reached, self.ends, self.at = reached, ends, at


class Road(NamedTuple):
    """A road as in the file.

    Attributes:
        at: its byte.
        kind: by the words of `ROAD_KINDS`; "" for a kind of the format that scenes do not have.
        id: its id; the index in the file where the layout has none.
        points_at: the byte of its points: all x, then all y, then all z, float32.
        point_count: their number.
        exits: the indices of the lanes it leads into; None where the layout has no lane graph.
        speed_limit: m/s, negative where unknown.
        width: m, 0 where unknown.
    """

    at: int
    kind: str
    id: int
    points_at: int
    point_count: int
    exits: np.ndarray | None = None
    speed_limit: float = -1.0
    width: float = 0.0


class Control(NamedTuple):
    """A traffic light or sign as in the file.

    Attributes:
        at: its byte.
        kind: by the words of `CONTROL_KINDS`.
        line: (6,) float32: x, y and z of both ends of the stop line.
        heading: of the traffic that it applies to, rad.
        states: (s,) int32, codes of what a light shows at each frame.
        lanes: (k,) int32, indices of the roads that it applies to.
    """

    at: int
    kind: str
    line: np.ndarray
    heading: float
    states: np.ndarray
    lanes: np.ndarray


@dataclass(frozen=True, eq=False)
class Contents:
    """A file: n objects over t frames, roads and traffic controls.

    Attributes:
        data: its bytes, which have the points of roads.
        object_at: (n,) int64, the byte of each object.
        kind: of each object, by the words of `OBJECT_KINDS`.
        id: (n,) int64; None where the layout has no ids.
        tracks: x, y, z, heading, vx and vy by name, (n, t) float32 each.
        valid: (n, t) bool.
        sizes: width, length and height by name, (n,) float32 each.
        goal: (n, 3) float32.
        marked_expert: (n,) bool.
        has_road_ids: whether the ids of roads are those of the file.
        dt_s: None where the layout has none.
        sdc, predicted, of_interest: indices of objects, as in the file; None for those that the layout does not have.
        dropped, imputed: what of the file is not in here, and what of this is not in the file, by reason.
    """

    data: bytes
    object_at: np.ndarray
    kind: list[str]
    id: np.ndarray | None
    tracks: dict[str, np.ndarray]
    valid: np.ndarray
    sizes: dict[str, np.ndarray]
    goal: np.ndarray
    marked_expert: np.ndarray
    roads: list[Road]
    has_road_ids: bool
    controls: list[Control] = field(default_factory=list)
    scenario_id: str = ""
    dataset: str = ""
    dt_s: float | None = None
    sdc: int | None = None
    predicted: tuple[int, ...] | None = None
    of_interest: tuple[int, ...] | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    imputed: dict[str, int] = field(default_factory=dict)

    def points(self, roads: list[Road], axis: int) -> np.ndarray:
        """(p,) float32, that coordinate of the points of some roads."""
        return np.concatenate([np.zeros(0, "<f4"), *(
            np.frombuffer(self.data, "<f4", road.point_count, road.points_at + 4 * axis * road.point_count)
            for road in roads)])


class Cursor:
    """Reads a file from its first byte to its last.

    Attributes:
        data: the file.
        at: the next byte.
        reached: see `LayoutError`; set by the functions that read.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.reached = data, 0, 0

    def misfit(self, message: str, ends: bool = False) -> LayoutError:
        """The error for bytes that are not of the layout."""
        return LayoutError(message, self.reached, ends, self.at)

    def skip(self, count: int, place: str, what: str) -> int:
        """Skips `count` bytes, and returns the byte at which they begin.

        Raises:
            LayoutError: there are fewer.
        """
        if count > len(self.data) - self.at:
            raise self.misfit(f"{place}: {what} takes {count} bytes; the file has {len(self.data) - self.at} left",
                              ends=True)
        self.at += count
        return self.at - count

    def ints(self, count: int, place: str, what: str) -> np.ndarray:
        """(count,) int32."""
        return np.frombuffer(self.data, "<i4", count, self.skip(4 * count, place, what))

    def floats(self, count: int, place: str, what: str) -> np.ndarray:
        """(count,) float32."""
        return np.frombuffer(self.data, "<f4", count, self.skip(4 * count, place, what))

    def whole(self, place: str, what: str, low: int, high: int) -> int:
        """One int32 in [low, high].

        Raises:
            LayoutError: it is outside.
        """
        found = int(self.ints(1, place, what)[0])
        if not low <= found <= high:
            raise self.misfit(f"{place}: {what} is {found}; it must be {low} to {high}")
        return found

    def listed(self, place: str, what: str) -> np.ndarray:
        """A list: its length, then so many int32."""
        return self.ints(self.length(place, f"the number of {what}", 4), place, f"the list of {what}")

    def length(self, place: str, what: str, item_bytes: int) -> int:
        """An int32: the number of items, of so many bytes each, that follow it.

        Raises:
            LayoutError: it is below 0, or the file has fewer bytes.
        """
        found = int(self.ints(1, place, what)[0])
        most = (len(self.data) - self.at) // item_bytes
        if not 0 <= found <= most:
            # A number of another meaning is below 0, or very large.
            raise self.misfit(f"{place}: {what} is {found}; the file has bytes for 0 to {most}",
                              ends=0 < found <= POINT_LIMIT)
        return found

    def text(self, count: int, place: str, what: str) -> str:
        """Printable ASCII, then zero bytes.

        Raises:
            LayoutError: it is something else.
        """
        first = self.skip(count, place, what)
        found = self.data[first : first + count].rstrip(b"\0")
        if not all(32 <= byte < 127 for byte in found):
            raise self.misfit(f"{place}: {what} is {value_text(found)}; it must be printable ASCII")
        return found.decode("ascii")

