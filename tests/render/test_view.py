"""Does a picture show the world as it is? Facts from pixels, without the camera's arithmetic."""

import math
from dataclasses import replace

import numpy as np
import pytest

REASON = 'drawing needs the extra: pip install "drive-env[render]"'
for package in ("cv2", "PIL"):
    pytest.importorskip(package, reason=REASON)

from bare_scene import COAST, LENGTH_M, THROTTLE, WIDTH_M, bare_scene, drive, started
from pixels import axis_rad, blobs, of_colour, places
from scripted_scenes import listed
from views import BAR_PX, SIZE, bodies, count_of, crash

from drive_env import Batch, CallError, ConfigError, DriveConfig, generate_scene
from drive_env.render import SceneView, colours
from drive_env.render.colours import mixed
from drive_env.render.traffic import GOAL_SHARE, OPEN_GOAL

# ---- the array ----


@pytest.mark.parametrize("size", [(160, 160), (400, 225), (401, 301), (1280, 720), (1920, 1080)])
@pytest.mark.parametrize("view", ["scene", "follow"])
def test_a_frame_is_a_picture_of_the_requested_size_that_the_caller_owns(view, size):
    with started(generate_scene("town", agents=4)) as batch:
        look = SceneView(batch, size=size, view=view)
        first = look.frame()
        assert first.shape == (size[1], size[0], 3) and first.dtype == np.uint8 and first.flags.c_contiguous
        kept = first.copy()
        first[:] = 0
        assert np.array_equal(look.frame(), kept)
        out = np.zeros_like(kept)
        assert look.frame(out=out) is out and np.array_equal(out, kept)


def test_drawing_changes_nothing_of_the_world():
    scene = generate_scene("town", agents=6)
    with started(scene) as drawn, started(scene) as plain:
        looks = [SceneView(drawn), SceneView(drawn, view="follow", agent=2)]
        for _ in range(30):
            for batch in (drawn, plain):
                drive(batch, action=THROTTLE)
            for look in looks:
                look.frame()
            assert np.array_equal(drawn.observations, plain.observations)
            assert np.array_equal(drawn.code, plain.code)


@pytest.mark.parametrize("wrong", [
    {"size": (159, 720)}, {"size": (1280, 7681)}, {"size": (1280.0, 720)}, {"view": "side"}, {"agent": 4},
    {"world": 1}, {"span_m": 0}])
def test_an_argument_out_of_range_is_an_error(wrong):
    with started(generate_scene("town", agents=4)) as batch, pytest.raises(ConfigError, match="it must be"):
        SceneView(batch, **wrong)


def test_a_span_may_be_a_number_of_numpy():
    with started(generate_scene("town", agents=4)) as batch:
        for span_m in (np.float32(60.5), np.int64(60), np.array(60.5)):
            assert SceneView(batch, view="follow", span_m=span_m).span_m == float(span_m)


def test_a_picture_needs_a_reset_an_open_batch_and_an_array_that_fits():
    batch = Batch([generate_scene("town", agents=4)], threads=1)
    look = SceneView(batch)
    with pytest.raises(CallError, match="before reset"):
        look.frame()
    batch.reset()
    with pytest.raises(CallError, match=r"out must be .*\(720, 1280, 3\)"):
        look.frame(out=np.zeros((720, 1280, 4), np.uint8))
    batch.close()
    with pytest.raises(CallError, match="closed"):
        look.frame()


# ---- places ----


