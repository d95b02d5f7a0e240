"""Are the states distinguishable, also with red-green colour blindness?"""

from itertools import combinations, product

import numpy as np
import pytest

from drive_env.render import colours

# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
EYES = {
    "all cones": np.eye(3),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
}
LEAST_DISTANCE = 20.0
"""In CIELAB, where 2.3 is just noticeable side by side; small separate shapes need far more."""

SHOWN = {name: colour for name, colour in zip(colours.STATE_NAMES, colours.STATE_COLOURS, strict=True)
         if name != "other"} | {"asphalt": colours.ASPHALT}


def lab(colour, eye):
    channels = np.array(colour) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    linear = np.clip(EYES[eye] @ linear, 0, 1)
    xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                    [0.0193339, 0.1191920, 0.9503041]]) @ linear / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_measure_finds_colours_that_red_green_blindness_confuses():
    red, green = (170, 60, 0), (90, 110, 0)
    distances = [np.linalg.norm(lab(red, eye) - lab(green, eye)) for eye in ("all cones", "deuteranopia")]
    assert distances[0] > 50 and distances[1] < LEAST_DISTANCE


@pytest.mark.parametrize("eye", EYES)
def test_no_two_states_look_alike(eye):
    found = {name: lab(colour, eye) for name, colour in SHOWN.items()}
    distances = {(a, b): np.linalg.norm(found[a] - found[b]) for a, b in combinations(SHOWN, 2)}
    assert {pair: round(distance) for pair, distance in distances.items() if distance < LEAST_DISTANCE} == {}


@pytest.mark.parametrize("eye", EYES)
def test_no_two_states_of_a_light_look_alike(eye):
    shown = [lab(colour, eye) for colour in (*colours.LIGHT_COLOURS, colours.ASPHALT)]
    assert min(np.linalg.norm(a - b) for a, b in combinations(shown, 2)) > LEAST_DISTANCE


@pytest.mark.parametrize("eye", EYES)
def test_no_two_agents_look_alike_nor_like_another_state(eye):
    agents = [lab(colour, eye) for colour in colours.AGENT_COLOURS]
    states = [lab(colour, eye) for name, colour in SHOWN.items() if name != "driving"]
    distances = [np.linalg.norm(a - b) for a, b in [*combinations(agents, 2), *product(agents, states)]]
    assert min(distances) > LEAST_DISTANCE
