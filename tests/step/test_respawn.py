"""Where does an agent drive on that has reached its goal, with on_goal="respawn"? At a free start, to its goal."""

from dataclasses import replace

import numpy as np
import pytest
from boxes import corners
from scripted_scenes import COAST_ACTION, THROTTLE_ACTION, batch_of, driver, log_replay, stage, standing

from drive_env import Batch, CallError, ConfigError, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.scenes import LaneGraph

RESPAWN = {"on_goal": "respawn", "on_collision": "ignore", "on_offroad": "ignore"}
FLAGS = ("terminations", "truncations", "trial_ended", "truncation", "invalid_step", "first", "removed", "stopped",
         "waits", "outcome")


def alone(**options):
    """A batch of one car at 10 m/s from the origin, with its goal at 20 m, and no other start than its own."""
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(20.0, 0.0))], options.pop("roads", ()))
    return batch_of(scene, **{**RESPAWN, "goal_radius_m": 2.5, **options})


def place(batch, agent=0):
    """x_m, y_m, heading_rad and speed_mps of an agent."""
    vehicles = batch.vehicles()
    return tuple(float(vehicles[name][agent]) for name in ("x_m", "y_m", "heading_rad", "speed_mps"))


def test_the_step_that_reaches_the_goal_is_rewarded_and_returns_the_observation_at_the_start():
    """Within 2.5 m of the goal at 20 m after 18 steps of 1 m. No channel but the reward changes."""
    batch = alone()
    for reached in range(3):
        for step in range(1, 19):
            batch.step([COAST_ACTION])
            assert batch.rewards[0] == (step == 18) and not any(getattr(batch, name)[0] for name in FLAGS)
            assert place(batch) == pytest.approx((step % 18, 0.0, 0.0, 10.0), abs=1e-4)
        assert batch.step_events()["goal"][0]
        state = batch.trial_state()
        assert state["goals_reached"][0] == state["respawns"][0] == reached + 1 and state["goal_m"][0, 0] == 20.0


MODELS = {
    "default": {},
    "slip": {"dynamics": "single_track"},
    "jerk": {"dynamics": "jerk"},
    "hidden": {"hidden": {"steering_offset_rad": (0.02, 0.05), "action_delay_steps": (2, 2)}},
    "comfort": {"reward": {"discomfort_per_s": -1.0}, "detailed_metrics": True},
    "route": {"reward": {"route_progress_per_m": 1.0}}}


@pytest.mark.parametrize("choices", MODELS.values(), ids=MODELS)
def test_an_agent_that_respawned_at_its_start_drives_as_from_the_start_of_the_trial(choices):
    """Bit for bit, rewards included, if it repeats its actions; only trial/reward shows what was before."""
    batch = alone(action_type="continuous", goal_radius_m=6.0, roads=[("lane", [(-5.0, 0.0), (60.0, 0.0)])], **choices)
    kept = np.arange(batch.observations.shape[1]) != batch.observation_layout()["trial/reward"].offset
    rng, laps, actions = np.random.default_rng(0), [], []
    while len(laps) < 3:
        laps.append([])
        while batch.trial_state()["respawns"][0] < len(laps):
            step = len(laps[-1])
            if step == len(actions):
                actions.append(rng.uniform((0.3, -0.1), (1.0, 0.1), batch.actions.shape).astype(np.float32))
            laps[-1].append((batch.observations[:, kept].copy(), batch.rewards.copy() if step else None))
            batch.step(actions[step])
        laps[-1].append((batch.observations[:, kept].copy(), batch.rewards.copy()))
    assert 5 < len(laps[0]) == len(laps[1]) == len(laps[2])
    for lap in laps[1:]:
        for (observed, reward), (expected, expected_reward) in zip(lap, laps[0]):
            assert (observed == expected).all() and np.array_equal(reward, expected_reward)


