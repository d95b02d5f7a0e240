"""Is the oracle right? Its channels against the contract's table and sentences, written out by hand."""

import math

import pytest
from integer_motion import Motion
from integer_scenes import COAST, LONG, SHORT, coasting_stage
from oracle import CHANNELS, NOTHING, OUTCOMES, Facts, OutOfOrder, Rules, World
from oracle_metrics import Metrics

GOAL = Facts(goal=True)
CRASH = Facts(collision=True)
LEAVE = Facts(offroad=True)
GOAL_CODE, COLLISION_CODE, OFFROAD_CODE, TIMEOUT_CODE = 1, 2, 3, 4


def opened(agents=2, age=0, present=None, **rules):
    world = World(Rules(**rules), agents)
    world.reset([True] * agents if present is None else present, age)
    return world


def shows(channels, **expected):
    """The named channels are as expected; every other one but waits, trial_index and rewards is 0."""
    agents = len(channels["waits"])
    for name in CHANNELS:
        if name in expected:
            assert channels[name] == expected[name], name
        elif name not in ("waits", "trial_index", "rewards"):
            assert channels[name] == [0] * agents, name


def test_after_reset_everything_is_false_but_first():
    world = World(Rules(max_trials=3), 2)
    shows(
        world.reset([True, True]),
        first=[True, True],
        waits=[False, False],
        trial_index=[0, 0],
        rewards=[0, 0],
    )


@pytest.mark.parametrize("trials, last", [(2, False), (1, True)])
def test_an_event_while_others_drive_ends_the_agent_alone(trials, last):
    world = opened(max_trials=trials)
    shows(world.step([CRASH, NOTHING]), terminations=[last, False], stopped=[True, False], waits=[True, False],
          rewards=[-0.5, 0], outcome=[COLLISION_CODE, 0])
    shows(world.step([NOTHING, NOTHING]), invalid_step=[True, False], stopped=[True, False], outcome=[0, 0])


@pytest.mark.parametrize("trials, last", [(2, False), (1, True)])
def test_the_event_of_the_last_driver_ends_the_trial_for_all(trials, last):
    world = opened(max_trials=trials)
    world.step([CRASH, NOTHING])
    shows(
        world.step([NOTHING, GOAL]),
        terminations=[False, last],
        trial_ended=[True, True],
        removed=[False, True],
        stopped=[True, False],
        invalid_step=[True, False],
        waits=[True, True],
        outcome=[0, GOAL_CODE],
    )
    if last:
        shows(
            world.step(None),
            invalid_step=[True, True],
            first=[True, True],
            trial_index=[0, 0],
            rewards=[0, 0],
        )
    else:
        shows(world.step(None), invalid_step=[True, True], trial_index=[1, 1], rewards=[0, 0])


@pytest.mark.parametrize("trials, last", [(2, False), (1, True)])
def test_the_clock_cuts_agents_that_drive_and_leaves_agents_that_wait(trials, last):
    world = opened(max_trials=trials, trial_steps=2)
    world.step([CRASH, NOTHING])
    shows(
        world.step([NOTHING, NOTHING]),
        truncations=[False, last],
        trial_ended=[True, True],
        truncation=[False, True],
        stopped=[True, False],
        invalid_step=[True, False],
        outcome=[0, TIMEOUT_CODE],
    )


@pytest.mark.parametrize("trials, last", [(2, False), (1, True)])
def test_an_event_wins_over_the_clock(trials, last):
    world = opened(max_trials=trials, trial_steps=1)
    shows(world.step([LEAVE, NOTHING]), terminations=[last, False], truncations=[False, last],
          trial_ended=[True, True], truncation=[False, True], stopped=[True, False],
          outcome=[OFFROAD_CODE, TIMEOUT_CODE])


@pytest.mark.parametrize("trials, last", [(2, False), (1, True)])
def test_an_ignored_event_at_the_clock_is_a_timeout(trials, last):
    world = opened(agents=1, max_trials=trials, trial_steps=1, on_collision="ignore")
    shows(
        world.step([CRASH]),
        truncations=[last],
        trial_ended=[True],
        truncation=[True],
        outcome=[TIMEOUT_CODE],
        rewards=[-0.5],
    )


