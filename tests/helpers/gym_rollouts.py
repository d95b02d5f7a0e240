"""What does a Gymnasium env return in the steps of a rollout with random actions?"""


def rollout(env, seed, steps=30):
    """The bytes of all observations, with reward, flags and info of each step; an episode that ends is followed by a
    new one.
    """
    env.action_space.seed(seed)
    record = [env.reset(seed=seed)[0].tobytes()]
    for _ in range(steps):
        observation, *rest = env.step(env.action_space.sample())
        record.append((observation.tobytes(), *rest))
        if rest[1] or rest[2]:
            record.append(env.reset()[0].tobytes())
    return record