def test_cars_are_drawn_where_they_are_with_their_sizes_and_headings():
    """Three cars fix the map from metres to pixels; a fourth is then checked against it, and all headings."""
    poses = [(0.0, 0.0, 0.0), (40.0, 0.0, math.pi / 2), (0.0, 30.0, 2.2), (31.0, 17.0, -0.6)]
    with started(bare_scene(poses, goals=[(20.0, 15.0)] * 4)) as batch:
        picture = SceneView(batch, size=SIZE).frame()
    glass = of_colour(picture, colours.GLASS, tolerance=2)
    bluish = picture[..., 2].astype(int) - picture[..., 0] >= 12  # neither land nor ink nor a mix of them
    cars = blobs(bluish & (np.arange(SIZE[1]) < SIZE[1] - BAR_PX.bottom)[:, None])[:4]
    middles = [(places(car).min(axis=0) + places(car).max(axis=0)) / 2 for car in cars]
    third, second = sorted(range(4), key=lambda car: middles[car][0])[2:]
    up, origin = sorted({0, 1, 2, 3} - {third, second}, key=lambda car: middles[car][1])
    scale = (middles[second][0] - middles[origin][0]) / 40.0
    assert middles[origin] - middles[up] == pytest.approx([0.0, 30.0 * scale], abs=1.0)
    assert middles[second][1] == pytest.approx(middles[origin][1], abs=1.0)
    assert middles[third] - middles[origin] == pytest.approx([31.0 * scale, -17.0 * scale], abs=1.0)
    for car, (_, _, heading) in zip((origin, second, up, third), poses, strict=True):
        points = places(cars[car])
        assert abs(math.sin(axis_rad(points) - heading)) < 0.05
        nose = (places(glass & cars[car]).mean(axis=0) - middles[car]) * [1, -1]
        assert math.cos(math.atan2(nose[1], nose[0]) - heading) > 0.99  # the windscreen is in front
        along = (points - middles[car]) @ np.array([math.cos(heading), -math.sin(heading)])
        across = (points - middles[car]) @ np.array([math.sin(heading), math.cos(heading)])
        assert np.ptp(along) == pytest.approx(LENGTH_M * scale, abs=3.0)  # smooth borders
        assert np.ptp(across) == pytest.approx(WIDTH_M * scale, abs=3.0)


def test_small_pictures_show_visible_cars():
    with started(bare_scene([(0.0, 0.0, 0.0), (600.0, 300.0, 0.0)])) as batch:
        picture = SceneView(batch, size=(400, 225)).frame()
    boxes = blobs(of_colour(picture[20:-40], colours.STATE_COLOURS[colours.DRIVING], tolerance=70))
    assert [6 <= np.ptp(places(box)[:, 0]) <= 12 for box in boxes[:2]] == [True, True]


def test_the_map_is_drawn_by_kind():
    roads = [("edge", [(-20.0, 12.0), (20.0, 12.0)]), ("lane", [(-20.0, 0.0), (20.0, 0.0)]),
             ("stop_sign", [(10.0, 6.0)])]
    with started(bare_scene([(-10.0, -8.0, 0.0)], goals=[(10.0, 8.0)], roads=roads)) as batch:
        picture = SceneView(batch, size=SIZE).frame()
    for colour in (colours.EDGE, colours.ASPHALT, colours.STOP_SIGN):
        assert of_colour(picture, colour).sum() > 50
    heights = [places(of_colour(picture, colour))[:, 1].mean() for colour in (colours.EDGE, colours.ASPHALT)]
    assert heights[0] < heights[1] - 50  # north is up


def test_asphalt_is_drawn_whose_lane_is_just_outside_the_picture():
    """The picture ends 7.1 m to the left of the car; asphalt begins at 6.8 m, the lane's centre line is at 9.5 m."""
    with started(bare_scene([(0.0, 0.0, 0.0)], roads=[("lane", [(-20.0, 9.5), (20.0, 9.5)])])) as batch:
        picture = SceneView(batch, size=SIZE, view="follow", span_m=10.0).frame()
    assert of_colour(picture, colours.ASPHALT)[300, 5]


# ---- states ----


EVENT_STATES = {colours.COLLISION: 2, colours.OFFROAD: 1, colours.GOAL: 1}
"""Number of agents of `crash` by outcome."""


def test_agents_have_the_colour_of_their_state():
    with started(crash(), on_goal="stop", on_collision="stop", on_offroad="stop") as batch:
        assert [count_of(batch, state) > 0 for state in EVENT_STATES] == [False] * 3
        one_car = count_of(batch, colours.DRIVING) / 5
        drive(batch, 15)
        assert batch.stopped.tolist() == [True, True, True, True, False]
        picture = SceneView(batch, size=SIZE).frame()
        for state, agents in EVENT_STATES.items():
            # Crosses hide some of a body, and cars that met some of each other.
            assert bodies(picture, state).sum() > 0.4 * agents * one_car, colours.STATE_NAMES[state]
        assert bodies(picture, colours.DRIVING).sum() == pytest.approx(one_car, rel=0.25)


