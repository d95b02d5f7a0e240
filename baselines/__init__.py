"""The reference trainer: PPO with a transformer policy, which follows the contract of drive-env's channels."""

import sys
from importlib.util import find_spec

for _needed in ("torch", "tyro", "safetensors", "rich", "matplotlib", "filelock"):
    if find_spec(_needed) is None:
        _sentence = f'baselines needs {_needed}; install it in the checkout with: pip install -e ".[train]"'
        # While `python -m baselines.ppo` locates its module, argv[0] is "-m": a command prints the sentence alone.
        raise SystemExit(_sentence) if sys.argv[:1] == ["-m"] else ImportError(_sentence)
