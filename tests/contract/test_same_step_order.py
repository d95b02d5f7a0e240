"""What follows when several events fall in one step? One snapshot, `remove` over `stop` over `ignore`, all of them paid."""

import itertools

import laws
import numpy as np
import pytest
from staged import (
    NOTCH_M,
    Car,
    Stage,
    Wall,
    coasting_stage,
)
from staged_batch import COLLISION, EVENT_RESPONSES, GOAL, OFFROAD, make_batch, same_bits, state, step

from drive_env.config import RewardConfig

# -- the same-step order

@pytest.mark.parametrize("on_goal, on_collision, on_offroad", list(itertools.product(EVENT_RESPONSES, repeat=3)))
def test_remove_wins_over_stop_over_ignore_and_all_facts_of_the_step_are_paid(
    on_goal, on_collision, on_offroad
):
    """Goal, wall and car in one step, in every pair and all three."""
    weights = {"goal_step": 4.0, "car_step": -2.0, "wall_step": -1.0}
    answers = {"goal_step": on_goal, "car_step": on_collision, "wall_step": on_offroad}
    codes = {"car_step": COLLISION, "wall_step": OFFROAD, "goal_step": GOAL}
    batches = [
        list(combination) for count in (1, 2, 3) for combination in itertools.combinations(weights, count)
    ]
    schedule = [{event: 2 for event in events} for events in batches]
    batch = make_batch(coasting_stage(schedule), trial_steps=4, on_goal=on_goal, on_collision=on_collision,
                       on_offroad=on_offroad, reward=RewardConfig(goal=4.0, collision=-2.0, offroad=-1.0))
    batch.reset()
    step(batch, 2)
    for agent, events in enumerate(batches):
        given = [answers[event] for event in events]
        after = "removed" if "remove" in given else "stopped" if "stop" in given else "driving"
        ending = [codes[event] for event in codes if event in events and answers[event] != "ignore"]
        assert state(batch, agent) == after, events
        assert batch.outcome[agent] == (ending[0] if ending else 0), events
        assert batch.rewards[agent] == sum(weights[event] for event in events), events


def test_a_stopped_agent_that_is_hit_gets_no_event_and_the_driver_does():
    stage = Stage(agents=(Car(0, at=900, speed=60), Car(0, at=0, speed=90)), walls=(Wall(0, 900 + 150 + 30),))
    batch = make_batch(stage, trial_steps=30)
    batch.reset()
    step(batch)
    assert (state(batch, 0), batch.outcome[0]) == ("stopped", OFFROAD)
    while not batch.trial_ended[0]:
        step(batch)
        assert batch.rewards[0] == 0 and batch.outcome[0] == 0
    # The first stands on notch 960, so the second is within 300.5 notches of it after 8 steps of 90.
    assert (batch.outcome[1], batch.rewards[1], batch.terminations[1]) == (COLLISION, np.float32(-0.5), True)
    assert batch.vehicles(0)["x_m"][1] == pytest.approx(8 * 90 * NOTCH_M, abs=1e-3)


def test_a_removed_agent_is_hit_by_nobody_and_seen_by_nobody():
    stage = Stage(agents=(Car(0, at=600, speed=0), Car(0, at=0, speed=60), Car(1, at=0, speed=60)),
                  static_vehicles=(Car(0, at=900),))
    batch = make_batch(stage, trial_steps=15, on_collision="remove")
    batch.reset()
    kind = batch.observation_layout()["partners/kind"]
    seen = lambda: np.count_nonzero(batch.observations[2, laws.columns_of(kind)])
    # Agent 1 meets agent 0 in step 5: both are gone, and agent 2 is left with the standing car.
    assert seen() == 2
    step(batch, 5)
    assert [state(batch, agent) for agent in range(3)] == ["removed", "removed", "driving"]
    assert list(batch.outcome) == [COLLISION, COLLISION, 0]
    assert seen() == 1


def test_a_stopped_agent_keeps_what_it_saw_after_the_step_that_stopped_it_until_the_restart():
    batch = make_batch(
        coasting_stage([{"wall_step": 2}, {"goal_step": 4}]), max_trials=2, trial_steps=6, time_left="actor"
    )
    layout = batch.observation_layout()
    ahead, time_left = layout["partners/x"], layout["ego/time_left"]
    batch.reset()
    opening = batch.observations[0].copy()
    step(batch, 2)
    kept = batch.observations[0].copy()
    assert kept[time_left.offset] == pytest.approx(4 / 6)
    assert kept[ahead.offset] == 0, "the other car is still abreast"
    for _ in range(2):
        step(batch)
        assert batch.stopped[0] and same_bits(batch.observations[0], kept)
    assert batch.trial_ended.all()
    step(batch)
    same = laws.columns_outside(layout, len(kept), ["trial/"])
    assert same_bits(batch.observations[0, same], opening[same])


def test_what_overlaps_at_the_start_is_no_event_until_it_has_separated():
    stage = Stage(
        agents=(
            Car(0, at=0, speed=60),
            Car(0, at=200, speed=60),
            Car(1, at=0, speed=60),
            Car(1, at=-320, speed=0),
        ),
        walls=(Wall(1, 100), Wall(1, 1200)),
    )
    batch = make_batch(stage, trial_steps=40)
    for _ in range(2):
        batch.reset()
        step(batch, 17)
        assert not batch.rewards.any() and not batch.stopped.any()
        # Agent 2 has left the wall it stood on and meets the next one when its front reaches notch 1200.5.
        step(batch)
        assert (state(batch, 2), batch.rewards[2]) == ("stopped", np.float32(-0.2))
