"""What do many tests share? The real scene files, which a checkout may lack, and a browser."""

import pytest
from browser import chromium  # noqa: F401  # a fixture
from samples import sample


@pytest.fixture
def sample_path():
    """A function from a name such as `pufferdrive/map_942.bin` to its path; skips where it is not."""
    return sample
