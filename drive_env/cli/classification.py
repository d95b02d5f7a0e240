"""Which behaviours do the scenes of a folder show? A CSV with a line for each vehicle that shows one, and counts."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..behaviours import BEHAVIOURS, classify
from ..errors import ConfigError, SceneError, printable
from ..outputs import checked_file
from ..scenes import Scene
from ..scenes.load import scenes_of
from ..scenes.resolve import files_of, find_source, is_generator
from ..whole_file import whole_file
from . import show

COLUMNS = ("file", "scene", "scenario_id", "behaviour", "object", "id")
"""Of the CSV: the file, the index of the scene in it, its scenario id, the class, index and id of the vehicle."""


def run(source: str, out: Path | None) -> None:
    """Classifies every scene of the files; those that cannot be read are reported, and counted."""
    if is_generator(source):
        raise ConfigError(f"scenes is {source!r}; a generated scene has no log to classify: pass a file or a folder, "
                          f"./{source} for one of that name")
    if out is not None:
        checked_file("--out", out, (".csv",))
    files, failed, scene_count, found = files_of(source), [], 0, {name: [0, 0] for name in BEHAVIOURS}
    with _rows(out) as write, show.progress() as bars:
        for file in bars.track(files, description="classifying"):
            try:
                # A file counts when all of its scenes are read.
                scenes = [_shown(scene) for scene in scenes_of(find_source(file))]
            except SceneError as error:
                if len(files) == 1:
                    raise
                failed.append(file)
                bars.console.print(f"not read: {printable(str(error))}", markup=False, soft_wrap=True)
                continue
            scene_count += len(scenes)
            for index, shown in enumerate(scenes):
                for name, count in Counter(cells[1] for cells in shown).items():
                    found[name][0] += 1
                    found[name][1] += count
                for cells in shown:
                    write((str(file), index, *cells))
    if len(failed) == len(files):
        raise SceneError(f"{source}: none of its {len(files)} files could be read")
    counts = {"files": len(files) - len(failed), "scenes": scene_count, "files not read": len(failed)}
    written = [] if out is None else [("written", str(out))]
    show.facts([(name, str(count)) for name, count in counts.items()] + written)
    rows = [[name, *map(str, numbers)] for name, numbers in found.items()]
    show.table("behaviours", ["", "scenes", "vehicles"], rows)


def _shown(scene: Scene) -> list[tuple[str, str, int, int]]:
    """Scenario id, class, index and id of each vehicle that shows a behaviour in a scene."""
    return [(scene.scenario_id, name, index, int(scene.objects.id[index]))
            for name, objects in classify(scene).items() for index in objects]


@contextmanager
def _rows(out: Path | None) -> Iterator[Any]:
    """A function that writes a row of the CSV; one that does nothing without a file."""
    if out is None:
        yield lambda row: None
        return
    with (whole_file(out) as beside,
          open(beside, "w", newline="", encoding="utf-8", errors="surrogateescape") as file):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        yield writer.writerow
