"""What do many tests share? The real scene files, which a checkout may lack, a browser, and the option --slow."""

import pytest
from browser import chromium  # noqa: F401  # a fixture
from samples import sample


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also try what takes minutes (docs/robustness.md)")


@pytest.fixture
def sample_path():
    """A function from a name such as `pufferdrive/map_942.bin` to its path; skips where it is not."""
    return sample