def test_no_reward_and_no_distance_contains_the_jump():
    """Ten goals: progress is that of driving, 1 m a step at most, and the metres are those driven."""
    batch = alone(trial_steps=180, reward={"progress_per_m": 1.0, "goal": 0.0}, detailed_metrics=True)
    rewards = []
    for _ in range(180):
        batch.step([COAST_ACTION])
        rewards.append(batch.rewards[0])
    assert rewards == pytest.approx(np.ones(180), abs=1e-3)
    report = {name: metric.value for name, metric in batch.metrics().items()}
    assert report["distance_m"] == pytest.approx(180.0, rel=1e-5)
    assert (report["goals"], report["goal"], report["score"], report["timeout"]) == (10, 1, 1, 1)
    assert report["goals_per_km"] == pytest.approx(10 / 0.18, rel=1e-4)
    assert report["time_per_goal_s"] == pytest.approx(1.8, rel=1e-5)


def test_the_step_that_ends_a_trial_keeps_the_agent_at_its_goal():
    batch = alone(trial_steps=18, max_trials=2)
    for _ in range(18):
        batch.step([COAST_ACTION])
    assert batch.step_events()["goal"][0] and batch.truncation[0] and batch.rewards[0] == 1
    assert place(batch)[0] == pytest.approx(18.0, abs=1e-4)
    batch.step([COAST_ACTION])
    assert place(batch)[0] == 0.0 and batch.trial_state()["respawns"][0] == 0


def test_an_agent_that_has_as_many_goals_as_the_most_is_removed():
    batch = alone(max_goals=2)
    for _ in range(36):
        assert not batch.terminations[0]
        batch.step([COAST_ACTION])
    assert batch.terminations[0] and batch.removed[0] and batch.outcome[0] == 1
    assert (batch.metrics()["score"].value, batch.metrics()["goals"].value) == (1, 2)


def test_an_agent_drives_on_without_a_goal_until_a_start_is_free():
    """A car stands on the start from step 10 to step 30. Until it has gone, there is no goal and no progress."""
    log = [None] * 10 + [(0.0, 0.0, 0.0, 0.0)] * 21 + [None] * 30
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(20.0, 0.0)), log_replay(log)])
    batch = batch_of(scene, **RESPAWN, goal_radius_m=2.5, reward={"progress_per_m": 1.0})
    found = []
    for _ in range(40):
        batch.step([COAST_ACTION])
        found.append((place(batch)[0], batch.rewards[0], batch.trial_state()["respawns"][0]))
    x_m, rewards, respawns = np.array(found).T
    assert np.flatnonzero(respawns)[0] == 30  # the entry of step 31
    assert x_m[:30] == pytest.approx(np.arange(1, 31), abs=1e-3) and x_m[30:] == pytest.approx(np.arange(10), abs=1e-3)
    assert rewards[17] == pytest.approx(2.0, abs=1e-3) and (rewards[18:31] == 0).all()
    assert rewards[31:] == pytest.approx(np.ones(9), abs=1e-3)


@pytest.mark.parametrize(("other", "free"), [
    (standing(60, 5.9, 0.0), False), (standing(60, 0.0, 4.1), True), (standing(60, 0.0, -3.9), False),
    (log_replay([(35.0 - 0.5 * i, 0.0, np.pi, 5.0) for i in range(60)]), False),
    (log_replay([(80.0 - 0.5 * i, 0.0, np.pi, 5.0) for i in range(60)]), True),
    (log_replay([(-40.0 + i, 0.0, 0.0, 10.0) for i in range(60)]), True),
    (log_replay([(-45.0 + 2.0 * i, 0.0, 0.0, 20.0) for i in range(60)]), False)],
    ids=["ahead", "beside", "too near", "oncoming", "oncoming, far", "behind, as fast", "behind, faster"])
def test_a_start_is_free_2_m_and_3_s_from_any_other_vehicle(other, free):
    """The start at the origin has a speed of 10 m/s; the goal is reached in step 18, 1.8 s after the log begins."""
    batch = batch_of(stage([driver(0.0, speed_mps=10.0, goal_m=(20.0, 0.0)), other]), **RESPAWN, goal_radius_m=2.5)
    for _ in range(18):
        batch.step([COAST_ACTION])
    assert batch.trial_state()["goals_reached"][0] == 1
    assert batch.trial_state()["respawns"][0] == free


