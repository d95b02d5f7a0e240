"""Which behaviours does a trial show, and which of its objects show them?"""

from __future__ import annotations

from ..errors import SceneError, value_text
from ..scenes import Scene
from .registry import BEHAVIOURS
from .trial import Trial


def classify(scene: Scene) -> dict[str, list[int]]:
    """The vehicles that show each class of behaviour in the log of a scene.

    Args:
        scene: with a log; one without a log, such as most generated scenes, shows none.

    Returns:
        Object indices, ascending, by the name of the class; empty where no vehicle shows it.

    Raises:
        SceneError: it is no scene.
    """
    if not isinstance(scene, Scene):
        raise SceneError(f"scene is {value_text(scene)}; it must be a Scene")
    trial = Trial(scene)
    return {name: _showing(trial, name) for name in BEHAVIOURS}


def subjects(scene: Scene, name: str) -> list[int]:
    """The vehicles that show one class of behaviour."""
    return _showing(Trial(scene), name)


def _showing(trial, name):
    return sorted({track.object for track in trial.vehicles if BEHAVIOURS[name].predicate(trial, track)})
