"""How large is an object whose size the file lacks? As is typical of its kind; vehicles wider than long are noted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .scene import Report

TYPICAL_M = {"length": {"vehicle": 4.7, "pedestrian": 0.9, "cyclist": 1.9, "other": 4.7},
             "width": {"vehicle": 2.1, "pedestrian": 0.8, "cyclist": 0.9, "other": 2.1},
             "height": {"vehicle": 1.5, "pedestrian": 1.7, "cyclist": 1.7, "other": 1.5}}
"""By name of the size and kind of object. Lengths and widths are rounded medians over sample logs; an object of
the kind other is as large as a vehicle, the largest kind."""

ABSENT_M = (0.0, -1.0)
"""Sizes that the Waymo Open Motion Dataset has at frames at which the object was not there; some converters write the
size of such a frame."""


def imputed_sizes(name: str, sizes_m: np.ndarray, kinds: Sequence[str], report: Report) -> np.ndarray:
    """(n,) float32, the sizes; those that are absent or NaN become the typical ones, and the report counts them.

    Args:
        name: "length", "width" or "height".
        sizes_m: (n,) as in the file.
        kinds: of the n objects.
    """
    missing = np.isnan(sizes_m) | is_absent(sizes_m)
    report.impute(f"{name}s, by the kind of object", missing.sum())
    return np.where(missing, [TYPICAL_M[name][kind] for kind in kinds], sizes_m).astype(np.float32)


def is_absent(sizes_m: np.ndarray) -> np.ndarray:
    """Whether each size is one that stands for none."""
    # Not np.isin, whose casts raise a floating-point flag at a signalling NaN.
    return np.logical_or.reduce([sizes_m == absent_m for absent_m in ABSENT_M])


def note_wide_vehicles(length_m: np.ndarray, width_m: np.ndarray, kinds: Sequence[str], report: Report,
                       place: Callable[[int], str]) -> None:
    """Notes how many vehicles are wider than long: some tools swap the two.

    Args:
        place: a function from the index of an object to its name in the file.
    """
    wide = np.flatnonzero((width_m > length_m) & np.array([kind == "vehicle" for kind in kinds], bool))
    if len(wide):
        first = int(wide[0])
        report.notes.append(f"vehicles wider than long: {len(wide)}, the first of them {place(first)}, "
                            f"{width_m[first]:g} m wide and {length_m[first]:g} m long")
