"""Does `render` of every adapter follow its mode, with errors that name the modes?"""

import pickle
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

import gymnasium
from bare_scene import bare_scene, drive, started

from drive_env import CallError, ConfigError, generate_scene, parallel_env
from drive_env.render import RENDER_MODES, SceneView, Screen

PICTURE = (720, 1280, 3)


@pytest.fixture
def batch():
    with started(bare_scene([(0.0, 0.0, 0.0)], goals=[(60.0, 0.0)], speeds=[10.0], dt_s=0.05)) as batch:
        yield batch


class Toolkit:
    """The part of tkinter that a window uses; records its calls."""

    class TclError(Exception):
        pass

    def __init__(self, display=True):
        self.display, self.pictures, self.updates, self.destroyed = display, [], 0, 0

    def Tk(self, className):
        if not self.display:
            raise self.TclError("no display name and no $DISPLAY environment variable")
        return SimpleNamespace(
            title=lambda text: None, resizable=lambda *sides: None, update=self._update,
            destroy=self._destroy, protocol=lambda name, call: setattr(self, "on_close", call))

    def Label(self, root, **options):
        return SimpleNamespace(pack=lambda: None, configure=lambda image: self.pictures.append(image))

    def PhotoImage(self, data, format, master):
        return data

    def _update(self):
        self.updates += 1

    def _destroy(self):
        self.destroyed += 1


@pytest.fixture
def toolkit(monkeypatch):
    toolkit = Toolkit()
    monkeypatch.setitem(sys.modules, "tkinter", toolkit)
    return toolkit


# ---- the screen ----


def test_rgb_array_returns_the_scene_view(batch):
    screen = Screen(batch, "rgb_array")
    assert screen.fps == 20.0
    assert np.array_equal(screen.show(), SceneView(batch).frame())


def test_no_mode_draws_nothing_and_lists_the_modes(batch):
    with pytest.raises(CallError, match="render_mode is None; make the env with one of 'human', 'rgb_array'"):
        Screen(batch, None).show()
    with pytest.raises(ConfigError, match="render_mode is 'ansi'; it must be None or one of 'human', 'rgb_"):
        Screen(batch, "ansi")


def test_a_window_shows_the_picture_in_real_time(batch, toolkit):
    screen = Screen(batch, "human")
    look, begin = SceneView(batch), time.monotonic()
    for number in range(4):
        assert screen.show() is None
        head, body = toolkit.pictures[-1][:16], toolkit.pictures[-1][16:]
        assert head == b"P6 1280 720 255\n" and body == look.frame().tobytes()
        assert toolkit.updates == number + 1
        drive(batch)
    assert time.monotonic() - begin >= 3 * 0.05
    screen.close()
    screen.close()
    assert toolkit.destroyed == 1


def test_a_window_that_its_user_closed_stays_closed(batch, toolkit):
    screen = Screen(batch, "human")
    screen.show()
    toolkit.on_close()
    screen.show()
    assert toolkit.updates == 1 and toolkit.destroyed == 1


def test_without_a_display_the_error_names_the_other_mode(batch, toolkit):
    toolkit.display = False
    with pytest.raises(CallError, match=r"no window opens here \(no display name .*\); use 'rgb_array'"):
        Screen(batch, "human").show()


def test_without_tkinter_the_error_names_its_package(batch, monkeypatch):
    monkeypatch.setitem(sys.modules, "tkinter", None)
    with pytest.raises(CallError, match="no tkinter .* 'apt install python3-tk', or use 'rgb_array'"):
        Screen(batch, "human").show()


# ---- adapters ----


def test_the_parallel_env_draws_its_world(toolkit):
    town = generate_scene("town", agents=4)
    env = parallel_env([town], render_mode="rgb_array")
    assert env.metadata["render_modes"] == list(RENDER_MODES) and env.metadata["render_fps"] == 10.0
    env.reset(seed=0)
    first = env.render()
    env.step({agent: 45 for agent in env.agents})
    assert first.shape == PICTURE and first.dtype == np.uint8 and not np.array_equal(first, env.render())
    copy = pickle.loads(pickle.dumps(env))
    assert copy.render().shape == PICTURE
    env.close()

    drawn_env = parallel_env([town], render_mode="human")
    drawn_env.reset(seed=0)
    drawn_env.step({agent: 45 for agent in drawn_env.agents})
    assert toolkit.updates == 2 and drawn_env.render() is None and toolkit.updates == 3
    drawn_env.close()
    assert toolkit.destroyed == 1


@pytest.mark.parametrize("make", (
    lambda **how: parallel_env([generate_scene("town", agents=4)], **how),
    lambda **how: gymnasium.make("drive_env/Drive-v0", **how)), ids=("parallel_env", "make"))
def test_an_env_that_is_opened_again_draws_again(make, toolkit):
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.close()
    env.reset(seed=0)
    assert np.array_equal(before, env.render())
    env.close()

    drawn_env = make(render_mode="human")
    for times in (1, 2):
        drawn_env.reset(seed=0)
        drawn_env.close()
        assert toolkit.updates == toolkit.destroyed == times


def test_rendering_without_a_mode_is_an_error():
    env = parallel_env([generate_scene("town", agents=2)])
    env.reset(seed=0)
    with pytest.raises(CallError, match="render_mode is None"):
        env.render()
    with pytest.raises(ConfigError, match="render_mode is 'ansi'"):
        parallel_env(render_mode="ansi")


def test_the_gymnasium_env_draws_its_world(toolkit):
    env = gymnasium.make("drive_env/Drive-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == PICTURE and env.metadata["render_fps"] == 5.0
    env.close()
    drawn_env = gymnasium.make("drive_env/Drive-v0", render_mode="human")
    drawn_env.reset(seed=0)
    drawn_env.step(45)
    assert toolkit.updates == 2
    drawn_env.close()


def test_the_vector_env_draws_every_world():
    envs = gymnasium.make_vec("drive_env/Drive-v0", num_envs=2, vectorization_mode="vector_entry_point",
                              render_mode="rgb_array")
    envs.reset(seed=0)
    pictures = envs.render()
    assert isinstance(pictures, tuple) and [picture.shape for picture in pictures] == [PICTURE] * 2
    assert not np.array_equal(*pictures)
    envs.close()


ADAPTERS = {
    "PettingZoo": lambda options: parallel_env("town", render_mode="rgb_array", render_options=options),
    "Gymnasium": lambda options: gymnasium.make("drive_env/Drive-v0", render_mode="rgb_array", render_options=options),
    "vector": lambda options: gymnasium.make_vec(
        "drive_env/Drive-v0", 1, "vector_entry_point", render_mode="rgb_array", render_options=options)}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_env_draws_the_view_of_its_options_also_after_it_was_closed(adapter):
    options = {"view": "follow", "size": (96, 64), "bars": False}
    env = ADAPTERS[adapter](options)
    env.reset(seed=3)
    found = np.asarray(env.render()).reshape(64, 96, 3)
    assert np.array_equal(found, SceneView(env.unwrapped.batch, **options).frame())
    env.close()
    if adapter == "PettingZoo":
        env.reset(seed=3)
        assert np.array_equal(env.render(), found)


def test_an_option_that_no_view_has_is_an_error_when_the_env_is_made():
    with pytest.raises(ConfigError, match="^SceneView has no render option 'vew'; did you mean view"):
        parallel_env("town", render_options={"vew": "follow"})
    with pytest.raises(ConfigError, match="^render_options is 3; it must be None or a mapping"):
        parallel_env("town", render_options=3)
