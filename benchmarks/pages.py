"""How do measured figures get onto a page? As a Markdown table between the page's two markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(map(str, row)) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def put_measured(page: Path, measured: str) -> None:
    """Replaces the text between the markers of a page."""
    between = f"<!-- measured -->\n\n{measured}\n\n<!-- end -->"
    page.write_text(re.sub(r"<!-- measured -->.*<!-- end -->", lambda _: between, page.read_text(), flags=re.DOTALL))
