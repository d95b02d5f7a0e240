"""What do all tests of the trainer need? Torch on one thread, the same draws alone and in a suite, no curves, a run."""

import pytest

try:
    import torch

    from baselines import run
except ImportError:
    torch = None


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Also in commands that tests start: tensors are small, and machines share their cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        if torch is not None:
            torch.set_num_threads(1)
        yield


@pytest.fixture(autouse=True)
def seeded():
    """Torch's generator is global: a test that draws would depend on the tests before it in its process."""
    if torch is not None:
        torch.manual_seed(0)


@pytest.fixture(autouse=True, scope="session")
def no_curves():
    """Drawing takes four fifths of a run of a few updates. test_metrics.py draws, and so do started commands."""
    if torch is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "draw_curves", lambda lines, path: path.touch())
        yield


@pytest.fixture(scope="session")
def short_run(tmp_path_factory):
    """A short run that wrote one checkpoint: its config and its result. Tests that change its folder copy it first."""
    from small import tiny_config

    from baselines.ppo import train

    config = tiny_config(tmp_path_factory.mktemp("run"), ppo={"agent_steps": 1000})
    return config, train(config)
