"""What do all tests of the trainer need? Torch on one thread: small tensors, and machines that share their cores."""

import pytest

try:
    import torch
except ImportError:
    torch = None


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    if torch is not None:
        torch.set_num_threads(1)
