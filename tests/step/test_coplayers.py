"""What do co-players change? They are drawn per episode; ends of trials and reports of egos leave them out."""

import numpy as np
import pytest
from scripted_scenes import BRAKE_ACTION, COAST_ACTION, IGNORE_ALL, batch_of, drive, driver, play_randomly, stage

from drive_env import OUTCOMES, Batch, ConfigError, DriveConfig, generate_scene, parallel_env, trial_metrics
from drive_env.api.gym import DriveEnv

TOWN = generate_scene("town", seed=1, agents=8)
SHORT = {"trial_steps": 6, "max_trials": 2}


def egos_first(x_goal_m=5.0, count=3, coplayers=1, **choices):
    """A batch, reset with a seed that makes its last agents the co-players; goals are `x_goal_m` ahead, at 10 m/s."""
    goals = [(x_goal_m, 20.0 * i) for i in range(count)]
    scene = stage([driver(0.0, 20.0 * i, speed_mps=10.0, goal_m=goal) for i, goal in enumerate(goals)])
    batch = batch_of(scene, coplayers=coplayers, **choices)
    for seed in range(200):
        batch.reset(seed=seed)
        if batch.coplayer[count - coplayers:].all():
            return batch
    raise AssertionError("no seed draws the last agents")


# ---- draws ----


@pytest.mark.parametrize("coplayers, expected", [(1, 1), (3, 3), (7, 7), (0.25, 2), (0.3, 2), (0.99, 7), (0.01, 0)])
def test_each_episode_draws_as_many_as_the_config_says(coplayers, expected):
    batch = batch_of(TOWN, num_worlds=6, coplayers=coplayers, **SHORT)
    drawn = [batch.coplayer.reshape(6, 8).copy()]
    for _ in play_randomly(batch, 40):
        drawn.append(batch.coplayer.reshape(6, 8).copy())
        if not batch.first.any():
            assert (drawn[-1] == drawn[-2]).all()
    assert (np.array(drawn).sum(axis=2) == expected).all()


def test_every_agent_is_as_likely_as_any_other():
    """Three of eight in 3,000 episodes: a share of 3/8 within five standard errors, and pairs as of random subsets."""
    batch = batch_of(stage([driver(0.0, 9.0 * i) for i in range(8)]), num_worlds=300, coplayers=3)
    drawn = []
    for _ in range(10):
        batch.reset()
        drawn.append(batch.coplayer.reshape(300, 8).copy())
    drawn = np.concatenate(drawn).astype(float)
    shares, pairs = drawn.mean(axis=0), drawn.T @ drawn / len(drawn)
    assert np.abs(shares - 3 / 8).max() < 5 * np.sqrt(3 / 8 * 5 / 8 / 3000)
    assert np.abs(pairs[~np.eye(8, dtype=bool)] - 3 / 28).max() < 5 * np.sqrt(3 / 28 * 25 / 28 / 3000)


def test_co_players_change_no_other_draw_and_no_motion():
    """Candidate goals, weights and hidden values are drawn as without them."""
    choices = {"reward_ranges": {"goal": (0.5, 1.5)}, "hidden": {"steering_gain": (0.5, 1.5)}, **IGNORE_ALL, **SHORT}
    plain, with_coplayers = batch_of(TOWN, **choices), batch_of(TOWN, coplayers=3, **choices)
    for _ in zip(play_randomly(plain, 20), play_randomly(with_coplayers, 20)):
        for name, array in plain._core.arrays.items():
            assert (array == with_coplayers._core.arrays[name]).all(), name


def test_absent_agents_are_never_drawn():
    batch = batch_of([stage([driver(), driver(0.0, 9.0)])], num_worlds=20, coplayers=1, agents_per_world=4)
    assert (batch.coplayer.reshape(20, 4).sum(axis=1) == 1).all() and not batch.coplayer.reshape(20, 4)[:, 2:].any()


# ---- trials ----


@pytest.mark.parametrize("max_trials", [1, 2])
def test_a_trial_ends_with_the_last_ego_and_cuts_the_co_players(max_trials):
    """Egos reach their goals, 5 m ahead; the co-player, whose goal is as near, is held back by full braking."""
    batch = egos_first(max_trials=max_trials, on_goal="stop")
    actions = np.array([COAST_ACTION, COAST_ACTION, BRAKE_ACTION])
    while not batch.trial_ended.any():
        batch.step(actions)
    last = max_trials == 1
    assert batch.trial_ended.all()
    assert [OUTCOMES[code] for code in batch.outcome] == ["goal", "goal", "timeout"]
    assert batch.truncation.tolist() == [False, False, True]
    assert batch.truncations.tolist() == [False, False, last]
    assert batch.terminations.tolist() == [last, last, False]


