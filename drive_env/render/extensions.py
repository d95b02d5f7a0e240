"""Which extensions may the files of films, contact sheets and charts have? Needs no package of the extra `render`."""

from __future__ import annotations

FILM_EXTENSIONS = (".mp4", ".gif")

SHEET_EXTENSIONS = (".png",)

CHART_EXTENSIONS = (".png", ".svg", ".pdf")
