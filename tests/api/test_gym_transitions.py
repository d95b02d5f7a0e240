"""Which transitions of a vector env does a learner store? Those of the mask of docs/clients/gymnasium.md."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from test_gym import SHORT, single, vector

VECTOR_ENVS = {
    "make_vec": lambda config, mode: vector(config=config, autoreset_mode=mode),
    "SyncVectorEnv": lambda config, mode: gymnasium.vector.SyncVectorEnv([lambda: single(config)] * 4,
                                                                         autoreset_mode=mode),
}


def transitions_by_hand(config, seed, actions):
    """The valid transitions of a single env reset by hand: observation, action, reward, flags, next observation.
    Actions of invalid steps are skipped."""
    env, found, ended = single(config), [], True
    for action in actions:
        if ended:
            after, _ = env.reset(seed=seed)
            seed, ended = None, False
        before, (after, reward, terminated, truncated, info) = after, env.step(int(action))
        if not info["invalid_step"]:
            found.append((before.tobytes(), int(action), reward, terminated, truncated, after.tobytes()))
        ended = terminated or truncated
    return found


@pytest.mark.parametrize("max_trials", (1, 2))
@pytest.mark.parametrize("make", VECTOR_ENVS.values(), ids=VECTOR_ENVS)
def test_masked_by_invalid_step_and_first_no_false_transition_enters(make, max_trials):
    """The mask of docs/clients/gymnasium.md for NEXT_STEP; any weaker or stronger one gives other transitions."""
    config = SHORT.replace(max_trials=max_trials)
    envs, rng = make(config, AutoresetMode.NEXT_STEP), np.random.default_rng(1)
    (after, _), kept, used, false = envs.reset(seed=7), [[] for _ in range(4)], [[] for _ in range(4)], 0
    for _ in range(150):
        actions = rng.integers(91, size=4)
        before, (after, rewards, terminated, truncated, infos) = after, envs.step(actions)
        counts = ~(infos["invalid_step"] | infos["first"])
        false += (infos["first"] & ~counts).sum()
        for env in range(4):
            if not infos["first"][env]:  # by hand, no action is ignored at the start of an episode
                used[env].append(actions[env])
            if counts[env]:
                kept[env].append((before[env].tobytes(), int(actions[env]), rewards[env], bool(terminated[env]),
                                  bool(truncated[env]), after[env].tobytes()))
    assert false > 8
    for env in range(4):
        assert kept[env] == transitions_by_hand(config, 7 + env, used[env])
    envs.close()


@pytest.mark.parametrize("make", VECTOR_ENVS.values(), ids=VECTOR_ENVS)
def test_in_same_step_an_episode_s_last_transition_is_no_invalid_step(make):
    envs, ended = make(SHORT.replace(max_trials=1), AutoresetMode.SAME_STEP), 0
    envs.reset(seed=7)
    for _ in range(40):
        _, _, terminated, truncated, infos = envs.step(np.full(4, 45))
        done = terminated | truncated
        assert not infos["invalid_step"].any() and (infos["first"] == done).all()
        ended += done.sum()
    assert ended > 4
    envs.close()
