"""When does an agent run into a vehicle, if both hold their speed? By arithmetic, and by fine steps in float64."""

import math

import numpy as np
import pytest
from boxes import corners
from scripted_events import TURNS
from scripted_scenes import COAST_ACTION, IGNORE_ALL, STEERING_BINS, Actor, batch_of, driver, log_replay, stage

from drive_env import REWARD_TERMS, generate_scene

HORIZON_S = 3.0


def times(actors, steps=1, turn_rad=0.0, **choices):
    """The times to collision of staged agents after some steps at held speeds, and the facts of the reward."""
    batch = batch_of(stage(actors, turn_rad=turn_rad), reward_terms=True, **{**IGNORE_ALL, **choices})
    for _ in range(steps):
        batch.step(np.full(batch.num_agents, COAST_ACTION))
    facts = batch.reward_terms[:, REWARD_TERMS.index("time_to_collision")]
    return batch._core.state["time_to_collision_s"][0], facts


@pytest.mark.parametrize("turn_rad", TURNS)
def test_a_vehicle_ahead_is_met_after_the_gap_over_the_closing_speed(turn_rad):
    """Both are 4 m long, with centres 34 m apart: the gap of 30 m closes at 10 m/s, for one step already."""
    of_each, facts = times([driver(speed_mps=14.0), driver(34.0, speed_mps=4.0)], turn_rad=turn_rad)
    assert of_each == pytest.approx([2.9, 3.0], abs=1e-4)  # the one ahead does not run into the one behind it
    assert facts == pytest.approx([0.1 * (1 - 2.9 / 3), 0.0], abs=1e-5)


@pytest.mark.parametrize("turn_rad", TURNS)
def test_crossing_paths_meet_when_the_boxes_do(turn_rad):
    """Each needs 17 m to the other's flank and corner, at 10 m/s."""
    of_each, _ = times([driver(speed_mps=10.0), driver(20.0, -20.0, math.pi / 2, 10.0)], turn_rad=turn_rad)
    assert of_each == pytest.approx([1.6, 1.6], abs=1e-4)


def test_what_an_agent_does_not_run_into_has_the_horizon():
    apart = [driver(speed_mps=10.0), driver(20.0, 2.5, speed_mps=5.0)]  # in the next lane, half a metre clear
    same = [driver(speed_mps=10.0), driver(9.0, speed_mps=10.0)]
    far = [driver(speed_mps=10.0), Actor(40.0)]  # 36 m at 10 m/s
    stands = [driver(), driver(20.0, 0.0, math.pi, 10.0)]
    for actors in (apart, same, far):
        of_each, facts = times(actors)
        assert of_each.tolist() == [HORIZON_S] * len(of_each) and (facts == 0).all()
    assert times(stands)[0] == pytest.approx([HORIZON_S, 1.5], abs=1e-4)


def test_in_reverse_the_vehicle_behind_is_the_one_that_is_met():
    of_each, _ = times([driver(speed_mps=-5.0), Actor(-14.0), Actor(6.0)], dynamics={"min_speed_mps": -5.0})
    assert of_each == pytest.approx([1.9], abs=1e-4)


def test_a_vehicle_in_contact_or_off_the_map_is_not_met_again():
    """The first starts inside a static vehicle. The other's log is on the map in its first frame alone."""
    assert times([driver(speed_mps=1.0), Actor(3.0)])[0].tolist() == [HORIZON_S]
    gone = [driver(speed_mps=10.0), log_replay([(24.0, 0.0, 0.0, 0.0), None, None])]
    assert times(gone)[0].tolist() == [HORIZON_S]


def overlaps(one, other, headings_rad):
    """Whether two boxes given by their corners overlap: no axis of either separates them."""
    axes = [np.array(axis) for heading in headings_rad
            for axis in ((math.cos(heading), math.sin(heading)), (-math.sin(heading), math.cos(heading)))]
    return all((one @ axis).max() >= (other @ axis).min() and (other @ axis).max() >= (one @ axis).min()
               for axis in axes)


def simulated(vehicles, agent, other, step_s=0.01):
    """The first time at which two vehicles overlap, in fine steps."""
    at = {name: values.astype(float) for name, values in vehicles.items()}
    velocity = at["speed_mps"][:, None] * np.stack([np.cos(at["heading_rad"]), np.sin(at["heading_rad"])], axis=1)
    centre = np.stack([at["x_m"], at["y_m"]], axis=1)
    headings = at["heading_rad"][[agent, other]]
    boxes = [corners(centre[i], at["heading_rad"][i], at["length_m"][i], at["width_m"][i]) for i in (agent, other)]
    for step in range(int(HORIZON_S / step_s) + 1):
        moved = [box + step * step_s * velocity[i] for box, i in zip(boxes, (agent, other))]
        if overlaps(*moved, headings):
            return step * step_s
    return HORIZON_S


def test_in_any_rollout_the_time_is_that_of_a_simulation():
    batch = batch_of(generate_scene("intersection", seed=1, agents=8), reward_terms=True, trial_steps=60, **IGNORE_ALL)
    rng, met = np.random.default_rng(3), 0
    for step in range(60):
        batch.step(rng.integers(4, 7, 8) * STEERING_BINS + rng.integers(4, 9, 8))
        if step % 6:
            continue
        vehicles = batch.vehicles()
        found = batch._core.state["time_to_collision_s"][0]
        words = batch._core.state["overlapping"][0]
        for agent in np.flatnonzero(~batch.invalid_step):
            ahead = np.array([math.cos(vehicles["heading_rad"][agent]), math.sin(vehicles["heading_rad"][agent])])
            best = HORIZON_S
            for other in range(len(vehicles["x_m"])):
                offset = np.array([vehicles[name][other] - vehicles[name][agent] for name in ("x_m", "y_m")])
                touches = int(words[agent]) >> other & 1
                if other == agent or touches or offset @ ahead < -vehicles["length_m"][agent] / 2:
                    continue
                if vehicles["present"][other] and np.hypot(*offset) < 100.0:
                    best = min(best, simulated(vehicles, agent, other))
            expected = best if abs(vehicles["speed_mps"][agent]) > 0.005 else HORIZON_S
            assert found[agent] == pytest.approx(expected, abs=0.02), (step, agent)
            met += expected < HORIZON_S
    assert met > 10
