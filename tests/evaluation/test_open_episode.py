"""Is the episode of any line of a result played again to the byte, whatever the evaluator?"""

import numpy as np
import pytest

from drive_env import ConfigError, generate_scene
from drive_env.behaviours import behaviour_scenes
from drive_env.evaluation import (
    Adaptation, BehaviourClass, HumanReplay, MultiScenario, Realism, Robustness, TrafficMatrix)

SMALL = {"scenes": ("intersection",), "scene_count": 3, "scene_agents": 3, "episodes": 2,
         "env": {"trial_steps": 30, "max_trials": 2, "hidden": {"steering_gain": (0.5, 1.5)}}}
LOGS = {"scenes": behaviour_scenes("cut_in", (0, 1)), "episodes": 2}

CASES = {
    "all agents": (MultiScenario("all", {**SMALL, "sample": 2, "seed": 4}), "random"),
    "each vehicle in turn": (HumanReplay("each", {**LOGS, "options": {"scores": False, "vehicles": "each"}}), "lane"),
    "the log itself": (HumanReplay("log", {**LOGS, "options": {"scores": False}}), "replay"),
    "classes": (BehaviourClass("classes", {"scenes": ("cut_in", "lane_change"), "scene_count": 2}), "constant"),
    "traffic": (TrafficMatrix("matrix", SMALL), "random"),
    "disturbances": (Robustness("robust", {**SMALL, "scene_count": 1}), "lane"),
    "trials": (Adaptation("trials", SMALL), "idm"),
    "rollouts": (Realism("rollouts", {"scenes": "example_log", "episodes": 2, "env": {
        "disturbances": {"phantom_braking": 0.5}}}), "lane")}


@pytest.mark.parametrize("evaluator, policy", CASES.values(), ids=CASES)
def test_the_episode_of_a_line_is_played_again_with_the_same_bytes(evaluator, policy):
    """By the last world of every group, and by all of one group."""
    found = evaluator.rollout(policy).rows
    groups = sorted(set(found["group"].tolist()))
    places = {(group, int(found["world"][found["group"] == group].max())) for group in groups}
    places |= {(groups[0], world) for world in found["world"][found["group"] == groups[0]].tolist()}
    for group, world in sorted(places):
        batch, act = evaluator.open_episode(policy, world, group)
        with batch:
            batch.reset()
            ends = 0
            while ends < evaluator.env.max_trials:
                batch.step(act(batch))
                ends += int(batch.trial_ended[0])
            records = batch.trial_records()
        own = (found["group"] == group) & (found["world"] == world)
        records = records[np.isin(records["agent"], found["agent"][own])]
        records = records[np.lexsort([records["trial"], records["agent"]])]
        assert len(records) == own.sum() > 0
        for name in ("score", "distance_m", "reward", "trial_length"):
            assert found[name][own].tobytes() == records[name].astype(np.float32).tobytes(), (group, world, name)


def test_a_line_that_there_is_not_is_one_sentence():
    scenes = [generate_scene("town", seed=seed, agents=1) for seed in range(2)]
    evaluator = Robustness("robust", {"scenes": scenes, "episodes": 2, "env": {"trial_steps": 5}})
    for world, group, sentence in (
            (4, "clean", "world is 4; it must be that of a row, and no episode has it"),
            (-1, "clean", "world is -1; it must be a whole number from 0"),
            (0, "", "group is ''; it must be one of 'clean', 'partner_blindness=0.5'"),
            (0, 3, "group is 3; it must be one of")):
        with pytest.raises(ConfigError, match=sentence):
            evaluator.open_episode("constant", world, group)
    with pytest.raises(ConfigError, match="scene town/0 has no logs of agents to replay"):
        evaluator.open_episode("replay", 0, "clean")
