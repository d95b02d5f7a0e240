"""What follows from several events in one step? All are rewarded; `remove` wins over `stop`, `stop` over `ignore`."""

import itertools

import numpy as np
import pytest
from contract_batches import EVENT_RESPONSES, make_batch, same_bits, state, step
from integer_scenes import Car, Stage, coasting_stage
from world_rollout import COLLISION, GOAL, OFFROAD, columns_of, columns_outside

from drive_env.config import RewardConfig


@pytest.mark.parametrize("on_goal, on_collision, on_offroad", list(itertools.product(EVENT_RESPONSES, repeat=3)))
def test_remove_wins_over_stop_over_ignore_and_all_events_of_the_step_are_rewarded(
    on_goal, on_collision, on_offroad
):
    """Goal, wall and static vehicle in one step: each alone, every pair, all three."""
    weights = {"goal_step": 4.0, "car_step": -2.0, "wall_step": -1.0}
    responses = {"goal_step": on_goal, "car_step": on_collision, "wall_step": on_offroad}
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
        chosen = [responses[event] for event in events]
        after = "removed" if "remove" in chosen else "stopped" if "stop" in chosen else "driving"
        ending = [codes[event] for event in codes if event in events and responses[event] != "ignore"]
        assert state(batch, agent) == after, events
        assert batch.outcome[agent] == (ending[0] if ending else 0), events
        assert batch.rewards[agent] == sum(weights[event] for event in events), events


def test_a_removed_agent_is_observed_by_none():
    stage = Stage(agents=(Car(0, at=600, speed=0), Car(0, at=0, speed=60), Car(1, at=0, speed=60)),
                  static_vehicles=(Car(0, at=900),))
    batch = make_batch(stage, trial_steps=15, on_collision="remove")
    batch.reset()
    kind = batch.observation_layout()["partners/kind"]
    seen = lambda: np.count_nonzero(batch.observations[2, columns_of(kind)])
    # Agents 0 and 1 collide in step 5 and are removed; agent 2 still observes the static vehicle.
    assert seen() == 2
    step(batch, 5)
    assert [state(batch, agent) for agent in range(3)] == ["removed", "removed", "driving"]
    assert list(batch.outcome) == [COLLISION, COLLISION, 0]
    assert seen() == 1


def test_a_stopped_agent_keeps_the_observation_after_its_stop_until_the_restart():
    batch = make_batch(
        coasting_stage([{"wall_step": 2}, {"goal_step": 4}]), max_trials=2, trial_steps=6,
        observation={"time_left": "actor"}
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
    same = columns_outside(layout, len(kept), ["trial/"])
    assert same_bits(batch.observations[0, same], opening[same])
