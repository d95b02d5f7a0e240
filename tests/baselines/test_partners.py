"""Do frozen partners drive the co-players, alike after a resume, and is nothing learned from their steps?"""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import ALONE, BUSY, LONG, TINY, clone, make_collector, make_policy, tiny_config
from test_losses import CONFIG, NAN, differing, learned, spoiled
from test_parity import gaps

from baselines.config import ModelConfig, PartnerConfig, TrainConfig
from baselines.evaluate import episode_records, evaluate, policy_of
from baselines.partners import loaded
from baselines.partners.draws import Assignment, combined, uniform
from baselines.partners.driver import Partner, PartnerDriver, Partners
from baselines.partners.loaded import load_partners, with_partners
from baselines.policy.heads import DiscreteHead, GaussianHead
from baselines.policy.runner import PolicyRunner
from baselines.ppo import Learner, make_optimizer, train
from baselines.rollout.batches import scenes_of
from baselines.tools import checkpoint
from baselines.tools.checkpoint import CheckpointError
from baselines.tools.checkpoint_values import check_values, rollout_ranges
from drive_env import Batch, ConfigError

CPU = torch.device("cpu")
SHARED = replace(BUSY, drive=BUSY.drive.replace(coplayers=3))
"""Half of the agents of each world are co-players."""

OTHER = ModelConfig(width=24, layers=1, heads=3, object_width=8, context=60, critic="separate")
"""A partner of another shape than `TINY`."""


def made(batch, *models, **choices):
    """Partners of these shapes, whose behaviour depends on what they remember."""
    return Partners(tuple(Partner(make_policy(batch, model, seed=10 + index), Path(f"{index}"), f"{index:064x}", 1, 1)
                          for index, model in enumerate(models)), PartnerConfig(**choices))


