"""Is wrong input refused with the value found, and do only objects on the map count?"""

import dataclasses

import numpy as np
import pytest
from scored_drives import driven, line, moving, straight_map

from drive_env.errors import ConfigError
from drive_env.evaluation.scores import DrivenMap, DrivenScene, score_driven


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


WRONG = {
    "x_m is a list": (lambda s: {"x_m": [1.0]}, "x_m is a list; it must be a numpy array"),
    "another shape": (lambda s: {"y_m": s.y_m[:-1]}, r"y_m has the shape \(150, 2\); it must be \(151, 2\)"),
    "not finite": (lambda s: {"x_m": changed(s.x_m, (3, 0), np.nan)}, "x_m has the value nan; each must be from"),
    "valid is no bool": (lambda s: {"valid": s.valid.astype(int)}, "valid has the dtype int64; it must be bool"),
    "no size": (lambda s: {"size_m": changed(s.size_m, (1, 0), 0.0)}, "size_m has the value 0.0; each must be from"),
    "unknown kind": (lambda s: {"kind": np.array([1, 7])}, "kind has the value 7; each must be from 1 to 4"),
    "no time": (lambda s: {"dt_s": 0.0}, "dt_s is 0.0; it must be above 0, at most 10"),
    "dt_s is a text": (lambda s: {"dt_s": "0.1"}, "dt_s is '0.1'; it must be above 0, at most 10"),
    "no such ego": (lambda s: {"ego": 2}, "ego is 2; it must be a whole number from 0 to 1"),
    "one step": (lambda s: {"valid": changed(s.valid, (np.s_[1:], 0), False)},
                 "valid has 1 steps of the ego; it must have 2 or more"),
    "a gap": (lambda s: {"valid": changed(s.valid, (5, 0), False)},
              "valid has a gap of the ego after step 4; its steps must be one run"),
    "no map": (lambda s: {"road_map": None}, "road_map is a NoneType; it must be a DrivenMap"),
    "expert of 3 columns": (lambda s: {"expert_m": np.zeros((4, 3))}, r"expert_m has the shape \(4, 3\)"),
    "expert far away": (lambda s: {"expert_m": np.full((4, 2), 1e9)}, r"expert_m has the value 1e\+09"),
    "route of integers": (lambda s: {"route_m": np.zeros((4, 2), int)}, "route_m has the dtype int64"),
    "negative lights": (lambda s: {"red_lights": -1}, "red_lights is -1; it must be a whole number from 0"),
}


@pytest.mark.parametrize("change, message", WRONG.values(), ids=WRONG)
def test_wrong_drives_are_refused(change, message):
    scene = driven(others=[moving(50.0)])
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(scene, **change(scene))


WRONG_MAPS = {
    "lanes are an array": ({"lanes": np.zeros((4, 3))}, "lanes is an ndarray; it must be a sequence of lines"),
    "points in the plane": ({"lanes": [np.zeros((4, 2))]}, r"lanes\[0\] has the shape \(4, 2\); it must be \(any, 3\)"),
    "an edge that is not finite": ({"road_edges": [np.full((2, 3), np.inf)]}, r"road_edges\[0\] has the value inf"),
    "too few widths": ({"lanes": [line((0, 0), (1, 0))], "width_m": np.zeros(2)}, r"width_m has the shape \(2,\)"),
    "a negative limit": ({"lanes": [line((0, 0), (1, 0))], "speed_limit_mps": np.array([-3.0])},
                         "speed_limit_mps has the value -3.0; each must be 0 or more"),
    "links of other lanes": ({"lanes": [line((0, 0), (1, 0))], "successors": [[1]]},
                             r"successors\[0\] is 1; it must be a whole number from 0 to 0"),
    "too many links": ({"successors": [[]]}, "successors has 1 entries; it must have 0, one a lane, or none"),
}


@pytest.mark.parametrize("fields, message", WRONG_MAPS.values(), ids=WRONG_MAPS)
def test_wrong_maps_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        DrivenMap(**fields)


def without_nan(scores):
    return {name: value for name, value in scores.items() if not np.isnan(value)}


def test_what_is_not_on_the_map_has_no_effect():
    """Values in steps in which an object is not valid are never read, nor is anything of an object that never is."""
    scene = driven(9.0, others=[moving(40.0, 3.5, speed_mps=4.0)])
    ghost = {name: np.pad(getattr(scene, name), ((0, 0), (0, 1)), constant_values=np.nan)
             for name in ("x_m", "y_m", "heading_rad", "speed_mps", "z_m")}
    more = dataclasses.replace(
        scene, **ghost, valid=np.pad(scene.valid, ((0, 0), (0, 1))), kind=np.append(scene.kind, 4),
        size_m=np.concatenate([scene.size_m, [[np.nan, -1.0]]]))
    assert without_nan(score_driven(more)) == without_nan(score_driven(scene))


def test_steps_before_and_after_the_ego_have_no_effect():
    scene = driven(9.0, steps=101, others=[moving(40.0, 3.5, speed_mps=4.0)], expert_mps=None)
    pad = ((7, 9), (0, 0))
    later = dataclasses.replace(
        scene, valid=np.pad(scene.valid, pad),
        **{name: np.pad(getattr(scene, name), pad, constant_values=np.nan)
           for name in ("x_m", "y_m", "heading_rad", "speed_mps", "z_m")})
    assert without_nan(score_driven(later)) == without_nan(score_driven(scene))


@pytest.mark.parametrize("turn_rad", [0.7, 3.0, -2.2])
def test_no_score_depends_on_where_and_how_the_map_lies(turn_rad):
    """A drive with a contact, an excess of speed and a departure from the lane, turned and shifted as a whole."""
    def placed(x_m, y_m):
        return (x_m * np.cos(turn_rad) - y_m * np.sin(turn_rad) + 130.0,
                x_m * np.sin(turn_rad) + y_m * np.cos(turn_rad) - 70.0)

    def placed_lines(lines):
        return [np.stack([*placed(one[:, 0], one[:, 1]), one[:, 2]], axis=1) for one in lines]

    road_map = straight_map(limit_mps=9.5)
    y_m = 0.3 * np.sin(0.05 * np.arange(151))
    scene = driven(10.0, y_m=y_m, others=[moving(90.0, 1.9, speed_mps=2.0), moving(30.0, -4.0, 1.5, 1.3)],
                   road_map=road_map)
    turned_map = dataclasses.replace(road_map, lanes=placed_lines(road_map.lanes),
                                     road_edges=placed_lines(road_map.road_edges))
    x_m, y_m = placed(scene.x_m, scene.y_m)
    turned = DrivenScene(x_m, y_m, scene.heading_rad + turn_rad, scene.speed_mps, scene.valid, scene.size_m, scene.kind,
                         scene.dt_s, turned_map, expert_m=np.stack(placed(*scene.expert_m.T), axis=1))
    wanted = score_driven(scene)
    assert wanted["collisions"] > 0 and 0 < wanted["nuplan_speed_limit"] < 1
    assert score_driven(turned) == pytest.approx(wanted, abs=1e-6)
