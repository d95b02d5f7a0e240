"""Does the evaluator of realism compare the rollouts of a policy with the log, and reject what it cannot compare?"""

import dataclasses

import numpy as np
import pytest
from overpass import crossing_logs, overpass
from samples import sample

from drive_env import Batch, ConfigError, DriveConfig, SceneError, generate_scene
from drive_env.behaviours import TrialLog, behaviour_scenes
from drive_env.drivers import LaneDriver
from drive_env.evaluation import Realism, evaluator_of, logged_worlds, merge
from drive_env.evaluation.logged_worlds import RolloutCapture, logged_scene, resampled_line
from drive_env.realism import Poses, realism_score
from drive_env.roles import assign_roles
from drive_env.scenes.scene import LIGHT_STATE_CODES, ROAD_KIND_CODES

VALUES = ("realism_2024", "realism_2025", "realism_2025_kinematic", "realism_2025_interactive", "realism_2025_map",
          "likelihood_linear_speed", "likelihood_collision", "likelihood_distance_to_road_edge",
          "average_displacement_error_m", "collision_rate", "offroad_rate")
FEW = {"episodes": 4}


@pytest.fixture(scope="module")
def logged():
    return behaviour_scenes("cut_in", (0, 1))


def evaluated(scenes, policy, **config):
    return Realism("rollouts", {"scenes": scenes, **FEW, **config}).rollout(policy)


def coasted(scene, control):
    """The poses of all objects in 80 steps of two worlds whose agents coast straight on, and the roles."""
    evaluator = Realism("rollouts", {"scenes": scene, "options": {"control": control}, **FEW})
    with Batch(scene, num_worlds=2, config=evaluator.env) as batch:
        batch.reset(seed=0)
        capture = RolloutCapture(batch)
        capture.capture()
        for _ in range(80):
            batch.step(np.full_like(batch.actions, 45))
            capture.capture()
        return capture.poses(80), capture.roles


def held(scene, first, steps):
    """(objects, steps) each: the log, in which an object keeps its last pose while it is not valid."""
    objects, found = scene.objects, []
    for name in ("x_m", "y_m", "heading_rad"):
        track = getattr(objects, name).copy()
        for frame in range(1, len(track)):
            track[frame] = np.where(objects.valid[frame], track[frame], track[frame - 1])
        found.append(track[first : first + steps].T)
    return Poses(found[0], found[1], np.zeros_like(found[0]), found[2])


TRACKS = ("x_m", "y_m", "z_m", "heading_rad", "vx_mps", "vy_mps", "valid")


def with_log(scene, change):
    """The scene with `change(track)` of each track of its log."""
    tracks = {name: change(getattr(scene.objects, name)) for name in TRACKS}
    return dataclasses.replace(scene, objects=dataclasses.replace(scene.objects, **tracks))


def without(scene, frames, objects=slice(None)):
    """The scene without some frames of some objects."""
    def change(track):
        changed = track.copy()
        changed[frames, objects] = 0
        return changed
    return with_log(scene, change)


# ---- what the values mean ----


def test_log_replay_scores_as_the_log_itself(logged):
    """The log as rollouts, without a world that is stepped."""
    found = evaluated(logged, "replay")
    config = DriveConfig(control="all", start_step=10)
    scores = []
    for scene in logged:
        log = logged_scene(assign_roles(scene, config), 10, 80)
        rollouts = (np.repeat(values[None], 4, axis=0) for values in vars(held(scene, 11, 80)).values())
        scores.append(realism_score(log, Poses(*rollouts)))
    for name, value in (("realism_2025", "realism"), ("average_displacement_error_m", "average_displacement_error_m"),
                        ("collision_rate", "collision_rate")):
        assert found.metrics[name].value == pytest.approx(np.mean([getattr(one, value) for one in scores]), abs=1e-3)
    for name in ("linear_speed", "collision", "distance_to_road_edge"):
        assert found.metrics[f"likelihood_{name}"].value == pytest.approx(
            np.mean([one.likelihoods[name] for one in scores]), abs=1e-3), name


def test_log_replay_is_the_most_realistic_policy(logged):
    realism = {policy: evaluated(logged, policy).metrics["realism_2025"].value
               for policy in ("replay", "lane", "constant", "random")}
    assert realism["replay"] > realism["lane"] + 0.02 > realism["random"] + 0.2
    assert realism["replay"] > realism["constant"] + 0.1


def test_log_replay_of_a_real_log_is_the_most_realistic_policy():
    path = str(sample("gpudrive/test.json"))
    realism = {policy: evaluated(path, policy).metrics["realism_2025"].value
               for policy in ("replay", "lane", "constant", "random")}
    assert realism["replay"] > max(realism["lane"], realism["constant"]) + 0.05
    assert min(realism["lane"], realism["constant"]) > realism["random"] + 0.1


