"""Does a person drive by keyboard or gamepad as the page says, while the policy drives all others?"""

import os
import subprocess
import sys

import numpy as np
import pytest

for package in ("cv2", "PIL", "pygame"):
    pytest.importorskip(package, reason='driving by hand needs the extra: pip install "drive-env[drive]"')

os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"

import pygame
from command import run

from drive_env import ActionError, Batch, CallError, ConfigError, DriveConfig, MissingExtraError, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.render import SceneView, drive
from drive_env.render.hand_controls import HandControls

SMALL = {"size": (200, 160)}
IGNORE = dict.fromkeys(("on_goal", "on_collision", "on_offroad"), "ignore")


@pytest.fixture
def fast(monkeypatch):
    """Time does not pass; `script` maps the number of a picture to the events that follow it."""
    script, ticks = {}, []

    class Clock:
        def tick(self, fps):
            ticks.append(fps)
            for kind, values in script.get(len(ticks) - 1, ()):
                pygame.event.post(pygame.event.Event(kind, values))

    monkeypatch.setattr(pygame.time, "Clock", Clock)
    script["ticks"] = ticks
    return script


def press(*keys):
    return [(pygame.KEYDOWN, {"key": key}) for key in keys]


def release(*keys):
    return [(pygame.KEYUP, {"key": key}) for key in keys]


ESCAPE = [(pygame.KEYDOWN, {"key": pygame.K_ESCAPE})]


class Watched:
    """The lane driver; the states of the batch before each step."""

    def __init__(self):
        self.states = []

    def for_batch(self, batch):
        driver = LaneDriver(batch)

        def act(batch):
            self.states.append({name: values.copy() for name, values in batch.vehicles().items()})
            return driver.act_all()

        return act


def driven(fast, script, agents=3, **config):
    """The states before each step, and the trials, of a drive with a script of events."""
    fast.update(script)
    watched, scene = Watched(), generate_scene("town", seed=1, agents=agents)
    options = {"action_type": "continuous", "trial_steps": 100, **IGNORE, **config}
    return watched.states, drive(scene, policy=watched, config=DriveConfig(**options), **SMALL)


@pytest.mark.parametrize("keys", [("K_UP", "K_LEFT", "K_DOWN", "K_RIGHT"), ("K_w", "K_a", "K_s", "K_d")])
@pytest.mark.parametrize("action_type", ["continuous", "discrete", "multi_discrete"])
def test_keys_accelerate_brake_and_steer_one_agent(fast, keys, action_type):
    up, left, down, right = (getattr(pygame, key) for key in keys)
    script = {0: press(up), 10: press(left), 14: release(left), 30: press(right), 36: release(right, up),
              40: press(down), 60: ESCAPE}
    states, _ = driven(fast, script, action_type=action_type)
    speed, turned = (np.array([state[name][0] for state in states]) for name in ("speed_mps", "heading_rad"))
    turned = np.unwrap(turned)
    assert len(states) == 60 and (np.diff(speed[:30]) >= 0).all() and speed[30] > speed[0]
    assert turned[16] > turned[10] + 0.01, "to the left, counter-clockwise"
    assert turned[37] < turned[30] - 0.01
    assert (np.diff(speed[41:]) <= 0).all() and speed[-1] < speed[40]


def test_the_policy_drives_all_others_as_if_it_drove_all(fast):
    """A person who coasts: the others drive as in a batch in which that agent coasts by itself."""
    states, _ = driven(fast, {20: ESCAPE})
    config = DriveConfig(action_type="continuous", trial_steps=100, **IGNORE)
    with Batch(generate_scene("town", seed=1, agents=3), config=config, seed=0) as batch:
        driver = LaneDriver(batch)
        batch.reset()
        for state in states:
            for name, values in batch.vehicles().items():
                assert np.array_equal(values, state[name], equal_nan=values.dtype.kind == "f"), name
            actions = driver.act_all()
            actions[0] = 0.0
            batch.step(actions)
    assert len(states) == 20


def test_wrong_actions_of_the_policy_of_the_others_are_one_sentence(fast):
    """Too few of them were once an `IndexError`."""
    fast.update({20: ESCAPE})
    with pytest.raises(ActionError, match=r"actions have shape \(1,\); they must be an array of shape \(3,\)"):
        drive(generate_scene("town", seed=1, agents=3), policy=lambda batch: [45], agent=2, **SMALL)


