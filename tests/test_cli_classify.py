"""Does `drive-env classify` report the behaviours in the logs of a folder, and what it could not read?"""

import csv
from pathlib import Path

import pytest
from command import cells, run
from samples import sample
from staged_tracks import scene_of, shifted, straight

import drive_env
from drive_env.behaviours import BEHAVIOURS
from drive_env.cli import classification


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A log with two lane changes and a hard stop, one with neither, and a file that is no scene."""
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    lanes = [[(-50.0, y_m), (400.0, y_m)] for y_m in (0.0, 3.5, 7.0)]
    cars = [straight(10.0, 10.0, start_m=start_m) for start_m in (0.0, 30.0)]
    for car in cars:
        car.y_m = shifted(car.x_m, 40.0, 40.0, 0.0, 3.5)
    stopping = straight([10.0] * 20 + [max(0.0, 10.0 - 0.5 * step) for step in range(81)], 10.0, y_m=7.0)
    drive_env.save_scene(scene_of(lanes, [*cars, stopping]), "logs/a.drv")
    drive_env.save_scene(scene_of(lanes, [straight(10.0, 10.0)]), "logs/b.drv")
    Path("logs/c.bin").write_bytes(b"no scene")
    return "logs"


def test_every_vehicle_that_shows_a_behaviour_is_a_line_of_the_table(folder):
    output = run("classify", folder, "--out", "found.csv")
    assert cells(output, "lane_change") == ["1", "2"] and cells(output, "hard_stop") == ["1", "1"]
    assert cells(output, "merge") == ["0", "0"]
    assert [cells(output, name) for name in ("files", "scenes", "files not read")] == [["2"], ["2"], ["1"]]
    assert "found.csv" in output
    rows = list(csv.reader(Path("found.csv").read_text().splitlines()))
    assert rows == [["file", "scene", "scenario_id", "behaviour", "object", "id"],
                    ["logs/a.drv", "0", "", "hard_stop", "2", "2"],
                    ["logs/a.drv", "0", "", "lane_change", "0", "0"],
                    ["logs/a.drv", "0", "", "lane_change", "1", "1"]]


def test_a_file_can_be_classified_alone_and_without_a_table(folder):
    assert cells(run("classify", "logs/a.drv"), "lane_change") == ["1", "2"]
    assert not list(Path().glob("*.csv"))


def test_a_file_that_fails_at_a_later_scene_adds_nothing(folder, monkeypatch):
    def first_then_error(source):
        yield from scenes_of(source)
        if str(source.path).endswith("a.drv"):
            raise drive_env.SceneError("a.drv: its second scene is cut off")

    scenes_of = classification.scenes_of
    monkeypatch.setattr(classification, "scenes_of", first_then_error)
    output = run("classify", folder, "--out", "found.csv")
    assert [cells(output, name) for name in ("files", "scenes", "files not read")] == [["1"], ["1"], ["2"]]
    assert cells(output, "lane_change") == ["0", "0"]
    assert Path("found.csv").read_text().splitlines() == ["file,scene,scenario_id,behaviour,object,id"]


def test_a_folder_of_real_logs_is_classified():
    output = run("classify", str(sample("gpudrive/test.json").parent))
    assert cells(output, "unprotected_left") == ["1", "1"] and cells(output, "parked_cars") == ["1", "2"]
    counts = {name: cells(output, name) for name in BEHAVIOURS}
    assert sum(int(vehicles) for _, vehicles in counts.values()) == 3


@pytest.mark.parametrize("arguments, message", [
    (("nowhere",), "nowhere"), (("logs/c.bin",), "no known format fits"),
    (("town",), "scenes is 'town'; a generated scene has no log to classify: pass a file or a folder, ./town"),
    (("logs", "--out", "found.txt"), "it must end in .csv"), (("bad",), "bad: none of its 2 files could be read")])
def test_what_cannot_be_classified_is_an_error(folder, arguments, message):
    Path("bad").mkdir()
    for name in ("a", "b"):
        Path(f"bad/{name}.bin").write_bytes(b"no scene")
    with pytest.raises(drive_env.DriveError, match=message):
        run("classify", *arguments)
