"""How are files of any readable format converted to `.drv`? One by one, with a report on each."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

from ..errors import ConfigError, DriveError, SceneError, printable
from ..outputs import checked_file, checked_folder
from ..scenes import Scene, generate_scene, save_scene
from ..scenes.load import only_scene
from ..scenes.metadata import as_text
from ..scenes.readers.drv import has_signature
from ..scenes.readers.source import read_source
from ..scenes.resolve import files_of, is_generator, is_name
from . import show

SUFFIX = ".drv"


def run(sources: list[str], out: Path, provenance: dict[str, str], force: bool, seed: int,
        agents: int | None) -> None:
    """Converts every source; `provenance` replaces fields of `Scene.provenance`."""
    # Refuse existing files before anything is converted.
    planned = plan(sources, out)
    existing = [target for _, target in planned if os.path.lexists(target)]
    if existing and not force:
        others = f", and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise ConfigError(f"{existing[0]} exists{others}; nothing is overwritten without --force")
    if any(target == out for _, target in planned):
        checked_file("out", out, (SUFFIX,))
    else:
        checked_folder("out", out)
    # Convert; a failure of one file does not stop the others.
    failed = []
    with show.progress() as bars:
        for source, target in bars.track(planned, description="converting"):
            try:
                scene = read(source, provenance, seed, agents)
                if target != out:
                    out.mkdir(parents=True, exist_ok=True)  # not earlier: no folder if nothing can be read
                save_scene(scene, target, overwrite=force)
            except (DriveError, OSError) as error:
                if len(planned) == 1:
                    raise
                failed.append(source)
                reason = f"{source}: {show.os_error_text(error)}" if isinstance(error, OSError) else str(error)
                bars.console.print(f"not converted: {printable(reason)}", markup=False, soft_wrap=True)
            else:
                show.lines(report(scene, target))
    if failed:
        raise SceneError(f"{len(failed)} of {show.plural(len(planned), 'file')} could not be converted")


def plan(sources: list[str], out: Path) -> list[tuple[str, Path]]:
    """Each source with its target: `out` itself, or a file in the folder `out`."""
    files = [file for source in sources for file in _files(source)]
    if out.suffix.lower() == SUFFIX:
        if len(sources) != 1 or os.path.isdir(sources[0]) and not is_name(sources[0]):
            raise ConfigError(f"out is {str(out)!r}, a file; for a folder or several sources it must be a folder")
        return [(files[0], out)]
    if os.path.lexists(out) and not out.is_dir():
        raise ConfigError(f"out is {str(out)!r}, which exists and is no folder; a file to write must end in {SUFFIX}")
    planned: dict[Path, str] = {}
    for file in files:
        target = out / f"{Path(file).stem}{SUFFIX}"
        if target in planned:
            raise ConfigError(f"{planned[target]} and {file} have the same target, {target}; convert them separately")
        planned[target] = file
    return [(file, target) for target, file in planned.items()]


def _files(source):
    """The source, or the visible files of a folder; prints how many subfolders are ignored."""
    if is_name(source) or not os.path.isdir(source):
        return [source]
    found = files_of(source)
    folders = sum(not name.startswith(".") for name in os.listdir(source)) - len(found)
    if folders:
        show.lines(f"{printable(source)}: {show.plural(folders, 'subfolder')} ignored; pass a subfolder to convert its "
                   "files")
    return found


def read(source: str, provenance: dict[str, str], seed: int, agents: int | None) -> Scene:
    """The scene of one source, with its provenance."""
    if is_generator(source):
        scene = generate_scene(source, seed=seed, agents=agents)
    else:
        file = read_source(source)
        scene = only_scene(file)
        if not has_signature(file.data):
            # Without the folder, which means nothing on another machine.
            file_name = as_text(os.path.basename(file.path))
            digest = hashlib.sha256(file.stored).hexdigest()
            scene = dataclasses.replace(
                scene, source=file_name, provenance=dataclasses.replace(scene.provenance, source_sha256=digest))
    return dataclasses.replace(scene, provenance=dataclasses.replace(scene.provenance, **provenance))


def text_in(path: Path) -> str:
    """The content of a text file, with line endings of any kind."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is not UTF-8 text: {error}") from None


def report(scene: Scene, target: Path) -> str:
    """The size of the file, and the differences between source and scene."""
    objects, roads = scene.objects, scene.roads
    licence = "licence stated" if scene.provenance.licence else "no licence stated"
    head = (f"{printable(str(target))}: {os.path.getsize(target):,} bytes, {show.plural(objects.count, 'object')} over "
            f"{show.plural(objects.frame_count, 'frame')}, {show.plural(roads.count, 'road')}, {licence}")
    return "\n  ".join([head, *str(scene.report).splitlines()])
