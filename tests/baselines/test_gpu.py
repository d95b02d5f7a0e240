"""Does a GPU compute what a CPU does? Kernels against the plain few lines, graphs against calls, all skipped without.

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
from test_parity import gaps

from baselines import attention
from baselines.cache import Cache, sight
from baselines.dist import Ranks
from baselines.ppo import train
from baselines.rollout import Collector
from baselines.worlds import open_batches, scenes_of

# What some versions of torch say while they compile.
pytestmark = [pytest.mark.filterwarnings(f"ignore:{said}") for said in (
    ".torch.jit.script_method. is deprecated", "TensorFloat32 tensor cores",
    "The .grad attribute of a Tensor that is not a leaf")]

ROOT = Path(__file__).resolve().parents[2]
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SHAPES = [(4, 4, 32, 90), (4, 2, 16, 150), (2, 1, 8, 65), (8, 8, 64, 466)]
"""Heads, heads of keys, numbers a head, slots."""

SEGMENTS = [(4, 4, 32, 33, 40), (4, 2, 16, 64, 90), (2, 1, 16, 70, 20), (3, 1, 16, 5, 1), (8, 8, 32, 64, 804),
            (8, 2, 32, 64, 804), (4, 4, 64, 48, 200), (6, 2, 64, 100, 60), (2, 2, 16, 2, 30)]
"""Heads, heads of keys, numbers a head, steps, context."""


def ring(heads, groups, size, slots, device="cpu", dtype=torch.float32, agents=9):
    """Queries, keys, values, slots and lengths: nobody else seen, everybody seen, and all between; the rest is NaN."""
    torch.manual_seed(0)
    query, keys, values = (torch.randn(agents, *shape).to(device, dtype) for shape in (
        (heads, size), (groups, slots, size), (groups, slots, size)))
    slot, length = torch.randint(0, slots, (2, agents), device=device)
    length[0], length[1] = 0, slots - 1
    age = (slot[:, None] - torch.arange(slots, device=device)) % slots
    unseen = (age > length[:, None])[:, None, :, None]
    return query, keys.masked_fill(unseen, torch.nan), values.masked_fill(unseen, torch.nan), slot, length


def segment(heads, groups, size, steps, context, device="cpu", dtype=torch.float32, agents=9):
    """Queries, keys, values and a cache of more agents; the prefix of some of them in any order, and who sees what."""
    torch.manual_seed(0)
    query, keys, values = (torch.randn(agents, steps, count, size).to(device, dtype) for count in (heads, groups, groups))
    cache = Cache(2, agents + 3, groups, size, context, steps, dtype, device)
    cache.keys.copy_(torch.randn(cache.keys.shape))
    cache.values.copy_(torch.randn(cache.values.shape))
    head = torch.randint(0, 5 * cache.slots, (agents,))
    position = (torch.rand(agents) * 1.5 * context).long()
    first, kept = torch.rand(agents, steps) < 0.04, torch.rand(agents, steps) < 0.8
    head[0] = position[0] = 0  # nothing was ever remembered
    head[1], position[1], first[1] = 2 * cache.slots + context // 2, 3 * context, False  # all of it, around the end
    first[2, 0] = True  # nothing of it is seen
    kept[3] = False
    kept[4] = True
    head, position, first, kept = (part.to(device) for part in (head.maximum(position), position, first, kept))
    chosen = torch.randperm(agents + 3)[:agents].to(device)
    return query, keys, values, cache, cache.before(chosen, head, position), sight(first, kept, position, context)


def attended(attend, query, keys, values, prefix, seen, weight):
    """The answers and all gradients, float32."""
    leaves = [part.clone().requires_grad_() for part in (query, keys, values)]
    out = attend(*leaves, prefix, 1, seen)
    (out.float() * weight).sum().backward()
    return [part.float() for part in (out.detach(), *(leaf.grad for leaf in leaves))]


def assert_segments_are_attended_as_plainly(attend, given, limit):
    query, keys, values, cache, prefix, seen = given
    weight = torch.randn(query.shape, device=query.device)
    plain = attended(attention.attend_segment_plainly, query, keys, values, prefix, seen, weight)
    for found, wanted in zip(attended(attend, query, keys, values, prefix, seen, weight), plain):
        assert (found - wanted).abs().max() <= limit * wanted.abs().max().clamp(min=1.0)

    # NaN in every slot that no step sees, and in all that only a waiting step itself sees, moves no other step.
    waits = ~seen.kept[:, :, None, None]
    weight = weight.masked_fill(waits, 0.0)
    plain = attended(attention.attend_segment_plainly, query, keys, values, prefix, seen, weight)
    count = seen.visible[:, :, : seen.reach].any(1).sum(1)
    ages = (prefix.head[:, None] - 1 - torch.arange(cache.slots, device=query.device)) % cache.slots
    unseen = torch.ones(cache.keys.shape[1], cache.slots, dtype=torch.bool, device=query.device)
    unseen[prefix.agents] = ages >= count[:, None]
    for stored in (cache.keys, cache.values):
        stored.masked_fill_(unseen[:, None, :, None], torch.nan)
    spoiled = [part.masked_fill(waits, torch.nan) for part in (keys, values)]
    for found, wanted in zip(attended(attend, query, *spoiled, prefix, seen, weight), plain):
        gap = (found - wanted).masked_fill(waits, 0.0).abs().max()
        assert gap <= limit * wanted.abs().max().clamp(min=1.0)


def interpret():
    """In a process of its own, with TRITON_INTERPRET=1."""
    from baselines import ring_kernel, segment_kernel

    for shape in SHAPES[:3]:
        given = ring(*shape)
        assert ring_kernel.fits(*given[:2])
        gap = (ring_kernel.attend_ring(*given) - attention.attend_ring_plainly(*given)).abs().max()
        assert gap < 1e-5, (shape, gap)
    for shape in SEGMENTS[:4]:
        given = segment(*shape)
        assert segment_kernel.fits(given[0], given[3].keys)
        assert_segments_are_attended_as_plainly(segment_kernel.attend_segment, given, 1e-5)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here the kernels themselves are tested")
@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
def test_the_kernels_compute_the_plain_attention_in_the_interpreter():
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
    given = ring(*shape, device="cuda", dtype=dtype, agents=300)
    gap = (attention.attend_ring(*given).float() - attention.attend_ring_plainly(*given).float()).abs().max()
    assert gap < (1e-5 if dtype == torch.float32 else 0.02)


@on_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SEGMENTS, ids=str)
def test_whole_segments_are_attended_as_plainly_with_their_gradients(shape, dtype):
    given = segment(*shape, device="cuda", dtype=dtype, agents=40)
    limit = 1e-5 if dtype == torch.float32 else 0.03
    assert_segments_are_attended_as_plainly(attention.attend_segment, given, limit)


@on_gpu
@pytest.mark.parametrize("shape", SEGMENTS[-4:], ids=str)
def test_whole_segments_are_attended_to_the_bit_each_time(shape):
    query, keys, values, _, prefix, seen = segment(*shape, device="cuda", dtype=torch.bfloat16, agents=40)
    once, again = (attended(attention.attend_segment, query, keys, values, prefix, seen, torch.ones_like(query))
                   for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(once, again))


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
