"""How is a picture shown on the screen? In a tkinter window."""

from __future__ import annotations

import time
from importlib import import_module

import numpy as np

from ..errors import CallError


class Window:
    """A window that shows pictures of one size; once the user has closed it, it stays closed.

    Raises:
        CallError: there is no display, or Python has no tkinter.
    """

    def __init__(self, title: str, width: int, height: int):
        try:
            self._tkinter = import_module("tkinter")
        except ImportError as error:
            raise CallError(
                f"render_mode is 'human' and this Python has no tkinter ({error}); install it, such as by "
                "'apt install python3-tk', or use 'rgb_array'") from error
        try:
            self._root = self._tkinter.Tk(className="drive-env")
        except self._tkinter.TclError as error:
            raise CallError(
                f"render_mode is 'human' and no window opens here ({error}); use 'rgb_array'") from error
        self._root.title(title)
        self._root.resizable(False, False)
        self._label = self._tkinter.Label(self._root, width=width, height=height, borderwidth=0)
        self._label.pack()
        self._root.protocol("WM_DELETE_WINDOW", self.close)
        self._next_show_s = time.monotonic()

    def show(self, picture: np.ndarray, interval_s: float) -> None:
        """Shows a picture, at the earliest `interval_s` after the previous one."""
        if self._root is None:
            return
        height, width = picture.shape[:2]
        # Store it on the label: tkinter holds no reference to pictures.
        self._label.picture = self._tkinter.PhotoImage(
            data=b"P6 %d %d 255\n" % (width, height) + picture.tobytes(), format="PPM", master=self._root)
        self._label.configure(image=self._label.picture)
        time.sleep(max(0.0, self._next_show_s - time.monotonic()))
        self._next_show_s = time.monotonic() + interval_s
        self._root.update()

    def close(self) -> None:
        """Closes the window; a second call does nothing."""
        if self._root is not None:
            self._root.destroy()
            self._root = None
