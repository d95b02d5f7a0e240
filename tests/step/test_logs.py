"""Does a log-replay vehicle follow its log? At every frame, between frames, at another dt_s and start step."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scripted_scenes import (
    FAR,
    IGNORE_ALL,
    Actor,
    batch_of,
    discrete,
    drive,
    driver,
    log_replay,
    stage,
)

from drive_env import Batch, ConfigError, DriveConfig, generate_scene
from drive_env.roles import assign_roles


def test_a_log_replay_vehicle_is_its_log_at_every_valid_frame_and_off_the_map_elsewhere():
    rng = np.random.default_rng(3)
    log = [None if rng.random() < 0.3 else tuple(rng.uniform((-50, -50, -3, 0), (50, 50, 3, 20)))
           for _ in range(30)]
    scene = stage([driver(0.0, 500.0), log_replay(log)])
    batch = batch_of(scene, max_trials=2, trial_steps=40, **IGNORE_ALL)
    objects = scene.objects
    for trial in range(2):
        last = None
        for frame in range(41):
            now = batch.vehicles()
            there = frame < 30 and log[frame] is not None
            assert bool(now["present"][1]) == there, (trial, frame)
            if there:
                for name in ("x_m", "y_m", "heading_rad"):
                    assert now[name][1] == getattr(objects, name)[frame, 1], (trial, frame, name)
                assert now["speed_mps"][1] == pytest.approx(log[frame][3], abs=1e-4)
                last = {name: now[name][1] for name in ("x_m", "y_m", "heading_rad", "speed_mps")}
            elif last:
                assert last == {name: now[name][1] for name in last}, (trial, frame)
            kind = batch.observations[0, batch.observation_layout()["partners/kind"].slice]
            assert not kind[1:].any()
            batch.step(discrete(batch, 0))


def test_a_log_replay_vehicle_is_observed_exactly_while_it_is_on_the_map():
    log = [(10.0, 0.0, 0.0, 0.0), None, None, (10.0, 0.0, 0.0, 0.0), None]
    batch = batch_of(stage([driver(), log_replay(log)]), trial_steps=8)
    kind = batch.observation_layout()["partners/kind"].slice
    record = [batch.observations[0, kind][0] > 0]
    for _ in range(6):
        batch.step(discrete(batch, 0))
        record.append(batch.observations[0, kind][0] > 0)
    assert record == [True, False, False, True, False, False, False]


@pytest.mark.parametrize("dt_s, steps", [(None, 10), (0.1, 10), (0.05, 20), (0.2, 5), (0.025, 40), (1.0, 1),
                                         (0.3, 3), (0.1 + 1e-12, 10), (0.07, 14), (0.4, 2), (0.5, 2)])
def test_a_trial_lasts_as_long_as_the_log_whatever_the_step(dt_s, steps):
    # A log of 1 s in frames of 0.1 s; 1.0 // 0.1 is 9 in floats.
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(11)]
    batch = batch_of(stage([driver(), log_replay(log)]), dt_s=dt_s, trial_steps=None)
    assert batch.roles[0].trial_steps == steps
    drive(batch, steps - 1)
    assert not batch.trial_ended[0]
    drive(batch, 1)
    assert batch.trial_ended[0]


def test_the_frames_of_a_log_are_counted_in_decimals():
    """In floats, n frames of 0.1 s over dt_s are often just below an integer."""
    short = 0
    for frames in range(2, 92):
        scene = stage([driver(), log_replay([(0.0, 5.0, 0.0, 0.0)] * frames)])
        for dt_s in ("0.01", "0.02", "0.03", "0.05", "0.06", "0.07", "0.1", "0.15", "0.2", "0.3", "0.6"):
            steps = Fraction(frames - 1, 10) / Fraction(dt_s)
            if steps >= 1:
                for kept_as in (np.float64, np.float32):
                    config = DriveConfig(dt_s=float(kept_as(dt_s)))
                    assert assign_roles(scene, config).trial_steps == math.floor(steps), (frames, dt_s)
                short += (frames - 1) * 0.1 / float(dt_s) < steps == math.floor(steps)
    assert short >= 10


@pytest.mark.parametrize("dt_s", ("0.1", "0.2", "0.3", "0.7"))
def test_a_step_of_whole_frames_shows_the_log_itself_though_float32_rounds_it(dt_s):
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(701)]
    roles = assign_roles(stage([driver(), log_replay(log)]), DriveConfig(dt_s=float(np.float32(dt_s))))
    every = round(float(dt_s) * 10)
    np.testing.assert_array_equal(roles.frames.x_m[:, 1], np.arange(0, 701, every))
    assert "poses interpolated between two frames" not in roles.report.imputed


def test_a_scene_without_a_log_lasts_as_long_as_a_generated_one():
    assert batch_of(stage([driver()]), trial_steps=None).roles[0].trial_steps == 200


def test_a_step_longer_than_the_log_is_an_error():
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(11)]
    with pytest.raises(ConfigError, match="trial_steps"):
        batch_of(stage([driver(), log_replay(log)]), dt_s=1.5, trial_steps=None)


@pytest.mark.parametrize("dt_s", (0.05, 0.2, 0.025, 0.07))
def test_between_two_frames_a_log_is_interpolated(dt_s):
    times_s = np.arange(21) * 0.1
    log = [(3.0 * t * t, 5.0 - 2.0 * t, 0.4 * t - 0.2, 6.0 * t) for t in times_s]
    batch = batch_of(stage([driver(), log_replay(log)]), dt_s=dt_s, trial_steps=None)
    columns = np.array(log).T
    velocity = columns[3] * np.cos(columns[2]), columns[3] * np.sin(columns[2])
    for step in range(batch.roles[0].trial_steps):
        now, t = batch.vehicles(), step * dt_s
        x, y, heading, vx, vy = (np.interp(t, times_s, values) for values in (*columns[:3], *velocity))
        assert now["x_m"][1] == pytest.approx(x, abs=1e-4) and now["y_m"][1] == pytest.approx(y, abs=1e-4)
        assert now["heading_rad"][1] == pytest.approx(heading, abs=1e-5)
        assert now["speed_mps"][1] == pytest.approx(vx * math.cos(heading) + vy * math.sin(heading), abs=1e-4)
        batch.step(discrete(batch, 0))


@pytest.mark.parametrize("dt_s, last_step", [(0.3, 3), (0.4, 2), (0.7, 1), (0.05, 20)])
def test_a_log_at_another_step_ends_with_its_last_whole_step_and_is_not_extrapolated(dt_s, last_step):
    log = [(10.0 * frame, 5.0, 0.0, 100.0) for frame in range(11)]
    batch = batch_of(stage([driver(), log_replay(log)]), dt_s=dt_s, trial_steps=last_step + 3)
    for step in range(last_step + 3):
        now = batch.vehicles()
        assert bool(now["present"][1]) == (step <= last_step)
        if step <= last_step:
            assert float(now["x_m"][1]) == pytest.approx(100.0 * step * dt_s, abs=1e-4)
        batch.step(discrete(batch))


@pytest.mark.parametrize("before, after, middle", [
    (3.0, -3.0, math.pi), (-3.0, 3.0, math.pi), (3.1, -3.0, -3.09159), (1.0, 2.0, 1.5), (-0.5, 0.5, 0.0),
    (0.2, -0.4, -0.1)])
def test_a_heading_turns_by_the_shortest_arc(before, after, middle):
    log = [(0.0, 5.0, before, 0.0), (0.0, 5.0, after, 0.0)]
    batch = batch_of(stage([driver(50.0, 50.0), log_replay(log)]), dt_s=0.05, trial_steps=None)
    headings = []
    for _ in range(3):
        headings.append(float(batch.vehicles()["heading_rad"][1]))
        batch.step(discrete(batch, 0))
    assert headings[0] == pytest.approx(before, abs=1e-6) and headings[2] == pytest.approx(after, abs=1e-6)
    assert abs(math.remainder(headings[1] - middle, 2 * math.pi)) < 1e-4
    assert all(-math.pi - 1e-6 <= heading < math.pi for heading in headings)


def test_a_pose_is_imputed_only_between_two_valid_frames():
    there = (0.0, 5.0, 0.0, 0.0)
    log = [there, there, None, there, None, None, there]
    scene = stage([driver(50.0, 50.0), log_replay(log)])
    batch = batch_of(scene, dt_s=0.05, trial_steps=13)
    record = []
    for _ in range(13):
        record.append(bool(batch.vehicles()["present"][1]))
        batch.step(discrete(batch, 0))
    assert record == [True, True, True, False, False, False, True, False, False, False, False, False, True]
    assert batch.scene_report().imputed["poses interpolated between two frames"] == 1


def test_start_step_begins_every_trial_at_that_frame():
    log = [(float(frame), 5.0, 0.1 * frame, 10.0) for frame in range(12)]
    own = [(2.0 * frame, 0.0, 0.0, 20.0) for frame in range(12)]
    scene = stage([Actor(log=tuple(own), goal_m=(FAR, 0.0)), log_replay(log)])
    batch = batch_of(scene, start_step=4, trial_steps=None, max_trials=2)
    assert batch.roles[0].trial_steps == 7
    for _ in range(2):
        now = batch.vehicles()
        assert now["x_m"].tolist() == [8.0, 4.0] and now["speed_mps"][0] == pytest.approx(20.0)
        assert now["heading_rad"][1] == pytest.approx(0.4)
        drive(batch, 7)
        assert batch.trial_ended[0] and batch.vehicles()["x_m"][1] == 11.0
        drive(batch, 1)
    for start_step in (11, 12, 1000):
        with pytest.raises(ConfigError):
            batch_of(scene, start_step=start_step, trial_steps=None)


def test_start_step_combines_with_another_time_step():
    log = [(float(frame), 5.0, 0.0, 10.0) for frame in range(12)]
    batch = batch_of(stage([driver(), log_replay(log)]), start_step=3, dt_s=0.05, trial_steps=None,
                     control="all")
    # The driver's own log ends at frame 0.
    assert batch.roles[0].num_agents == 1 and batch.roles[0].trial_steps == 16
    assert batch.vehicles()["x_m"].tolist() == [3.0]
    assert batch.roles[0].frames.x_m[1, 1] == 3.5


def test_a_generated_scene_lasts_200_steps_at_a_tenth_of_a_second():
    batch = Batch(scenes=[generate_scene("intersection", 0, 4)])
    assert batch.roles[0].trial_steps == 200 and batch.roles[0].dt_s == 0.1
    slower = Batch(scenes=[generate_scene("intersection", 0, 4)], config=DriveConfig(dt_s=0.2))
    assert slower.roles[0].trial_steps == 200 and slower.roles[0].dt_s == 0.2
