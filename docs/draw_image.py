"""How is the picture of an image observation made? `image.png` stands in observation.md.

    python docs/draw_image.py docs
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.render import SceneView

LAYERS = ("edges", "lanes", "controls", "partners", "self", "goal")
METRES_PER_PIXEL, PIXELS = 0.75, 84
SPAN_M = METRES_PER_PIXEL * PIXELS
PANEL_INCHES, DOTS_PER_INCH = 2.4, 100


def draw(path, steps=60, agent=16):
    """An agent in a town with lights: the follow view, then each layer of its image."""
    config = DriveConfig(traffic_controls=True, observation={"type": "image"},
                         image={"size": PIXELS, "metres_per_pixel": METRES_PER_PIXEL, "layers": LAYERS})
    with Batch(generate_scene("town", seed=3, agents=24, lights=True), config=config, seed=0) as batch:
        batch.reset()
        driver = LaneDriver(batch)
        view = SceneView(batch, size=(640, 640), view="follow", agent=agent, span_m=1.5 * SPAN_M)
        for _ in range(steps):
            batch.step(driver.act_all())
            frame = view.frame()
        layers = batch.images[agent].copy()

    # Two rows: the view has the height of both.
    columns = len(LAYERS) // 2
    figure = Figure(figsize=((columns + 2) * PANEL_INCHES, 2.2 * PANEL_INCHES), layout="constrained")
    grid = figure.add_gridspec(2, columns + 2)
    panels = [figure.add_subplot(grid[:, :2])]
    panels += [figure.add_subplot(grid[row, 2 + column]) for row in range(2) for column in range(columns)]
    panels[0].imshow(frame)
    panels[0].set_title(f"agent {agent}, heading up")
    for panel, name, layer in zip(panels[1:], LAYERS, layers, strict=True):
        panel.imshow(layer, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        panel.set_title(name)
    for panel in panels:
        panel.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=DOTS_PER_INCH)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) / "image.png")
