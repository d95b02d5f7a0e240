"""Do composed maps consist of the blocks that were asked for, joined at their sockets and clear of each other?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from lane_map_scenes import polylines
from scene_hashes import hash_of

from drive_env import ArgumentError, Batch, SceneError, compose, generate_scene
from drive_env.scenes.generate import block_map
from drive_env.scenes.generate.blocks import BLOCKS, RoadKind
from drive_env.scenes.generate.chain import FIRST_M, BlockSpec, assembled, chain
from drive_env.scenes.generate.curves import Pose
from drive_env.scenes.generate.lane_map import LaneMap
from drive_env.scenes.generate.overlap import TOUCH_M, Rectangles, overlap
from drive_env.scenes.generate.procedural import _letter
from drive_env.scenes.generate.rng import Rng

ROAD = RoadKind(3.5, 13.9)
LEFT_BENDS = [("C", {"radius_m": 25.0, "angle_deg": 90.0, "side": "left", "length_m": 20.0})] * 6
STOP, LIGHT = 2, 1


def placed_of(letters, seed=0, lanes=2, road=ROAD):
    """The blocks of a map of these letters, or of random ones."""
    rng = Rng(seed)
    if isinstance(letters, int):
        return chain(rng, lambda _: BlockSpec(_letter(rng)), letters, lanes, road)
    return chain(rng, lambda at: BlockSpec(letters[at]), len(letters), lanes, road)


def points_of(own, pitch_m=2.0):
    """x, y and half widths to the curb along all lanes of a placed block, from the exact curves."""
    found = []
    for lane in own.block.roads.lanes:
        curve = lane.curve.moved(own.frame)
        at = curve.at(np.linspace(0.0, curve.length_m, max(2, math.ceil(curve.length_m / pitch_m) + 1)))
        found.append(np.stack([at[0], at[1], np.full(at.shape[1], lane.width_m / 2 + lane.curb_gap_m)], axis=1))
    return np.concatenate(found)


def check_joints_and_gaps(placed, what):
    """Every socket that is joined has all of its lanes linked, and no others are near each other."""
    roads, streets = assembled(placed)
    before, after = {pair[0] for pair in roads.links}, {pair[1] for pair in roads.links}
    firsts = np.cumsum([0, *(len(own.block.roads.lanes) for own in placed)])
    joined = {own.before for own in placed} | {(number, 0) for number in range(1, len(placed))}
    for number, own in enumerate(placed):
        for index, socket in enumerate(own.block.sockets):
            linked = {firsts[number] + lane in before for lane in socket.leaving}
            linked |= {firsts[number] + lane in after for lane in socket.arriving}
            assert linked == {(number, index) in joined}, what
    # The curbs of blocks are apart, except within a road's width of where they are joined.
    at = [points_of(own) for own in placed]
    for number, own in enumerate(placed):
        joint = own.block.sockets[0].pose.from_frame(own.frame)
        for other in range(number):
            away = np.hypot(at[number][:, None, 0] - at[other][:, 0], at[number][:, None, 1] - at[other][:, 1])
            gap_m = away - at[number][:, None, 2] - at[other][:, 2]
            if own.before[0] == other:
                near_m = 2.0 * own.block.sockets[0].lanes * 4.5 + 4.0
                far = [np.hypot(points[:, 0] - joint.x_m, points[:, 1] - joint.y_m) > near_m
                       for points in (at[number], at[other])]
                gap_m = gap_m[far[0][:, None] | far[1]]
            assert not gap_m.size or gap_m.min() > 1.4, (what, number, other)
    assert len(streets) == len(set(streets)), what


# ---- letters ----


def test_the_letters_are_those_of_metadrive():
    """Ids of its blocks, as their sources have them: its Merge is y, where lanes end, and its Split Y."""
    assert {letter: kind.name for letter, kind in BLOCKS.items()} == {
        "S": "straight", "C": "curve", "r": "in_ramp", "R": "out_ramp", "X": "crossing", "T": "t_junction",
        "O": "roundabout", "y": "merge", "Y": "split", "$": "toll", "P": "parking"}
    assert math.fsum(kind.probability for kind in BLOCKS.values()) == pytest.approx(1.0)


def test_random_letters_have_the_probabilities_of_their_blocks():
    rng = Rng(3)
    drawn = [_letter(rng) for _ in range(4000)]
    for letter, kind in BLOCKS.items():
        assert drawn.count(letter) / 4000 == pytest.approx(kind.probability, abs=0.025), letter


@pytest.mark.parametrize("letter", BLOCKS)
def test_each_block_alone_makes_a_scene(letter):
    for lanes in (1, 3):
        scene = compose(letter, seed=lanes, agents=2, lanes=lanes)
        assert scene.objects.count == 2 and scene.generated and scene.name == f"compose/{lanes}"
        assert scene.source == f"compose({letter!r}, seed={lanes}, agents=2, lanes={lanes})"


@pytest.mark.parametrize("first", BLOCKS)
def test_each_block_continues_each_other_one(first):
    for seed, second in enumerate(BLOCKS):
        check_joints_and_gaps(placed_of(first + second, seed), first + second)


@pytest.mark.parametrize("blocks", range(1, 8))
def test_random_blocks_are_joined_and_clear_of_each_other(blocks, request):
    for seed in range(200 if request.config.getoption("--slow") else 6):
        check_joints_and_gaps(placed_of(blocks, seed, lanes=1 + seed % 3), (blocks, seed))


def test_a_list_means_the_same_as_its_string():
    assert hash_of(compose(["S", "curve", ("X", {})], 5, agents=6)) == hash_of(compose("SCX", 5, agents=6))


def test_roads_depend_on_the_seed_and_not_on_the_number_of_agents():
    roads = [compose("CX", seed, agents=4).roads for seed in range(4)]
    assert len({one.x_m.tobytes() for one in roads}) == 4
    assert compose("CX", 0, agents=9).roads.x_m.tobytes() == roads[0].x_m.tobytes()


@pytest.mark.parametrize("blocks", [1, 4])
def test_a_procedural_map_has_its_first_road_and_the_requested_number_of_blocks(blocks, monkeypatch):
    """With one lane there are no tapers."""
    maps = []

    def recorded(*arguments):
        maps.append(chain(*arguments))
        return maps[-1]

    monkeypatch.setattr(block_map, "chain", recorded)
    generate_scene("procedural", seed=900 + blocks, agents=1, blocks=blocks, lanes=1)
    assert [len(placed) for placed in maps] == [1 + blocks]


def test_the_source_of_a_procedural_scene_names_the_default_number_of_agents():
    assert generate_scene("procedural", 1).source == "generate_scene('procedural', seed=1, agents=10)"


# ---- parameters ----


def test_a_block_has_the_parameters_that_are_given():
    """By closed forms: the end of a bend to the right, and the road behind it."""
    bend = BlockSpec("C", (("radius_m", 30.0), ("angle_deg", 60.0), ("side", "right"), ("length_m", 50.0)))
    placed = chain(Rng(0), lambda _: bend, 1, 1, ROAD)
    end = placed[1].block.sockets[1].pose.from_frame(placed[1].frame)
    sine, cosine = math.sin(math.pi / 3), math.cos(math.pi / 3)
    assert end.x_m == pytest.approx(FIRST_M + 30.0 * sine + 50.0 * cosine)
    assert end.y_m == pytest.approx(-30.0 * (1.0 - cosine) - 50.0 * sine)
    assert end.heading_rad == pytest.approx(-math.pi / 3)


def test_a_parameter_that_is_not_given_is_within_the_range_from_which_it_is_drawn():
    for kind in BLOCKS.values():
        for name, choice in kind.choices.items():
            values, parameter = [choice.draw(Rng(seed)) for seed in range(40)], choice.parameter
            if not choice.drawn:
                assert set(values) == {parameter.default}, name
            elif parameter.choices:
                assert set(values) == set(choice.drawn) <= set(parameter.choices), name
            else:
                low, high = choice.drawn
                assert parameter.low <= low <= min(values) < max(values) <= high <= parameter.high, name
                assert all(type(value) is type(parameter.default) for value in values)


@pytest.mark.parametrize("socket, heading_deg", [(0, 90.0), (1, 0.0), (2, -90.0)])
def test_a_socket_is_the_road_of_the_block_before_from_left_to_right(socket, heading_deg):
    for letter in "XO":
        block_specs = [BlockSpec(letter), BlockSpec("S", (), socket)]
        placed = chain(Rng(1), block_specs.__getitem__, 2, 1, ROAD)
        heading_rad = placed[2].frame.heading_rad
        assert math.cos(heading_rad - math.radians(heading_deg)) == pytest.approx(1.0)
    scene = compose([("T", {"missing": "left"}), ("S", {"socket": 1, "length_m": 200.0})], agents=2)
    assert scene.roads.y_m.min() < -200.0, "the second road of this junction leads to the right"


def test_a_merge_or_split_sets_the_lanes_of_the_next_block():
    block_specs = [BlockSpec("y", (("change", 2),)), BlockSpec("S"), BlockSpec("Y", (("change", 4),)), BlockSpec("S")]
    placed = chain(Rng(0), block_specs.__getitem__, 4, 3, ROAD)
    assert [own.block.sockets[1].lanes for own in placed] == [3, 1, 1, 5, 5]


def test_a_taper_of_30_m_a_lane_leads_to_a_block_of_one_lane_and_back():
    placed = placed_of("OS", lanes=3)
    assert [own.block.sockets[1].lanes for own in placed] == [3, 1, 1, 3, 3]
    for taper in (placed[1], placed[3]):
        begin, end = (socket.pose for socket in taper.block.sockets)
        assert math.hypot(end.x_m - begin.x_m, end.y_m - begin.y_m) == pytest.approx(2 * 30.0 + 10.0)


def test_blocks_have_their_speed_limits():
    def limits(letter):
        return {round(float(limit), 3) for limit in compose(letter, agents=1).roads.speed_limit_mps if limit}

    assert {letter: limits(letter) for letter in "SrRO$P"} == {
        "S": {13.9}, "r": {13.9, 12.0}, "R": {13.9, 12.0}, "O": {13.9, 7.0}, "$": {13.9, 3.0}, "P": {13.9, 5.0}}
    slow = compose("r$", agents=1, speed_limit_mps=5.0).roads.speed_limit_mps
    assert {float(limit) for limit in slow if limit} == {5.0, 3.0}


def test_a_toll_stops_every_lane_and_a_crossing_has_the_control_that_is_given():
    toll = compose("$", agents=1, lanes=2).traffic_controls
    assert toll.kind.tolist() == [STOP] * 4 and len(set(toll.lane.tolist())) == 4
    lights = compose([("X", {"control": "lights"}), ("X", {"control": "lights"})], agents=1).traffic_controls
    assert lights.kind.tolist() == [LIGHT] * 8 and lights.junction.tolist() == [0] * 4 + [1] * 4


def test_every_lane_of_a_crossing_leads_on_and_lanes_turn_from_the_side_they_turn_to():
    """Seen from the west with three lanes: the left one to the north, the right one to the south, all to the east."""
    def successor_lanes(letter, **values):
        block = BLOCKS[letter].build(Rng(0), 3, ROAD, turn_radius_m=10.0, arm_m=35.0, control="none", **values)
        roads, entry = block.roads, block.sockets[0].arriving
        leads = {lane: sorted(after for before, after in roads.links if before == lane) for lane in entry}
        ends = [[after for inner in leads[lane] for before, after in roads.links if before == inner] for lane in entry]
        names = {lane: (side, i) for side, socket in zip("lar", block.sockets[1:], strict=False)
                 for i, lane in enumerate(socket.leaving)}
        return [sorted(names[lane] for lane in of) for of in ends]

    assert successor_lanes("X") == [[("a", 0), ("l", 0)], [("a", 1)], [("a", 2), ("r", 2)]]
    # Where no road leads straight on, its place in the list is that of the right one.
    assert successor_lanes("T", missing="ahead") == [[("l", 0)], [("l", 0)], [("a", 2)]]


# ---- errors ----


@pytest.mark.parametrize("blocks, message", [
    ("SZX", r"blocks\[1\] is 'Z'; it must be one of 'S' \(straight\), .*'P' \(parking\)"),
    (["S", "loop"], r"blocks\[1\] is 'loop'; it must be one of"),
    ([3], r"blocks\[0\] is 3; it must be"),
    ("", "blocks has 0 blocks; it must have from 1 to 32"),
    ("S" * 33, "blocks has 33 blocks; it must have from 1 to 32"),
    (7, "blocks is 7; it must be a string of letters"),
    (b"SX", "it must be a string of letters"),
    ([("S", 3)], r"the parameters of blocks\[0\] are 3; they must be a mapping"),
    ([("S", {"length_m": 5.0})], r"blocks\[0\], 'S': length_m is 5.0; it must be a number from 20 to 400"),
    ([("C", {"side": "up"})], r"blocks\[0\], 'C': side is 'up'; it must be one of 'left', 'right'"),
    ([("S", {"socket": 3})], r"socket of blocks\[0\] is 3; it must be a whole number from 0 to 2"),
    (["X", ("S", {"socket": -1})], r"socket of blocks\[1\] is -1"),
    (["S", ("X", {"socket": 1})], r"blocks\[1\], 'X', has socket 1; the block before it has sockets 0 to 0"),
])
def test_an_unknown_block_or_value_is_named_with_its_place(blocks, message):
    with pytest.raises(SceneError, match=message):
        compose(blocks)


def test_an_unknown_parameter_is_named():
    with pytest.raises(ArgumentError, match="block 'S' has no parameter 'length'; did you mean length_m"):
        compose([("S", {"length": 40.0})])
    with pytest.raises(ArgumentError, match="did you mean lanes"):
        compose("S", lane=2)


def test_a_block_that_does_not_fit_is_named():
    """Four left bends of 90 degrees come back to the start: the fourth block lies on the first road."""
    with pytest.raises(SceneError, match=r"blocks\[3\], 'C', overlaps earlier blocks wherever it was tried; "):
        compose(LEFT_BENDS, agents=1)
    assert compose(LEFT_BENDS[:3], agents=1).objects.count == 1


def test_a_block_is_tried_again_with_other_parameters_and_the_one_before_it_too():
    """The side of each bend is drawn; four equal ones overlap. Seed 8 draws the last block again, seed 10 also the
    block before it."""
    bend, numbers = BlockSpec("C", (("radius_m", 25.0), ("angle_deg", 90.0), ("length_m", 20.0))), {8: [], 10: []}
    for seed, found in numbers.items():
        chain(Rng(seed), lambda at, found=found: found.append(at) or bend, 6, 2, ROAD)
        assert compose([(bend.letter, dict(bend.values))] * 6, seed, agents=1).objects.count == 1
    assert numbers == {8: [0, 1, 2, 3, 4, 5, 5, 5, 5], 10: [0, 1, 2, 3, 3, 3, 3, 3, 3, 2, 3, 4, 5]}


def test_without_a_number_there_are_ten_cars_or_as_many_as_fit():
    assert compose("CX", 1).objects.count == 10
    small = compose("y", 0, lanes=1)
    with pytest.raises(SceneError, match=f"at most {small.objects.count} fit"):
        compose("y", 0, agents=10, lanes=1)


def test_more_cars_than_fit_are_refused_with_the_number_that_does():
    with pytest.raises(SceneError, match=r"compose\('S', seed=0, agents=400\): agents is 400; at most \d+ fit"):
        compose("S", agents=400)
    for letters in ("SC", "$P", "TO"):
        assert most_of(letters, 2).objects.count > 1


def most_of(letters, seed):
    """The scene with as many cars as fit, by the error for more."""
    with pytest.raises(SceneError) as refused:
        compose(letters, seed, agents=999)
    return compose(letters, seed, agents=int(str(refused.value).split("at most ")[1].split()[0]))


def test_no_car_starts_beside_an_open_end_or_just_before_a_stop_line():
    """At the ends of roads are the last goals; a car that starts near a line could not stop in time."""
    for seed in range(3):
        scene = most_of("SC", seed)
        xy_m, lanes = np.stack([scene.objects.x_m[0], scene.objects.y_m[0]], axis=1), polylines(scene.roads, 1)
        opened = set(range(len(lanes))) - set(scene.lanes.successor.tolist())
        assert len(opened) == 4
        assert min(np.linalg.norm(xy_m - lanes[lane][0], axis=1).min() for lane in opened) > 19.9
        toll = most_of("$", seed)
        for car in range(toll.objects.count):
            x_m, y_m, ahead = (float(values[0, car]) for values in (toll.objects.x_m, toll.objects.y_m,
                                                                    toll.objects.heading_rad))
            line_m = toll.traffic_controls.line_m.astype(float).reshape(-1, 2, 2).mean(axis=1)
            along = (line_m[:, 0] - x_m) * math.cos(ahead) + (line_m[:, 1] - y_m) * math.sin(ahead)
            beside = np.abs((line_m[:, 1] - y_m) * math.cos(ahead) - (line_m[:, 0] - x_m) * math.sin(ahead))
            own = (beside < 1.0) & (along > 0)
            assert not own.any() or along[own].min() > 13.4


# ---- overlap ----


def rectangle(x_m, y_m, heading_rad, length_m, width_m):
    return Rectangles(np.array([[x_m, y_m]]), np.array([[math.cos(heading_rad), math.sin(heading_rad)]]),
                      np.array([[length_m / 2, width_m / 2]]))


def depth_m(one, other):
    """How far the deepest point of a grid in one rectangle is inside the other, below 0 where none is."""
    steps = np.linspace(-1.0, 1.0, 61)
    left = np.array([-one.ahead[0, 1], one.ahead[0, 0]])
    points = (one.centre_m[0] + (steps * one.half_m[0, 0])[:, None, None] * one.ahead[0]
              + (steps * one.half_m[0, 1])[None, :, None] * left).reshape(-1, 2) - other.centre_m[0]
    ahead = other.ahead[0]
    along, beside = np.abs(points @ ahead), np.abs(points @ np.array([-ahead[1], ahead[0]]))
    return np.minimum(other.half_m[0, 0] - along, other.half_m[0, 1] - beside).max()


def test_rectangles_overlap_if_one_reaches_into_the_other():
    """Against points of a grid; those that touch by less than the margin are either."""
    draws, found = np.random.default_rng(4), {True: 0, False: 0}
    for _ in range(400):
        one, other = (rectangle(*draws.uniform(-4, 4, 2), draws.uniform(0, 6.3), *draws.uniform(1.5, 5, 2))
                      for _ in range(2))
        deep_m = max(depth_m(one, other), depth_m(other, one))
        if overlap(one, other):
            assert deep_m > -0.1
        elif deep_m > 0:
            assert deep_m < TOUCH_M + 0.1
        found[overlap(one, other)] += 1
        assert overlap(other, one) == overlap(one, other)
    assert min(found.values()) > 50


def test_rectangles_far_from_the_origin_and_across_cells_overlap_as_near_it():
    one, other = rectangle(9.9, -10.1, 0.3, 4.0, 3.0), rectangle(10.4, -9.6, 1.2, 4.0, 3.0)
    for frame in (Pose(0.0, 0.0, 0.0), Pose(-4321.0, 977.0, 2.0), Pose(12.3, 45.6, -1.0)):
        assert overlap(one.moved(frame), other.moved(frame))
        assert not overlap(one.moved(frame), other.moved(Pose(9.0, 0.0, 0.0)).moved(frame))


def test_the_area_of_a_block_has_its_bays_and_the_room_behind_its_open_ends():
    """A parking street of 6 bays: 8 m, 15 m, 8 m; bays reach 5 m from the lane, 1 m clear; ends 4 m, 1 m clear."""
    placed = chain(Rng(0), lambda _: BlockSpec("P", (("bays", 6),)), 1, 1, ROAD)
    own = placed[1]
    speck = lambda x_m, y_m: rectangle(FIRST_M + x_m, y_m, 0.0, 1.4, 1.4)
    for side in (-1, 1):
        for x_m in (8.5, 15.5, 22.5):
            assert overlap(own.area, speck(x_m, side * 8.0))
        assert not any(overlap(own.area, speck(x_m, side * 8.0)) for x_m in (6.5, 24.5))
        assert not overlap(own.area, speck(15.5, side * 10.5))
    behind = own.ends[1]
    assert overlap(behind, speck(31.0 + 4.5, -1.75)) and overlap(behind, speck(31.0 + 4.5, 1.75))
    assert not overlap(behind, speck(31.0 + 6.0, 1.75)) and not overlap(own.area, speck(31.0 + 4.5, 1.75))


# ---- use ----


def test_a_composed_scene_is_a_scene_like_any_other():
    scene = compose("SXrO", seed=0, agents=6)
    with Batch([scene, generate_scene("procedural", agents=6)], num_worlds=2, config={"agents_per_world": 6}) as batch:
        batch.reset(seed=0)
        batch.step(np.zeros_like(batch.actions))
        assert batch.num_agents == 12
    lanes = polylines(scene.roads, 1)
    assert len(lanes) == int((scene.roads.width_m > 0).sum()) > 20


def test_a_map_of_blocks_is_mirrored_as_a_whole():
    roads = assembled(placed_of("SXO"))[0]
    assert isinstance(roads, LaneMap)
    here, there = roads.roads(), roads.mirrored().roads()
    lanes = here.start[len(roads.lanes)]
    assert (here.y_m[:lanes] == -there.y_m[:lanes]).all() and (here.x_m[:lanes] == there.x_m[:lanes]).all()
