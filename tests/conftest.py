"""What do many tests share? The folder of real scene files, which a checkout may lack."""

from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "samples"


@pytest.fixture
def sample_path():
    """A function from a name such as `pufferdrive/map_942.bin` to its path; skips where it is not."""

    def find(name):
        path = SAMPLES / name
        if not path.is_file():
            pytest.skip(
                f"the real sample {name} is not beside this checkout; it is licensed and not part of it"
            )
        return path

    return find
