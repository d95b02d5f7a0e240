"""Does one call play an episode and write its frames?"""

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL", "av"):
    pytest.importorskip(package, reason=REASON)

import av
from bare_scene import COAST, bare_scene
from PIL import Image

from drive_env import ConfigError, DriveConfig, generate_scene
from drive_env.policies import TrainedPolicy
from drive_env.render import play
from drive_env.render.film_episode import HOLD_S, KEPT_PER_CHOSEN, SHEET_COLUMNS, _EvenlySpaced

SMALL = {"size": (200, 160)}


@pytest.fixture(scope="module")
def town():
    return generate_scene("town", seed=1, agents=4)


def frame_count(path):
    with av.open(str(path)) as film:
        return sum(1 for _ in film.decode(video=0))


def test_a_film_has_every_step_and_holds_the_last_frame_of_each_trial(town, tmp_path):
    path, steps = tmp_path / "film.mp4", []
    figures = play(town, path, policy=lambda batch: np.full(batch.num_agents, COAST), agents=4, trials=2,
                   config=DriveConfig(trial_steps=12), **SMALL,
                   progress=lambda done, most: steps.append((done, most)))
    # The reset, 12 steps, a restart, 12 steps.
    assert frame_count(path) == 26 + 2 * round(HOLD_S / 0.1)
    assert [done for done, _ in steps] == list(range(1, 26)) and {most for _, most in steps} == {25}
    assert figures["trials"].value == 8 and figures["timeout"].value == 1


def test_progress_reaches_its_end_even_if_trials_end_early(tmp_path):
    steps = []
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(6.0, 0.0)], speeds=[10.0])
    play(scene, tmp_path / "film.gif", policy="random", trials=3, config=DriveConfig(trial_steps=40),
         progress=lambda done, most: steps.append((done, most)), **SMALL)
    done = [done for done, _ in steps]
    assert done == sorted(done) and steps[-1][0] == steps[-1][1] and len(steps) < 30


@pytest.mark.parametrize("policy", ["lane", "random"])
def test_a_sheet_has_one_row_of_pictures_per_trial(town, tmp_path, policy):
    config = DriveConfig(trial_steps=9)
    play(town, tmp_path / "sheet.png", policy=policy, agents=4, trials=2, config=config, **SMALL)
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert abs(sheet.width - SHEET_COLUMNS * 200) <= 5 * SHEET_COLUMNS
        assert abs(sheet.height - 2 * 160) <= 5


@pytest.mark.parametrize("is_trained", [True, False])
def test_a_film_has_the_trials_of_the_config_or_of_the_training(town, tmp_path, is_trained):
    policy, config = lambda batch: np.full(batch.num_agents, COAST), DriveConfig(max_trials=3, trial_steps=2)
    if is_trained:
        policy, config = TrainedPolicy(lambda batch: lambda batch: np.full(batch.num_agents, COAST), {}, config), None
    assert play(town, tmp_path / "sheet.png", policy=policy, config=config, **SMALL)["trials"].value == 12
    assert play(town, tmp_path / "sheet.png", policy=policy, config=config, trials=1, **SMALL)["trials"].value == 4


def test_the_same_seed_draws_the_same_sheet(town, tmp_path):
    for name in "ab":
        play(town, tmp_path / f"{name}.png", policy="random", trials=1, seed=3, view="follow", agent=1,
             config=DriveConfig(trial_steps=9), **SMALL)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_replay_lasts_as_long_as_its_log_and_its_agent_stops_at_its_goal(tmp_path):
    moving = [(3.0 * step, 0.0, 0.0) for step in range(60)]
    agent = [(0.0, 8.0, 0.0)] * 60
    scene = bare_scene([agent[0], moving[0]], goals=[(12.0, 8.0), moving[-1][:2]], speeds=[8.0, 8.0],
                       logs=[agent, moving])
    figures = play(scene, tmp_path / "film.mp4", policy="replay", **SMALL)
    assert frame_count(tmp_path / "film.mp4") == 60 + round(HOLD_S / 0.1)
    # The driver accelerates to at most 10 m/s, from which the braking distance at 4 m/s2 is 12.5 m.
    assert figures["goal"].value == 1 and figures["distance_m"].value < 12 + 12.5


def test_an_invalid_argument_is_an_error(town, tmp_path):
    for path in ("film.avi", "film"):
        with pytest.raises(ConfigError, match=r"must end in .mp4 or .gif or .png"):
            play(town, path)
    with pytest.raises(ConfigError, match="policy is 'best'; it must be a function or one of 'lane', "):
        play(town, tmp_path / "film.mp4", policy="best")
    for agents, text in ((3, "3"), (np.ones((2, 2)), r"array\(\[\[1.*"), ("one", "'one'")):
        with pytest.raises(ConfigError, match=f"agents is {text}; policy 'replay' leaves one agent"):
            play(town, tmp_path / "film.mp4", policy="replay", agents=agents)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [1, 3, 80, 81, 1000])
def test_a_sheet_of_a_long_trial_keeps_few_frames_and_spreads_them(length):
    kept = _EvenlySpaced(5)  # up to 80 frames
    for number in range(length):
        kept.add(np.array(number))
        assert len(kept._kept) <= 5 * KEPT_PER_CHOSEN
    chosen = [int(frame) for frame in kept.selected(np.array(length - 1))]
    assert chosen[0] == 0 and chosen[-1] == length - 1 and len(chosen) == 5
    assert np.abs(np.diff(chosen) - (length - 1) / 4).max() <= max(2, length / 16)


def test_a_film_of_fewer_frames_lasts_as_long(town, tmp_path):
    times_s = []
    for fps in (None, 5.0):
        play(town, tmp_path / "film.mp4", agents=4, config=DriveConfig(trial_steps=20), fps=fps, **SMALL)
        with av.open(str(tmp_path / "film.mp4")) as film:
            times_s.append((film.streams.video[0].average_rate, float(film.duration) / av.time_base))
    assert [rate for rate, _ in times_s] == [10, 5]
    assert times_s[1][1] == pytest.approx(times_s[0][1], abs=0.2)


@pytest.mark.parametrize("name, fps, sentence", [
    ("a.gif", 0, "fps is 0; it must be a number from 0.1 to 100"), ("a.gif", True, "fps is True"),
    ("a.png", 5, "fps is 5; a sheet has no frames per second")])
def test_frames_per_second_that_do_not_fit_are_an_error(town, tmp_path, name, fps, sentence):
    with pytest.raises(ConfigError, match=f"^{sentence}"):
        play(town, tmp_path / name, fps=fps)
