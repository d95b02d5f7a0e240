"""Does a rollout obey the contract's laws? Checks for any batch and any policy, from its arrays alone.

Law n is invariant n of docs/channels.md. `check` tests a record (rollouts.py) against the laws. No law needs the
vehicles' poses: the events are read from the rewards, whose terms add up to a different number for every set of events.

Laws 1 to 8 and 11 are functions of the rollout of one world (`LAWS`); law 9 (learner.py) and law 10 compare rollouts.
"""

from __future__ import annotations

import numpy as np
from rollouts import ARRAYS, UNTOUCHED, snapshot
from world_rollout import (
    COLLISION,
    GOAL,
    NONE,
    OFFROAD,
    OTHER,
    OUTCOMES,
    TIMEOUT,
    WorldRollout,
    columns_of,
    columns_outside,
)

from drive_env.config import FOLLOWED_GOALS


def law_1_flags_agree(rollout):
    rollout.check(~rollout.truncation | rollout.trial_ended, "truncation implies trial_ended")
    rollout.check(
        rollout.truncations == (rollout.truncation & rollout.last_trial), "truncations is truncation in the last trial"
    )
    rollout.check(~(rollout.terminations & rollout.truncations), "terminations and truncations exclude each other")
    rollout.check(rollout.truncation == (rollout.trial_ended & rollout.acted & ~rollout.gone),
                  "truncation closes a trial on an agent that still drives")
    rollout.check(rollout.terminations == (rollout.stopped_driving & rollout.last_trial),
                  "terminations marks the event that ends an agent in the last trial")


def law_2_each_agent_ends_once_an_episode(rollout):
    ends = rollout.terminations.astype(int) + rollout.truncations
    rollout.check(rollout.trial_index >= 0, "trials count from 0")
    rollout.check(rollout.trial_index < rollout.config.max_trials, "there are max_trials trials")
    for start, stop in rollout.episodes():
        whole = stop < rollout.call_count and not rollout.is_reset[stop]
        closed = rollout.trial_ended[start:stop].any(axis=1).sum()
        flags = ends[start:stop].sum(axis=0)
        has_vehicle = ~rollout.absent[start]
        if whole:
            assert closed == rollout.config.max_trials, (
                f"{closed} trials in the episode of calls {start}..{stop - 1}"
            )
            rollout.check(flags == has_vehicle, "each agent with a vehicle gets exactly one flag an episode")
        else:
            assert closed <= rollout.config.max_trials
            rollout.check(flags <= has_vehicle, "no agent gets two flags in an episode, an absent one none")
    rollout.check(rollout.last_trial | (ends == 0), "no flag before the last trial")


def law_3_a_trial_ends_for_all_agents_in_the_same_step(rollout):
    rollout.check(rollout.trial_ended == rollout.trial_ended[:, :1], "trial_ended is equal on all agents")
    rollout.check(rollout.trial_index == rollout.trial_index[:, :1], "trial_index is equal on all agents")
    rollout.check(~rollout.trial_ended | rollout.is_driving_step[:, None], "only a driving step ends a trial")
    none_drives = rollout.gone.all(axis=1)
    out_of_time = rollout.clock >= rollout.trial_steps
    limit = rollout.config.stopped_share_limit
    had_vehicle = (~rollout.absent).sum(axis=1)
    share_full = np.zeros(rollout.call_count, bool)
    if limit is not None:
        share_full = rollout.stopped.sum(axis=1) / had_vehicle >= limit
    due = rollout.is_driving_step & (none_drives | out_of_time | share_full)
    rollout.check(
        rollout.trial_ended[:, 0] == due, "a trial ends when no agent drives, by its clock or by the stopped share"
    )


def law_4_invalid_steps_have_no_reward_and_trials_are_recorded_once(rollout):
    rollout.check(~rollout.invalid_step | (rollout.rewards == 0), "invalid_step implies reward 0")
    rollout.check(~rollout.opens_trial[:, None] | (rollout.rewards == 0), "a restart has reward 0")
    rollout.check(rollout.outcome <= OTHER, "outcome is one of its codes")
    recorded = rollout.outcome != NONE
    rollout.check(recorded == (rollout.stopped_driving | rollout.truncation),
                  "outcome is set where an agent stops driving, else where its trial ends")
    for start, stop in rollout.trials():
        ended = bool(rollout.trial_ended[start:stop].any())
        has_vehicle = ~rollout.absent[start]
        count = recorded[start:stop].sum(axis=0)
        rollout.check(count == has_vehicle if ended else count <= has_vehicle, "a trial is recorded once an agent")
    rollout.check((rollout.outcome == TIMEOUT) == rollout.truncation,
                  "an agent that drives when its trial ends timed out")


