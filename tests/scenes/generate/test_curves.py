"""Do paths and curves go where geometry says?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from drive_env.errors import SceneError
from drive_env.scenes.generate.curves import (
    SAGITTA_M, STEP_M, Curve, Path, Pose, Taper, arc, between, clothoid, fillet_m, line, polyline, turn)

ORIGIN = Pose(0.0, 0.0, 0.0)
WINDING = Path(Pose(3.0, -2.0, 0.4), (line(7.0), turn(9.0, 1.1), clothoid(12.0, 0.1, -0.05), arc(6.0, -0.05),
                                      clothoid(5.0, -0.05, 0.0), line(2.0)))
SHIFTED = Curve(WINDING, 1.5, (Taper(0.5, 6.0, -1.0), Taper(18.0, 15.0, 3.0)))


def integrated(curvature_of, start, length_m, steps=200_000):
    """Where a curve of this curvature ends, by the midpoint rule."""
    step = length_m / steps
    at = (np.arange(steps) + 0.5) * step
    heading = start.heading_rad + np.cumsum(curvature_of(at)) * step - curvature_of(at) * step / 2
    return (start.x_m + math.fsum(np.cos(heading) * step), start.y_m + math.fsum(np.sin(heading) * step))


@pytest.mark.parametrize(("start", "piece", "end"), [
    # Vectors of the OpenDRIVE standard's formulas.
    (Pose(1.0, 2.0, 0.3), arc(20.0, 0.05), (14.360759575, 15.75675321, 1.3)),
    (ORIGIN, clothoid(40.0, 0.0, 0.05), (36.180969516, 12.410732069, 1.0)),
    (Pose(5.0, -1.0, 1.0), clothoid(30.0, 0.02, -0.03), (19.888163655, 24.958705254, 0.85)),
    (ORIGIN, clothoid(10.0, 0.0, 0.1), (9.752876882, 1.637140474, 0.5)),
    (ORIGIN, clothoid(25.0, -0.01, 0.04), (24.741279684, 2.060186213, 0.375)),
    # Circles and lines by hand.
    (ORIGIN, turn(8.0, math.pi / 2), (8.0, 8.0, math.pi / 2)),
    (ORIGIN, turn(8.0, -math.pi), (0.0, -16.0, -math.pi)),
    (Pose(1.0, 1.0, math.pi / 2), line(3.0), (1.0, 4.0, math.pi / 2)),
])
def test_pieces_end_where_their_formulas_say(start, piece, end):
    assert tuple(Path(start, (piece,)).end) == pytest.approx(end, abs=6e-10)


def test_a_clothoid_is_the_integral_of_its_curvature():
    piece = clothoid(60.0, 0.1, -0.15)
    found = Path(Pose(2.0, 3.0, -0.7), (piece,)).end
    assert found[:2] == pytest.approx(
        integrated(lambda s: 0.1 - 0.25 * s / 60.0, Pose(2.0, 3.0, -0.7), 60.0), abs=1e-7)


def test_a_clothoid_evaluated_at_parts_is_one_curve():
    path = Path(ORIGIN, (clothoid(30.0, 0.2, -0.1),))
    at = np.linspace(0.0, 30.0, 61)
    x_m, y_m, heading, curvature, _ = path.at(at)
    for i in (7, 31, 55):
        first = path.part(0.0, at[i])
        assert first.end[:2] == pytest.approx((x_m[i], y_m[i]), abs=1e-12)
        rest = Path(first.end, path.part(at[i], 30.0).pieces)
        assert rest.end[:2] == pytest.approx(path.end[:2], abs=1e-12)
    assert np.abs(np.gradient(heading, at)[1:-1] - curvature[1:-1]).max() < 1e-6


@pytest.mark.parametrize("curve", [Curve(WINDING), Curve(WINDING, -2.0), SHIFTED, SHIFTED.mirrored()])
def test_headings_and_curvatures_are_those_of_the_places(curve):
    """By differences, except next to where curvature jumps."""
    at = np.linspace(0.0, curve.length_m, 40_001)
    x_m, y_m, heading, curvature = curve.at(at)
    step_x, step_y = np.diff(x_m), np.diff(y_m)
    assert np.abs(np.sin(np.arctan2(step_y, step_x) - (heading[1:] + heading[:-1]) / 2)).max() < 1e-4
    turned = np.diff(heading) / np.hypot(step_x, step_y)
    fault = np.abs(turned - (curvature[1:] + curvature[:-1]) / 2)
    assert np.median(fault) < 1e-7 and np.quantile(fault, 0.999) < 1e-4


def test_an_offset_is_measured_across_the_path():
    at = np.linspace(0.0, WINDING.length_m, 500)
    x_m, y_m, heading, *_ = WINDING.at(at)
    for left_m in (-3.0, 2.0):
        beside = Curve(WINDING, left_m).at(at)
        assert np.abs((beside[0] - x_m) * -np.sin(heading) + (beside[1] - y_m) * np.cos(heading) - left_m).max() < 1e-12
        assert np.abs(beside[2] - heading).max() == 0.0


def test_a_taper_is_the_cubic_of_road_standards():
    """W 3.5 m over 20 m: w(s) = 3.5 - 0.02625 s2 + 0.000875 s3, 1.75 in the middle."""
    at = np.linspace(0.0, 30.0, 61)
    y_m = Curve(Path(ORIGIN, (line(30.0),)), 3.5, (Taper(5.0, 20.0, -3.5),)).at(at)[1]
    s = np.clip(at - 5.0, 0.0, 20.0)
    assert np.abs(y_m - (3.5 - 0.02625 * s**2 + 0.000875 * s**3)).max() < 1e-12
    assert y_m[30] == pytest.approx(1.75)


def test_a_reversed_curve_has_the_same_places():
    back, at = SHIFTED.reversed(), np.linspace(0.0, SHIFTED.length_m, 300)
    there, here = back.at(SHIFTED.length_m - at), SHIFTED.at(at)
    assert np.abs(there[:2] - here[:2]).max() < 1e-11
    assert np.abs(np.cos(there[2] - here[2]) + 1).max() < 1e-12 and np.abs(there[3] + here[3]).max() < 1e-12


def test_a_mirrored_curve_has_mirrored_bits():
    at = np.linspace(0.0, SHIFTED.length_m, 300)
    there, here = SHIFTED.mirrored().at(at), SHIFTED.at(at)
    assert (there == here * np.array([1.0, -1.0, -1.0, -1.0])[:, None]).all()


def test_a_moved_curve_is_a_rotation_and_a_shift():
    frame, at = Pose(10.0, -5.0, 2.2), np.linspace(0.0, SHIFTED.length_m, 300)
    there, here = SHIFTED.moved(frame).at(at), SHIFTED.at(at)
    turned = (here[0] + 1j * here[1]) * np.exp(2.2j) + (10.0 - 5.0j)
    assert np.abs(there[0] + 1j * there[1] - turned).max() < 1e-11
    assert np.abs(there[2] - here[2] - 2.2).max() < 1e-12 and np.abs(there[3] - here[3]).max() < 1e-15


def test_a_part_of_a_curve_is_the_curve_between_its_stations():
    part, at = SHIFTED.part(6.5, 31.0), np.linspace(6.5, 31.0, 200)
    there, here = part.at(at - 6.5), SHIFTED.at(at)
    assert np.abs(there - here)[:3].max() < 1e-11
    assert np.median(np.abs(there - here)[3]) < 1e-12  # at the ends of pieces curvature jumps


@pytest.mark.parametrize("curve", [
    Curve(WINDING), SHIFTED, Curve(Path(ORIGIN, (turn(6.0, 3.0),))), Curve(Path(ORIGIN, (turn(600.0, 0.5),)), 7.0),
    Curve(Path(ORIGIN, (line(200.0),)), 0.0, (Taper(50.0, 30.0, 3.5),))])
def test_chords_of_samples_keep_to_the_curve(curve):
    at = curve.stations()
    assert (np.diff(at) > 0).all() and at[0] == 0.0 and at[-1] == curve.length_m
    x_m, y_m, *_ = curve.at(at)
    assert np.hypot(np.diff(x_m), np.diff(y_m)).max() <= STEP_M + 1e-9
    for low, high in zip(at[:-1], at[1:], strict=True):
        x, y = curve.at(np.linspace(low, high, 9))[:2]
        away = ((x[-1] - x[0]) * (y - y[0]) - (y[-1] - y[0]) * (x - x[0])) / math.hypot(x[-1] - x[0], y[-1] - y[0])
        assert np.abs(away).max() <= 1.2 * SAGITTA_M


@pytest.mark.parametrize(("end", "length_m"), [
    (Pose(30.0, 0.0, 0.0), 30.0), (Pose(8.0, 8.0, math.pi / 2), 4 * math.pi), (Pose(8.0, 20.0, math.pi / 2), None),
    (Pose(20.0, -8.0, -math.pi / 2), None), (Pose(10.0, 6.0, 0.9), None), (Pose(2.0, 9.0, 2.5), None),
    (Pose(0.0, 12.0, math.pi), 6 * math.pi), (Pose(-5.0, -12.0, -math.pi), 6 * math.pi + 5.0)])
def test_a_path_between_poses_ends_there(end, length_m):
    start = Pose(4.0, 7.0, 1.3)
    path = between(start, end.from_frame(start))
    found = path.end
    assert found[:2] == pytest.approx(end.from_frame(start)[:2], abs=1e-12)
    assert math.cos(found.heading_rad - end.from_frame(start).heading_rad) == pytest.approx(1.0, abs=1e-15)
    assert len([piece for piece in path.pieces if piece.start_per_m]) <= 1 and len(path.pieces) <= 2
    if length_m is not None:
        assert path.length_m == pytest.approx(length_m)


@pytest.mark.parametrize("end", [
    Pose(-3.0, 0.0, 0.0), Pose(10.0, 2.0, 0.0), Pose(-5.0, 5.0, 0.5), Pose(5.0, 5.0, -0.5), Pose(5.0, 0.0, math.pi)])
def test_poses_that_no_arc_joins_are_an_error(end):
    with pytest.raises(SceneError, match=r"no arc leads from \(0.0, 0.0, 0.0\) to .*; the end must be ahead"):
        between(ORIGIN, end)


def test_a_fillet_touches_both_sides_of_its_corner():
    """Tangents R tan(angle / 2), and an arc R angle."""
    for angle in (0.3, -1.2, 2.0):
        corner = (20.0, 0.0)
        far = (20.0 + 20.0 * math.cos(angle), 20.0 * math.sin(angle))
        path = polyline([(0.0, 0.0), corner, far], 5.0)
        assert fillet_m(5.0, angle) == pytest.approx(5.0 * math.tan(abs(angle) / 2), abs=1e-14)
        assert path.length_m == pytest.approx(40.0 - 2 * fillet_m(5.0, angle) + 5.0 * abs(angle))
        assert path.end[:2] == pytest.approx(far, abs=1e-12)
        x_m, y_m, *_ = path.at(np.array([path.pieces[0].length_m + 2.5 * abs(angle)]))  # the middle of the arc
        assert math.hypot(x_m[0] - 20.0, y_m[0]) == pytest.approx(5.0 / math.cos(angle / 2) - 5.0)


def test_corners_too_near_for_their_arcs_are_an_error():
    with pytest.raises(SceneError, match="leg 1 of a path is 4 m long; its arcs need 10 m"):
        polyline([(0.0, 0.0), (20.0, 0.0), (20.0, 4.0), (0.0, 4.0)], 5.0)
