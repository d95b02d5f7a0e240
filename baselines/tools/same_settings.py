"""Which evaluations of a log have the same settings? A run that resumes may have others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..config import RunConfig

CHANGED = "evaluation_changed"
"""Entry of a line "start": names of the settings that differ between evaluations before and after the line: fields of
`OF_OWN` as run.NAME, sections of `run.evaluators` as eval.NAME."""

OF_OWN = ("evaluate_scenes", "seed")
"""Fields of `run` that determine the evaluation on the scenes of the training; `env` is the same in a resumed run."""

Line = Mapping[str, Any]


def parts(lines: Iterable[Line], evaluator: str | None = None) -> list[list[Line]]:
    """The evaluations of a log, in parts of equal settings; at least one part, and any may be empty.

    Args:
        lines: of the log.
        evaluator: of `run.evaluators`; None: the evaluations on the scenes of the training.
    """
    found: list[list[Line]] = [[]]
    settings = None
    for line in lines:
        if evaluator is None and any(name.startswith("run.") for name in line.get(CHANGED, ())):
            found.append([])
        if line["kind"] != "evaluation" or line.get("evaluator") != evaluator:
            continue
        # A failure has no settings, and neither has a line of a version that did not log them.
        own = None if evaluator is None else settings_of([line], evaluator)
        if own and settings and own != settings:
            found.append([])
        settings = own or settings
        found[-1].append(line)
    return found


def settings_of(part: Iterable[Line], evaluator: str) -> str | None:
    """The hash of the settings of an evaluator in a part of a log; None if no line has it."""
    return next(filter(None, (line.get(f"eval/{evaluator}/config_sha256") for line in part)), None)


def changed_settings(lines: Sequence[Line], then: RunConfig, now: RunConfig, evaluators: Mapping[str, str]
                     ) -> dict[str, str]:
    """The settings that a resumed run changes, as in the entry `CHANGED`, each with a sentence.

    Args:
        lines: of the log, up to the checkpoint from which the run is resumed.
        then, now: `run` of the checkpoint, and of the resumed run.
        evaluators: the hashes of the settings of the evaluators now, by name.
    """
    found = {}
    for name in OF_OWN:
        was, has = getattr(then, name), getattr(now, name)
        if was != has:
            found[f"run.{name}"] = f"run.{name} is {has} and was {was} before"
    for name, digest in evaluators.items():
        before = settings_of(parts(lines, name)[-1], name)
        if before not in (None, digest):
            found[f"eval.{name}"] = f"the section eval.{name} of run.evaluators has other settings than before"
    return found
