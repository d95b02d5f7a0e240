"""Which agents disobey a light or a stop sign? Staged approaches with the step of every crossing known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scripted_events import figures
from scripted_scenes import (
    ACTION_COUNT,
    COAST_ACTION,
    IGNORE_ALL,
    STEERING_BINS,
    STRAIGHT,
    Actor,
    batch_of,
    driver,
    stage,
)
from staged_controls import GREEN, LIGHT, OFF, RED, STOP, YELLOW, YIELD, controls_of

from drive_env import REWARD_TERMS, Batch, DriveConfig, generate_scene, load_scene, save_scene

FULL_BRAKE, COAST, THROTTLE = 0, 3, 6
"""Acceleration bins."""

TURNS = (0.0, 1.0, -2.5)
LINE_M = 11.5
"""A car of 4 m at 10 m/s has its bumper at 2, 3, ... m: it crosses in the tenth step."""


def controls(*kinds, x_m=LINE_M, state=(), phases=(), offset_s=0.0, junction=-1, turn_rad=0.0, half_m=2.0, frames=1):
    """Traffic controls with a stop line across y = 0 at x_m, for traffic along +x, turned about the origin."""
    count = len(kinds)
    cos, sin = math.cos(turn_rad), math.sin(turn_rad)
    ends = [(x_m * cos - y * sin, x_m * sin + y * cos) for y in (half_m, -half_m)]
    log = np.zeros((frames, count), np.uint8)
    log[:] = np.array(state or [OFF] * count, np.uint8) if frames == 1 else np.array(state, np.uint8)[:, None]
    return controls_of(kinds, [sum(ends, ())] * count, log, phases, offset_s=offset_s, junction=junction)


def approach(of, *, speed_mps=10.0, x_m=0.0, y_m=0.0, heading_rad=0.0, turn_rad=0.0, **choices):
    """A batch with one car on its way to the stop line at LINE_M."""
    scene = stage([driver(x_m, y_m, heading_rad, speed_mps)], turn_rad=turn_rad)
    scene = dataclasses.replace(scene, traffic_controls=of)
    return batch_of(scene, **{"traffic_controls": True, **IGNORE_ALL, **choices})


def crossings(batch, steps, name="red_light", acceleration=COAST):
    """The steps, from 1, in which the first agent has the event; `acceleration` is a bin, or one for each step."""
    found = []
    for step, bin_ in enumerate(np.broadcast_to(acceleration, steps), start=1):
        batch.step(np.full(batch.num_agents, bin_ * STEERING_BINS + STRAIGHT))
        found += [step] if batch.step_events()[name][0] else []
    return found


# ---- red ----


@pytest.mark.parametrize("turn_rad", TURNS)
@pytest.mark.parametrize("state", [OFF, RED, YELLOW, GREEN])
def test_only_red_is_disobeyed_and_only_in_the_step_that_crosses(state, turn_rad):
    batch = approach(controls(LIGHT, state=[state], turn_rad=turn_rad), turn_rad=turn_rad, trial_steps=20)
    assert crossings(batch, 20) == ([10] if state == RED else [])
    assert figures(batch, "red_light", "stop_sign") == (state == RED, 0)


@pytest.mark.parametrize("car", [
    {"y_m": 2.2}, {"y_m": -2.2}, {"x_m": 23.0, "heading_rad": math.pi}, {"x_m": 10.0}], ids=str)
def test_a_car_beside_the_line_or_from_behind_or_past_it_does_not_cross(car):
    """The bumper passes 0.2 m beside the line's ends; from behind; its centre alone crosses."""
    assert crossings(approach(controls(LIGHT, state=[RED]), **car), 30) == []


@pytest.mark.parametrize("y_m", [1.8, -1.8])
def test_a_car_within_the_ends_of_the_line_crosses(y_m):
    assert crossings(approach(controls(LIGHT, state=[RED]), y_m=y_m), 20) == [10]


def test_the_front_bumper_counts_at_any_speed():
    """At 150 m/s one step passes the line entirely; a car that ends on the line has crossed it, and only once."""
    fast = approach(controls(LIGHT, state=[RED]), speed_mps=150.0, dynamics={"max_speed_mps": 150.0})
    assert crossings(fast, 3) == [1]
    assert crossings(approach(controls(LIGHT, state=[RED], x_m=12.0)), 20) == [10]


def test_every_approach_counts_once():
    """Over the line, back behind it in reverse, and over it again."""
    batch = approach(controls(LIGHT, state=[RED], x_m=3.0), speed_mps=2.0, dynamics={"min_speed_mps": -3.0})
    bins = [COAST] * 8 + [FULL_BRAKE] * 10 + [COAST] * 8 + [THROTTLE] * 20
    found = crossings(batch, len(bins), acceleration=bins)
    assert len(found) == 2 and found[0] == 5


