"""Which scenes are hard for the policies of some results? Writes a list of all scenes, and the hardest as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import ConfigError, printable
from ..evaluation import hard_scenes, load_result, save_hardness, scene_hardness
from ..outputs import checked_file, checked_folder
from ..scenes import save_scene
from . import show
from .evaluation import check_inputs_remain

SHOWN = 10
"""Default of `--count`."""


def run(results: Sequence[Path], out: Path, count: int | None, folder: Path | None) -> None:
    """Writes the hardness of all scenes, shows the `count` hardest, and saves them into a folder."""
    checked_file("--out", out, (".json",))
    check_inputs_remain(results, out)
    places = [path.resolve() for path in results]
    if twice := next((path for number, path in enumerate(results) if places[number] in places[:number]), None):
        raise ConfigError(f"RESULT is {str(twice)!r} twice; each result must be passed once")
    if folder is not None:
        checked_folder("--save", folder)
    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"--save is {str(folder)!r}; it must be a new or an empty folder")
    rows = scene_hardness([load_result(path) for path in results])
    count = min(SHOWN, len(rows)) if count is None else count
    if len(rows) < count:
        raise ConfigError(f"--count is {count}; the results have {show.plural(len(rows), 'scene')}, so it must be from "
                          f"1 to {len(rows)}")
    save_hardness(rows, out)
    show.table("hardest scenes", ["scene", "hardness", "results", "trials"], [
        [printable(row.source), f"{row.hardness:.3g}", str(row.results), str(row.trials)] for row in rows[:count]])
    show.lines(f"\nhardness of {show.plural(len(rows), 'scene')}: {out}")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for rank, scene in enumerate(hard_scenes(count, out)):
            save_scene(scene, folder / f"{rank:05d}.drv")
        show.lines(f"the {show.plural(count, 'hardest scene')}: {folder}")
