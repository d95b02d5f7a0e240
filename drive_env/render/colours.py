"""Which colour means what?

Hues are those of Okabe and Ito (2008), moved in lightness until all states also differ for the red-green
blind, which tests/render/test_colours.py measures. What matters has a mark as well as a hue.
"""

from __future__ import annotations

Colour = tuple[int, int, int]

# ---- what has become of a vehicle ----

DRIVING, GOAL, COLLISION, OFFROAD, TIMEOUT, OTHER, LOG_REPLAY, STATIC = range(8)
"""What a vehicle can be to the reader of a picture: an agent by how its trial stands, or nobody's."""

STATE_NAMES = ("driving", "goal", "collision", "offroad", "timeout", "other", "expert", "static")

STATE_COLOURS: tuple[Colour, ...] = (
    (0, 114, 178), (0, 170, 108), (213, 94, 0), (240, 228, 66), (86, 180, 233), (255, 255, 255), (76, 82, 90),
    (143, 149, 157))
"""RGB by state."""

# ---- the ground ----

LAND: Colour = (243, 244, 242)
ASPHALT: Colour = (218, 221, 225)
LANE: Colour = (203, 207, 212)
LINE: Colour = (255, 255, 255)
EDGE: Colour = (110, 116, 124)
CROSSWALK: Colour = (236, 238, 241)
STOP_SIGN: Colour = (178, 34, 34)
SPEED_BUMP: Colour = (190, 178, 140)
DRIVEWAY: Colour = (196, 200, 205)

# ---- what is written and marked ----

INK: Colour = (28, 32, 38)
FAINT: Colour = (120, 126, 134)
PAPER: Colour = (255, 255, 255)
GLASS: Colour = (232, 240, 248)
SEEN: Colour = (204, 51, 153)
"""What a followed agent was given of the vehicles: a hue that no state and no ground has."""
SEEN_ROAD: Colour = (120, 60, 170)
"""What it was given of the road."""


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """`share` of the first colour, the rest of the other."""
    red, green, blue = (round(share * a + (1 - share) * b) for a, b in zip(colour, other, strict=True))
    return red, green, blue