def test_a_step_is_judged_by_what_the_light_shows_at_its_start():
    """The tenth step crosses. It starts at red if the light is green for nine steps, and at green if for ten."""
    for green_s, found in ((0.9, [10]), (1.0, [])):
        batch = approach(controls(LIGHT, phases=[(GREEN, green_s), (RED, 5.0)]))
        assert batch.light_states().tolist() == [GREEN]
        assert crossings(batch, 20) == found


def test_lights_of_one_line_are_disobeyed_only_if_all_are_red():
    """The lanes of a turn and of the way ahead may begin at one line; which one the car will follow is not known."""
    assert crossings(approach(controls(LIGHT, LIGHT, state=[RED, RED])), 20) == [10]
    for other in (OFF, YELLOW, GREEN):
        assert crossings(approach(controls(LIGHT, LIGHT, state=[RED, other])), 20) == []


def test_more_lights_than_a_vector_holds():
    """The eleventh of forty lines, a metre apart, is red."""
    forty = controls(*[LIGHT] * 40, state=[GREEN] * 10 + [RED] + [GREEN] * 29, half_m=1.0)
    line_m = forty.line_m.copy()
    line_m[:, [0, 2]] = 40.5 + 3 * np.arange(40)[:, None]
    batch = approach(dataclasses.replace(forty, line_m=line_m))
    assert crossings(batch, 150) == [69]  # 40.5 + 30 - 2 = 68.5 m


# ---- programs and logs ----


def all_shown(batch, steps):
    """What every control shows before every step."""
    states = []
    for _ in range(steps):
        states.append(batch.light_states().tolist())
        batch.step(np.full(batch.num_agents, COAST_ACTION))
    return states


def shown(batch, steps):
    """What the first control shows before every step."""
    return [states[0] for states in all_shown(batch, steps)]


def test_a_program_repeats_from_its_offset():
    batch = approach(controls(LIGHT, phases=[(GREEN, 0.5), (YELLOW, 0.3), (RED, 0.7)], offset_s=0.4), trial_steps=60)
    cycle = [GREEN] * 5 + [YELLOW] * 3 + [RED] * 7
    assert shown(batch, 50) == (cycle * 5)[4:54]


def test_a_log_is_shown_frame_by_frame_and_its_last_state_lasts():
    log = [(0.1 * frame, 0.0, 0.0, 1.0) for frame in range(6)]
    scene = stage([dataclasses.replace(driver(), log=tuple(log))])
    of = controls(LIGHT, state=[GREEN, GREEN, YELLOW, RED, RED, GREEN], frames=6)
    scene = dataclasses.replace(scene, traffic_controls=of)
    batch = batch_of(scene, traffic_controls=True, trial_steps=12, **IGNORE_ALL)
    assert shown(batch, 9) == [GREEN, GREEN, YELLOW, RED, RED] + [GREEN] * 4
    later = batch_of(scene, traffic_controls=True, trial_steps=12, start_step=2, **IGNORE_ALL)
    assert shown(later, 5) == [YELLOW, RED, RED, GREEN, GREEN]


@pytest.mark.parametrize("dt_ms, shown_frames", [(50, (0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5)),
                                                 (160, (0, 1, 3, 4, 4, 4)), (200, (0, 2, 4, 4, 4))])
def test_at_another_time_step_a_log_shows_the_last_frame_by_then(dt_ms, shown_frames):
    """Frames are 0.1 s apart; a light shows no state before its frame. After the end of the log, the state shown in
    the last step within the log stays."""
    log, states = [(0.1 * frame, 0.0, 0.0, 1.0) for frame in range(6)], [GREEN, RED, YELLOW, GREEN, YELLOW, RED]
    scene = stage([dataclasses.replace(driver(), log=tuple(log))])
    scene = dataclasses.replace(scene, traffic_controls=controls(LIGHT, state=states, frames=6))
    batch = batch_of(scene, traffic_controls=True, trial_steps=20, dt_s=dt_ms / 1000, **IGNORE_ALL)
    assert shown(batch, len(shown_frames)) == [states[frame] for frame in shown_frames]


