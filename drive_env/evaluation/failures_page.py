"""Which episodes went wrong? A table of them as one HTML file, sorted by a click, with links to films and replays."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import printable
from .result import EvalResult

FAILURES_PAGE = "failures.html"
"""Name of the page, in the folder of the films."""

LINE_LIMIT = 1000
"""Most episodes in the table, the lowest scores first."""

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #1c2026; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #d4d8de; padding: .3rem .8rem .3rem 0; text-align: left; overflow-wrap: anywhere; }
th button { font: inherit; font-weight: bold; color: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e7eb; background: #16191d; }
  th, td { border-color: #3a4048; }
  a { color: #8ab4f8; }
}
"""

SCRIPT = """
const body = document.querySelector("tbody"), heads = [...document.querySelectorAll("th")];
heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
  const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const text = (row) => row.cells[column].textContent;
  const isNumeric = [...body.rows].every((row) => text(row) !== "" && !isNaN(text(row)));
  const rows = [...body.rows].sort((one, other) => direction * (
    isNumeric ? text(one) - text(other) : text(one).localeCompare(text(other), "en", { numeric: true })));
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  body.append(...rows);
}));
"""
"""A click on a heading sorts by its column, a second one in the other direction."""


class TableLine(NamedTuple):
    """An episode: its mean score, the numbers of trials by outcome, and the names of its files by view."""

    score: float
    outcomes: Mapping[str, int]
    scene: str
    group: str
    world: int
    files: Mapping[str, str]


def failures_page(result: EvalResult, lines: Sequence[TableLine]) -> str:
    """The page, which makes no network request.

    Args:
        lines: the lowest score first.
    """
    # What was evaluated, and how much of it is shown.
    title = _shown(f"{result.evaluator}: episodes of {result.policy}")
    files = sum(len(line.files) for line in lines)
    shown = f"The {LINE_LIMIT} lowest scores of {len(lines)} episodes" if len(lines) > LINE_LIMIT else (
        f"{len(lines)} episode{'s' * (len(lines) != 1)}")
    summary = f"{shown}; {files} file{'s' * (files != 1)}. Click a heading to sort."

    # The table.
    heads = "".join(f'<th scope="col"{sort}><button>{name}</button></th>' for name, sort in (
        ("score", ' aria-sort="ascending"'), ("outcomes", ""), ("scene", ""), ("group", ""), ("world", ""),
        ("shown", "")))
    body = "".join(map(_line_html, lines[:LINE_LIMIT]))
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
            f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{summary}</p>\n"
            f"<table>\n<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n{body}</tbody>\n</table>\n"
            f"<script>{SCRIPT}</script>\n</body>\n</html>\n")


def _shown(text: str) -> str:
    return html.escape(printable(text))


def _line_html(line: TableLine) -> str:
    outcomes = ", ".join(f"{name} {count}" for name, count in line.outcomes.items())
    links = ", ".join(f'<a href="{file}">{view}</a>' for view, file in line.files.items())
    return (f"<tr><td>{line.score:.6f}</td><td>{outcomes}</td><td>{_shown(line.scene)}</td>"
            f"<td>{_shown(line.group)}</td><td>{line.world}</td><td>{links}</td></tr>\n")
