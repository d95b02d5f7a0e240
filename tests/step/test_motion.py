"""Do agents move as kinematic bicycles? Against the same model in float64, and by hand."""

import math

import numpy as np
import pytest
from scripted_scenes import (
    ACCELERATION_BINS,
    ACCELERATIONS_MPS2,
    COAST,
    IGNORE_ALL,
    STEERING_BINS,
    STEERINGS_RAD,
    STRAIGHT,
    batch_of,
    changed,
    drive,
    driver,
    stage,
)

from drive_env import generate_scene


def bicycle(state, acceleration, steering, wheelbase, dt_s, low, high):
    """Kinematic bicycle about the point midway between the axles, in float64."""
    x, y, heading, speed = state
    new = speed + acceleration * dt_s
    new = 0.0 if speed * new < 0 else min(max(new, low), high)
    slip = math.atan(0.5 * math.tan(steering))
    x += new * dt_s * math.cos(heading + slip)
    y += new * dt_s * math.sin(heading + slip)
    heading += new * dt_s * math.cos(slip) * math.tan(steering) / wheelbase
    return x, y, heading, new


@pytest.mark.parametrize("dt_s", (0.1, 0.5))
@pytest.mark.parametrize("action_type", ("discrete", "multi_discrete", "continuous"))
def test_agents_move_as_bicycles_by_every_kind_of_action(action_type, dt_s):
    # four vehicles far apart, in the core and in float64
    rng = np.random.default_rng(5)
    lengths = [2.0, 4.5, 12.0, 7.3]
    actors = [driver(0.0, 100.0 * i, rng.uniform(-3, 3), rng.uniform(0, 20), length_m=length)
              for i, length in enumerate(lengths)]
    batch = batch_of(stage(actors, dt_s=dt_s), action_type=action_type,
                     dynamics={"min_speed_mps": -5.0, "max_speed_mps": 25.0}, **IGNORE_ALL)
    states = [(a.x_m, a.y_m, a.heading_rad, a.speed_mps) for a in actors]
    for _ in range(60):
        # the same random control in the form of the action type
        push, turn = rng.integers(0, ACCELERATION_BINS, 4), rng.integers(0, STEERING_BINS, 4)
        accelerations, steerings = ACCELERATIONS_MPS2[push], STEERINGS_RAD[turn]
        if action_type == "discrete":
            batch.step(push * STEERING_BINS + turn)
        elif action_type == "multi_discrete":
            batch.step(np.stack([push, turn], 1))
        else:
            shares = rng.uniform(-1, 1, (4, 2)).astype(np.float32)
            accelerations, steerings = shares[:, 0] * 4.0, shares[:, 1] * 0.6
            batch.step(shares)
        # the poses of both; a wheelbase is 0.6 of the length
        states = [bicycle(state, a, s, 0.6 * length, dt_s, -5.0, 25.0)
                  for state, a, s, length in zip(states, accelerations, steerings, lengths, strict=True)]
        now = batch.vehicles()
        for agent, (x, y, heading, speed) in enumerate(states):
            assert (now["x_m"][agent], now["y_m"][agent]) == pytest.approx((x, y), abs=5e-3)
            assert abs(math.remainder(now["heading_rad"][agent] - heading, 2 * math.pi)) < 1e-4
            assert now["speed_mps"][agent] == pytest.approx(speed, abs=1e-4)


def test_the_three_forms_of_an_action_are_one_action():
    scene = generate_scene("intersection", 1, 6)
    forms = ("discrete", "multi_discrete", "continuous")
    batches = {form: batch_of(scene, action_type=form) for form in forms}
    rng = np.random.default_rng(6)
    for _ in range(40):
        push, turn = rng.integers(0, ACCELERATION_BINS, 6), rng.integers(0, STEERING_BINS, 6)
        batches["discrete"].step(push * STEERING_BINS + turn)
        batches["multi_discrete"].step(np.stack([push, turn], 1))
        shares = np.stack([(push - COAST) / COAST, (turn - STRAIGHT) / STRAIGHT], 1)
        batches["continuous"].step(shares.astype(np.float32))
        poses = [batch.vehicles() for batch in batches.values()]
        for name in ("x_m", "y_m", "heading_rad", "speed_mps"):
            assert np.array_equal(poses[0][name], poses[1][name])
            assert np.allclose(poses[0][name], poses[2][name], atol=1e-3)


def test_a_second_of_full_throttle_from_rest_gives_4_mps_and_braking_gives_rest():
    batch = batch_of(stage([driver()]))
    drive(batch, 10, 6)
    assert batch.vehicles()["speed_mps"][0] == pytest.approx(4.0, abs=1e-5)
    drive(batch, 10, 0)
    assert batch.vehicles()["speed_mps"][0] < 1e-5
    drive(batch, 1, 0)
    still = batch.vehicles()
    drive(batch, 30, 0, 12)
    for name, values in batch.vehicles().items():
        assert np.array_equal(values, still[name]), name


def test_speed_is_the_part_along_the_heading_and_within_the_limits_from_the_start():
    scene = stage([driver(0.0, 0.0, math.pi / 2, 30.0), driver(0.0, 50.0, speed_mps=60.0)])
    sideways = changed(scene, vx_mps=scene.objects.vx_mps + np.array([[25.0, 0.0]], np.float32))
    batch = batch_of(sideways)
    assert batch.vehicles()["speed_mps"] == pytest.approx([30.0, 40.0], abs=1e-4)
    assert batch.scene_report().imputed["start speeds brought within min_speed_mps and max_speed_mps"] == 1


def test_steering_straight_is_the_middle_bin():
    batch = batch_of(stage([driver(speed_mps=10.0)]))
    drive(batch, 50, COAST, STRAIGHT)
    now = batch.vehicles()
    assert now["y_m"][0] == 0.0 and now["heading_rad"][0] == 0.0
    assert now["x_m"][0] == pytest.approx(50.0, abs=1e-4)
