"""Does the demo show what trials are for, by figures and an episode that are those of the policy?"""

import re
from pathlib import Path

import numpy as np
import pytest
from command import cells, run

from drive_env import OUTCOMES, Batch, generate_scene, load_policy
from drive_env.cli import trials_demo
from drive_env.evaluation import Adaptation
from drive_env.replay import Recorder
from drive_env.tasks import hidden_exit

HEADING = "the same scene again"


@pytest.fixture(scope="module")
def output():
    return run("demo", "--episodes", "1").partition(HEADING)[2]


def scores(output):
    """(trials, columns) of the table."""
    return np.array([[float(cell) for cell in cells(output, f"score in trial {trial}")] for trial in (1, 2, 3)])


def test_only_a_memory_makes_later_trials_better(output):
    full, emptied, optimum = scores(output).T
    assert optimum.tolist() == [0.33, 0.67, 1.0]
    assert np.abs(full - optimum).max() < 0.24 and full[2] > 0.9, "0.24 are four standard errors of 64 episodes"
    assert np.ptp(emptied) < 0.1 and emptied[0] == full[0], "without a memory every trial is a first one"


def test_the_table_is_that_of_the_evaluation_of_the_same_worlds(output):
    settings = {"scenes": ["exits"], "scene_count": 64, "env": load_policy("hidden_exit").config}
    found = Adaptation("memory", settings).rollout("hidden_exit").groups
    wanted = [[round(found[group][f"trial_{trial}_score"].value, 2) for group in ("full", "wiped")]
              for trial in range(3)]
    np.testing.assert_allclose(scores(output)[:, :2], wanted, atol=0.02)  # an action may differ by the last digits


def test_the_readme_shows_this_part_of_the_demo(output):
    """Its figures up to an action in a hundred, which may differ by the last digits of the processor."""
    shown = (Path(__file__).parents[1] / "README.md").read_text()
    np.testing.assert_allclose(scores(shown), scores(output), atol=0.02)
    lines = lambda text: re.findall(r"^\s*((?:one of these episodes: |trial \d: ).*)", text, re.MULTILINE)
    assert lines(shown) == lines(output) and len(lines(shown)) == 4


def test_the_episode_that_is_shown_tries_other_exits_until_it_finds_the_goal(output):
    """The exits of the text are those that the path ends beyond: left is the positive y of a car that drives along x.
    """
    scene = generate_scene("exits", int(re.search(r"scene exits/(\d+)", output)[1]))
    policy, world = load_policy("hidden_exit"), int(scene.name.partition("/")[2]) - 10_000_000
    with Batch(scene, num_worlds=1, config=policy.config.replace(scene_order="cycle"), seed=0,
               world_ids=[world]) as batch:
        act, recorder = policy.for_batch(batch), Recorder(batch)
        batch.reset()
        recorder.capture()
        for _ in range(3 * 31 - 1):
            batch.step(act(batch))
            recorder.capture()
        trials = recorder.recording().trials[:3]
    lines = re.findall(r"^trial (\d): the (\w+) exit, which is (wrong|the goal)$", output, re.MULTILINE)
    assert [int(number) for number, *_ in lines] == [1, 2, 3] and len({side for _, side, _ in lines}) == 3
    assert [found for *_, found in lines] == ["wrong", "wrong", "the goal"]
    for trial, (_, side, found) in zip(trials, lines, strict=True):
        last_y_m = trial.y_m[trial.present[:, 0], 0][-1]
        assert side == ("left" if last_y_m > 10 else "right" if last_y_m < -10 else "middle")
        assert (OUTCOMES[trial.outcome.max()] == "goal") == (found == "the goal")


def test_an_episode_is_shown_again_exactly():
    policy, task = load_policy("hidden_exit"), hidden_exit(seeds=range(900, 906))
    config = policy.config.replace(scene_order="cycle")
    found = trials_demo.plays(task.scenes, policy.for_batch, config, seed=4)
    for play in found:
        with trials_demo.again(play, config, seed=4) as (batch, act):
            batch.reset()
            shown = []
            for _ in range(3 * 31):
                batch.step(act())
                if batch.trial_ended[0]:
                    shown.append(float(OUTCOMES[batch.outcome[0]] == "goal"))
                if len(shown) == 3:
                    break
        assert shown == play.scores.tolist()
    assert len({tuple(play.scores) for play in found}) > 1


@pytest.mark.parametrize("scores, chosen", [
    ([[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1]], 2), ([[1, 1, 1], [0, 0, 0], [0, 1, 1]], 2), ([[1, 1, 1]] * 2, 0)])
def test_the_first_episode_with_the_most_failures_before_its_success_is_shown(scores, chosen):
    found = [trials_demo.Play(None, world, None, np.array(one)) for world, one in enumerate(scores)]
    assert trials_demo.instructive(found).world == chosen
