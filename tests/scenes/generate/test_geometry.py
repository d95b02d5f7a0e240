"""Can every scene of a lane map be driven? Laws of roads and traffic for each generator in `GENERATORS` that has a map.

With `--slow`, of 1000 seeds each, with `--seeds n` of n from `--first` on; without, of 80 (of procedural and composed
maps one in `ONE_IN`), and of the first 20 different roads among these. Odd seeds, and all composed maps, have drawn
parameters.
"""

from __future__ import annotations

import heapq
import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from boxes import box_segment_gap_m, corners, on_road, orientation, point_segment_m, segments_of, sides_of
from generated_scenes import EDGE, lane_points, positions
from lane_map_scenes import COMPOSED, NAMES, maps_of, scenes_of

from drive_env.scenes.validate import validate_scene

SHARPEST_PER_M = 1 / 4.2
"""What a car of 4.5 m with 0.6 rad of steering can drive."""

JOINT_RAD = math.radians(0.1)
BOX_FACTOR = 1.1
NEAR_IN_GRAPH_M = 6.0
SAME_WAY_COS = math.cos(math.radians(30.0))
LIGHT_GREEN_OR_YELLOW = (2, 3)


MAPS = (*NAMES, COMPOSED)

ONE_IN = {"procedural": 25, COMPOSED: 11}
"""Seeds of which one is checked, with as many odd as even ones: these maps have ten times the lanes of others."""

SLOW_LAW = 5
"""Scenes of which slow laws check one; odd, so that half of these have drawn parameters."""

FEW, BLOCK, SLOW = 80, 200, 1000
"""Seeds of a run without options, those whose scenes are held at a time, and those of `--slow`."""


def pytest_generate_tests(metafunc):
    """Tests are in the order of the blocks of seeds, then of names, so that the scenes of both are made once."""
    config = metafunc.config
    count = config.getoption("--seeds") or (SLOW if config.getoption("--slow") else FEW)
    assert count > 0, f"--seeds is {count}; it must be at least 1"
    start = config.getoption("--first")
    end = start + count
    blocks = [range(first, min(first + BLOCK, end)) for first in range(start, end, BLOCK)]
    metafunc.parametrize("seeds", blocks, scope="module", ids=lambda block: f"{block.start}-{block.stop - 1}")
    metafunc.parametrize("name", MAPS, scope="module")


@pytest.fixture
def all_roads(request):
    """Whether every road is checked."""
    return bool(request.config.getoption("--seeds") or request.config.getoption("--slow"))


def fewer(name, seeds, all_roads):
    """Of the largest maps, only some seeds are checked, unless all roads are."""
    return seeds if all_roads else seeds[::ONE_IN.get(name, 1)]


def some(name, found, all_roads):
    """Scenes for slow laws: one in `SLOW_LAW`, or all of them where `fewer` has already left seeds out."""
    return found if name in ONE_IN and not all_roads else found[::SLOW_LAW]


def different(name, seeds, all_roads):
    """Scenes with different roads."""
    return maps_of(name, fewer(name, seeds, all_roads))[:None if all_roads else 20]


def links_of(scene):
    before = np.repeat(np.arange(scene.roads.count), np.diff(scene.lanes.start))
    return list(zip(before.tolist(), scene.lanes.successor.tolist(), strict=True))


def samples(lane, pitch_m=2.0):
    """x, y, heading and curvature of the exact curve; kept, for several laws sample the same lanes alike."""
    return sampled(lane.curve, pitch_m)


@lru_cache(maxsize=10000)
def sampled(curve, pitch_m):
    found = curve.at(np.linspace(0.0, curve.length_m, max(2, math.ceil(curve.length_m / pitch_m) + 1)))
    found.flags.writeable = False
    return found


def crossings(one, other):
    """Number of pairs of segments of which each has its ends on both sides of the other."""
    near = np.ones((len(one), len(other)), bool)
    for axis in range(2):
        first, second = one[:, :, axis], other[:, :, axis]
        near &= first.min(axis=1)[:, None] <= second.max(axis=1)
        near &= first.max(axis=1)[:, None] >= second.min(axis=1)
    i, j = np.nonzero(near)
    a, b, c, d = one[i, 0], one[i, 1], other[j, 0], other[j, 1]
    return int(((orientation(a, b, c) * orientation(a, b, d) < 0)
                & (orientation(c, d, a) * orientation(c, d, b) < 0)).sum())