@pytest.mark.parametrize("trials, last", [(2, False), (1, True)])
def test_the_event_that_fills_the_share_ends_the_trial(trials, last):
    world = opened(max_trials=trials, stopped_share_limit=0.5)
    shows(world.step([LEAVE, NOTHING]), terminations=[last, False], truncations=[False, last],
          trial_ended=[True, True], truncation=[False, True], stopped=[True, False],
          outcome=[OFFROAD_CODE, TIMEOUT_CODE])


def test_removed_and_absent_agents_fill_no_share():
    world = opened(agents=4, present=[True, True, True, False], stopped_share_limit=0.5)
    assert not any(world.step([GOAL, LEAVE, NOTHING, NOTHING])["trial_ended"])
    world = opened(agents=4, present=[True, True, False, False], stopped_share_limit=0.5)
    assert all(world.step([LEAVE, NOTHING, NOTHING, NOTHING])["trial_ended"])


def test_an_absent_agent_follows_its_world():
    world = opened(present=[True, False], max_trials=2, trial_steps=1)
    shows(world.step([NOTHING, NOTHING]), trial_ended=[True, True], truncation=[True, False],
          invalid_step=[False, True], removed=[False, True], waits=[True, True], outcome=[TIMEOUT_CODE, 0])
    shows(
        world.step(None),
        invalid_step=[True, True],
        removed=[False, True],
        waits=[False, True],
        trial_index=[1, 1],
    )


@pytest.mark.parametrize(
    "responses, facts, removed, stopped, outcome",
    [
        (("remove", "stop", "stop"), (True, True, True), True, False, COLLISION_CODE),
        (("remove", "ignore", "ignore"), (True, True, True), True, False, GOAL_CODE),
        (("ignore", "ignore", "stop"), (True, True, True), False, True, OFFROAD_CODE),
        (("stop", "remove", "stop"), (False, True, True), True, False, COLLISION_CODE),
        (("ignore", "ignore", "ignore"), (True, True, True), False, False, 0),
    ],
)
def test_remove_over_stop_over_ignore_and_collision_over_offroad_over_goal(
        responses, facts, removed, stopped, outcome):
    world = opened(agents=1, **dict(zip(("on_goal", "on_collision", "on_offroad"), responses)))
    channels = world.step([Facts(*facts)])
    assert (channels["removed"], channels["stopped"], channels["outcome"]) == (
        [removed],
        [stopped],
        [outcome],
    )
    assert channels["rewards"] == [pytest.approx(sum((1.0, -0.5, -0.2)[i] for i in range(3) if facts[i]))]


def test_the_goal_is_rewarded_once_a_trial():
    world = opened(agents=1, on_goal="ignore")
    assert [world.step([GOAL])["rewards"][0] for _ in range(3)] == [1.0, 0.0, 0.0]


def test_a_goal_that_another_one_follows_ends_no_agent_and_the_last_one_removes_it():
    world = opened(agents=1, on_goal="next")
    shows(world.step([Facts(goal=True, goal_follows=True)]), rewards=[1.0], waits=[False])
    shows(world.step([GOAL]), rewards=[1.0], terminations=[True], trial_ended=[True], removed=[True],
          outcome=[GOAL_CODE])
    assert world.metrics.metric("goals").value == 2 and world.metrics.metric("goal").value == 1


def test_a_score_needs_every_goal_where_their_number_is_limited():
    world = opened(agents=1, trial_steps=2, max_goals=2, on_goal="next")
    world.step([Facts(goal=True, goal_follows=True)])
    world.step([NOTHING])
    assert world.metrics.metric("score").value == 0 and world.metrics.metric("goals").value == 1
    world = opened(agents=1, max_goals=2, on_goal="next")
    world.step([Facts(goal=True, goal_follows=True)])
    world.step([GOAL])
    assert world.metrics.metric("score").value == 1


def test_a_score_needs_a_goal_with_no_infraction_before_or_with_it():
    def score(*facts):
        world = opened(
            agents=1, trial_steps=len(facts), on_goal="ignore", on_collision="ignore", on_offroad="ignore"
        )
        for fact in facts:
            world.step([fact])
        return world.metrics.metric("score").value

    assert score(NOTHING, GOAL) == 1
    assert score(GOAL, CRASH) == 1
    assert score(CRASH, GOAL) == 0
    assert score(Facts(goal=True, offroad=True), NOTHING) == 0
    assert score(NOTHING, NOTHING) == 0


