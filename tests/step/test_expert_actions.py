"""Do expert actions replay the logs? Staged ones to rounding, real ones within the distances of docs/actions.md.

`python tests/step/test_expert_actions.py` prints the rows of that page.
"""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import samples
from scripted_scenes import (
    ACCELERATION_BINS,
    COAST,
    COAST_ACTION,
    IGNORE_ALL,
    STEERING_BINS,
    STRAIGHT,
    Actor,
    batch_of,
    changed,
    driver,
    stage,
)

import drive_env
from drive_env import Batch, DriveConfig, SceneError, generate_scene
from drive_env.binding import choices
from drive_env.config import action_types

PAGE = Path(__file__).resolve().parents[2] / "docs" / "actions.md"

REAL = ("pufferdrive/map_942.bin", "pufferdrive/map_000.bin", "gpudrive/test.json",
        "gpudrive/tfrecord-00000-of-01000_325.json")

OTHER_MODELS = tuple((model, action_type) for action_type in ("continuous", "discrete")
                     for model in choices("dynamics") if model != "bicycle" and action_type in action_types(model))
"""Models with their action types."""
MODEL_SCENES = (REAL[0], REAL[3])
MODEL_LIMITS_M = {("delta_local", "continuous"): (0.0, 0.0), ("state", "continuous"): (0.0, 0.0),
                  ("jerk", "continuous"): (1.2, 2.5), ("jerk", "discrete"): (1.2, 2.5),
                  ("single_track", "discrete"): (0.6, 1.5)}
"""Bounds of the mean and the largest average displacement error; 0.5 and 1.5 of models that are not listed."""

ACTION_TYPES = ("discrete", "multi_discrete", "continuous")
NO_CONTROL = {"discrete": COAST_ACTION, "multi_discrete": [COAST, STRAIGHT], "continuous": [0.0, 0.0]}

AVERAGE_LIMIT_M, FINAL_LIMIT_M = 0.7, 1.1
"""Bounds of the displacement errors of any object on the real scenes."""


# ---- real logs ----


def replay(scene, **choices):
    """Distances of the agents of one world from their logs, (steps, agents), m, NaN from an invalid action on."""
    with Batch([scene], config=DriveConfig(**IGNORE_ALL, **choices)) as batch:
        batch.reset()
        expert, roles = batch.expert_actions(), batch.roles[0]
        agents, errors = roles.objects[: roles.num_agents], []
        follows = np.ones(batch.num_agents, bool)
        for step in range(len(expert.valid)):
            follows &= expert.valid[step]
            batch.step(expert.actions[step])
            state = batch.vehicles()
            offsets_m = [state[name][: len(agents)] - getattr(roles.frames, name)[step + 1, agents].astype(np.float64)
                         for name in ("x_m", "y_m")]
            errors.append(np.where(follows, np.hypot(*offsets_m), np.nan))
    return np.array(errors), expert


def displacement_errors(errors):
    """Average and final displacement error of each agent that replays at least one step, m."""
    errors = errors[:, ~np.isnan(errors[0])]
    last = (~np.isnan(errors)).sum(axis=0) - 1
    return np.nanmean(errors, axis=0), errors[last, np.arange(errors.shape[1])]


def table_row(scene_file, action_type):
    """The row of docs/actions.md."""
    errors, expert = replay(drive_env.load_scene(samples.sample(scene_file)), action_type=action_type)
    average_m, final_m = displacement_errors(errors)
    clipped = expert.clipped[expert.valid].mean()
    return (f"| `{Path(scene_file).name}` | `\"{action_type}\"` | {len(average_m)} | {average_m.mean():.2f} | "
            f"{average_m.max():.2f} | {final_m.mean():.2f} | {final_m.max():.2f} | {100 * clipped:.0f}% |")