def test_a_lane_leads_into_lanes_that_start_where_it_ends(name, seeds, all_roads):
    """Points to the bit; headings of the curves, since those of chords differ from them by half of the chord's turn."""
    for found in different(name, seeds, all_roads):
        lanes = lane_points(found.scene)
        assert sorted(lanes) == list(range(len(found.map.lanes))), "lanes come first"
        for before, after in links_of(found.scene):
            assert (lanes[before][-1] == lanes[after][0]).all(), found.call
            end, start = found.map.lanes[before].curve.end, found.map.lanes[after].curve.start
            assert math.hypot(end.x_m - start.x_m, end.y_m - start.y_m) <= 1e-3
            assert math.cos(end.heading_rad - start.heading_rad) >= math.cos(JOINT_RAD), found.call


def test_a_car_can_turn_as_every_lane_does(name, seeds, all_roads):
    for found in different(name, seeds, all_roads):
        for lane in found.map.lanes:
            assert np.abs(samples(lane)[3]).max() <= SHARPEST_PER_M, found.call


def test_lanes_are_the_curves_to_2_cm_and_have_their_width_and_limit(name, seeds, all_roads):
    for found in different(name, seeds, all_roads):
        roads, points = found.scene.roads, lane_points(found.scene)
        for i, lane in enumerate(found.map.lanes):
            line = np.stack([points[i][:-1], points[i][1:]], axis=1)
            assert point_segment_m(samples(lane)[:2].T, line).min(axis=1).max() <= 0.025, found.call
            assert roads.width_m[i] == np.float32(lane.width_m)
            assert roads.speed_limit_mps[i] == np.float32(lane.speed_limit_mps)


def test_no_lane_crosses_an_edge_anywhere_in_its_width(name, seeds, all_roads):
    for found in different(name, seeds, all_roads):
        edges = segments_of(found.scene.roads, {EDGE})
        for lane in found.map.lanes:
            x_m, y_m, heading, _ = samples(lane, 1.0 if np.abs(samples(lane)[3]).max() > 0.01 else 5.0)
            low = np.array([x_m.min(), y_m.min()]) - lane.width_m
            high = np.array([x_m.max(), y_m.max()]) + lane.width_m
            near = edges[(edges.max(axis=1) >= low).all(axis=1) & (edges.min(axis=1) <= high).all(axis=1)]
            left_m = lane.width_m * np.array([[-0.5], [0.0], [0.5]])
            sides = np.stack([x_m - left_m * np.sin(heading), y_m + left_m * np.cos(heading)], axis=2)
            assert crossings(np.stack([sides[:, :-1], sides[:, 1:]], axis=2).reshape(-1, 2, 2), near) == 0, found.call


def near_in_graph(found):
    """Pairs of lanes that meet, or with at most 6 m of other lanes between them: where lanes of bays leave an aisle.

    And pairs that lead to lanes side by side, or from such lanes, and are not side by side themselves: one crosses the
    other to get to the farther lane.
    """
    lengths_m = [lane.curve.length_m for lane in found.map.lanes]
    # Lanes as edges of a graph: node i is the start of lane i, node count + i its end; linked ones become one.
    count = len(lengths_m)
    joined = list(range(2 * count))

    def node(one):
        while joined[one] != one:
            one = joined[one]
        return one

    for before, after in links_of(found.scene):
        joined[node(count + before)] = node(after)
    ends, at_node = [(node(lane), node(count + lane)) for lane in range(count)], {}
    for lane, both in enumerate(ends):
        for one in both:
            at_node.setdefault(one, []).append(lane)
    # From each node, the lanes at nodes up to 6 m away (Dijkstra 1959).
    related = set()
    for start, own in at_node.items():
        cost_m, queue = {start: 0.0}, [(0.0, start)]
        while queue:
            cost, here = heapq.heappop(queue)
            related |= {(i, j) for i in own for j in at_node[here]}
            for lane in at_node[here]:
                total, other = cost + lengths_m[lane], sum(ends[lane]) - here
                if total <= NEAR_IN_GRAPH_M and total < cost_m.get(other, math.inf):
                    cost_m[other] = total
                    heapq.heappush(queue, (total, other))
    beside = {pair for left, right in found.map.neighbours for pair in ((left, right), (right, left))}
    for left, right in found.map.neighbours:
        for end in (0, count):  # at their starts, and at their ends
            one, other = at_node[node(end + left)], at_node[node(end + right)]
            crossing = {(i, j) for i in one for j in other} | {(j, i) for i in one for j in other}
            related |= crossing - beside
    return related