def test_a_scene_has_one_value_and_each_evaluated_agent_a_row_per_rollout(logged):
    """The interval is over scenes; agents keep driving after a collision."""
    found = evaluated(logged, "random")
    assert found.coverage.expected == found.coverage.played == 8 and found.coverage.unique_scenes == 2
    for name in VALUES:
        figure = found.metrics[name]
        assert figure.n == 2 and figure.ci95[0] <= figure.value <= figure.ci95[1], name
    assert found.metrics["collision"].value > 0.0
    assert (found.rows["trial_length"] == 80).all() and len(found.rows["world"]) == 8
    sdc = {scene.name: scene.objects.id[scene.sdc] for scene in logged}
    assert found.rows["object_id"].tolist() == [sdc[name] for name in found.rows["scene"]]


def test_without_an_sdc_and_tracks_to_predict_all_agents_are_evaluated(logged):
    scene = dataclasses.replace(logged[0], sdc=-1)
    present = scene.objects.valid[10].sum()
    assert len(evaluated(scene, "constant").rows["world"]) == 4 * present
    named = dataclasses.replace(scene, tracks_to_predict=(0, 2))
    assert len(evaluated(named, "constant").rows["world"]) == 4 * scene.objects.valid[10, [0, 2]].sum()


def test_the_first_of_several_trials_is_compared(logged):
    """A policy that was trained on several trials observes how many there are."""
    one, several = (Realism("rollouts", {"scenes": logged, "episodes": 4, "env": {"max_trials": trials}}).rollout(
        lambda batch: np.where(batch.trial_index > 0, 0, 45)) for trials in (1, 3))
    assert len(several.rows["world"]) == 3 * len(one.rows["world"])
    for name in VALUES:
        assert several.metrics[name] == one.metrics[name], name


def test_shards_merge_to_the_same_values(logged):
    evaluator = Realism("rollouts", {"scenes": logged, **FEW})
    whole = evaluator.rollout("random")
    parts = [evaluator.rollout("random", shard=(index, 2)) for index in range(2)]
    assert merge(parts).metrics == whole.metrics and merge(parts).coverage == whole.coverage


def test_objects_that_no_agent_controls_replay_their_logs(logged):
    """Only the sdc is driven, at other speeds than in the log. Some logs have a gap, and one ends."""
    others = np.flatnonzero(logged[0].objects.valid[10])
    others = others[others != logged[0].sdc]
    scene = without(without(logged[0], slice(30, 45), others[:2]), slice(60, None), others[2])
    found, _ = coasted(scene, "sdc")
    expected = held(scene, 11, 80)
    for name in ("x_m", "y_m", "heading_rad"):
        for world in range(2):
            assert np.abs(getattr(found, name)[world, others] - getattr(expected, name)[others]).max() < 1e-3, name
    moved_m = np.hypot(found.x_m - expected.x_m, found.y_m - expected.y_m)[:, scene.sdc]
    assert moved_m.max() > 0.1


# ---- the log and the map of a scene ----


