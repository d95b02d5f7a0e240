"""Does each vehicle model move as published? Against vectors, a reference in float64, and its own inverse."""

import cmath
import math

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL, Actor, batch_of, driver, stage
from vehicle_models import (
    BMW_320I,
    F1TENTH,
    MODELS,
    Limits,
    Vehicle,
    engine_acceleration,
    rolled_substep,
    runge_kutta,
    single_track_rates,
)

from drive_env import Batch, ConfigError, DriveConfig
from drive_env.action_space import action_dimensions
from drive_env.binding import choices
from drive_env.config import action_types
from drive_env.drivers import LaneDriver, RandomDriver


def begin(model, starts, dt_s=0.1, action_type="continuous", **limits):
    """A batch of one world; a start is (x, y, heading, speed, length)."""
    actors = [driver(x, y, heading, speed, length_m=length) for x, y, heading, speed, length in starts]
    return batch_of(stage(actors, dt_s=dt_s), action_type=action_type, dynamics={"model": model, **limits},
                    **IGNORE_ALL)


def act(batch, controls):
    """One step of continuous actions that stand for controls, in units, (agents, dimensions)."""
    shares = [dimension.share_of(np.asarray(values, float))
              for dimension, values in zip(action_dimensions(batch.config), np.transpose(controls), strict=True)]
    batch.step(np.stack(shares, axis=1).astype(np.float32))


def now(batch, agent=0):
    """x, y, heading, speed and steering of an agent."""
    state = batch.vehicles()
    return np.array([*(state[name][agent] for name in ("x_m", "y_m", "heading_rad", "speed_mps")),
                     batch._core.state["steering_rad"][0][agent]])


def test_every_model_is_in_these_tests():
    assert set(MODELS) == set(choices("dynamics"))


# ---- published vectors ----

CLASSIC = {"max_steering_rad": 0.667, "min_speed_mps": -2.0}
JERK = {"max_steering_rad": 0.55, "min_speed_mps": -2.0}
INVERTIBLE = {"max_acceleration_mps2": 6.0}
LEFT = [(2 - 0.5 * i, 0.05 + 0.02 * i) for i in range(10)]
NAN = math.nan
"""Not published."""

VECTORS = {
    "classic, left": ("classic", CLASSIC, (0, 0, 0, 10, 4.5), [(1.333, 0.5)] * 10, {
        1: (1.012873214, 0.030422712, 0.022535343, 10.1333, 0.06),
        2: (2.03601998, 0.115284075, 0.068301864, 10.2666, 0.12),
        10: (8.158038165, 5.251657129, 1.324382184, 11.333, 0.5)}),
    "classic, into reverse": ("classic", CLASSIC, (1, 2, 3, 1, 4.5), [(-4, -0.333)] * 10, {
        10: (1.98525452, 1.737164458, 3.131968298, -2, -0.333)}),
    "invertible_bicycle, from rest": ("invertible_bicycle", INVERTIBLE, (0, 0, 0, 0, 4.5), [(0.6, 0.03)], {
        1: (0.003, 0, 9e-5, 0.06, NAN)}),
    "invertible_bicycle, spiral": ("invertible_bicycle", INVERTIBLE, (0, 0, 0.3, 8, 4.5), LEFT, {
        1: (0.773822556, 0.239371367, 0.3405, math.hypot(7.729219994, 2.738459108), NAN),
        10: (6.11776169, 4.970983377, 1.456125, math.hypot(0.886756395, 7.699101447), NAN)}),
    "jerk, ahead and left": ("jerk", JERK, (0, 0, 0, 5, 4.5), [(4, 4)] * 10, {
        1: (0.50099472, 0.001992029, 0.007952255, 5.02, 0.042830254),
        2: (1.005926692, 0.009960401, 0.023607286, 5.08, 0.083505525),
        10: (5.538438089, 0.811917447, 0.362645246, 6.715, 0.235085826)}),
    "jerk, into reverse": ("jerk", JERK, (0, 0, 0, 1, 4.5), [(-15, -4)] * 10, {
        10: (-0.552638766, -0.049785719, 0.146858318, -2, -0.55)}),
    "single_track, left and back": ("single_track", {}, (0, 0, 0, 15, 4.5), [
        (0, 0.01 * wheel) for wheel in (1, 2, 3, 4, 5, 4, 3, 2, 1, 0)], {
        10: (14.947850266, 0.999417234, 0.142605498, 15, 0)}),
    "delta_local, ahead": ("delta_local", {}, (1, 2, 0.5, 0, 4.5), [(1, 0.1, 0.05)], {
        1: (1.829640008, 2.567183795, 0.55, 8.29640008 * math.cos(0.55) + 5.671837948 * math.sin(0.55), 0)}),
    "delta_local, limited": ("delta_local", {}, (1, 2, 3.1, 0, 4.5), [(7, -0.2, 0.1)], {
        1: (-4.986494769, 2.449311005, -3.083185307,
            -59.864947692 * math.cos(3.2) + 4.493110047 * math.sin(3.2), 0)}),
}


