"""The contract made executable: worlds, trials, episodes and the channels, as a `Batch` shows them.

Three roads lead to the expected values. The table is copied out by hand over staged scenes; random and
adversarial plays are compared with the oracle, to which the facts are told by whole-number kinematics; and
the laws are checked on what a play showed, whatever happened in it. None of them asks the core what it
thinks.
"""

import itertools
import math

import laws
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import CHANNELS, FIGURES
from staged import (
    COAST,
    FAR_GOAL,
    FULL_BRAKE,
    FULL_THROTTLE,
    LONG,
    NOTCH_M,
    SHORT,
    Car,
    Stage,
    StagedBatch,
    Wall,
    actions_for,
    coasting_stage,
    make_scene,
)

import drive_env
from drive_env.config import DriveConfig, RewardConfig
from drive_env.errors import ActionError, CallError, DriveError, SceneError
from drive_env.scenes import scene as scene_module

BLIND = {"partners": 2, "roads": 2}
"""Few slots: these tests ask what a step means, not what an agent sees."""
GOAL, COLLISION, OFFROAD, TIMEOUT = 1, 2, 3, 4
EVENT_RESPONSES = ("ignore", "stop", "remove")

thorough = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def make_batch(stages, num_worlds=1, *, seed=0, threads=1, restart="auto", world_ids=None, **choices):
    stages = [stages] if isinstance(stages, Stage) else stages
    config = DriveConfig(**{**BLIND, **choices})
    return drive_env.Batch(
        scenes=[stage.scene() for stage in stages],
        num_worlds=num_worlds,
        config=config,
        seed=seed,
        threads=threads,
        restart=restart,
        world_ids=world_ids,
    )


def step(batch, times=1):
    """Coasts, so that staged events come when they are due."""
    for _ in range(times):
        batch.step(laws.idle_actions(batch))


def flags(batch, agent=0):
    """The four end flags of an agent, in the order of the contract's table."""
    names = ("terminations", "truncations", "trial_ended", "truncation")
    return tuple(int(getattr(batch, name)[agent]) for name in names)


def state(batch, agent=0):
    names = [name for name in ("removed", "stopped") if getattr(batch, name)[agent]]
    return names[0] if len(names) == 1 else "driving" if not names else "both"


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_same_arrays(a, b, agents_a=slice(None), agents_b=slice(None)):
    for name in laws.SHOWN:
        left, right = getattr(a, name)[agents_a], getattr(b, name)[agents_b]
        assert same_bits(left, right), f"{name}: {left} against {right}"


# -- batch and oracle side by side


