"""What was an agent given? Its observation turned back into metres, by nothing but the layout's table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..layout import Feature


@dataclass(frozen=True)
class Sight:
    """What one agent observes, in its own frame: x ahead, y to the left, metres and m/s.

    Attributes:
        present: False for an agent that is off the map; then all else is empty or 0.
        own: quantity by name of each feature of the ego and trial blocks, such as "ego/speed".
        partners, roads: quantity by name, such as "x" or "kind", one entry a filled slot.
        partner_slots, road_slots: which slots are filled.
    """

    present: bool
    own: dict[str, float]
    partners: dict[str, np.ndarray]
    roads: dict[str, np.ndarray]
    partner_slots: np.ndarray
    road_slots: np.ndarray

    @property
    def goal_m(self) -> np.ndarray:
        """(2,) the goal; by direction and distance, which reach farther than its coordinates."""
        ahead, left = self.own["ego/goal_direction_x"], self.own["ego/goal_direction_y"]
        return self.own["ego/goal_distance"] * np.array([ahead, left])


def read_sight(observation: np.ndarray, layout: dict[str, Feature]) -> Sight:
    """Reads one agent of `Batch.observations` by `Batch.observation_layout()`."""
    blocks: dict[str, dict[str, np.ndarray]] = {"partners": {}, "roads": {}}
    own = {}
    for name, feature in layout.items():
        block, _, short = name.partition("/")
        quantity = observation[feature.slice].astype(np.float64) / feature.scale
        if block in blocks:
            blocks[block][short] = quantity
        else:
            own[name] = float(quantity[0])
    slots = {block: np.flatnonzero(features["kind"] > 0) for block, features in blocks.items()}
    filled = {block: {short: quantity[slots[block]] for short, quantity in features.items()}
              for block, features in blocks.items()}
    return Sight(present=own["ego/present"] > 0, own=own, partners=filled["partners"], roads=filled["roads"],
                 partner_slots=slots["partners"], road_slots=slots["roads"])


def to_scene_frame(points_m: np.ndarray, pose: tuple[float, float, float]) -> np.ndarray:
    """(..., 2) points of a vehicle's frame in the scene's frame; the pose is x_m, y_m, heading_rad."""
    x_m, y_m, heading_rad = pose
    cosine, sine = np.cos(heading_rad), np.sin(heading_rad)
    return points_m @ np.array([[cosine, sine], [-sine, cosine]]) + np.array([x_m, y_m])
