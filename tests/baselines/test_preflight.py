"""Does the preflight report what fails, and the inspection weights that must be 0?"""

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY, TINY, make_policy, run_here, run_module_here, tiny_config

from baselines import run as run_module
from baselines.policy import attention
from baselines.ppo import train
from baselines.presets import PRESETS
from baselines.rollout.batches import scenes_of
from baselines.tools import inspect as inspection
from baselines.tools import preflight
from drive_env import Batch


def small_config(folder):
    return tiny_config(folder).changed(env={"scene_count": 2}, ppo={"minibatches": 1})


def test_a_working_machine_passes_every_check(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "LAW_STEPS", 100)
    reported = []
    findings = preflight.preflight(small_config(tmp_path), smoke=True, report=reported.append)
    assert reported == findings and len(findings) == 9
    assert [finding.detail for finding in findings if not finding.passed] == []
    assert findings[-1].detail == "start, random_policy, update, evaluation, end and a checkpoint"


def test_a_failed_check_is_reported_and_the_others_still_run(tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "LAW_STEPS", 10)

    def breaks(*_):
        raise RuntimeError("no scene today")

    monkeypatch.setattr(run_module, "evaluate", breaks)
    monkeypatch.setattr(preflight, "attend_segment", breaks)
    failed = {finding.name: finding.detail for finding in preflight.preflight(
        small_config(tmp_path), require_device="a better one", smoke=True) if not finding.passed}
    assert failed.keys() == {"device", "bfloat16 attention, backward", "first update"}
    assert "'a better one' was required" in failed["device"]
    assert failed["first update"] == failed["bfloat16 attention, backward"] == "RuntimeError: no scene today"


@pytest.mark.parametrize("channel, law", [
    ("trial_ended", "trial_ended is equal on all agents of a world"),
    ("terminations", "terminations occur in the last trial alone"),
    ("invalid_step", "invalid_step is the waits of the step before"),
    ("first", "first is set in the step after the end of the last trial"),
    ("truncation", "truncation implies trial_ended"),
])
def test_a_wrong_channel_is_found(channel, law):
    with Batch(scenes_of(BUSY), num_worlds=2, config=BUSY.drive) as batch:
        batch.reset()
        before = {name: getattr(batch, name).copy() for name in ("waits", "trial_ended", "trial_index")}
        batch.step(batch.actions)
        assert not any(broken.any() for broken in preflight.broken_laws(batch, before).values())
        getattr(batch, channel)[3] ^= True
        assert preflight.broken_laws(batch, before)[law][3 if "equal" not in law else 0]


def test_the_parity_check_fails_where_training_differs(tmp_path, monkeypatch):
    config = small_config(tmp_path)
    alone = preflight.join("cpu")
    assert preflight.check_parity(config, alone).passed
    real = attention.attend_segment
    monkeypatch.setattr("baselines.policy.model.attend_segment", lambda q, *rest: real(q * 1.5, *rest))
    monkeypatch.setattr("baselines.tools.preflight.make_policy",
                        lambda config, batch, ranks: make_policy(batch, config.model))
    assert not preflight.check_parity(config, alone).passed


@pytest.mark.parametrize("model", [TINY, replace(TINY, width=32, heads=4, kv_heads=2, context=7)], ids=str)
def test_an_inspection_has_weights_inside_the_mask_alone(model, tmp_path):
    scene = scenes_of(BUSY)[0]
    with Batch([scene], config=BUSY.drive) as batch:
        policy = make_policy(batch, model)
    found = inspection.inspect(policy, scene, BUSY.drive, agent=1, steps=110)
    steps, weights = found.steps, found.weights
    assert weights.shape == (2, model.heads, 110, 110)
    assert np.allclose(weights.sum(-1), 1, atol=1e-4)
    assert {step["trial"] for step in steps} == {0, 1} and sum(step["first"] for step in steps) >= 2
    assert any(step["waits"] for step in steps) and any(step["truncation"] for step in steps)
    for step in steps:
        now = step["step"]
        start = max(other["step"] for other in steps[: now + 1] if other["first"])
        tokens = [other["step"] for other in steps[start:now] if not other["waits"]]
        assert step["position"] == len(tokens)
        window = {*tokens[max(0, len(tokens) - model.context + 1):], now}
        assert set(weights[:, :, now].any((0, 1)).nonzero()[0].tolist()) <= window
        assert found.oldest[now] == min(window)
    inspection.draw_attention(found, tmp_path / "attention.png")
    assert (tmp_path / "attention.png").read_bytes()[:4] == b"\x89PNG"


def test_a_weight_outside_the_mask_is_found(monkeypatch):
    scene = scenes_of(BUSY)[0]
    with Batch([scene], config=BUSY.drive) as batch:
        policy = make_policy(batch)
    real = attention.attend_ring
    monkeypatch.setattr(inspection, "attend_ring", lambda q, k, v, slot, length: real(q, k, v, slot, length + 1))
    with pytest.raises(inspection.MaskedWeightError, match="which are masked"):
        inspection.inspect(policy, scene, BUSY.drive)


def test_the_command_inspects_a_checkpoint(tmp_path, monkeypatch, capsys):
    result = train(tiny_config(tmp_path / "run", ppo={"agent_steps": 500}))
    arguments = [result.checkpoint.parent, "--out", tmp_path / "out"]
    code, _, errors = run_module_here(monkeypatch, capsys, "baselines.tools.inspect", *arguments)
    assert code == 0, errors
    lines = [json.loads(line) for line in (tmp_path / "out" / "trace.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(len(lines))) and lines[-1]["trial_ended"]
    assert (tmp_path / "out" / "attention.png").exists()
    for wrong, sentence in ((["--agent", "99"], "agent is 99; it must be from 0 to 5"),
                            (["--steps", "-1"], "steps is -1; it must be 1 or more"),
                            (["--steps", "0"], "steps is 0; it must be 1 or more"),
                            (["--out", result.checkpoint / "config.json"], "which exists and is no folder")):
        code, _, errors = run_here(monkeypatch, capsys, inspection.main, *arguments, *wrong)
        assert code == 1 and sentence in errors


def test_an_unknown_preset_is_one_sentence(monkeypatch, capsys):
    known = ", ".join(map(repr, PRESETS))
    assert run_here(monkeypatch, capsys, preflight.main, "--preset", "foo") == (
        1, "", f"baselines.tools.preflight: preset is 'foo'; it must be one of {known}")
