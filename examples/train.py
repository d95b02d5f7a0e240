"""How does one train from Python? A config, a call, and an evaluation of the trained policy.

    python examples/train.py [minutes [folder]]     # in a checkout, after pip install -e '.[train]'

Without a folder, each run gets a folder named by its start time, since training in a folder that holds a run is an
error.
"""

import sys
import time

from baselines.evaluate import PolicyRunner, evaluate
from baselines.ppo import train
from baselines.presets import SMALL
from baselines.rollout.batches import scenes_of
from drive_env.policies import policy_maker

minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
folder = sys.argv[2] if len(sys.argv) > 2 else time.strftime("runs/example-%Y%m%d-%H%M%S")
config = SMALL.changed(run={"folder": folder, "minutes": minutes}, ppo={"learning_rate": 5e-4})
result = train(config)
for name, runner in (("random", policy_maker("random", seed=0)), ("trained", PolicyRunner(result.policy, "cpu"))):
    report = evaluate(runner, scenes_of(config.env), config.env.drive)
    print(f"{name}: {report['goal'].value:.2f} of the goals reached")
print(f"curves and checkpoint: {folder}")
