"""Do laws 6, 8, 9 and 10 hold in scripted scenes, in which the step of every event is known?"""

import laws
import learner
import numpy as np
import pytest
import rollouts
import world_rollout
from contract_batches import FEW_SLOTS, make_batch, same_bits, step, two_trials_of_everything
from integer_scenes import LONG, NOTCH_M, Car, actions_for, coasting_stage, make_scene

import drive_env
from drive_env.config import RewardConfig
from drive_env.scenes import scene as scene_module


def scene_with_log_replays(agents, log_replays, valid):
    """A scene with a log: agents that start in frame 0, and log-replay vehicles as (lane, notch of every frame)."""
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


def test_law_6_after_the_last_trial_the_restart_has_the_observations_of_a_reset():
    """The next episode is the same whether `reset` follows the end of the episode or cuts it."""
    batch = two_trials_of_everything(seed=5)
    batch.reset()
    # First observations and scenes of the next episodes, and when the first episode of each world ended.
    ends, episodes = np.full(3, -1), [[], [], []]
    for call in range(60):
        step(batch)
        for w in range(3):
            agents = slice(4 * w, 4 * w + 4)
            if batch.first[agents][0]:
                episodes[w].append((batch.observations[agents].copy(), int(batch.scene_index[w])))
                ends[w] = call if ends[w] < 0 else ends[w]
    assert len({scene for world in episodes for _, scene in world}) > 1
    # The same after a reset in the middle of the first episode, or at its end.
    for calls in (0, 1, 5, *sorted(set(ends))):
        reference = two_trials_of_everything(seed=5)
        reference.reset()
        step(reference, calls)
        worlds = ends >= calls
        reference.reset(worlds=worlds)
        for w in np.flatnonzero(worlds):
            agents = slice(4 * w, 4 * w + 4)
            observations, scene = episodes[w][0]
            assert reference.scene_index[w] == scene, f"world {w} after {calls} calls"
            assert same_bits(reference.observations[agents], observations), f"world {w} after {calls} calls"
            assert reference.first[agents].all() and not reference.invalid_step[agents].any()
        if worlds.all():
            reference.reset()
            for w in range(3):
                assert reference.scene_index[w] == episodes[w][1][1]


def test_law_6_a_log_rewinds_with_its_world():
    """A log of 13 frames: one vehicle backs up a notch a frame, the other leaves the map after 4 frames."""
    frames = 13
    agents = [Car(0, speed=60), Car(1, speed=60)]
    ahead, beside = 700 - np.arange(frames), np.full(frames, 560)
    valid = np.ones((frames, 4), bool)
    valid[4:, 3] = False
    valid[1:, :2] = False
    scene = scene_with_log_replays(agents, [(0, ahead), (1, beside)], valid)
    config = FEW_SLOTS.replace(max_trials=3)
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
            # 700 - k - 60 k <= 300.5 from k = 7 on; the other vehicle is off the map before agent 1 reaches it.
            assert batch.rewards[0] == (np.float32(-0.5) if k == 7 else 0)
            assert batch.rewards[1] == 0
            assert batch.trial_ended.all() == (k == frames - 1), "a trial lasts as long as the log"
        step(batch)
        same = world_rollout.columns_outside(batch.observation_layout(), first.shape[1], ["trial/"])
        assert same_bits(batch.observations[:, same], first[:, same])


def test_law_8_the_goal_is_rewarded_in_its_step_and_a_time_limit_is_not():
    batch = make_batch(coasting_stage([{"goal_step": 3}, {}]), max_trials=2, trial_steps=5, on_goal="ignore",
                       reward=RewardConfig(goal=2.5))
    batch.reset()
    for _ in range(4):
        for k in range(1, 6):
            step(batch)
            assert (batch.rewards[0], batch.rewards[1]) == (2.5 if k == 3 else 0, 0)
        assert batch.truncation.all()
        step(batch)


def test_law_9_observations_of_waiting_agents_change_no_number_of_a_learner():
    record = rollouts.collect(two_trials_of_everything(), FEW_SLOTS.replace(max_trials=2, trial_steps=6),
                              rollouts.POLICIES["coast"], 60, reset_share=0.05)
    learner.check_law_9(record)


def test_law_9_the_observation_after_a_truncation_is_the_bootstrap():
    batch = make_batch(coasting_stage([{}, {"goal_step": 1}]), trial_steps=3)
    record = rollouts.collect(batch, FEW_SLOTS.replace(trial_steps=3), rollouts.POLICIES["coast"], 3)
    numbers = learner.learner_advantages(record, "through")
    record.arrays[3]["observations"][0] = np.nan
    spoilt = learner.learner_advantages(record, "through")
    assert np.isnan(spoilt[3, 0]) and np.isfinite(numbers).all()
    assert same_bits(spoilt[:, 1], numbers[:, 1])


def test_law_10_a_world_does_not_depend_on_the_others_of_its_batch():
    rng = np.random.default_rng(2)
    ids = [0, 1, 2, 3, 7, 1000, 2**40]
    pushes = {i: rng.integers(0, 7, (60, 4)) for i in ids}
    resets = {i: set(rng.choice(60, 2, replace=False)) for i in ids}
    stages = [
        coasting_stage([{"goal_step": 3}, {"wall_step": 2}, {"car_step": 4}, {}]),
        coasting_stage([{"goal_step": 5}, {}]),
        coasting_stage([{"wall_step": 6}, {}, {"goal_step": 1}]),
    ]

    def make(world_ids, threads):
        return make_batch(stages, len(world_ids), max_trials=2, trial_steps=6, seed=9, world_ids=world_ids,
                          threads=threads)

    together = laws.check_law_10_a_world_depends_on_no_other(
        make, ids, [(ids, 4), (ids[::-1], 2), ([7], 1), ([1000, 0], 3), ([2**40, 3, 1], 2)], 60,
        lambda i, call: actions_for("discrete", pushes[i][call]), resets)
    assert len(set(together.values())) == len(ids)
