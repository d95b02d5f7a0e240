"""Are the costs of CommonRoad the integrals of their definition? Drives whose integrals are known."""

import math

import numpy as np
import pytest
from scored_drives import DT_S, LENGTH_M, driven, moving, straight_map

from drive_env.evaluation.scores import commonroad_costs

TIME_S = DT_S * np.arange(151)


def partial(*arguments, **settings):
    return commonroad_costs(driven(*arguments, **settings)).partial


def test_a_drive_along_the_lane_at_the_limit_costs_time_alone():
    found = commonroad_costs(driven(10.0, road_map=straight_map(limit_mps=10.0)))
    assert found.partial == pytest.approx(
        dict.fromkeys(("A", "J", "Jlat", "Jlon", "SA", "SR", "LC", "V", "O", "D"), 0.0) | {"T": 15.0, "ID": 1 / 15})
    assert found.totals == pytest.approx(
        {"JB1": 15.0, "SA1": 0.0, "WX1": 150.0, "SM1": 0.0, "SM2": 0.0, "SM3": 0.0, "MW1": 1 / 15})


def test_accelerations_and_jerks_are_integrated():
    found = partial(1.0 + 0.2 * TIME_S)
    assert found["A"] == pytest.approx(0.2**2 * 15) and found["J"] == pytest.approx(0.0, abs=1e-12)
    found = partial(1.0 + 0.05 * TIME_S**2)
    assert found["A"] == pytest.approx(0.1**2 * 15**3 / 3, rel=1e-2)
    assert found["J"] == found["Jlon"] == pytest.approx(0.1**2 * 14.9)


def test_the_wheel_angle_is_that_of_a_circle():
    """The heading turns as on a circle of 20 m; the positions stay on a line, since only the heading counts."""
    found = partial(8.0, heading_rad=8.0 / 20.0 * TIME_S)
    assert found["SA"] == pytest.approx(math.atan(0.6 * LENGTH_M / 20.0) ** 2 * 15)
    assert found["SR"] == pytest.approx(0.0, abs=1e-12) and found["Jlat"] == pytest.approx(0.0, abs=1e-12)
    assert partial(0.5, heading_rad=0.4 * TIME_S)["SA"] == 0.0


def test_a_rate_of_the_wheel_angle_is_integrated():
    """The heading is that on a clothoid, so the lateral jerk is constant."""
    found = partial(10.0, heading_rad=0.5 * 0.02 * TIME_S**2)
    assert found["Jlat"] == pytest.approx((10.0 * 0.02) ** 2 * 15, rel=0.02)
    assert found["SR"] == pytest.approx((0.6 * LENGTH_M * 0.002) ** 2 * 15, rel=0.02)


def test_offsets_from_the_lane_are_integrated():
    found = partial(10.0, y_m=0.5, heading_rad=-0.1, road_map=straight_map(limit_mps=13.0))
    assert found["LC"] == pytest.approx(0.5**2 * 15) and found["O"] == pytest.approx(0.1**2 * 15)
    assert found["V"] == pytest.approx(3.0**2 * 15)
    assert partial(10.0, road_map=straight_map(limit_mps=0.0))["V"] == 0.0


@pytest.mark.parametrize("gap_m", [0.0, 3.0, 20.0])
def test_the_nearest_object_counts_by_its_distance(gap_m):
    others = [moving(LENGTH_M + gap_m, speed_mps=10.0), moving(0.0, 40.0, speed_mps=10.0)]
    assert partial(10.0, others=others)["D"] == pytest.approx(math.exp(-0.2 * gap_m) * 15)
    z_m = np.zeros((151, 3))
    z_m[:, 1] = 8.0
    assert partial(10.0, others=others, z_m=z_m)["D"] == pytest.approx(math.exp(-0.2 * 38.0) * 15)


def test_totals_are_weighted_sums():
    """Of a drive that has all partial costs."""
    found = commonroad_costs(driven(8.0 + np.sin(TIME_S), y_m=0.3, heading_rad=0.1 * np.sin(TIME_S),
                                    others=[moving(20.0, 3.5, speed_mps=5.0)]))
    p = found.partial
    assert all(value > 0 for value in p.values())
    assert found.totals["SM1"] == pytest.approx(
        50 * (p["A"] + p["SA"] + p["SR"] + p["O"]) + p["LC"] + 20 * p["V"])
    assert found.totals["SM1"] - found.totals["SM2"] == pytest.approx(20 * p["V"])
    assert found.totals["SM1"] - found.totals["SM3"] == pytest.approx(p["LC"])
    assert found.totals["SA1"] == pytest.approx(0.1 * p["SA"] + 0.1 * p["SR"] + 1e5 * p["D"])
    assert found.totals["MW1"] == pytest.approx(5 * p["Jlat"] + 0.5 * p["Jlon"] + 0.2 * p["V"] + p["ID"])