@pytest.mark.parametrize("model, limits, start, controls, expected", VECTORS.values(), ids=VECTORS)
def test_a_model_moves_by_its_published_vectors(model, limits, start, controls, expected):
    batch = begin(model, [start], **limits)
    for step, control in enumerate(controls, 1):
        act(batch, [control])
        if step in expected:
            found, due = now(batch), np.array(expected[step])
            known = ~np.isnan(due)
            assert np.abs(found - due)[known] == pytest.approx(0, abs=1e-5 * max(1.0, np.nanmax(np.abs(due))))


@pytest.mark.parametrize("jerks, speed_mps, expected", [
    ((4, 4), 5, {1: (0.4, 0.4), 2: (0.8, 0.8), 10: (2.5, 4.0)}), ((-15, -4), 1, {10: (-5, -0.90830402)})])
def test_jerks_reach_the_published_accelerations(jerks, speed_mps, expected):
    """The lateral one is what the wheels achieve: speed squared times their curvature."""
    batch = begin("jerk", [(0, 0, 0, speed_mps, 4.5)], **JERK)
    for step in range(1, 11):
        act(batch, [jerks])
        *_, speed, steering = now(batch)
        found = batch._core.state["acceleration_mps2"][0][0], speed**2 * math.tan(steering) / 2.7
        assert found == pytest.approx(expected.get(step, found), abs=4e-5)


def test_the_table_of_jerks_is_the_published_one():
    ahead, left = action_dimensions(DriveConfig(dynamics="jerk"))
    assert [ahead.high * s if s > 0 else -ahead.low * s for s in ahead.shares] == pytest.approx([-15, -4, 0, 4])
    assert left.shares * left.high == pytest.approx([-4, 0, 4])
    batch = begin("jerk", [(0, 0, 0, 5, 4.5)], action_type="discrete", **JERK)
    batch.step([3 * 1 + 2])  # long_index * 3 + lat_index
    assert batch._core.state["acceleration_mps2"][0][0] == pytest.approx(-0.4)
    assert now(batch)[4] > 0


def test_the_sixty_three_actions_of_the_classic_model_are_the_published_ones():
    """index = acceleration_index * 9 + steering_index; the wheels reach the angle within 12 steps."""
    accelerations, angles = (-4, -2.667, -1.333, 0, 1.333, 2.667, 4), (-0.667, -0.5, -0.333, -0.167, 0, 0.167, 0.333,
                                                                       0.5, 0.667)
    batch = begin("classic", [(0, 300.0 * i, 0, 10, 4.5) for i in range(63)], action_type="discrete", **CLASSIC)
    assert batch.single_action_space.n == 63
    for _ in range(12):
        batch.step(np.arange(63))
    found = np.array([now(batch, agent)[3:] for agent in range(63)]).reshape(7, 9, 2)
    assert found[:, :, 0] == pytest.approx(np.repeat(10 + 1.2 * np.array(accelerations), 9).reshape(7, 9), abs=1e-3)
    assert found[:, :, 1] == pytest.approx(np.tile(angles, (7, 1)), abs=6e-4)


@pytest.mark.parametrize("friction, acceleration, speed_mps, curvature", [
    (0.9, 0, 15, 0.03924), (0.3, 0, 15, 0.01308), (0.5, -4, 15, 0.012617), (0.3, -4, 15, 0.0)])
