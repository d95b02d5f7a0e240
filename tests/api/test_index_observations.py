"""Do half floats and index observations hold what float32 observations hold?"""

import dataclasses
import pickle

import numpy as np
import pytest
from samples import sample

from drive_env import Batch, ConfigError, DriveConfig, SceneError, generate_scene, parallel_env
from drive_env.api.gym import DriveEnv, DriveVectorEnv
from drive_env.index_observations import floats_of, parts_of

BASE = DriveConfig(max_trials=2, trial_steps=40, on_collision="remove")
MAP = "pufferdrive/map_942.bin"


def together(scenes, steps=100, num_worlds=3, **config):
    """Plays the three types side by side; yields the batches after each step and the mask of agents to compare."""
    batches = {kind: Batch(scenes, num_worlds=num_worlds, seed=5, threads=2,
                           config=BASE.replace(**config).replace(observation={"type": kind}))
               for kind in ("float32", "float16", "index")}
    for batch in batches.values():
        batch.reset()
    rng = np.random.default_rng(0)
    plain = batches["float32"]
    yield batches, np.ones(plain.num_agents, bool)
    for _ in range(steps):
        actions = rng.integers(0, plain.single_action_space.n, plain.num_agents)
        waited = plain.waits.copy()
        for batch in batches.values():
            batch.step(actions)
        yield batches, ~waited | ~plain.waits


def bits(array):
    return array.view(np.uint16 if array.dtype == np.float16 else np.uint32)


SCENES = [pytest.param([generate_scene("town", seed=seed, agents=12) for seed in range(3)], id="towns"),
          pytest.param([generate_scene("intersection", agents=6)], id="intersection"),
          pytest.param(MAP, id="map_942")]


@pytest.mark.parametrize("scenes", SCENES)
def test_all_observation_types_agree_bit_for_bit(scenes):
    scenes = str(sample(MAP)) if scenes == MAP else scenes
    compared = 0
    for batches, takes_part in together(scenes):
        plain = batches["float32"].observations
        assert (bits(batches["float16"].observations) == bits(plain.astype(np.float16))).all()
        rebuilt = batches["index"].float_observations()
        assert (bits(rebuilt[takes_part]) == bits(plain[takes_part])).all()
        compared += takes_part.sum()
    assert compared > 500


def test_slots_at_both_ends_of_their_range():
    for slots in ((0, 0), (0, 128), (31, 0), (255, 1024)):
        scenes = [generate_scene("intersection", agents=6)]
        for batches, takes_part in together(scenes, steps=5, observation={"partners": slots[0], "roads": slots[1]}):
            rebuilt = batches["index"].float_observations()[takes_part]
            assert (bits(rebuilt) == bits(batches["float32"].observations[takes_part])).all()
            assert batches["index"].observations.shape[1] % 16 == 0


def test_restart_observations_have_the_learner_s_observation_type():
    for batches, _ in together([generate_scene("town", seed=1, agents=8)], steps=60):
        plain = batches["float32"].restart_observations()
        halves = batches["float16"].restart_observations()
        assert halves.dtype == np.float16 and (bits(halves) == bits(plain.astype(np.float16))).all()
        assert (bits(batches["index"].restart_observations()) == bits(plain)).all()


def test_an_agent_that_left_is_zeros_in_every_type():
    left = 0
    for batches, _ in together([generate_scene("town", seed=2, agents=16)], steps=100, on_offroad="remove"):
        removed = batches["float32"].removed
        for batch in batches.values():
            assert not batch.observations[removed].any()
        assert not batches["index"].float_observations(removed.nonzero()[0]).any()
        left += removed.sum()
    assert left


def test_agents_are_selected_as_numpy_selects():
    *_, (batches, _) = together([generate_scene("intersection", agents=6)], steps=3)
    batch = batches["index"]
    all_agents = batch.float_observations()
    assert all_agents.shape == (batch.num_agents, batch.observation_size)
    for agents in (0, slice(2, 7, 2), [4, 1], np.array([3])):
        assert (batch.float_observations(agents) == all_agents[agents]).all()
    assert (batches["float16"].float_observations(0) == batches["float16"].observations[0]).all()


def test_torch_rebuilds_the_same_bits():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    *_, (batches, _) = together([generate_scene("town", seed=seed, agents=12) for seed in range(2)], steps=20)
    batch = batches["index"]
    table, world = batch.scene_table(), torch.from_numpy(batch.world_of_agent.astype(np.int64))
    first = torch.from_numpy(table.first)
    out = torch.empty(batch.num_agents, batch.observation_size)
    floats_of(batch.config, torch.from_numpy(batch.observations), world,
              1 + torch.arange(batch.num_agents) % batch.agents_per_world,
              first[torch.from_numpy(batch.scene_index).long()[world]], torch.from_numpy(table.records),
              torch.from_numpy(batch.vehicle_table), out)
    assert (bits(out.numpy()) == bits(batch.float_observations())).all()