def test_agents_can_have_colours_of_their_own_while_they_drive():
    """Seven cars in a row: the last one has the colour of the first. Goals are paler, and outcomes have their own."""
    count = len(colours.AGENT_COLOURS) + 1
    scene = bare_scene([(0.0, 8.0 * index, 0.0) for index in range(count)],
                       goals=[(30.0, 8.0 * index) for index in range(count)], speeds=[0.0] * count)
    with started(scene) as batch:
        picture = SceneView(batch, size=SIZE, agent_colours=True).frame()
        found = [len(blobs(of_colour(picture, colour))) for colour in colours.AGENT_COLOURS]
        goals = [of_colour(picture, mixed(colour, colours.ASPHALT, GOAL_SHARE)).any() for colour in
                 colours.AGENT_COLOURS]
        assert found[0] > found[1] >= 1 and all(found) and all(goals)
    with started(crash(), on_goal="stop", on_collision="stop", on_offroad="stop") as batch:
        drive(batch, 15)
        own, plain = (SceneView(batch, size=SIZE, agent_colours=choice).frame() for choice in (True, False))
        for state in EVENT_STATES:
            assert (bodies(own, state) == bodies(plain, state)).all()


def test_a_goal_is_drawn_where_the_agent_drives_next_and_as_a_disc_after_the_last():
    """A car reaches goals at 10 and 30 m, and its lane ends before a third. The other one is static."""
    scene = bare_scene([(0.0, 0.0, 0.0), (40.0, 8.0, 0.0)], goals=[(10.0, 0.0), (40.0, 8.0)], speeds=[10.0, 0.0],
                       roads=[("lane", [(0.0, 0.0), (40.0, 0.0)])])
    with started(scene, on_goal="next", goal_spacing_m=20.0) as batch:
        look, car_px, goal_px = SceneView(batch, size=SIZE), [], []
        for _ in range(2):
            picture = look.frame()
            ring = of_colour(picture, OPEN_GOAL, tolerance=2)
            ring[: BAR_PX.top] = ring[-BAR_PX.bottom :] = False
            car_px.append(places(bodies(picture, colours.DRIVING)).mean(axis=0)[0])
            goal_px.append(places(ring).mean(axis=0)[0])
            drive(batch, 12)
        # While the car moved by 12 m, its goal moved by 20 m.
        assert np.ptp(goal_px) / np.ptp(car_px) == pytest.approx(20 / 12, rel=0.02)
        drive(batch, 4)
        assert batch.removed[0] and bodies(look.frame(), colours.GOAL).sum() > 20


def test_a_line_of_two_radii_shows_the_heading_of_a_goal():
    """Of two goals, one is on a lane to the north, and one on no lane. North is up."""
    scene = bare_scene([(0.0, 0.0, 0.0), (30.0, 0.0, 0.0)], goals=[(10.0, 10.0), (40.0, 10.0)], speeds=[0.0, 0.0],
                       roads=[("lane", [(10.0, -20.0), (10.0, 40.0)])])
    high = []
    for tolerance_rad in (None, 0.2):
        with started(scene, goal_heading_tolerance_rad=tolerance_rad, goal_radius_m=3.0,
                     observation={"goals": 1}) as batch:
            rings = of_colour(SceneView(batch, size=SIZE).frame(), OPEN_GOAL, tolerance=2)
        rings[: BAR_PX.top] = rings[-BAR_PX.bottom :] = False
        x_px, y_px = places(rings).T
        for left in (True, False):
            of_goal = (x_px < np.median(x_px)) == left
            high.append(np.ptp(y_px[of_goal]))
    # A ring is two radii high, and a line of two radii reaches one radius beyond it.
    assert high[2] / high[0] == pytest.approx(1.5, abs=0.12) and high[3] == high[1] == high[0]


def test_a_goal_with_a_heading_of_its_own_shows_that_one():
    """On a lane to the north, with headings to the east and to the west: the line is beside the ring, not above it."""
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(10.0, 10.0)], speeds=[0.0],
                       roads=[("lane", [(10.0, -20.0), (10.0, 40.0)])])
    shapes = []
    for heading_rad in (np.nan, 0.0, np.pi):
        objects = replace(scene.objects, goal_heading_rad=np.array([heading_rad], np.float32))
        with started(replace(scene, objects=objects), goal_heading_tolerance_rad=0.2, goal_radius_m=3.0,
                     observation={"goals": 1}) as batch:
            rings = of_colour(SceneView(batch, size=SIZE).frame(), OPEN_GOAL, tolerance=2)
        rings[: BAR_PX.top] = rings[-BAR_PX.bottom :] = False
        x_px, y_px = places(rings).T
        shapes.append((x_px.min(), x_px.max(), y_px.min(), y_px.max()))
    north, east, west = np.array(shapes, float)
    radius_px = (north[1] - north[0]) / 2
    assert (east - north)[[1, 2]] == pytest.approx([radius_px, radius_px], abs=4)
    assert (west - north)[[0, 2]] == pytest.approx([-radius_px, radius_px], abs=4)