def test_a_program_goes_on_before_a_later_start():
    log = [(0.1 * frame, 0.0, 0.0, 1.0) for frame in range(9)]
    of = controls(LIGHT, phases=[(GREEN, 0.3), (RED, 0.4)], frames=9, state=[OFF] * 9)
    scene = dataclasses.replace(stage([dataclasses.replace(driver(), log=tuple(log))]), traffic_controls=of)
    batch = batch_of(scene, traffic_controls=True, start_step=5, trial_steps=20, **IGNORE_ALL)
    assert shown(batch, 9) == [RED, RED, GREEN, GREEN, GREEN, RED, RED, RED, RED]


def lit(num_worlds=1, seed=0, **choices):
    scenes = [generate_scene("intersection", seed=3, agents=2, lights=True)]
    return batch_of(scenes, num_worlds=num_worlds, seed=seed,
                    **{"traffic_controls": True, "trial_steps": 40, **IGNORE_ALL, **choices})


def test_the_trials_of_an_episode_show_the_same_and_episodes_differ():
    batch = lit(max_trials=3)
    # A trial takes 40 steps, and its restart one.
    trials = [all_shown(batch, 41) for _ in range(9)]
    for first in (0, 3, 6):
        assert trials[first] == trials[first + 1] == trials[first + 2]
    assert trials[0] != trials[3] != trials[6]


def test_offsets_are_uniform_over_the_cycle_and_leave_lights_of_a_junction_in_step():
    """Of 4000 episodes: the share in which each light is green is that of its green in the cycle, within 4 sigma."""
    batch = lit(num_worlds=4000, seed=11)
    states = np.array([batch.light_states(world) for world in range(batch.num_worlds)])
    assert ((states != RED).sum(axis=1) <= 1).all()  # two lights of a junction never open together
    of = batch.scenes[0].traffic_controls
    cycle_s = of.phase_s.reshape(4, 3).sum(axis=1)
    for control in range(4):
        share = of.phase_s[3 * control] / cycle_s[control]
        sigma = math.sqrt(share * (1 - share) / len(states))
        assert abs((states[:, control] == GREEN).mean() - share) < 4 * sigma


def test_lights_draw_from_a_stream_of_their_own():
    """The scenes that worlds draw, and all that agents do, are those without controls."""
    scenes = [generate_scene("town", seed=seed, agents=4, lights=True) for seed in range(3)]
    plain, obeyed = (batch_of(scenes, num_worlds=6, trial_steps=20, traffic_controls=on) for on in (False, True))
    rng = np.random.default_rng(0)
    for _ in range(70):
        actions = rng.integers(0, ACTION_COUNT, plain.num_agents)
        plain.step(actions), obeyed.step(actions)
        assert (plain.observations == obeyed.observations).all() and (plain.scene_index == obeyed.scene_index).all()
        assert (plain.code == obeyed.code).all()


# ---- stop signs ----


def test_a_stop_sign_is_disobeyed_by_crossing_without_a_stop():
    assert crossings(approach(controls(STOP)), 20, "stop_sign") == [10]
    assert crossings(approach(controls(YIELD)), 20, "stop_sign") == []
    assert crossings(approach(controls(STOP)), 20, "red_light") == []


def bumper_gap(bumper_m):
    """A car that stands with its bumper so far before the line, then drives."""
    batch = approach(controls(STOP), x_m=LINE_M - 2.0 - bumper_m, speed_mps=0.0)
    return crossings(batch, 60, "stop_sign", [COAST] * 5 + [THROTTLE] * 55)


def test_a_stop_within_3_m_of_the_line_serves_the_sign():
    assert bumper_gap(2.9) == [] and bumper_gap(0.1) == []
    assert len(bumper_gap(3.1)) == 1


@pytest.mark.parametrize(("slowest_mps", "served"), [(0.15, True), (0.25, False)])
def test_a_stop_is_slower_than_a_fifth_of_a_metre_a_second(slowest_mps, served):
    """Five steps at that speed before the line, then full throttle."""
    batch = approach(controls(STOP), x_m=LINE_M - 3.0, speed_mps=slowest_mps)
    found = crossings(batch, 40, "stop_sign", [COAST] * 5 + [THROTTLE] * 35)
    assert len(found) == (0 if served else 1)


def test_a_stop_is_forgotten_once_the_car_has_left_the_zone():
    """It stops before the line, backs out of the zone, and crosses at speed."""
    batch = approach(controls(STOP), x_m=LINE_M - 3.0, speed_mps=0.0, dynamics={"min_speed_mps": -3.0})
    bins = [COAST] * 3 + [FULL_BRAKE] * 8 + [COAST] * 12 + [THROTTLE] * 40
    assert len(crossings(batch, len(bins), "stop_sign", bins)) == 1


# ---- verdicts and numbers ----


