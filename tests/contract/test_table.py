"""Do the end flags follow the contract's table? One test a line of it, written out by hand over scripted scenes."""

import pytest
from contract_batches import flags, make_batch, state, step
from integer_scenes import coasting_stage
from world_rollout import COLLISION, GOAL, OFFROAD, TIMEOUT

INNER_AND_LAST = pytest.mark.parametrize("last", [False, True], ids=["inner", "last"])


def table_batch(schedule, last, **choices):
    """A batch at the start of an inner trial or of the last; its two trials are alike."""
    batch = make_batch(coasting_stage(schedule), max_trials=2, **{"trial_steps": 5, **choices})
    batch.reset()
    if last:
        while not batch.trial_ended[0]:
            step(batch)
        step(batch)
        assert batch.trial_index[0] == 1
    return batch


def restarts_next(batch, last):
    step(batch)
    assert batch.invalid_step.all() and not batch.waits.any()
    assert (batch.first == last).all()
    assert (batch.trial_index == (0 if last else 1)).all()
    assert flags(batch) == (0, 0, 0, 0)
    return True


@INNER_AND_LAST
@pytest.mark.parametrize(
    "event, response, after",
    [("goal_step", {}, "removed"), ("wall_step", {}, "stopped"), ("car_step", {}, "stopped"),
     ("goal_step", {"on_goal": "stop"}, "stopped"), ("wall_step", {"on_offroad": "remove"}, "removed"),
     ("car_step", {"on_collision": "remove"}, "removed")],
)
def test_table_an_event_while_others_drive(last, event, response, after):
    batch = table_batch([{event: 2}, {}], last, **response)
    step(batch)
    assert (flags(batch), state(batch)) == ((0, 0, 0, 0), "driving")
    step(batch)
    assert (flags(batch), state(batch)) == ((int(last), 0, 0, 0), after)
    assert (flags(batch, 1), state(batch, 1)) == ((0, 0, 0, 0), "driving")
    assert (batch.waits[0], batch.waits[1], batch.invalid_step[0]) == (True, False, False)
    step(batch)
    assert (flags(batch), state(batch)) == ((0, 0, 0, 0), after)
    assert (batch.invalid_step[0], batch.invalid_step[1]) == (True, False)


@INNER_AND_LAST
def test_table_the_event_of_the_last_driving_ego(last):
    batch = table_batch([{"wall_step": 3}, {"goal_step": 1}], last)
    step(batch, 3)
    assert (flags(batch), state(batch)) == ((int(last), 0, 1, 0), "stopped")
    assert (flags(batch, 1), state(batch, 1)) == ((0, 0, 1, 0), "removed")
    assert restarts_next(batch, last)


@INNER_AND_LAST
def test_table_the_clock_on_a_driving_and_on_a_waiting_agent(last):
    batch = table_batch([{}, {"car_step": 2}, {"goal_step": 4}], last)
    step(batch, 4)
    assert flags(batch) == (0, 0, 0, 0)
    step(batch)
    assert (flags(batch), state(batch)) == ((0, int(last), 1, 1), "driving")
    assert (flags(batch, 1), state(batch, 1)) == ((0, 0, 1, 0), "stopped")
    assert (flags(batch, 2), state(batch, 2)) == ((0, 0, 1, 0), "removed")
    assert batch.waits.all()
    assert restarts_next(batch, last)


@INNER_AND_LAST
def test_table_the_share_limit_on_a_driving_and_on_a_waiting_agent(last):
    batch = table_batch(
        [{}, {"car_step": 1}, {"wall_step": 3}, {"goal_step": 2}], last, stopped_share_limit=0.5
    )
    step(batch, 2)
    assert flags(batch) == (0, 0, 0, 0)
    step(batch)
    assert (flags(batch), state(batch)) == ((0, int(last), 1, 1), "driving")
    assert (flags(batch, 1), state(batch, 1)) == ((0, 0, 1, 0), "stopped")
    assert (flags(batch, 2), state(batch, 2)) == ((int(last), 0, 1, 0), "stopped")
    assert (flags(batch, 3), state(batch, 3)) == ((0, 0, 1, 0), "removed")
    assert restarts_next(batch, last)


@INNER_AND_LAST
@pytest.mark.parametrize("event, after, outcome",
                         [("goal_step", "removed", GOAL), ("wall_step", "stopped", OFFROAD),
                          ("car_step", "stopped", COLLISION)])
def test_table_event_and_clock_in_one_step(last, event, after, outcome):
    batch = table_batch([{event: 5}, {}], last)
    step(batch, 5)
    assert (flags(batch), state(batch), batch.outcome[0]) == ((int(last), 0, 1, 0), after, outcome)
    assert (flags(batch, 1), state(batch, 1), batch.outcome[1]) == ((0, int(last), 1, 1), "driving", TIMEOUT)
    assert restarts_next(batch, last)


@INNER_AND_LAST
@pytest.mark.parametrize("event, field", [("goal_step", "on_goal"), ("wall_step", "on_offroad"),
                                          ("car_step", "on_collision")])
def test_table_an_ignored_event_and_the_clock(last, event, field):
    batch = table_batch([{event: 5}], last, **{field: "ignore"})
    step(batch, 5)
    assert (flags(batch), state(batch), batch.outcome[0]) == ((0, int(last), 1, 1), "driving", TIMEOUT)
    assert batch.rewards[0] != 0
    assert restarts_next(batch, last)


@INNER_AND_LAST
def test_table_a_restart_step(last):
    batch = table_batch([{"wall_step": 1}], last)
    step(batch)
    assert batch.trial_ended[0]
    step(batch)
    assert (flags(batch), state(batch)) == ((0, 0, 0, 0), "driving")
    assert (batch.invalid_step[0], batch.waits[0], batch.rewards[0], batch.outcome[0]) == (True, False, 0, 0)
    assert batch.first[0] == last
    step(batch)
    assert not batch.invalid_step[0] and batch.rewards[0] < 0


@INNER_AND_LAST
def test_table_an_absent_agent(last):
    stages = [coasting_stage([{"wall_step": 3}])]
    batch = make_batch(stages, max_trials=2, trial_steps=5, agents_per_world=3)
    assert (batch.agents_per_world, batch.num_agents) == (3, 3)
    batch.reset()
    assert (batch.removed[1], batch.stopped[1], batch.waits[1], batch.first[1]) == (True, False, True, True)
    assert not batch.invalid_step.any()
    for call in range(12):
        step(batch)
        ended = call % 4 == 2
        assert flags(batch, 1) == flags(batch, 2) == (0, 0, int(ended), 0)
        assert (batch.trial_index[1], batch.first[1]) == (batch.trial_index[0], batch.first[0])
        assert (state(batch, 1), batch.waits[1], batch.invalid_step[1]) == ("removed", True, True)
        assert (batch.rewards[1], batch.outcome[1]) == (0, 0)
        assert not batch.observations[1].any()


def test_table_after_reset():
    batch = make_batch(coasting_stage([{"wall_step": 1}, {"goal_step": 1}, {}]), max_trials=2, trial_steps=3)
    for calls in (0, 1, 2, 3):
        batch.reset()
        for agent in range(3):
            assert (flags(batch, agent), state(batch, agent)) == ((0, 0, 0, 0), "driving")
        assert batch.first.all() and not batch.invalid_step.any() and not batch.waits.any()
        assert not batch.rewards.any() and not batch.trial_index.any() and not batch.outcome.any()
        step(batch, calls)