def shared_collector(env=SHARED, models=(TINY, OTHER), choices=None, **options):
    with Batch(scenes_of(env), config=env.drive) as batch:
        return make_collector(env, partners=made(batch, *models, **(choices or {})), **options)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folders of two runs, whose rewards and networks differ."""
    root = tmp_path_factory.mktemp("partners")
    short = {"ppo": {"agent_steps": 500}}
    train(tiny_config(root / "one", **short))
    train(tiny_config(root / "other", model={"width": 24, "heads": 3, "context": 60},
                      env={"drive": {"reward": {"collision": -2.0}}}, run={"seed": 1}, **short))
    return root / "one", root / "other"


def shared_config(folder, trained, **parts):
    """A short run among both partners."""
    return tiny_config(folder, env={"drive": {"coplayers": 3}}, partners={"checkpoints": trained}).changed(**parts)


# ---- draws ----


def opened(num_worlds, episodes, partners=3, per_world=1, **choices):
    """The partners of all agents and the keys of their noise in each episode, (episodes, R) and (episodes, R, 2)."""
    drive = BUSY.drive.replace(coplayers=3, max_trials=1, trial_steps=2)
    with Batch(scenes_of(BUSY), num_worlds=num_worlds, config=drive, **choices) as batch:
        assignment = Assignment(batch, partners, per_world)
        found = []
        batch.reset()
        while len(found) < episodes:
            if assignment.advance():
                found.append((assignment.partner.copy(), assignment.keys.copy(), batch.coplayer.copy()))
            batch.step(np.zeros_like(batch.actions))
        return [np.array(one) for one in zip(*found)]


def test_partners_drive_co_players_alone_and_all_equally_often():
    partner, keys, coplayer = opened(64, 8)
    assert ((partner >= 0) == coplayer).all()
    shares = np.bincount(partner[coplayer]) / coplayer.sum()
    assert len(shares) == 3 and abs(shares - 1 / 3).max() < 0.08
    of_world = partner.reshape(8, 64, 6)
    drawn = [[set(world[world >= 0]) for world in episode] for episode in of_world]
    assert all(len(one) == 1 for episode in drawn for one in episode)
    assert 0.2 < np.mean([one == other for one, other in zip(drawn[0], drawn[1])]) < 0.5
    assert len(np.unique(keys.reshape(-1, 2), axis=0)) == keys.size // 2, "a stream of noise for each agent and episode"


def test_a_world_has_as_many_partners_as_is_drawn():
    partner, _, _ = opened(128, 4, partners=4, per_world=3)
    counts = np.array([len(set(world[world >= 0])) for world in partner.reshape(-1, 6)])
    # Of three co-players with two partners, one partner drives all three in 1/4 of the episodes; with three, in 1/9.
    assert abs(np.bincount(counts, minlength=4)[1:] / len(counts) - [1 / 3 + 1 / 12 + 1 / 27,
                                                                      1 / 4 + 2 / 9, 2 / 27]).max() < 0.07


def test_the_draws_of_a_world_do_not_depend_on_the_other_worlds():
    whole = opened(6, 4, partners=4, per_world=2)
    part = opened(2, 4, partners=4, per_world=2, world_ids=[3, 5])
    for one, other in zip(whole[:2], part[:2]):
        assert (one.reshape(4, 6, 6, -1)[:, [3, 5]] == other.reshape(4, 2, 6, -1)).all()
    assert (whole[0] != opened(6, 4, partners=4, per_world=2, seed=1)[0]).any()


def test_noise_is_uniform_and_a_function_of_agent_and_step():
    words = torch.arange(1000)
    keys = torch.stack([combined(words), combined(words, 1)], -1)
    assert torch.equal(combined(words, 7), torch.from_numpy(combined(words.numpy(), 7)))
    shares = torch.stack([uniform(keys, torch.full((1000,), step), 2) for step in range(100)])
    assert shares.min() > 0 and shares.max() < 1 and abs(shares.mean() - 0.5) < 0.003
    assert abs(shares.var() - 1 / 12) < 0.001
    flat = shares.reshape(100, -1)
    assert abs(torch.corrcoef(flat[:, :50].T).fill_diagonal_(0)).max() < 0.5
    assert torch.equal(uniform(keys[5:6], torch.tensor([3]), 2), shares[3, 5:6])
    assert (shares[0] != shares[1]).all() and (shares[0, 0] != shares[0, 1]).all()


def test_quantiles_of_actions_have_the_probabilities_of_the_policy():
    shares = (torch.arange(10_000) + 0.5) / 10_000
    head = DiscreteHead(8, [3, 4])
    logits = torch.cat([torch.tensor([0.5, 0.2, 0.3]).log(), torch.tensor([0.1, 0.0, 0.6, 0.3]).log()])
    actions = head.quantile(logits.expand(10_000, -1), torch.stack([shares, shares.flip(0)], -1))
    assert (actions[:, 0].bincount() / 10_000).tolist() == pytest.approx([0.5, 0.2, 0.3], abs=2e-4)
    assert (actions[:, 1].bincount() / 10_000).tolist() == pytest.approx([0.1, 0.0, 0.6, 0.3], abs=2e-4)
    assert (actions[:, 0].diff() >= 0).all() and (actions[:, 1].diff() <= 0).all()
    gaussian = GaussianHead(8, 1, -1.0, 1.0)
    actions = gaussian.quantile(torch.tensor([0.3, math.log(0.5)]).expand(10_000, -1), shares[:, None])
    assert actions.mean().item() == pytest.approx(0.3, abs=1e-3)
    assert actions.std().item() == pytest.approx(0.5, abs=5e-3)


# ---- how they drive ----


def test_a_partner_drives_as_its_policy_drives_alone():
    """Its most probable actions, episode after episode, beside another one of another shape."""
    with Batch(scenes_of(SHARED), num_worlds=4, config=SHARED.drive) as batch:
        partners = made(batch, TINY, OTHER, deterministic=True)
        alone = [PolicyRunner(one.policy, CPU)(batch) for one in partners.of_run]
        arrays = {name: torch.from_numpy(getattr(batch, name)) for name in loaded.CHANNELS}
        batch.reset()
        driver, driven = PartnerDriver(partners, batch, arrays, CPU), np.zeros(2, int)
        for _ in range(130):
            wanted = [act(batch) for act in alone]
            driver.act()
            for index in range(2):
                acts = (driver.assignment.partner == index) & ~batch.waits
                assert (driver.actions.numpy()[acts] == wanted[index][acts]).all()
                driven[index] += acts.sum()
            batch.step(np.where(batch.coplayer, driver.actions.numpy(), 45))
        assert driven.min() > 100


def played(memory, steps=49):
    """The actions of co-players in both trials of an episode, (24, n) each, where egos always act alike."""
    drive = SHARED.drive.replace(on_goal="ignore", on_collision="ignore", on_offroad="ignore")
    with Batch(scenes_of(SHARED), num_worlds=6, config=drive) as batch:
        partners = made(batch, TINY, OTHER, memory=memory)
        arrays = {name: torch.from_numpy(getattr(batch, name)) for name in loaded.CHANNELS}
        batch.reset()
        driver, found = PartnerDriver(partners, batch, arrays, CPU), []
        for _ in range(steps):
            driver.act()
            found.append(driver.actions.numpy()[batch.coplayer].copy())
            batch.step(np.where(batch.coplayer, driver.actions.numpy(), 45))
    return np.array(found[:24]), np.array(found[25:])


def test_a_partner_that_forgets_plays_every_trial_alike():
    first, second = played("per_trial")
    assert (first == second).all() and len(np.unique(first)) > 20
    first, second = played("kept")
    assert 0.2 < (first != second).mean(), "one that remembers does not"


def test_the_reward_that_a_partner_observes_has_the_scale_of_its_training(trained):
    """The largest reward of a step was 2.2 times as large in the training of the other partner."""
    with Batch(scenes_of(SHARED), num_worlds=2, config=SHARED.drive) as batch:
        found = load_partners(PartnerConfig(checkpoints=trained), batch, CPU, "float32")
        assert [one.reward_factor for one in found.of_run] == [1.0, pytest.approx(1 / 2.2)]
        feature, seen = batch.observation_layout()["trial/reward"], []
        batch.reset()
        batch.observations[:, feature.offset] = 0.75
        arrays = {name: torch.from_numpy(getattr(batch, name)) for name in loaded.CHANNELS}
        driver = PartnerDriver(found, batch, arrays, CPU)
        for one in found.of_run:
            one.policy.trunks[0].encoder.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        driver.act()
        loaded._loaded.cache_clear()  # of the policies with hooks
    values = {round(value.item(), 4) for given in seen for value in given[..., feature.offset].flatten()}
    assert values and values <= {0.75, round(0.75 / 2.2, 4)}


# ---- learning ----


@pytest.mark.parametrize("memory", ["kept", "per_trial"])
def test_training_computes_the_same_as_the_rollout_beside_partners(memory):
    collector = shared_collector(choices={"memory": memory, "per_world": 2})
    ratio_gap, value_gap, kl = gaps(collector, 6)
    assert ratio_gap < 1e-4 and value_gap < 1e-4 and kl < 1e-8
    buffer = collector.collect()
    assert torch.equal(buffer.coplayer & ~buffer.invalid, buffer.partner & ~buffer.invalid)
    assert not (buffer.valid_token & buffer.partner).any() and (buffer.valid_token & ~buffer.partner).any()
    assert (collector.cache.position[torch.from_numpy(collector.batches[0].coplayer)] == 0).sum() > 0


@pytest.mark.parametrize("fill", [torch.randn_like, lambda x: torch.full_like(x, NAN)], ids=["noise", "NaN"])
def test_nothing_is_learned_from_the_steps_of_partners(fill):
    """Not even where their rewards, values and observations are NaN. Rollouts have agents in both roles."""
    collector = shared_collector(replace(SHARED, drive=SHARED.drive.replace(trial_steps=8, max_trials=1)))
    learner = Learner(collector.policy, make_optimizer(collector.policy, CONFIG), CONFIG, ALONE, collector)
    for _ in range(3):
        buffer = clone(collector.collect())
    of_partners = buffer.partner & ~buffer.invalid
    both = of_partners.any(1) & buffer.loss_mask.any(1)
    assert of_partners.float().mean() > 0.2 and both.sum() > 5
    before = learned(learner, buffer)
    assert all(value.isfinite().all() for name, value in before.items() if not name.startswith("value_"))
    assert not differing(before, learned(learner, spoiled(buffer, fill, only=of_partners)))
    assert differing(before, learned(learner, replace(buffer, partner=torch.zeros_like(buffer.partner))))


def test_a_run_counts_the_steps_of_egos_and_of_partners(tmp_path, trained):
    result = train(shared_config(tmp_path, trained, ppo={"agent_steps": 600}))
    updates = [line for line in result.lines if line["kind"] == "update"]
    egos = [line["value_all_count"] for line in updates]
    assert updates[-1]["agent_steps"] == sum(egos) and min(line["partner_steps"] for line in updates) > 100
    assert all(line["agent_steps_per_s"] > 0 < line["partner_steps_per_s"] for line in updates)
    assert all(line["loss_mask_share"] <= 1 for line in updates)
    one, other = result.lines[0]["partners"]
    assert (one["path"], one["sha256"]) == (str(checkpoint.newest(trained[0])), checkpoint.about(
        checkpoint.newest(trained[0]))["files"]["weights.safetensors"]) and other["update"] > 0
    # An evaluation counts egos, half of 3 x 6 agents, and the partners drive in it.
    assert [line["score_n"] for line in result.lines if line["kind"] in ("random_policy", "evaluation")] == [9, 9]


def test_a_resumed_run_has_the_same_partners(tmp_path, trained):
    """Stopped and resumed it has the same log and weights, also in the middle of episodes."""
    parts = {"partners": {"per_world": 2, "memory": "per_trial"}, "ppo": {"agent_steps": 1400, "anneal": False}}
    whole = train(shared_config(tmp_path / "whole", trained, **parts))
    cut = shared_config(tmp_path / "cut", trained, **parts)
    train(cut.changed(ppo={"agent_steps": 700}))
    resumed = train(cut.changed(run={"resume": True}))
    numbers = ("loss", "value_all_loss", "partner_steps", "kl", "reward")
    lines = [[{name: line[name] for name in numbers} for line in result.lines if line["kind"] == "update"]
             for result in (whole, resumed)]
    assert lines[0] == lines[1] and len(lines[0]) > 3
    for one, other in zip(whole.policy.parameters(), resumed.policy.parameters(), strict=True):
        assert torch.equal(one, other)
    shutil.rmtree(resumed.checkpoint)
    with pytest.raises(CheckpointError, match="has partners.per_world 2, this config 1; to resume they must be equal"):
        train(cut.changed(run={"resume": True}, partners={"per_world": 1}))


def test_a_partner_that_has_gone_on_is_another_one_for_a_resumed_run(tmp_path, trained):
    shutil.copytree(trained[0], tmp_path / "partner")
    config = shared_config(tmp_path / "run", [tmp_path / "partner"], ppo={"agent_steps": 300})
    train(config)
    further = tiny_config(tmp_path / "partner", ppo={"agent_steps": 900}, run={"resume": True})
    train(further)
    with pytest.raises(CheckpointError, match="other weights of the partners than partners.checkpoints now have"):
        train(config.changed(ppo={"agent_steps": 900}, run={"resume": True}))


@pytest.mark.parametrize("name, value, bounds", [
    ("step", -1, "from 0 to"), ("trial", 2, "from -1 to 1"), ("episodes", -2, "from -1 to"),
    ("cache0.written", 10**9, "from 0 to"), ("cache1.position", 10**9, "from 0 to"),
    ("previous_actions", 91, "from 0 to 90"), ("cache0.keys", NAN, "every entry must be finite")])
def test_a_state_of_partners_that_no_training_leads_to_is_an_error(name, value, bounds):
    collector = shared_collector()
    collector.collect()
    state, steps = collector.state(), collector.buffer.first.numel()
    ranges = rollout_ranges(state, collector, steps)
    check_values(Path("run"), "rank-0.safetensors", state, ranges)
    state[f"group0.partners.{name}"].view(-1)[-1] = value
    with pytest.raises(CheckpointError, match=f"'group0.partners.{name}' has {value}; (it must be )?{bounds}"):
        check_values(Path("run"), "rank-0.safetensors", state, ranges)


# ---- reading ----


def test_a_partner_is_read_once_for_each_time_it_was_written(tmp_path, trained):
    shutil.copytree(trained[0], tmp_path / "partner")
    config = PartnerConfig(checkpoints=[tmp_path / "partner", tmp_path / "partner", trained[1]])
    with Batch(scenes_of(SHARED), config=SHARED.drive) as batch:
        load = lambda: load_partners(config, batch, CPU, "float32").of_run
        one, same, other = load()
        assert one.policy is same.policy is load()[0].policy is not other.policy
        path = checkpoint.newest(tmp_path / "partner") / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text())))
        assert load()[0].policy is not one.policy and load()[2].policy is other.policy
        assert load_partners(PartnerConfig(), batch, CPU, "float32") is None
    with Batch(scenes_of(BUSY), config=BUSY.drive) as batch:
        assert load_partners(config, batch, CPU, "float32") is None


@pytest.mark.parametrize("drive, message", [
    ({"observation": {"partners": 4}}, "was trained on other observations than those of this batch, since "
                                       "observation.partners is 4 and was 5 in the training"),
    ({"observation": {"view_radius_m": 30.0}}, "since observation.view_radius_m is 30.0 and was"),
    ({"action_type": "multi_discrete"}, "was trained with actions whose type is 'discrete'; this batch has "
                                        "'multi_discrete'"),
    ({"max_trials": 3}, "'trial/index' has another scale")])
def test_a_partner_with_other_observations_or_actions_is_refused(tmp_path, trained, drive, message):
    config = shared_config(tmp_path, trained).changed(env={"drive": drive})
    with pytest.raises(ValueError) as raised:
        train(config)
    sentence = str(raised.value)
    assert sentence.startswith(f"partners.checkpoints has {str(trained[0])!r}") and message in sentence
    assert "\n" not in sentence


def test_configs_that_do_not_fit_are_errors(tmp_path):
    for parts, message in [
            ({"partners": {"checkpoints": ["a"]}}, "checkpoints is \\('a',\\); it must be empty unless "
                                                   "env.drive.coplayers is above 0"),
            ({"partners": {"per_world": 0}}, "per_world is 0; it must be 1 or more"),
            ({"partners": {"checkpoints": ["a", "b"], "per_world": 3}, "env": {"drive": {"coplayers": 1}}},
             "per_world is 3; it must be from 1 to 2, the number of partners.checkpoints"),
            ({"partners": {"memory": "none"}}, "memory is 'none'; it must be one of 'kept', 'per_trial'")]:
        with pytest.raises(ConfigError, match=message):
            TrainConfig().changed(**parts)
    with pytest.raises(CheckpointError, match="partners.checkpoints has .*nowhere.* is no checkpoint"):
        train(shared_config(tmp_path, [tmp_path / "nowhere"]))


# ---- evaluation ----


def test_an_evaluation_of_a_checkpoint_has_the_partners_of_its_training(tmp_path, trained):
    """As that of the training. Other partners give other records; egos alone are counted."""
    config = shared_config(tmp_path, trained, ppo={"agent_steps": 300})
    result = train(config)
    scenes, drive = scenes_of(SHARED), SHARED.drive
    policy = policy_of(tmp_path, "cpu")
    records = episode_records(policy.for_batch, scenes, drive)
    runner = PolicyRunner(result.policy, CPU)
    together = episode_records(with_partners(runner, config.partners, CPU, "float32"), scenes, drive)
    assert (records == together).all() and records["coplayer"].sum() == len(records) / 2
    alone = episode_records(runner, scenes, drive)
    assert (alone["coplayer"] == records["coplayer"]).all() and (alone != records).any()
    logged = [line for line in result.lines if line["kind"] == "evaluation"][-1]
    assert logged["distance_m"] == pytest.approx(evaluate(policy.for_batch, scenes, drive)["distance_m"].value)
    # In worlds without co-players it drives all agents.
    assert (episode_records(policy.for_batch, scenes, BUSY.drive) == episode_records(runner, scenes, BUSY.drive)).all()


def test_partners_in_worlds_with_long_waits():
    """Co-players wait and egos do, too."""
    collector = shared_collector(replace(LONG, drive=LONG.drive.replace(coplayers=2)), models=(TINY,))
    ratio_gap, value_gap, _ = gaps(collector, 6)
    assert ratio_gap < 1e-4 and value_gap < 1e-4
