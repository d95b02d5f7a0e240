"""Are the bays of a parking lot where they should be, with cars that fit into them, and agents that park or leave?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from boxes import corners, segments_of
from generated_scenes import EDGE, positions

from drive_env import Batch, generate_scene
from drive_env.errors import SceneError
from drive_env.scenes.generate import CONFIG_OF


def lot(seed, **parameters):
    """A scene; which of its objects arrive, leave, and are parked."""
    scene = generate_scene("parking", seed=seed, **parameters)
    is_parked = scene.objects.marked_expert
    arrives = ~is_parked & (np.hypot(scene.objects.vx_mps[0], scene.objects.vy_mps[0]) > 0)
    return scene, arrives, ~is_parked & ~arrives, is_parked


def bay_poses(scene, arrives, leaves, is_parked):
    """(n, 3) where each car is, was or will be in its bay."""
    objects = scene.objects
    goals = np.concatenate([objects.goal_m, objects.goal_heading_rad[:, None]], axis=1)
    starts = np.concatenate([positions(scene), objects.heading_rad[0][:, None]], axis=1)
    return np.where(arrives[:, None], goals, starts).astype(np.float64)


@pytest.mark.parametrize("bay_width_m, bay_m, aisle_m", [(2.5, 5.0, 6.0), (2.4, 4.8, 5.5), (2.7, 5.5, 7.3)])
def test_agents_park_in_the_middle_of_bays_of_their_own_across_the_aisle(bay_width_m, bay_m, aisle_m):
    for seed in range(8):
        found = lot(seed, bay_width_m=bay_width_m, bay_m=bay_m, aisle_m=aisle_m)
        poses = bay_poses(*found)[~found[3]]
        bays = poses[:, 0] / bay_width_m
        assert bays == pytest.approx(np.rint(bays), abs=1e-3) and bays.min() > -0.5 and bays.max() < 7.5
        assert np.abs(poses[:, 1]) == pytest.approx((aisle_m + bay_m) / 2, abs=1e-3)
        assert np.abs(np.sin(poses[:, 2])) == pytest.approx(1.0)
        assert len({(round(x), y > 0) for x, y in zip(bays, poses[:, 1], strict=True)}) == len(poses)


@pytest.mark.parametrize("angled", [False, True])
def test_every_car_is_inside_its_bay(angled):
    """A bay is a parallelogram: between lines in its direction, and between the aisle and the line behind it."""
    angle = math.pi / 3 if angled else math.pi / 2
    depth_m = 5.0 * math.sin(angle) + (2.5 * math.cos(angle) if angled else 0.0)
    for seed in range(8):
        found = lot(seed, occupied=1.0, angled=angled)
        objects, poses = found[0].objects, bay_poses(*found)
        assert len(poses) == 16
        side = np.sign(poses[:, 1])
        boxes = corners(poses[:, :2], poses[:, 2], objects.length_m.astype(float), objects.width_m.astype(float))
        # From the line through the middle of the bay, in its direction.
        pitch_m, middle_m = 2.5 / math.sin(angle), (6.0 + depth_m) / 2
        x_m = boxes[..., 0] - (np.abs(boxes[..., 1]) - middle_m) / math.tan(angle)
        bay = np.rint(x_m.mean(axis=1) / pitch_m)
        assert sorted(zip(bay, side, strict=True)) == [(i, s) for i in range(8) for s in (-1, 1)]
        assert np.abs(x_m - (bay * pitch_m)[:, None]).max() <= pitch_m / 2
        assert (boxes[..., 1] * side[:, None]).min() >= 3.0 and (boxes[..., 1] * side[:, None]).max() <= 3.0 + depth_m


@pytest.mark.parametrize("rows", [1, 2])
def test_the_walls_are_half_a_metre_behind_the_bays_and_beside_the_outer_ones(rows):
    """One closed road edge, with the road of 6 m on both sides of the lot."""
    roads = generate_scene("parking", rows=rows).roads
    edges = segments_of(roads, {EDGE})
    assert (roads.kind == EDGE).sum() == 1 and (edges[0, 0] == edges[-1, 1]).all()
    x_m, y_m = edges[..., 0], edges[..., 1]
    assert (y_m.min(), y_m.max()) == (-8.5, 8.5 if rows == 2 else 3.0)
    behind = np.abs(y_m) > 3.0
    assert (x_m[behind].min(), x_m[behind].max()) == pytest.approx((-1.75, 7 * 2.5 + 1.75), abs=1e-3)
    assert set(np.abs(y_m[~behind])) == {3.0}


def test_noses_are_where_the_parameter_says():
    share = {}
    for nose in ("any", "in", "out"):
        outs = []
        for seed in range(5):
            poses = bay_poses(*lot(seed, nose=nose, occupied=1.0))
            outs += (np.sin(poses[:, 2]) * poses[:, 1] < 0).tolist()
        share[nose] = np.mean(outs)
    assert share["in"] == 0.0 and share["out"] == 1.0 and 0.3 < share["any"] < 0.7
    poses = np.concatenate([bay_poses(*lot(seed, angled=True)) for seed in range(8)])
    assert np.degrees(poses[:, 2]) * np.sign(poses[:, 1]) == pytest.approx(60.0, abs=2.0)


def test_bays_are_occupied_and_agents_leave_as_often_as_the_parameters_say():
    counts = np.array([[arrives.sum(), leaves.sum(), parked.sum()] for _, arrives, leaves, parked
                       in (lot(seed, agents=9, road_m=80.0) for seed in range(16))])
    assert counts[:, 1].sum() / 144 == pytest.approx(0.25, abs=0.09)
    assert counts[:, 2].sum() / 112 == pytest.approx(0.5, abs=0.1)
    assert lot(0, occupied=0.0)[3].sum() == 0
    assert lot(0, leaving=1.0)[2].sum() == lot(0, leaving=0.0)[1].sum() == 4


def test_the_first_agent_is_at_the_front_of_those_that_arrive():
    for seed in range(16):
        scene, arrives, leaves, parked = lot(seed)
        assert (np.flatnonzero(arrives) == np.arange(arrives.sum())).all()
        assert (np.diff(positions(scene)[arrives, 0]) <= -8.0 + 1e-3).all()
        assert parked[arrives.sum() + leaves.sum():].all()


@pytest.mark.parametrize("parameters, most", [
    ({}, 16), ({"leaving": 0.0}, 4), ({"rows": 1, "bays": 4}, 4), ({"leaving": 0.0, "road_m": 80.0}, 9)])
def test_an_error_names_the_number_of_agents_that_fit(parameters, most):
    assert (~lot(0, agents=most, **parameters)[3]).sum() == most
    with pytest.raises(SceneError, match=f"agents is {most + 1}; at most {most} fit on these roads"):
        lot(0, agents=most + 1, **parameters)


def test_angled_bays_have_no_noses_out():
    with pytest.raises(SceneError, match="nose is 'out'; with angled, it must be 'any' or 'in'"):
        lot(0, angled=True, nose="out")


@pytest.mark.parametrize("others", ["replay", "static", "idm"])
def test_parked_cars_stay_parked_whatever_others_do(others):
    """With others="idm", too: they are marked for log replay; unmarked ones would be rule-based."""
    scene, _, _, parked = lot(1, occupied=1.0)
    with Batch(scene, config={"others": others, "on_offroad": "ignore", **CONFIG_OF["parking"]}) as batch:
        assert batch.roles[0].static_count == parked.sum() == 12
        batch.reset()
        before = batch.vehicles()
        for _ in range(20):
            batch.step(batch.actions)
        for name in ("x_m", "y_m", "heading_rad"):
            assert (batch.vehicles()[name][4:] == before[name][4:]).all()
