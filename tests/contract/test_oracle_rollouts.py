"""Does every channel of every step equal the oracle's? Random and adversarial rollouts, step by step.

The oracle gets its facts from integer kinematics; neither it nor the laws read the core's own state.
"""

import itertools
import math

import numpy as np
import pytest
from contract_batches import EVENT_RESPONSES, FEW_SLOTS, make_batch, step
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integer_scenes import FAR_GOAL, GOAL_SPACING, LONG, NOTCH_M, SHORT, Car, Stage, Wall, coasting_stage
from lockstep import Lockstep, drive, pushes

from drive_env.config import RewardConfig

thorough = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


lanes_of_events = st.fixed_dictionaries({}, optional={
    "goal_step": st.integers(1, 9), "wall_step": st.integers(1, 9), "car_step": st.integers(1, 9)})


@st.composite
def schedules(draw):
    """Every agent has its own lane and meets the scheduled events there while it coasts."""
    return coasting_stage(
        draw(st.lists(lanes_of_events, min_size=1, max_size=5)),
        speed=draw(st.sampled_from((60, 75, 260))),
        length=draw(st.sampled_from((LONG, SHORT))),
        turn_rad=draw(st.sampled_from((0.0, 0.0, math.pi / 2, -2.1))),
    )


@st.composite
def crowds(draw):
    """Agents share lanes, may overlap at the start, and collide with each other, static vehicles and walls."""
    lane_count = draw(st.integers(1, 3))
    lanes = st.integers(0, lane_count - 1)
    lengths = st.sampled_from((LONG, SHORT))
    agents = []
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.sampled_from((0, -330, -200, 260, 400, 700)))
        goal = draw(st.one_of(st.just(FAR_GOAL), st.integers(160, 1200)))
        speed = draw(st.sampled_from((0, 20, 60, 130)))
        # Goals of a list in any order: those behind the car are not reached.
        further = tuple(at + ahead for ahead in draw(st.lists(st.integers(100, 1600), max_size=3)))
        agents.append(Car(draw(lanes), at, speed, FAR_GOAL if goal == FAR_GOAL else at + goal, draw(lengths), further,
                          bool(further) and draw(st.booleans())))
    static_vehicles = [Car(draw(lanes), draw(st.integers(100, 1500)), length=draw(lengths))
                       for _ in range(draw(st.integers(0, 2)))]
    # Walls of a lane stand so far apart that no step touches two.
    walls = []
    for lane in range(lane_count):
        for block in range(draw(st.integers(0, 2))):
            walls.append(Wall(lane, 1000 * block + draw(st.integers(-100, 250))))
    return Stage(
        tuple(agents), tuple(static_vehicles), tuple(walls), turn_rad=draw(st.sampled_from((0.0, math.pi, 0.7)))
    )


stages = st.one_of(schedules(), crowds())
responses = st.sampled_from(EVENT_RESPONSES)
GOALS_FOLLOW = {"on_goal": "next", "goal_spacing_m": GOAL_SPACING * NOTCH_M}
of_goals = st.one_of(*(st.just({"on_goal": response}) for response in EVENT_RESPONSES), st.just(GOALS_FOLLOW),
                     st.just({**GOALS_FOLLOW, "max_goals": 2}))
configs = st.builds(
    lambda of_goals, **choices: FEW_SLOTS.replace(**of_goals, **choices), of_goals,
    max_trials=st.one_of(st.integers(1, 4), st.just(32)),
    trial_steps=st.one_of(st.integers(1, 12), st.sampled_from((1, 9, 25))),
    on_collision=responses, on_offroad=responses,
    stopped_share_limit=st.sampled_from((None, None, 0.1, 1 / 3, 0.5, 1.0)),
    action_type=st.sampled_from(("discrete", "multi_discrete", "continuous")),
    observation=st.fixed_dictionaries({"time_left": st.sampled_from(("off", "actor"))}),
    agents_per_world=st.sampled_from((None, None, 6)),
    log_ema_alpha=st.sampled_from((0.707, 0.0, 0.9)),
    # They change no channel of scenes without lights.
    traffic_controls=st.booleans(), detailed_metrics=st.booleans(),
    reward=st.sampled_from((RewardConfig(), RewardConfig(goal=0.75, collision=-3.0, offroad=0.5))),
)


