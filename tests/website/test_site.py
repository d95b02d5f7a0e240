"""Does the built site hold together? Its links, its navigation, and its width on a phone.

`make docs` builds it and names its folder in DRIVE_ENV_SITE.
"""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ["DRIVE_ENV_SITE"]).resolve() if "DRIVE_ENV_SITE" in os.environ else None

pytestmark = pytest.mark.skipif(
    SITE is None, reason="DRIVE_ENV_SITE names no built site; `make docs` builds and tests it")

SOURCES = sorted(page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in (ROOT / "docs").rglob("*.md"))
PHONE_PX, DESKTOP_PX = 360, 1280


class Page(HTMLParser):
    """What a page refers to, what in it can be referred to, and what its navigation lists."""

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.ids, self.targets, self.listed = path, set(), [], set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        self.targets += [found[name] for name in ("href", "src", "srcset", "poster") if found.get(name)]
        if "reference" in (found.get("class") or "").split() and "internal" in found["class"]:
            self.listed.add(found.get("href"))


@pytest.fixture(scope="module")
def pages():
    return {path: Page(path) for path in sorted(SITE.rglob("*.html"))}


def test_every_page_was_built(pages):
    assert {f"{name}.html" for name in SOURCES} <= {path.relative_to(SITE).as_posix() for path in pages}


def test_links_within_the_site_lead_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target == "#":
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file() or SITE not in file.parents:
                broken.append(f"{path.relative_to(SITE)}: {target}")
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].ids:
                broken.append(f"{path.relative_to(SITE)}: {target} (no such place)")
    assert broken == []


def test_pages_load_nothing_from_elsewhere(pages):
    """No other server learns who reads the site, and it works without a network."""
    loads = re.compile(r"<(?:script|img|iframe|source)[^>]*\bsrc=\"(?:https?:)?//|"
                       r"<link[^>]*rel=\"(?:stylesheet|preload|icon)\"[^>]*href=\"(?:https?:)?//|"
                       r"url\((?:https?:)?//|@import")
    assert [str(path) for path in [*pages, *SITE.rglob("*.css")] if loads.search(path.read_text("utf-8"))] == []


def test_every_page_is_in_the_navigation(pages):
    home = pages[SITE / "index.html"]
    missing = [name for name in SOURCES if f"{name}.html" not in home.listed and name != "index"]
    assert missing == []


def test_every_public_name_has_its_place(pages):
    from public_names import public_objects

    ids = pages[SITE / "api.html"].ids
    assert [path for path, found in public_objects().items()
            if path not in ids and f"{getattr(found, '__module__', '')}.{path.rpartition('.')[2]}" not in ids] == []


def test_constants_are_described_by_their_own_docstrings():
    """Sphinx shows that of the type for a constant that is imported from another module."""
    shown = (SITE / "api.html").read_text("utf-8")
    assert "Codes of what a traffic light shows" in shown
    assert not [kind.__doc__ for kind in (tuple, dict) if kind.__doc__.splitlines()[0].partition(".")[0] in shown]


TUTORIALS = [name for name in SOURCES if name.startswith("tutorials/")]


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_was_run_and_can_be_downloaded_as_a_notebook(pages, name):
    page = pages[SITE / f"{name}.html"]
    offered = [target for target in page.targets if target.endswith(f"/{name.rpartition('/')[2]}.ipynb")]
    assert len(offered) == 1
    notebook = json.loads((page.path.parent / offered[0]).read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 3 and all(cell["execution_count"] for cell in code)
    shown = [data for cell in code for output in cell["outputs"] for data in output.get("data", ())]
    assert "text/html" in shown and "image/png" in shown  # a replay page, and a picture or chart
    assert "srcdoc" in page.path.read_text("utf-8")


@pytest.mark.parametrize("width_px", [PHONE_PX, DESKTOP_PX])
def test_no_page_is_wider_than_its_window(pages, chromium, width_px):
    """What is wide, tables and code, scrolls by itself."""
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width_px, "height": 800, "deviceScaleFactor": 1, "mobile": width_px == PHONE_PX})
    too_wide = []
    for name in SOURCES:
        chromium.get((SITE / f"{name}.html").as_uri())
        shown = chromium.execute_script("return [document.scrollingElement.scrollWidth, window.innerWidth]")
        if shown[0] > width_px or shown[1] > width_px:
            too_wide.append((name, shown))
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert too_wide == []
