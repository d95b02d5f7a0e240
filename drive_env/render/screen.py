"""What does `render` of an env do for each `render_mode`? Importing this module needs no extra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..batch import Batch
from ..errors import CallError, ConfigError, value_text
from ..names import check_names, named_arguments

if TYPE_CHECKING:
    from .view import SceneView
    from .window import Window

RENDER_MODES = ("human", "rgb_array")
"""Render modes of envs: "human" is a window that shows every step, "rgb_array" a picture per call of `render`."""

RENDER_OPTIONS = ("size", "view", "agent", "span_m", "box_m", "bars", "agent_colours")
"""The arguments of `SceneView` that an env may pass on."""

_ALLOWED = ", ".join(map(repr, RENDER_MODES))


class Screen:
    """Shows one world of an env's batch according to the env's render mode.

    The first `show` imports the packages and opens the window.

    Args:
        batch: of the env.
        mode: the env's `render_mode`; None draws nothing.
        world: index of the world.
        options: arguments of `SceneView`, of `RENDER_OPTIONS`; values are checked when the first picture is drawn.

    Raises:
        ConfigError: the mode is not one of `RENDER_MODES`, or there is no such option.
    """

    @named_arguments
    def __init__(self, batch: Batch, mode: str | None, world: int = 0,
                 options: Mapping[str, Any] | None = None) -> None:
        if mode is not None and not (isinstance(mode, str) and mode in RENDER_MODES):
            raise ConfigError(f"render_mode is {value_text(mode)}; it must be None or one of {_ALLOWED}")
        if options is not None and not isinstance(options, Mapping):
            raise ConfigError(f"render_options is {value_text(options)}; it must be None or a mapping of arguments of "
                              "SceneView by name")
        self.options = dict(options or {})
        check_names("SceneView", self.options, RENDER_OPTIONS, "render option")
        self.batch, self.mode, self.world = batch, mode, world
        self._view: SceneView | None = None
        self._window: Window | None = None

    @property
    def fps(self) -> float:
        """Pictures per second in real time."""
        return 1.0 / self.batch.roles[0].dt_s

    def show(self) -> np.ndarray | None:
        """(h, w, 3) uint8 for "rgb_array"; None for "human", whose window shows the world in real time.

        Raises:
            CallError: the mode is None, or "human" where no window opens.
            MissingExtraError: the packages of the extra `render` are not installed.
        """
        picture = self.picture()
        if self._window is None:
            return picture
        self._window.show(picture, 1.0 / self.fps)
        return None

    def picture(self) -> np.ndarray:
        """(h, w, 3) uint8 in any mode, without showing it in the window.

        Raises:
            CallError: the mode is None, or "human" where no window opens.
            MissingExtraError: the packages of the extra `render` are not installed.
        """
        if self.mode is None:
            raise CallError(f"render_mode is None; make the env with one of {_ALLOWED}")
        return (self._view or self._opened()).frame()

    def close(self) -> None:
        """Closes the window; a second call does nothing."""
        if self._window is not None:
            self._window.close()

    def _opened(self) -> SceneView:
        from .view import SceneView
        from .window import Window

        self._view = view = SceneView(self.batch, self.world, **self.options)
        if self.mode == "human":
            self._window = Window("drive-env", view.width, view.height)
        return view

    def __getstate__(self) -> dict:
        """A copy has no trails and no window."""
        return {"batch": self.batch, "mode": self.mode, "world": self.world, "options": self.options, "_view": None,
                "_window": None}