@settings(thorough, max_examples=75)
@given(st.lists(stages, min_size=1, max_size=3), configs, st.integers(1, 3), st.sampled_from(sorted(pushes)),
       st.integers(0, 2**32), st.sampled_from((0.0, 0.0, 0.15)), st.sampled_from(("auto", "auto", "caller")))
def test_every_channel_of_every_step_equals_the_oracle_s(
        stages, config, worlds, policy, seed, reset_share, restart):
    rng = np.random.default_rng(seed)
    lockstep = Lockstep(stages, config, worlds, seed=seed, restart=restart)
    lockstep.reset()
    drive(lockstep, 40, pushes[policy](rng), rng, reset_share)
    lockstep.close()


ALL_AT_ONCE = {
    "all_crash": [{"car_step": 2}] * 4,
    "all_leave_the_road": [{"wall_step": 2}] * 4,
    "nobody_meets_anything": [{}] * 4,
    "all_reach_the_goal_in_one_step": [{"goal_step": 1}] * 4,
    "one_agent_only": [{"goal_step": 3}],
    "one_agent_that_never_arrives": [{}],
    "goal_on_the_last_step": [{"goal_step": 4}, {"goal_step": 4}, {}],
    "crash_on_the_last_step": [{"car_step": 4}, {"wall_step": 4}, {}],
    "one_after_the_other": [{"goal_step": 1}, {"car_step": 2}, {"wall_step": 3}, {"goal_step": 4}],
    "everything_at_once": [{"goal_step": 2, "car_step": 2, "wall_step": 2}] * 2
    + [{"goal_step": 2, "wall_step": 2}],
    "goal_behind_a_wall": [{"wall_step": 1, "goal_step": 2}, {"car_step": 2, "goal_step": 3}],
}


@pytest.mark.parametrize("max_goals", [None, 3])
def test_lists_of_goals_follow_the_contract_to_their_end(max_goals):
    """Cars that coast along four goals, along three that repeat, over a wall, away from a goal, and without a list."""
    config = FEW_SLOTS.replace(max_trials=2, trial_steps=30, on_offroad="ignore", max_goals=max_goals, **GOALS_FOLLOW)
    agents = (Car(0, 0, 60, 250, further=(500, 800, 1300)), Car(1, 0, 60, 250, further=(300, 275), repeats=True),
              Car(2, 0, 60, 250, further=(500, 700)), Car(3, 0, 60, 250, further=(-100, 900)), Car(4, 0, 60, 250))
    lockstep = Lockstep([Stage(agents, walls=(Wall(2, 400),))], config)
    lockstep.reset()
    drive(lockstep, 62, pushes["coast"](None))
    rewards = np.array([arrays["rewards"] for arrays in lockstep.record.arrays[:30]])
    goals = (rewards > 0.4).sum(axis=0).tolist()
    assert goals[:4] == ([4, 6, 3, 1] if max_goals is None else [3, 3, 3, 1])
    assert lockstep.batch.metrics()["score"].n == 5
    lockstep.close()


@pytest.fixture
def every(request):
    """Whether all combinations are played."""
    return request.config.getoption("--slow")


@pytest.mark.parametrize("agents", list(ALL_AT_ONCE.values()), ids=list(ALL_AT_ONCE))
@pytest.mark.parametrize("max_trials", [1, 3])
def test_adversarial_rollouts_follow_the_contract(agents, max_trials, every):
    """With every pair of responses, and with `--slow` every three of them."""
    for first, second, third in itertools.product(range(len(EVENT_RESPONSES)), repeat=3):
        if not every and (first + second + third) % len(EVENT_RESPONSES):
            continue
        on_goal, on_collision, on_offroad = (EVENT_RESPONSES[i] for i in (first, second, third))
        config = FEW_SLOTS.replace(max_trials=max_trials, trial_steps=4, on_goal=on_goal,
                                   on_collision=on_collision, on_offroad=on_offroad)
        lockstep = Lockstep([coasting_stage(agents)], config)
        lockstep.reset()
        drive(lockstep, 8 * max_trials, pushes["coast"](None))
        lockstep.close()