def test_a_car_turns_no_more_than_its_friction_circle_allows(friction, acceleration, speed_mps, curvature):
    """The commanded curvature is 0.05 1/m; braking takes its share of the circle, and at 0.3 all of it."""
    length_m, sideslip = 5.0, math.asin(0.5 * 3.0 * 0.05)
    batch = begin("grip", [(0, 0, 0, speed_mps, length_m)], friction=friction)
    act(batch, [(acceleration, math.atan(2 * math.tan(sideslip)))])
    _, _, heading, after_mps, _ = now(batch)
    assert heading / (0.1 * after_mps) == pytest.approx(curvature, abs=2e-6)
    assert after_mps == pytest.approx(speed_mps + 0.1 * max(acceleration, -friction * 9.81), abs=1e-5)


SINGLE_TRACK_STATE = (2.0233348142065677, 0.0041907137716636, 0.0197545248559617, 15.7216236334290116,
                      0.0025857914776859, 0.0529001056654038, 0.0033012170610298)
SINGLE_TRACK_RATES = (15.7213512030862397, 0.0925527979719355, 0.15, 5.3536773276413925, 0.0529001056654038,
                      0.6435589397748606, 0.0313297971641291)


def test_the_reference_of_the_single_track_model_has_the_published_rates():
    """CommonRoad's own test: of 6.1803 m/s2 its engine allows less at this speed."""
    allowed = engine_acceleration(SINGLE_TRACK_STATE[3], 6.1803)
    assert single_track_rates(SINGLE_TRACK_STATE, 0.15, allowed) == pytest.approx(SINGLE_TRACK_RATES, abs=1e-13)


def test_the_reference_of_a_rolling_car_has_the_published_rates_at_its_rear_axle():
    """CommonRoad's kinematic model has the speed and position of the rear axle."""
    x, y, steering, speed, heading = (3.9579422297936526, 0.0391650102771405, 0.0378491427211811, 16.3546957860883566,
                                      0.0294717351052816)
    rear_m, wheelbase_m = BMW_320I["rear_m"], BMW_320I["front_m"] + BMW_320I["rear_m"]
    slip, tiny_s = math.atan(math.tan(steering) * rear_m / wheelbase_m), 1e-6
    centre = complex(x, y) + cmath.rect(rear_m, heading)
    before = np.array([centre.real, centre.imag, steering, speed / math.cos(slip), heading, 0.0, 0.0])
    acceleration = engine_acceleration(speed, 6.1803)
    after = rolled_substep(before, 0.15, acceleration, tiny_s)
    rear = complex(*after[:2]) - cmath.rect(rear_m, after[4])
    rates = np.array([rear.real - x, rear.imag - y, after[2] - steering, after[4] - heading]) / tiny_s
    assert rates == pytest.approx((16.3475935934250209, 0.4819314886013121, 0.15, 0.2401426578627629), abs=2e-5)
    assert acceleration == pytest.approx(5.1464424102339752, abs=1e-13)


def integrated(car, state, steering_rate_of, steps):
    """A state of the reference after so many steps of 0.01 s without acceleration."""
    state = np.array(state, float)
    for step in range(steps):
        state = runge_kutta(state, lambda now, step=step: single_track_rates(now, steering_rate_of(step), 0.0, car),
                            0.01)
    return state


def test_the_reference_of_the_single_track_model_has_the_published_paths():
    """BMW: to the left for 0.5 s and back; F1TENTH: a steady wheel angle for 0.5 s."""
    found = integrated(BMW_320I, (0, 0, 0, 15, 0, 0, 0), lambda step: 0.1 if step < 50 else -0.1, 100)
    assert found == pytest.approx((14.947850266, 0.999417234, 0, 15, 0.142605498, 0.040358772, -0.001767954), abs=2e-9)
    found = integrated(F1TENTH, (0, 0, 0.1, 3, 0, 0, 0), lambda step: 0.0, 50)
    assert found == pytest.approx((1.4610382, 0.289982429, 0.1, 3, 0.401106039, 0.844405309, 0.00313891), abs=1e-8)


@pytest.mark.parametrize("friction, sideslip_rad", [(1.0489, 0.0073), (0.5, -0.0150), (0.3, -0.0433)])
def test_friction_changes_the_sideslip_of_a_linear_tyre_and_not_its_yaw_rate(friction, sideslip_rad):
    found = integrated(BMW_320I | {"friction": friction}, (0, 0, 0.05, 15, 0, 0, 0), lambda step: 0.0, 3000)
    assert found[5] == pytest.approx(0.290820225, abs=1e-8)
    assert found[6] == pytest.approx(sideslip_rad, abs=5e-5)


