"""Which page do the tests of replay pages open? One of three trials, recorded once."""

import numpy as np
import pytest
from opened_page import DESKTOP, TRIALS, WATCHED, Opened

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.replay import Recorder


class Learner(LaneDriver):
    """Odd agents steer and brake at random, less often from trial to trial: collisions first, goals later."""

    def __init__(self, batch):
        super().__init__(batch)
        self._rng = np.random.default_rng(0)

    def act_all(self):
        actions = super().act_all()
        wavers = self._rng.random(len(actions)) < (0.7, 0.3, 0.0)[int(self.batch.trial_index[0])]
        at_random = 13 * self._rng.integers(2, 5, len(actions)) + self._rng.integers(0, 13, len(actions))
        return np.where(wavers & (np.arange(len(actions)) % 2 == 1), at_random, actions)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The path of a page, observation vectors by (trial, frame, agent), and the layout."""
    path, observed = tmp_path_factory.mktemp("replay") / "page.html", {}
    config = DriveConfig(max_trials=TRIALS, observation={"partners": 8, "roads": 40},
                         hidden={"throttle_gain": (0.99, 1.01)}, reward_ranges={"offroad": (-0.3, -0.1)})
    with Batch(generate_scene("town", seed=3, agents=24), config=config) as batch:
        recorder, driver = Recorder(batch), Learner(batch)
        batch.reset()
        trial = frame = 0
        while trial < TRIALS:
            recorder.capture()
            if frame % 10 == 0:
                observed |= {(trial, frame, agent): batch.observations[agent].copy() for agent in WATCHED}
            trial, frame = (trial + 1, 0) if batch.trial_ended[0] else (trial, frame + 1)
            batch.step(driver.act_all())
        recorder.recording().save_html(path, title="A test")
        layout = batch.observation_layout()
    return path, observed, layout


@pytest.fixture
def page(chromium, played):
    """The page, opened at a desktop's size; at the end the console must be empty."""
    opened = Opened(chromium, played[0])
    opened.open(DESKTOP)
    yield opened
    assert opened.console() == []
