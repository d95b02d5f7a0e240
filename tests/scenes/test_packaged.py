"""Is the logged scene of the package found by its name everywhere, and good for all that needs a log?"""

import dataclasses
from itertools import combinations
from pathlib import Path

import example_log as script
import numpy as np
import pytest
from boxes import corners, inside, segments_cross, sides_of
from command import cells, run
from replay_reader import Page

from drive_env import (
    Batch, DriveConfig, SceneError, generate_scene, load_scene, parallel_env, resolve_scenes, save_scene)
from drive_env.behaviours import classify
from drive_env.evaluation import (
    HumanReplay, MultiScenario, Realism, hard_scenes, save_hardness, scene_hardness)
from drive_env.evaluation.sources import sources_of
from drive_env.policies import policy_maker
from drive_env.scenes import CONTROL_KINDS, LIGHT_STATES, OBJECT_KINDS, ROAD_KINDS
from drive_env.scenes.packaged import PACKAGED

NAME = "example_log"
RED, GREEN = (next(code for code, name in LIGHT_STATES.items() if name == state) for state in ("red", "green"))


@pytest.fixture(scope="module")
def log():
    return load_scene(NAME)


def counts(codes, names):
    """How often each code occurs, by its name."""
    return {names[code]: count for code, count in zip(*np.unique(codes, return_counts=True), strict=True)}


# ---- what it holds ----


def test_the_script_makes_the_scene_of_the_file(log):
    """Up to 1 mm: the last digits of numpy's sums, with which the driver computes, depend on the machine."""
    made = script.example_log()
    for name in ("objects", "roads", "lanes", "traffic_controls"):
        for part in dataclasses.fields(getattr(log, name)):
            found, stored = (getattr(getattr(scene, name), part.name) for scene in (made, log))
            assert found.dtype == stored.dtype and found.shape == stored.shape, part.name
            assert np.allclose(found, stored, rtol=0.0, atol=1e-3, equal_nan=True), part.name
    for name in ("name", "source", "generated", "dt_s", "sdc", "tracks_to_predict", "objects_of_interest",
                 "scenario_id", "provenance"):
        assert getattr(made, name) == getattr(log, name), name


def test_it_is_a_small_free_log_of_all_kinds_of_traffic(log):
    assert PACKAGED[NAME].stat().st_size < 150_000
    assert log.provenance.licence == "MIT" and not log.generated
    assert log.objects.frame_count == 201 and log.dt_s == 0.1
    assert counts(log.objects.kind, OBJECT_KINDS) == {"vehicle": 14, "pedestrian": 6, "cyclist": 2}
    assert set(counts(log.roads.kind, ROAD_KINDS)) == {"lane", "line", "edge", "crosswalk", "stop_sign"}
    assert counts(log.traffic_controls.kind, CONTROL_KINDS) == {"light": 4, "stop": 1}
    assert log.sdc >= 0 and len(log.tracks_to_predict) > 1 and log.objects.valid[10, list(log.tracks_to_predict)].all()
    assert {"unprotected_left", "stop_sign", "traffic_light", "pedestrian_crossing"} <= {
        name for name, found in classify(log).items() if found}


def test_the_states_of_its_lights_are_logged_and_roads_that_cross_never_have_green_together(log):
    controls = log.traffic_controls
    lights = [index for index, kind in enumerate(controls.kind) if CONTROL_KINDS[kind] == "light"]
    assert not len(controls.phase_state)
    assert set(counts(controls.state[:, lights].ravel(), LIGHT_STATES)) == {"red", "yellow", "green"}
    along = np.abs(controls.line_m[lights, 2] - controls.line_m[lights, 0]) < 0.1  # the line is across the road
    is_green = controls.state[:, lights] == GREEN
    assert is_green[:, along].any() and is_green[:, ~along].any()
    assert not (is_green[:, along].any(axis=1) & is_green[:, ~along].any(axis=1)).any()


def boxes_of(log):
    """(frames, objects, 4, 2) corners."""
    objects = log.objects
    return corners(np.stack([objects.x_m, objects.y_m], axis=-1).astype(np.float64), objects.heading_rad.astype(float),
                   objects.length_m, objects.width_m)