def test_a_slipping_car_turns_left_and_back_by_the_published_yaw_rate_and_sideslip():
    batch = begin("single_track", [(0, 0, 0, 15, 4.5)])
    for wheel in (1, 2, 3, 4, 5, 4, 3, 2, 1, 0):
        act(batch, [(0, 0.01 * wheel)])
    state = batch._core.state
    assert state["yaw_rate_radps"][0][0] == pytest.approx(0.040358772, abs=1e-6)
    assert state["sideslip_rad"][0][0] == pytest.approx(-0.001767954, abs=1e-6)


def test_a_linear_tyre_steers_neutrally_without_a_limit_of_grip():
    """In a steady bend the yaw rate is speed * wheel angle / wheelbase, up to 31 m/s2 of lateral acceleration."""
    for speed_mps, due_radps in ((15.0, 0.290820225), (40.0, 40.0 * 0.05 / 2.5789128)):
        batch = begin("single_track", [(0, 0, 0, speed_mps, 4.5)])
        for _ in range(100):
            act(batch, [(0, 0.05)])
        assert batch._core.state["yaw_rate_radps"][0][0] == pytest.approx(due_radps, abs=1e-5)
        if speed_mps == 15.0:
            assert batch._core.state["sideslip_rad"][0][0] == pytest.approx(0.0073, abs=5e-5)


def test_power_limits_the_acceleration_of_a_fast_car():
    batch = begin("single_track", [(0, 0, 0, 30.0, 4.5)], max_acceleration_mps2=20.0)
    act(batch, [(20.0, 0.0)])
    power = BMW_320I["acceleration"] * BMW_320I["power_from_mps"]
    assert now(batch)[3] == pytest.approx(math.sqrt(30.0**2 + 2 * power * 0.1), abs=1e-3)
    act(batch, [(-20.0, 0.0)])
    assert now(batch)[3] == pytest.approx(math.sqrt(30.0**2 + 2 * power * 0.1) - 1.15, abs=1e-3)


@pytest.mark.parametrize("acceleration_mps2", (-11.5, -4.0, 0.0, 4.0, 11.5))
def test_slip_decays_at_every_speed(acceleration_mps2):
    """In one step of integration, with the wheels ahead: the equations turn stiff as the speed falls."""
    speeds = np.arange(0.5, 5.0, 0.05)
    batch = begin("single_track", [(0, 100.0 * i, 0, speed, 4.5) for i, speed in enumerate(speeds)], 0.01,
                  max_acceleration_mps2=11.5)
    for _ in range(10):
        batch._core.state["sideslip_rad"][0] = 0.1
        batch._core.state["yaw_rate_radps"][0] = 0.0
        act(batch, [(acceleration_mps2, 0.0)] * len(speeds))
        assert (np.abs(batch._core.state["sideslip_rad"][0]) < 0.1).all()


def test_a_spinning_car_stays_finite():
    batch = begin("single_track", [(0, 100.0 * i, 0, 140.0, 4.5) for i in range(4)], 0.5, max_speed_mps=150.0,
                  max_steering_rad=1.2, max_acceleration_mps2=8.0)
    shares = np.array([[throttle, steering] for throttle in (-1, 1) for steering in (-1, 1)], np.float32)
    for _ in range(60):
        batch.step(shares)
        state = batch._core.state
        assert all(np.isfinite(found).all() for found in state.values() if found.dtype.kind == "f")
        assert np.abs(state["yaw_rate_radps"]).max() <= 10.0 and np.abs(state["sideslip_rad"]).max() <= 1.5708
    batch.load_state_dict(batch.state_dict())


# ---- states that actions set ----


def set_states(batch, *states):
    act(batch, states)
    return {name: batch._core.state[name][0].astype(int) for name in ("collision_onset", "offroad_onset", "goal_onset")}


def state_scene():
    """Agents at 0 and 60 m of a road with an edge across at 30 m; the goal of the first is at 45 m."""
    agents = [Actor(log=((0.0, 0.0, 0.0, 0.0),), goal_m=(45.0, 0.0)), driver(60.0, 0.0)]
    return batch_of(stage(agents, [("edge", [(30.0, -5.0), (30.0, 5.0)])]), action_type="continuous",
                    dynamics="state", **IGNORE_ALL)


