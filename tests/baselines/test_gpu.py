"""Does a GPU compute what a CPU does? Kernels against the plain few lines, graphs against calls, all skipped without.

The decode kernel also runs on a CPU, in Triton's interpreter, where Triton is installed.
"""

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY, TINY, make_policy, tiny_config
from test_parity import gaps

from baselines import attention
from baselines.dist import Ranks
from baselines.ppo import train
from baselines.rollout import Collector
from baselines.worlds import open_batches, scenes_of

ROOT = Path(__file__).resolve().parents[2]
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SHAPES = [(4, 4, 32, 90), (4, 2, 16, 150), (2, 1, 8, 65), (8, 8, 64, 466)]
"""Heads, heads of keys, numbers a head, slots."""


def ring(heads, groups, size, slots, device="cpu", dtype=torch.float32, rows=9):
    """Queries, keys, values, slots and lengths: nobody else seen, everybody seen, and all between; the rest is NaN."""
    torch.manual_seed(0)
    query, keys, values = (torch.randn(rows, *shape).to(device, dtype) for shape in (
        (heads, size), (groups, slots, size), (groups, slots, size)))
    slot, length = torch.randint(0, slots, (2, rows), device=device)
    length[0], length[1] = 0, slots - 1
    age = (slot[:, None] - torch.arange(slots, device=device)) % slots
    unseen = (age > length[:, None])[:, None, :, None]
    return query, keys.masked_fill(unseen, torch.nan), values.masked_fill(unseen, torch.nan), slot, length


def interpret():
    """In a process of its own, with TRITON_INTERPRET=1."""
    from baselines import kernels

    for shape in SHAPES[:3]:
        given = ring(*shape)
        assert kernels.fits(*given[:2])
        gap = (kernels.attend_ring(*given) - attention.attend_ring_plainly(*given)).abs().max()
        assert gap < 1e-5, (shape, gap)


@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
def test_the_decode_kernel_computes_the_plain_attention_in_the_interpreter():
    code = "import test_gpu; test_gpu.interpret()"
    places = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    interpreted = os.environ | {"PYTHONPATH": places, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False,
                          cwd=Path(__file__).parent, env=interpreted)
    assert done.returncode == 0, done.stderr


@on_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_decode_kernel_computes_the_plain_attention(shape, dtype):
    given = ring(*shape, device="cuda", dtype=dtype, rows=300)
    gap = (attention.attend_ring(*given).float() - attention.attend_ring_plainly(*given).float()).abs().max()
    assert gap < (1e-5 if dtype == torch.float32 else 0.02)


@on_gpu
@pytest.mark.parametrize("groups", [4, 2])
def test_whole_segments_are_attended_as_plainly_with_their_gradients(groups):
    torch.manual_seed(0)
    rows, heads, steps, keys_count, size = 6, 4, 33, 133, 32
    visible = torch.rand(rows, steps, keys_count, device="cuda") < 0.3
    visible[..., 0] = True
    found = []
    for attend in (attention.attend_segment, attention.attend_segment_plainly):
        torch.manual_seed(1)
        parts = [torch.randn(rows, count, length, size, device="cuda").bfloat16().requires_grad_()
                 for count, length in ((heads, steps), (groups, keys_count), (groups, keys_count))]
        out = attend(*parts, visible)
        out.float().square().sum().backward()
        found.append([out.detach(), *(part.grad for part in parts)])
    for one, other in zip(*found):
        assert (one.float() - other.float()).abs().max() < 0.03 * other.float().abs().max()


def gpu_collector(env, model=TINY, precision="float32", compiled=False):
    alone = Ranks(0, 1, torch.device("cuda"))
    batches, mirrors = open_batches(env, scenes_of(env), alone, 1)
    policy = make_policy(batches[0], model, precision).to("cuda")
    if compiled:
        policy.compile_parts()
    return Collector(batches, mirrors, policy, 16)


@on_gpu
@pytest.mark.parametrize("precision, limit", [("float32", 1e-4), ("bfloat16", 0.2)])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_training_gives_what_a_graph_played_the_same_probability(precision, limit, compiled, kind):
    env = replace(BUSY, fleets=2, drive=BUSY.drive.replace(observation_type=kind))
    model = replace(TINY, width=64, object_width=32)
    ratio_gap, value_gap, kl = gaps(gpu_collector(env, model, precision, compiled), 6)
    assert ratio_gap < limit and value_gap < limit and kl < 1e-3


@on_gpu
def test_what_a_gpu_is_shown_is_what_the_batch_shows():
    collector = gpu_collector(BUSY)
    for _ in range(3):
        segment = collector.collect()
    for fleet in collector.fleets:
        for name, tensor in fleet.mirror.now.items():
            assert torch.equal(tensor.cpu(), torch.from_numpy(getattr(fleet.batch, name))), name
    assert torch.equal(~segment.waits, segment.kept) and segment.truncation.any() and segment.waits.any()
    assert torch.equal(segment.invalid[:, 1:], segment.waits[:, 1:])


@on_gpu
def test_a_run_on_a_gpu_ends_with_a_checkpoint_and_goes_on(tmp_path):
    config = tiny_config(tmp_path, run={"device": "cuda", "precision": "auto", "evaluate_updates": 2})
    train(config)
    lines = train(config.changed(ppo={"agent_steps": 5000}, run={"resume": True})).lines
    assert not [line for line in lines if "error" in line]
    assert lines[-1]["agent_steps"] >= 5000 and lines[-1]["kind"] == "evaluation"
