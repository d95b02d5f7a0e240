"""How is a recording written as one file? The parts in `web/` and the packed recording are inserted into a template."""

from __future__ import annotations

import base64
import html
import re
from importlib import resources

from .packing import pack_recording
from .trials import RecordedTrials

SCRIPTS = ("inflate", "reading", "trials", "elements", "state", "camera", "ground", "traffic", "lights",
           "observation", "episode", "overlay", "pane", "timeline", "panel", "overview", "controls", "main")
"""The page's JavaScript files, in the order of their concatenation."""

PLACEHOLDER = re.compile(r"<!-- (title|style|script|recording) -->")
"""A placeholder in page.html."""

NAMES_IN_TITLE = 3


def fill_page(recording: RecordedTrials, title: str | None = None) -> str:
    """The whole page as HTML; with `title` None the title is the names of the scenes."""
    parts = {
        "title": html.escape(_default_title(recording) if title is None else str(title)),
        "style": f"<style>\n{_read('page.css')}</style>",
        "script": f"<script>\n(() => {{\n\"use strict\";\n\n{_scripts()}}})();\n</script>",
        "recording": base64.b64encode(pack_recording(recording)).decode(),
    }
    return PLACEHOLDER.sub(lambda found: parts[found[1]], _read("page.html"))


def _default_title(recording):
    names = [roles.scene.name for roles in recording.roles]
    more = len(names) - NAMES_IN_TITLE
    return ", ".join(names[:NAMES_IN_TITLE]) + (f" and {more} more" if more > 0 else "")


def _scripts():
    return "\n".join(_read(f"{name}.js") for name in SCRIPTS)


def _read(name):
    return resources.files(__package__).joinpath("web").joinpath(name).read_text("utf-8")