def test_a_state_is_what_its_action_says_to_the_bit():
    batch = begin("state", [(0, 0, 0, 5, 4.5)])
    for due in ((1234.5677, -8.000001, 3.1415925, 12.3), (-49999.99, 7e-5, -3.0, -1.25)):
        act(batch, [due])
        assert (now(batch)[:4] == np.float32(due)).all()


def test_a_jump_meets_nothing_on_its_way():
    """Over an edge, a goal and a vehicle: 90 m, where the highest speed of 40 m/s allows 4 m in a step."""
    batch = state_scene()
    events = set_states(batch, (90.0, 0.0, 0.0, 5.0), (60.0, 0.0, 0.0, 0.0))
    assert not any(found.any() for found in events.values())
    assert batch._core.state["progress_m"][0][0] == 0.0


def test_a_jump_onto_something_meets_it():
    batch = state_scene()
    assert set_states(batch, (58.0, 0.0, 0.0, 5.0), (60.0, 0.0, 0.0, 0.0))["collision_onset"][0]
    batch = state_scene()
    events = set_states(batch, (30.0, 0.0, 0.0, 5.0), (60.0, 0.0, 0.0, 0.0))
    assert events["offroad_onset"].tolist() == [1, 0] and not events["goal_onset"].any()
    assert set_states(batch, (45.5, 0.0, 0.0, 5.0), (60.0, 0.0, 0.0, 0.0))["goal_onset"].tolist() == [1, 0]


def test_a_move_that_a_speed_allows_is_swept():
    """From one side of a short vehicle to its other, by less than 4 m."""
    batch = begin("state", [(0, 0, 0, 5, 0.5), (2.0, 0, 0, 5, 0.5)])
    act(batch, [(3.9, 0.0, 0.0, 39.0), (2.0, 0.0, 0.0, 0.0)])
    assert batch._core.state["collision_onset"][0].tolist() == [1, 1]


# ---- float64 ----

TOLERANCES = {("single_track", 0.5): (0.02, 4e-4, 1e-3)}
"""Distance, heading and speed, m, rad and m/s; (5e-3, 1e-4, 1e-4) of the others. A step of 0.5 s has 50 substeps."""


@pytest.mark.parametrize("dt_s", (0.1, 0.5))
@pytest.mark.parametrize("model", MODELS)
def test_agents_move_as_the_reference_model(model, dt_s):
    rng = np.random.default_rng(6)
    limits = {"min_speed_mps": -5.0, "max_speed_mps": 25.0, **({"friction": 0.4} if model == "grip" else {})}
    starts = [(0.0, 100.0 * i, rng.uniform(-3, 3), rng.uniform(0, 20), length)
              for i, length in enumerate((2.0, 4.5, 12.0, 7.3))]
    batch = begin(model, starts, dt_s, **limits)
    cars = [Vehicle(complex(x, y), heading, speed, length) for x, y, heading, speed, length in starts]
    bounds = Limits(-5.0, 25.0, 0.6, 0.4, dt_s)
    dimensions = action_dimensions(batch.config)
    near_m, near_rad, near_mps = TOLERANCES.get((model, dt_s), (5e-3, 1e-4, 1e-4))
    for _ in range(40):
        shares = rng.uniform(-1, 1, (4, len(dimensions))).astype(np.float32)
        batch.step(shares)
        for agent, share in enumerate(shares):
            control = [float(s) * (dimension.high if s > 0 else -dimension.low)
                       for s, dimension in zip(share, dimensions, strict=True)]
            cars[agent] = MODELS[model](cars[agent], control, bounds)
            x, y, heading, speed, _ = now(batch, agent)
            assert abs(complex(x, y) - cars[agent].position) < near_m
            assert math.remainder(heading - cars[agent].heading_rad, 2 * math.pi) == pytest.approx(0, abs=near_rad)
            assert speed == pytest.approx(cars[agent].speed_mps, abs=near_mps)


