"""Does a play obey the contract's laws? Checks for any batch and any policy, from its arrays alone.

`check` tests a record (plays.py) against the laws. No law needs the vehicles' poses: the events are read from the
rewards, whose terms add up to a different number for every set of events.

Laws 1 to 8 and 11 are functions of the play of one world (`LAWS`); law 9 (learner.py) and law 10 compare plays.
"""

from __future__ import annotations

import numpy as np
from plays import SHOWN, UNTOUCHED, snapshot
from world_play import COLLISION, GOAL, NONE, OFFROAD, OTHER, OUTCOMES, TIMEOUT, WorldPlay, columns_of, columns_outside


def law_1_flags_agree(play):
    play.must(~play.truncation | play.trial_ended, "truncation implies trial_ended")
    play.must(
        play.truncations == (play.truncation & play.last_trial), "truncations is truncation in the last trial"
    )
    play.must(~(play.terminations & play.truncations), "terminations and truncations never meet")
    play.must(play.truncation == (play.trial_ended & play.acted & ~play.gone),
              "truncation closes a trial on an agent that still drives")
    play.must(play.terminations == (play.stopped_driving & play.last_trial),
              "terminations marks the event that ends an agent in the last trial")


def law_2_each_agent_ends_once_an_episode(play):
    ends = play.terminations.astype(int) + play.truncations
    play.must(play.trial_index >= 0, "trials count from 0")
    play.must(play.trial_index < play.config.max_trials, "there are max_trials trials")
    for start, stop in play.episodes():
        whole = stop < play.call_count and not play.is_reset[stop]
        closed = play.trial_ended[start:stop].any(axis=1).sum()
        flags = ends[start:stop].sum(axis=0)
        has_vehicle = ~play.absent[start]
        if whole:
            assert closed == play.config.max_trials, (
                f"{closed} trials in the episode of calls {start}..{stop - 1}"
            )
            play.must(flags == has_vehicle, "each agent with a vehicle gets exactly one flag an episode")
        else:
            assert closed <= play.config.max_trials
            play.must(flags <= has_vehicle, "no agent gets two flags in an episode, an absent one none")
    play.must(play.last_trial | (ends == 0), "no flag before the last trial")


def law_3_a_trial_ends_for_all_agents_when_its_world_says(play):
    play.must(play.trial_ended == play.trial_ended[:, :1], "trial_ended is equal on all agents")
    play.must(play.trial_index == play.trial_index[:, :1], "trial_index is equal on all agents")
    play.must(~play.trial_ended | play.is_driving_step[:, None], "only a driving step ends a trial")
    none_drives = play.gone.all(axis=1)
    out_of_time = play.clock >= play.trial_steps
    limit = play.config.stopped_share_limit
    had_vehicle = (~play.absent).sum(axis=1)
    share_full = np.zeros(play.call_count, bool)
    if limit is not None:
        share_full = play.stopped.sum(axis=1) / had_vehicle >= limit
    due = play.is_driving_step & (none_drives | out_of_time | share_full)
    play.must(
        play.trial_ended[:, 0] == due, "a trial ends when no agent drives, by its clock or by the stopped share"
    )


def law_4_invalid_steps_have_no_reward_and_trials_are_recorded_once(play):
    play.must(~play.invalid_step | (play.rewards == 0), "invalid_step implies reward 0")
    play.must(~play.opens_trial[:, None] | (play.rewards == 0), "a restart has reward 0")
    play.must(play.outcome <= OTHER, "outcome is one of its codes")
    recorded = play.outcome != NONE
    play.must(recorded == (play.stopped_driving | play.truncation),
              "outcome is set where an agent stops driving, else where its trial ends")
    for start, stop in play.trials():
        ended = bool(play.trial_ended[start:stop].any())
        has_vehicle = ~play.absent[start]
        count = recorded[start:stop].sum(axis=0)
        play.must(count == has_vehicle if ended else count <= has_vehicle, "a trial is recorded once an agent")
    play.must((play.outcome == TIMEOUT) == play.truncation, "an agent that drives when its trial ends timed out")


def law_5_an_agent_waits_and_then_its_step_is_invalid(play):
    play.must(play.waits == (play.gone | play.trial_ended), "waits is removed, stopped or trial_ended")
    after_step = ~play.is_reset[1:, None]
    play.must(
        ~after_step | (play.invalid_step[1:] == play.waits[:-1]), "invalid_step is waits of the step before"
    )
    play.must(~play.is_reset[:, None] | ~play.invalid_step, "no step was taken at a reset")
    play.must(~(play.removed & play.stopped), "removed and stopped never meet")
    for start, stop in play.trials():
        for name in ("removed", "stopped"):
            flag = getattr(play, name)[start:stop]
            play.must(flag[1:] >= flag[:-1], f"{name} lasts until the restart")
        gone = play.gone[start] & ~play.absent[start]
        assert not gone.any(), f"an agent with a vehicle does not drive after the restart of call {start}"
    play.must(play.absent <= play.removed, "an absent agent is removed")
    zero = (play.observations == 0).all(axis=2)
    play.must(~play.removed | zero, "a removed agent observes exactly zero")
    stays = play.stopped[1:] & play.stopped[:-1] & ~play.opens_trial[1:, None]
    same = (play.observations[1:] == play.observations[:-1]).all(axis=2)
    play.must(~stays | same, "a stopped agent keeps its last observation until the restart")


