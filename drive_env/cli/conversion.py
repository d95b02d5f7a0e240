"""How do files of any readable format become files of the own? One by one, and what becomes of each is said."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

from ..errors import ConfigError, DriveError, SceneError, printable
from ..scenes import Scene, generate_scene, save_scene
from ..scenes.load import only_scene
from ..scenes.metadata import as_text
from ..scenes.readers.drv import has_signature
from ..scenes.readers.source import read_source
from ..scenes.resolve import files_of, is_generator
from . import show

SUFFIX = ".drv"


def run(sources: list[str], out: Path, stated: dict[str, str], force: bool, seed: int, agents: int) -> None:
    """Converts every source; `stated` are fields of `Provenance` that the user gives."""
    planned = plan(sources, out)
    taken = [target for _, target in planned if os.path.lexists(target)]
    if taken and not force:
        others = f", and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise ConfigError(f"{taken[0]} is there already{others}; nothing is overwritten without --force")
    failed = []
    with show.progress() as bars:
        for source, target in bars.track(planned, description="converting"):
            try:
                scene = read(source, stated, seed, agents)
                if target != out:
                    out.mkdir(parents=True, exist_ok=True)  # only now, so that none is left where nothing could be read
                save_scene(scene, target, overwrite=force)
            except (DriveError, OSError) as error:
                if len(planned) == 1:
                    raise
                failed.append(source)
                reason = f"{source}: {show.words_of(error)}" if isinstance(error, OSError) else str(error)
                bars.console.print(f"not converted: {printable(reason)}", markup=False, soft_wrap=True)
            else:
                show.lines(said(scene, target))
    if failed:
        raise SceneError(f"{len(failed)} of {show.some(len(planned), 'file')} could not be converted")


def plan(sources: list[str], out: Path) -> list[tuple[str, Path]]:
    """Each source with the file it becomes: `out` itself, or a file in the folder `out`."""
    files = [file for source in sources for file in _files(source)]
    if out.suffix.lower() == SUFFIX:
        if len(sources) != 1 or os.path.isdir(sources[0]) and not is_generator(sources[0]):
            raise ConfigError(f"out is {str(out)!r}, one file; a folder, or more than one source, becomes a folder")
        return [(files[0], out)]
    if os.path.lexists(out) and not out.is_dir():
        raise ConfigError(f"out is {str(out)!r}, which is there and no folder; a file to write ends in {SUFFIX}")
    planned: dict[Path, str] = {}
    for file in files:
        target = out / f"{Path(file).stem}{SUFFIX}"
        if target in planned:
            raise ConfigError(f"{planned[target]} and {file} would both become {target}; convert them apart")
        planned[target] = file
    return [(file, target) for target, file in planned.items()]


def _files(source):
    """The source, or what lies right in it where it is a folder, save folders; hidden ones are not looked at."""
    if is_generator(source) or not os.path.isdir(source):
        return [source]
    found = files_of(source)
    folders = sum(not name.startswith(".") for name in os.listdir(source)) - len(found)
    if folders:
        show.lines(f"{printable(source)}: {show.some(folders, 'folder')} in it not looked into; name them to convert "
                   "what is there")
    return found


def read(source: str, stated: dict[str, str], seed: int, agents: int) -> Scene:
    """The scene of one source, as it is to be written."""
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
    return dataclasses.replace(scene, provenance=dataclasses.replace(scene.provenance, **stated))


def text_in(path: Path) -> str:
    """A text file, whatever ends its lines."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is no text in UTF-8: {error}") from None


def said(scene: Scene, target: Path) -> str:
    """What was written, and what became of the source."""
    objects, roads = scene.objects, scene.roads
    licence = "licence stated" if scene.provenance.licence else "no licence stated"
    head = (f"{printable(str(target))}: {os.path.getsize(target):,} bytes, {show.some(objects.count, 'object')} over "
            f"{show.some(objects.frame_count, 'frame')}, {show.some(roads.count, 'road')}, {licence}")
    return "\n  ".join([head, *str(scene.report).splitlines()])
