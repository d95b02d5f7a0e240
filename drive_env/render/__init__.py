"""How is a world drawn? As pictures, films and charts.

The packages of the extra `render` are imported on the first use of one of these names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..errors import MissingExtraError
    from .chart import plot_metrics, plot_scene
    from .driving import HandTrial, drive
    from .film import contact_sheet, write_picture, write_video
    from .film_episode import play
    from .screen import RENDER_MODES, Screen
    from .view import VIEWS, SceneView

MODULE_OF = {
    "RENDER_MODES": "screen", "VIEWS": "view", "HandTrial": "driving", "MissingExtraError": "extra",
    "SceneView": "view", "Screen": "screen", "contact_sheet": "film", "drive": "driving",
    "play": "film_episode", "plot_metrics": "chart", "plot_scene": "chart", "write_picture": "film",
    "write_video": "film",
}
"""The module of each public name."""

__all__ = [
    "RENDER_MODES", "VIEWS", "HandTrial", "MissingExtraError", "SceneView", "Screen", "contact_sheet", "drive",
    "play", "plot_metrics", "plot_scene", "write_picture", "write_video",
]


if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name

    def __getattr__(name):
        if name in MODULE_OF:
            return getattr(import_module(f".{MODULE_OF[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
