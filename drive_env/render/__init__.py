"""How does one look at a world? Pictures, films and charts.

The packages of the extra `render` are imported when one of these names is first used, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..errors import MissingExtraError
    from .chart import plot_metrics, plot_scene
    from .film import contact_sheet, write_picture, write_video
    from .playing import POLICIES, play
    from .screen import RENDER_MODES, Screen
    from .view import VIEWS, SceneView

ROOM_OF = {
    "POLICIES": "playing", "RENDER_MODES": "screen", "VIEWS": "view", "MissingExtraError": "extra", "SceneView": "view",
    "Screen": "screen", "contact_sheet": "film", "play": "playing", "plot_metrics": "chart", "plot_scene": "chart",
    "write_picture": "film", "write_video": "film",
}
"""Where each public name lives."""

__all__ = [
    "POLICIES", "RENDER_MODES", "VIEWS", "MissingExtraError", "SceneView", "Screen", "contact_sheet", "play",
    "plot_metrics", "plot_scene", "write_picture", "write_video",
]


if not TYPE_CHECKING:  # hidden, or a type checker would take every name for one that is there

    def __getattr__(name):
        if name in ROOM_OF:
            return getattr(import_module(f".{ROOM_OF[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
