"""Do the standard faces draw as their standards ask?"""

import os
import shutil
import subprocess

import gymnasium
import numpy as np
import pytest

pytest.importorskip("cv2", reason="the extra [render] is not installed")

from drive_env import DriveConfig, generate_scene, parallel_env  # noqa: E402
from pettingzoo.test import render_test  # noqa: E402
from pettingzoo.utils import parallel_to_aec  # noqa: E402

TOWN = generate_scene("town", seed=0, agents=6)
SHORT = DriveConfig(trial_steps=10, max_trials=2)


def is_picture(frame):
    return isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3


def test_pettingzoo_draws_and_says_how_fast():
    env = parallel_env([TOWN], SHORT, render_mode="rgb_array")
    assert env.metadata["render_fps"] == 10 and "rgb_array" in env.metadata["render_modes"]
    env.reset(seed=0)
    first = env.render()
    env.step({agent: 84 for agent in env.agents})
    assert is_picture(first) and not np.array_equal(first, env.render())
    env.close()


def test_pettingzoo_s_own_render_test_passes(display):
    render_test(lambda render_mode=None: parallel_to_aec(parallel_env([TOWN], SHORT, render_mode=render_mode)))


@pytest.fixture
def display(monkeypatch):
    """A display to open windows on: the one there is, or a virtual one of our own."""
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


def test_the_vector_env_draws_every_sub_environment():
    envs = gymnasium.make_vec("drive_env/Drive-v0", num_envs=2, scenes=[TOWN], config=SHORT, render_mode="rgb_array")
    envs.reset(seed=0)
    frames = envs.render()
    assert len(frames) == 2 and all(is_picture(frame) for frame in frames)
    envs.close()
