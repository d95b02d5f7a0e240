"""Does a GPU compute what a CPU does? Kernels against the reference, captured graphs against training; needs a GPU.

The kernels of attention also run on a CPU, in Triton's interpreter, where Triton is installed.
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
from test_noise import CORRELATION, assert_noise_is_kept_within_trials_alone
from test_parity import gaps

from baselines.policy import attention
from baselines.policy.kv_cache import KVCache, attention_mask
from baselines.ppo import train
from baselines.rollout.batches import open_batches, scenes_of
from baselines.rollout.collector import Collector
from baselines.tools.dist import Ranks

# Warnings of some versions of torch while they compile.
pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in (
    ".torch.jit.script_method. is deprecated", "TensorFloat32 tensor cores",
    "The .grad attribute of a Tensor that is not a leaf")]

ROOT = Path(__file__).resolve().parents[2]
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SHAPES = [(4, 4, 32, 90), (4, 2, 16, 150), (2, 1, 8, 65), (8, 8, 64, 466)]
"""Query heads, KV heads, floats a head, slots."""

SEGMENTS = [(4, 4, 32, 33, 40), (4, 2, 16, 64, 90), (2, 1, 16, 70, 20), (3, 1, 16, 5, 1), (8, 8, 32, 64, 804),
            (8, 2, 32, 64, 804), (4, 4, 64, 48, 200), (6, 2, 64, 100, 60), (2, 2, 16, 2, 30)]
"""Query heads, KV heads, floats a head, steps, context."""


def ring(heads, kv_heads, size, slots, device="cpu", dtype=torch.float32, agents=9):
    """q, k, v, slots and lengths: no earlier token, all of them, and all between; masked slots are NaN."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(agents, *shape).to(device, dtype) for shape in (
        (heads, size), (kv_heads, slots, size), (kv_heads, slots, size)))
    slot, length = torch.randint(0, slots, (2, agents), device=device)
    length[0], length[1] = 0, slots - 1
    age = (slot[:, None] - torch.arange(slots, device=device)) % slots
    masked = (age > length[:, None])[:, None, :, None]
    return q, k.masked_fill(masked, torch.nan), v.masked_fill(masked, torch.nan), slot, length


