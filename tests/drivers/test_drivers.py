"""Do rule-based drivers reach their goals along their lanes without collisions?"""

import contextlib
import math

import numpy as np
import pytest
from core_routes import core_route
from overpass import overpass
from scripted_scenes import COAST, COAST_ACTION, STEERING_BINS, STRAIGHT, Actor, stage

from drive_env import OUTCOMES, Batch, CallError, ConfigError, DriveConfig, SceneError, generate_scene
from drive_env.binding import check, ffi, lib, per_thread
from drive_env.drivers import LaneDriver, RandomDriver

ACTION_TYPES = ("discrete", "multi_discrete", "continuous")


LENGTH_M = 4.5


def car(place_m, goal_m, speed_mps=0.0, heading_rad=0.0):
    return Actor(*place_m, heading_rad, speed_mps, goal_m=goal_m, length_m=LENGTH_M)


def two_way_street(*cars):
    """One lane each way, 3.5 m wide, and a road edge on both sides."""
    return stage(cars, [
        ("lane", [(-20.0, 0.0), (180.0, 0.0)]), ("lane", [(180.0, 3.5), (-20.0, 3.5)]),
        ("edge", [(-20.0, -2.3), (180.0, -2.3)]), ("edge", [(-20.0, 5.8), (180.0, 5.8)])])


def play_trial(batch, driver=None, each_step=lambda: None):
    """One trial; the outcome of every agent by name."""
    driver = LaneDriver(batch) if driver is None else driver
    outcomes = np.zeros(batch.num_agents, int)
    batch.reset()
    for _ in range(batch.roles[0].trial_steps):
        batch.step(driver.act_all())
        outcomes += batch.outcome
        each_step()
        if batch.trial_ended.all():
            break
    return [OUTCOMES[outcome] for outcome in outcomes]


class LastAgentCoasts(LaneDriver):
    """The last agent keeps its speed and its heading."""

    def act_all(self):
        actions = super().act_all()
        coast = {"discrete": COAST_ACTION, "multi_discrete": [COAST, STRAIGHT], "continuous": [0.0, 0.0]}
        actions[-1] = coast[self.batch.config.action_type]
        return actions


def distance_to_line(points, line):
    """(n,) metres from points to a polyline, by its segments."""
    start, step = line[:-1], np.diff(line, axis=0)
    offset = points[:, None] - start
    along = np.clip((offset * step).sum(axis=2) / (step * step).sum(axis=1), 0.0, 1.0)
    return np.linalg.norm(offset - along[..., None] * step, axis=2).min(axis=1)


def test_most_cars_of_full_towns_reach_their_goals_on_the_road():
    with Batch([generate_scene("town", seed=seed) for seed in range(4)], num_worlds=4,
               config=DriveConfig(scene_order="cycle")) as batch:
        outcomes = play_trial(batch)
    assert outcomes.count("goal") >= 0.85 * len(outcomes)
    assert outcomes.count("offroad") + outcomes.count("collision") <= 0.05 * len(outcomes)


def first_outcomes(batch, driver):
    """(agents,) the outcome of the first trial of every agent of a batch that was just reset, by name."""
    outcomes = np.zeros(batch.num_agents, int)
    for _ in range(batch.roles[0].trial_steps):
        batch.step(driver.act_all())
        outcomes = np.where(outcomes == 0, batch.outcome, outcomes)
    return np.array(OUTCOMES)[outcomes]


@pytest.mark.parametrize("other", [generate_scene("intersection", agents=1), overpass(5.0)],
                         ids=["without candidates", "with heights"])
def test_a_drawn_goal_is_reached_where_the_config_never_hides_it(other):
    """One car per world draws one of three exits, beside worlds of another scene."""
    with Batch([generate_scene("exits"), other], num_worlds=24, config={"scene_order": "cycle"}) as batch:
        batch.reset()
        agents = np.flatnonzero(batch.scene_index == 0) * batch.agents_per_world
        drawn = {tuple(batch.trial_state(world)["goal_m"][0]) for world in np.flatnonzero(batch.scene_index == 0)}
        assert (first_outcomes(batch, LaneDriver(batch))[agents] == "goal").all()
    assert len(drawn) == 3


