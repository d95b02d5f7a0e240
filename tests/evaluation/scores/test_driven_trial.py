"""Does a log or a played trial become the drive that was driven? Poses, expert, route, and the map of the scene."""

import dataclasses

import numpy as np
import pytest
from samples import sample
from scripted_scenes import COAST_ACTION, batch_of, driver, log_replay, stage, standing
from staged_tracks import along, scene_of, straight

from drive_env import Batch, DriveConfig, generate_scene, load_scene
from drive_env.behaviours import TrialLog
from drive_env.drivers import LaneDriver
from drive_env.errors import CallError, ConfigError
from drive_env.evaluation.scores import driven_scene, driven_trial, nuplan_score, score_driven
from drive_env.evaluation.scores.scene_map import driven_map
from drive_env.realism.road_edges import make_road_edges, signed_distance_to_edges

LANE = [(-50.0, 0.0), (400.0, 0.0)]


def played(scene, steps, **config):
    """The batch and log of one trial, driven by `LaneDriver`."""
    batch = Batch(scene, config=DriveConfig(action_type="continuous", trial_steps=steps, **config), threads=1)
    batch.reset(seed=0)
    lane_driver, log = LaneDriver(batch), TrialLog(batch)
    log.capture()
    for _ in range(steps):
        batch.step(lane_driver.act_all())
        log.capture()
        if batch.trial_ended[0]:
            break
    return batch, log


def test_the_log_of_a_scene_is_its_own_expert():
    scene = scene_of([LANE], [straight(8.0, 6.0), along([(0.0, 9.0), (90.0, 9.0)], 5.0, 6.0)])
    driven = driven_scene(scene, 1)
    objects = scene.objects
    assert (driven.x_m == objects.x_m).all()
    assert (driven.expert_m == np.stack([objects.x_m, objects.y_m], axis=2)[:, 1]).all()
    np.testing.assert_allclose(driven.speed_mps[:, 0], 8.0, rtol=1e-5)
    scores = score_driven(driven)
    assert scores["waymax_log_divergence"] == 0.0 and scores["nuplan_progress"] == 1.0


@pytest.mark.parametrize("name", ["test.json", "tfrecord-00000-of-01000_325.json"])
def test_the_recording_vehicle_of_a_real_log_has_the_whole_score(name):
    scene = load_scene(sample(f"gpudrive/{name}"))
    score = nuplan_score(driven_scene(scene))
    assert score.score == pytest.approx(1.0) and scene.objects.frame_count == 91
    assert score_driven(driven_scene(scene))["vmax_nuplan_score"] > 0.8


def test_an_object_in_reverse_has_a_negative_speed():
    scene = scene_of([LANE], [straight(8.0, 6.0)])
    turned = dataclasses.replace(scene.objects, heading_rad=scene.objects.heading_rad + np.float32(np.pi))
    driven = driven_scene(dataclasses.replace(scene, objects=turned), 0)
    np.testing.assert_allclose(driven.speed_mps[:, 0], -8.0, rtol=1e-5)


def test_the_expert_of_an_agent_is_its_log_from_the_start_of_the_trial():
    scene = scene_of([LANE], [straight(8.0, 6.0), straight(6.0, 6.0, y_m=9.0)])
    with played(scene, 40, control=[0], start_step=10)[0] as batch:
        log = TrialLog(batch)
        with pytest.raises(CallError, match="roles was read before capture"):
            driven_trial(log)
    batch, log = played(scene, 40, control=[0], start_step=10)
    driven = driven_trial(log)
    batch.close()
    np.testing.assert_allclose(driven.expert_m[:, 0], scene.objects.x_m[10:51, 0])
    assert driven.x_m[0, 0] == scene.objects.x_m[10, 0] and driven.route_m is None
    assert (driven.x_m[:, 1] == scene.objects.x_m[10 : 10 + len(driven.x_m), 1]).all()


def test_without_a_log_the_route_leads_to_the_goal():
    scene = generate_scene("t_junction", seed=1, agents=4)
    batch, log = played(scene, 150)
    driven = driven_trial(log, 2)
    own = log.roles.objects[2]
    batch.close()
    assert driven.expert_m is None
    assert np.hypot(*(driven.route_m[-1] - scene.objects.goal_m[own])) < 3.0
    assert np.hypot(driven.route_m[0, 0] - driven.x_m[0, 2], driven.route_m[0, 1] - driven.y_m[0, 2]) < 3.0