def test_lanes_of_one_direction_overlap_only_where_they_merge_or_split(name, seeds, all_roads):
    for found in different(name, seeds, all_roads):
        related = near_in_graph(found)
        at = [samples(lane) for lane in found.map.lanes]
        boxes = np.array([[line[:2].min(axis=1), line[:2].max(axis=1)] for line in at])
        width_m = np.array([lane.width_m for lane in found.map.lanes])
        for i, one in enumerate(at):
            nears_m = (width_m[i] + width_m[:i]) / 2 - 0.3
            is_near = ((boxes[i, 0] <= boxes[:i, 1] + nears_m[:, None])
                       & (boxes[:i, 0] <= boxes[i, 1] + nears_m[:, None])).all(axis=1)
            for j in np.flatnonzero(is_near):
                other, near_m = at[j], nears_m[j]
                away = np.hypot(one[0][:, None] - other[0], one[1][:, None] - other[1])
                same_way = np.cos(one[2][:, None] - other[2]) > SAME_WAY_COS
                assert (i, j) in related or not (same_way & (away < near_m)).any(), (found.call, i, j)


def test_a_mirrored_scene_has_mirrored_roads(name, seeds, all_roads):
    for found in some(name, different(name, seeds, all_roads), all_roads):
        here, there = found.scene.roads, found.map.mirrored().roads()
        lanes = here.start[len(found.map.lanes)]
        assert (here.x_m[:lanes] == there.x_m[:lanes]).all() and (here.y_m[:lanes] == -there.y_m[:lanes]).all()
        one, other = segments_of(here, {EDGE}), segments_of(there, {EDGE}) * (1.0, -1.0)
        for first, second in ((one, other), (other, one)):
            ends = first.reshape(-1, 2)
            assert max(point_segment_m(part, second).min(axis=1).max()
                       for part in np.array_split(ends, len(ends) // 200 + 1)) < 6e-3, found.call


def test_lanes_in_conflict_never_have_green_together(name, seeds, all_roads):
    """Lanes that leave stop lines with green or yellow lights. Lanes conflict if they cross or end together."""
    for found in some(name, different(name, seeds, all_roads), all_roads):
        controls = found.scene.traffic_controls
        lights = [i for i in range(controls.count) if controls.kind[i] == 1]
        if not lights:
            continue
        conflict = found.map.conflicts()
        ways = {i: [int(after) for lane in controls.lane[controls.start[i]:controls.start[i + 1]]
                    for after in found.scene.lanes.after(int(lane))] for i in lights}
        for i in lights:
            for j in lights[:lights.index(i)]:
                if not conflict[np.ix_(ways[i], ways[j])].any():
                    continue
                assert controls.junction[i] == controls.junction[j] >= 0, found.call
                cycle_s = float(controls.phase_s[controls.phase_start[i]:controls.phase_start[i + 1]].sum())
                for time_s in np.arange(0.0625, cycle_s, 0.125):
                    states = [shown(controls, light, time_s) for light in (i, j)]
                    assert not all(state in LIGHT_GREEN_OR_YELLOW for state in states), (found.call, time_s)


def shown(controls, light, time_s):
    """What a light shows at a time."""
    phases = slice(controls.phase_start[light], controls.phase_start[light + 1])
    ends_s = np.cumsum(controls.phase_s[phases].astype(float))
    at_s = (float(controls.offset_s[light]) + time_s) % ends_s[-1]
    return int(controls.phase_state[phases][np.searchsorted(ends_s, at_s, side="right")])


def test_cars_start_apart_on_the_road_and_off_the_goals(name, seeds, all_roads):
    for found in scenes_of(name, fewer(name, seeds, all_roads)):
        scene = validate_scene(found.scene)
        objects, here = scene.objects, scene.objects.valid[0]  # others enter later
        xy_m, heading_rad = positions(scene)[here], objects.heading_rad[0, here].astype(np.float64)
        boxes = corners(xy_m, heading_rad, BOX_FACTOR * objects.length_m[here], BOX_FACTOR * objects.width_m[here])
        edges = segments_of(scene.roads, {EDGE})
        assert on_road(boxes.reshape(-1, 2), edges).all(), found.call
        sides = sides_of(boxes)
        near = np.linalg.norm(xy_m[:, None] - xy_m, axis=2) < 8.0
        for car in range(len(xy_m)):
            others = np.flatnonzero(near[car] & (np.arange(len(xy_m)) != car))
            assert not len(others) or box_segment_gap_m(boxes[car], sides[others].reshape(-1, 2, 2)) > 0, found.call
            assert box_segment_gap_m(boxes[car], edges) > 0, found.call
        agents = np.flatnonzero(~objects.marked_expert)
        goals_m = objects.goal_m[agents].astype(np.float64)
        assert on_road(goals_m, edges).all(), found.call
        in_bays = ~np.isnan(objects.goal_heading_rad[agents])
        away_m = np.linalg.norm(goals_m[:, None] - xy_m[None], axis=2)
        assert away_m[~in_bays].min(initial=math.inf) > 3.0, found.call
        # A goal with a heading, as in a bay, may be beside a car: that one does not overlap the box there.
        for row in np.flatnonzero(in_bays):
            car = agents[row]
            size_m = [np.full(1, BOX_FACTOR * float(side[car])) for side in (objects.length_m, objects.width_m)]
            box = corners(goals_m[[row]], objects.goal_heading_rad[[car]].astype(np.float64), *size_m)[0]
            near = np.flatnonzero(away_m[row] < 8.0)
            assert not len(near) or box_segment_gap_m(box, sides[near].reshape(-1, 2, 2)) > 0, found.call
            assert box_segment_gap_m(box, edges) > 0, found.call


def places_at(table, xy_m):
    """(lane, metres along it) of every lane whose centre line contains the point."""
    lane, segments, along = table
    away = point_segment_m(xy_m[None], segments)[0]
    return {int(lane[i]): along[i] + np.linalg.norm(xy_m - segments[i, 0]) for i in np.flatnonzero(away < 2e-3)}


def stands(scene, car):
    """Whether a car is at rest."""
    return scene.objects.vx_mps[0, car] == scene.objects.vy_mps[0, car] == 0


def beside(found):
    """Pairs of lanes between which a car can change: for 30 m they lie side by side, in the same direction."""
    at = [samples(lane, 5.0) for lane in found.map.lanes]
    boxes = np.array([[line[:2].min(axis=1), line[:2].max(axis=1)] for line in at])
    pairs = []
    for i, one in enumerate(at):
        near = ((boxes[i, 0] <= boxes[:, 1] + 5.0) & (boxes[:, 0] <= boxes[i, 1] + 5.0)).all(axis=1)
        for j in np.flatnonzero(near):
            if i == j:
                continue
            other = at[j]
            away = np.hypot(one[0][:, None] - other[0], one[1][:, None] - other[1])
            nearest = away.argmin(axis=1)
            gap_m = away.min(axis=1)
            near = (gap_m < 5.0) & (gap_m > 2.0) & (np.cos(one[2] - other[2][nearest]) > 0.99)
            if near.sum() >= 6:
                pairs.append((i, int(j)))
    return pairs


def ways_m(links, lengths_m, sides, start, along_m):
    """Dijkstra's algorithm over lanes: metres from a place to the start of each lane, with lane changes.

    A change takes the car to the same distance from the end of the other lane.
    """
    # Cost of being at the end of a lane.
    ends = {start: lengths_m[start] - along_m}
    queue, done = [(ends[start], start)], set()
    while queue:
        cost, lane = heapq.heappop(queue)
        if lane in done:
            continue
        done.add(lane)
        nexts = [(after, cost + lengths_m[after]) for before, after in links if before == lane]
        nexts += [(other, cost) for one, other in sides if one == lane]
        for after, total in nexts:
            if total < ends.get(after, math.inf):
                ends[after] = total
                heapq.heappush(queue, (total, after))
    return ends


def test_every_goal_can_be_reached_along_lanes(name, seeds, all_roads):
    """Also by changes to a lane beside; on a cycle, the lane of the start may be entered again. A car with its nose in
    a bay reverses to where the lane of the bay begins."""
    for found in some(name, scenes_of(name, fewer(name, seeds, all_roads)), all_roads):
        scene, lanes = found.scene, lane_points(found.scene)
        segments = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lanes.values()])
        owner = np.concatenate([np.full(len(line) - 1, lane) for lane, line in lanes.items()])
        steps = [np.linalg.norm(np.diff(line, axis=0), axis=1) for line in lanes.values()]
        table = (owner, segments, np.concatenate([np.cumsum(step) - step for step in steps]))
        lengths_m = {lane: float(step.sum()) for lane, step in zip(lanes, steps, strict=True)}
        links, sides, xy_m = links_of(scene), beside(found), positions(scene)
        for car in np.flatnonzero(~scene.objects.marked_expert):
            starts, goals = places_at(table, xy_m[car]), places_at(table, scene.objects.goal_m[car].astype(np.float64))
            assert starts and goals, (found.call, car)
            reached = False
            for start, along_m in starts.items():
                ends = ways_m(links, lengths_m, sides, start, along_m)
                reverses = [before for before, after in links if after == start and len(ends) == 1]
                for before in reverses if stands(scene, car) else ():
                    ends |= ways_m(links, lengths_m, sides, before, lengths_m[before])
                again = [after for before, after in links if before in ends]
                for goal, goal_along_m in goals.items():
                    # Not above 0 for a goal behind the start, on its lane or one beside: only a way around leads there.
                    ahead_m = ends.get(goal, math.inf) - (lengths_m[goal] - goal_along_m)
                    reached |= (math.isfinite(ahead_m) and ahead_m > 0) or goal in again
            assert reached, (found.call, car)