def test_a_hidden_goal_leaves_the_driver_with_the_goal_of_the_scene():
    with Batch(generate_scene("exits"), num_worlds=24, config={"observation": {"goal_reveal_s": 0.0}}) as batch:
        batch.reset()
        outcomes = first_outcomes(batch, LaneDriver(batch))
    assert {"goal", "offroad"} == set(outcomes)


def test_cars_of_a_real_log_reach_their_goals(sample_path):
    with Batch(sample_path("pufferdrive/map_942.bin")) as batch:
        outcomes = play_trial(batch)
    assert outcomes.count("goal") >= 10, outcomes


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_a_lone_car_keeps_to_its_lanes_with_every_form_of_action(action_type):
    for seed in range(3):
        scene = generate_scene("town", seed=seed, agents=1)
        start = scene.objects.x_m[0, 0], scene.objects.y_m[0, 0]
        route = core_route(scene, start, scene.objects.heading_rad[0, 0], scene.objects.goal_m[0])
        trace = []
        with Batch(scene, config=DriveConfig(action_type=action_type)) as batch:
            record = lambda: trace.append([batch.vehicles()[name][0] for name in ("x_m", "y_m")])
            assert play_trial(batch, each_step=record) == ["goal"]
        places_m = np.array(trace[:-1])
        assert distance_to_line(places_m, route.astype(np.float64)).max() < 0.8
        # lateral acceleration, by the change of velocity over half a second
        velocity = np.diff(places_m, axis=0) / 0.1
        ahead = velocity / np.maximum(np.linalg.norm(velocity, axis=1, keepdims=True), 1e-6)
        change = (velocity[5:] - velocity[:-5]) / 0.5
        assert np.abs(change[:, 1] * ahead[:-5, 0] - change[:, 0] * ahead[:-5, 1]).max() < 5.0


def test_action_types_encode_the_same_controls():
    scene, actions = generate_scene("town", seed=1, agents=16), {}
    for action_type in ACTION_TYPES:
        with Batch(scene, config=DriveConfig(action_type=action_type)) as batch:
            batch.reset()
            actions[action_type] = LaneDriver(batch).act()
    bins = np.stack(np.divmod(actions["discrete"], STEERING_BINS), axis=1)
    assert (bins == actions["multi_discrete"]).all()
    # A bin is the nearest to the continuous action: at most half the spacing of bins away.
    errors = np.abs(bins / [COAST, STRAIGHT] - 1.0 - actions["continuous"])
    assert (errors <= np.array([0.5 / COAST, 0.5 / STRAIGHT]) + 1e-6).all()


def test_the_same_state_gives_the_same_actions():
    with Batch("town", num_worlds=2, seed=3) as batch:
        used = LaneDriver(batch)
        play_trial(batch, used)
        batch.reset(seed=3)
        fresh = LaneDriver(batch)
        for _ in range(20):
            actions = used.act_all()
            assert (actions == fresh.act_all()).all()
            assert (actions == np.concatenate([fresh.act(0), fresh.act(1)])).all()
            batch.step(actions)


def test_instruction_sets_give_the_same_actions(monkeypatch):
    scene, config = generate_scene("intersection", seed=0, agents=16), DriveConfig(action_type="continuous")
    actions = {}
    for instructions in ("baseline", "v3", "v4"):
        monkeypatch.setenv("DRIVE_ENV_ISA", instructions)
        with contextlib.suppress(ConfigError), Batch(scene, config=config) as batch:  # this processor lacks it
            driver = LaneDriver(batch)
            batch.reset()
            actions[instructions] = np.zeros((60, *batch.actions.shape))
            for of_step in actions[instructions]:
                of_step[:] = driver.act_all()
                batch.step(of_step)
    assert np.abs(actions["baseline"]).max() > 0.5
    assert all(np.array_equal(each, actions["baseline"]) for each in actions.values())


def test_a_slow_car_ahead_is_followed_without_collision():
    scene, gaps_m = two_way_street(car((0, 0), (150, 0), 9.0), car((14, 0), (170, 0), 2.0)), []
    with Batch(scene, config=DriveConfig(trial_steps=200)) as batch:
        record = lambda: gaps_m.append(np.diff(batch.vehicles()["x_m"])[0] - LENGTH_M)
        assert play_trial(batch, LastAgentCoasts(batch), record) == ["timeout", "timeout"]
    assert min(gaps_m) > 1.0
    assert max(gaps_m[100:]) < 6.0


