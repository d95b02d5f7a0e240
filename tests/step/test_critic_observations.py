"""What does a critic observe that its agent must not?"""

from dataclasses import replace

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL, batch_of, drive, driver, log_replay, play_randomly, stage

from drive_env import Batch, ConfigError, DriveConfig, generate_scene, parallel_env
from drive_env.api.gym import DriveEnv, DriveVectorEnv

SHORT = {"trial_steps": 8, "max_trials": 2}


def feature(batch, name):
    """(R, slots) the quantity of a feature, in its unit."""
    found = batch.critic_layout()[name]
    return batch.critic_observations[:, found.slice].astype(float) / found.scale


def play(batch, steps):
    """Steps with seeded actions; yields after the reset and after each of them."""
    batch.reset()
    yield
    yield from play_randomly(batch, steps)


def in_frame_of(vehicles, agent, x_m, y_m):
    """A point in the frame of an agent, in complex numbers."""
    offset = complex(x_m - vehicles["x_m"][agent], y_m - vehicles["y_m"][agent])
    turned = offset * np.exp(-1j * vehicles["heading_rad"][agent])
    return turned.real, turned.imag


def test_the_own_goal_is_there_where_the_agent_does_not_observe_it():
    scene = stage([driver(3.0, -2.0, 0.7, speed_mps=5.0, goal_m=(60.0, 30.0))])
    batch = batch_of(scene, critic_observations=True, observation={"goal_reveal_s": 0.0}, **SHORT, **IGNORE_ALL)
    for _ in play(batch, 12):
        expected = in_frame_of(batch.vehicles(), 0, 60.0, 30.0)
        found = feature(batch, "critic/goal_x")[0, 0], feature(batch, "critic/goal_y")[0, 0]
        assert found == pytest.approx(expected, abs=1e-3)
        distance_m = np.hypot(*expected)
        assert feature(batch, "critic/goal_distance")[0, 0] == pytest.approx(distance_m, rel=1e-5)
        direction = [feature(batch, f"critic/goal_direction_{axis}")[0, 0] for axis in "xy"]
        assert direction == pytest.approx(np.array(expected) / distance_m, abs=1e-5)
        own = batch.observation_layout()
        assert not batch.observations[:, own["ego/goal_x"].offset:own["ego/goal_distance"].offset + 1].any()


def test_goals_that_need_a_heading_show_it_in_the_frame_of_the_agent():
    """One goal has a heading of its own, one that of its lane, and one is on no lane."""
    cars = [driver(0.0, 0.0, 0.4, goal_m=(60.0, 0.0)), driver(0.0, 20.0, -1.0, goal_m=(50.0, 20.0)),
            driver(0.0, 40.0, 2.0, goal_m=(70.0, 90.0))]
    scene = stage(cars, [("lane", [(0.0, 20.0), (100.0, 20.0)])])
    objects = replace(scene.objects, goal_heading_rad=np.float32([2.5, np.nan, np.nan]))
    expected_rad = [2.5, 0.0, None]
    settings = {"critic_observations": True, "trial_steps": 20, **IGNORE_ALL}
    batch = batch_of(replace(scene, objects=objects), goal_heading_tolerance_rad=0.3,
                     observation={"goals": 1, "partners": 2}, **settings)
    for _ in play(batch, 8):
        heading_rad = batch.vehicles()["heading_rad"].astype(float)
        for agent in range(3):
            partners = [other for other in range(3) if other != agent]  # slots are in ascending order
            for slot, of in [(None, agent), *enumerate(partners)]:
                name = "critic/goal_heading" if slot is None else "partner_goals/heading"
                found = [feature(batch, f"{name}_{axis}")[agent, slot or 0] for axis in "xy"]
                angle_rad = None if expected_rad[of] is None else expected_rad[of] - heading_rad[agent]
                vector = (0.0, 0.0) if angle_rad is None else (np.cos(angle_rad), np.sin(angle_rad))
                assert found == pytest.approx(vector, abs=1e-5)
    plain = batch_of(scene, observation={"goals": 1, "partners": 2}, **settings)
    assert not [name for name in plain.critic_layout() if "heading" in name]


@pytest.mark.parametrize("time_left, of_agent, of_critic", [("off", False, False), ("actor", True, True),
                                                            ("critic", False, True)])