def three_free_starts(num_worlds=200, seed=0):
    """Worlds of a car that soon reaches its goal, and of two cars and a cyclist that are removed at once, off-road. All
    starts are far apart."""
    places = [(60.0 * i, 100.0, kind) for i, kind in enumerate(("vehicle", "vehicle", "cyclist"))]
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(3.9, 0.0)),
                   *[driver(x_m, y_m, speed_mps=5.0, kind=kind) for x_m, y_m, kind in places]],
                  [("edge", [(x_m + 2.3, y_m - 3.0), (x_m + 2.3, y_m + 3.0)]) for x_m, y_m, _ in places])
    return Batch([scene], num_worlds=num_worlds, seed=seed, config=DriveConfig(
        **RESPAWN | {"on_offroad": "remove"}, control="all", trial_steps=3, max_trials=2))


def starts_drawn(batch, trials=1):
    """(trials, worlds) the start that the first agent has at the end of each trial, a step after its respawn."""
    found = []
    batch.reset()
    for _ in range(trials):
        for _ in range(3):
            batch.step(np.full(batch.num_agents, COAST_ACTION))
        states = [batch.trial_state(world) for world in range(batch.num_worlds)]
        assert all(state["respawns"].tolist() == [1, 0, 0, 0] for state in states)
        found.append([state["start_of"][0] for state in states])
        batch.step(np.full(batch.num_agents, COAST_ACTION))
    return np.array(found)


def test_free_starts_of_the_agents_kind_are_equally_likely_and_the_same_in_all_trials():
    drawn = starts_drawn(three_free_starts(), trials=2)
    assert (drawn[0] == drawn[1]).all() and not (drawn[0] == starts_drawn(three_free_starts(seed=1))[0]).all()
    shares = np.bincount(drawn[0], minlength=4) / drawn.shape[1]
    assert shares[3] == 0 and shares[:3] == pytest.approx(np.full(3, 1 / 3), abs=0.12)  # 3.6 standard deviations


@pytest.fixture(scope="module")
def town():
    return generate_scene("town", seed=2, agents=10)


def test_until_the_first_goal_everything_is_as_where_goals_are_ignored(town):
    plays = []
    for on_goal in ("ignore", "respawn"):
        config = DriveConfig(**RESPAWN | {"on_goal": on_goal}, goal_radius_m=60.0,
                             sensors={"goal_position_noise_m": 1.0})
        with Batch(town, config=config, seed=3) as batch:
            batch.reset()
            plays.append([])
            for _ in range(90):
                plays[-1].append((batch.observations.copy(), batch.rewards.copy()))
                batch.step(np.full(batch.num_agents, THROTTLE_ACTION))
                if batch.trial_state()["had_goal"].any():
                    break
    assert 4 < len(plays[0]) == len(plays[1]) < 90
    assert all(np.array_equal(one, other) for steps in zip(*plays) for one, other in zip(*steps))


def outline(vehicles, vehicle, points=40):
    """(4 points, 2) points along the border of a vehicle's box, m."""
    shares = np.linspace(0.0, 1.0, points)[:, None]
    x_m, y_m, *pose = (np.float64(vehicles[name][vehicle])
                       for name in ("x_m", "y_m", "heading_rad", "length_m", "width_m"))
    box = corners((x_m, y_m), *pose)
    return np.concatenate([a + shares * (b - a) for a, b in zip(box, np.roll(box, -1, axis=0))])


def test_agents_appear_at_starts_of_the_scene_clear_of_all_others_and_reach_their_goals(town):
    """In a town, driven by a `LaneDriver`, which follows the path of the start that each agent has."""
    config = DriveConfig(**RESPAWN, goal_radius_m=4.0, trial_steps=250, observation={"partners": 0, "roads": 0})
    with Batch(town, config=config, seed=1) as batch:
        batch.reset()
        starts, goals_m, lane_driver = batch.vehicles(), batch.trial_state()["goal_m"], LaneDriver(batch)
        before = np.zeros(10, int)
        for _ in range(250):
            batch.step(lane_driver.act_all())
            state, now = batch.trial_state(), batch.vehicles()
            assert (state["goal_m"] == goals_m[state["start_of"]]).all()
            for agent in np.flatnonzero(state["respawns"] > before):
                start = state["start_of"][agent]
                assert all(now[name][agent] == starts[name][start] for name in ("x_m", "y_m", "heading_rad"))
                own, others = outline(now, agent), [i for i in range(10) if i != agent]
                near_m = min(np.linalg.norm(own[:, None] - outline(now, i), axis=2).min() for i in others)
                assert near_m > 1.99
            before = state["respawns"]
        # The first goals are followed by others, which are reached, too.
        assert state["goals_reached"].sum() > 10 and len(set(state["start_of"])) > 4


