"""Are the scores and the comfort of an evaluation those of the same trials, played and scored one by one?"""

import numpy as np
import pytest

from drive_env import Batch, ConfigError, generate_scene
from drive_env.behaviours import TrialLog, behaviour_scenes
from drive_env.evaluation import HumanReplay, MultiScenario, TrafficMatrix
from drive_env.evaluation.scores import SCORES, driven_trial, score_driven
from drive_env.policies import policy_maker
from drive_env.reports import metric_names

CROSSING = {"scenes": ("intersection",), "scene_count": 2, "scene_agents": 4}


def scored_trials(scene, config, world, trials=1):
    """`score_driven` by agent and trial, of the random policy with seed 0, in a batch of this world alone."""
    found = {}
    with Batch(scene, config=config, seed=0, world_ids=[world]) as batch:
        act = policy_maker("random", 0)(batch)
        batch.reset()
        for trial in range(trials):
            log = TrialLog(batch)
            log.capture()
            while not batch.trial_ended[0]:
                batch.step(act(batch))
                log.capture()
            found |= {(agent, trial): score_driven(driven_trial(log, agent)) for agent in range(batch.num_agents)}
            batch.step(act(batch))  # the restart
    return found


@pytest.fixture(scope="module")
def logged():
    return behaviour_scenes("cut_in", (0,))[0]


@pytest.mark.parametrize("response", ["ignore", "stop", "remove"])
def test_scores_are_those_of_each_trial(response):
    env = {"trial_steps": 60, "max_trials": 2, **{name: response for name in ("on_goal", "on_collision", "on_offroad")}}
    evaluator = MultiScenario("crossing", {**CROSSING, "env": env, "options": {"scores": True}})
    found = evaluator.rollout("random")
    assert set(SCORES) <= set(found.rows) and found.metrics["nuplan_score"].n == 16
    for world in range(2):
        scene = generate_scene("intersection", seed=10_000_000 + world, agents=4)
        for (agent, trial), scores in scored_trials(scene, evaluator.env, world, 2).items():
            row = np.flatnonzero((found.rows["world"] == world) & (found.rows["agent"] == agent)
                                 & (found.rows["trial"] == trial))
            for name in set(scores) - set(metric_names(evaluator.env)):  # those are the core's, from sums over steps
                value = scores[name]
                assert found.rows[name][row] == pytest.approx([value], rel=1e-4, abs=1e-4, nan_ok=True), name


@pytest.mark.parametrize("scenes", ["town", "roundabout"])
def test_drives_that_jump_have_scores(scenes):
    """Random actions of the vehicle model "state" set poses all over the scene, where events end most drives."""
    env = {"trial_steps": 60, "dynamics": {"model": "state"}, "action_type": "continuous"}
    found = MultiScenario("jumps", {"scenes": scenes, "scene_count": 1, "scene_agents": 16, "env": env,
                                    "options": {"scores": True}}).rollout("random")
    assert found.coverage.complete and found.metrics["nuplan_score"].n == 16
    assert found.metrics["nuplan_score"].value < 0.1


@pytest.mark.parametrize("response", ["ignore", "stop", "remove"])
def test_comfort_needs_no_scores(response):
    """The two shares are measured in every evaluation, by a way of its own."""
    env = {"trial_steps": 60, "max_trials": 2, **{name: response for name in ("on_goal", "on_collision", "on_offroad")}}
    plain, scored = (MultiScenario("crossing", {**CROSSING, "env": env, "options": {"scores": scores}})
                     for scores in (False, True))
    found, trials = plain.rollout("random").rows, []
    for world in range(2):
        scene = generate_scene("intersection", seed=10_000_000 + world, agents=4)
        trials += [one for _, one in sorted(scored_trials(scene, scored.env, world, 2).items())]
    for name in ("hard_braking_share", "comfortable_share"):
        assert found[name] == pytest.approx([one[name] for one in trials], abs=1e-6), name
    assert "nuplan_score" not in found and 0.0 < found["comfortable_share"].mean() < 1.0


def test_human_replay_has_the_scores_of_the_log(logged):
    found = HumanReplay("logs", {"scenes": logged}).rollout("replay")
    for name in ("nuplan_no_at_fault_collisions", "nuplan_progress", "vmax_progress", "bench2drive_success",
                 "waymax_progression"):
        assert found.metrics[name].value == pytest.approx(1.0, abs=1e-3), name
    assert found.metrics["waymax_log_divergence"].unit == "m"
    assert found.metrics["waymax_log_divergence"].value == pytest.approx(0.0, abs=1e-3)
    without = HumanReplay("logs", {"scenes": logged, "options": {"scores": False}}).rollout("replay")
    assert "nuplan_score" not in without.metrics and "comfortable_share" in without.metrics


def test_the_matrix_has_the_non_reactive_and_the_reactive_score(logged):
    """As human replay among traffic that replays its logs, and among traffic that follows rules."""
    env = {"on_collision": "ignore", "on_offroad": "ignore"}
    matrix = TrafficMatrix("matrix", {"scenes": logged, "env": env, "options": {"scores": True}})
    groups = matrix.rollout("constant").groups
    for others in ("replay", "idm"):
        alone = HumanReplay("logs", {"scenes": logged, "env": {**env, "others": others}}).rollout("constant").metrics
        for name in SCORES:
            assert groups[others][name].value == alone[name].value, (others, name)
    assert any(groups["replay"][name].value != groups["idm"][name].value for name in SCORES)


def test_agents_that_respawn_have_neither_scores_nor_comfort():
    env = {"trial_steps": 40, "on_goal": "respawn"}
    with pytest.raises(ConfigError, match="eval.scores is True and env.on_goal is 'respawn'"):
        MultiScenario("crossing", {**CROSSING, "env": env, "options": {"scores": True}})
    figure = MultiScenario("crossing", {**CROSSING, "env": env}).rollout("constant").metrics["comfortable_share"]
    assert figure.value is None and figure.n == 0


def test_an_option_that_is_a_switch_is_no_number():
    with pytest.raises(ConfigError, match="eval.scores is 1; it must be one of True, False"):
        MultiScenario("crossing", {**CROSSING, "options": {"scores": 1}})


def test_coplayers_are_not_scored():
    env = {"trial_steps": 20, "coplayers": 2}
    found = MultiScenario("crossing", {**CROSSING, "env": env, "options": {"scores": True}}).rollout("constant")
    assert found.metrics["nuplan_score"].n == found.metrics["score"].n == 4