def test_a_log_at_another_time_step_is_interpolated(logged):
    """A log at 0.05 s whose every second frame is that of a log at 0.1 s scores as that one."""
    places = np.arange(2 * logged[0].objects.frame_count - 1)
    fine = dataclasses.replace(with_log(logged[0], lambda track: track[places // 2]), dt_s=0.05)
    one, other = (evaluated(form, "lane").metrics for form in (logged[0], fine))
    for name in VALUES:
        assert one[name].value == pytest.approx(other[name].value, abs=1e-6), name


def test_a_log_that_ends_early_is_compared_up_to_its_end(logged):
    scene = with_log(logged[0], lambda track: track[:31])
    one, other = evaluated(scene, "constant"), evaluated(logged[0], "constant", options={"simulated_steps": 20})
    for name in VALUES:
        assert one.metrics[name].value == pytest.approx(other.metrics[name].value, abs=1e-6), name


def test_lights_of_the_log_are_signals_on_their_lanes():
    with Batch(generate_scene("intersection", seed=0, agents=4, lights=True), config=DriveConfig(
            action_type="continuous", trial_steps=60, traffic_controls=True)) as batch:
        batch.reset(seed=0)
        driver, log = LaneDriver(batch), TrialLog(batch)
        log.capture()
        for _ in range(60):
            batch.step(driver.act_all())
            log.capture()
    scene = log.scene()
    found = logged_scene(assign_roles(scene, DriveConfig(control="all", start_step=10)), 10, 80)
    controls, signals = scene.traffic_controls, found.signals
    assert len(signals.lane) == len(controls.lane) > 0 and len(signals.state) == len(controls.state)
    red = controls.state[:, np.repeat(np.arange(controls.count), np.diff(controls.start))] == LIGHT_STATE_CODES["red"]
    assert ((signals.state == 4) == red).all() and red.any() and not red.all()
    for index, lane in enumerate(signals.lane.tolist()):
        line, point = found.lanes[lane], signals.stop_point_m[0, index]
        assert np.hypot(*(line[:, :2] - point).T).min() < 0.26, "half of the distance of two points"


def test_heights_of_rollouts_are_those_of_the_roads_that_lie_above_each_other():
    scene = overpass(6.0, crossing_logs(120), on_bridge=(False, False, True))
    found, roles = coasted(scene, "vehicles")
    for world in range(2):
        assert np.abs(found.z_m[world] - scene.objects.z_m[11:91].T).max() < 1e-3
    log = logged_scene(roles, 10, 80)
    assert (log.poses.z_m == scene.objects.z_m[:91].T).all() and {line[0, 2] for line in log.road_edges} == {0.0, 6.0}


def test_published_scores_take_the_coordinates_of_the_source(logged):
    """They have a segment from the end of a lane to 0, 0. Without these slips the zero makes no difference."""
    moved = dataclasses.replace(logged[0], origin_m=np.array([-4000.0, 7000.0]))
    roles = assign_roles(moved, DriveConfig(control="all", start_step=10))
    here, there = (logged_scene(roles, 10, 80, published) for published in (False, True))
    for axis, shift_m in enumerate((-4000.0, 7000.0)):
        name = ("x_m", "y_m")[axis]
        assert np.allclose(getattr(there.poses, name), getattr(here.poses, name) + shift_m)
        for line, other in zip([*here.lanes.values(), *here.road_edges], [*there.lanes.values(), *there.road_edges],
                               strict=True):
            assert np.allclose(line[:, axis] + shift_m, other[:, axis])
    values = [evaluated(scene, "lane", options={"published": published}).metrics["realism_2025"].value
              for scene in (logged[0], moved) for published in (False, True)]
    assert values[0] == values[2] and values[3] == pytest.approx(values[2], abs=0.02)


def test_a_lane_has_points_at_most_half_a_metre_apart():
    line = np.array([[0.0, 0, 0], [3.1, 0, 1], [3.2, 0, 1], [3.2, 2.0, 1]])
    found = resampled_line(line)
    gaps = np.hypot(*np.diff(found[:, :2], axis=0).T)
    assert gaps.max() <= 0.5 and gaps.sum() == pytest.approx(5.2)
    assert all((np.abs(found - point).max(axis=1) < 1e-12).any() for point in line)


def test_the_log_of_a_scene_is_resampled_once(logged, monkeypatch):
    lines, resampled = [], logged_worlds.resampled_line
    monkeypatch.setattr(logged_worlds, "resampled_line", lambda line: lines.append(len(line)) or resampled(line))
    evaluated(logged[0], "constant")
    assert len(lines) == (logged[0].roads.kind == ROAD_KIND_CODES["lane"]).sum()


# ---- what cannot be compared ----


@pytest.mark.parametrize("change, sentence", [
    (lambda scene: generate_scene("town", seed=0, agents=2), "has no log; an evaluator of type 'realism' needs one"),
    (lambda scene: with_log(scene, lambda track: track[:11]),
     "has 11 frames of 0.1 s; with eval.current_step 10 it must have 12 or more"),
    (lambda scene: with_log(scene, lambda track: track[:8]), "has 8 frames of 0.1 s; with eval.current_step 10 it"),
    (lambda scene: without(scene, slice(10, 11)), "at eval.current_step 10: none is valid"),
    (lambda scene: without(scene, slice(11, None)), "has no evaluated object that is valid after step 10"),
    (lambda scene: dataclasses.replace(scene, roads=dataclasses.replace(
        scene.roads, kind=np.where(scene.roads.kind == 3, 2, scene.roads.kind).astype(np.uint8))),
     "has no road edge; realism needs one")])
def test_a_scene_that_cannot_be_compared_is_a_failure_and_has_no_value(logged, change, sentence):
    scene = change(logged[0])
    found = evaluated([scene, logged[1]], "constant")
    assert found.metrics["realism_2025"].n == 1 and not found.coverage.complete
    assert len(found.failures) == 1 and sentence in found.failures[0].error
    with pytest.raises((ConfigError, SceneError), match=sentence):
        evaluated(scene, "constant")


@pytest.mark.parametrize("config, sentence", [
    ({"episodes": 1025}, "episodes is 1025; it must be a whole number from 1 to 1024"),
    ({"options": {"simulated_steps": 0}}, "eval.simulated_steps is 0; it must be a whole number from 1 to 10000"),
    ({"options": {"current_step": 1.5}}, "eval.current_step is 1.5; it must be a whole number from 0 to 10000"),
    ({"options": {"control": "none"}}, "eval.control is 'none'; it must be one of 'all', 'vehicles'"),
    ({"options": {"year": 2025}}, "eval.year is 2025; an evaluator of type 'realism' has the options scores, control")])
def test_an_option_out_of_its_range_is_one_sentence(config, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Realism("rollouts", config)


def test_a_setting_that_would_end_a_rollout_early_is_an_error():
    for field, value in (("on_collision", "remove"), ("trial_steps", 40), ("dt_s", 0.2)):
        with pytest.raises(ConfigError, match=f"env.{field} of eval.rollouts is .* of type 'realism' sets it to"):
            evaluator_of("rollouts", {"type": "realism", "env": {field: value}})
