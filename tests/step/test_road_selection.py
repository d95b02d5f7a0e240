"""Which roads does `road_selection="near"` select? The k nearest to the middle of a sub-cell, cached or not."""

import dataclasses
import itertools

import numpy as np
import pytest
from samples import sample

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.index_observations import parts_of
from drive_env.scenes.scene import ROAD_KIND_CODES

MAP = "pufferdrive/map_942.bin"
CELL_M = 2.5
TIE_M = 1e-3
NEAR = DriveConfig(max_trials=2, trial_steps=60, observation={"type": "index", "road_selection": "near"},
                   on_collision="ignore", on_offroad="ignore", on_goal="ignore")

SCENES = [pytest.param("town", id="town"), pytest.param(MAP, id="map_942")]


def scene_of(name):
    return sample(MAP) if name == MAP else generate_scene("town", seed=3, agents=12)


def played(scenes, config, steps=100, **choices):
    """A batch after each step of random driving, so hard that some agents leave the map."""
    rng = np.random.default_rng(0)
    with Batch(scenes, config=config, seed=5, **choices) as batch:
        batch.reset()
        for _ in range(steps):
            yield batch
            batch.step(rng.integers(0, batch.single_action_space.n, batch.num_agents))


def places_of(batch):
    """Where each agent is, (agents, 2)."""
    own = 1 + np.arange(batch.num_agents) % batch.agents_per_world
    return batch.vehicle_table[batch.world_of_agent, own, :2].astype(float)


def observed(batch):
    """Where each agent is, (agents, 2), and the sets of road segments that it observes, from 1 on."""
    roads = parts_of(batch.config, batch.observations).roads
    return places_of(batch), [set(names[names > 0].tolist()) for names in roads]


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("view", [{}, {"roads": 9}, {"view_radius_m": 12.0}, {"roads": 1024, "view_radius_m": 30.0}],
                         ids=["default", "few", "short_sighted", "all"])
def test_near_selection_takes_the_k_nearest_to_the_middle_of_the_sub_cell(name, view):
    config, cut, off_grid = NEAR.replace(observation=view), 0, 0
    # Neighbouring steps show the same sub-cells.
    for batch in itertools.islice(played([scene_of(name)], config, num_worlds=2), 0, None, 4):
        # the middles of all segments, and the grid of sub-cells over them
        segments = batch.scene_table().records[1:, :2].astype(float)
        low, high = segments.min(axis=0), segments.max(axis=0)
        cells = np.floor((high - low) / (2 * CELL_M)) * 2 + 2
        for place, shown in zip(*observed(batch)):
            # the middle of the agent's sub-cell; off the grid, its own place
            slot = (place - low) / CELL_M
            if (np.abs(slot - np.round(slot)) < 1e-3).any():
                continue
            inside = ((slot >= 0) & (slot < cells)).all()
            middle = low + (np.floor(slot) + 0.5) * CELL_M if inside else place
            away = np.hypot(*(segments - middle).T)
            in_view = np.hypot(*(segments - place).T)
            # those that may be selected, and those that must be, whatever rounding does to ties
            within = away <= np.sort(away)[: config.observation.roads].max(initial=0.0) + TIE_M
            sure = within
            if config.observation.roads < len(away):
                sure = away < np.sort(away)[: config.observation.roads + 1].max(initial=0.0) - TIE_M
            names = np.array(sorted(shown), int) - 1
            assert within[names].all() and (in_view[names] <= config.observation.view_radius_m + TIE_M).all()
            must = np.flatnonzero(sure & within & (in_view < config.observation.view_radius_m - TIE_M))
            assert shown >= set((must + 1).tolist())
            # the cases that the rollout has
            cut += len(shown) < config.observation.roads
            off_grid += not inside
    if "view_radius_m" in view:
        assert cut > 0
    assert off_grid > 0 or name == MAP


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("view", [{}, {"roads": 1024, "view_radius_m": 60.0}, {"roads": 3}],
                         ids=["default", "all", "few"])
@pytest.mark.parametrize("how", ["near", "exact"])
def test_cached_cell_lists_change_no_byte(how, view, name):
    config = NEAR.replace(observation={"road_selection": how, **view})
    scenes = [scene_of(name), generate_scene("intersection", agents=6)]
    ways = [{"memory": 256, "threads": 1}, {"memory": 0, "threads": 1}, {"memory": 256, "threads": 4},
            {"memory": 0, "threads": 3}]
    runs = [played(scenes, config.replace(observation={"road_memory_mib": way["memory"]}), num_worlds=6,
                    threads=way["threads"]) for way in ways]
    for first, *others in zip(*runs):
        for other in others:
            assert (first.observations == other.observations).all()


