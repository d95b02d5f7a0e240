"""How does a trainer of one's own use `Batch`? Many worlds, fixed agents, arrays: here it fills a rollout buffer.

What a step says belongs to two things: the action just taken, and the observation just returned. A buffer that keeps
them in step stores, in agent t, what described o_t *before* the call and what came of action t after it.

    python examples/flat_batch.py --steps 200
"""

import argparse

import numpy as np

from drive_env import OUTCOMES, Batch, DriveConfig

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--worlds", type=int, default=16)
options = parser.parse_args()

config = DriveConfig(max_trials=2, trial_steps=60, agents_per_world=8, on_collision="remove", on_offroad="remove")
batch = Batch("town", num_worlds=options.worlds, config=config, seed=0)
rng = np.random.default_rng(0)

OF_OBSERVATION = ("observations", "first", "waits", "trial_index")
OF_ACTION = ("actions", "rewards", "terminations", "truncations", "invalid_step", "outcome")
buffer = {}
for name in OF_OBSERVATION + OF_ACTION:
    array = getattr(batch, name)
    buffer[name] = np.zeros((options.steps, *array.shape), array.dtype)

batch.reset()
for t in range(options.steps):
    for name in OF_OBSERVATION:
        buffer[name][t] = getattr(batch, name)  # a copy: the batch's arrays are overwritten by the next call
    batch.actions[:] = rng.integers(batch.single_action_space.n, size=batch.num_agents)  # a policy goes here
    batch.step(batch.actions)  # passing the bound array copies nothing
    for name in OF_ACTION:
        buffer[name][t] = getattr(batch, name)

# A loss, a statistic, a count: all of them over the steps in which the action had an effect, and over no others.
kept = ~buffer["invalid_step"]
print(f"steps {kept.size}, of which {kept.sum()} count; reward a step {buffer['rewards'][kept].mean():.4f}")
decided = buffer["outcome"][buffer["outcome"] > 0]
print("trials ended by", {OUTCOMES[code]: int((decided == code).sum()) for code in np.unique(decided)})
print("mean score of agents", batch.metrics()["score"])
batch.close()
