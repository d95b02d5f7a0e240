"""How does a recording become one file? The parts in `web/` are put together, with the recording in them."""

from __future__ import annotations

import base64
import html
import re
from importlib import resources

from .packing import pack_recording
from .recording import Recording

SCRIPTS = ("inflate", "reading", "trials", "elements", "state", "camera", "ground", "traffic", "sight",
           "overlay", "pane", "timeline", "panel", "agents", "controls", "main")
"""The page's JavaScript, in the order in which it is read."""

SLOT = re.compile(r"<!-- (title|style|script|recording) -->")
"""Where a part goes in page.html."""

NAMES_IN_TITLE = 3


def fill_page(recording: Recording, title: str | None = None) -> str:
    """The whole page as HTML."""
    parts = {
        "title": html.escape(_default_title(recording) if title is None else str(title)),
        "style": f"<style>\n{_read('page.css')}</style>",
        "script": f"<script>\n(() => {{\n\"use strict\";\n\n{_scripts()}}})();\n</script>",
        "recording": base64.b64encode(pack_recording(recording)).decode(),
    }
    return SLOT.sub(lambda slot: parts[slot[1]], _read("page.html"))


def _default_title(recording):
    names = [roles.scene.name for roles in recording.roles]
    more = len(names) - NAMES_IN_TITLE
    return ", ".join(names[:NAMES_IN_TITLE]) + (f" and {more} more" if more > 0 else "")


def _scripts():
    return "\n".join(_read(f"{name}.js") for name in SCRIPTS)


def _read(name):
    return resources.files(__package__).joinpath("web").joinpath(name).read_text("utf-8")
