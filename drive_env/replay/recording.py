"""A recording: some trials of one world, and the replay page made of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape

from ..errors import ConfigError
from ..whole_file import whole_file
from .page import fill_page
from .trials import RecordedTrials


FRAME_HEIGHT_PX = 600
"""Height of the replay page in a notebook: map, timeline and controls without scrolling."""


@dataclass(frozen=True, eq=False)
class Recording(RecordedTrials):
    """Some trials of one world. A notebook shows a recording as its replay page.

    Attributes:
        config, layout: of the recorded batch.
        roles: the agent roles of each recorded scene.
        trials: in chronological order.
        has_own_reward: whether `Batch(reward=...)` computed the rewards.
    """

    def html(self, title: str | None = None) -> str:
        """The replay page: one HTML document that makes no network request.

        Args:
            title: heading of the page; None: the names of the scenes.
        """
        return fill_page(self, title)

    def save_html(self, path: str | os.PathLike, title: str | None = None) -> int:
        """Writes the replay page to `path` and returns its size in bytes; `title` as for `html`.

        Raises:
            ConfigError: the file cannot be written.
        """
        page = self.html(title).encode()
        try:
            with whole_file(path) as beside, open(beside, "wb") as file:
                file.write(page)
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"path is {os.fspath(path)!r}; it cannot be written: {reason}") from error
        return len(page)

    def _repr_html_(self) -> str:
        """What a notebook shows: the replay page in a frame, without a file of its own."""
        return (f'<iframe srcdoc="{escape(self.html())}" title="Replay" allow="fullscreen" '
                f'style="width: 100%; height: {FRAME_HEIGHT_PX}px; border: 0"></iframe>')

    def __repr__(self) -> str:
        frames = sum(trial.frame_count for trial in self.trials)
        return f"Recording({len(self.trials)} trials, {frames} frames, {len(self.roles)} scenes)"