def test_every_car_is_on_a_lane_along_its_heading_and_within_its_limit(name, seeds, all_roads):
    for found in some(name, scenes_of(name, fewer(name, seeds, all_roads)), all_roads):
        scene, objects = found.scene, found.scene.objects
        at = [samples(lane, 0.15) for lane in found.map.lanes]
        lane_of, every = np.repeat(np.arange(len(at)), [line.shape[1] for line in at]), np.concatenate(at, axis=1)
        cos, sin = np.cos(every[2]), np.sin(every[2])
        for car in range(objects.count):
            x_m, y_m, heading = (float(values[0, car]) for values in (objects.x_m, objects.y_m, objects.heading_rad))
            speed_mps = math.hypot(objects.vx_mps[0, car], objects.vy_mps[0, car])
            if objects.marked_expert[car]:
                continue
            turned = 1 - (cos * math.cos(heading) + sin * math.sin(heading))
            best = lane_of[np.argmin(np.hypot(every[0] - x_m, every[1] - y_m) + 10 * turned)]
            nearest = int(np.hypot(at[best][0] - x_m, at[best][1] - y_m).argmin())
            step_x, step_y = x_m - at[best][0][nearest], y_m - at[best][1][nearest]
            bend_rad = at[best][2][nearest] - heading
            assert math.hypot(step_x, step_y) <= 0.15 and abs(math.sin(bend_rad)) < 0.03, (found.call, car)
            assert abs(step_y * math.cos(heading) - step_x * math.sin(heading)) <= 0.03, (found.call, car)
            assert speed_mps <= found.map.lanes[best].speed_limit_mps + 1e-5, (found.call, car)
            assert -np.float32(math.pi) <= heading < math.pi
            if speed_mps > 0:
                assert math.atan2(objects.vy_mps[0, car], objects.vx_mps[0, car]) == pytest.approx(
                    heading, abs=1e-5) or abs(abs(heading) - math.pi) < 1e-5


