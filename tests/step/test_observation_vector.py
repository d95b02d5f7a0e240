"""What does an agent observe? Whole rollouts against brute force in float64, and single facts by hand."""

import math

import numpy as np
import pytest
from brute_force import PARTNERS, ROADS, BruteForce
from scripted_scenes import (
    ACCELERATION_BINS,
    COAST,
    IGNORE_ALL,
    STEERING_BINS,
    STRAIGHT,
    Actor,
    batch_of,
    discrete,
    drive,
    driver,
    log_replay,
    sample,
    stage,
)

from drive_env import Batch, DriveConfig, RewardConfig, generate_scene

# ---- rollouts ----


def scene_of(name):
    if name.startswith("map"):
        return sample(f"pufferdrive/{name}.bin")
    return generate_scene(name, seed=3, agents=12)


SCENES = ("town", "intersection", "map_942", "map_000")
VIEWS = {
    "default": {},
    "blind": {"observation": {"partners": 0, "roads": 0}},
    "one_each": {"observation": {"partners": 1, "roads": 1, "time_left": "actor"}},
    "few": {"observation": {"partners": 3, "roads": 17, "view_radius_m": 40.0}},
    "short_sighted": {"observation": {"view_radius_m": 7.5}, "dynamics": {"min_speed_mps": -15.0}},
    "wide": {"observation": {"partners": 255, "roads": 1024, "view_radius_m": 1000.0}},
}


def rollout(batch, steps, every, seed=0, push=None):
    rng = np.random.default_rng(seed)
    expected = BruteForce(batch)
    batch.reset()
    expected.open()
    expected.acted = np.zeros(batch.agents_per_world, bool)
    expected.check()
    for step in range(1, steps + 1):
        if push is None:
            pushes = rng.integers(0, ACCELERATION_BINS, batch.num_agents)
            turns = rng.integers(0, STEERING_BINS, batch.num_agents)
        else:
            pushes, turns = np.full(batch.num_agents, push), np.full(batch.num_agents, STRAIGHT)
        expected.step(pushes, turns)
        assert (np.abs(batch.observations) <= 1.0).all()
        if step % every == 0:
            expected.check()
    expected.check_order()
    return expected


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", SCENES)
def test_an_observation_equals_brute_force_in_float64(name, view):
    config = DriveConfig(max_trials=2, trial_steps=25, on_goal="ignore", on_offroad="ignore", **VIEWS[view])
    expected = rollout(Batch(scenes=[scene_of(name)], config=config), steps=60, every=30 if view == "wide" else 6)
    assert expected.checked >= 3


@pytest.mark.parametrize("name", SCENES)
def test_stopped_agents_are_observed_and_removed_ones_are_not(name):
    config = DriveConfig(max_trials=3, trial_steps=40, on_collision="remove", on_goal="stop",
                         on_offroad="remove",
                         reward=RewardConfig(goal=3.0, collision=-2.0, offroad=-0.5),
                         observation={"partners": 40, "roads": 30})
    rollout(Batch(scenes=[scene_of(name)], config=config), steps=100, every=3, seed=1)


@pytest.mark.parametrize("radius_m", (100.0, 1000.0))
@pytest.mark.parametrize("name", SCENES)
def test_an_agent_far_outside_the_map_observes_what_is_near_it_and_nothing_else(name, radius_m):
    config = DriveConfig(dt_s=2.0, trial_steps=30, observation={"view_radius_m": radius_m, "roads": 64}, **IGNORE_ALL)
    batch = Batch(scenes=[scene_of(name)], config=config)
    rollout(batch, steps=16, every=2, push=6)
    place = batch.vehicles()
    assert (np.hypot(place["x_m"], place["y_m"])[: batch.roles[0].num_agents] > 600).any()