def test_a_road_memory_too_small_for_all_lists_changes_no_byte():
    """1 MiB holds 1,820 lists of 128 roads; the agents of this rollout pass through more sub-cells."""
    scenes = [generate_scene("town", seed=seed, agents=32) for seed in range(8)]
    cells = set()
    for small, large in zip(*(played(scenes, NEAR.replace(observation={"road_memory_mib": memory}), steps=150,
                                     num_worlds=32, threads=2) for memory in (1, 64))):
        assert (small.observations == large.observations).all()
        place = np.floor(places_of(large) / CELL_M).astype(int)
        scene = large.scene_index[large.world_of_agent]
        cells.update(zip(scene.tolist(), *place.T.tolist()))
    assert len(cells) > 1820


def test_all_observation_types_show_the_same_roads():
    config = NEAR.replace(observation={"type": "float32"})
    scenes = [generate_scene("town", seed=3, agents=12)]
    for floats, halves, index in zip(*(played(scenes, config.replace(observation={"type": kind}), num_worlds=2)
                                       for kind in ("float32", "float16", "index"))):
        assert (floats.observations.view(np.uint32) == index.float_observations().view(np.uint32)).all()
        assert (halves.observations == floats.observations.astype(np.float16)).all()
        assert (floats.restart_observations().view(np.uint32) == index.restart_observations().view(np.uint32)).all()


@pytest.mark.parametrize("name", SCENES)
def test_near_and_exact_agree_where_all_in_view_has_a_slot(name):
    config = NEAR.replace(observation={"roads": 1024, "view_radius_m": 10.0, "type": "float32"})
    for near, exact in zip(*(played([scene_of(name)], config.replace(observation={"road_selection": how}), num_worlds=2)
                             for how in ("near", "exact"))):
        assert (near.observations.view(np.uint32) == exact.observations.view(np.uint32)).all()


@pytest.mark.parametrize(("name", "share", "rim_m"), [("town", 0.00593, 2.0), (MAP, 0.02604, 2.27)],
                         ids=["town", "map_942"])
def test_few_of_the_nearest_are_missing_and_only_at_the_rim(name, share, rim_m):
    """The numbers of docs/observation.md."""
    missing = total = 0
    farthest_m = 0.0
    for near, exact in zip(*(played([scene_of(name)], NEAR.replace(observation={"road_selection": how}), num_worlds=4)
                             for how in ("near", "exact"))):
        segments = near.scene_table().records[:, :2].astype(float)
        for place, shown, nearest in zip(*observed(near), observed(exact)[1]):
            away = np.hypot(*(segments - place).T)
            missing += len(nearest - shown)
            total += len(nearest)
            if nearest - shown:
                farthest_m = max(farthest_m, away[list(nearest)].max() - away[list(nearest - shown)].min())
    assert missing / total == pytest.approx(share, abs=1e-5)
    assert farthest_m == pytest.approx(rim_m, abs=0.05)


def test_roads_too_crowded_for_a_cached_list_are_still_found():
    """Hundreds of single points where the agents start: more blocks lie within reach of a cell than the cache keeps."""
    scene = generate_scene("town", seed=3, agents=12)
    with Batch([scene], config=NEAR) as batch:
        batch.reset()
        start = np.stack([batch.vehicles()[axis][:12] for axis in ("x_m", "y_m")], axis=1)
    heaps = np.repeat(start, 600, axis=0)
    places = heaps + np.random.default_rng(0).uniform(-2, 2, heaps.shape).astype(np.float32)
    count = len(places)
    roads = type(scene.roads)(id=np.arange(count), start=np.arange(count + 1, dtype=np.int32),
                              kind=np.full(count, ROAD_KIND_CODES["stop_sign"], np.uint8),
                              width_m=np.zeros(count, np.float32), speed_limit_mps=np.zeros(count, np.float32),
                              x_m=places[:, 0].copy(), y_m=places[:, 1].copy())
    lanes = type(scene.lanes)(np.zeros(count + 1, np.int32), np.zeros(0, np.int32))
    heaped = dataclasses.replace(scene, roads=roads, lanes=lanes)
    config = NEAR.replace(observation={"road_selection": "exact", "roads": 8})
    for kept, window in zip(*(played([heaped], config.replace(observation={"road_memory_mib": memory}), num_worlds=2)
                              for memory in (256, 0))):
        assert (kept.observations == window.observations).all()
        segments = kept.scene_table().records[1:, :2]
        for place, shown in zip(*observed(kept)):
            offset = segments - place.astype(np.float32)
            away2 = offset[:, 0] * offset[:, 0] + offset[:, 1] * offset[:, 1]
            within = away2 <= np.float32(config.observation.view_radius_m) ** 2
            assert shown == set((1 + np.argsort(away2, kind="stable")[: min(8, within.sum())]).tolist())