class Lockstep:
    """A `Batch` and a `StagedBatch` that make the same calls; every call compares all they show."""

    def __init__(self, stages, config, num_worlds=1, *, seed=0, threads=1, restart="auto"):
        self.config = config
        self.batch = drive_env.Batch(scenes=[stage.scene() for stage in stages], num_worlds=num_worlds, config=config,
                                     seed=seed, threads=threads, restart=restart)
        self.expected = StagedBatch(stages, config, num_worlds, self.batch.agents_per_world, restart)
        self.record = laws.Record.of(self.batch, config, restart=restart)
        self.garbage = np.random.default_rng(seed)
        self.foretold = [[] for _ in range(num_worlds)]

    def reset(self, worlds=None, ages=None, **seed):
        self.batch.reset(worlds=worlds, initial_ages=ages, **seed)
        self.expected.reset(worlds, ages, self.batch.scene_index)
        self.record.after_reset(self.batch, worlds, ages)
        for w in range(len(self.foretold)):
            if worlds is None or worlds[w]:
                self.foretold[w] = []
        self._compare()

    def step(self, pushes):
        actions = actions_for(self.config.action_type, pushes)
        actions = laws.with_garbage_where_agents_wait(self.batch, actions, self.garbage)
        restarts = [world.next_call_restarts for world in self.expected.worlds]
        self.batch.step(actions)
        self.expected.step(actions_for("discrete", pushes), self.batch.scene_index)
        self.record.after_step(self.batch)
        for w, restarted in enumerate(restarts):
            if restarted:
                self._what_was_foretold_came(w)
        self._compare()

    @property
    def worlds_at_their_end(self):
        return np.array([world.next_call_restarts and world.last_trial for world in self.expected.worlds])

    def _agents(self, w):
        return slice(w * self.batch.agents_per_world, (w + 1) * self.batch.agents_per_world)

    def _what_was_foretold_came(self, w):
        for agents, foretold in self.foretold[w]:
            assert same_bits(self.batch.observations[agents], foretold), (
                f"world {w}: another restart was foretold"
            )
        self.foretold[w] = []

    def _compare(self):
        for name in CHANNELS:
            shown, due = getattr(self.batch, name), getattr(self.expected, name)
            assert shown.dtype == due.dtype, name
            if name == "rewards":
                assert np.abs(shown - due).max() < 1e-6, f"rewards {shown}, due {due}"
                assert (shown[due == 0] == 0).all()
            else:
                assert np.array_equal(shown, due), f"{name} {shown.astype(int)}, due {due.astype(int)}"
        bits = ("trial_ended", "truncation", "removed", "invalid_step", "stopped", "first")
        code = sum(getattr(self.batch, name).astype(np.uint16) << bit for bit, name in enumerate(bits))
        assert np.array_equal(self.batch.code, code + (self.batch.outcome.astype(np.uint16) << len(bits)))
        self._compare_features()
        self._compare_places()
        self._compare_restart_observations()

    def _compare_features(self):
        layout = self.batch.observation_layout()
        for agent in range(self.batch.num_agents):
            features = self.expected.trial_features(agent)
            if features is None:
                assert not self.batch.observations[agent].any(), f"agent {agent} is off the map and sees something"
                continue
            self._shows(self.batch.observations[agent], features, layout)
            world = self.expected.worlds[self.batch.world_of_agent[agent]]
            waited = self.batch.stopped[agent] and self.batch.invalid_step[agent]
            if self.config.time_left == "actor" and not waited:
                shown = self.batch.observations[agent, layout["ego/time_left"].offset]
                assert shown == pytest.approx(world.time_left * layout["ego/time_left"].scale, abs=1e-6)

    @staticmethod
    def _shows(observation, features, layout):
        for name, value in features.items():
            entry = layout[f"trial/{name}"]
            due = min(max(value * entry.scale, entry.low), 1.0)
            assert observation[entry.offset] == pytest.approx(due, abs=1e-6), f"trial/{name}"

    def _compare_places(self):
        for w, motion in enumerate(self.expected.motions):
            vehicles = self.batch.vehicles(w)
            for r, car in enumerate(motion.stage.agents):
                if not self.expected.worlds[w].agents[r].on_map:
                    continue
                x, y = motion.stage.place(motion.at[r] * NOTCH_M, car.lane * 12.0)
                assert math.hypot(vehicles["x_m"][r] - x, vehicles["y_m"][r] - y) < 1e-3, (
                    f"world {w}, agent {r}"
                )

    def _compare_restart_observations(self):
        foretold = self.batch.restart_observations()
        layout = self.batch.observation_layout()
        for w in range(len(self.foretold)):
            agents = self._agents(w)
            waiting = [
                agent for agent in range(agents.start, agents.stop) if self.expected.restart_features(agent) is not None
            ]
            for agent in range(agents.start, agents.stop):
                if agent in waiting:
                    self._shows(foretold[agent], self.expected.restart_features(agent), layout)
                else:
                    assert not foretold[agent].any(), f"agent {agent} will meet no inner restart"
            if waiting:
                self.foretold[w].append((waiting, foretold[waiting].copy()))

    def compare_metrics(self):
        shown, due = self.batch.metrics(), self.expected.figures
        pairs = {name: due.figure(name) for name in FIGURES}
        for k in range(self.config.max_trials):
            pairs[f"trial_{k}_score"] = due.figure("score", k)
            if k:
                pairs[f"ada_delta_trial_{k}_minus_0"] = due.adaptation(k)
        for name, (value, n) in pairs.items():
            assert shown[name].n == n, f"{name} speaks of {shown[name].n} agents, due {n}"
            assert shown[name].value == pytest.approx(value, abs=1e-5, nan_ok=True), name
        assert shown["trials"].value == due.trials

    def close(self):
        """Holds the whole play against the laws, then the metrics against the oracle's."""
        laws.check(self.record)
        self.compare_metrics()
        self.batch.close()


def drive(lockstep, calls, choose_pushes, rng=None, reset_share=0.0):
    """Makes `calls` calls, resetting worlds at random and, where the caller must, at their end."""
    count = len(lockstep.foretold)
    for _ in range(calls):
        if rng is not None and rng.random() < reset_share:
            ages = rng.integers(0, lockstep.config.trial_steps, count) if rng.random() < 0.5 else None
            lockstep.reset(rng.random(count) < 0.5, ages)
        if lockstep.record.restart == "caller" and lockstep.worlds_at_their_end.any():
            lockstep.reset(lockstep.worlds_at_their_end)
        lockstep.step(choose_pushes(lockstep.batch.num_agents))


# -- the table, agent by agent

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
    "event, answer, after",
    [("goal_step", {}, "removed"), ("wall_step", {}, "stopped"), ("car_step", {}, "stopped"),
     ("goal_step", {"on_goal": "stop"}, "stopped"), ("wall_step", {"on_offroad": "remove"}, "removed"),
     ("car_step", {"on_collision": "remove"}, "removed")],
)
def test_table_an_event_while_others_drive(last, event, answer, after):
    batch = table_batch([{event: 2}, {}], last, **answer)
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


# -- laws over random and adversarial play

lanes_of_events = st.fixed_dictionaries({}, optional={
    "goal_step": st.integers(1, 9), "wall_step": st.integers(1, 9), "car_step": st.integers(1, 9)})


