"""Which colour has each state and each part of the map?

Hues after Okabe and Ito (2008), with lightness changed so that all states also differ with red-green colour blindness,
which tests/render/test_colours.py measures. Infractions have a mark as well as a hue.
"""

from __future__ import annotations

Colour = tuple[int, int, int]

# ---- states of vehicles ----

DRIVING, GOAL, COLLISION, OFFROAD, TIMEOUT, OTHER, LOG_REPLAY, STATIC, RULE_BASED = range(9)
"""States of a vehicle: driving or an outcome for an agent, then the kinds of vehicles without an agent."""

STATE_NAMES = ("driving", "goal", "collision", "offroad", "timeout", "other", "log replay", "static",
               "rule-based")

STATE_COLOURS: tuple[Colour, ...] = (
    (0, 114, 178), (0, 170, 108), (213, 94, 0), (240, 228, 66), (86, 180, 233), (255, 255, 255), (76, 82, 90),
    (143, 149, 157), (88, 66, 210))
"""RGB by state."""

AGENT_COLOURS: tuple[Colour, ...] = (
    (0, 114, 178), (112, 40, 2), (76, 253, 146), (25, 12, 109), (2, 7, 251), (19, 4, 44))
"""RGB of driving agents by their index, in turn, where agents have colours of their own."""

# ---- traffic lights and signs ----

LIGHT_COLOURS: tuple[Colour, ...] = ((120, 126, 134), (196, 0, 40), (255, 190, 0), (0, 200, 83))
"""RGB of stop lines by what the light shows, `LIGHT_STATES`; grey where it is off or unknown."""
STOP_SIGN: Colour = (178, 34, 34)
YIELD_SIGN: Colour = (255, 255, 255)
SIGN_LINE: Colour = (96, 28, 40)
"""The stop line and the outline of a sign."""

# ---- what an episode draws ----

SCRIPT: Colour = (0, 117, 127)
"""Lines of scripts and candidate goals, as on replay pages."""

# ---- the ground ----

LAND: Colour = (243, 244, 242)
ASPHALT: Colour = (218, 221, 225)
LANE: Colour = (203, 207, 212)
LINE: Colour = (255, 255, 255)
EDGE: Colour = (110, 116, 124)
CROSSWALK: Colour = (236, 238, 241)
SPEED_BUMP: Colour = (190, 178, 140)
DRIVEWAY: Colour = (196, 200, 205)

# ---- text and marks ----

INK: Colour = (28, 32, 38)
FAINT: Colour = (120, 126, 134)
PAPER: Colour = (255, 255, 255)
GLASS: Colour = (232, 240, 248)
OBSERVED: Colour = (204, 51, 153)
"""Vehicles that a followed agent observes: a hue that no state and no part of the map has."""
OBSERVED_ROAD: Colour = (120, 60, 170)
"""Road segments that it observes."""


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """`share` of `colour`, the rest of `other`."""
    red, green, blue = (round(share * a + (1 - share) * b) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def outline(colour: Colour) -> Colour:
    """The colour of the outline of a vehicle, from that of its body."""
    return mixed(colour, INK, 0.42)


DARK_STATE_COLOURS: tuple[Colour, ...] = tuple(map(outline, STATE_COLOURS))
"""RGB of the outline of a vehicle, by state."""