def law_5_an_agent_waits_and_then_its_step_is_invalid(rollout):
    rollout.check(rollout.waits == (rollout.gone | rollout.trial_ended), "waits is removed, stopped or trial_ended")
    after_step = ~rollout.is_reset[1:, None]
    due = rollout.waits[:-1] | rollout.disturbed[1:]
    rollout.check(~after_step | (rollout.invalid_step[1:] == due),
                  "invalid_step is waits of the step before, or a disturbance was on")
    rollout.check(~rollout.is_reset[:, None] | ~rollout.invalid_step, "no step was taken at a reset")
    rollout.check(~(rollout.removed & rollout.stopped), "removed and stopped exclude each other")
    for start, stop in rollout.trials():
        for name in ("removed", "stopped"):
            flag = getattr(rollout, name)[start:stop]
            rollout.check(flag[1:] >= flag[:-1], f"{name} lasts until the restart")
        gone = rollout.gone[start] & ~rollout.absent[start]
        assert not gone.any(), f"an agent with a vehicle does not drive after the restart of call {start}"
    rollout.check(rollout.absent <= rollout.removed, "an absent agent is removed")
    zero = (rollout.observations == 0).all(axis=2)
    rollout.check(~rollout.removed | zero, "a removed agent observes exactly zero")
    stays = rollout.stopped[1:] & rollout.stopped[:-1] & ~rollout.opens_trial[1:, None]
    same = (rollout.observations[1:] == rollout.observations[:-1]).all(axis=2)
    rollout.check(~stays | same, "a stopped agent keeps its last observation until the restart")


def law_6_a_restart_is_a_step_that_observes_trial_0_again(rollout):
    inner = rollout.is_restart & ~rollout.opens_episode
    restart = rollout.is_restart[:, None]
    rollout.check(~restart | rollout.invalid_step, "a restart step is invalid on every agent")
    for name in ("terminations", "truncations", "trial_ended", "truncation"):
        rollout.check(~rollout.opens_trial[:, None] | ~getattr(rollout, name), f"a restart or reset raises no {name}")
    rollout.check(~rollout.opens_trial[:, None] | (rollout.outcome == NONE), "a restart or reset records no trial")
    before = np.concatenate([rollout.trial_index[:1], rollout.trial_index[:-1]])
    due = np.where(rollout.opens_episode[:, None], 0, before + inner[:, None])
    rollout.check(rollout.trial_index == due, "trial_index counts restarts and starts at 0")
    for t in np.flatnonzero(inner):
        start = rollout.episode_start[t]
        assert rollout.scene_index[t] == rollout.scene_index[start], f"scene changed inside an episode, call {t}"
        aside = ["trial/"] + (["ego/time_left"] if rollout.age[start] else [])
        same = columns_outside(rollout.layout, rollout.observations.shape[2], aside)
        first, again = rollout.observations[start][:, same], rollout.observations[t][:, same]
        rollout.check((first.view(np.uint32) == again.view(np.uint32)).all(axis=1),
                      f"the restart of call {t} shows the first observations of trial 0 bit for bit")
    rollout.check(rollout.scene_index == rollout.scene_index[rollout.episode_start], "a scene lasts for an episode")


def law_7_first_opens_an_episode_and_nothing_else(rollout):
    rollout.check(rollout.first == rollout.opens_episode[:, None], "first opens an episode")
    if rollout.restart == "caller":
        assert not (rollout.opens_episode & ~rollout.is_reset).any(), "the caller alone opens episodes"