@pytest.mark.parametrize("oncoming_m", (None, 60, 75, 90, 105, 120))
def test_a_car_that_stands_for_ever_is_passed_when_the_other_lane_is_free(oncoming_m):
    cars = [car((0, 0), (100, 0)), car((40, 0), (40, 0))]
    if oncoming_m is not None:
        cars.append(car((oncoming_m, 3.5), (-15, 3.5), 9.0, -math.pi))
    with Batch(two_way_street(*cars), config=DriveConfig(trial_steps=300)) as batch:
        assert batch.roles[0].static_count == 1
        assert play_trial(batch) == ["goal"] * (len(cars) - 1)


def test_cars_whose_paths_cross_both_reach_their_goals():
    cars = [car((0, 0), (80, 0)), car((40, -40), (40, 40), heading_rad=math.pi / 2)]
    scene = stage(cars, [
        ("lane", [(-10.0, 0.0), (100.0, 0.0)]), ("lane", [(40.0, -50.0), (40.0, 60.0)])])
    with Batch(scene, config=DriveConfig(trial_steps=250)) as batch:
        assert play_trial(batch) == ["goal", "goal"]


def test_of_two_cars_that_arrive_together_the_first_agent_keeps_its_speed():
    scene, speeds_mps = stage([car((0, 0), (80, 0), 8.0), car((40, -40), (40, 40), 8.0, math.pi / 2)]), []
    with Batch(scene, config=DriveConfig(trial_steps=250)) as batch:
        record = lambda: speeds_mps.append(batch.vehicles()["speed_mps"])
        assert play_trial(batch, each_step=record) == ["goal", "goal"]
    lowest_mps = np.min(speeds_mps[:40], axis=0)
    assert lowest_mps[0] >= 8.0 and lowest_mps[1] < 6.0


def test_invalid_paths_and_worlds_out_of_range_are_refused():
    with Batch("town", num_worlds=2) as batch:
        core = batch._core
        agents = batch.roles[0].num_agents

        def create(x_m, speed_mps=9.0, points=2, **more):
            """A driver in the core whose agents all have a path through (x, 0) for each `x_m`."""
            start = np.arange(agents + 1, dtype=np.int32) * points
            x = np.resize(np.array(x_m, np.float32), agents * points)
            arrays = {"point_start": ffi.from_buffer("int32_t[]", start), "x_m": ffi.from_buffer("float[]", x),
                      "y_m": ffi.new("float[]", len(x)), "speed_mps": ffi.new("float[]", [speed_mps] * len(x))}
            numbers = {name: ffi.new("int32_t[]" if name == "path_start" else "float[]", values)
                       for name, values in more.items()}
            setup = ffi.new("drv_lane_driver_setup *",
                            dict(scene=core.scene_handles[0], goal_mps=9.0, **arrays, **numbers))
            out, message = ffi.new("drv_lane_driver **"), per_thread.message
            check(lib.drv_lane_driver_create(setup, out, message), message)
            return ffi.gc(out[0], lib.drv_lane_driver_free)

        # paths
        for arguments, expected in (
                (([0, 1], 9.0, 1), "a path of agent 0 has 1 points; it must have at least 2"),
                (([0, np.nan],), r"point 1 of a path of agent 0 is \(nan, 0\) m; it must be in -50000 to 50000"),
                (([3, 3],), "points 0 and 1 of a path of agent 0 are one place; they must differ"),
                (([0, 1], 0.0), "speed_mps at point 0 of a path of agent 0 is 0; it must be above 0 and at most 200")):
            with pytest.raises(SceneError, match=expected):
                create(*arguments)
        # the paths of agents, and where they change from one to the next
        one_each, window = list(range(agents + 1)), {"change_from_m": [5.0] * agents, "change_to_m": [4.0] * agents}
        create([0, 1], path_start=one_each, **window)  # without a next path, windows are ignored
        with pytest.raises(SceneError, match="agent 1 has 0 paths; it must have at least 1"):
            create([0, 1], path_start=[0, 1, 1, *one_each[3:]], **window)
        with pytest.raises(SceneError, match="change_to_m of path 0 of agent 0 is 4; it must be at least "
                                             "change_from_m, 5"):
            create([0, 1], path_start=[0, 2, *[2 + i for i in range(1, agents)]], **{
                name: values + values[:1] for name, values in window.items()})
        # worlds, and a scene without a driver
        batch.reset(seed=0)
        driver, none = create([0, 1]), [ffi.NULL] * len(batch.roles)
        with pytest.raises(CallError, match="worlds.first is 1 and worlds.count 2; worlds must be in 0 to 1"):
            core.drive(1, 2, [driver] * len(batch.roles))
        scene = int(batch.scene_index[0])
        with pytest.raises(CallError, match=f"world 0 is in scene {scene}, which has no driver; it must have one"):
            core.drive(0, 1, none)