def test_no_two_objects_overlap_in_any_frame(log):
    boxes, valid = boxes_of(log), log.objects.valid
    for one, other in combinations(range(log.objects.count), 2):
        centres_m = [boxes[:, index].mean(axis=1) for index in (one, other)]
        near = valid[:, one] & valid[:, other] & (np.linalg.norm(centres_m[0] - centres_m[1], axis=1) < 8.0)
        for frame in np.flatnonzero(near):
            first, second = boxes[frame, one], boxes[frame, other]
            assert not segments_cross(sides_of(first), sides_of(second)).any(), (frame, one, other)
            assert not inside(first, second).any() and not inside(second, first).any(), (frame, one, other)


def test_no_front_crosses_a_stop_line_at_red(log):
    fronts, controls, crossings = boxes_of(log)[:, :, [0, 3]].mean(axis=2), log.traffic_controls, 0
    for control in np.flatnonzero(controls.state.any(axis=0)):
        line = controls.line_m[control].reshape(1, 2, 2).astype(np.float64)
        for index in range(log.objects.count):
            both = log.objects.valid[1:, index] & log.objects.valid[:-1, index]
            steps = np.stack([fronts[:-1, index], fronts[1:, index]], axis=1)
            moved = np.linalg.norm(steps[:, 1] - steps[:, 0], axis=1) > 1e-3
            crossed = segments_cross(steps, line)[:, 0] & both & moved
            crossings += crossed.sum()
            assert not (controls.state[:-1, control][crossed] == RED).any(), (control, index)
    assert crossings > 5


# ---- its name ----


