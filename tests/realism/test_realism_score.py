"""Is the score the weighted mean of its definition, and is bad input refused with its value?"""

import dataclasses
import math

import numpy as np
import pytest

from drive_env.errors import ConfigError
from drive_env.realism import (
    FEATURES, LoggedScene, Poses, Signals, realism_features, realism_score, score_features)
from drive_env.realism.weights import YEARS, weights_of

STEPS, CURRENT = 31, 10


def straight(objects=2, kinds=(1, 1), **changes):
    """Vehicles that drive side by side along x at 10 m/s on a wide road, 20 m apart."""
    x_m = np.tile(np.arange(STEPS) * 1.0, (objects, 1))
    y_m = np.tile(20.0 * np.arange(objects)[:, None], (1, STEPS))
    fields = {"poses": Poses(x_m, y_m, np.zeros_like(x_m), np.zeros_like(x_m)),
              "valid": np.ones((objects, STEPS), bool), "kind": np.array(kinds), "size_m": np.full((objects, 3), 2.0),
              "evaluated": np.ones(objects, bool), "road_edges": [np.array([[-50.0, -10, 0], [100, -10, 0]])]}
    return LoggedScene(**(fields | {"current_step": CURRENT} | changes))


def rollouts_of(scene, shifts_m):
    """The log, shifted to the left by one distance a rollout."""
    poses = [getattr(scene.poses, field.name)[None, :, CURRENT + 1 :] for field in dataclasses.fields(Poses)]
    shift = np.zeros((len(shifts_m), *poses[0].shape[1:])) + np.reshape(shifts_m, (-1, 1, 1))
    return Poses(poses[0] + 0 * shift, poses[1] + shift, poses[2] + 0 * shift, poses[3] + 0 * shift)


@pytest.mark.parametrize("year", YEARS)
def test_the_weights_of_a_year_have_the_sum_1(year):
    assert math.fsum(weights_of(year).values()) == pytest.approx(1, abs=1e-12)


def test_the_years_differ_in_road_edges_and_traffic_lights_alone():
    old, new = weights_of(2024), weights_of(2025)
    assert {name: (old[name], new[name]) for name in FEATURES if old[name] != new[name]} == {
        "distance_to_road_edge": (0.1, 0.05), "traffic_light_violation": (0.0, 0.05)}


@pytest.mark.parametrize("year", YEARS)
def test_realism_is_the_weighted_mean_of_the_likelihoods(year):
    scene = straight()
    score = realism_score(scene, rollouts_of(scene, [0.0, 3.0, -12.0]), year=year)
    weights = weights_of(year)
    assert score.year == year
    assert score.realism == pytest.approx(math.fsum(weights[name] * value for name, value in score.likelihoods.items()))
    kinematic = [value for name, value in score.likelihoods.items() if FEATURES[name].bucket == "kinematic"]
    assert score.buckets["kinematic"] == pytest.approx(sum(kinematic) / 4)


def test_displacements_are_means_over_the_log_with_its_history():
    """3 m over the last 20 of 31 steps."""
    scene = straight()
    score = realism_score(scene, rollouts_of(scene, [3.0, -1.0]))
    assert score.average_displacement_error_m == pytest.approx((3 + 1) / 2 * 20 / 31)
    assert score.min_average_displacement_error_m == pytest.approx(1 * 20 / 31)


def test_rates_are_shares_of_rollouts_and_objects():
    """The lower vehicle leaves the road in two of four rollouts; the other one, 20 m away, in none."""
    scene = straight()
    score = realism_score(scene, rollouts_of(scene, [0.0, -9.5, -12.0, -8.5]))
    assert (score.offroad_rate, score.collision_rate, score.traffic_light_violation_rate) == (2 / 8, 0, 0)
    off, on = (2 + 0.001) / (4 + 0.002), (4 + 0.001) / (4 + 0.002)
    assert score.likelihoods["offroad"] == pytest.approx(math.sqrt(off * on))


def test_the_bottom_of_a_box_decides_on_which_level_it_is():
    """The edge at its top is nearer to its corners as seen from above, and has it on the other side."""
    scene = straight(size_m=np.full((2, 3), [2.0, 2.0, 4.0]), road_edges=[
        np.array([[-50.0, -3, 0], [100, -3, 0]]), np.array([[100.0, -2.5, 4], [-50, -2.5, 4]])])
    scene.poses.z_m[:] = 2.0
    found = realism_features(scene)
    np.testing.assert_allclose(found.distance_to_road_edge[0, 0], -2.0, rtol=1e-6)
    assert not found.offroad[0, 0].any()


def test_an_event_in_a_step_without_a_log_does_not_count():
    valid = np.ones((2, STEPS), bool)
    valid[0, CURRENT + 1 :] = False
    scene = straight(valid=valid)
    assert realism_score(scene, rollouts_of(scene, [-12.0])).offroad_rate == 0


def test_a_feature_that_is_never_defined_is_left_out_of_the_means():
    """Pedestrians have no time to collision."""
    scene = straight(kinds=(2, 2))
    score = realism_score(scene, rollouts_of(scene, [0.0, 1.0]), year=2024)
    assert math.isnan(score.likelihoods["time_to_collision"])
    weights = weights_of(2024)
    wanted = sum(weights[name] * value for name, value in score.likelihoods.items() if not math.isnan(value)) / 0.9
    assert score.realism == pytest.approx(wanted)


def test_objects_that_are_not_valid_at_the_current_step_are_not_there():
    valid = np.array([[True] * STEPS, [step != CURRENT for step in range(STEPS)]])
    scene = straight(valid=valid, evaluated=np.array([True, False]))
    simulated = rollouts_of(scene, [0.0])
    simulated.y_m[:, 1] = np.nan
    assert (realism_features(scene, simulated).distance_to_nearest_object == np.float32(1e10)).all()