def test_rings_show_the_goals_that_an_agent_observes_after_its_current_one():
    """One ring for each further goal that is observed, to scale: two for 3 observed goals, three for 8, as there are
    four."""
    goals_m = [(10.0, 10.0), (24.0, 10.0), (38.0, 10.0), (52.0, 10.0)]
    scene = listed(bare_scene([(0.0, 0.0, 0.0)], goals=goals_m[:1], speeds=[0.0]), {0: goals_m[1:]})
    pictures = []
    for goals in (1, 3, 8):
        with started(scene, on_goal="next", goal_radius_m=3.0, observation={"goals": goals}) as batch:
            pictures.append(SceneView(batch, size=SIZE).frame().astype(int))
    first_px = places(of_colour(pictures[0], OPEN_GOAL, tolerance=2))[:, 0]
    radius_px, middle_px = np.ptp(first_px) / 2, (first_px.min() + first_px.max()) / 2
    for picture, count in zip(pictures[1:], (2, 3), strict=True):
        added_px = np.unique(np.nonzero((picture != pictures[0]).any(axis=2))[1])
        rings = np.split(added_px, np.flatnonzero(np.diff(added_px) > radius_px / 2) + 1)
        found_m = (np.array([(ring.min() + ring.max()) / 2 for ring in rings]) - middle_px) / radius_px * 3.0
        ends_px = [(ring.min(), ring.max()) for ring in rings]
        assert ends_px[0][0] > first_px.max() and len({*found_m.round()}) >= count
        outer = (ends_px[-1][1] - middle_px) / radius_px * 3.0
        assert outer == pytest.approx(14.0 * count + 3.0, abs=2.0)  # the ring of the first goal is thicker


def test_no_trail_leads_to_the_start_at_which_an_agent_appears():
    """A car at 10 m/s is within 2 m of its goal at 20 m in step 18. A new view draws no trail either."""
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(20.0, 0.0)], speeds=[10.0],
                       roads=[("lane", [(0.0, 0.0), (40.0, 0.0)])])
    with started(scene, on_goal="respawn") as batch:
        look, has_trail = SceneView(batch, size=SIZE), []
        for _ in range(19):
            has_trail.append(not np.array_equal(look.frame(), SceneView(batch, size=SIZE).frame()))
            drive(batch)
    assert has_trail[6:] == [True] * 12 + [False]  # before, the car covers it


def test_a_removed_agent_is_not_drawn():
    with started(crash(), on_goal="remove", on_collision="remove", on_offroad="remove") as batch:
        drive(batch, 15)
        assert batch.removed.tolist() == [True, True, True, True, False]
        picture = SceneView(batch, size=SIZE).frame()
        assert bodies(picture, colours.COLLISION).sum() == bodies(picture, colours.OFFROAD).sum() == 0
        # The windscreen of the agent that drives.
        assert len(blobs(of_colour(picture, colours.GLASS, tolerance=2))) == 1
        # The goal that was reached is a disc.
        (disc,) = [blob for blob in blobs(bodies(picture, colours.GOAL)) if blob.sum() > 20]
        assert abs(np.ptp(places(disc)[:, 0]) - np.ptp(places(disc)[:, 1])) <= 1


def test_ignored_infractions_are_marked_on_cars_that_drive_on():
    with started(crash(), on_goal="ignore", on_collision="ignore", on_offroad="ignore") as batch:
        before = of_colour(SceneView(batch, size=SIZE).frame(), colours.INK, tolerance=30)[BAR_PX.top :].sum()
        drive(batch, 15)
        picture = SceneView(batch, size=SIZE).frame()
        assert bodies(picture, colours.COLLISION).sum() == 0 and bodies(picture, colours.DRIVING).sum() > 0
        assert of_colour(picture, colours.INK, tolerance=30)[BAR_PX.top :].sum() > before + 100


