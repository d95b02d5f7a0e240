"""How is a PufferDrive `.bin` read? By the one layout that fits: the file has neither a signature nor a version.

A layout fits if it uses up the bytes of the file exactly, its numbers are in their ranges, and valid states are finite
and plausible. Lengths alone do not decide: a file of November 2025 can also have the length of a layout with another
head.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....errors import SceneError
from ...scene import Scene
from ..source import Source
from .as_scene import as_scene
from .contents import Contents, LayoutError
from .entities import EntityLayout, read_entities
from .release3 import ReleaseLayout, read_release3

LAYOUTS: tuple[EntityLayout | ReleaseLayout, ...] = (
    EntityLayout("early"),
    EntityLayout("2025-11", has_tracks=True, has_ids=True),
    EntityLayout("2025-11 with a scenario id", has_scenario_id=True, has_tracks=True, has_ids=True),
    EntityLayout("2025-11 with further arrays", has_tracks=True, has_ids=True, further_arrays=5),
    EntityLayout("2025-11 with a scenario id and further arrays", has_scenario_id=True, has_tracks=True, has_ids=True,
                 further_arrays=5),
    ReleaseLayout("3.0", has_headings=False, has_graph_lengths=True, has_map_id=True),
    ReleaseLayout("3.1"),
    ReleaseLayout("3.1 with lengths in the lane graph", has_graph_lengths=True),
    ReleaseLayout("3.3", has_lengths=True),
)
"""From the oldest to the newest."""

SHOWN_NUMBERS = 4
"""Numbers at the beginning of a file that the error shows; no layout has fewer."""


def open(source: Source) -> Iterator[Scene]:
    """The one scene of a file."""
    yield read_pufferdrive(source.data, source.name)


def read_pufferdrive(data: bytes, source: str) -> Scene:
    """The scene in `data`, by the layout that fits.

    Raises:
        SceneError: no layout fits, for the reason of the one that comes nearest; or several do.
    """
    # The layouts that use up the bytes exactly.
    fitting: list[tuple[str, Contents]] = []
    misfits = []
    for layout in LAYOUTS:
        try:
            fitting.append((layout.name, contents_of(data, layout)))
        except LayoutError as error:
            misfits.append((layout.name, error))
    if not fitting:
        raise SceneError(_nearest(data, misfits))

    # Of these, the scenes whose states are plausible.
    scenes: list[tuple[str, Contents, Scene]] = []
    reasons = []
    for name, contents in fitting:
        try:
            scenes.append((name, contents, as_scene(contents, source)))
        except SceneError as error:
            reasons.append(error)
    if not scenes:
        raise reasons[0]
    name, contents, scene = scenes[0]
    for other_name, other, _ in scenes[1:]:
        if not same(contents, other):
            raise SceneError(f"it has {len(data)} bytes, which fit the layouts {name!r} and {other_name!r}; exactly "
                             "one must fit")
    return scene


def _nearest(data, misfits):
    """Why no layout fits: the reason of the one that fits most of the file, if it fits the first object or road."""
    error = max((error for _, error in misfits), key=lambda error: (error.reached, error.ends, error.at))
    if error.reached:
        names = [repr(name) for name, other in misfits if (str(other), other.reached) == (str(error), error.reached)]
        return f"{error}; of the known layouts, {' and '.join(names)} {'fit' if names[1:] else 'fits'} most of the file"
    if len(data) < 4 * SHOWN_NUMBERS:
        return f"it has {len(data)} bytes; no layout has fewer than {4 * SHOWN_NUMBERS}"
    numbers = ", ".join(map(str, np.frombuffer(data, "<i4", SHOWN_NUMBERS)))
    return f"byte 0: it begins with the numbers {numbers}, as no known layout of {len(data)} bytes does"


def contents_of(data: bytes, layout: EntityLayout | ReleaseLayout) -> Contents:
    """The contents of a file, which must be of the layout to its last byte.

    Raises:
        LayoutError: it is not.
    """
    return read_entities(data, layout) if isinstance(layout, EntityLayout) else read_release3(data, layout)


def same(one: object, other: object) -> bool:
    """Whether two contents, or parts of them, are equal; NaN equals NaN."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, Contents) and isinstance(other, Contents):
        return all(same(value, getattr(other, name)) for name, value in vars(one).items())
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (one != one and other != other)
