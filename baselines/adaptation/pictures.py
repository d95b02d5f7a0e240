"""What do the scores of trials look like? Pictures of an ablation's results, and of the logs of a training.

    python -m baselines.adaptation.pictures ablation/scores.json --out scores.png
    python -m baselines.adaptation.pictures runs/hidden_exit_shown runs/hidden_exit_mixed runs/hidden_exit
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from ..tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.adaptation.pictures").install()

import json
import os
import sys
from pathlib import Path
from typing import Any

from .report import draw_runs, draw_scores
from .training import read_trainings


def read_scores_file(path: Path) -> dict[str, Any]:
    """The content of a `scores.json` of `baselines.ablate`.

    Raises:
        ValueError: it cannot be read, or is none.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        for policy in found["policies"].values():
            for score in policy["scores"]:
                float(score["low"]), float(score["value"]), float(score["high"])
        list(found["optimal"].items())
    except OSError as error:
        raise ValueError(f"{os.fspath(path)!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{os.fspath(path)!r} is no scores.json of baselines.ablate, or damaged: "
                         f"{type(error).__name__}: {error}") from None
    return found


def main() -> None:
    """The command: `python -m baselines.adaptation.pictures SOURCE...`."""
    import tyro

    def run(sources: tuple[Path, ...], out: Path = Path("trials.png")) -> None:
        """Draws the scores of each trial: under ablations, or over the runs of one or more trainings.

        Args:
            sources: a scores.json of baselines.ablate; or folders of runs, in the order in which each started from the
                one before, and for several trainings, such as several seeds, one after the other.
            out: the picture to write.
        """
        try:
            if not sources:
                raise ValueError("SOURCES is missing; it must be a scores.json or the folders of runs")
            if [source.suffix for source in sources] == [".json"]:
                found = read_scores_file(sources[0])
                draw_scores(found["policies"], found["optimal"], out)
            else:
                draw_runs(read_trainings(sources), out)
        except (ValueError, OSError) as error:  # from a source or the picture; the message is one sentence
            sys.exit(f"baselines.adaptation.pictures: {error}")
        print(f"picture: {out}")

    tyro.cli(run, prog="python -m baselines.adaptation.pictures", config=(tyro.conf.PositionalRequiredArgs,))


if __name__ == "__main__":
    main()