def law_8_events_are_rewarded_in_their_step(rollout):
    # the response to each event, and the outcome that it stands for
    if rollout.events is None:
        return
    responses = {
        "goal": rollout.config.on_goal,
        "collision": rollout.config.on_collision,
        "offroad": rollout.config.on_offroad,
    }
    codes = {"goal": GOAL, "collision": COLLISION, "offroad": OFFROAD}
    # one goal a trial, unless another one follows
    reached_goal = np.array([["goal" in events for events in agent] for agent in rollout.events])
    for start, stop in rollout.trials():
        if responses["goal"] not in FOLLOWED_GOALS:
            rollout.check(reached_goal[start:stop].sum(axis=0) <= 1, "the goal is rewarded once a trial")
    for (t, r), events in np.ndenumerate(rollout.events):
        if rollout.disturbed[t, r]:
            continue  # its reward is 0 whatever happened
        if rollout.config.on_goal in FOLLOWED_GOALS:
            # Channels do not tell whether another goal follows; where none does, the agent is removed.
            responses["goal"] = "remove" if rollout.stopped_driving[t, r] and rollout.removed[t, r] else "ignore"
        # the agent stops driving with the first of these events that has a response, which is its outcome
        ending = [
            name for name in ("collision", "offroad", "goal") if name in events and responses[name] != "ignore"
        ]
        place = f"call {t}, agent {r}: events {sorted(events)}"
        assert bool(ending) == bool(rollout.stopped_driving[t, r]), (
            f"{place}, but stopped_driving is {rollout.stopped_driving[t, r]}"
        )
        if ending:
            assert rollout.outcome[t, r] == codes[ending[0]], f"{place}, outcome {rollout.outcome[t, r]}"
            removed = any(responses[name] == "remove" for name in ending)
            assert rollout.removed[t, r] == removed and rollout.stopped[t, r] != removed, place


def law_11_observations_are_finite_and_inside_the_space(rollout):
    rollout.check(np.isfinite(rollout.observations).all(axis=2), "observations are finite")
    inside = (rollout.observations >= rollout.space.low) & (rollout.observations <= rollout.space.high)
    rollout.check(inside.all(axis=2), "observations are inside the space")
    for block in ("partners", "roads"):
        names = [name for name in rollout.layout if name.startswith(block + "/")]
        if names:
            # A slot is filled where its kind is above 0.
            filled = rollout.observations[:, :, columns_of(rollout.layout[f"{block}/kind"])] > 0
            columns = np.array([columns_of(rollout.layout[name]) for name in names])
            empty = (rollout.observations[:, :, columns] == 0).all(axis=2)
            rollout.check(filled | empty, f"empty slots of {block} are exactly zero")


def trial_features_describe_the_previous_trial(rollout):
    """Index, outcome and share change in restart steps only; the reward is that of the last acting step."""
    # the features in every step, unscaled
    raw = {name: np.zeros(rollout.rewards.shape) for name in
           ("index", "reward", "steps_share", *(f"outcome_{outcome}" for outcome in OUTCOMES))}
    for start, stop in rollout.episodes():
        reward = np.zeros(rollout.num_agents)
        outcome = np.full(rollout.num_agents, NONE)
        share = np.zeros(rollout.num_agents)
        driven = np.zeros(rollout.num_agents)
        ended_as = np.full(rollout.num_agents, NONE)
        for t in range(start, stop):
            if rollout.opens_trial[t] and t > start:
                outcome, share = ended_as, driven / rollout.trial_steps[t]
                ended_as, driven = np.full(rollout.num_agents, NONE), np.zeros(rollout.num_agents)
            reward = np.where(rollout.acted[t] & ~rollout.disturbed[t], rollout.rewards[t], reward)
            driven = driven + rollout.acted[t]
            ended_as = np.where(rollout.outcome[t] != NONE, rollout.outcome[t], ended_as)
            raw["index"][t], raw["reward"][t], raw["steps_share"][t] = rollout.trial_index[t], reward, share
            for code, name in enumerate(OUTCOMES):
                raw[f"outcome_{name}"][t] = outcome == code
    # those that are observed
    for name, entry in rollout.layout.items():
        if name.startswith("trial/"):
            values = raw[name.removeprefix("trial/")]
            expected = np.where(rollout.removed, 0.0, np.clip(values * entry.scale, entry.low, 1.0))
            observed = rollout.observations[:, :, entry.offset]
            rollout.check(np.abs(observed - expected) < 1e-6, f"{name} is of the previous trial")