def test_the_name_means_the_scene_in_every_api_even_if_there_is_such_a_path(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_scene(generate_scene("intersection", agents=2), "other.drv")
    for is_folder in (False, True):
        if is_folder:
            Path(NAME).unlink()
            Path(NAME).mkdir()
        Path(NAME, "other.drv" if is_folder else "").write_bytes(Path("other.drv").read_bytes())
        for scenes in (NAME, [NAME]):
            assert [scene.name for scene in resolve_scenes(scenes)] == [NAME]
            assert Batch(scenes).scenes[0].name == parallel_env(scenes).batch.scenes[0].name == NAME
            assert [source.name for source in MultiScenario("one", {"scenes": scenes}).sources()] == [NAME]
        assert load_scene(NAME).objects.count == log.objects.count
        for path in (f"./{NAME}", Path(NAME), tmp_path / NAME):
            assert [scene.objects.count for scene in resolve_scenes(path)] == [2]


def test_errors_name_the_scene_and_what_reads_it():
    with pytest.raises(SceneError, match="'exampel_log'; it is neither a file nor one of 'town', .*, 'example_log'$"):
        resolve_scenes("exampel_log")
    with pytest.raises(SceneError, match=r"; example_log is a scene of the package, which load_scene\('example_log'\)"):
        generate_scene(NAME)
    with pytest.raises(SceneError, match="one of 'town', .*'example_log', a path, a Scene"):
        sources_of([3])


def test_commands_take_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(NAME).mkdir()
    output = run("inspect", NAME)
    assert output.startswith("scene ") and cells(output, "vehicle")[0] == "14"
    assert cells(output, "traffic lights") == ["4"]
    assert cells(run("classify", NAME), "traffic_light")[0] == "1"
    assert run("convert", NAME, "copy.drv").startswith("copy.drv: ")
    assert Path("copy.drv").read_bytes() == PACKAGED[NAME].read_bytes()
    output = run("evaluate", "replay", "--scenes", NAME, "--control", "sdc", "--no-bounds")
    assert cells(output, "goal")[0] == "1" and cells(output, "log_divergence_m")[0] == "0"


def test_a_replay_page_of_the_policy_replay_shows_the_log(log, tmp_path):
    run("replay", NAME, "--policy", "replay", "--trials", "1", "--out", str(tmp_path / "page.html"))
    page = Page((tmp_path / "page.html").read_text())
    lights = page.frames("trial0/light_state")
    assert (lights == log.traffic_controls.state[:len(lights)]).all() and lights.any()
    shown = page.frames("trial0/present")[:, :14] > 0
    for name in ("x_m", "y_m"):
        away_m = page.frames(f"trial0/{name}")[:, :14] - getattr(log.objects, name)[:len(shown), :14]
        assert np.abs(away_m[shown]).max() < 0.02, name
    outcomes = page.frames("trial0/outcome").max(axis=0).astype(int)  # each is in the step that ends the drive
    assert [page.header["outcomes"][code] for code in outcomes] == ["goal"] * 14


def test_a_hard_scene_that_a_result_names_is_read_again(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_hardness(scene_hardness([MultiScenario("log", {"scenes": NAME}).rollout("constant")]), "hard.json")
    scene, = hard_scenes(1, "hard.json")
    assert scene.name == NAME and (scene.objects.x_m == log.objects.x_m).all()


# ---- what it is good for ----


def test_the_others_replay_their_logs_exactly(log):
    with Batch(NAME, config=DriveConfig(control="sdc", traffic_controls=True), threads=1) as batch:
        batch.reset(seed=0)
        roles = batch.roles[0]
        others = roles.objects[1:]
        assert roles.num_agents == 1 and roles.trial_steps == 200
        for frame in range(100):
            shown = batch.vehicles()
            assert (shown["present"][1:] == log.objects.valid[frame, others]).all()
            for name in ("x_m", "y_m", "heading_rad"):
                logged = getattr(log.objects, name)[frame, others]
                assert (shown[name][1:] == logged)[log.objects.valid[frame, others]].all(), (frame, name)
            assert (batch.light_states() == log.traffic_controls.state[frame]).all()
            batch.step(np.full(1, 45))
            if batch.trial_ended[0]:
                break
        assert frame > 20


def test_expert_actions_lead_along_the_log(log):
    ignored = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
    config = DriveConfig(dynamics="state", action_type="continuous", **ignored)
    with Batch(NAME, config=config, threads=1) as batch:
        act = policy_maker("replay")(batch)
        batch.reset(seed=0)
        agents = batch.roles[0].objects[:batch.num_agents]
        assert len(agents) == 14
        for frame in range(1, 200):
            batch.step(act(batch))
            shown, valid = batch.vehicles(), log.objects.valid[frame, agents]
            for name in ("x_m", "y_m"):
                away_m = np.abs(shown[name][:14] - getattr(log.objects, name)[frame, agents])
                assert away_m[valid].max() < 1e-3, (frame, name)


def test_the_policy_replay_reaches_all_goals_and_meets_nothing():
    found = MultiScenario("log", {"scenes": NAME, "env": {"traffic_controls": True}}).rollout("replay")
    assert found.coverage.complete and found.metrics["goal"].n == 14
    assert found.metrics["goal"].value == 1.0
    for name in ("collision", "offroad"):
        assert found.metrics[name].value == 0.0, name


def test_human_replay_drives_the_recording_vehicle_and_each_other_one(log):
    one = HumanReplay("log", {"scenes": NAME}).rollout("replay")
    assert one.coverage.played == 1 and one.metrics["log_divergence_m"].value < 1e-3
    assert one.rows["object_id"].tolist() == [log.objects.id[log.sdc]]
    each = HumanReplay("log", {"scenes": NAME, "options": {"vehicles": "each", "scores": False}}).rollout("constant")
    assert each.coverage.played == 14 and each.metrics["collision"].value > 0.0


def test_realism_ranks_the_log_above_policies():
    found = {policy: Realism("log", {"scenes": NAME, "episodes": 2}).rollout(policy).metrics
             for policy in ("replay", "lane", "constant")}
    realism = {policy: metrics["realism_2025"].value for policy, metrics in found.items()}
    assert realism["replay"] > realism["lane"] + 0.05 > realism["constant"] + 0.2
    assert found["replay"]["traffic_light_violation_rate"].value == 0.0