@pytest.mark.parametrize("response", EVENT_RESPONSES)
def test_goals_along_a_lane_follow_the_contract_to_its_end(response):
    """A car that coasts reaches the end of the lane in 38 steps, after up to seven goals."""
    config = FEW_SLOTS.replace(max_trials=2, trial_steps=40, on_collision=response, on_offroad=response, **GOALS_FOLLOW)
    stages = [coasting_stage(ALL_AT_ONCE[name]) for name in ("one_after_the_other", "goal_behind_a_wall")]
    lockstep = Lockstep(stages, config, num_worlds=2)
    lockstep.reset()
    drive(lockstep, 85, pushes["coast"](None))
    first_trial = [arrays["rewards"] for arrays in lockstep.record.arrays[:38] if (arrays["trial_index"] == 0).all()]
    assert (np.array(first_trial) > 0.4).sum(axis=0).max() == 7
    lockstep.close()


@pytest.mark.parametrize("agents", list(ALL_AT_ONCE.values()), ids=list(ALL_AT_ONCE))
@pytest.mark.parametrize("limit", [0.25, 0.5, 0.75, 1.0])
def test_adversarial_rollouts_with_a_share_limit_follow_the_contract(agents, limit):
    for on_goal, max_trials in itertools.product(EVENT_RESPONSES, (1, 3)):
        config = FEW_SLOTS.replace(
            max_trials=max_trials,
            trial_steps=4,
            on_goal=on_goal,
            agents_per_world=6,
            stopped_share_limit=limit,
        )
        lockstep = Lockstep([coasting_stage(agents)], config)
        lockstep.reset()
        drive(lockstep, 20, pushes["coast"](None))
        lockstep.close()


@pytest.mark.parametrize("max_trials", [1, 2, 8, 32])
@pytest.mark.parametrize("trial_steps", [1, 3])
def test_any_number_of_trials_follows_the_contract(max_trials, trial_steps):
    config = FEW_SLOTS.replace(max_trials=max_trials, trial_steps=trial_steps, agents_per_world=5)
    stages = [coasting_stage([{"goal_step": 2}, {"wall_step": 1}]), coasting_stage([{"car_step": 1}, {}, {}])]
    lockstep = Lockstep(stages, config, num_worlds=3)
    lockstep.reset()
    drive(lockstep, 2 * max_trials * (trial_steps + 1) + 3, pushes["coast"](None))
    lockstep.close()


def test_worlds_with_fewer_vehicles_than_agents_follow_the_contract():
    stages = [coasting_stage([{"goal_step": k + 1} for k in range(count)]) for count in (1, 3, 7)]
    config = FEW_SLOTS.replace(max_trials=2, trial_steps=5, scene_order="cycle")
    lockstep = Lockstep(stages, config, num_worlds=4)
    assert lockstep.batch.agents_per_world == 7
    lockstep.reset()
    drive(lockstep, 60, pushes["coast"](None))
    lockstep.close()


@pytest.mark.parametrize("agents", [1, 3, 7, 10, 12])
def test_a_share_of_exactly_the_limit_ends_the_trial(agents):
    """1 of 10 is at least 0.1, in whatever precision the core stores the limit."""
    for count in range(1, agents + 1):
        batch = make_batch(coasting_stage([{"wall_step": 1 + r} for r in range(agents)]), trial_steps=agents + 1,
                           stopped_share_limit=count / agents)
        batch.reset()
        for stopped in range(1, count + 1):
            step(batch)
            assert batch.trial_ended.all() == (stopped == count), (
                f"{stopped} of {agents} stopped, limit {count}/{agents}"
            )
        batch.close()


@pytest.mark.parametrize("max_trials", [1, 3])
def test_caller_restart_has_the_channels_of_the_contract(max_trials):
    stages = [coasting_stage([{"goal_step": 2}, {"wall_step": 1}]), coasting_stage([{"goal_step": 5}, {}])]
    config = FEW_SLOTS.replace(max_trials=max_trials, trial_steps=6)
    lockstep = Lockstep(stages, config, num_worlds=3, restart="caller")
    lockstep.reset()
    drive(lockstep, 70, pushes["coast"](None))
    lockstep.close()
