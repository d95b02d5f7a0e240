"""Which envs are registered to learn to drive in, from the easiest to the hardest, and how do their configs differ from
the defaults?

One row of `LADDER` each. Registration, the table of docs/first_task.md and the tests come from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

DT_S = 0.2
"""Time between decisions: an agent moves at most 1.2 m in it, so one random action does not leave the lane."""

DYNAMICS = {"model": "classic", "max_speed_mps": 6.0, "max_steering_rad": 0.4}
"""Wheels that turn at a limited rate average out the noise of exploration, and at this speed they follow every bend."""

REWARD = {"goal": 1.0, "collision": -1.0, "offroad": -1.0, "route_progress_per_m": 0.05}
"""A metre along the route is rewarded so much that an untrained policy, which leaves the road after some 10 m, does not
learn to stand still instead."""

ROUTE = {"route": 4, "route_spacing_m": 4.0, "roads": 0, "view_radius_m": 30.0}
"""What an MLP needs to keep its lane: where the route leads. The nearest road segments, whose order carries no
information, would take it far longer."""


class Level(NamedTuple):
    """One env: an agent on its way along its route, among rule-based vehicles."""

    name: str
    """Its id without namespace and version."""
    scenes: tuple[str, ...]
    """Generators; 64 scenes of each."""
    horizon_s: float
    """Time limit of an episode, which is one trial."""
    partners: int
    """How many of the nearest vehicles are observed."""
    harder: str
    """What there is to learn, beside what the level before teaches; for the table."""

    @property
    def id(self) -> str:
        """What `gymnasium.make` takes."""
        return f"drive_env/{self.name}-v0"

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments of the env, in the types of JSON."""
        defaults = {"others": "idm", "dt_s": DT_S, "trial_steps": round(self.horizon_s / DT_S), "goal_radius_m": 3.0,
                    "dynamics": dict(DYNAMICS), "reward": dict(REWARD),
                    "observation": {**ROUTE, "partners": self.partners}}
        return {"scenes": list(self.scenes), "defaults": defaults}


LADDER = (
    Level("Drive", ("racetrack", "oval"), 40.0, 3, "bends, and traffic in the same direction"),
    Level("DriveJunctions", ("t_junction", "roundabout", "u_turn"), 40.0, 5, "crossing and oncoming traffic"),
    Level("DriveTown", ("town",), 60.0, 7, "several junctions on the way, and 31 other vehicles"),
)