def test_every_half_float_is_rounded_as_ieee_754_requires(monkeypatch):
    """The portable conversion against numpy's, with positions of many magnitudes."""
    monkeypatch.setenv("DRIVE_ENV_ISA", "baseline")
    for scale in (1.0, 3.0, 100.0, 1000.0):
        for batches, _ in together([generate_scene("town", seed=3, agents=12)], steps=20,
                                   observation={"view_radius_m": scale}):
            assert (bits(batches["float16"].observations)
                    == bits(batches["float32"].observations.astype(np.float16))).all()


def test_spaces_have_the_type_and_contain_the_observations():
    for batches, _ in together([generate_scene("intersection", agents=6)], steps=3):
        for kind, batch in batches.items():
            space = batch.single_observation_space
            assert space.dtype == batch.observations.dtype == np.dtype("uint8" if kind == "index" else kind)
            assert all(space.contains(observation) for observation in batch.observations)


def test_adapters_take_half_floats_and_refuse_index_observations():
    halves, index = BASE.replace(observation={"type": "float16"}), BASE.replace(observation={"type": "index"})
    env = parallel_env("intersection", halves)
    observations, _ = env.reset(seed=0)
    assert all(env.observation_space(agent).contains(observation) for agent, observation in observations.items())
    assert DriveEnv("intersection", halves).reset(seed=0)[0].dtype == np.float16
    for adapter in (parallel_env, DriveEnv):
        with pytest.raises(ConfigError, match="index observations are for Batch"):
            adapter("intersection", index)
    with pytest.raises(ConfigError, match="index observations are for Batch"):
        DriveVectorEnv(2, "intersection", index)


def test_index_observations_go_on_from_a_pickle():
    *_, (batches, _) = together([generate_scene("town", seed=4, agents=8)], steps=30)
    batch = batches["index"]
    copy = pickle.loads(pickle.dumps(batch))
    assert (copy.vehicle_table == batch.vehicle_table).all()
    actions = np.full(batch.num_agents, 45)
    for played in (batch, copy):
        played.step(actions)
    assert (copy.observations == batch.observations).all() and (copy.vehicle_table == batch.vehicle_table).all()
    assert (copy.float_observations() == batch.float_observations()).all()


def test_what_is_no_index_observation_is_refused():
    index = BASE.replace(observation={"type": "index"})
    with pytest.raises(ConfigError, match="observation.type is 'float32'; it must be 'index'"):
        parts_of(BASE, np.zeros((2, 416), np.uint8))
    for wrong in (np.zeros((2, 415), np.uint8), np.zeros((2, 416), np.int8), np.zeros(416, np.uint8)):
        with pytest.raises(ConfigError, match=r"they must be uint8 of shape \(n, 416\)"):
            parts_of(index, wrong)


@pytest.mark.parametrize("kind", ("float32", "float16"))
def test_the_error_of_a_float_batch_gives_the_reason_for_no_vehicle_table(kind):
    with Batch("intersection", config=BASE.replace(observation={"type": kind})) as batch:
        batch.reset()
        assert not hasattr(batch, "vehicle_table")
        assert batch.float_observations(0).dtype == np.float32
        with pytest.raises(AttributeError, match=f"observation.type 'index' only; that of this one is '{kind}'"):
            batch.vehicle_table  # noqa: B018
        with Batch("intersection", config=BASE.replace(observation={"type": "index"})) as other:
            assert (batch.scene_table().records == other.scene_table().records).all()


def test_a_map_with_more_segments_than_indices_is_refused():
    small = generate_scene("intersection", agents=2)
    angle = np.linspace(0, 40 * np.pi, 70_000)
    roads = dataclasses.replace(
        small.roads,
        x_m=np.append(small.roads.x_m, 200 * np.cos(angle)).astype(np.float32),
        y_m=np.append(small.roads.y_m, 200 * np.sin(angle)).astype(np.float32),
        start=np.append(small.roads.start, small.roads.start[-1] + len(angle)).astype(np.int32),
        id=np.append(small.roads.id, small.roads.id.max() + 1),
        **{name: np.append(getattr(small.roads, name), getattr(small.roads, name)[-1:])
           for name in ("kind", "width_m", "speed_limit_mps")})
    lanes = dataclasses.replace(small.lanes, start=np.append(small.lanes.start, small.lanes.start[-1:]))
    scene = dataclasses.replace(small, roads=roads, lanes=lanes)
    Batch([scene]).close()
    with pytest.raises(SceneError, match=r"has 7\d+ road segments; index observations can name at most 65535"):
        Batch([scene], config=DriveConfig(observation={"type": "index"}))


def test_an_array_of_the_caller_need_not_be_zero():
    """Entry 0 of the vehicle table is no vehicle, and the last bytes of an index observation are unused."""
    config = DriveConfig(observation={"type": "index"})
    scene = generate_scene("intersection", agents=3)
    plain = Batch([scene], config=config)
    names = ("vehicle_table", "observations", "rewards", "outcome")
    own = {name: np.full_like(getattr(plain, name), 1) for name in names}
    batch = Batch([scene], config=config, arrays=own)
    for one in (plain, batch):
        one.reset()
        for _ in range(3):
            one.step(np.full(one.num_agents, 45))
    for name in names:
        assert getattr(batch, name).tobytes() == getattr(plain, name).tobytes()
    assert (batch.float_observations() == plain.float_observations()).all()