def segment(heads, kv_heads, size, steps, context, device="cpu", dtype=torch.float32, agents=9):
    """q, k and v of a segment, a cache of more agents, the prefix of some of them in any order, and the mask."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(agents, steps, count, size).to(device, dtype) for count in (heads, kv_heads, kv_heads))
    cache = KVCache(2, agents + 3, kv_heads, size, context, steps, dtype, device)
    cache.keys.copy_(torch.randn(cache.keys.shape))
    cache.values.copy_(torch.randn(cache.values.shape))
    written = torch.randint(0, 5 * cache.slots, (agents,))
    position = (torch.rand(agents) * 1.5 * context).long()
    first, valid_token = torch.rand(agents, steps) < 0.04, torch.rand(agents, steps) < 0.8
    written[0] = position[0] = 0  # an empty prefix
    written[1], position[1], first[1] = 2 * cache.slots + context // 2, 3 * context, False  # a full one that wraps
    first[2, 0] = True  # one that is masked as a whole
    valid_token[3] = False
    valid_token[4] = True
    written, position, first, valid_token = (
        part.to(device) for part in (written.maximum(position), position, first, valid_token))
    chosen = torch.randperm(agents + 3)[:agents].to(device)
    mask = attention_mask(first, valid_token, position, context)
    return q, k, v, cache, cache.prefix(chosen, written, position), mask


def attended(attend, q, k, v, prefix, mask, weight):
    """The outputs and all gradients, float32."""
    leaves = [part.clone().requires_grad_() for part in (q, k, v)]
    out = attend(*leaves, prefix, 1, mask)
    (out.float() * weight).sum().backward()
    return [part.float() for part in (out.detach(), *(leaf.grad for leaf in leaves))]


def assert_segment_equals_reference(attend, given, limit):
    q, k, v, cache, prefix, mask = given
    weight = torch.randn(q.shape, device=q.device)
    reference = attended(attention.attend_segment_reference, q, k, v, prefix, mask, weight)
    for found, wanted in zip(attended(attend, q, k, v, prefix, mask, weight), reference):
        assert (found - wanted).abs().max() <= limit * wanted.abs().max().clamp(min=1.0)

    # NaN in every slot that is masked, and in the steps that are no tokens, changes no other step.
    no_token = ~mask.valid_token[:, :, None, None]
    weight = weight.masked_fill(no_token, 0.0)
    reference = attended(attention.attend_segment_reference, q, k, v, prefix, mask, weight)
    count = mask.dense[:, :, : mask.reach].any(1).sum(1)
    ages = (prefix.written[:, None] - 1 - torch.arange(cache.slots, device=q.device)) % cache.slots
    masked = torch.ones(cache.keys.shape[1], cache.slots, dtype=torch.bool, device=q.device)
    masked[prefix.agents] = ages >= count[:, None]
    for stored in (cache.keys, cache.values):
        stored.masked_fill_(masked[:, None, :, None], torch.nan)
    spoiled = [part.masked_fill(no_token, torch.nan) for part in (k, v)]
    for found, wanted in zip(attended(attend, q, *spoiled, prefix, mask, weight), reference):
        gap = (found - wanted).masked_fill(no_token, 0.0).abs().max()
        assert gap <= limit * wanted.abs().max().clamp(min=1.0)


def interpret():
    """Runs in a process of its own, with TRITON_INTERPRET=1."""
    from baselines.policy.kernels import ring_attention, segment_attention

    for shape in SHAPES[:3]:
        given = ring(*shape)
        assert ring_attention.fits(*given[:2])
        gap = (ring_attention.attend_ring(*given) - attention.attend_ring_reference(*given)).abs().max()
        assert gap < 1e-5, (shape, gap)
    for shape in SEGMENTS[:4]:
        given = segment(*shape)
        assert segment_attention.fits(given[0], given[3].keys)
        assert_segment_equals_reference(segment_attention.attend_segment, given, 1e-5)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the GPU runs the kernels themselves")
@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
def test_the_kernels_equal_the_reference_in_the_interpreter():
    code = "import test_gpu; test_gpu.interpret()"
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    interpreted = os.environ | {"PYTHONPATH": path, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False,
                          cwd=Path(__file__).parent, env=interpreted)
    assert done.returncode == 0, done.stderr


@on_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_ring_kernel_equals_the_reference(shape, dtype):
    given = ring(*shape, device="cuda", dtype=dtype, agents=300)
    gap = (attention.attend_ring(*given).float() - attention.attend_ring_reference(*given).float()).abs().max()
    assert gap < (1e-5 if dtype == torch.float32 else 0.02)


@on_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SEGMENTS, ids=str)
def test_the_segment_kernels_equal_the_reference_with_gradients(shape, dtype):
    given = segment(*shape, device="cuda", dtype=dtype, agents=40)
    limit = 1e-5 if dtype == torch.float32 else 0.03
    assert_segment_equals_reference(attention.attend_segment, given, limit)


@on_gpu
@pytest.mark.parametrize("shape", SEGMENTS[-4:], ids=str)
def test_the_segment_kernels_are_bit_equal_each_time(shape):
    q, k, v, _, prefix, mask = segment(*shape, device="cuda", dtype=torch.bfloat16, agents=40)
    once, again = (attended(attention.attend_segment, q, k, v, prefix, mask, torch.ones_like(q))
                   for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(once, again))


def gpu_collector(env, model=TINY, precision="float32", compiled=False, **options):
    alone = Ranks(0, 1, torch.device("cuda"))
    batches, device_buffers = open_batches(env, scenes_of(env), alone, 1)
    policy = make_policy(batches[0], model, precision).to("cuda")
    if compiled:
        policy.compile_parts()
    return Collector(batches, device_buffers, policy, 16, **options)


@on_gpu
@pytest.mark.parametrize("precision, limit", [("float32", 1e-4), ("bfloat16", 0.2)])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_training_equals_rollout_by_a_captured_graph(precision, limit, compiled, kind):
    env = replace(BUSY, env_groups=2, drive=BUSY.drive.replace(observation={"type": kind}))
    model = replace(TINY, width=64, object_width=32)
    ratio_gap, value_gap, kl = gaps(gpu_collector(env, model, precision, compiled), 6)
    assert ratio_gap < limit and value_gap < limit and kl < 1e-3


@on_gpu
def test_a_captured_graph_keeps_noise_within_trials_alone():
    assert_noise_is_kept_within_trials_alone(gpu_collector(BUSY, noise_correlation=CORRELATION))


@on_gpu
def test_the_device_buffers_hold_the_arrays_of_the_batch():
    collector = gpu_collector(BUSY)
    for _ in range(3):
        buffer = collector.collect()
    for group in collector.groups:
        for name, tensor in group.device_buffers.arrays.items():
            assert torch.equal(tensor.cpu(), torch.from_numpy(getattr(group.batch, name))), name
    assert torch.equal(buffer.valid_token, buffer.loss_mask) and buffer.truncation.any() and buffer.waits.any()


@on_gpu
def test_a_run_on_a_gpu_writes_a_checkpoint_and_resumes(tmp_path):
    config = tiny_config(tmp_path, run={"device": "cuda", "precision": "auto", "evaluate_updates": 2})
    train(config)
    lines = train(config.changed(ppo={"agent_steps": 5000}, run={"resume": True})).lines
    assert not [line for line in lines if "error" in line]
    assert lines[-1]["agent_steps"] >= 5000 and lines[-2]["kind"] == "evaluation"