def law_6_a_restart_is_a_step_that_shows_trial_0_again(play):
    inner = play.is_restart & ~play.opens_episode
    restart = play.is_restart[:, None]
    play.must(~restart | play.invalid_step, "a restart step is invalid on every agent")
    for name in ("terminations", "truncations", "trial_ended", "truncation"):
        play.must(~play.opens_trial[:, None] | ~getattr(play, name), f"a restart or reset raises no {name}")
    play.must(~play.opens_trial[:, None] | (play.outcome == NONE), "a restart or reset records no trial")
    before = np.concatenate([play.trial_index[:1], play.trial_index[:-1]])
    due = np.where(play.opens_episode[:, None], 0, before + inner[:, None])
    play.must(play.trial_index == due, "trial_index counts restarts and starts at 0")
    for t in np.flatnonzero(inner):
        start = play.episode_start[t]
        assert play.scene_index[t] == play.scene_index[start], f"scene changed inside an episode, call {t}"
        aside = ["trial/"] + (["ego/time_left"] if play.age[start] else [])
        same = columns_outside(play.layout, play.observations.shape[2], aside)
        first, again = play.observations[start][:, same], play.observations[t][:, same]
        play.must((first.view(np.uint32) == again.view(np.uint32)).all(axis=1),
                  f"the restart of call {t} shows the first observations of trial 0 bit for bit")
    play.must(play.scene_index == play.scene_index[play.episode_start], "a scene lasts for an episode")


def law_7_first_opens_an_episode_and_nothing_else(play):
    play.must(play.first == play.opens_episode[:, None], "first opens an episode")
    if play.restart == "caller":
        assert not (play.opens_episode & ~play.is_reset).any(), "the caller alone opens episodes"


def law_8_events_are_rewarded_in_their_step(play):
    if play.events is None:
        return
    responses = {
        "goal": play.config.on_goal,
        "collision": play.config.on_collision,
        "offroad": play.config.on_offroad,
    }
    codes = {"goal": GOAL, "collision": COLLISION, "offroad": OFFROAD}
    reached_goal = np.array([["goal" in events for events in agent] for agent in play.events])
    for start, stop in play.trials():
        play.must(reached_goal[start:stop].sum(axis=0) <= 1, "the goal is rewarded once a trial")
    for (t, r), events in np.ndenumerate(play.events):
        ending = [
            name for name in ("collision", "offroad", "goal") if name in events and responses[name] != "ignore"
        ]
        place = f"call {t}, agent {r}: events {sorted(events)}"
        assert bool(ending) == bool(play.stopped_driving[t, r]), (
            f"{place}, but stopped_driving is {play.stopped_driving[t, r]}"
        )
        if ending:
            assert play.outcome[t, r] == codes[ending[0]], f"{place}, outcome {play.outcome[t, r]}"
            removed = any(responses[name] == "remove" for name in ending)
            assert play.removed[t, r] == removed and play.stopped[t, r] != removed, place


def law_11_observations_are_finite_and_inside_the_space(play):
    play.must(np.isfinite(play.observations).all(axis=2), "observations are finite")
    play.must(((play.observations >= play.space.low) & (play.observations <= play.space.high)).all(axis=2),
              "observations are inside the space")
    for block in ("partners", "roads"):
        names = [name for name in play.layout if name.startswith(block + "/")]
        if names:
            # A slot is filled where its kind is above 0.
            filled = play.observations[:, :, columns_of(play.layout[f"{block}/kind"])] > 0
            columns = np.array([columns_of(play.layout[name]) for name in names])
            empty = (play.observations[:, :, columns] == 0).all(axis=2)
            play.must(filled | empty, f"empty slots of {block} are exactly zero")