def model_row(model, action_type, scene_file):
    """The row of docs/actions.md, in its table of models."""
    errors, expert = replay(drive_env.load_scene(samples.sample(scene_file)), action_type=action_type, dynamics=model)
    average_m, final_m = displacement_errors(errors)
    clipped = expert.clipped[expert.valid].mean()
    return (f"| `{model}` | `\"{action_type}\"` | `{Path(scene_file).name}` | {len(average_m)} | "
            f"{average_m.mean():.2f} | {average_m.max():.2f} | {final_m.mean():.2f} | {final_m.max():.2f} | "
            f"{100 * clipped:.0f}% |")


@pytest.mark.parametrize("scene_file", MODEL_SCENES)
@pytest.mark.parametrize("model, action_type", OTHER_MODELS)
def test_the_other_models_replay_a_real_log_within_the_distances_of_the_docs(model, action_type, scene_file):
    row = model_row(model, action_type, scene_file)
    assert row in PAGE.read_text().splitlines()
    mean_m, largest_m = (float(re.split(r" *\| *", row)[column]) for column in (5, 6))
    mean_limit_m, largest_limit_m = MODEL_LIMITS_M.get((model, action_type), (0.5, 1.5))
    assert mean_m <= mean_limit_m and largest_m <= largest_limit_m


@pytest.mark.parametrize("action_type", ("continuous", "discrete"))
@pytest.mark.parametrize("scene_file", REAL)
def test_a_real_log_is_replayed_within_the_distances_of_the_docs(scene_file, action_type):
    row = table_row(scene_file, action_type)
    assert row in PAGE.read_text().splitlines()
    average_m, final_m = (float(re.split(r" *\| *", row)[column]) for column in (5, 7))
    assert average_m <= AVERAGE_LIMIT_M and final_m <= FINAL_LIMIT_M


@pytest.mark.parametrize("scene_file", REAL)
def test_every_object_of_a_real_log_is_replayed_within_the_same_distances(scene_file):
    """Pedestrians, parked and marked objects too, at another time step, from a later frame."""
    scene = drive_env.load_scene(samples.sample(scene_file))
    for choices in ({}, {"dt_s": 0.05}, {"start_step": 30}):
        errors, _ = replay(scene, control="all", action_type="continuous", **choices)
        average_m, final_m = displacement_errors(errors)
        assert average_m.max() <= AVERAGE_LIMIT_M and final_m.max() <= FINAL_LIMIT_M


# ---- staged logs ----


def played(action_type, steps=40, seed=3):
    """A scene whose log is what an agent of a batch drove, and the actions with which it did."""
    rng = np.random.default_rng(seed)
    batch = batch_of(stage([driver(speed_mps=12.0)]), action_type=action_type, **IGNORE_ALL)
    actions, log = [], []
    for step in range(steps + 1):
        state = batch.vehicles()
        log.append(tuple(float(state[name][0]) for name in ("x_m", "y_m", "heading_rad", "speed_mps")))
        if action_type == "continuous":
            actions.append(rng.uniform(-1, 1, (1, 2)).astype(np.float32))
        else:
            bins = np.array([rng.integers(ACCELERATION_BINS), rng.integers(STEERING_BINS)])
            actions.append(np.array([STEERING_BINS * bins[0] + bins[1]]) if action_type == "discrete" else bins[None])
        batch.step(actions[-1])
    assert min(pose[3] for pose in log) > 2.0
    return stage([Actor(log=tuple(log), goal_m=(9e3, 0.0))]), np.array(actions[:steps])


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_the_actions_of_a_play_are_found_again(action_type):
    scene, actions = played(action_type)
    expert = scene.expert_actions({"action_type": action_type})
    assert expert.actions.dtype == actions.dtype and expert.actions.shape == actions.shape
    assert expert.valid.all() and not expert.slow.any()
    if action_type == "continuous":
        # Rounding of a heading, over the turn of a step at 2 m/s; of a speed, over the change of a step.
        assert np.abs(expert.actions - actions).max() < 2e-4
    else:
        assert (expert.actions == actions).all()


