"""How does one look at a world? Pictures, films and charts.

The packages of the extra `render` are imported when one of these names is first used, not before.
"""

from importlib import import_module

ROOMS = {
    "chart": ("plot_metrics", "plot_scene"),
    "extra": ("MissingExtraError",),
    "film": ("contact_sheet", "write_picture", "write_video"),
    "playing": ("POLICIES", "play"),
    "screen": ("RENDER_MODES", "Screen"),
    "view": ("VIEWS", "SceneView"),
}
"""Where each public name lives."""

__all__ = [name for names in ROOMS.values() for name in names]


def __getattr__(name: str):
    for room, names in ROOMS.items():
        if name in names:
            return getattr(import_module(f".{room}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