def test_values_stay_inside_the_space_however_far_an_agent_drives():
    batch = batch_of(generate_scene("town", 0, 4), dt_s=2.0, dynamics={"max_speed_mps": 150.0}, **IGNORE_ALL)
    for _ in range(2000):
        batch.step(discrete(batch, 6))
    assert np.hypot(batch.vehicles()["x_m"], batch.vehicles()["y_m"]).max() > 500_000
    assert batch.single_observation_space.contains(batch.observations[0])
    assert (np.abs(batch.observations) <= 1.0).all()
    assert not batch.observations[:, batch.observation_layout()["roads/kind"].slice].any()


# ---- by hand ----


def test_the_scales_are_the_documented_ones():
    """Numbers a reader can check: 30 m in a view of 100 m are observed as 0.3."""
    partner = Actor(30.0, 40.0, math.pi / 2, length_m=5.0, width_m=2.5, kind="cyclist")
    scene = stage([driver(speed_mps=10.0, goal_m=(60.0, 80.0)), partner],
                  [("edge", [(20.0, 10.0), (26.0, 10.0)])])
    batch = batch_of(scene)
    layout = batch.observation_layout()
    observed = {name: batch.observations[0, feature.slice][0] for name, feature in layout.items() if feature.slots}
    wanted = {
        "ego/present": 1, "ego/speed": 0.25, "ego/length": 0.2, "ego/width": 0.4, "ego/steering": 0,
        "ego/acceleration": 0, "ego/yaw_rate": 0, "ego/goal_x": 0.6, "ego/goal_y": 0.8,
        "ego/goal_direction_x": 0.6, "ego/goal_direction_y": 0.8, "ego/goal_distance": 0.25,
        "ego/in_contact": 0, "ego/on_road_edge": 0, "ego/time_left": 0,
        "trial/index": 0, "trial/reward": 0, "trial/outcome_none": 1, "trial/outcome_goal": 0,
        "trial/outcome_collision": 0, "trial/outcome_offroad": 0, "trial/outcome_timeout": 0,
        "trial/outcome_other": 0, "trial/steps_share": 0,
        "partners/x": 0.3, "partners/y": 0.4, "partners/direction_x": 0, "partners/direction_y": 1,
        "partners/length": 0.25, "partners/width": 0.5, "partners/speed": 0, "partners/kind": 0.75,
        "roads/x": 0.23, "roads/y": 0.1, "roads/direction_x": 1, "roads/direction_y": 0,
        "roads/half_length": 0.6, "roads/width": 0, "roads/speed_limit": 0, "roads/kind": 0.375}
    assert set(observed) == set(wanted)
    for name, value in wanted.items():
        assert observed[name] == pytest.approx(value, abs=1e-6), name


@pytest.mark.parametrize("event, actors, roads", [
    ("on_collision", [Actor(8.0, 0.0)], []),
    ("on_offroad", [], [("edge", [(6.0, -3.0), (6.0, 3.0)])]),
    ("on_goal", [], [])])
def test_the_step_that_stops_an_agent_shows_it_at_rest_with_its_wheels_turned(event, actors, roads):
    scene = stage([driver(speed_mps=5.0, goal_m=(6.0, 0.0) if event == "on_goal" else (500.0, 0.0)), *actors], roads)
    stops, drives = (batch_of(scene, **{**IGNORE_ALL, **response}) for response in ({event: "stop"}, {}))
    features = {name: stops.observation_layout()[f"ego/{name}"] for name in
                ("speed", "acceleration", "yaw_rate", "steering")}
    full_throttle = discrete(stops, 6, 7)
    for _ in range(30):
        stops.step(full_throttle), drives.step(full_throttle)
        at_rest, driving = ({name: float(batch.observations[0, feature.offset] / feature.scale)
                             for name, feature in features.items()} for batch in (stops, drives))
        assert driving["acceleration"] == pytest.approx(4.0, rel=1e-4) and driving["yaw_rate"] > 0.1
        if stops.stopped[0]:
            break
        assert at_rest == driving
    assert stops.stopped[0] and stops.outcome[0] > 0
    assert at_rest == {"speed": 0.0, "acceleration": 0.0, "yaw_rate": 0.0, "steering": driving["steering"]}
    assert driving["speed"] > 5.0 and driving["steering"] == pytest.approx(0.1)


