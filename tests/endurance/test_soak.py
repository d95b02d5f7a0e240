"""Do all laws hold over a million agent-steps of random batches? A short run of soak.py."""

import numpy as np
import pytest
import rollouts
import soak


def test_a_short_soak_meets_every_law():
    tally = soak.soak(1_000_000, seed=7)  # its batches have observations that the laws cannot check, too
    assert tally.agent_steps >= 1_000_000 and tally.batches >= 3
    assert tally.samples_by_law >= 5  # 7 without real files
    assert tally.samples_by_bytes > tally.samples_by_law
    assert tally.agent_steps_recorded > 5_000 and tally.trials > 10_000


@pytest.mark.parametrize("channel", ("rewards", "truncation", "waits", "observations"))
def test_a_broken_channel_is_found(channel, monkeypatch):
    snapshot = rollouts.snapshot

    def broken(part):
        shown = snapshot(part)
        first = shown[channel].reshape(-1)[:1]
        first[:] = np.logical_not(first) if first.dtype == bool else first + np.float32(0.25)
        return shown

    monkeypatch.setattr(rollouts, "snapshot", broken)
    with pytest.raises(AssertionError, match="law|reward"):
        soak.soak(1_000_000, seed=3)
