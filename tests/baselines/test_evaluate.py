"""Which scenes does an evaluation take?"""

import pytest

from baselines.config import EnvConfig
from baselines.rollout.batches import scenes_of


def test_held_out_scenes_are_those_of_the_seeds_from_the_first_on():
    env = EnvConfig(scenes=("intersection", "town"), scene_count=2, scene_agents=4)
    assert [scene.name for scene in scenes_of(env)] == ["intersection/0", "intersection/1", "town/0", "town/1"]
    assert [scene.name for scene in scenes_of(env, 70)] == ["intersection/70", "intersection/71", "town/70", "town/71"]
    assert {scene.objects.count for scene in scenes_of(env, 70)} == {4}


def test_a_first_seed_below_zero_is_one_sentence():
    with pytest.raises(ValueError, match="seed is -1; it must be"):
        scenes_of(EnvConfig(scene_count=1), -1)
