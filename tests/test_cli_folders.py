"""Does every command take a folder of scenes?"""

from pathlib import Path

import pytest
from command import cells, run
from still_town import still_town

import drive_env
from drive_env.cli import trials_demo


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two scenes, of 2 and of 3 vehicles."""
    monkeypatch.chdir(tmp_path)
    Path("scenes").mkdir()
    for name, kind, agents in (("a", "intersection", 2), ("b", "town", 3)):
        drive_env.save_scene(drive_env.generate_scene(kind, seed=1, agents=agents), f"scenes/{name}.drv")
    return "scenes"


@pytest.mark.parametrize("choice, index, vehicles", [([], 0, "2"), (["--index", "1"], 1, "3")])
def test_inspect_shows_a_scene_of_a_folder_and_which_it_is(folder, choice, index, vehicles):
    output = run("inspect", folder, *choice)
    assert output.startswith(f"scenes: scene {index}, ")
    assert cells(output, "vehicle")[0] == vehicles


@pytest.mark.parametrize("index, agents", [("0", 2), ("1", 3)])
def test_replay_and_play_take_a_scene_of_a_folder(folder, index, agents):
    output = run("replay", folder, "--index", index, "--trials", "1", "--out", "page.html")
    assert output.startswith(f"scenes: scene {index}, ") and Path("page.html").exists()
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    assert run("play", folder, "--index", index, "--agents", str(agents), "--out", "sheet.png").splitlines()[1:]
    with pytest.raises(drive_env.ConfigError, match=f"^--agents is {agents + 1}; the generated scene"):
        run("play", folder, "--index", index, "--agents", str(agents + 1), "--out", "sheet.png")


def test_demo_and_bench_take_all_scenes_of_a_folder(folder, monkeypatch):
    monkeypatch.setattr(trials_demo, "SCENES", 2)
    output = run("demo", folder, "--episodes", "4").partition("scenes: 2 scenes, drawn at random")[2]
    assert "3 agents" in output
    trials = [int(cell) for cell in cells(output, "trials recorded")]
    assert all(2 * 2 * 4 < count < 3 * 2 * 4 for count in trials), "scenes of two and of three agents were played"
    output = run("bench", folder, "--worlds", "2", "--seconds", "0.05")
    assert cells(output, "scenes") == ["scenes"] and cells(output, "worlds")[0].startswith("2 of 3 agents")


def test_an_index_that_selects_no_scene_is_an_error(folder):
    with pytest.raises(drive_env.ConfigError, match="--index is 2; scenes holds 2 scenes, so it must be from 0 to 1"):
        run("inspect", folder, "--index", "2")
    with pytest.raises(drive_env.ConfigError, match="--index is 1; town is a generator, whose scenes --seed selects"):
        run("replay", "town", "--index", "1", "--out", "page.html")


def test_demo_refuses_a_scene_in_which_nothing_could_drive_before_it_plays_any(folder):
    drive_env.save_scene(still_town(), f"{folder}/c.drv")
    with pytest.raises(drive_env.SceneError, match="no object that could drive"):
        run("demo", folder, "--episodes", "1000")