def test_without_lanes_the_log_is_the_reference_path_and_without_a_log_a_straight_line():
    radius_m, trace = 40.0, []
    angles_rad = np.linspace(0.0, math.pi / 2, 91)
    log = [(radius_m * math.sin(angle), radius_m * (1 - math.cos(angle)), angle, 7.0) for angle in angles_rad]
    quarter = stage([Actor(goal_m=(radius_m, radius_m), length_m=LENGTH_M, log=tuple(log))])
    straight = stage([car((0, 0), (40, 30))])
    with Batch(quarter) as batch:
        record = lambda: trace.append([batch.vehicles()["x_m"][0], batch.vehicles()["y_m"][0]])
        assert play_trial(batch, each_step=record) == ["goal"]
    assert np.abs(np.linalg.norm(np.array(trace) - [0.0, radius_m], axis=1) - radius_m).max() < 1.0
    with Batch(straight, config=DriveConfig(trial_steps=150)) as batch:
        assert play_trial(batch) == ["goal"]


def test_a_speed_limit_at_the_goal_is_kept():
    scene = two_way_street(car((0, 0), (60, 0), 9.0))
    with Batch(scene, config=DriveConfig(goal_max_speed_mps=3.0, trial_steps=200)) as batch:
        assert play_trial(batch) == ["goal"]


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_braking_ends_at_rest_where_cars_could_back(action_type):
    scene = two_way_street(car((0, 0), (100, 0), 8.0), car((30, 0), (150, 0)))
    config = DriveConfig(dynamics={"min_speed_mps": -5.0}, trial_steps=150, action_type=action_type)
    speeds_mps = []
    with Batch(scene, config=config) as batch:
        record = lambda: speeds_mps.append(batch.vehicles()["speed_mps"][0])
        assert play_trial(batch, LastAgentCoasts(batch), record) == ["timeout", "timeout"]
    assert min(speeds_mps) >= 0.0
    assert max(speeds_mps[-20:]) < 0.1


def test_absent_agents_get_an_action_and_a_world_out_of_range_is_refused():
    scenes = [generate_scene("town", seed=0, agents=4), generate_scene("town", seed=1, agents=7)]
    with Batch(scenes, num_worlds=2, config=DriveConfig(scene_order="cycle")) as batch:
        batch.reset()
        driver = LaneDriver(batch)
        assert [len(driver.act(world)) for world in (0, 1)] == [7, 7]
        with pytest.raises(ValueError, match="world is 2; it must be a whole number from 0 to 1"):
            driver.act(2)


@pytest.mark.parametrize("batch", ["town", None])
def test_a_driver_of_something_else_is_refused(batch):
    with pytest.raises(ConfigError, match="batch is .*; it must be a Batch"):
        LaneDriver(batch)


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_random_actions_fill_the_space_and_follow_their_seed(action_type):
    with Batch("town", num_worlds=3, config=DriveConfig(action_type=action_type)) as batch:
        draws = np.stack([RandomDriver(batch, seed=5).act_all(), RandomDriver(batch, seed=5).act_all()])
        assert (draws[0] == draws[1]).all()
        assert draws[0].shape == batch.actions.shape and draws.dtype == batch.actions.dtype
        driver = RandomDriver(batch, seed=6)
        many = np.concatenate([driver.act() for _ in range(200)])
        assert all(batch.single_action_space.contains(action) for action in many[:500])
        assert (driver.act() != driver.act()).any()
        if action_type == "discrete":
            assert set(many) == set(range(batch.single_action_space.n))
