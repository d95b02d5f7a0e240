"""Which behaviours does an episode show, and which of its objects show them?"""

from __future__ import annotations

from ..errors import SceneError, value_text
from ..scenes import Scene
from .episode import Episode
from .registry import BEHAVIOURS


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
    episode = Episode(scene)
    return {name: _showing(episode, name) for name in BEHAVIOURS}


def subjects(scene: Scene, name: str) -> list[int]:
    """The vehicles that show one class of behaviour."""
    return _showing(Episode(scene), name)


def _showing(episode, name):
    return sorted({track.object for track in episode.vehicles if BEHAVIOURS[name].predicate(episode, track)})