def test_no_car_starts_too_fast_to_stop_behind_the_next_on_its_lane(name, seeds, all_roads):
    """If both brake with 2 m/s2; and before the end of a lane that leads nowhere."""
    for found in some(name, scenes_of(name, fewer(name, seeds, all_roads)), all_roads):
        objects, lanes = found.scene.objects, lane_points(found.scene)
        speed_mps = np.hypot(objects.vx_mps[0], objects.vy_mps[0]).astype(np.float64)
        xy_m, places = positions(found.scene), []
        for lane, line in lanes.items():
            step = np.linalg.norm(np.diff(line, axis=0), axis=1)
            away = point_segment_m(xy_m, np.stack([line[:-1], line[1:]], axis=1))
            for car in np.flatnonzero(away.min(axis=1) < 2e-3).tolist():
                i = int(away[car].argmin())
                places.append((lane, float(step[:i].sum() + np.linalg.norm(xy_m[car] - line[i])), car,
                               float(step.sum())))
        places.sort()
        for (lane, along_m, car, _), (next_lane, next_along_m, other, _) in pairwise(places):
            if lane == next_lane:
                gap_m = next_along_m - along_m - float(objects.length_m[[car, other]].sum()) / 2
                assert speed_mps[car] ** 2 / 4 <= gap_m + speed_mps[other] ** 2 / 4, (found.call, car)
        for lane, along_m, car, length_m in places:
            if not len(found.scene.lanes.after(lane)) and not objects.marked_expert[car]:
                assert speed_mps[car] ** 2 / 4 <= length_m - along_m, (found.call, car)