def test_log_replay_rule_based_and_static_vehicles_differ_from_agents():
    moving = [(float(step), 0.0, 0.0) for step in range(4)]
    still = [(0.0, 8.0, 0.0)] * 4
    scene = bare_scene([moving[0], still[0]], goals=[(20.0, 0.0), (20.0, 8.0)], logs=[moving, still])
    for others, state, absent in (("replay", colours.LOG_REPLAY, colours.STATIC),
                                  ("idm", colours.RULE_BASED, colours.LOG_REPLAY),
                                  ("static", colours.STATIC, colours.LOG_REPLAY)):
        with started(scene, others=others, control=(1,), trial_steps=3) as batch:
            # A few pixels of smooth borders are grey by accident.
            assert count_of(batch, state) > 1000 and count_of(batch, absent) < 50
            assert count_of(batch, colours.DRIVING) > 1000
    with started(scene, others="idm", idm_handback_m=1.0, control=(1,), trial_steps=3) as batch:
        drive(batch, 1)  # the vehicle follows its log from now on
        assert count_of(batch, colours.LOG_REPLAY) > 1000 and count_of(batch, colours.RULE_BASED) < 50


def test_co_players_have_a_stripe_and_an_entry_of_the_legend():
    """The pictures with and without them differ at the co-player's car, and in the bar below."""
    scene = bare_scene([(0.0, 0.0, 0.0), (0.0, 10.0, 0.0)], goals=[(20.0, 0.0), (20.0, 10.0)])
    with started(scene) as plain, started(scene, coplayers=1) as with_coplayer:
        pictures = [SceneView(batch, size=SIZE).frame() for batch in (plain, with_coplayer)]
        (coplayer,) = np.flatnonzero(with_coplayer.coplayer)
    changed = (pictures[0] != pictures[1]).any(axis=-1)
    legend, cars = changed[-BAR_PX.bottom :], changed[BAR_PX.top : -BAR_PX.bottom]
    assert legend.sum() > 100
    dark = of_colour(pictures[1], colours.INK, tolerance=30)[BAR_PX.top : -BAR_PX.bottom]
    assert dark[cars].sum() > 50
    # The car at y = 10 m is the upper one.
    middle = places(bodies(pictures[0], colours.DRIVING))[:, 1].mean() - BAR_PX.top
    assert (places(cars)[:, 1] < middle).all() == (coplayer == 1) and (places(cars)[:, 1] > middle).all() == (
        coplayer == 0)


def test_a_log_replay_vehicle_is_drawn_at_its_log_and_not_beyond_it():
    moving = [(4.0 * step, 0.0, 0.0) for step in range(3)] + [None] * 3
    still = [(0.0, 10.0, 0.0)] * 6
    scene = bare_scene([moving[0], still[0]], goals=[(20.0, 0.0), (20.0, 10.0)], logs=[moving, still])
    with started(scene, control=(1,), trial_steps=5) as batch:
        look, middles = SceneView(batch, size=SIZE), []
        for _ in range(3):
            middles.append(places(bodies(look.frame(), colours.LOG_REPLAY))[:, 0].mean())
            drive(batch)
        steps = np.diff(middles)
        assert steps[0] == pytest.approx(steps[1], abs=1.5) and steps[0] > 10
        assert bodies(look.frame(), colours.LOG_REPLAY).sum() == 0


# ---- worlds ----


def test_each_world_is_drawn_for_itself():
    scenes = [generate_scene("town", seed=seed, agents=4) for seed in range(2)]
    with Batch(scenes, num_worlds=2, config=DriveConfig(scene_order="cycle"), threads=1) as both:
        both.reset()
        with started(scenes[1], trial_steps=None) as alone:
            pictures = [SceneView(batch, world=world, size=SIZE).frame()
                        for batch, world in ((both, 1), (alone, 0))]
    scene = slice(BAR_PX.top, None)
    assert np.array_equal(pictures[0][scene], pictures[1][scene])


def test_absent_agents_are_nowhere():
    scenes = [generate_scene("town", seed=0, agents=4), bare_scene([(0.0, 0.0, 0.0)], goals=[(30.0, 0.0)])]
    with Batch(scenes, num_worlds=2, config=DriveConfig(scene_order="cycle"), threads=1) as batch:
        batch.reset()
        assert batch.removed.reshape(2, -1)[1].tolist() == [False, True, True, True]
        assert bodies(SceneView(batch, world=1, size=SIZE).frame(), colours.DRIVING).sum() > 0
        SceneView(batch, world=1, view="follow", agent=3).frame()


def test_a_view_adds_no_hook_to_its_batch():
    """A batch that is drawn keeps its methods and its arrays."""
    with started(crash()) as batch:
        before = dict(batch.__dict__)
        SceneView(batch).frame()
        assert batch.__dict__.keys() == before.keys()
        assert all(batch.__dict__[name] is value for name, value in before.items())
        batch.step(np.full(batch.num_agents, COAST))