def trial_features_describe_the_previous_trial(play):
    """Index, outcome and share change in restart steps only; the reward is that of the last acting step."""
    shown = {name: play.observations[:, :, entry.offset] for name, entry in play.layout.items()
             if name.startswith("trial/")}
    expected = {name: np.zeros(shown[name].shape) for name in shown}
    for start, stop in play.episodes():
        reward = np.zeros(play.num_agents)
        outcome = np.full(play.num_agents, NONE)
        share = np.zeros(play.num_agents)
        driven = np.zeros(play.num_agents)
        ended_as = np.full(play.num_agents, NONE)
        for t in range(start, stop):
            if play.opens_trial[t] and t > start:
                outcome, share = ended_as, driven / play.trial_steps[t]
                ended_as, driven = np.full(play.num_agents, NONE), np.zeros(play.num_agents)
            reward = np.where(play.acted[t], play.rewards[t], reward)
            driven = driven + play.acted[t]
            ended_as = np.where(play.outcome[t] != NONE, play.outcome[t], ended_as)
            raw = {"trial/index": play.trial_index[t], "trial/reward": reward, "trial/steps_share": share}
            raw |= {f"trial/outcome_{name}": outcome == code for code, name in enumerate(OUTCOMES)}
            for name, values in expected.items():
                entry = play.layout[name]
                value = np.clip(np.asarray(raw[name], float) * entry.scale, entry.low, 1.0)
                values[t] = np.where(play.removed[t], 0.0, value)
    for name, values in expected.items():
        play.must(np.abs(shown[name] - values) < 1e-6, f"{name} shows the previous trial")


LAWS = (
    law_1_flags_agree,
    law_2_each_agent_ends_once_an_episode,
    law_3_a_trial_ends_for_all_agents_when_its_world_says,
    law_4_invalid_steps_have_no_reward_and_trials_are_recorded_once,
    law_5_an_agent_waits_and_then_its_step_is_invalid,
    law_6_a_restart_is_a_step_that_shows_trial_0_again,
    law_7_first_opens_an_episode_and_nothing_else,
    law_8_events_are_rewarded_in_their_step,
    law_11_observations_are_finite_and_inside_the_space,
    trial_features_describe_the_previous_trial,
)


def a_masked_reset_touches_no_other_world(record):
    for t, did in enumerate(record.did[1:], start=1):
        others = did == UNTOUCHED
        agents = others[record.world_of_agent]
        for name in SHOWN:
            assert np.array_equal(record.shown[t][name][agents], record.shown[t - 1][name][agents]), (
                f"{name} of a world that call {t} did not reset has changed")
        assert np.array_equal(
            record.shown[t]["scene_index"][others], record.shown[t - 1]["scene_index"][others]
        )


def check(record):
    """Raises AssertionError with the name of the law that the play breaks."""
    a_masked_reset_touches_no_other_world(record)
    for world in range(len(record.did[0])):
        play = WorldPlay(record, world)
        for law in LAWS:
            try:
                law(play)
            except AssertionError as broken:
                raise AssertionError(f"world {world}, {law.__name__}: {broken}") from None


def check_call(batch):
    """Raises AssertionError if the arrays after one call break a law; cheap enough for long plays."""
    ended, driving = batch.trial_ended, ~(batch.removed | batch.stopped)
    assert not (batch.truncation & ~ended).any(), "truncation implies trial_ended"
    assert not (batch.terminations & batch.truncations).any(), "terminations and truncations never meet"
    assert (batch.waits == (~driving | ended)).all(), "waits is removed, stopped or trial_ended"
    assert (ended.reshape(batch.num_worlds, -1) == ended[:: batch.agents_per_world, None]).all(), "a trial ends for all"
    assert not batch.rewards[batch.invalid_step].any(), "invalid_step implies reward 0"
    assert (batch.trial_index < batch.config.max_trials).all(), "there are max_trials trials"
    if batch.config.observation.type != "index":
        assert np.isfinite(batch.observations).all(), "observations are finite"
        assert (np.abs(batch.observations) <= 1).all(), "observations are inside the space"
        assert not batch.observations[batch.removed].any(), "a removed agent observes exactly zero"


def check_law_10_a_world_depends_on_no_other(make, ids, others, calls, actions_of, resets=None):
    """Plays the worlds of `ids` together on one thread, then among others; every world must show the same bytes.

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
        for i, shown in _bytes_by_world(make(world_ids, threads), world_ids, calls, actions_of, resets or {}).items():
            assert shown == together[i], f"world {i} among {world_ids} on {threads} threads"
    return together


def _bytes_by_world(batch, world_ids, calls, actions_of, resets):
    found = {i: b"" for i in world_ids}
    batch.reset()
    for call in range(calls):
        worlds = np.array([call in resets.get(i, ()) for i in world_ids])
        if worlds.any():
            batch.reset(worlds=worlds)
        batch.step(np.concatenate([actions_of(i, call) for i in world_ids]))
        shown = snapshot(batch)
        for w, i in enumerate(world_ids):
            agents = batch.world_of_agent == w
            found[i] += b"".join(shown[name][agents].tobytes() for name in SHOWN) + bytes([shown["scene_index"][w]])
    batch.close()
    return found
