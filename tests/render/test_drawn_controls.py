"""Are stop lines drawn in the colour that their light shows, and signs with a symbol?"""

import dataclasses

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

from bare_scene import bare_scene, drive, started
from pixels import of_colour, places
from views import BAR_PX, SIZE

from drive_env.render import SceneView, colours
from drive_env.scenes import TrafficControls
from drive_env.scenes.scene import LIGHT_STATE_CODES

OFF, RED, YELLOW, GREEN = (LIGHT_STATE_CODES[name] for name in ("off", "red", "yellow", "green"))
LIGHT, STOP, YIELD = 1, 2, 3


def staged(kind):
    """A car, and a stop line to the right of it; a light changes after 0.2 s and 0.3 s."""
    phases = [(GREEN, 0.2), (YELLOW, 0.1), (RED, 5.0)] if kind == LIGHT else []
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(30.0, 0.0)])
    return dataclasses.replace(scene, traffic_controls=TrafficControls(
        kind=np.array([kind], np.uint8), line_m=np.array([[15, 4, 15, -4]], np.float32), start=np.zeros(2, np.int32),
        lane=np.zeros(0, np.int32), state=np.zeros((1, 1), np.uint8),
        phase_start=np.array([0, len(phases)], np.int32), phase_state=np.array([one for one, _ in phases], np.uint8),
        phase_s=np.array([one for _, one in phases], np.float32), offset_s=np.zeros(1, np.float32),
        junction=np.full(1, -1, np.int32)))


def mapped(picture, colour, tolerance=0):
    """Pixels of a colour, without those of the panel."""
    mask = of_colour(picture, colour, tolerance)
    mask[: BAR_PX.top] = mask[-BAR_PX.bottom :] = False
    return mask


@pytest.mark.parametrize("view", ["scene", "follow"])
def test_a_stop_line_has_the_colour_that_its_light_shows(view):
    seen = []
    with started(staged(LIGHT), traffic_controls=True) as batch:
        look = SceneView(batch, size=SIZE, view=view)
        for _ in range(6):
            (state,) = batch.light_states().tolist()
            picture = look.frame()
            for code, colour in enumerate(colours.LIGHT_COLOURS):
                line = places(mapped(picture, colour))
                assert (len(line) > 20) == (code == state), (code, state)
                if code == state and view == "scene":
                    assert np.ptp(line[:, 1]) > 10 * np.ptp(line[:, 0])  # across the road
            seen.append(state)
            drive(batch)
    assert seen == [GREEN, GREEN, YELLOW, RED, RED, RED]


def test_a_light_without_effect_is_drawn_as_off():
    with started(staged(LIGHT)) as batch:
        picture = SceneView(batch, size=SIZE).frame()
    assert [mapped(picture, colour).sum() > 20 for colour in colours.LIGHT_COLOURS] == [True, False, False, False]


@pytest.mark.parametrize(("kind", "fill", "corners"), [
    (STOP, colours.STOP_SIGN, 8), (YIELD, colours.YIELD_SIGN, 3)])
def test_a_sign_has_a_symbol_at_the_right_end_of_its_line(kind, fill, corners):
    with started(staged(kind), traffic_controls=True) as batch:
        picture = SceneView(batch, size=SIZE).frame()
    line, symbol = places(mapped(picture, colours.SIGN_LINE, 2)), places(mapped(picture, fill))
    assert len(line) > 20 and len(symbol) > 20
    assert np.median(symbol[:, 1]) > np.median(line[:, 1])  # traffic goes east, so its right is south
    assert abs(np.median(symbol[:, 0]) - np.median(line[:, 0])) < 2
    rows = [np.ptp(symbol[symbol[:, 1] == row][:, 0]) for row in np.unique(symbol[:, 1])]
    assert (rows[0] > 3 * rows[-1] + 3) == (corners == 3)  # a triangle ends in a corner below
