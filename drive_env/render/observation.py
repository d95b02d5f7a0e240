"""What does an agent observe? Its observation vector, decoded into physical units with the layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..layout import SETS, Feature


@dataclass(frozen=True)
class Observation:
    """The decoded observation of one agent, in its own frame: x ahead, y to the left, metres and m/s.

    Attributes:
        present: False for a removed agent; then all other attributes are empty or 0.
        own: the quantity of each feature named `ego/...` or `trial/...`, by name, such as "ego/speed".
        sets: for each set of the layout, such as "controls", quantities by name, such as "x" or "kind", one entry per
            filled slot.
        slots: for each set the indices of the filled slots.
    """

    present: bool
    own: dict[str, float]
    sets: dict[str, dict[str, np.ndarray]]
    slots: dict[str, np.ndarray]

    @property
    def partners(self) -> dict[str, np.ndarray]:
        """The set of observed vehicles."""
        return self.sets["partners"]

    @property
    def roads(self) -> dict[str, np.ndarray]:
        """The set of observed road segments."""
        return self.sets["roads"]

    @property
    def has_goal(self) -> bool:
        """False where the goal is hidden (`goal_reveal_s`): then all its features are 0."""
        return self.own["ego/goal_distance"] > 0

    @property
    def goal_m(self) -> np.ndarray:
        """(2,) position of the goal, from direction and distance, which have a larger range than its coordinates."""
        ahead, left = self.own["ego/goal_direction_x"], self.own["ego/goal_direction_y"]
        return self.own["ego/goal_distance"] * np.array([ahead, left])


def decode_observation(observation: np.ndarray, layout: dict[str, Feature]) -> Observation:
    """Decodes one vector of `Batch.observations` by `Batch.observation_layout()`."""
    blocks: dict[str, dict[str, np.ndarray]] = {name: {} for name in SETS}
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
    return Observation(present=own["ego/present"] > 0, own=own, sets=filled, slots=slots)


def to_scene_frame(points_m: np.ndarray, pose: tuple[float, float, float]) -> np.ndarray:
    """(..., 2) points from a vehicle's frame to the scene's frame; the pose is x_m, y_m, heading_rad."""
    x_m, y_m, heading_rad = pose
    cosine, sine = np.cos(heading_rad), np.sin(heading_rad)
    return points_m @ np.array([[cosine, sine], [-sine, cosine]]) + np.array([x_m, y_m])