def test_inside_the_friction_circle_a_car_is_a_bicycle_to_the_bit():
    rng = np.random.default_rng(7)
    starts = [(0.0, 100.0 * i, rng.uniform(-3, 3), rng.uniform(5, 12), 4.5) for i in range(16)]
    grip, bicycle = begin("grip", starts), begin("bicycle", starts)
    for _ in range(50):
        # At 12 + 2 m/s and 0.08 rad a car of 4.5 m turns at 5.8 m/s2.
        shares = np.stack([rng.uniform(-0.1, 0.1, 16), rng.uniform(-0.13, 0.13, 16)], 1).astype(np.float32)
        grip.step(shares)
        bicycle.step(shares)
        for name, found in grip._core.state.items():
            assert found.tobytes() == bicycle._core.state[name].tobytes(), name


# ---- action types ----


@pytest.mark.parametrize("model", [model for model in MODELS if len(action_types(model)) > 1])
def test_the_same_control_moves_alike_in_every_action_type(model):
    starts = [(0.0, 100.0 * i, 0.3 * i, 8.0, 4.5) for i in range(6)]
    batches = {kind: begin(model, starts, action_type=kind) for kind in action_types(model)}
    dimensions = action_dimensions(batches["continuous"].config)
    bins_of = [dimension.bins for dimension in dimensions]
    assert batches["discrete"].single_action_space.n == math.prod(bins_of)
    assert (batches["multi_discrete"].single_action_space.nvec == bins_of).all()
    rng = np.random.default_rng(8)
    for _ in range(20):
        bins = rng.integers(0, bins_of, (6, len(dimensions)))
        batches["multi_discrete"].step(bins)
        batches["discrete"].step(np.ravel_multi_index(tuple(bins.T), bins_of))
        batches["continuous"].step(np.stack(
            [dimension.shares[bins[:, i]] for i, dimension in enumerate(dimensions)], 1))
        positions = [batch.vehicles()["x_m"] for batch in batches.values()]
        assert (positions[0] == positions[1]).all() and (positions[0] == positions[2]).all()


def test_a_model_without_tables_refuses_discrete_actions():
    with pytest.raises(ConfigError, match=r"action_type is 'discrete'; for dynamics.model 'delta_local' it must be "
                                          r"'continuous'"):
        DriveConfig(dynamics="delta_local")
    assert DriveConfig(dynamics="delta_local", action_type="continuous").dynamics.model == "delta_local"


def test_an_action_of_three_numbers_that_does_not_fit_is_shown_whole():
    batch = begin("delta_local", [(0, 0, 0, 5, 4.5)])
    with pytest.raises(Exception, match=r"is \(0, 2, 0\); all must be finite and in -1 to 1"):
        batch.step(np.array([[0, 2, 0]], np.float32))


# ---- inverses ----


EXACT_M = {"state": 1e-3, "delta_local": 2e-4, "jerk": 0.45, "single_track": 0.6}
EXACT_RAD = {"single_track": 0.08}
"""Largest distance between a replay and a log that the model itself drove, and between their headings. For models that
are not listed, only the rounding of headings adds up. A replay of jerk reaches a steady speed after two steps, and lags
behind one that changes; one of single_track turns as in a steady bend, and corrects its heading over half a second."""


@pytest.mark.parametrize("model", MODELS)
def test_a_rollout_of_the_model_is_replayed(model):
    rng = np.random.default_rng(9)
    limits = {"friction": 0.5} if model == "grip" else {}
    batch = begin(model, [(0, 0, 0.4, 12.0, 4.5)], **limits)
    dimensions, log = action_dimensions(batch.config), []
    for _ in range(41):
        x, y, heading, speed, _ = now(batch)
        log.append((x, y, heading, speed))
        # Half of each range. The log starts at 12 m/s, below the limit to which the start speed of a replay is clipped.
        batch.step((rng.uniform(-0.5, 0.5, (1, len(dimensions)))).astype(np.float32))
    assert model in ("delta_local", "state") or min(abs(pose[3]) for pose in log) > 1.0
    scene = stage([Actor(log=tuple(log), goal_m=(9e3, 0.0), length_m=4.5)])
    with Batch(scene, config=DriveConfig(action_type="continuous", dynamics={"model": model, **limits},
                                         **IGNORE_ALL)) as again:
        again.reset()
        expert = again.expert_actions()
        assert expert.valid.all()
        for step, action in enumerate(expert.actions):
            again.step(action)
            x, y, heading, speed, _ = now(again)
            assert math.hypot(x - log[step + 1][0], y - log[step + 1][1]) < EXACT_M.get(model, 5e-3)
            near_rad = EXACT_RAD.get(model, 1e-4)
            assert math.remainder(heading - log[step + 1][2], 2 * math.pi) == pytest.approx(0, abs=near_rad)


