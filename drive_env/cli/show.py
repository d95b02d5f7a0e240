"""How does a command print? Text and tables on stdout, a transient progress bar on stderr."""

from __future__ import annotations

import platform

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..errors import printable
from ..machine import processor, usable_threads
from ..version import package_version

console = Console(highlight=False)

TABLE_COLUMNS_LIMIT = 1000
"""Widest table that is not cropped, characters."""


def heading(text: str) -> None:
    """Prints an empty line and the text in bold."""
    console.print()
    console.print(Text(printable(text), style="bold"), soft_wrap=True)


def lines(text: str) -> None:
    """Prints text without markup; only the terminal breaks long lines."""
    console.print(Text(text), soft_wrap=True)


def facts(pairs: list[tuple[str, str]]) -> None:
    """Prints one fact per line, names in the first column."""
    width = max(len(name) for name, _ in pairs)
    lines("\n".join(f"{name.ljust(width)}   {printable(value)}" for name, value in pairs))


def os_error_text(error: OSError) -> str:
    """The file and the reason."""
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror or str(error)


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Prints a table under a heading: the first column is text, the others are numbers."""
    grid = Table(header_style="dim", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for place, column in enumerate(columns):
        grid.add_column(Text(column), justify="left" if place == 0 else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    heading(title)
    # At the table's own width, by a console of that width: in files and pipes, too, rich cuts off what is wider.
    width = max(console.width, Console(width=TABLE_COLUMNS_LIMIT).measure(grid).maximum)
    Console(highlight=False, width=width).print(grid, crop=False)


def progress() -> Progress:
    """Progress bars on stderr; none where that is no terminal."""
    stderr = Console(stderr=True)
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                    console=stderr, transient=True, disable=not stderr.is_terminal)


def machine() -> str:
    """The machine, to report with figures of speed."""
    return (f"drive-env {package_version()}, Python {platform.python_version()}, {platform.system()} "
            f"{platform.machine()}, {processor()}, {plural(usable_threads(), 'usable thread')}")


def plural(count: int, thing: str) -> str:
    """1 thread, 2 threads."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def count(value: float) -> str:
    """1.23 million, or 345,678."""
    return f"{value / 1e6:.3g} million" if value >= 1e6 else f"{value:,.0f}"
