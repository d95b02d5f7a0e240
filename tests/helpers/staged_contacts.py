"""Which contacts are staged for the rules of fault? Each with the verdicts that two published rules define."""

import math

from scripted_scenes import driver, log_replay, standing

FRAMES = 30
LANES = [("lane", [(-50.0, y_m), (80.0, y_m)]) for y_m in (0.0, 3.5)]
"""Two lanes in the same direction, of unknown width, which counts as 3.5 m."""

EDGE = ("edge", [(-50.0, -0.5), (80.0, -0.5)])
PEDESTRIAN = {"kind": "pedestrian", "length_m": 0.6, "width_m": 0.6}


def moving(x_m, y_m, heading_rad, speed_mps, **more):
    """A log-replay vehicle at constant velocity."""
    step_m = 0.1 * speed_mps
    return log_replay([(x_m + i * step_m * math.cos(heading_rad), y_m + i * step_m * math.sin(heading_rad), heading_rad,
                        speed_mps) for i in range(FRAMES)], **more)


CONTACTS = {
    # the agent, the other, extra roads, fault by bearing, fault by bumper (nuPlan)
    "is rear-ended": (driver(speed_mps=5.0), moving(-10.0, 0.0, 0.0, 15.0), [], False, False),
    "rear-ends": (driver(speed_mps=10.0), moving(10.0, 0.0, 0.0, 3.0), [], True, True),
    "hits a parked car": (driver(speed_mps=10.0), standing(FRAMES, 10.0, 0.0), [], True, True),
    "is side-swiped in its lane": (driver(speed_mps=10.0), moving(-2.5, 3.2, -0.2, 10.5), [], False, False),
    "side-swipes in a lane change": (driver(0.0, 0.3, 0.15, 10.0), moving(-1.0, 3.5, 0.0, 10.0), [], True, True),
    "hits a pedestrian at rest": (driver(speed_mps=10.0), standing(FRAMES, 10.0, 0.0, **PEDESTRIAN), [], True, True),
    "is hit head-on while it stands": (driver(), moving(15.0, 0.0, math.pi, 10.0), [], False, False),
    "hits a crossing car": (driver(speed_mps=10.0), moving(12.0, -4.5, math.pi / 2, 5.0), [], True, True),
    "is hit by a crossing car": (driver(speed_mps=5.0), moving(4.5, -13.0, math.pi / 2, 10.0), [], False, False),
    # where the rules differ
    "a pedestrian walks into its side": (driver(speed_mps=2.0), moving(1.5, -3.0, math.pi / 2, 2.0, **PEDESTRIAN), [],
                                         True, False),
    "a cyclist runs into its rear": (driver(speed_mps=2.0), moving(-6.0, 0.0, 0.0, 6.0, kind="cyclist"), [],
                                     True, False),
    "is hit by a crossing car on the road edge": (driver(speed_mps=5.0), moving(4.5, -13.0, math.pi / 2, 10.0), [EDGE],
                                                  False, True),
}