def test_trial_features_change_at_restarts_and_the_reward_with_every_acting_step():
    world = opened(max_trials=2, trial_steps=4)
    assert world.trial_features(0)["outcome_none"] == 1
    world.step([CRASH, NOTHING])
    assert world.trial_features(0)["reward"] == -0.5
    assert world.trial_features(0)["outcome_none"] == 1
    assert world.restart_features(0)["steps_share"] == 0.25
    assert world.restart_features(1) is None
    world.step([NOTHING, GOAL])
    assert world.trial_features(0)["reward"] == -0.5
    assert world.trial_features(1) is None
    expected = [world.restart_features(r) for r in range(2)]
    world.step(None)
    assert [world.trial_features(r) for r in range(2)] == expected
    assert expected[0] == {"index": 1, "reward": -0.5, "steps_share": 0.25,
                           **{f"outcome_{name}": float(name == "collision") for name in OUTCOMES}}
    assert expected[1] == {"index": 1, "reward": 1.0, "steps_share": 0.5,
                           **{f"outcome_{name}": float(name == "goal") for name in OUTCOMES}}
    world.step([NOTHING, NOTHING])
    assert world.trial_features(1)["reward"] == 0
    assert world.trial_features(1)["outcome_goal"] == 1


def test_an_episode_clears_what_was_shown_of_trials():
    world = opened(agents=1, trial_steps=1)
    world.step([CRASH])
    world.step(None)
    assert world.trial_features(0) == {"index": 0, "reward": 0, "steps_share": 0,
                                       **{f"outcome_{name}": float(name == "none") for name in OUTCOMES}}


def test_an_age_shortens_the_first_trial_and_keeps_it_out_of_the_metrics():
    world = opened(agents=1, max_trials=2, trial_steps=3, age=2)
    assert world.step([NOTHING])["trial_ended"] == [True]
    world.step(None)
    assert world.trial_features(0)["steps_share"] == pytest.approx(1 / 3)
    assert [world.step([NOTHING])["trial_ended"][0] for _ in range(3)] == [False, False, True]
    assert world.metrics.metric("trial_length") == (3.0, 1)
    assert world.metrics.metric("trial_length", trial=0).n == 0


def test_an_average_is_seeded_by_its_first_trial_and_every_agent_weighs_one():
    metrics = Metrics(3, ema_alpha=0.75)
    for score in (1.0, 0.0):
        metrics.record(0, 0, {"score": score})
    metrics.record(0, 1, {"score": 0.25})
    metrics.record(2, 0, {"score": 0.0})
    assert metrics.metric("score", trial=0) == (0.375, 2)
    assert metrics.metric("score", trial=1) == (0.25, 1)
    assert metrics.metric("score") == (0.25, 2)
    assert metrics.adaptation(1) == (-0.5, 1)
    assert metrics.trials == 4
    empty = Metrics(3, 0.5).metric("score")
    assert math.isnan(empty.value) and empty.n == 0


def test_calls_out_of_order_are_errors():
    with pytest.raises(OutOfOrder):
        World(Rules(), 1).step([NOTHING])
    with pytest.raises(OutOfOrder):
        World(Rules(), 2).reset([False, False])
    with pytest.raises(OutOfOrder):
        opened(agents=1, trial_steps=5, age=5)
    world = opened(agents=1, restart="caller", trial_steps=1, max_trials=2)
    world.step([NOTHING])
    world.step(None)
    world.step([NOTHING])
    with pytest.raises(OutOfOrder):
        world.step(None)
    world.reset([True])
    world.step([NOTHING])


# -- the stages


@pytest.mark.parametrize("length", [LONG, SHORT])
@pytest.mark.parametrize("speed", [60, 75, 260])
def test_a_coasting_car_has_each_event_in_its_scheduled_step(speed, length):
    for event, fact in (("goal_step", "goal"), ("wall_step", "offroad"), ("car_step", "collision")):
        for due in range(1, 12):
            motion = Motion(coasting_stage([{event: due}], speed=speed, length=length))
            facts = [motion.advance([COAST], [True], [True])[0] for _ in range(14)]
            assert [k for k, seen in enumerate(facts, start=1) if getattr(seen, fact)][:1] == [due]
            assert all(sum(seen) == getattr(seen, fact) for seen in facts), "and nothing else"
