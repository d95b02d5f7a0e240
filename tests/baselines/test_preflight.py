"""Does the preflight find what is wrong, and the inspection what must not be seen?"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY, TINY, make_policy, tiny_config

from baselines import attention, ppo, preflight
from baselines import inspect as inspection
from baselines.ppo import train
from baselines.presets import PRESETS
from baselines.worlds import scenes_of
from drive_env import Batch

ROOT = Path(__file__).resolve().parents[2]


def small_config(folder):
    return tiny_config(folder).changed(env={"scene_count": 2}, ppo={"minibatches": 1})


def test_a_fit_machine_passes_every_check(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "LAW_STEPS", 100)
    told = []
    findings = preflight.preflight(small_config(tmp_path), smoke=True, tell=told.append)
    assert told == findings and len(findings) == 9
    assert [finding.said for finding in findings if not finding.fine] == []
    assert findings[-1].said == "chance, update, evaluation and a checkpoint"


def test_what_fails_is_told_and_the_rest_still_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "LAW_STEPS", 10)

    def breaks(*_):
        raise RuntimeError("no scene today")

    monkeypatch.setattr(ppo, "evaluate", breaks)
    monkeypatch.setattr(preflight, "attend_segment", breaks)
    failed = {finding.name: finding.said for finding in preflight.preflight(
        small_config(tmp_path), require_device="a better one", smoke=True) if not finding.fine}
    assert failed.keys() == {"device", "bfloat16 attention, backward", "first update"}
    assert "'a better one' was required" in failed["device"]
    assert failed["first update"] == failed["bfloat16 attention, backward"] == "RuntimeError: no scene today"


@pytest.mark.parametrize("channel, law", [
    ("trial_ended", "trial_ended is equal on all agents of a world"),
    ("terminations", "terminations come in the last trial"),
    ("invalid_step", "invalid_step is the waits of the step before"),
    ("first", "first opens what follows the last trial"),
    ("truncation", "truncation implies trial_ended"),
])
def test_a_channel_that_lies_is_found(channel, law):
    with Batch(scenes_of(BUSY), num_worlds=2, config=BUSY.drive) as batch:
        batch.reset()
        before = {name: getattr(batch, name).copy() for name in ("waits", "trial_ended", "trial_index")}
        batch.step(batch.actions)
        assert not any(broken.any() for broken in preflight.broken_laws(batch, before).values())
        getattr(batch, channel)[3] ^= True
        assert preflight.broken_laws(batch, before)[law][3 if "equal" not in law else 0]


def test_parity_is_checked_with_teeth(tmp_path, monkeypatch):
    config = small_config(tmp_path)
    alone = preflight.join("cpu")
    assert preflight.parity_holds(config, alone).fine
    real = attention.attend_segment
    monkeypatch.setattr("baselines.model.attend_segment", lambda query, *rest: real(query * 1.5, *rest))
    monkeypatch.setattr("baselines.preflight.make_policy",
                        lambda config, batch, ranks: make_policy(batch, config.model))
    assert not preflight.parity_holds(config, alone).fine


@pytest.mark.parametrize("model", [TINY, replace(TINY, width=32, heads=4, kv_heads=2, context=7)], ids=str)
def test_an_inspection_shows_what_was_seen_and_nothing_else(model, tmp_path):
    scene = scenes_of(BUSY)[0]
    with Batch([scene], config=BUSY.drive) as batch:
        policy = make_policy(batch, model)
    found = inspection.inspect(policy, scene, BUSY.drive, agent=1, ticks=110)
    ticks, weights = found.ticks, found.weights
    assert weights.shape == (2, model.heads, 110, 110)
    assert np.allclose(weights.sum(-1), 1, atol=1e-4)
    assert {tick["trial"] for tick in ticks} == {0, 1} and sum(tick["first"] for tick in ticks) >= 2
    assert any(tick["waits"] for tick in ticks) and any(tick["truncation"] for tick in ticks)
    for tick in ticks:
        now = tick["tick"]
        start = max(other["tick"] for other in ticks[: now + 1] if other["first"])
        kept = [other["tick"] for other in ticks[start:now] if not other["waits"]]
        assert tick["position"] == len(kept)
        seen = {*kept[max(0, len(kept) - model.context + 1):], now}
        assert set(weights[:, :, now].any((0, 1)).nonzero()[0].tolist()) <= seen
        assert inspection.oldest_tick(ticks, now, model.context) == min(seen)
    inspection.draw_attention(found, tmp_path / "attention.png")
    assert (tmp_path / "attention.png").read_bytes()[:4] == b"\x89PNG"


def test_a_look_at_what_is_hidden_is_found(monkeypatch):
    scene = scenes_of(BUSY)[0]
    with Batch([scene], config=BUSY.drive) as batch:
        policy = make_policy(batch)
    real = attention.attend_ring
    monkeypatch.setattr(inspection, "attend_ring", lambda q, k, v, slot, length: real(q, k, v, slot, length + 1))
    with pytest.raises(inspection.HiddenWeightError, match="which it must not see"):
        inspection.inspect(policy, scene, BUSY.drive)


def test_the_command_inspects_a_checkpoint(tmp_path):
    result = train(tiny_config(tmp_path / "run", ppo={"agent_steps": 500}))
    command = [sys.executable, "-m", "baselines.inspect", str(result.checkpoint.parent), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "out" / "trace.jsonl").read_text().splitlines()]
    assert [line["tick"] for line in lines] == list(range(len(lines))) and lines[-1]["trial_ended"]
    assert (tmp_path / "out" / "attention.png").exists()
    wrong = subprocess.run([*command, "--agent", "99"], cwd=ROOT, capture_output=True, text=True, timeout=300,
                           check=False)
    assert wrong.returncode == 1 and "agent is 99; it must be from 0 to 5" in wrong.stderr


def test_the_command_refuses_an_unknown_preset_by_its_own_name():
    done = subprocess.run([sys.executable, "-m", "baselines.preflight", "--preset", "foo"], cwd=ROOT,
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    known = ", ".join(map(repr, PRESETS))
    assert done.stderr == f"baselines.preflight: preset is 'foo'; it must be one of {known}\n"
