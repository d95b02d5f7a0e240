"""How do measured figures get onto a page? As Markdown tables between two markers of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(map(str, row)) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def put_measured(page: Path, measured: str, part: str = "measured") -> None:
    """Replaces the text between a page's `<!-- part -->` and the next `<!-- end -->`.

    Raises:
        ValueError: the page has no such markers.
    """
    between = f"<!-- {part} -->\n\n{measured}\n\n<!-- end -->"
    text, found = re.subn(rf"<!-- {part} -->.*?<!-- end -->", lambda _: between, page.read_text(), flags=re.DOTALL)
    if not found:
        raise ValueError(f"{page} has no line <!-- {part} --> with a line <!-- end --> after it")
    page.write_text(text)


def measured_part(page: Path, part: str = "measured") -> str:
    """The text between a page's `<!-- part -->` and the next `<!-- end -->`.

    Raises:
        ValueError: the page has no such markers.
    """
    found = re.search(rf"<!-- {part} -->\n*(.*?)\n*<!-- end -->", page.read_text(), flags=re.DOTALL)
    if not found:
        raise ValueError(f"{page} has no line <!-- {part} --> with a line <!-- end --> after it")
    return found[1]