def test_space_brakes_also_while_accelerating(fast):
    up, space = pygame.K_UP, pygame.K_SPACE
    states, _ = driven(fast, {0: press(up), 20: press(space), 30: release(space), 40: ESCAPE})
    speed = [state["speed_mps"][0] for state in states]
    assert speed[19] > speed[0] and speed[29] < speed[20] - 1 and speed[39] > speed[31]


def test_a_reset_begins_the_next_episode_and_escape_or_the_window_ends(fast):
    states, trials = driven(fast, {5: press(pygame.K_r), 6: release(pygame.K_r), 12: [(pygame.QUIT, {})]})
    assert [(one.trial, one.outcome, one.steps) for one in trials] == [(0, "", 5), (0, "", 6)]
    assert states[5]["speed_mps"][0] == states[0]["speed_mps"][0] and len(states) == 11


def test_each_trial_is_reported_with_its_outcome(fast):
    ended = []
    fast.update({26: ESCAPE})
    scene = generate_scene("town", seed=1, agents=2)
    trials = drive(scene, config=DriveConfig(trial_steps=10, max_trials=2, **IGNORE), ended=ended.append, **SMALL)
    assert [tuple(one) for one in trials] == [(0, "timeout", 10), (1, "timeout", 10), (0, "", 4)]
    assert ended == trials[:2]


def test_a_lost_window_releases_all_keys(fast):
    states, _ = driven(fast, {0: press(pygame.K_DOWN), 3: [(pygame.WINDOWFOCUSLOST, {})], 12: ESCAPE})
    speed = [state["speed_mps"][0] for state in states]
    assert speed[3] < speed[0] and len(set(speed[4:])) == 1


def test_the_pace_and_the_picture_are_those_of_the_world(fast, monkeypatch):
    pictures, frame = [], SceneView.frame
    monkeypatch.setattr(SceneView, "frame", lambda self: pictures.append((self.view, self.agent)) or frame(self))
    fast.update({3: ESCAPE})
    drive(generate_scene("town", seed=1, agents=3), agent=2, config=DriveConfig(dt_s=0.05), **SMALL)
    assert pictures == [("follow", 2)] * 4 and fast["ticks"] == [20.0] * 4


class Pad:
    """A gamepad."""

    def __init__(self, axes, buttons=()):
        self.axes, self.buttons = axes, buttons

    def get_instance_id(self):
        return 7

    def get_numaxes(self):
        return len(self.axes)

    def get_axis(self, axis):
        return self.axes[axis]

    def get_numbuttons(self):
        return 8

    def get_button(self, button):
        return button in self.buttons


@pytest.mark.parametrize("axes, buttons, shares", [
    ((-0.5, -1.0), (), (1.0, 0.5)), ((0.5, 0.25), (), (-0.25, -0.5)), ((0.05, -0.05), (), (0.0, 0.0)),
    ((0.0, -1.0), (0,), (-1.0, 0.0)), ((), (), (0.0, 0.0))])
def test_the_stick_of_a_gamepad_drives(monkeypatch, axes, buttons, shares):
    pygame.init()
    monkeypatch.setattr(pygame.joystick, "Joystick", lambda index: Pad(axes, buttons))
    pygame.event.clear()
    controls = HandControls(pygame)
    pygame.event.post(pygame.event.Event(pygame.JOYDEVICEADDED, {"device_index": 0}))
    controls.begin_step()
    assert controls.shares(0.1) == pytest.approx(shares) and not controls.resets
    for button, resets in ((7, True), (0, False)):
        pygame.event.post(pygame.event.Event(pygame.JOYBUTTONDOWN, {"button": button}))
        controls.begin_step()
        assert controls.resets == resets
    pygame.event.post(pygame.event.Event(pygame.JOYDEVICEREMOVED, {"instance_id": 7}))
    controls.begin_step()
    assert controls.shares(0.1) == (0.0, 0.0)
    pygame.quit()


def test_a_gamepad_that_is_gone_before_it_is_read_does_not_end_the_drive():
    pygame.init()
    try:
        pygame.event.post(pygame.event.Event(pygame.JOYDEVICEADDED, {"device_index": 99}))
        controls = HandControls(pygame)
        controls.begin_step()
        assert controls.shares(0.1) == (0.0, 0.0) and not controls.quits
    finally:
        pygame.quit()


