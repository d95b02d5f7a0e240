"""How does a custom trainer use `Batch`? It fills a rollout buffer from the arrays of many worlds.

After a step, some channels describe the action just taken, others the observation just returned. Entry t of the buffer
holds the channels of observation t, read *before* the call, and the results of action t, read after it.

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
        buffer[name][t] = getattr(batch, name)  # copies: the next call overwrites the batch's arrays
    batch.actions[:] = rng.integers(batch.single_action_space.n, size=batch.num_agents)  # replace by a policy
    batch.step(batch.actions)  # passing the bound array copies nothing
    for name in OF_ACTION:
        buffer[name][t] = getattr(batch, name)

# Losses, statistics and counts use the steps in which the action had an effect, and no others.
valid = ~buffer["invalid_step"]
print(f"steps {valid.size}, of which {valid.sum()} count; mean reward {buffer['rewards'][valid].mean():.4f}")
decided = buffer["outcome"][buffer["outcome"] > 0]
print("trials ended by", {OUTCOMES[code]: int((decided == code).sum()) for code in np.unique(decided)})
print("mean score", batch.metrics()["score"])
batch.close()
