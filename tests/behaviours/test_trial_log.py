"""Does the log of a played trial hold what the batch showed?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from staged_tracks import along, resting, scene_of, straight

from drive_env import Batch, DriveConfig, generate_scene, load_scene, save_scene
from drive_env.behaviours import TrialLog, classify
from drive_env.drivers import LaneDriver
from drive_env.errors import CallError, ConfigError


def played(scene, steps, **config):
    """The log of a trial, and the vehicles and lights of every frame as the batch shows them."""
    with Batch(scene, config=DriveConfig(action_type="continuous", trial_steps=steps, **config), threads=1) as batch:
        batch.reset(seed=0)
        driver, log, shown = LaneDriver(batch), TrialLog(batch), []
        for step in range(steps + 1):
            if step:
                batch.step(driver.act_all())
            log.capture()
            shown.append(batch.vehicles() | {"light": batch.light_states()})
            if batch.trial_ended[0]:
                break
        return log.scene(), {name: np.stack([frame[name] for frame in shown]) for name in shown[0]}


def test_a_log_holds_the_poses_and_lights_of_every_frame():
    original = generate_scene("t_junction", seed=3, agents=5, control="lights")
    scene, shown = played(original, 120, traffic_controls=True)
    objects, present = scene.objects, shown["present"]
    assert objects.count == 5 and objects.frame_count == len(present) and not scene.generated
    assert (objects.valid == present).all() and not present[-1].all(), "a car has reached its goal, and is removed"
    for name in ("x_m", "y_m", "heading_rad"):
        assert (getattr(objects, name) == np.where(present, shown[name], 0)).all()
    speed_mps = np.hypot(objects.vx_mps, objects.vy_mps)
    assert np.abs(speed_mps - np.where(present, np.abs(shown["speed_mps"]), 0)).max() < 1e-5
    assert (scene.traffic_controls.state == shown["light"]).all() and shown["light"].any()
    assert (objects.goal_m == original.objects.goal_m).all() and (objects.id == original.objects.id).all()


def test_a_log_holds_replayed_tracks_unchanged_and_omits_objects_never_on_the_map():
    lane = [(-20.0, 0.0), (200.0, 0.0)]
    late = straight(5.0, 2.0, y_m=10.0, first=60)
    other = along([(0.0, 6.0), (40.0, 6.0)], 5.0, 8.0)
    original = scene_of([lane], [resting(90.0, 9.0, 8.0), straight(5.0, 8.0), late, other])
    scene, _ = played(original, 40, control=[1])
    frames = scene.objects.frame_count
    assert frames > 20
    assert scene.objects.id.tolist() == [0, 1, 3]
    for own, index in ((0, 0), (2, 3)):
        for name in ("x_m", "y_m", "heading_rad", "valid"):
            assert (getattr(scene.objects, name)[:, own] == getattr(original.objects, name)[:frames, index]).all(), name
        assert np.abs(scene.objects.vx_mps[:, own] - original.objects.vx_mps[:frames, index]).max() < 1e-5


def test_object_indices_of_a_log_refer_to_the_objects_of_its_scene():
    original = scene_of([[(-20.0, 0.0), (200.0, 0.0)]], [straight(5.0, 2.0, y_m=9.0, first=70), straight(5.0, 8.0)])
    named = replace(original, sdc=1, tracks_to_predict=(0, 1), objects_of_interest=(1,))
    scene, _ = played(named, 40, control=[1])
    assert (scene.sdc, scene.tracks_to_predict, scene.objects_of_interest) == (0, (0,), (0,))


def test_without_traffic_controls_lights_are_off_in_the_log():
    scene, _ = played(generate_scene("t_junction", seed=3, agents=2, control="lights"), 20)
    assert not scene.traffic_controls.state.any() and scene.traffic_controls.count


def test_a_log_is_a_scene_that_can_be_stored_and_classified(tmp_path):
    scene, _ = played(generate_scene("narrow", seed=0), 200)
    save_scene(scene, tmp_path / "played.drv")
    loaded = load_scene(tmp_path / "played.drv")
    assert classify(loaded) == classify(scene) and classify(scene)["narrow_passage"] == [0, 1]


@pytest.mark.parametrize("response", ["stop", "remove"])
def test_the_motion_of_a_log_is_what_the_batch_shows_and_who_drives_on(response):
    """A car collides with one that stands: the log has its pose of that step, even if it is no longer on the map."""
    scene = scene_of([[(-20.0, 0.0), (200.0, 0.0)]], [straight(8.0, 8.0), resting(30.0, 0.0, 8.0)])
    with Batch(scene, config=DriveConfig(control=[0], trial_steps=60, on_collision=response), threads=1) as batch:
        batch.reset(seed=0)
        log, shown = TrialLog(batch), []
        for step in range(60):
            if step:
                batch.step([3 * 13 + 6])  # coasts
            log.capture()
            shown.append(batch.vehicles())
            if batch.trial_ended[0]:
                break
        motion, roles = log.motion(), log.roles
    assert roles.scene is scene and roles.num_agents == 1 and not motion.light.size
    for name in ("x_m", "y_m", "heading_rad", "speed_mps", "present"):
        assert (getattr(motion, name) == np.stack([frame[name] for frame in shown])).all(), name
    assert motion.driving[:-1].all() and not motion.driving[-1, 0]
    assert motion.present[-1, 0] == (response == "stop") and motion.speed_mps[-1, 0] == 0
    assert motion.x_m[-1, 0] == pytest.approx(motion.x_m[-2, 0] + 0.8, abs=0.01)


def test_a_trial_log_needs_a_world_a_reset_and_a_frame():
    with Batch(generate_scene("narrow")) as batch:
        with pytest.raises(ConfigError, match="world is 1; it must be a whole number from 0 to 0"):
            TrialLog(batch, 1)
        log = TrialLog(batch)
        with pytest.raises(CallError, match="capture was called before reset; call reset first"):
            log.capture()
        with pytest.raises(CallError, match="scene was called before capture; call capture first"):
            log.scene()
        with pytest.raises(CallError, match="motion was called before capture; call capture first"):
            log.motion()
        with pytest.raises(CallError, match="roles was read before capture; call capture first"):
            log.roles


def test_a_speed_at_the_limit_is_one_in_every_direction():
    """Vehicles of the model "state", which may have 200 m/s; components are rounded to float32."""
    scene = generate_scene("highway", seed=1, agents=8)
    ignore = dict.fromkeys(("on_goal", "on_collision", "on_offroad"), "ignore")
    config = DriveConfig(dynamics="state", action_type="continuous", **ignore)
    with Batch(scene, config=config) as batch:
        batch.reset()
        log = TrialLog(batch)
        log.capture()
        for step in range(60):
            actions = np.zeros_like(batch.actions)
            actions[:, 2], actions[:, 3] = (np.arange(8) + 8 * step) / 480 - 0.5, 1.0
            batch.step(actions)
            log.capture()
        objects = log.scene().objects
    speed_mps = np.hypot(objects.vx_mps, objects.vy_mps)[1:]
    assert speed_mps.max() <= 200.0 and speed_mps.min() > 199.999


def test_a_log_has_one_trial():
    with Batch(generate_scene("narrow"), config=DriveConfig(trial_steps=3, max_trials=2), threads=1) as batch:
        batch.reset(seed=0)
        log, steps = TrialLog(batch), 0
        log.capture()
        while batch.trial_index[0] == 0:
            batch.step(np.zeros_like(batch.actions))
            if batch.trial_index[0] == 0:
                log.capture()
                steps += 1
        with pytest.raises(CallError, match="trial is index 1 of episode index 0; capture logs index 0 of "
                                            "episode index 0: make a new log"):
            log.capture()
        assert log.scene().objects.frame_count == steps + 1 == 4
        TrialLog(batch).capture()