def test_curvature_is_determined_where_both_speeds_are_high_enough():
    """The published test of the inverse: from rest to (1, 1) m/s in a step of 0.1 s, 14.14 m/s2 without curvature."""
    log = ((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, math.pi / 4, math.sqrt(2.0)))
    scene = stage([Actor(log=log, goal_m=(9e3, 0.0))])
    expert = scene.expert_actions({"action_type": "continuous", "dynamics": {
        "model": "invertible_bicycle", "max_acceleration_mps2": 20.0}})
    assert expert.actions[0, 0] * 20.0 == pytest.approx([14.142136, 0.0], abs=1e-5)
    assert expert.slow[0, 0] and not expert.clipped[0, 0]


def test_a_change_beyond_friction_is_clipped():
    turning = tuple((1.5 * step, 0.0, 0.06 * step, 15.0) for step in range(6))
    scene = stage([Actor(log=turning, goal_m=(9e3, 0.0))])
    found = {friction: scene.expert_actions({"action_type": "continuous", "dynamics": {
        "model": "grip", "friction": friction}}) for friction in (0.3, 1.0)}
    assert found[0.3].clipped.all() and not found[1.0].clipped.any()


# ---- copies ----


@pytest.mark.parametrize("model", MODELS)
def test_a_state_at_the_limits_of_a_model_is_restored(model):
    """Long vehicles, whose curvature needs a large wheel angle, and every action at a limit."""
    batches = [begin(model, [(0, 100.0 * i, 0, 30, 15.0) for i in range(8)]) for _ in range(2)]
    width = len(action_dimensions(batches[0].config))
    corners = np.array([[1 - 2 * (i >> k & 1) for k in range(width)] for i in range(8)], np.float32)
    for _ in range(30):
        batches[0].step(corners)
    batches[1].load_state_dict(batches[0].state_dict())
    for batch in batches:
        batch.step(-corners)
    for name, found in batches[0]._core.state.items():
        assert found.tobytes() == batches[1]._core.state[name].tobytes(), name


# ---- drivers ----


@pytest.mark.parametrize("model", MODELS)
def test_the_rule_based_driver_drives_a_model_or_names_what_it_cannot_set(model):
    config = DriveConfig(dynamics=model, action_type="continuous", agents_per_world=4)
    with Batch("town", config=config) as batch:
        batch.reset()
        assert RandomDriver(batch).act().shape == batch.actions.shape
        other = {"delta_local": "dx, dy, dheading", "jerk": "longitudinal_jerk, lateral_jerk",
                 "state": "x, y, heading, speed"}
        if model in other:
            with pytest.raises(ConfigError, match=f"model is '{model}', whose actions set {other[model]}"):
                LaneDriver(batch)
            return
        rules = LaneDriver(batch)
        for _ in range(200):
            batch.step(rules.act_all())
        assert batch.metrics()["goal"].value == 1.0


@pytest.mark.parametrize("limit, lower", [("max_acceleration_mps2", 0.5), ("max_steering_rad", 0.05)])
@pytest.mark.parametrize("model", MODELS)
def test_a_limit_that_does_not_limit_a_model_is_refused(model, limit, lower):
    """Under throttle and left steering, the lower limit changes the motion, or the model has no such limit."""
    def moved(**limits):
        batch = begin(model, [(0, 0, 0.0, 8.0, 4.5)], **limits)
        for _ in range(8):
            batch.step(np.full((1, batch.actions.shape[1]), 1e-5 if model == "state" else 0.9, np.float32))
        return now(batch)[:4]

    try:
        limited = moved(**{limit: lower})
    except ConfigError as error:
        default = getattr(DriveConfig().dynamics, limit)
        assert str(error) == (f"dynamics.{limit} is {lower}; for dynamics.model {model!r}, whose motion it does not "
                              f"limit, it must be {default}")
        assert model in ("invertible_bicycle", "jerk", "delta_local", "state")
    else:
        assert np.abs(limited - moved()).max() > 0.01