def test_left_is_positive_and_ahead_is_positive():
    for heading in (0.0, 1.0, math.pi, -2.0):
        scene = stage([driver(), Actor(10.0, 5.0, 0.3)], turn_rad=heading)
        batch = batch_of(scene)
        layout = batch.observation_layout()
        observed = [batch.observations[0, layout[f"partners/{name}"].slice][0] for name in PARTNERS[:4]]
        assert observed == pytest.approx([0.1, 0.05, math.cos(0.3), math.sin(0.3)], abs=1e-6)


@pytest.mark.parametrize("slots, shown", [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 3, 4]),
                                          (6, [1, 2, 3, 4, 5])])
def test_equal_distances_go_to_the_lower_index_and_slots_ascend_in_index(slots, shown):
    # Four vehicles at exactly 10 m (indices 1 to 4, a tie) and one at 20 m (index 5).
    around = [(10.0, 0.0), (0.0, 10.0), (-10.0, 0.0), (0.0, -10.0), (20.0, 0.0)]
    actors = [driver(), *(Actor(x, y, length_m=2.0 + i) for i, (x, y) in enumerate(around))]
    batch = batch_of(stage(actors), observation={"partners": slots})
    lengths = batch.observations[0, batch.observation_layout()["partners/length"].slice] * 20
    assert [round(float(length)) - 1 for length in lengths if length] == shown


def test_road_segments_are_indexed_by_cells_from_the_south_west_and_then_in_the_order_of_the_file():
    rng = np.random.default_rng(7)
    roads = [("lane", [tuple(rng.uniform(-40, 40, 2)) for _ in range(rng.integers(2, 6))]) for _ in range(60)]
    batch = batch_of(stage([driver()], roads))
    pieces = []  # of at most 10 m, in the order of roads and of their points
    for _, points in roads:
        for start, end in zip(np.float32(points)[:-1], np.float32(points)[1:]):
            count = math.ceil(np.hypot(*(end - start)) / 10.0)
            pieces += [start + (piece + 0.5) / count * (end - start) for piece in range(count)]
    pieces = np.array(pieces)
    cell = np.floor((pieces - pieces.min(axis=0)) / 5.0).astype(int)
    order = np.lexsort((np.arange(len(pieces)), cell[:, 0], cell[:, 1]))
    assert len(np.unique(cell, axis=0)) < len(pieces)  # cells hold several
    np.testing.assert_allclose(batch.scene_table().records[1:, :2], pieces[order], atol=1e-4)


def test_the_nearer_of_two_is_observed_though_its_index_is_higher():
    actors = [driver(), Actor(50.0, 0.0), Actor(40.0, 0.0), Actor(30.0, 0.0, length_m=3.0),
              Actor(20.0, 0.0, length_m=2.0)]
    batch = batch_of(stage(actors), observation={"partners": 2})
    lengths = batch.observations[0, batch.observation_layout()["partners/length"].slice] * 20
    assert lengths == pytest.approx([3.0, 2.0])


@pytest.mark.parametrize("away_m, observed", [(99.99, True), (100.0, True), (100.01, False)])
def test_the_view_ends_at_its_radius(away_m, observed):
    scene = stage([driver(), Actor(away_m, 0.0)], [("line", [(-away_m, -1.0), (-away_m, 1.0)])])
    batch = batch_of(scene)
    layout = batch.observation_layout()
    assert bool(batch.observations[0, layout["partners/kind"].slice].any()) == observed
    assert bool(batch.observations[0, layout["roads/kind"].slice].any()) == observed


def test_an_agent_never_observes_itself_but_one_that_stands_on_it():
    batch = batch_of(stage([driver(), driver(), driver(500.0, 0.0)]))
    kinds = batch.observations[:, batch.observation_layout()["partners/kind"].slice]
    assert (kinds > 0).sum(axis=1).tolist() == [1, 1, 0]


