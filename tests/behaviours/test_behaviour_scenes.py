"""Does a scene of each class show its behaviour, and can its subject be driven? One of 50; with `--slow`, all."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest
from boxes import box_segment_gap_m, corners, sides_of
from scene_hashes import hash_of

from drive_env import Batch, DriveConfig
from drive_env.behaviours import BEHAVIOURS, behaviour_scenes, classify, sampling
from drive_env.behaviours.draws import DRAWS
from drive_env.behaviours.sampling import logged, sample
from drive_env.errors import ConfigError

INDEX_OF = {name: sum(map(ord, name)) % 50 for name in BEHAVIOURS}
"""The index of one scene of each class: any of them."""


@pytest.fixture(scope="module")
def scenes(request):
    """A function from the name of a class to its scenes by index."""
    @cache
    def scenes_of(name):
        indices = range(50) if request.config.getoption("--slow") else [INDEX_OF[name]]
        return dict(zip(indices, behaviour_scenes(name, indices), strict=True))

    return scenes_of


def test_every_class_has_fifty_scenes():
    assert DRAWS.keys() == BEHAVIOURS.keys()
    for name, draws in DRAWS.items():
        numbers = [draw for draw, _ in draws]
        assert len(numbers) == 50 and numbers == sorted(set(numbers)), name


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_the_subject_of_a_scene_shows_the_behaviour(scenes, name):
    for index, scene in scenes(name).items():
        assert scene.sdc in classify(scene)[name] and scene.objects_of_interest == (scene.sdc,), index
        assert scene.name == f"{name}/{index}"
        assert scene.source == f"behaviour_scenes({name!r}, [{index}])"


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_the_subject_reaches_its_goal_and_overlaps_no_other(scenes, name):
    for index, scene in scenes(name).items():
        objects, subject = scene.objects, scene.sdc
        frames = np.flatnonzero(objects.valid[:, subject])
        last_m = np.array([objects.x_m[frames[-1], subject], objects.y_m[frames[-1], subject]])
        assert np.linalg.norm(last_m - objects.goal_m[subject]) < DriveConfig().goal_radius_m + 3.0  # 0.1 s at 30 m/s
        for frame in frames[::3]:
            present = np.flatnonzero(objects.valid[frame])
            boxes = corners(np.stack([objects.x_m[frame, present], objects.y_m[frame, present]], axis=1),
                            objects.heading_rad[frame, present], objects.length_m[present], objects.width_m[present])
            sides = sides_of(boxes[present != subject]).reshape(-1, 2, 2)
            if len(sides):
                assert box_segment_gap_m(boxes[present == subject][0], sides) > 0.0, (index, frame)


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_policy_drives_the_subject_alone_while_the_others_replay_their_logs(scenes, name):
    scene = scenes(name)[INDEX_OF[name]]
    with Batch(scene, config=DriveConfig(control="sdc", traffic_controls=True), threads=1) as batch:
        roles = batch.roles[0]
        assert roles.num_agents == 1 and roles.objects[0] == scene.sdc and roles.static_count == 0
        batch.reset(seed=0)
        batch.step(np.zeros_like(batch.actions))
        others = batch.vehicles()
        shown = roles.objects[1:]
        assert (others["x_m"][1:] == scene.objects.x_m[1, shown]).all()
        assert (batch.light_states() == scene.traffic_controls.state[1]).all()


def test_a_scene_does_not_depend_on_those_made_with_it(scenes):
    """Lights, which draw the time at which they begin, would."""
    index = INDEX_OF["traffic_light"]
    again = behaviour_scenes("traffic_light", [(index + 1) % 50, index])[1]
    assert hash_of(again) == hash_of(scenes("traffic_light")[index])


@pytest.mark.parametrize("name", ["pull_out", "cut_in"])
def test_the_table_holds_the_first_draws_that_show_a_behaviour(name, monkeypatch):
    """Cut-ins depend on the lane changes of `LaneDriver`: when these changed, 16 of 50 scenes showed none."""
    monkeypatch.setattr(sampling, "WORLDS", 3)
    assert tuple(sample(name, 3)) == DRAWS[name][:3]


def test_a_played_scene_keeps_the_scripts_of_the_other_objects():
    name, draw = "pedestrian_crossing", DRAWS["pedestrian_crossing"][0][0]
    played = logged(name, [draw]).scenes[0].objects
    staged = sampling._made(BEHAVIOURS[name].recipe, sampling._rng(name, draw)).objects
    assert played.frame_count == 201 and played.valid[:, 1].all() and not played.valid[-1, 0]
    for track in ("x_m", "y_m", "heading_rad", "valid"):
        assert np.array_equal(getattr(played, track)[:, 1:], getattr(staged, track)[:, 1:]), track


@pytest.mark.parametrize("arguments, message", [
    (("lane_chang",), "name is 'lane_chang', which is no class of behaviour; did you mean lane_change?"),
    ((3,), "name is 3, which is no class of behaviour"),
    (("u_turn", [50]), "an entry of indices is 50; it must be a whole number from 0 to 49"),
    (("u_turn", "1"), "indices is '1'; it must be a list of whole numbers from 0 to 49"),
    (("u_turn", 4), "indices is 4; it must be a list of whole numbers from 0 to 49")])
def test_an_unknown_class_or_scene_is_refused(arguments, message):
    with pytest.raises(ConfigError) as error:
        behaviour_scenes(*arguments)
    assert message in str(error.value)


def in_the_way(x_m, y_m, goal_m):
    """The first car parked in the row is on the lane, where the subject has pulled out."""
    x_m[:, 3], y_m[:, 3] = 90.0, -1.75


def over_the_edge(x_m, y_m, goal_m):
    """The subject begins beside the road."""
    y_m[:, 0] -= 2.5
    goal_m[0, 1] -= 2.5


def farther(x_m, y_m, goal_m):
    """The goal is beyond the end of the script."""
    goal_m[0, 0] += 30.0


@pytest.mark.parametrize("change, is_clean", [
    (lambda *_: None, True), (in_the_way, False), (over_the_edge, False), (farther, False)])
def test_a_script_is_clean_if_it_leads_to_the_goal_and_meets_nothing(monkeypatch, change, is_clean):
    def changed(recipe, rng):
        scene = recipe.make(rng)
        objects = scene.objects
        arrays = {name: getattr(objects, name).copy() for name in ("x_m", "y_m", "goal_m")}
        change(*arrays.values())
        return dataclasses.replace(scene, objects=dataclasses.replace(objects, **arrays))

    monkeypatch.setattr(sampling, "_made", changed)
    assert logged("pull_out", [DRAWS["pull_out"][0][0]]).clean == [[0] * is_clean]
