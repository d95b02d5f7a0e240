"""Do charts show their data?"""

import re
from dataclasses import replace

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL", "matplotlib"):
    pytest.importorskip(package, reason=REASON)

from bare_scene import bare_scene
from json_writer import json_bytes, road
from PIL import Image
from staged_controls import STOP, YIELD, controls_of

from drive_env import ConfigError, DriveConfig, SceneError, generate_scene, load_scene
from drive_env.cli.inspection import roads_by_kind
from drive_env.render import plot_metrics, plot_scene
from drive_env.reports import MetricValue
from drive_env.scenes import GoalLists
from drive_env.tasks import gates, hidden_exit


def words(path):
    """The content of an SVG whose text is text."""
    return path.read_text()


@pytest.fixture(autouse=True)
def text_as_text():
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        yield


@pytest.mark.parametrize("name", ["town", "intersection"])
def test_a_generated_scene_is_drawn_with_its_counts(tmp_path, name):
    scene = generate_scene(name, agents=6)
    plot_scene(scene, tmp_path / "scene.svg")
    text = words(tmp_path / "scene.svg")
    lanes = int((scene.roads.kind == 1).sum())
    links = len(scene.lanes.successor)
    for label in (f"{name}/0", f"lane {lanes}, successors {links}", "edge ", "agents 6", "goals"):
        assert label in text
    assert ("lane ends" in text) == (name == "intersection")  # every lane of a town leads into another


def test_a_log_is_drawn_with_its_parts(tmp_path):
    moving = [(float(step), 0.0, 0.0) for step in range(5)]
    still = [None, *[(0.0, 8.0, 0.0)] * 4]
    roads = [("crosswalk", [(5.0, -2.0), (9.0, -2.0), (9.0, 2.0)]), ("stop_sign", [(5.0, 3.0)])]
    scene = bare_scene([moving[0], (0.0, 8.0, 0.0)], goals=[(20.0, 0.0), (20.0, 8.0)], logs=[moving, still],
                       roads=roads)
    plot_scene(scene, tmp_path / "log.svg")
    for label in ("agents 1", "log-replay vehicles 1", "crosswalk 1", "stop sign 1", "2 objects x 5 frames of 0.1 s"):
        assert label in words(tmp_path / "log.svg")
    plot_scene(scene, tmp_path / "still.svg", DriveConfig(others="static"))
    assert "log-replay" not in words(tmp_path / "still.svg")


def test_lights_and_signs_are_drawn_with_their_counts(tmp_path):
    plot_scene(generate_scene("town", seed=3, agents=2, lights=True), tmp_path / "lights.svg")
    assert "traffic lights 12" in words(tmp_path / "lights.svg")
    scene = bare_scene([(0.0, 0.0, 0.0)], roads=[("lane", [(0.0, 0.0), (40.0, 0.0)])])
    controls = controls_of([STOP, YIELD, YIELD], [(x, 4, x, -4) for x in (10, 20, 30)])
    plot_scene(replace(scene, traffic_controls=controls), tmp_path / "signs.svg")
    drawn = words(tmp_path / "signs.svg")
    assert "stop signs 1" in drawn and "yield signs 2" in drawn and "traffic lights" not in drawn


def test_scripts_and_candidate_goals_are_drawn_with_the_names_of_options(tmp_path):
    plot_scene(gates(seeds=[4]).scenes[0], tmp_path / "gates.svg")
    drawn = words(tmp_path / "gates.svg")
    assert "script lines 2, scripts 4" in drawn and "candidate goals" not in drawn
    for group in range(2):
        assert f"group {group}, options 0, 1" in drawn
    plot_scene(hidden_exit(seeds=[4]).scenes[0], tmp_path / "exits.svg")
    assert "candidate goals 3" in words(tmp_path / "exits.svg") and "script" not in words(tmp_path / "exits.svg")
    # An object that no script moves under the config has no option.
    plot_scene(gates(seeds=[4]).scenes[0], tmp_path / "still.svg", DriveConfig(others="static", agents_per_world=1))
    assert "script" not in words(tmp_path / "still.svg")


def test_goals_of_lists_are_drawn_with_their_order_and_headings(tmp_path):
    """The picture grows to the farthest goal; each heading adds a line, each list lengthens its agent's line."""
    from matplotlib.collections import LineCollection

    from drive_env.render import chart
    from drive_env.roles import assign_roles

    scene = bare_scene([(0.0, 0.0, 0.0), (0.0, 8.0, 0.0)], goals=[(20.0, 0.0), (20.0, 8.0)])
    lists = GoalLists(np.array([0, 0], np.int32), np.array([[30, 40], [0, 90]], np.float32),
                      goal_heading_rad=np.array([np.nan, 1.5], np.float32))
    scene = replace(scene, goal_lists=lists)
    plot_scene(scene, tmp_path / "lists.svg")
    roles = assign_roles(scene, DriveConfig())
    assert chart._box(scene, roles)[1][1] >= 90.0

    class Axes:
        def __init__(self):
            self.lines, self.marks = [], []

        def add_collection(self, added):
            assert isinstance(added, LineCollection)
            self.lines.append([line.tolist() for line in added.get_segments()])

        def scatter(self, x, y, **_):
            self.marks += list(zip(x.tolist(), y.tolist(), strict=True))

    axes = Axes()
    chart._plot_goals(axes, roles, np.array([[0.0, 0.0], [0.0, 8.0]]), (0.0, 0.0, 1.0))
    assert axes.marks == [(20, 0), (20, 8), (30, 40), (0, 90)]
    assert axes.lines[0] == [[[0, 0], [20, 0], [30, 40], [0, 90]], [[0, 8], [20, 8]]]
    (((x_m, y_m), tip_m),) = axes.lines[1]
    assert (x_m, y_m) == (0, 90) and np.arctan2(tip_m[1] - y_m, tip_m[0] - x_m) == pytest.approx(1.5)