@st.composite
def schedules(draw):
    """Every agent has its lane and meets there what the schedule says, while it coasts."""
    return coasting_stage(
        draw(st.lists(lanes_of_events, min_size=1, max_size=5)),
        speed=draw(st.sampled_from((60, 75, 260))),
        length=draw(st.sampled_from((LONG, SHORT))),
        turn_rad=draw(st.sampled_from((0.0, 0.0, math.pi / 2, -2.1))),
    )


@st.composite
def crowds(draw):
    """Agents share lanes, may overlap at the start, run into each other, into what stands and over walls."""
    lane_count = draw(st.integers(1, 3))
    lanes = st.integers(0, lane_count - 1)
    lengths = st.sampled_from((LONG, SHORT))
    agents = []
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.sampled_from((0, -330, -200, 260, 400, 700)))
        goal = draw(st.one_of(st.just(FAR_GOAL), st.integers(160, 1200)))
        speed = draw(st.sampled_from((0, 20, 60, 130)))
        agents.append(Car(draw(lanes), at, speed, FAR_GOAL if goal == FAR_GOAL else at + goal, draw(lengths)))
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
answers = st.sampled_from(EVENT_RESPONSES)
configs = st.builds(
    lambda **choices: DriveConfig(**BLIND, **choices),
    max_trials=st.one_of(st.integers(1, 4), st.just(32)),
    trial_steps=st.one_of(st.integers(1, 12), st.sampled_from((1, 9, 25))),
    on_goal=answers, on_collision=answers, on_offroad=answers,
    stopped_share_limit=st.sampled_from((None, None, 0.1, 1 / 3, 0.5, 1.0)),
    action_type=st.sampled_from(("discrete", "multi_discrete", "continuous")),
    time_left=st.sampled_from(("off", "actor")),
    agents_per_world=st.sampled_from((None, None, 6)),
    log_ema_alpha=st.sampled_from((0.707, 0.0, 0.9)),
    reward=st.sampled_from((RewardConfig(), RewardConfig(goal=0.75, collision=-3.0, offroad=0.5))),
)
pushes = {
    "coast": lambda rng: lambda agents: np.full(agents, COAST),
    "throttle": lambda rng: lambda agents: np.full(agents, FULL_THROTTLE),
    "brake": lambda rng: lambda agents: np.full(agents, FULL_BRAKE),
    "any": lambda rng: lambda agents: rng.integers(0, 7, agents),
    "forward": lambda rng: lambda agents: rng.choice([3, 3, 4, 6], agents),
}


@settings(thorough, max_examples=150)
@given(st.lists(stages, min_size=1, max_size=3), configs, st.integers(1, 3), st.sampled_from(sorted(pushes)),
       st.integers(0, 2**32), st.sampled_from((0.0, 0.0, 0.15)), st.sampled_from(("auto", "auto", "caller")))