def test_the_command_drives_and_prints_outcomes(fast):
    fast.update({203: ESCAPE})
    output = run("drive", "intersection", "--agents", "2", "--seed", "3", "--policy", "random")
    assert output.startswith("arrow keys or WASD drive, Space brakes, R begins the next episode, Esc quits\ntrial 1: ")
    assert " after " in output


@pytest.mark.parametrize("options, error, sentence", [
    ({"agent": 9}, ConfigError, "agent is 9; it must be a whole number from 0 to 1"),
    ({"policy": "fast"}, ConfigError, "policy is 'fast'; it must be"),
    ({"view": "top"}, ConfigError, "view is 'top'; it must be one of"),
    ({"config": {"dynamics": "state", "action_type": "continuous"}, "policy": "random"}, ConfigError,
     "dynamics.model is 'state', whose actions set")])
def test_what_cannot_be_driven_is_one_sentence_before_a_window_opens(options, error, sentence, monkeypatch):
    monkeypatch.setattr(pygame.display, "set_mode", None)
    with pytest.raises(error, match=sentence):
        drive(generate_scene("town", agents=2), **options, **SMALL)


def test_an_agent_that_the_scene_of_a_later_episode_lacks_is_refused_before_a_window_opens(monkeypatch):
    monkeypatch.setattr(pygame.display, "set_mode", None)
    scenes = [generate_scene("town", agents=3), generate_scene("town", seed=1, agents=2)]
    with pytest.raises(ConfigError, match="agent is 2; in scene town/1 it must be a whole number from 0 to 1"):
        drive(scenes, agent=2, **SMALL)


def test_without_a_display_or_the_extra_the_error_names_it(monkeypatch):
    def no_display(size):
        raise pygame.error("No available video device")

    monkeypatch.setattr(pygame.display, "set_mode", no_display)
    with pytest.raises(CallError, match="no window opens here .No available video device.; it needs a display"):
        drive("town", **SMALL)
    monkeypatch.undo()
    monkeypatch.delenv("SDL_VIDEODRIVER")
    monkeypatch.setattr(pygame.display, "set_mode", lambda size: None)
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")
    with pytest.raises(CallError, match="no window opens here .SDL found only its driver 'offscreen'.; it needs"):
        drive("town", **SMALL)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtraError, match="driving by hand needs pygame, .* pip install \"drive-env.drive.\""):
        drive("town", **SMALL)


PLAY = """
import os
os.environ["SDL_VIDEODRIVER"] = "dummy"
import pygame
from gymnasium.utils.play import play
from gymnasium.wrappers import TimeLimit
from drive_env.api.gym import DriveEnv

drive = DriveEnv("town", dict.fromkeys(("on_goal", "on_collision", "on_offroad"), "ignore"), render_mode="rgb_array")
env = TimeLimit(drive, 1000)
events = {0: (pygame.KEYDOWN, pygame.K_w), 20: (pygame.KEYDOWN, pygame.K_a), 25: (pygame.KEYUP, pygame.K_a),
          26: (pygame.KEYUP, pygame.K_w), 27: (pygame.KEYDOWN, pygame.K_SPACE), 35: (pygame.KEYDOWN, pygame.K_ESCAPE)}
speeds, actions = [], []

def watch(before, after, action, *rest):
    if len(speeds) in events:
        kind, key = events[len(speeds)]
        pygame.event.post(pygame.event.Event(kind, {"key": key}))
    speeds.append(float(drive.batch.vehicles()["speed_mps"][0]))
    actions.append(int(action))

play(env, callback=watch, fps=10000, seed=1, noop=drive.noop_action())
keys = drive.get_keys_to_action()
assert actions[0] == actions[27] == drive.noop_action(), actions
assert actions[1] == keys["w"] and actions[21] == keys["wa"] and actions[28] == keys[" "], actions
assert speeds[20] > speeds[0] and speeds[-1] < speeds[27], speeds
"""


def test_gymnasium_plays_an_env_by_the_same_keys():
    """In a process of its own: Gymnasium selects another backend of matplotlib."""
    done = subprocess.run([sys.executable, "-c", PLAY], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