def test_without_lanes_the_route_is_straight():
    batch = batch_of(stage([driver(speed_mps=5.0)]), trial_steps=5)
    log = TrialLog(batch)
    for _ in range(3):
        log.capture()
        batch.step([COAST_ACTION])
    assert driven_trial(log).route_m.tolist() == [[0.0, 0.0], [10_000.0, 0.0]]


@pytest.mark.parametrize("response", ["stop", "remove"])
def test_the_drive_ends_with_the_event_and_has_its_speed(response):
    """A car coasts at 10 m/s into one that stands: the core sets its speed to 0, or removes it from the map."""
    scene = stage([driver(speed_mps=10.0), standing(30, 20.3, 0.0)])
    batch = batch_of(scene, on_collision=response, trial_steps=29)
    log = TrialLog(batch)
    log.capture()
    while not batch.trial_ended[0]:
        batch.step([COAST_ACTION])
        log.capture()
    driven = driven_trial(log)
    steps = np.flatnonzero(driven.valid[:, 0])
    assert steps.tolist() == list(range(18))  # 20.3 - 4 m at 1 m a step
    np.testing.assert_allclose(driven.speed_mps[steps, 0], 10.0, rtol=1e-4)
    assert driven.x_m[17, 0] == pytest.approx(17.0, abs=1e-3)


def test_agents_that_respawn_are_refused():
    batch = batch_of(stage([driver(speed_mps=5.0), driver(0.0, 20.0)]), on_goal="respawn", trial_steps=5)
    log = TrialLog(batch)
    log.capture()
    with pytest.raises(ConfigError, match="on_goal is 'respawn'"):
        driven_trial(log)


def test_unknown_agents_and_objects_are_refused():
    scene = stage([driver(speed_mps=5.0), log_replay([(30.0, 0.0, 0.0, 0.0)] * 9)])
    batch = batch_of(scene, trial_steps=5)
    log = TrialLog(batch)
    log.capture()
    with pytest.raises(ConfigError, match="agent is 1; it must be a whole number from 0 to 0"):
        driven_trial(log, 1)
    with pytest.raises(ConfigError, match="ego is 2; it must be a whole number from 0 to 1"):
        driven_scene(scene, 2)
    with pytest.raises(ConfigError, match="ego is None; scene staged names no recording vehicle"):
        driven_scene(scene)
    with pytest.raises(ConfigError, match="scene is a NoneType; it must be a Scene"):
        driven_scene(None)
    with pytest.raises(ConfigError, match="log is a Batch; it must be a TrialLog"):
        driven_trial(batch)


@pytest.mark.parametrize("name", ["town", "intersection", "highway", "roundabout", "gates", "parking"])
def test_all_lanes_of_a_scene_are_on_the_left_of_its_road_edges(name):
    """Also where its road edges have both directions."""
    road_map = driven_map(generate_scene(name, seed=2))
    points_m = np.ascontiguousarray(np.concatenate(road_map.lanes).T.astype(np.float32))
    beyond_m = signed_distance_to_edges(points_m, make_road_edges(list(road_map.road_edges), published=False))
    assert (beyond_m < 0).mean() > 0.98


def test_lanes_of_junctions_are_those_that_fork_or_join():
    lanes = [[(0.0, 0.0), (50.0, 0.0)], [(50.0, 0.0), (100.0, 0.0)], [(50.0, 0.0), (100.0, 20.0)],
             [(100.0, 0.0), (150.0, 0.0)], [(100.0, 20.0), (150.0, 20.0)]]
    scene = scene_of(lanes, [straight(5.0, 2.0)], links=[(0, 1), (0, 2), (1, 3), (2, 4)])
    limits_mps = np.array([20.0, 0.0, 0.0, 10.0, 0.0], np.float32)
    scene = dataclasses.replace(scene, roads=dataclasses.replace(scene.roads, speed_limit_mps=limits_mps))
    road_map = driven_map(scene)
    assert road_map.in_junction.tolist() == [False, True, True, False, False]
    assert road_map.speed_limit_mps.tolist() == [20.0, 20.0, 20.0, 10.0, 0.0]
    assert [list(after) for after in road_map.successors] == [[1, 2], [3], [4], [], []]


def test_a_played_drive_has_a_score():
    """The non-reactive and the reactive score differ only in what the others do."""
    scene = scene_of([LANE], [straight(8.0, 8.0), straight(8.0, 8.0, start_m=-25.0)])
    for others in ("replay", "idm"):
        batch, log = played(scene, 60, control=[0], others=others)
        score = nuplan_score(driven_trial(log))
        batch.close()
        assert 0.5 < score.score <= 1.0 and score.terms["no_at_fault_collisions"] == 1.0