def test_later_actions_compensate_for_clipped_ones():
    """A log brakes at 10 m/s2 for one second; at 4 m/s2 the replay is at its speed again 1.5 s later."""
    speeds_mps = [20.0] * 5 + [20.0 - step for step in range(1, 11)] + [10.0] * 30
    places_m = np.cumsum([0.0, *(0.1 * speed for speed in speeds_mps[1:])])
    scene = stage([Actor(log=tuple((x, 0.0, 0.0, v) for x, v in zip(places_m, speeds_mps)), goal_m=(9e3, 0.0))])
    throttle, clipped = ((found := scene.expert_actions({"action_type": "continuous"})).actions[:, 0, 0],
                         found.clipped[:, 0])
    assert (throttle[:4] == 0).all() and throttle[4:29] == pytest.approx(-1.0, abs=1e-5)
    assert throttle[30:] == pytest.approx(0.0, abs=1e-5)
    assert clipped[4:28].all() and not clipped[:4].any() and not clipped[30:].any()
    strong = scene.expert_actions({"action_type": "continuous", "dynamics": {"max_acceleration_mps2": 10.5}})
    assert not strong.clipped.any()
    assert strong.actions[4:14, 0, 0] == pytest.approx(-10.0 / 10.5, abs=1e-4)


def test_a_turn_beyond_the_wheels_is_clipped_and_one_at_rest_is_slow():
    turning = tuple((0.5 * step, 0.0, 0.5 * step, 5.0) for step in range(6))
    resting = tuple((50.0, 0.0, 0.5 * step, 0.0) for step in range(6))
    scene = stage([Actor(log=log, goal_m=(9e3, 0.0)) for log in (turning, resting)])
    expert = scene.expert_actions({"action_type": "continuous"})
    assert (expert.actions[:, 0, 1] == 1).all() and expert.clipped[:, 0].all() and not expert.slow[:, 0].any()
    assert (expert.actions[:, 1] == 0).all() and expert.slow[:, 1].all() and not expert.clipped[:, 1].any()


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_a_gap_in_a_log_has_no_action_and_the_replay_begins_anew_after_it(action_type):
    """The log jumps to another place, heading and speed while it is not valid."""
    before = [(float(step), 0.0, 0.0, 10.0) for step in range(4)]
    after = [(500.0, 2.0 * step, 1.5, 20.0) for step in range(4)]
    scene = stage([Actor(log=(*before, None, None, *after), goal_m=(9e3, 0.0))])
    expert = scene.expert_actions({"action_type": action_type})
    assert expert.valid[:, 0].tolist() == [True] * 3 + [False] * 3 + [True] * 3
    assert not expert.clipped.any() and not expert.slow.any()
    assert (expert.actions[:, 0] == NO_CONTROL[action_type]).all()


# ---- batches ----


def test_states_replay_a_log_with_its_gaps():
    before = [(float(step), 0.0, 0.0, 10.0) for step in range(4)]
    after = [(500.0, 2.0 * step, 1.5, 20.0) for step in range(4)]
    scene = stage([Actor(log=(*before, None, None, *after), goal_m=(9e3, 0.0))])
    errors, expert = replay(scene, action_type="continuous", dynamics="state")
    assert expert.valid[:, 0].tolist() == [True] * 3 + [False] * 3 + [True] * 3
    x_m = [65536 * share for share in expert.actions[:, 0, 0]]
    assert x_m == [1, 2, 3, 3, 3, 3, 500, 500, 500]  # it stands in the gap
    with Batch([scene], config=DriveConfig(**IGNORE_ALL, action_type="continuous", dynamics="state")) as batch:
        batch.reset()
        for action in expert.actions:
            batch.step(action)
        assert batch.vehicles()["y_m"][0] == 6.0


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_scenes_without_logs_have_no_valid_action(action_type):
    scene = generate_scene("intersection", agents=2)
    assert scene.expert_actions({"action_type": action_type}).valid.shape == (0, scene.objects.count)
    with Batch(scene, 2, DriveConfig(action_type=action_type, trial_steps=7)) as batch:
        batch.reset()
        expert = batch.expert_actions()
        assert expert.actions.shape == (7, *batch.actions.shape) and expert.actions.dtype == batch.actions.dtype
        assert not (expert.valid.any() or expert.clipped.any() or expert.slow.any())
        assert (expert.actions == NO_CONTROL[action_type]).all()
        batch.step(expert.actions[0])


