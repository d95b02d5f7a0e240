"""Do the rendering tools of PettingZoo and Gymnasium work with the adapters?"""

import os
import shutil
import subprocess

import gymnasium
import pytest

pytest.importorskip("cv2", reason="the extra [render] is not installed")

from pettingzoo.test import render_test
from pettingzoo.utils import parallel_to_aec

from drive_env import DriveConfig, generate_scene, parallel_env

TOWN = generate_scene("town", seed=0, agents=6)
SHORT = DriveConfig(trial_steps=10, max_trials=2)


def test_pettingzoo_s_own_render_test_passes(display):
    render_test(lambda render_mode=None: parallel_to_aec(parallel_env([TOWN], SHORT, render_mode=render_mode)))


@pytest.fixture
def display(monkeypatch):
    """The display of this machine, or a virtual one."""
    pytest.importorskip("tkinter", reason="this Python came without tkinter")
    if os.environ.get("DISPLAY"):
        yield
        return
    if not shutil.which("Xvfb"):
        pytest.skip("there is no display, and no Xvfb to make one")
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1600x1000x24"], pass_fds=[writer],
                              stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as number:
        monkeypatch.setenv("DISPLAY", f":{number.readline().strip()}")
    yield
    server.terminate()
    server.wait()


def test_gymnasium_records_a_video(tmp_path):
    pytest.importorskip("moviepy", reason="gymnasium's RecordVideo writes with moviepy")
    env = gymnasium.make("drive_env/Drive-v0", scenes=[TOWN], config=SHORT, render_mode="rgb_array")
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "films"), episode_trigger=lambda episode: True)
    env.reset(seed=0)
    done = False
    while not done:
        *_, terminated, truncated, _ = env.step(45)
        done = terminated or truncated
    env.close()
    assert [path.suffix for path in (tmp_path / "films").glob("*.mp4")] == [".mp4"]