def test_an_event_of_a_co_player_is_its_own():
    """It stops at its goal while the egos brake; its channels are those of any agent."""
    batch = egos_first(on_goal="stop")
    actions = np.array([BRAKE_ACTION, BRAKE_ACTION, COAST_ACTION])
    while not batch.stopped[2]:
        batch.step(actions)
    assert not batch.trial_ended.any() and batch.terminations.tolist() == [False, False, True]
    assert batch.rewards[2] == 1.0


def test_the_share_of_stopped_agents_is_of_egos():
    """The first two of four agents stop: 2/3 of the egos where one agent is a co-player, all egos where two are."""
    for coplayers, ends in ((1, False), (2, True)):
        batch = egos_first(count=4, coplayers=coplayers, on_goal="stop", stopped_share_limit=0.9)
        actions = np.array([COAST_ACTION, COAST_ACTION, BRAKE_ACTION, BRAKE_ACTION])
        while not batch.stopped[:2].all():
            batch.step(actions)
        assert batch.trial_ended.all() == ends


# ---- reports ----


def test_reports_are_of_egos_or_of_co_players():
    """Every trial is in one of the two reports, by who drove; records have it too."""
    batch = Batch(TOWN, num_worlds=3, trial_records=50, config=DriveConfig(coplayers=3, log_ema_alpha=0.0, **SHORT))
    batch.reset()
    for _ in play_randomly(batch, 80):
        pass
    records = {of: batch.metrics(by="world", of=of) for of in ("ego", "coplayer")}
    averages = {of: batch.metrics(of=of) for of in ("ego", "coplayer")}
    held = batch.trial_records()
    assert held["coplayer"].reshape(-1, 8).sum(axis=1).tolist() == [3] * (len(held) // 8)
    for of, share in (("ego", 5), ("coplayer", 3)):
        chosen = held[held["coplayer"] == (of == "coplayer")]
        assert averages[of]["trials"].value == len(chosen) == share * len(held) // 8
        assert trial_metrics(held, of=of)["distance_m"].n == len(set(chosen["agent"].tolist()))
        assert sum(report["trials"].n for report in records[of].values()) == len(chosen)
        # with no memory, an average is the agent's last trial of the index
        last = {(one["agent"], one["trial"]): one["distance_m"] for one in chosen}
        agents = {agent: np.mean([value for (owner, _), value in last.items() if owner == agent])
                  for agent, _ in last}
        assert averages[of]["distance_m"].value == pytest.approx(np.mean(list(agents.values())), rel=1e-5)


def test_a_batch_without_co_players_has_reports_of_egos_alone():
    batch = Batch(TOWN, trial_records=5, config=DriveConfig(**SHORT))
    batch.reset()
    for _ in play_randomly(batch, 20):
        pass
    assert batch.metrics(of="coplayer")["score"].n == 0 and batch.metrics()["trials"].n > 0
    assert not batch.trial_records()["coplayer"].any()
    with pytest.raises(ConfigError, match="of is 'all'; it must be 'ego' or 'coplayer'"):
        batch.metrics(of="all")


# ---- calls ----


def test_infos_tell_who_is_a_co_player():
    env = parallel_env(scenes=TOWN, config={"coplayers": 3})
    for seed in range(3):
        infos = env.reset(seed=seed)[1]
        assert [info["coplayer"] for info in infos.values()] == env.batch.coplayer.tolist()
        assert sum(info["coplayer"] for info in infos.values()) == 3


def test_an_ego_must_be_left():
    with pytest.raises(ConfigError, match="coplayers is 8; scene .* has 8 agents, .* so it must be at most 7"):
        Batch(TOWN, config={"coplayers": 8})
    with pytest.raises(ConfigError, match="coplayers is 1; this API has no other agent"):
        DriveEnv("intersection", config={"coplayers": 1})
    with Batch(TOWN) as batch, pytest.raises(AttributeError, match="coplayers above 0 only; that of this one is 0"):
        batch.coplayer  # noqa: B018


def test_a_co_player_drives_on_with_the_trial():
    batch = egos_first(x_goal_m=10_000.0, trial_steps=5)
    drive(batch, 5)
    assert batch.truncation.all()