def test_each_world_gets_the_actions_of_its_scene_now():
    long, _ = played("continuous", 30, seed=4)
    short, _ = played("continuous", 12, seed=5)
    pair = stage([Actor(log=tuple((float(x), y, 0.0, 10.0) for x in range(21)), goal_m=(9e3, y)) for y in (0.0, 50.0)])
    scenes, config = [long, short, pair], DriveConfig(action_type="continuous", scene_order="cycle")
    with Batch(scenes, 4, config) as batch:
        for _ in range(2):
            batch.reset()
            expert = batch.expert_actions()
            assert expert.actions.shape == (30, 8, 2)
            for world, index in enumerate(batch.scene_index):
                alone = scenes[index].expert_actions(config)
                steps, agents = alone.valid.shape
                for found, due in zip(expert, alone):
                    part = found[:, 2 * world : 2 * world + 2]
                    assert (part[:steps, :agents] == due).all()
                    assert not part[steps:].any() and not part[:, agents:].any()
    with pytest.raises(drive_env.CallError, match="closed"):
        batch.expert_actions()


def test_before_the_first_reset_no_world_has_a_scene_to_replay():
    with Batch("town", config=DriveConfig(agents_per_world=2)) as batch:
        with pytest.raises(drive_env.CallError, match="expert_actions was called before reset"):
            batch.expert_actions()
        batch.reset()
        batch.expert_actions()


@pytest.mark.parametrize("model", choices("dynamics"))
def test_a_name_is_the_default_config_of_a_model(model):
    log = [(0.5 * i, 0.0, 0.0, 5.0) for i in range(6)]
    scene = stage([dataclasses.replace(driver(), log=tuple(log))])
    action_type = "continuous" if model in ("delta_local", "state") else "discrete"
    by_name, by_config = scene.expert_actions(model), scene.expert_actions({"dynamics": model,
                                                                             "action_type": action_type})
    assert by_name.valid.all() and by_name.actions.dtype == by_config.actions.dtype
    assert np.array_equal(by_name.actions, by_config.actions)


def test_a_name_of_no_model_is_an_error_that_lists_them():
    with pytest.raises(drive_env.ConfigError, match=r"^dynamics\.model is 'grap'; it must be one of 'bicycle', "):
        generate_scene("intersection", agents=1).expert_actions("grap")


def test_the_model_is_a_field_of_the_config():
    with pytest.raises(drive_env.ArgumentError, match="unexpected keyword argument 'dynamics'; it has config"):
        generate_scene("intersection", agents=1).expert_actions(dynamics="grip")


def test_numbers_that_the_core_cannot_use_are_named():
    scene, _ = played("continuous", 5)
    lengths = changed(scene, length_m=np.array([0.0], np.float32))
    x_m = scene.objects.x_m.copy()
    x_m[3, 0] = np.nan
    for broken, match in ((lengths, "length_m of vehicle 0 is 0"),
                          (changed(scene, x_m=x_m), "x_m of vehicle 0 in frame 3"),
                          (dataclasses.replace(scene, dt_s=3.0), "dt_s is 3")):
        with pytest.raises(SceneError, match=match):
            broken.expert_actions()


if __name__ == "__main__":
    for scene_file in REAL:
        for action_type in ("continuous", "discrete"):
            print(table_row(scene_file, action_type))
    for model, action_type in OTHER_MODELS:
        for scene_file in MODEL_SCENES:
            print(model_row(model, action_type, scene_file))