def test_every_channel_of_every_step_is_what_the_contract_says(
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


@pytest.mark.parametrize("agents", list(ALL_AT_ONCE.values()), ids=list(ALL_AT_ONCE))
@pytest.mark.parametrize("max_trials", [1, 3])
def test_adversarial_plays_follow_the_contract(agents, max_trials):
    for on_goal, on_collision, on_offroad in itertools.product(EVENT_RESPONSES, EVENT_RESPONSES, EVENT_RESPONSES):
        config = DriveConfig(**BLIND, max_trials=max_trials, trial_steps=4, on_goal=on_goal,
                             on_collision=on_collision, on_offroad=on_offroad)
        lockstep = Lockstep([coasting_stage(agents)], config)
        lockstep.reset()
        drive(lockstep, 8 * max_trials, pushes["coast"](None))
        lockstep.close()


@pytest.mark.parametrize("agents", list(ALL_AT_ONCE.values()), ids=list(ALL_AT_ONCE))
@pytest.mark.parametrize("limit", [0.25, 0.5, 0.75, 1.0])
def test_adversarial_plays_with_a_share_limit_follow_the_contract(agents, limit):
    for on_goal, max_trials in itertools.product(EVENT_RESPONSES, (1, 3)):
        config = DriveConfig(
            **BLIND,
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
    config = DriveConfig(**BLIND, max_trials=max_trials, trial_steps=trial_steps, agents_per_world=5)
    stages = [coasting_stage([{"goal_step": 2}, {"wall_step": 1}]), coasting_stage([{"car_step": 1}, {}, {}])]
    lockstep = Lockstep(stages, config, num_worlds=3)
    lockstep.reset()
    drive(lockstep, 2 * max_trials * (trial_steps + 1) + 3, pushes["coast"](None))
    lockstep.close()


def test_worlds_with_fewer_vehicles_than_agents_follow_the_contract():
    stages = [coasting_stage([{"goal_step": k + 1} for k in range(count)]) for count in (1, 3, 7)]
    config = DriveConfig(**BLIND, max_trials=2, trial_steps=5, scene_order="cycle")
    lockstep = Lockstep(stages, config, num_worlds=4)
    assert lockstep.batch.agents_per_world == 7
    lockstep.reset()
    drive(lockstep, 60, pushes["coast"](None))
    lockstep.close()


@pytest.mark.parametrize("agents", [1, 3, 7, 10, 12])
def test_a_share_of_exactly_the_limit_ends_the_trial(agents):
    """1 of 10 is at least 0.1, whatever precision the limit is kept in."""
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


def scene_with_log_replays(agents, log_replays, valid):
    """A log: agents that start in frame 0, and log-replay vehicles given as (lane, notch of every frame)."""
    frames, count = valid.shape
    along = np.zeros((frames, count))
    along[:, len(agents):] = np.array([at for _, at in log_replays]).T
    across = np.array([car.lane for car in agents] + [lane for lane, _ in log_replays]) * 12.0
    speed = np.array([car.speed for car in agents] + [0] * len(log_replays)) * 10 * NOTCH_M
    along[0, :len(agents)] = [car.at for car in agents]
    full = lambda value: np.full(count, value, np.float32)
    each = lambda values: np.where(valid, np.broadcast_to(values, valid.shape), 0).astype(np.float32)
    objects = scene_module.Objects(
        id=np.arange(count),
        kind=np.ones(count, np.uint8),
        length_m=full((LONG + 0.5) * NOTCH_M),
        width_m=full(2.0),
        height_m=full(1.5),
        goal_m=np.stack([full(500.0), across.astype(np.float32)], axis=1),
        marked_expert=np.arange(count) >= len(agents),
        x_m=each(along * NOTCH_M),
        y_m=each(across),
        heading_rad=each(0.0),
        vx_mps=each(speed),
        vy_mps=each(0.0),
        valid=valid,
    )
    lanes = [("lane", [(-2.0, y), (20.0, y)]) for y in sorted(set(across))]
    return make_scene("log_replays", objects, lanes)


def two_trials_of_everything(**choices):
    stages = [coasting_stage([{"goal_step": 3}, {"wall_step": 2}, {"car_step": 4}, {}]),
              coasting_stage([{"goal_step": 5}, {}])]
    return make_batch(stages, 3, max_trials=2, trial_steps=6, **choices)


def test_law_6_after_the_last_trial_the_restart_shows_what_reset_would_show():
    """Whether reset() comes at the end of an episode or cuts it anywhere, the next episode is the same."""
    batch = two_trials_of_everything(seed=5)
    batch.reset()
    ends, episodes = np.full(3, -1), [[], [], []]
    for call in range(60):
        step(batch)
        for w in range(3):
            agents = slice(4 * w, 4 * w + 4)
            if batch.first[agents][0]:
                episodes[w].append((batch.observations[agents].copy(), int(batch.scene_index[w])))
                ends[w] = call if ends[w] < 0 else ends[w]
    assert len({scene for world in episodes for _, scene in world}) > 1
    for calls in (0, 1, 5, *sorted(set(ends))):
        twin = two_trials_of_everything(seed=5)
        twin.reset()
        step(twin, calls)
        worlds = ends >= calls
        twin.reset(worlds=worlds)
        for w in np.flatnonzero(worlds):
            agents = slice(4 * w, 4 * w + 4)
            observations, scene = episodes[w][0]
            assert twin.scene_index[w] == scene, f"world {w} after {calls} calls"
            assert same_bits(twin.observations[agents], observations), f"world {w} after {calls} calls"
            assert twin.first[agents].all() and not twin.invalid_step[agents].any()
        if worlds.all():
            twin.reset()
            for w in range(3):
                assert twin.scene_index[w] == episodes[w][1][1]


def test_law_6_an_expert_s_log_rewinds_with_its_world():
    """A log of 13 frames: one expert backs up a notch a frame, the other leaves after 4 frames."""
    frames = 13
    agents = [Car(0, speed=60), Car(1, speed=60)]
    ahead, beside = 700 - np.arange(frames), np.full(frames, 560)
    valid = np.ones((frames, 4), bool)
    valid[4:, 3] = False
    valid[1:, :2] = False
    scene = scene_with_log_replays(agents, [(0, ahead), (1, beside)], valid)
    config = DriveConfig(**BLIND, max_trials=3)
    batch = drive_env.Batch(scenes=[scene], num_worlds=1, config=config, seed=0)
    batch.reset()
    assert batch.num_agents == 2
    first = batch.observations.copy()
    for _ in range(3):
        for k in range(1, frames):
            step(batch)
            log_replays = [v for v in range(4) if batch.vehicles(0)["present"][v] and v not in (0, 1)]
            assert len(log_replays) == (2 if k < 4 else 1)
            assert batch.vehicles(0)["x_m"][log_replays[0]] == pytest.approx(ahead[k] * NOTCH_M, abs=1e-3)
            # 700 - k - 60 k <= 300.5 from k = 7 on; the other expert has left before agent 1 comes.
            assert batch.rewards[0] == (np.float32(-0.5) if k == 7 else 0)
            assert batch.rewards[1] == 0
            assert batch.trial_ended.all() == (k == frames - 1), "a trial lasts as long as the log"
        step(batch)
        same = laws.columns_outside(batch.observation_layout(), first.shape[1], ["trial/"])
        assert same_bits(batch.observations[:, same], first[:, same])


def test_law_8_the_goal_is_paid_in_its_step_and_a_time_limit_pays_nothing():
    batch = make_batch(coasting_stage([{"goal_step": 3}, {}]), max_trials=2, trial_steps=5, on_goal="ignore",
                       reward=RewardConfig(goal=2.5))
    batch.reset()
    for _ in range(4):
        for k in range(1, 6):
            step(batch)
            assert (batch.rewards[0], batch.rewards[1]) == (2.5 if k == 3 else 0, 0)
        assert batch.truncation.all()
        step(batch)


@pytest.mark.parametrize("credit", ["through", "per trial"])
def test_law_9_what_waiting_agents_see_moves_no_number_of_a_learner(credit):
    batch = two_trials_of_everything()
    record = laws.play(batch, DriveConfig(**BLIND, max_trials=2, trial_steps=6), laws.POLICIES["coast"], 60,
                       reset_share=0.05)
    numbers = laws.learner_numbers(record, credit)
    assert np.isfinite(numbers).all() and numbers.any()
    for replacement in (np.nan, 1e6):
        assert same_bits(laws.learner_numbers(record, credit, replacement), numbers)


def test_law_9_the_observation_after_a_truncation_is_the_bootstrap():
    batch = make_batch(coasting_stage([{}, {"goal_step": 1}]), trial_steps=3)
    record = laws.play(batch, DriveConfig(**BLIND, trial_steps=3), laws.POLICIES["coast"], 3)
    numbers = laws.learner_numbers(record, "through")
    record.shown[3]["observations"][0] = np.nan
    spoilt = laws.learner_numbers(record, "through")
    assert np.isnan(spoilt[3, 0]) and np.isfinite(numbers).all()
    assert same_bits(spoilt[:, 1], numbers[:, 1])


def test_law_10_a_world_plays_the_same_whatever_else_is_in_the_batch():
    rng = np.random.default_rng(2)
    ids = [0, 1, 2, 3, 7, 1000, 2**40]
    push_of = {i: rng.integers(0, 7, (60, 4)) for i in ids}
    reset_at = {i: set(rng.choice(60, 2, replace=False)) for i in ids}

    def play(world_ids, threads):
        batch = two_trials_of_everything_with_ids(world_ids, threads)
        batch.reset()
        seen = {i: [] for i in world_ids}
        for call in range(60):
            worlds = np.array([call in reset_at[i] for i in world_ids])
            if worlds.any():
                batch.reset(worlds=worlds)
            batch.step(actions_for("discrete", np.concatenate([push_of[i][call] for i in world_ids])))
            shown = laws.snapshot(batch)
            for w, i in enumerate(world_ids):
                agents = slice(4 * w, 4 * w + 4)
                seen[i].append(b"".join(shown[name][agents].tobytes() for name in laws.SHOWN)
                               + bytes([shown["scene_index"][w]]))
        batch.close()
        return seen

    everyone = play(ids, threads=1)
    assert len({tuple(seen) for seen in everyone.values()}) == len(ids)
    for world_ids, threads in [(ids, 4), (ids[::-1], 2), ([7], 1), ([1000, 0], 3), ([2**40, 3, 1], 2)]:
        for i, seen in play(world_ids, threads).items():
            assert seen == everyone[i], f"world {i} among {world_ids} on {threads} threads"


def two_trials_of_everything_with_ids(world_ids, threads):
    stages = [
        coasting_stage([{"goal_step": 3}, {"wall_step": 2}, {"car_step": 4}, {}]),
        coasting_stage([{"goal_step": 5}, {}]),
        coasting_stage([{"wall_step": 6}, {}, {"goal_step": 1}]),
    ]
    return make_batch(stages, len(world_ids), max_trials=2, trial_steps=6, seed=9, world_ids=world_ids,
                      threads=threads)


# -- calls


def test_step_before_reset_is_an_error_that_says_so():
    batch = two_trials_of_everything()
    with pytest.raises(CallError, match="reset"):
        step(batch)
    batch.reset()
    step(batch)


def test_reset_with_a_seed_opens_episode_0_of_that_seed():
    rng = np.random.default_rng(0)
    used, fresh = two_trials_of_everything(seed=3), two_trials_of_everything(seed=8)
    used.reset()
    for _ in range(31):
        used.step(laws.random_actions(used, rng))
    used.reset(seed=8)
    fresh.reset()
    for _ in range(60):
        assert_same_arrays(used, fresh)
        assert same_bits(used.scene_index, fresh.scene_index)
        actions = laws.random_actions(used, rng)
        used.step(actions)
        fresh.step(actions)


def test_reset_opens_the_next_episode_and_seeds_tell_streams_apart():
    def scenes(seed, resets=24):
        batch = two_trials_of_everything(seed=seed)
        out = []
        for _ in range(resets):
            batch.reset()
            out.append(tuple(batch.scene_index))
        return out

    assert scenes(0) == scenes(0)
    assert len({tuple(scenes(seed)) for seed in range(4)}) == 4
    assert len(set(scenes(0))) > 2
    per_world = list(zip(*scenes(0)))
    assert len(set(per_world)) == 3, "worlds draw from streams of their own"
    again = two_trials_of_everything(seed=0)
    again.reset()
    again.reset()
    again.reset(seed=0)
    assert tuple(again.scene_index) == scenes(0)[0]
    again.reset()
    assert tuple(again.scene_index) == scenes(0)[1]


def test_cycle_plays_scene_i_plus_e_in_episode_e_of_world_i():
    stages = [coasting_stage([{"goal_step": 1 + k}]) for k in range(5)]
    ids = [0, 3, 4, 11]
    batch = make_batch(stages, 4, scene_order="cycle", world_ids=ids, trial_steps=2)
    batch.reset()
    episode = np.zeros(4, int)
    for call in range(40):
        assert list(batch.scene_index) == [(i + e) % 5 for i, e in zip(ids, episode)]
        if call % 7 == 6:
            batch.reset(worlds=np.array([True, False, False, True]))
            episode += [1, 0, 0, 1]
            continue
        step(batch)
        episode += batch.first[:4]


def test_a_masked_reset_leaves_the_other_worlds_arrays_as_they_were():
    rng = np.random.default_rng(1)
    batch, alone = two_trials_of_everything(), two_trials_of_everything()
    batch.reset()
    alone.reset()
    for call in range(50):
        actions = laws.random_actions(batch, rng)
        batch.step(actions)
        alone.step(actions)
        assert_same_arrays(batch, alone, slice(4, 8), slice(4, 8))
        if call % 3 == 0:
            before = laws.snapshot(batch)
            before_1 = batch.restart_observations()[4:8].copy()
            batch.reset(worlds=np.array([True, False, bool(call % 2)]))
            kept = slice(4, 8) if call % 2 else slice(4, 12)
            for name in laws.SHOWN:
                assert same_bits(getattr(batch, name)[kept], before[name][kept]), name
            assert same_bits(batch.restart_observations()[4:8], before_1)
            assert batch.first[:4].all() and not batch.invalid_step[:4].any()
    before = laws.snapshot(batch)
    batch.reset(worlds=np.zeros(3, bool))
    for name in laws.SHOWN:
        assert same_bits(getattr(batch, name), before[name]), name


def test_a_report_holds_all_agents_of_a_trial_or_none_whenever_it_is_read():
    """Else those who are through with their trial early weigh more than those who still drive."""
    schedule = [{"wall_step": 2}, {"car_step": 3}, {"goal_step": 2}, {}]
    batch = make_batch(coasting_stage(schedule), max_trials=2, trial_steps=9, log_ema_alpha=0.5)
    batch.reset()
    for call in range(1, 41):  # nine driving steps and a restart a trial
        step(batch)
        report, trials = batch.metrics(), (call + 1) // 10
        assert report["trials"] == (4 * trials, 4 * trials)
        for name in ("timeout", "offroad", "collision", "goal", "score"):
            assert report[name].n == 4 * (trials > 0)
            assert not trials or report[name].value == 0.25, f"{name} after call {call}"
        assert [report[f"trial_{k}_score"].n for k in range(2)] == [4 * (trials > k) for k in range(2)]
        assert report["ada_delta_trial_1_minus_0"].n == 4 * (trials > 1)


def test_a_world_whose_trial_is_over_waits_for_no_other_world():
    early = coasting_stage([{"goal_step": 2}, {"wall_step": 3}])
    late = coasting_stage([{"goal_step": 2}, {"wall_step": 5}])
    batch = make_batch([early, late], num_worlds=2, scene_order="cycle", trial_steps=9)
    batch.reset()
    step(batch, 3)
    assert batch.metrics()["trial_length"] == (2.5, 2)
    step(batch, 2)
    assert batch.metrics()["trial_length"] == (3.0, 4)


def test_a_trial_that_reset_cuts_enters_no_metric_whoever_was_through_with_it():
    batch = make_batch(coasting_stage([{"goal_step": 2}, {"wall_step": 5}]), trial_steps=9)
    batch.reset()
    step(batch, 3)
    assert batch.outcome.tolist() == [0, 0] and batch.removed.tolist() == [True, False]
    batch.reset()
    assert all(figure.n == 0 for figure in batch.metrics().values())
    step(batch, 5)
    report = batch.metrics()
    assert report["trial_length"] == (3.5, 2) and report["score"] == (0.5, 2) and report["trials"].n == 2
    step(batch, 4)
    batch.reset()
    assert batch.metrics() == report, "what entered before stays"


@pytest.mark.parametrize("action_type", ["discrete", "multi_discrete", "continuous"])
def test_actions_of_waiting_agents_may_be_anything(action_type):
    tidy, careless = (two_trials_of_everything(action_type=action_type) for _ in range(2))
    rng = np.random.default_rng(4)
    for batch in (tidy, careless):
        batch.reset()
    for _ in range(60):
        actions = laws.random_actions(tidy, rng)
        careless.step(laws.with_garbage_where_agents_wait(careless, actions, rng))
        tidy.step(actions)
        assert_same_arrays(tidy, careless)


BAD_ACTIONS = {
    "discrete": [-1, 91, 10**9, np.iinfo(np.int64).min, 2**32 + 45],
    "multi_discrete": [(7, 0), (0, 13), (-1, 6), (3, -1), (3, 2**32 + 6)],
    "continuous": [(np.nan, 0), (0, np.nan), (np.inf, 0), (0, -np.inf), (1.001, 0), (0, -1.5)],
}


@pytest.mark.parametrize(
    "action_type, bad", [(k, bad) for k, all_bad in BAD_ACTIONS.items() for bad in all_bad]
)
def test_a_bad_action_of_a_driving_agent_names_the_agent_and_nothing_has_moved(action_type, bad):
    batch, twin = (two_trials_of_everything(action_type=action_type) for _ in range(2))
    for b in (batch, twin):
        b.reset()
        step(b)
    for agent in (0, 7, 11):
        if batch.waits[agent]:
            continue
        before, places = laws.snapshot(batch), [batch.vehicles(w) for w in range(3)]
        places = [{name: np.array(values) for name, values in world.items()} for world in places]
        actions = laws.idle_actions(batch)
        actions[agent] = bad
        with pytest.raises(ActionError, match=rf"agent {agent}\b"):
            batch.step(actions)
        for name in laws.SHOWN:
            assert same_bits(getattr(batch, name), before[name]), name
        for w in range(3):
            for name, values in batch.vehicles(w).items():
                assert same_bits(values, places[w][name]), name
    for _ in range(20):
        step(batch)
        step(twin)
        assert_same_arrays(batch, twin)


@pytest.mark.parametrize("action_type", list(BAD_ACTIONS))
def test_a_bad_action_is_found_behind_garbage_of_agents_that_wait(action_type):
    batch = two_trials_of_everything(action_type=action_type)
    rng, refused = np.random.default_rng(5), 0
    batch.reset()
    for _ in range(60):
        waits, drives = np.flatnonzero(batch.waits), np.flatnonzero(~batch.waits)
        if len(waits) and len(drives) and drives[-1] > waits[0]:
            actions = laws.with_garbage_where_agents_wait(batch, laws.idle_actions(batch), rng)
            actions[drives[-1]] = BAD_ACTIONS[action_type][0]
            with pytest.raises(ActionError, match=rf"agent {drives[-1]}\b"):
                batch.step(actions)
            refused += 1
        step(batch)
    assert refused > 5


@pytest.mark.parametrize("action_type, shape, dtype", [
    ("discrete", (11,), np.int64), ("discrete", (13,), np.int64), ("discrete", (12, 2), np.int64),
    ("discrete", (12,), np.float32), ("continuous", (12,), np.float32), ("continuous", (12, 3), np.float32),
    ("multi_discrete", (12,), np.int64),
])
def test_actions_of_the_wrong_shape_or_type_are_refused(action_type, shape, dtype):
    batch = two_trials_of_everything(action_type=action_type)
    batch.reset()
    before = laws.snapshot(batch)
    with pytest.raises(ActionError):
        batch.step(np.zeros(shape, dtype))
    for name in laws.SHOWN:
        assert same_bits(getattr(batch, name), before[name]), name


def test_a_scene_in_which_no_agent_could_drive_is_named_at_construction():
    good = coasting_stage([{"goal_step": 2}])
    nobody = Stage(agents=(), static_vehicles=(Car(0), Car(1)), name="nobody-drives-here")
    with pytest.raises(SceneError, match="nobody-drives-here"):
        make_batch([good, nobody], trial_steps=5)


# -- restart="caller"


def test_caller_restart_leaves_the_last_restart_to_the_caller_and_inner_ones_to_steps():
    stages = [coasting_stage([{"goal_step": 2}, {"wall_step": 1}]), coasting_stage([{"goal_step": 5}, {}])]
    batch = make_batch(stages, 2, max_trials=2, trial_steps=6, restart="caller", scene_order="cycle")
    batch.reset()
    step(batch, 2)
    assert batch.trial_ended[:2].all() and not batch.trial_ended[2:].any()
    step(batch)
    assert batch.invalid_step[:2].all() and (batch.trial_index[:2] == 1).all()
    step(batch, 2)
    assert batch.trial_ended[:2].all() and batch.terminations[0]
    before = laws.snapshot(batch)
    for _ in range(2):
        with pytest.raises(CallError, match=r"world 0\b"):
            step(batch)
        for name in laws.SHOWN:
            assert same_bits(getattr(batch, name), before[name]), name
    with pytest.raises(CallError, match=r"world 0\b"):
        batch.reset(worlds=np.array([False, True]))
        step(batch)
    batch.reset(worlds=np.array([True, False]))
    assert batch.first[:2].all() and not batch.invalid_step[:2].any() and batch.scene_index[0] == 1
    step(batch)
    assert not batch.invalid_step[:2].any()


@pytest.mark.parametrize("max_trials", [1, 3])
def test_caller_restart_shows_the_channels_of_the_contract(max_trials):
    stages = [coasting_stage([{"goal_step": 2}, {"wall_step": 1}]), coasting_stage([{"goal_step": 5}, {}])]
    config = DriveConfig(**BLIND, max_trials=max_trials, trial_steps=6)
    lockstep = Lockstep(stages, config, num_worlds=3, restart="caller")
    lockstep.reset()
    drive(lockstep, 70, pushes["coast"](None))
    lockstep.close()


def test_restart_is_auto_or_caller():
    with pytest.raises(DriveError, match="caller"):
        make_batch(coasting_stage([{}]), restart="never", trial_steps=5)


# -- initial ages


def test_an_age_shortens_the_first_trial_of_an_episode_only_and_books_nothing():
    batch = make_batch(
        coasting_stage([{}, {"wall_step": 2}]), 3, max_trials=2, trial_steps=5, time_left="actor"
    )
    time_left = batch.observation_layout()["ego/time_left"]
    batch.reset(initial_ages=np.array([0, 2, 4]))
    shown = batch.observations[::2, time_left.offset] / time_left.scale
    assert shown == pytest.approx([1, 0.6, 0.2], abs=1e-6)
    places = [batch.vehicles(w)["x_m"][:2].tolist() for w in range(3)]
    assert places == [[0, 0]] * 3, "an age moves nobody"
    ends = [[], [], []]
    for call in range(1, 31):
        step(batch)
        for w in range(3):
            if batch.trial_ended[2 * w]:
                ends[w].append(call)
    # Five driving steps and a restart each, but for the first: 5, 3 and 1 driving steps.
    assert ends == [[5, 11, 17, 23, 29], [3, 9, 15, 21, 27], [1, 7, 13, 19, 25]]
    batch = make_batch(coasting_stage([{}, {"wall_step": 1}]), 2, max_trials=2, trial_steps=5)
    batch.reset(initial_ages=np.array([0, 3]))
    step(batch, 5)
    # World 1 was cut after 2 steps and restarted; its next trial counts, once it is over.
    assert batch.metrics()["trials"].value == 2
    step(batch, 3)
    assert batch.metrics()["trials"].value == 4
    assert (batch.metrics()["trial_0_score"].n, batch.metrics()["trial_1_score"].n) == (2, 2)


@pytest.mark.parametrize("bad", [-1, 5, 10**6, 2**40])
def test_an_age_is_below_the_trial_s_steps(bad):
    batch = make_batch(coasting_stage([{}]), 2, trial_steps=5)
    batch.reset()
    step(batch, 2)
    before = laws.snapshot(batch)
    with pytest.raises(DriveError, match=str(bad)):
        batch.reset(initial_ages=np.array([0, bad]))
    for name in laws.SHOWN:
        assert same_bits(getattr(batch, name), before[name]), name
    batch.reset(initial_ages=np.array([4, 0]))
    step(batch)
    assert list(batch.trial_ended) == [True, False]


# -- restart_observations


def test_restart_observations_are_zero_for_agents_that_drive_are_absent_or_in_their_last_trial():
    batch = make_batch(coasting_stage([{"wall_step": 1}, {"goal_step": 3}]), max_trials=2, trial_steps=5,
                       agents_per_world=3)
    batch.reset()
    assert not batch.restart_observations().any()
    step(batch)
    told = batch.restart_observations().copy()
    assert told[0].any() and not told[1:].any()
    step(batch, 2)
    told = batch.restart_observations().copy()
    assert told[:2].any(axis=1).all() and not told[2].any()
    step(batch)
    assert same_bits(batch.observations, told)
    assert not batch.restart_observations().any()
    step(batch, 3)
    assert batch.trial_ended.all()
    assert not batch.restart_observations().any()


def test_restart_observations_change_nothing():
    looked, plain = two_trials_of_everything(), two_trials_of_everything()
    looked.reset()
    plain.reset()
    rng = np.random.default_rng(0)
    for _ in range(40):
        looked.restart_observations()
        actions = laws.random_actions(plain, rng)
        looked.step(actions)
        plain.step(actions)
        assert_same_arrays(looked, plain)
