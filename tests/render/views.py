"""What do the tests of pictures share? A size, a crash, and the pixels of a state."""

from bare_scene import bare_scene
from pixels import of_colour

from drive_env.render import SceneView, colours
from drive_env.render.panel import panel_sizes

SIZE = (800, 600)
BAR_PX = panel_sizes(*SIZE)


def bodies(picture, state):
    """Pixels of the plain body colour, without the panel."""
    mask = of_colour(picture, colours.STATE_COLOURS[state])
    mask[: BAR_PX.top] = mask[-BAR_PX.bottom :] = False
    return mask


def count_of(batch, state):
    return int(bodies(SceneView(batch, size=SIZE).frame(), state).sum())


def crash():
    """Agent 0 runs into agent 1, agent 2 runs over an edge, agent 3 reaches its goal, agent 4 drives on."""
    poses = [(0.0, 0.0, 0.0), (10.0, 0.0, 0.0), (0.0, 8.0, 0.0), (0.0, 16.0, 0.0), (0.0, 24.0, 0.0)]
    goals = [(60.0, 0.0), (60.0, 0.0), (60.0, 8.0), (12.0, 16.0), (60.0, 24.0)]
    return bare_scene(poses, goals, speeds=[10.0, 0.0, 10.0, 10.0, 10.0],
                      roads=[("edge", [(8.0, 5.0), (8.0, 11.0)])])
