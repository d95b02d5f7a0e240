"""Do junctions have the lights, signs and roundabouts that they are asked for, and is the rest unchanged?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from generated_scenes import check_spawns, lane_points

from drive_env import generate_scene
from drive_env.errors import SceneError
from drive_env.scenes.validate import validate_scene

LIGHT, STOP, YIELD = 1, 2, 3


def junctions_of(scene):
    """The lanes towards each junction of three or four arms: lanes that fork, together if they lead to one street."""
    found = []
    for lane in lane_points(scene):
        ways = scene.lanes.after(lane)
        if len(ways) > 1:
            exits = {int(scene.lanes.after(int(way))[0]) for way in ways}
            joined = [one for one in found if one[1] & exits]
            found = [one for one in found if not one[1] & exits]
            found.append(({lane}.union(*(lanes for lanes, _ in joined)), exits.union(*(ends for _, ends in joined))))
    return [lanes for lanes, _ in found]


def same(one, other, parts=("roads", "lanes", "objects")):
    return all(np.array_equal(array, getattr(getattr(other, part), key), equal_nan=array.dtype.kind == "f")
               for part in parts for key, array in vars(getattr(one, part)).items())


@pytest.mark.parametrize(("control", "kinds"), [
    ("stop", [STOP, STOP]), ("yield", [YIELD, YIELD]), ("all_way_stop", [STOP] * 4), ("lights", [LIGHT] * 4)])
def test_a_control_of_an_intersection_changes_nothing_else(control, kinds):
    for seed in range(4):
        scene, plain = (generate_scene("intersection", seed=seed, control=name) for name in (control, "none"))
        assert scene.traffic_controls.kind.tolist() == kinds and plain.traffic_controls.count == 0
        assert same(scene, plain)


def test_lights_are_those_of_the_older_parameter():
    for name in ("intersection", "town"):
        newer = {"intersection": {"control": "lights"}, "town": {"light_probability": 0.0, "lights": True}}[name]
        one, other = generate_scene(name, seed=5, lights=True), generate_scene(name, seed=5, **newer)
        assert same(one, other, ("roads", "lanes", "objects", "traffic_controls"))


def test_the_minor_road_is_one_of_both_and_has_signs_on_both_sides():
    sides = []
    for seed in range(40):
        lines_m = generate_scene("intersection", seed=seed, control="yield").traffic_controls.line_m
        middles = (lines_m[:, :2] + lines_m[:, 2:]) / 2
        # Lines of one road lie opposite to each other.
        assert np.abs(middles.sum(axis=0)).max() < 1e-3
        sides.append(bool(np.abs(middles[0, 0]) > np.abs(middles[0, 1])))
    assert 8 <= sum(sides) <= 32


def test_lights_and_signs_at_once_are_refused():
    with pytest.raises(SceneError, match="lights is True and control is 'stop'; with lights, control must be 'none'"):
        generate_scene("intersection", lights=True, control="stop")
    with pytest.raises(SceneError, match="control is 'signs'; it must be one of 'none', 'lights', 'stop', 'yield'"):
        generate_scene("intersection", control="signs")
    with pytest.raises(SceneError, match="add up to 1.2; the sum must be at most 1"):
        generate_scene("town", light_probability=0.7, stop_probability=0.5)


def test_signs_and_lights_of_a_town_change_nothing_else():
    for seed in range(6):
        plain = generate_scene("town", seed=seed, blocks=(3, 3))
        assert same(plain, generate_scene("town", seed=seed, blocks=(3, 3), light_probability=0.4,
                                          stop_probability=0.6))


def test_shares_of_lights_and_signs_are_their_probabilities():
    counts = {"lights": 0, "stop": 0, "none": 0}
    for seed in range(12):
        scene = generate_scene("town", seed=seed, agents=1, blocks=(4, 4), light_probability=0.3, stop_probability=0.5)
        controls = scene.traffic_controls
        kind = dict(zip(controls.lane.tolist(), np.repeat(controls.kind, np.diff(controls.start)).tolist(),
                        strict=True))
        for lanes in junctions_of(scene):
            kinds = [kind.get(lane) for lane in lanes]
            if LIGHT in kinds:
                assert set(kinds) == {LIGHT}, "a light at every arm"
                counts["lights"] += 1
            elif STOP in kinds:
                # The stem of three arms, or two of four.
                assert kinds.count(STOP) == len(lanes) - 2
                counts["stop"] += 1
            else:
                counts["none"] += 1
    total = sum(counts.values())
    assert total > 150
    for name, share in (("lights", 0.3), ("stop", 0.5), ("none", 0.2)):
        assert abs(counts[name] / total - share) < 4 * math.sqrt(share * (1 - share) / total)


@pytest.mark.parametrize("shape", [
    {}, {"blocks": (1, 1), "block_m": 300.0}, {"block_m": 80.0, "lane_width_m": 4.5, "blocks": (3, 2)},
    {"block_m": 80.0, "lane_width_m": 3.0, "stop_probability": 0.3, "light_probability": 0.3}])
def test_a_town_with_roundabouts_can_be_driven(shape):
    for seed in range(6):
        share = 0.4 if "stop_probability" in shape else 1.0
        scene = validate_scene(generate_scene("town", seed=seed, agents=8, roundabout_probability=share, **shape))
        check_spawns(scene, 8)
        lanes = lane_points(scene)
        for lane, points in lanes.items():
            after = scene.lanes.after(lane)
            assert len(after) > 0, "every lane leads on"
            for way in after:
                assert (lanes[int(way)][0] == points[-1]).all()


def test_roundabouts_stand_where_three_or_four_streets_meet():
    for seed in range(6):
        plain = generate_scene("town", seed=seed, agents=1)
        rings = generate_scene("town", seed=seed, agents=1, roundabout_probability=1.0)
        # One yield line for each arm, and no other control.
        arms = sum(len(lanes) for lanes in junctions_of(plain))
        assert rings.traffic_controls.kind.tolist() == [YIELD] * arms


def test_the_largest_town_of_roundabouts_is_made():
    scene = generate_scene("town", seed=1, agents=64, blocks=(6, 6), block_m=80.0, roundabout_probability=1.0)
    assert scene.objects.count == 64
