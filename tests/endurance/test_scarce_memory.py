"""What happens when memory runs out? A DriveMemoryError, no leak, and batches that fit still step."""

import json
import subprocess
import sys
from pathlib import Path

import golden
import pytest

resource = pytest.importorskip("resource", reason="this platform cannot limit the memory of a process")

PROGRAM = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import golden, memory
from drive_env import Batch, generate_scene

SCENES = [generate_scene("town", seed=0, agents=32)]
PAGE_BYTES = resource.getpagesize()


def held_bytes():
    return int(open("/proc/self/statm").read().split()[0]) * PAGE_BYTES


def attempt():
    batch = Batch(SCENES, num_worlds=256, threads=3)
    batch.reset()
    batch.step(batch.actions)
    batch.restart_observations()


attempt()
kinds, before_mb = {}, memory.own_mb()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
for extra_mb in range(0, 140, 4):
    resource.setrlimit(resource.RLIMIT_AS, (held_bytes() + extra_mb * 2**20, hard))
    try:
        attempt()
        kind = "stepped"
    except MemoryError as error:
        kind = type(error).__name__
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    kinds[kind] = kinds.get(kind, 0) + 1
print(json.dumps([kinds, memory.own_mb() - before_mb, golden.hash_of("town/discrete")]))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux reports the memory of a process")
def test_a_batch_that_does_not_fit_is_an_error_and_leaves_nothing():
    here = str(Path(__file__).parent)
    program = f"import sys; sys.path.insert(0, {here!r})\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program, str(Path(golden.__file__).parent)], check=False,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    kinds, grown_mb, hashes = json.loads(done.stdout)
    assert kinds["DriveMemoryError"] > 0 and kinds["stepped"] > 0, kinds
    assert grown_mb < 2.0
    assert hashes == json.loads(golden.FILE.read_text())["town/discrete"]