def test_no_event_happens_between_the_goal_and_the_start():
    """A car and an edge are between the two places. The agent, which starts at rest, has one event with each of them in
    every lap, at the same step."""
    scene = stage([driver(0.0, goal_m=(20.0, 0.0)), standing(90, 10.0, 0.0)], [("edge", [(13.0, -3.0), (13.0, 3.0)])])
    batch, laps = batch_of(scene, **RESPAWN, goal_radius_m=2.5), [[]]
    while len(laps) < 4:
        batch.step([THROTTLE_ACTION])
        events = batch.step_events()
        laps[-1].append((events["collision"][0], events["offroad"][0]))
        if batch.trial_state()["respawns"][0] == len(laps):
            laps.append([])
    assert np.sum(laps[0], axis=0).tolist() == [1, 1] and laps[1] == laps[0] == laps[2]


def test_the_distance_to_the_log_ends_with_the_first_respawn():
    log = [(1.0 * i, 0.5, 0.0, 10.0) for i in range(60)]
    scene = stage([replace(driver(0.0, 0.5, speed_mps=10.0, goal_m=(20.0, 0.0)), log=tuple(log)),
                   standing(60, 0.0, 90.0)])
    batch = batch_of(scene, **RESPAWN, goal_radius_m=2.5, reward={"distance_to_log_per_m_s": 1.0, "goal": 0.0},
                     dynamics={"max_speed_mps": 8.0})
    rewards = []
    for _ in range(50):
        batch.step([COAST_ACTION])
        rewards.append(batch.rewards[0])
    first = int(np.argmax(np.diff(rewards) < 0)) + 1
    assert rewards[:first] == pytest.approx(0.1 * 0.2 * np.arange(1, first + 1), rel=1e-3)
    assert first > 15 and not any(rewards[first:])


def test_starts_on_a_bridge_are_free_of_what_is_below():
    """The start of the only agent that drives is above the other agent, which stands below the bridge."""
    lanes = LaneGraph(np.zeros(3, np.int32), np.zeros(0, np.int32))
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(20.0, 0.0)), driver(0.0, -1.0, np.pi / 2)],
                  [("lane", [(-30.0, 0.0), (60.0, 0.0)]), ("lane", [(0.0, -60.0), (0.0, 60.0)])])
    z_m = np.float32([6.0, 6.0, 0.0, 0.0])
    scene = replace(scene, lanes=lanes, roads=replace(scene.roads, z_m=z_m), objects=replace(
        scene.objects, z_m=np.float32([[6.75, 0.75]]), goal_z_m=np.float32([6.75, 0.75])))
    batch = batch_of(scene, **RESPAWN, goal_radius_m=2.5)
    for _ in range(18):
        batch.step(np.full(2, COAST_ACTION))
    state = batch.trial_state()
    assert state["respawns"].tolist() == [1, 0] and state["start_of"].tolist() == [0, 1]
    assert batch.vehicles()["z_m"] == pytest.approx([6.0, 0.0], abs=1e-5)


def test_a_saved_state_must_have_starts_of_the_scene():
    scenes = [generate_scene("intersection", seed=1, agents=agents) for agents in (2, 4)]
    with Batch(scenes, num_worlds=2, config=DriveConfig(**RESPAWN, scene_order="cycle")) as batch:
        batch.reset()
        state = batch.state_dict()
        state["state/start_of"][0, 1] = 2
        with pytest.raises(CallError, match="state/start_of"):
            batch.load_state_dict(state)


def test_fields_of_next_goals_alone_are_refused():
    with pytest.raises(ConfigError, match="goal_spacing_m is 30.0; with on_goal 'respawn' it must be 40"):
        DriveConfig(on_goal="respawn", goal_spacing_m=30.0)
    with pytest.raises(ConfigError, match="observation.goals is 2; with on_goal 'respawn' it must be 0 or 1"):
        DriveConfig(on_goal="respawn", observation={"goals": 2})