def test_a_scene_without_roads_is_drawn(tmp_path):
    plot_scene(bare_scene([(0.0, 0.0, 0.0)]), tmp_path / "bare.png")
    with Image.open(tmp_path / "bare.png") as picture:
        assert min(picture.size) > 300 and np.asarray(picture.convert("L")).std() > 1


def labels_of(path):
    """Number of roads by kind in the legend of an SVG."""
    return {kind: int(count) for kind, count in re.findall(r">([a-z ]+) (\d+)(?:, successors \d+)?<", words(path))}


def test_the_legend_counts_the_roads_that_inspect_counts(tmp_path):
    """Roads of one point, too, of every kind."""
    kinds = ("lane", "line", "edge", "crosswalk", "speed_bump", "driveway", "stop_sign")
    roads = [(kind, points) for number, kind in enumerate(kinds)
             for points in [[(0.0, float(number)), (9.0, float(number))], [(20.0, float(number))]]]
    scene = bare_scene([(0.0, 30.0, 0.0)], roads=[*roads, ("lane", [(30.0, 0.0)])])
    plot_scene(scene, tmp_path / "scene.svg")
    drawn = labels_of(tmp_path / "scene.svg")
    counted = {name: int(count) for name, count, *_ in roads_by_kind(scene)}
    assert counted == {**{kind.replace("_", " "): 2 for kind in kinds}, "lane": 3}
    assert {kind: drawn.get(kind) for kind in counted} == counted


def test_lanes_of_one_point_alone_are_drawn_and_counted(tmp_path):
    plot_scene(bare_scene([(0.0, 30.0, 0.0)], roads=[("lane", [(0.0, 0.0)])]), tmp_path / "scene.svg")
    assert labels_of(tmp_path / "scene.svg")["lane"] == 1


def test_a_map_alone_is_drawn_and_a_scene_in_which_nothing_can_drive(tmp_path):
    scene = bare_scene([(0.0, 0.0, 0.0), (0.0, 4.0, 0.0)], roads=[("lane", [(0.0, 0.0), (40.0, 0.0)])])
    arrived = replace(scene, objects=replace(scene.objects, goal_m=np.zeros((2, 2), np.float32), kind=np.full(
        2, 2, np.uint8)))
    plot_scene(arrived, tmp_path / "idle.svg")
    assert labels_of(tmp_path / "idle.svg") == {"lane": 1, "lane ends": 1, "objects": 2}
    with pytest.raises(SceneError, match="has no object that could drive"):
        plot_scene(arrived, tmp_path / "named.svg", DriveConfig())
    plot_scene(load_scene_of(tmp_path, {"roads": [road("lane", 2, [(9e5, 5.0), (9e5, 45.0)])]}), tmp_path / "map.svg")
    assert labels_of(tmp_path / "map.svg") == {"lane": 1, "lane ends": 1}


def load_scene_of(folder, document):
    path = folder / "scene.json"
    path.write_bytes(json_bytes(document))
    return load_scene(path)


def test_metrics_are_drawn_in_panels_by_unit(tmp_path):
    history = [{"trials": MetricValue(10.0 * step, 10), "score": MetricValue(0.1 * step, 5),
                "goal": MetricValue(0.2 * step, 5), "trial_0_score": MetricValue(0.1, 5),
                "trial_1_score": MetricValue(float("nan"), 0), "ada_delta_trial_1_minus_0": MetricValue(0.0, 5),
                "reward": MetricValue(1.0, 5), "mean_speed_mps": MetricValue(7.0, 5)} for step in range(4)]
    plot_metrics(history, tmp_path / "run.svg")
    text = words(tmp_path / "run.svg")
    for label in ("share of trials", "score by trial", "score above that of the first trial", ">trials<"):
        assert label in text
    for name in history[0]:
        assert name in text


def test_plain_numbers_and_gaps_are_drawn_too(tmp_path):
    plot_metrics([{"loss": 1.0}, {}, {"loss": 0.5, "late": 2}], tmp_path / "run.svg")
    assert all(label in words(tmp_path / "run.svg") for label in ("loss", "late", ">report<"))


def test_an_invalid_chart_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"'run.bmp'; it must end in .png or .svg or .pdf"):
        plot_metrics([{"score": 1.0}], "run.bmp")
    with pytest.raises(ConfigError, match=r"history is \[\]; it must be a list"):
        plot_metrics([], tmp_path / "run.png")