def test_what_a_log_holds_where_it_is_not_valid_makes_no_difference():
    valid = np.ones((2, STEPS), bool)
    valid[0, 15:20] = False
    scores = []
    for junk in (np.nan, 1e30, -1.0):
        scene = straight(valid=valid)
        scene.poses.x_m[0, 15:20] = junk
        scores.append(realism_score(scene, rollouts_of(straight(), [0.0, 2.0])))
    assert scores[0] == scores[1] == scores[2]


def test_other_dtypes_and_strides_of_the_same_numbers_have_the_same_score():
    scene = straight()
    simulated = rollouts_of(scene, [0.0, 2.0])
    as_float32 = Poses(*(np.asfortranarray(getattr(simulated, field.name), np.float32)
                         for field in dataclasses.fields(Poses)))
    assert realism_score(scene, simulated) == realism_score(scene, as_float32)


def test_features_and_scores_do_not_change_their_arguments():
    scene = straight()
    simulated = rollouts_of(scene, [0.0, 2.0])
    before = [values.copy() for values in (scene.poses.x_m, simulated.x_m, simulated.heading_rad, scene.size_m)]
    realism_score(scene, simulated)
    after = (scene.poses.x_m, simulated.x_m, simulated.heading_rad, scene.size_m)
    assert all((one == other).all() for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("changes, sentence", [
    ({"valid": np.ones((2, 5), bool)}, r"valid has the shape \(2, 5\); it must be \(2, 31\)"),
    ({"valid": np.ones((2, STEPS))}, "valid has the dtype float64; it must be bool"),
    ({"kind": np.array([1, 9])}, "kind has the value 9; each must be from 1 to 4"),
    ({"kind": [1, 1]}, "kind is a list; it must be a numpy array"),
    ({"size_m": np.full((2, 3), -1.0)}, "size_m has the value -1; each must be from"),
    ({"evaluated": np.zeros(2, bool)}, "evaluated is False for all of 2 objects; it must be True for at least one"),
    ({"road_edges": []}, "road_edges has 0 lines and none of 2 points or more; it must have one"),
    ({"road_edges": [np.zeros((4, 2))]}, r"road_edges\[0\] has the shape \(4, 2\); it must be \(any, 3\)"),
    ({"road_edges": [np.full((4, 3), np.nan)]}, r"road_edges\[0\] has the value nan; each must be from"),
    ({"road_edges": [np.full((4, 3), 50_000.01)]}, r"has the value 50000\.01; each must be from -50000 to 50000"),
    ({"road_edges": None}, "road_edges is a NoneType; it must be a sequence of lines"),
    ({"lanes": [1]}, "lanes is a list; it must be a mapping of ids to lines"),
    ({"lanes": {"a": np.zeros((4, 3))}}, "lanes has the id 'a'; each must be a whole number"),
    ({"current_step": 30}, "current_step is 30; it must be a whole number from 0 to 29"),
    ({"poses": 3}, "poses is an int; it must be a Poses"),
    ({"signals": Signals(np.array([1]), np.ones((3, 1), int), np.zeros((3, 1, 2)))},
     "signals has 3 steps; it must have 31, as poses"),
    ({"valid": np.arange(STEPS) != np.full((2, 1), CURRENT)}, "evaluated is True for the object 0, which is not valid"),
])
def test_a_bad_scene_is_refused_in_a_sentence(changes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        straight(**changes)


def test_bad_poses_and_signals_are_refused():
    good = np.zeros((2, 5))
    for bad, sentence in ((good.astype(int), "y_m has the dtype int64"), (good[:, :3], r"y_m has the shape \(2, 3\)"),
                          (good.tolist(), "y_m is a list")):
        with pytest.raises(ConfigError, match=sentence):
            Poses(good, bad, good, good)
    with pytest.raises(ConfigError, match=r"x_m has the shape \(5,\)"):
        Poses(good[0], good[0], good[0], good[0])
    with pytest.raises(ConfigError, match=r"state has the shape \(4, 2\); it must be \(any, 1\)"):
        Signals(np.array([1]), np.ones((4, 2), int), np.zeros((4, 1, 2)))


def test_bad_rollouts_and_years_are_refused():
    scene = straight()
    simulated = rollouts_of(scene, [0.0])
    for bad, sentence in ((scene.poses, r"simulated has the shape \(2, 31\); it must be \(rollouts, 2, 20\)"),
                          (rollouts_of(scene, []), r"simulated has the shape \(0, 2, 20\)"),
                          (None, "simulated is a NoneType; it must be a Poses")):
        with pytest.raises(ConfigError, match=sentence):
            realism_score(scene, bad)
    with pytest.raises(ConfigError, match="year is 2023; it must be a whole number from 2024 to 2025"):
        realism_score(scene, simulated, year=2023)
    simulated.heading_rad[0, 0, 0] = np.inf
    with pytest.raises(ConfigError, match="heading_rad has the value inf; each must be from"):
        realism_score(scene, simulated)
    with pytest.raises(ConfigError, match="scene is an int; it must be a LoggedScene"):
        realism_features(3)
    with pytest.raises(ConfigError, match="logged is an int; it must be a RealismFeatures"):
        score_features(3, realism_features(scene))
    two = realism_features(scene, rollouts_of(scene, [0.0, 1.0]))
    with pytest.raises(ConfigError, match="logged has 2 rollouts; it must have 1"):
        score_features(two, two)