def test_a_single_point_is_observed_as_a_place_without_direction():
    batch = batch_of(stage([driver()], [("stop_sign", [(5.0, 2.0)]), ("lane", [(9.0, 1.0), (9.0, 1.0)])]))
    layout = batch.observation_layout()
    table = np.stack([batch.observations[0, layout[f"roads/{name}"].slice] for name in ROADS], axis=1)
    sign, lane = sorted(table[:2].tolist())
    assert sign == pytest.approx([0.05, 0.02, 0, 0, 0, 0, 0, 0.625])
    assert lane == pytest.approx([0.09, 0.01, 0, 0, 0, 0, 0, 0.125])
    assert not table[2:].any()


def test_widths_and_limits_of_roads_are_observed_and_clipped_to_1():
    scene = stage([driver()], [("lane", [(0.0, 5.0), (4.0, 5.0)])])
    for width, limit, shown in ((3.5, 20.0, (0.35, 0.5)), (100.0, 200.0, (1.0, 1.0)), (0.0, 0.0, (0.0, 0.0))):
        scene.roads.width_m[0], scene.roads.speed_limit_mps[0] = width, limit
        batch = batch_of(scene)
        layout = batch.observation_layout()
        observed = [batch.observations[0, layout[f"roads/{name}"].slice][0] for name in ("width", "speed_limit")]
        assert observed == pytest.approx(shown)


def test_a_log_replay_vehicle_is_observed_at_its_logged_speed_along_its_heading():
    log = [(10.0 + frame, 0.0, math.pi, 10.0 + frame) for frame in range(5)]
    batch = batch_of(stage([driver(), log_replay(log)]))
    speed = batch.observation_layout()["partners/speed"].slice
    for frame in range(5):
        assert batch.observations[0, speed][0] == pytest.approx((10.0 + frame) / 40.0, abs=1e-6)
        batch.step(discrete(batch, 0))


def test_time_left_runs_from_1_to_0_and_ages_count():
    batch = batch_of(stage([driver()]), observation={"time_left": "actor"}, trial_steps=8, max_trials=2)
    left = batch.observation_layout()["ego/time_left"].slice
    for _ in range(2):
        for step in range(9):
            assert batch.observations[0, left][0] == pytest.approx(1.0 - step / 8)
            batch.step(discrete(batch))
    batch.reset(initial_ages=np.array([3]))
    assert batch.observations[0, left][0] == pytest.approx(5 / 8)


def test_the_reward_is_scaled_by_the_largest_of_a_step():
    scene = stage([driver(speed_mps=10.0)], [("edge", [(4.5, -3.0), (4.5, 3.0)])])
    batch = batch_of(scene, reward=RewardConfig(goal=2.0, collision=-3.0, offroad=-5.0), **IGNORE_ALL)
    feature = batch.observation_layout()["trial/reward"]
    assert feature.scale == pytest.approx(1 / 8)
    drive(batch, 3)
    assert batch.observations[0, feature.slice][0] == pytest.approx(-5 / 8)
    drive(batch, 1, COAST)
    assert batch.observations[0, feature.slice][0] == 0.0


def test_a_removed_agent_overlaps_no_vehicle():
    # Both drive side by side and overlap; the left one reaches its goal in the third step and is removed.
    scene = stage([driver(speed_mps=10.0), driver(0.0, 1.5, speed_mps=10.0, goal_m=(4.5, 1.5)),
                   driver(0.0, 500.0)])
    batch = batch_of(scene, on_collision="ignore")
    overlapping = batch.observation_layout()["ego/in_contact"].slice
    assert batch.observations[0, overlapping][0] == 1.0
    drive(batch, 3)
    assert batch.removed[1]
    assert not batch.observations[0, batch.observation_layout()["partners/kind"].slice].any()
    assert batch.observations[0, overlapping][0] == 0.0