def test_the_time_that_is_left_is_observed_by_whom_the_config_names(time_left, of_agent, of_critic):
    batch = batch_of(stage([driver()]), critic_observations=True, observation={"time_left": time_left}, **SHORT)
    share = 1 - np.array([*range(9), *range(9)]) / 8
    own = batch.observation_layout()["ego/time_left"].offset
    for expected, _ in zip(share, play(batch, 17)):
        assert batch.observations[0, own] == pytest.approx(expected * of_agent)
        assert feature(batch, "critic/time_left")[0, 0] == pytest.approx(expected * of_critic)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_partner_slots_have_the_goals_of_the_agents_in_them(dropout):
    """A log-replay vehicle has no goal; a removed partner leaves its slot."""
    # three agents, of which one reaches its goal, and a log-replay vehicle
    goals = [(70.0, 5.0), (4.0, 20.0), (20.0, 60.0)]
    scene = stage([driver(0.0, 0.0, 0.3, goal_m=goals[0]), driver(0.0, 20.0, speed_mps=8.0, goal_m=goals[1]),
                   driver(0.0, 40.0, goal_m=goals[2]), log_replay([(9.0, -20.0, 0.0, 0.0)] * 30)])
    batch = batch_of(scene, critic_observations=True, observation={"partners": 4}, trial_steps=20,
                     sensors={"partner_dropout": dropout})
    own, theirs = batch.observation_layout(), batch.critic_layout()
    batch.reset()
    removed = set()
    for _ in range(12):
        drive(batch, 1)
        vehicles = batch.vehicles()
        for agent in np.flatnonzero(~batch.removed):
            places = [batch.observations[agent, own[f"partners/{axis}"].slice] * 100 for axis in "xy"]
            filled = batch.observations[agent, own["partners/kind"].slice] > 0
            for slot in range(4):
                # the goal of the partner that the agent observes at the place of this slot
                exists, x, y = (batch.critic_observations[agent, theirs[f"partner_goals/{name}"].slice][slot]
                                for name in ("exists", "x", "y"))
                partners = [other for other in range(4) if other != agent and filled[slot] and in_frame_of(
                    vehicles, agent, vehicles["x_m"][other], vehicles["y_m"][other]) == pytest.approx(
                        (places[0][slot], places[1][slot]), abs=1e-3)]
                if partners and partners[0] < 3:
                    expected = in_frame_of(vehicles, agent, *goals[partners[0]])
                    assert (exists, 100 * x, 100 * y) == pytest.approx((1.0, *expected), abs=1e-3)
                else:
                    assert (exists, x, y) == (0.0, 0.0, 0.0)
        removed |= set(np.flatnonzero(batch.removed))
        assert not batch.critic_observations[batch.removed].any()
    assert removed == {1}


def test_hidden_values_and_drawn_weights_are_those_that_the_agent_may_be_shown():
    choices = {"hidden": {"steering_gain": (0.5, 1.5), "steering_flip": 0.5}, "critic_observations": True,
               "reward_ranges": {"goal": (0.5, 1.5), "offroad": (-1.0, 0.0)}}
    scene = generate_scene("intersection", agents=5)
    hidden, shown = (batch_of(scene, num_worlds=3, observation={"reveal_hidden": reveals}, **choices)
                     for reveals in (False, True))
    both = zip(play(hidden, 3), play(shown, 3))
    for _ in both:
        names = [name for name in hidden.critic_layout() if name.startswith(("hidden/", "reward/"))]
        assert [name for name in shown.observation_layout() if name.startswith(("hidden/", "reward/"))] == names
        for name in names:
            expected = shown.observations[:, shown.observation_layout()[name].slice]
            assert (hidden.critic_observations[:, hidden.critic_layout()[name].slice] == expected).all()
        assert len(set(hidden.critic_observations[:, hidden.critic_layout()["hidden/steering_gain"].offset])) > 5
        assert not any(name.startswith("hidden/") for name in hidden.observation_layout())


def test_the_option_changes_no_other_array():
    scene, choices = generate_scene("town", seed=2, agents=6), {**SHORT, "on_collision": "remove"}
    plain, critic = batch_of(scene, **choices), batch_of(scene, critic_observations=True, **choices)
    for _ in zip(play(plain, 30), play(critic, 30)):
        for name, array in plain._core.arrays.items():
            assert (array == critic._core.arrays[name]).all(), name
        assert np.isfinite(critic.critic_observations).all() and (np.abs(critic.critic_observations) <= 1).all()


def test_infos_have_the_vector_on_request():
    scene, config = generate_scene("intersection", agents=3), {"critic_observations": True}
    batch, env = Batch([scene], config=config), parallel_env(scenes=scene, config=config)
    batch.reset(seed=4)
    infos = env.reset(seed=4)[1]
    for agent in range(3):
        assert (infos[f"agent_{agent}"]["critic_observations"] == batch.critic_observations[agent]).all()
    one, many = DriveEnv(scene, config), DriveVectorEnv(2, scene, config)
    size = len(one.reset(seed=4)[1]["critic_observations"])
    assert many.reset(seed=4)[1]["critic_observations"].shape == (2, size)


@pytest.mark.parametrize("partners, has_hidden, tolerance_rad, size", [
    (0, False, None, 7), (3, False, None, 16), (3, True, None, 23), (3, True, 0.2, 31)])
def test_the_layout_fills_the_vector(partners, has_hidden, tolerance_rad, size):
    hidden = {"steering_gain": (0.5, 1.5)} if has_hidden else {}
    with batch_of(stage([driver()]), critic_observations=True, observation={"partners": partners, "goals": 1},
                  goal_heading_tolerance_rad=tolerance_rad, hidden=hidden) as batch:
        floats = np.concatenate([np.arange(size)[found.slice] for found in batch.critic_layout().values()])
        assert sorted(floats) == list(range(size)) and batch.critic_observations.shape == (1, size)


def test_time_for_a_critic_alone_needs_the_critic():
    with pytest.raises(ConfigError, match="time_left is 'critic'; without critic_observations it must be 'off' or"):
        DriveConfig(observation={"time_left": "critic"})
    with Batch("intersection") as batch, pytest.raises(AttributeError, match="critic_observations True only"):
        batch.critic_observations  # noqa: B018


def test_a_stopped_agent_keeps_its_last_vector():
    scene = stage([driver(speed_mps=10.0, goal_m=(5.0, 0.0)), driver(0.0, 40.0)])
    batch = batch_of(scene, critic_observations=True, on_goal="stop", observation={"time_left": "critic"},
                     trial_steps=20)
    while not batch.stopped[0]:
        drive(batch, 1)
    last = batch.critic_observations.copy()
    drive(batch, 3)
    assert (batch.critic_observations[0] == last[0]).all() and (batch.critic_observations[1] != last[1]).any()
