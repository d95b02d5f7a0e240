"""Are faults judged from recorded poses as the core judges them during a trial? Staged contacts, and bad drivers."""

import numpy as np
import pytest
from scored_drives import driven, moving
from scripted_scenes import COAST_ACTION, batch_of, stage
from staged_contacts import CONTACTS, FRAMES, LANES

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.behaviours import TrialLog
from drive_env.drivers import LaneDriver
from drive_env.evaluation.scores import collisions, driven_trial, score_driven


@pytest.mark.parametrize("turn_rad, response", [(0.0, "ignore"), (0.7, "stop"), (3.0, "remove")])
@pytest.mark.parametrize("agent, other, roads, by_bearing, by_bumper", CONTACTS.values(), ids=CONTACTS)
def test_a_played_contact_has_the_verdicts_of_both_rules(agent, other, roads, by_bearing, by_bumper, turn_rad,
                                                         response):
    """Also where the core stops or removes the agent in the step of the contact."""
    scene = stage([agent, other], [*LANES, *roads], turn_rad=turn_rad)
    batch = batch_of(scene, detailed_metrics=True, on_offroad="ignore", on_collision=response, trial_steps=FRAMES)
    log = TrialLog(batch)
    log.capture()
    while not batch.trial_ended[0]:
        batch.step([COAST_ACTION])
        log.capture()
    found = collisions(driven_trial(log))
    assert [(one.at_fault_by_bearing, one.at_fault) for one in found] == [(by_bearing, by_bumper)]
    report, scores = batch.metrics(), score_driven(driven_trial(log))
    for name in ("collision", "at_fault_collision", "at_fault_collision_nuplan"):
        assert scores[name] == report[name].value


def played_badly(scene, response, steps=100, seed=0):
    """The scores of all agents of a trial in which half of them at a time drive at random, and the core's records."""
    config = DriveConfig(
        action_type="continuous", trial_steps=steps, detailed_metrics=True, traffic_controls=True, on_goal="remove",
        on_collision=response, on_offroad=response)
    rng = np.random.default_rng(seed)
    with Batch(scene, config=config, threads=1, trial_records=1) as batch:
        batch.reset(seed=seed)
        driver, log = LaneDriver(batch), TrialLog(batch)
        log.capture()
        for step in range(steps):
            actions = driver.act_all()
            if step % 10 == 0:
                random = np.stack([rng.uniform(0.0, 0.7, len(actions)), rng.uniform(-0.1, 0.1, len(actions))], axis=1)
                at_random = rng.random(len(actions)) < 0.5
            actions[at_random] = random[at_random]
            batch.step(actions)
            log.capture()
            if batch.trial_ended[0]:
                break
        records = batch.trial_records()
        return [(score_driven(driven_trial(log, int(record["agent"]))), record) for record in records]


@pytest.mark.parametrize("response", ["stop", "remove"])
def test_scores_of_bad_drivers_equal_the_metrics_of_the_core(response):
    """But for faults where an agent is equally near to two lanes, and of several contacts in one step, of which the
    core judges the first one."""
    rows = played_badly(generate_scene("intersection", seed=0, control="lights"), response)
    assert len(rows) > 30
    for name in ("collision", "offroad"):
        assert [scores[name] for scores, _ in rows] == [record[name] for _, record in rows]
        assert 0 < sum(record[name] for _, record in rows) < len(rows)
    for name in ("at_fault_collision", "at_fault_collision_nuplan"):
        equal = [scores[name] == record[name] for scores, record in rows if scores["collisions"] < 2]
        assert np.mean(equal) >= 0.95 and sum(record[name] for _, record in rows) > 3, name
    for name, theirs in (("red_lights", "red_light"), ("stop_signs", "stop_sign")):
        assert [scores[name] > 0 for scores, _ in rows] == [record[theirs] > 0 for _, record in rows]
    assert sum(record["red_light"] for _, record in rows) > 0
    for scores, record in rows:
        assert scores["distance_m"] == pytest.approx(record["distance_m"], abs=0.05)
        assert scores["wrong_way_share"] == pytest.approx(record["wrong_way_share"], abs=0.02)
        assert scores["over_speed_share"] == pytest.approx(record["over_speed_share"], abs=0.02)


def test_stop_signs_that_are_passed_count_as_in_the_core():
    rows = played_badly(generate_scene("t_junction", seed=0), "stop")
    assert [scores["stop_signs"] > 0 for scores, _ in rows] == [record["stop_sign"] > 0 for _, record in rows]
    assert any(scores["stop_signs"] for scores, _ in rows)


@pytest.mark.parametrize("left_m, at_fault", [(0.75, True), (0.5, False)])
def test_a_bearing_above_150_degrees_is_behind(left_m, at_fault):
    """A cyclist, 0.6 m long and wide, runs into the rear of an ego between lanes. 1 m behind the rear axle and
    `left_m` to its left, it has a bearing of 143 or 153 degrees."""
    cyclist = moving(-12.2, 1.2 + left_m, speed_mps=6.0, kind=3, size_m=(0.6, 0.6))
    one, = collisions(driven(2.0, y_m=1.2, others=[cyclist]))
    assert one.at_fault is at_fault


def test_boxes_that_overlap_at_the_start_have_no_collision_until_they_part():
    beside = moving(2.0, speed_mps=10.0)
    assert collisions(driven(10.0, others=[beside])) == []
    ahead = moving(3.0, speed_mps=8.0)
    assert collisions(driven(10.0, others=[ahead])) == []
    speed_mps = np.where(np.arange(151) < 30, 5.0, 12.0)  # falls behind first
    assert len(collisions(driven(speed_mps, others=[ahead]))) == 1


def test_an_object_that_appears_in_the_box_of_the_ego_has_no_collision():
    scene = driven(10.0, others=[moving(20.0)])
    scene.valid[:22, 1] = False  # they overlap from step 16 to step 24
    assert collisions(scene) == []
    scene.valid[15:, 1] = True
    assert [one.step for one in collisions(scene)] == [16]


def test_a_contact_between_two_steps_is_a_collision():
    """An object of 0.6 m crosses the box of the ego, 2 m wide, at 4 m a step: the boxes overlap at no step."""
    scene = driven(0.0, others=[moving(0.0, -10.5, np.pi / 2, 40.0, size_m=(0.6, 0.6))])
    assert {-2.5, 1.5} <= set(scene.y_m[:, 1].round(6)) and [one.step for one in collisions(scene)] == [3]
    beside = driven(0.0, others=[moving(2.5, -10.5, np.pi / 2, 40.0, size_m=(0.6, 0.6))])
    assert collisions(beside) == []


def test_a_collision_has_its_step_its_object_and_its_severity():
    """The ego, 4 m long and at 10 m/s, reaches a car 20 m ahead at 4 m/s after (20 - 4) / 6 s."""
    one, = collisions(driven(10.0, others=[moving(500.0), moving(20.0, speed_mps=4.0)]))
    assert (one.step, one.object, one.kind) == (27, 2, 1)
    assert one.delta_v_mps == pytest.approx(0.5 * 6.0)
    crossing, = collisions(driven(8.0, others=[moving(20.0, -12.0, np.pi / 2, 6.0)]))
    assert crossing.delta_v_mps == pytest.approx(0.5 * 10.0)


def test_objects_on_another_level_do_not_collide():
    z_m = np.stack([np.zeros(151), np.full(151, 6.0)], axis=1)
    assert len(collisions(driven(10.0, others=[moving(20.0)]))) == 1
    assert collisions(driven(10.0, others=[moving(20.0)], z_m=z_m)) == []
