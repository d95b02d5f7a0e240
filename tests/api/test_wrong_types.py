"""Is the error of an argument of a wrong type a DriveError, whatever the call?"""

import numpy as np
import pytest

import drive_env
from drive_env import Batch, DriveConfig, DriveError, aec_env, generate_scene, parallel_env
from drive_env.api.gym import DriveEnv, DriveVectorEnv
from drive_env.drivers import LaneDriver, RandomDriver
from drive_env.index_observations import parts_of

SCENE = generate_scene("intersection", agents=4)
SHORT = DriveConfig(trial_steps=3)

WRONG = (-1, 10**30, 1.5, float("nan"), "x", "", b"x", [], [1], {"a": 1}, object(), np.zeros((2, 2)), np.array(["a"]),
         ...)
"""Values of many types. An argument below may accept a few of them, and must refuse the others by a DriveError."""


def opened(kind):
    """An env or batch on which calls can be made."""
    made = {"batch": lambda: Batch(SCENE, num_worlds=2, threads=1), "parallel": lambda: parallel_env(SCENE),
            "gym": lambda: DriveEnv(SCENE), "vector": lambda: DriveVectorEnv(2, SCENE, threads=1)}[kind]()
    made.reset(seed=0)
    return made


MAKERS = {
    Batch: ("scenes", "num_worlds", "config", "seed", "threads", "arrays", "world_ids", "restart", "parts"),
    parallel_env: ("scenes", "config", "render_mode", "finished", "copy", "max_cycles", "dict_observations"),
    aec_env: ("scenes", "config", "render_mode", "finished", "copy", "max_cycles", "dict_observations"),
    DriveEnv: ("scenes", "config", "render_mode", "dict_observations"),
    DriveVectorEnv: ("num_envs", "scenes", "config", "threads", "autoreset_mode", "copy", "render_mode",
                     "max_episode_steps", "dict_observations"),
}
CALLS = {
    "batch": {"reset": ("seed", "worlds", "initial_ages"), "step": ("actions",), "step_async": ("actions",),
              "restart_observations": ("out",), "vehicles": ("world",), "trial_state": ("world",),
              "step_events": ("world",), "scene_report": ("scene",), "phase_times": ("on",),
              "load_state_dict": ("state",), "float_observations": ("agents",)},
    "parallel": {"reset": ("seed",), "step": ("actions",), "observation_space": ("agent",), "action_space": ("agent",)},
    "gym": {"reset": ("seed",), "step": ("action",)},
    "vector": {"reset": ("seed", "options"), "step": ("actions",)},
}


def fails_in_the_family(call) -> None:
    try:
        call()
    except DriveError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("make, argument", [(make, name) for make, names in MAKERS.items() for name in names])
def test_a_constructor_raises_errors_of_the_family_alone(make, argument, wrong):
    fails_in_the_family(lambda: make(**({"scenes": SCENE} | {argument: wrong})).close())


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("kind, method, argument", [
    (kind, method, name) for kind, methods in CALLS.items() for method, names in methods.items() for name in names])
def test_a_method_raises_errors_of_the_family_alone(kind, method, argument, wrong):
    made = opened(kind)
    fails_in_the_family(lambda: getattr(made, method)(**{argument: wrong}))
    made.close()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: repr(value)[:20])
def test_drivers_recordings_and_tables_raise_errors_of_the_family_alone(wrong):
    batch, index = opened("batch"), DriveConfig(observation={"type": "index"})
    for call in (lambda: LaneDriver(wrong), lambda: LaneDriver(batch).act(wrong), lambda: RandomDriver(wrong),
                 lambda: RandomDriver(batch, wrong), lambda: RandomDriver(batch).act(wrong),
                 lambda: parts_of(wrong, np.zeros((1, 10), np.uint8)), lambda: parts_of(index, wrong),
                 lambda: DriveConfig.from_dict(wrong), lambda: drive_env.record(SCENE, wrong, SHORT),
                 lambda: drive_env.record(SCENE, config=SHORT, episodes=wrong),
                 lambda: drive_env.record(SCENE, config=SHORT, progress=wrong)):
        fails_in_the_family(call)
