"""How much worse does a policy drive under disturbances? It plays the same worlds at several levels of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .metrics import CLEAN_GROUP, group_of
from .multi_scenario import MultiScenario

GAINS = ("steering_gain", "throttle_gain", "brake_gain")
"""Hidden gains; at a level of 0.5, each vehicle has its own, from 0.5 to 1.5."""

LEVELS: dict[str, dict[float, dict[str, Any]]] = {
    "partner_blindness": {level: {"disturbances": {"partner_blindness": level}} for level in (0.5, 1.0)},
    "phantom_braking": {level: {"disturbances": {"phantom_braking": level}} for level in (0.5, 1.0)},
    "action_delay_steps": {level: {"hidden": {"action_delay_steps": (level, level)}} for level in (1, 2, 4)},
    **{gain: {level: {"hidden": {gain: (1.0 - level, 1.0 + level)}} for level in (0.25, 0.5)} for gain in GAINS},
    "partner_position_noise_m": {level: {"sensors": {"partner_position_noise_m": level}} for level in (0.5, 1.0, 2.0)},
    "partner_dropout": {level: {"sensors": {"partner_dropout": level}} for level in (0.25, 0.5)},
}
"""Changes of the worlds' config, by the field that is disturbed and its level."""


class Robustness(MultiScenario):
    """Drives all agents of a list of scenes, without changes (group "clean"), then with each change of `LEVELS` alone.

    The metric `area_<field>` is the mean score over the levels of a field, from 0 to the highest, by the trapezoidal
    rule: 1 is a perfect score at all levels. Levels that the config does not allow are failures, and not in the area.
    """

    type = "robustness"

    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """No change, and each level of each field, by the names of the groups."""
        return {CLEAN_GROUP: {}, **{group_of(field, level): changes for field, levels in LEVELS.items()
                                    for level, changes in levels.items()}}