@pytest.mark.parametrize(("field", "kind"), [("on_red_light", LIGHT), ("on_stop_sign", STOP)])
@pytest.mark.parametrize("response", ["ignore", "stop", "remove"])
def test_the_response_is_that_of_the_config(field, kind, response):
    batch = approach(controls(kind, state=[RED if kind == LIGHT else OFF]), **{field: response}, trial_steps=20)
    name = field.removeprefix("on_")
    assert crossings(batch, 10, name) == [10]
    assert batch.trial_state()[f"had_{name}"].tolist() == [True]
    assert bool(batch.stopped[0]) == (response == "stop") and bool(batch.removed[0]) == (response == "remove")
    ended = response != "ignore"
    assert bool(batch.terminations[0]) == ended and bool(batch.trial_ended[0]) == ended
    assert batch.outcome[0] == (5 if ended else 0)  # other


@pytest.mark.parametrize(("kind", "term"), [(LIGHT, "red_light"), (STOP, "stop_sign")])
def test_a_violation_is_rewarded_once_and_scores_no_goal(kind, term):
    of = controls(kind, state=[RED if kind == LIGHT else OFF])
    scene = dataclasses.replace(stage([driver(speed_mps=10.0, goal_m=(20.0, 0.0))]), traffic_controls=of)
    for on in (True, False):
        batch = batch_of(scene, **IGNORE_ALL, trial_steps=30, traffic_controls=on,
                         reward={"goal": 1.0, **({term: -0.25} if on else {})})
        rewards = []
        for _ in range(30):
            batch.step(np.array([COAST_ACTION]))
            rewards.append(float(batch.rewards[0]))
        assert [rewards[9], sum(rewards)] == ([-0.25, 0.75] if on else [0.0, 1.0])
        assert figures(batch, "goal", "score") == (1, 0 if on else 1)
        if on:
            assert figures(batch, term, f"reward_{term}") == (1, -0.25)


@pytest.mark.parametrize("kind", [LIGHT, STOP])
def test_a_violation_is_an_infraction(kind):
    batch = approach(controls(kind, state=[RED if kind == LIGHT else OFF]), detailed_metrics=True, trial_steps=20)
    for _ in range(20):
        batch.step(np.array([COAST_ACTION]))
    assert figures(batch, "infractions", "distance_per_infraction_m") == (1, pytest.approx(20.0))


def test_a_collision_in_the_step_of_a_violation_decides_the_outcome():
    scene = stage([driver(speed_mps=10.0), Actor(13.5, 0.0)])
    batch = batch_of(dataclasses.replace(scene, traffic_controls=controls(LIGHT, state=[RED])), traffic_controls=True,
                     on_red_light="remove", on_collision="stop")
    for _ in range(10):
        batch.step(np.array([COAST_ACTION]))
    assert batch.outcome[0] == 2 and batch.removed[0]  # the stronger response


def test_without_traffic_controls_nothing_of_them_exists():
    batch = lit(traffic_controls=False)
    assert not any(batch._core.state[name].size for name in ("light_state", "red_light_onset", "had_stop_sign"))
    assert (batch.light_states() == OFF).all() and len(batch.light_states()) == 4
    assert not {"red_light", "stop_sign"} & {*batch.metrics(), *batch.step_events()}
    batch = approach(controls(LIGHT, state=[RED]), traffic_controls=False, reward_terms=True, trial_steps=20)
    facts = [REWARD_TERMS.index(term) for term in ("red_light", "stop_sign")]
    for _ in range(20):
        batch.step(np.array([COAST_ACTION]))
        assert batch.rewards[0] == 0.0 and not batch.stopped[0] and not batch.reward_terms[0, facts].any()
    assert figures(batch, "timeout") == (1,)
    with Batch(generate_scene("town", agents=2), config=DriveConfig(traffic_controls=True)) as none:
        none.reset()
        none.step(np.full(2, COAST_ACTION))
        assert len(none.light_states()) == 0 and not none.step_events()["red_light"].any()


def test_a_scene_file_plays_as_its_scene(tmp_path):
    scene = generate_scene("intersection", seed=5, agents=3, lights=True)
    save_scene(scene, tmp_path / "lit.drv")
    batches = [batch_of([one], traffic_controls=True, **IGNORE_ALL)
               for one in (scene, load_scene(tmp_path / "lit.drv"))]
    for _ in range(50):
        for batch in batches:
            batch.step(np.full(3, THROTTLE * STEERING_BINS + STRAIGHT))
        assert (batches[0].light_states() == batches[1].light_states()).all()
        assert batches[0].step_events()["red_light"].tolist() == batches[1].step_events()["red_light"].tolist()
