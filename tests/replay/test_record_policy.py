"""Is a policy recorded, and a page written, in one call?"""

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL

from drive_env import ActionError, CallError, ConfigError, DriveConfig, generate_scene
from drive_env.policies import TrainedPolicy
from drive_env.replay import record, write_replay


def coast(batch):
    return np.full(batch.num_agents, 45)


@pytest.mark.parametrize("policy", ["lane", "random", coast])
def test_episodes_of_every_policy_are_recorded_to_their_end(policy):
    scenes = [generate_scene("intersection", seed=seed, agents=3) for seed in (1, 2)]
    config = DriveConfig(max_trials=2, trial_steps=15, scene_order="cycle")
    calls = []
    recording = record(scenes, policy, config, episodes=3, progress=lambda *call: calls.append(call))
    assert [(trial.episode, trial.index, trial.scene) for trial in recording.trials] == [
        (0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 0), (2, 1, 0)]
    assert all(trial.complete for trial in recording.trials)
    assert calls == sorted(calls) and calls[-1] == (calls[0][1], calls[0][1])


def test_the_same_seed_gives_the_same_page():
    scene, config = generate_scene("intersection", seed=1, agents=3), DriveConfig(trial_steps=15)
    one, again, other = (record(scene, "random", config, seed=seed).html() for seed in (7, 7, 8))
    assert one == again != other


def test_a_page_of_four_trials_and_64_agents_is_below_5_megabytes(tmp_path):
    scene = generate_scene("town", seed=3, agents=64)
    recording = write_replay(scene, tmp_path / "page.html", "random", trials=4, config=DriveConfig(**IGNORE_ALL))
    assert [trial.frame_count for trial in recording.trials] == [201] * 4
    assert recording.trials[0].rewards.shape[1] == 64
    assert (tmp_path / "page.html").stat().st_size < 5e6


@pytest.mark.parametrize("own, arguments, trials", [
    (None, {}, 1), ({"max_trials": 3}, {}, 3), ({"max_trials": 3}, {"trials": 2}, 2)])
@pytest.mark.parametrize("is_trained", [True, False])
def test_a_page_has_the_trials_of_the_config_or_of_the_training(own, arguments, trials, is_trained, tmp_path):
    def for_batch(batch):
        assert batch.config.max_trials == trials, "a policy of a training with another number is refused"
        return coast

    scene, config = generate_scene("intersection", agents=2), DriveConfig(trial_steps=3, **own or {})
    policy = TrainedPolicy(for_batch, {}, config) if is_trained else coast
    recording = write_replay(scene, tmp_path / "page.html", policy, config=None if is_trained else config, **arguments)
    assert len(recording.trials) == trials


@pytest.mark.parametrize("arguments, sentence", [
    ({"policy": "fast"}, "policy is 'fast'; it must be a function or one of 'lane', 'random'"),
    ({"policy": None}, "policy is None; it must be a function"),
    ({"episodes": 0}, "episodes is 0; it must be a whole number from 1 to 1000000"),
    ({"episodes": True}, "episodes is True; it must be a whole number from 1 to 1000000"),
    ({"seed": -1}, "seed is -1; it must be a whole number from 0"),
    ({"config": []}, "config is a list; it must be a DriveConfig, or a mapping"),
    ({"config": {"trials": 2}}, "DriveConfig has no field 'trials'; did you mean max_trials"),
])
def test_a_wrong_argument_is_a_sentence(arguments, sentence):
    with pytest.raises(ConfigError, match=sentence):
        record(generate_scene("intersection", agents=2), **arguments)


@pytest.mark.parametrize("does", ["step", "reset"])
def test_a_policy_that_moves_the_batch_itself_is_an_error(does):
    """Its own steps were not in the page; with its resets, a trial would never end."""
    def act(batch):
        batch.step(batch.actions) if does == "step" else batch.reset()
        return batch.actions

    with pytest.raises(CallError, match="^the policy has stepped or reset the batch; it must only return the actions"):
        record("town", act, {"trial_steps": 4, "agents_per_world": 1})


def test_a_policy_that_returns_no_actions_is_an_error():
    with pytest.raises(ActionError, match="shape"):
        record(generate_scene("intersection", agents=2), lambda batch: np.zeros(5, np.int64))


@pytest.mark.parametrize("path, sentence", [
    ("page.txt", "must end in .html"), ("nowhere/page.html", "there is no folder")])
def test_an_invalid_path_is_an_error_before_anything_is_played(tmp_path, path, sentence):
    def policy(_):
        raise AssertionError("the policy was called")

    with pytest.raises(ConfigError, match=sentence):
        write_replay(generate_scene("intersection", agents=2), tmp_path / path, policy)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    recording = record(generate_scene("intersection", agents=2), config=DriveConfig(trial_steps=2))
    with pytest.raises(ConfigError, match="it cannot be written: Is a directory"):
        recording.save_html(tmp_path)