LAWS = (
    law_1_flags_agree,
    law_2_each_agent_ends_once_an_episode,
    law_3_a_trial_ends_for_all_agents_in_the_same_step,
    law_4_invalid_steps_have_no_reward_and_trials_are_recorded_once,
    law_5_an_agent_waits_and_then_its_step_is_invalid,
    law_6_a_restart_is_a_step_that_observes_trial_0_again,
    law_7_first_opens_an_episode_and_nothing_else,
    law_8_events_are_rewarded_in_their_step,
    law_11_observations_are_finite_and_inside_the_space,
    trial_features_describe_the_previous_trial,
)


def a_masked_reset_touches_no_other_world(record):
    for t, did in enumerate(record.did[1:], start=1):
        others = did == UNTOUCHED
        agents = others[record.world_of_agent]
        for name in ARRAYS:
            assert np.array_equal(record.arrays[t][name][agents], record.arrays[t - 1][name][agents]), (
                f"{name} of a world that call {t} did not reset has changed")
        assert np.array_equal(
            record.arrays[t]["scene_index"][others], record.arrays[t - 1]["scene_index"][others]
        )


def check(record):
    """Raises AssertionError with the name of the law that the rollout breaks."""
    a_masked_reset_touches_no_other_world(record)
    for world in range(len(record.did[0])):
        rollout = WorldRollout(record, world)
        for law in LAWS:
            try:
                law(rollout)
            except AssertionError as broken:
                raise AssertionError(f"world {world}, {law.__name__}: {broken}") from None


def check_call(batch):
    """Raises AssertionError if the arrays after one call break a law; cheap enough for long rollouts."""
    ended, driving = batch.trial_ended, ~(batch.removed | batch.stopped)
    assert not (batch.truncation & ~ended).any(), "truncation implies trial_ended"
    assert not (batch.terminations & batch.truncations).any(), "terminations and truncations exclude each other"
    assert (batch.waits == (~driving | ended)).all(), "waits is removed, stopped or trial_ended"
    assert (ended.reshape(batch.num_worlds, -1) == ended[:: batch.agents_per_world, None]).all(), "a trial ends for all"
    assert not batch.rewards[batch.invalid_step].any(), "invalid_step implies reward 0"
    assert (batch.trial_index < batch.config.max_trials).all(), "there are max_trials trials"
    if batch.config.observation.type != "index":
        assert np.isfinite(batch.observations).all(), "observations are finite"
        assert (np.abs(batch.observations) <= 1).all(), "observations are inside the space"
        assert not batch.observations[batch.removed].any(), "a removed agent observes exactly zero"


def check_law_10_a_world_depends_on_no_other(make, ids, others, calls, actions_of, resets=None):
    """Plays the worlds of `ids` together on one thread, then among others; every world must have the same bytes.

    Args:
        make: function of (world_ids, threads) to a batch.
        others: the (world_ids, threads) to compare.
        actions_of: function of (world id, call) to the actions of the world's agents.
        resets: the calls before which the world of an id is reset, by id.

    Returns:
        The bytes of every world, by id.
    """
    together = _bytes_by_world(make(ids, 1), ids, calls, actions_of, resets or {})
    for world_ids, threads in others:
        for i, arrays in _bytes_by_world(make(world_ids, threads), world_ids, calls, actions_of, resets or {}).items():
            assert arrays == together[i], f"world {i} among {world_ids} on {threads} threads"
    return together


def _bytes_by_world(batch, world_ids, calls, actions_of, resets):
    found = {i: b"" for i in world_ids}
    batch.reset()
    for call in range(calls):
        worlds = np.array([call in resets.get(i, ()) for i in world_ids])
        if worlds.any():
            batch.reset(worlds=worlds)
        batch.step(np.concatenate([actions_of(i, call) for i in world_ids]))
        arrays = snapshot(batch)
        for w, i in enumerate(world_ids):
            agents = batch.world_of_agent == w
            found[i] += b"".join(arrays[name][agents].tobytes() for name in ARRAYS) + bytes([arrays["scene_index"][w]])
    batch.close()
    return found
