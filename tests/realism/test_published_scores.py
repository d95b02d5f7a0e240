"""Does the published implementation find the same features and scores? On its synthetic scene, if that is there."""

import dataclasses

import numpy as np
import pytest
from realism_sample import published_features, published_scores, realism_sample

from drive_env.realism import FEATURES, Poses, realism_features, realism_score
from drive_env.realism.motion import both_neighbours

TOLERANCES = {"linear_speed": 1e-4, "linear_acceleration": 1e-4, "angular_speed": 1e-4, "angular_acceleration": 1e-4,
              "distance_to_nearest_object": 1e-3, "time_to_collision": 1e-4, "distance_to_road_edge": 1e-3,
              "displacement_error": 1e-3}
"""In metres, seconds and radians."""

EVENTS = ("collision", "offroad", "traffic_light_violation")
SCORE_TOLERANCE = 1e-6

LIKELIHOODS = {name: {"collision": "collision_indication", "offroad": "offroad_indication"}.get(name, name)
               for name in FEATURES}
"""Names there."""


def both_features(of):
    """Features of the log or the rollouts: ours, and the published ones."""
    scene, simulated = realism_sample()
    found = realism_features(scene, simulated if of == "sim" else None)
    return found, {name.removeprefix(f"{of}_"): values for name, values in published_features().items()
                   if name.startswith(of)}


@pytest.mark.parametrize("of", ["log", "sim"])
@pytest.mark.parametrize("name", TOLERANCES)
def test_features_equal_the_published_ones(name, of):
    found, published = both_features(of)
    wanted = published["average_displacement_error" if name == "displacement_error" else name]
    counts = np.ones(wanted.shape, bool)
    if of == "log" and wanted.ndim == 3:  # what a log holds where it is not valid is read there, but not here
        scene, _ = realism_sample()
        valid = scene.valid[scene.evaluated]
        for _ in range(FEATURES[name].differences):
            valid = both_neighbours(valid)
        counts[0] = valid[:, scene.current_step + 1 :]
    assert counts.sum() > 300 or wanted.ndim == 2
    np.testing.assert_allclose(getattr(found, name)[counts], wanted[counts], rtol=0, atol=TOLERANCES[name])


@pytest.mark.parametrize("of", ["log", "sim"])
@pytest.mark.parametrize("name", EVENTS)
def test_events_equal_the_published_ones(name, of):
    found, published = both_features(of)
    wanted = published[f"{name}_per_step"]
    assert wanted.any() and (getattr(found, name) == wanted).all()


@pytest.mark.parametrize("year", [2024, 2025])
def test_scores_equal_the_published_ones(year):
    score, wanted = realism_score(*realism_sample(), year=year), published_scores()[str(year)]
    near = {"abs": SCORE_TOLERANCE}
    assert score.realism == pytest.approx(wanted["metametric"], **near)
    assert score.likelihoods == pytest.approx(
        {name: wanted[f"{theirs}_likelihood"] for name, theirs in LIKELIHOODS.items()}, **near)
    buckets = {"kinematic": "kinematic_metrics", "interactive": "interactive_metrics", "map": "map_based_metrics"}
    assert score.buckets == pytest.approx({name: wanted["buckets"][theirs] for name, theirs in buckets.items()}, **near)
    assert score.average_displacement_error_m == pytest.approx(wanted["average_displacement_error"], **near)
    assert score.min_average_displacement_error_m == pytest.approx(wanted["min_average_displacement_error"], **near)
    for name in EVENTS:
        assert getattr(score, f"{name}_rate") == pytest.approx(wanted[f"simulated_{name}_rate"], **near)


@pytest.mark.parametrize("year, wanted", [(2024, 0.846764), (2025, 0.867936)])
def test_the_log_itself_as_rollouts_has_the_highest_score_of_all(year, wanted):
    """It is not 1: the steps at the end, whose speeds are not defined, count as the fastest bin."""
    scene, _ = realism_sample()
    poses = [getattr(scene.poses, field.name)[:, scene.current_step + 1 :] for field in dataclasses.fields(Poses)]
    rollouts = Poses(*(np.repeat(values[None], 32, axis=0) for values in poses))
    assert realism_score(scene, rollouts, year=year).realism == pytest.approx(wanted, abs=1e-6)


def test_the_slips_of_the_published_implementation_hardly_matter_on_finely_sampled_maps():
    scene, simulated = realism_sample()
    assert realism_score(scene, simulated, published=False).realism == pytest.approx(
        realism_score(scene, simulated).realism, abs=1e-2)
