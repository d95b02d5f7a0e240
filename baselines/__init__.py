"""The reference trainer: a transformer PPO that reads the channels of drive-env."""

from importlib.util import find_spec

for _needed in ("torch", "tyro", "safetensors", "rich", "matplotlib"):
    if find_spec(_needed) is None:
        raise ImportError(f'baselines needs {_needed}; install it in the checkout with: pip install -e ".[train]"')
