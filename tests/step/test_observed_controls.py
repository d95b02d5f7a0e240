"""What does an agent observe of lights and signs? Rollouts against brute force in float64, and facts by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scripted_scenes import ACTION_COUNT, COAST, IGNORE_ALL, batch_of, discrete, driver, stage
from staged_controls import GREEN, LIGHT, OFF, RED, STOP, YELLOW, YIELD, controls_of

from drive_env import Batch, ConfigError, DictObservation, DriveConfig, SceneError, generate_scene, parallel_env
from drive_env.api.gym import DriveEnv

TIE_M = 1e-4
TOLERANCE = 1e-5
NAMES = ("left_x", "left_y", "right_x", "right_y", "red", "yellow", "green", "kind")


def scattered(count, seed=0):
    """An intersection whose controls have random lines, kinds and states."""
    rng = np.random.default_rng(seed)
    middle_m, half_m = rng.uniform(-40, 40, (count, 2)), rng.uniform(-3, 3, (count, 2))
    kind = rng.integers(LIGHT, YIELD + 1, count)
    state = np.where(kind == LIGHT, rng.integers(0, 4, count), 0)
    of = controls_of(kind, np.concatenate([middle_m - half_m, middle_m + half_m], axis=1), [state])
    return dataclasses.replace(generate_scene("intersection", seed=seed, agents=6), traffic_controls=of)


def observed(batch):
    """(agents, slots, 8), the records of the set."""
    layout = batch.observation_layout()
    return np.stack([batch.float_observations()[:, layout[f"controls/{name}"].slice] for name in NAMES], axis=2)


def expected(batch, world, agent):
    """The records that an agent must observe, in metres; None if float32 may select others."""
    vehicles, of = batch.vehicles(world), batch.roles[batch.scene_index[world]].scene.traffic_controls
    x_m, y_m, heading_rad = (float(vehicles[name][agent]) for name in ("x_m", "y_m", "heading_rad"))
    ends_m = of.line_m.astype(float).reshape(-1, 2, 2) - [x_m, y_m]
    away_m = np.hypot(*ends_m.mean(axis=1).T)
    slots, radius_m = batch.config.observation.controls, batch.config.observation.view_radius_m
    near = np.sort(away_m)
    limit_m = min(near[slots], radius_m) if slots < len(near) else radius_m
    if slots < len(near) and near[slots] - near[slots - 1] < TIE_M or (np.abs(away_m - radius_m) < TIE_M).any():
        return None
    chosen = np.flatnonzero(away_m < limit_m)
    turn = np.array([[math.cos(heading_rad), -math.sin(heading_rad)], [math.sin(heading_rad), math.cos(heading_rad)]])
    records = np.zeros((slots, 8))
    records[: len(chosen), :4] = np.clip((ends_m[chosen] @ turn / radius_m).reshape(-1, 4), -1, 1)
    shown = batch.light_states(world)[chosen]
    for place, state in enumerate((RED, YELLOW, GREEN), start=4):
        records[: len(chosen), place] = shown == state
    records[: len(chosen), 7] = of.kind[chosen] / 4
    return records


@pytest.mark.parametrize("view", [{"controls": 1}, {"controls": 5, "view_radius_m": 30.0}, {"controls": 255}], ids=str)
@pytest.mark.parametrize("kind", ["town", "scattered"])
def test_an_observation_equals_brute_force_in_float64(kind, view):
    scene = scattered(61) if kind == "scattered" else generate_scene("town", seed=3, agents=8, lights=True)
    batch = batch_of([scene], num_worlds=2, max_trials=2, trial_steps=30, traffic_controls=True, observation=view,
                     on_offroad="ignore", on_goal="ignore", on_collision="ignore")
    rng, checked, states = np.random.default_rng(1), 0, set()
    for step in range(70):
        if step % 6 == 0:
            records = observed(batch)
            for agent in range(batch.num_agents):
                wanted = expected(batch, *divmod(agent, batch.agents_per_world))
                if wanted is None:
                    continue
                np.testing.assert_allclose(records[agent], wanted, atol=TOLERANCE)
                states |= {tuple(record) for record in records[agent, :, 4:7].tolist()}
                checked += 1
        batch.step(rng.integers(0, ACTION_COUNT, batch.num_agents))
    assert checked > 0.9 * 12 * batch.num_agents and len(states) >= 3


def test_what_is_observed_of_a_light_is_what_the_next_step_is_judged_by():
    crossed = set()
    for seed in range(12):  # programs of one junction have another phase in each episode
        scene = generate_scene("intersection", seed=3, agents=1, lights=True)
        of = dataclasses.replace(scene.traffic_controls, line_m=np.tile(np.float32([10.5, 5, 10.5, -5]), (4, 1)))
        scene = dataclasses.replace(stage([driver(speed_mps=10.0)]), traffic_controls=dataclasses.replace(
            of, start=np.zeros(5, np.int32), lane=np.zeros(0, np.int32)))
        batch = batch_of(scene, seed=seed, traffic_controls=True, observation={"controls": 4}, **IGNORE_ALL)
        for _ in range(15):
            records = observed(batch)[0]
            batch.step(discrete(batch, COAST))
            if observed(batch)[0, 0, 0] * 100 < 2.0 <= records[0, 0] * 100:  # the bumper is 2 m ahead
                all_red = bool(records[:, 4].all())
                assert bool(batch.step_events()["red_light"][0]) == all_red
                crossed.add(all_red)
    assert crossed == {True, False}


@pytest.mark.parametrize("turn_rad", [0.0, 1.0, -2.5])
def test_lines_are_observed_from_left_to_right_as_approaching_traffic_sees_them(turn_rad):
    cos, sin = math.cos(turn_rad), math.sin(turn_rad)
    ends_m = [(x * cos - y * sin, x * sin + y * cos) for x, y in ((30.0, 2.0), (30.0, -4.0))]
    line = ends_m[0] + ends_m[1]
    of = controls_of([LIGHT, STOP, YIELD, LIGHT], [line] * 4, [[YELLOW, OFF, OFF, OFF]])
    scene = dataclasses.replace(stage([driver()], turn_rad=turn_rad), traffic_controls=of)
    batch = batch_of(scene, traffic_controls=True, observation={"controls": 6}, **IGNORE_ALL)
    shown = [(0, 1, 0, 0.25), (0, 0, 0, 0.5), (0, 0, 0, 0.75), (0, 0, 0, 0.25)]  # a light that is off is the last
    wanted = [[0.3, 0.02, 0.3, -0.04, *state] for state in shown] + [[0.0] * 8] * 2
    np.testing.assert_allclose(observed(batch)[0], wanted, atol=1e-6)


def test_the_nearest_middle_counts_and_the_view_ends_at_its_radius():
    of = controls_of(
        [STOP] * 4, [(20, 50, 20, -50), (15, 1, 15, 100), (99.9, 1, 99.9, -1), (-100.1, 1, -100.1, -1)])
    scene = dataclasses.replace(stage([driver()]), traffic_controls=of)
    choices = {"traffic_controls": True, **IGNORE_ALL}
    assert observed(batch_of(scene, observation={"controls": 1}, **choices))[0, 0, 0] == pytest.approx(0.2)
    seen = observed(batch_of(scene, observation={"controls": 4}, **choices))[0]
    assert seen[:, 0].tolist() == pytest.approx([0.2, 0.15, 0.999, 0.0])
    assert (seen[:, 7] > 0).tolist() == [True, True, True, False]


def test_all_observation_types_agree_bit_for_bit():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from drive_env.index_observations import floats_of

    # the same rollout with each type
    scenes = [generate_scene("intersection", seed=2, agents=6, lights=True), scattered(20),
              generate_scene("town", seed=1, agents=6)]
    config = DriveConfig(traffic_controls=True, max_trials=2, trial_steps=20, on_collision="remove",
                         scene_order="cycle", observation={"controls": 7, "view_radius_m": 45.0})
    plain, halves, index = (
        Batch(scenes, num_worlds=3, seed=4, config=config.replace(observation={"type": kind}))
        for kind in ("float32", "float16", "index"))
    rng = np.random.default_rng(0)
    for batch in (plain, halves, index):
        batch.reset()
    for _ in range(50):
        actions, waited = rng.integers(0, ACTION_COUNT, plain.num_agents), plain.waits.copy()
        for batch in (plain, halves, index):
            batch.step(actions)
        # An agent that goes on waiting keeps its indices, while the vehicles that they stand for move on.
        compared = ~waited | ~plain.waits
        rebuilt = index.float_observations()
        assert rebuilt[compared].tobytes() == plain.observations[compared].tobytes()
        assert halves.observations.tobytes() == plain.observations.astype(np.float16).tobytes()
        assert index.restart_observations().tobytes() == plain.restart_observations().tobytes()
        assert not observed(plain)[plain.removed].any()
    # the function for learners rebuilds the same vectors
    table, world = index.scene_table(), torch.from_numpy(index.world_of_agent.astype(np.int64))
    out = torch.empty(index.num_agents, index.observation_size)
    floats_of(index.config, torch.from_numpy(index.observations), world,
              1 + torch.arange(index.num_agents) % index.agents_per_world,
              torch.from_numpy(table.first)[torch.from_numpy(index.scene_index).long()[world]],
              torch.from_numpy(table.records), torch.from_numpy(index.vehicle_table), out)
    assert out.numpy().tobytes() == index.float_observations().tobytes()


def test_envs_and_dicts_have_the_set():
    config = DriveConfig(traffic_controls=True, observation={"controls": 3})
    scene = generate_scene("intersection", seed=2, agents=2, lights=True)
    split = DictObservation(config)
    for env in (parallel_env(scene, config), DriveEnv(scene, config)):
        observations, _ = env.reset(seed=0)
        vector = next(iter(observations.values())) if isinstance(observations, dict) else observations
        parts = split.split(vector)
        assert parts["controls"].shape == (3, 8) and parts["controls_mask"].tolist() == [1, 1, 1]


def test_slots_without_lights_that_have_an_effect_are_refused():
    with pytest.raises(ConfigError, match="observation.controls is 3; without traffic_controls it must be 0"):
        DriveConfig(observation={"controls": 3})
    assert DriveConfig().observation.controls == 0


def test_a_map_with_more_controls_than_indices_is_refused():
    scene = dataclasses.replace(generate_scene("intersection", agents=2), traffic_controls=controls_of(
        [STOP] * 16_400, [(0, 1, 0, -1)] * 16_400))
    for kind, slots in (("index", 0), ("float32", 2)):
        Batch([scene], config=DriveConfig(traffic_controls=True, observation={"type": kind, "controls": slots})).close()
    with pytest.raises(SceneError, match="traffic lights and signs; index observations can name at most 65535 records"):
        Batch([scene], config=DriveConfig(traffic_controls=True, observation={"type": "index", "controls": 2}))
