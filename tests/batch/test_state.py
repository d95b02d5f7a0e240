"""Can a batch be restored from plain arrays? Bit for bit as from a pickle; invalid arrays are refused."""

import io
import pickle
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from small_scene import roads_of, small_scene

from drive_env import Batch, CallError, DriveConfig, generate_scene
from drive_env.layout import observation_sets
from drive_env.scenes import LaneGraph
from drive_env.state_ranges import ranges

SCENES = [generate_scene("intersection", seed=0, agents=6, lights=True), generate_scene("town", seed=1, agents=9)]

RAISED = [replace(scene, roads=replace(scene.roads, z_m=np.linspace(0, 100, len(scene.roads.x_m), dtype=np.float32)))
          for scene in SCENES]
"""The same with roads above each other."""

CONFIG = DriveConfig(max_trials=3, trial_steps=12, observation={"partners": 4, "roads": 8}, on_collision="remove",
                     reward_terms=True, critic_observations=True, detailed_metrics=True, traffic_controls=True,
                     coplayers=2, reward_ranges={"goal": (0.5, 1.5)}, on_offroad="stop", goal_radius_m=15.0,
                     dynamics={"max_acceleration_mps2": 20.0},
                     hidden={"steering_gain": (0.8, 1.2), "action_delay_steps": (0, 2)})


POSES = {"model": "state", "max_acceleration_mps2": 4.0}
NOT_HIDDEN = {"steering_gain": None, "action_delay_steps": None}
DRIVES, STOPPED = 0, 1
"""Values of `status`."""


def doubled(batch):
    return 2 * batch.rewards


def make(seed=3, scenes=SCENES, function=None, **options):
    changes = {name: options.pop(name) for name in DriveConfig.__dataclass_fields__ if name in options}
    return Batch(scenes, num_worlds=options.pop("num_worlds", 4), config=CONFIG.replace(**changes), seed=seed,
                 threads=1, trial_records=options.pop("trial_records", 2), reward=function, **options)


def rollout(batch, steps, seed=0):
    """The bytes of every array over so many steps of a random rollout, and the report."""
    rng, arrays = np.random.default_rng(seed), []
    for _ in range(steps):
        if batch.config.action_type == "continuous":
            batch.actions[:] = rng.uniform(-1, 1, batch.actions.shape)
        else:
            space = batch.single_action_space
            batch.actions[:] = rng.integers(getattr(space, "nvec", getattr(space, "n", None)), size=batch.actions.shape)
        batch.step(batch.actions)
        arrays.append([array.tobytes() for array in batch._core.arrays.values()])
    return arrays, repr(batch.metrics())


def opened(steps=17, **options):
    batch = make(**options)
    batch.reset()
    rollout(batch, steps, seed=9)
    return batch


def through_a_file(state):
    """A round trip through `numpy.savez` without pickling."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


@pytest.mark.parametrize("options", [
    {}, {"action_type": "continuous"}, {"action_type": "multi_discrete", "observation": {"type": "float16"}},
    {"observation": {"type": "index"}}, {"parts": 3}, {"world_ids": [7, 3, 2**62, 0]},
    {"others": "idm", "agents_per_world": 3}, {"scenes": RAISED, "others": "idm", "agents_per_world": 3},
    {"dynamics": POSES, "action_type": "continuous", "hidden": NOT_HIDDEN}], ids=str)
@pytest.mark.parametrize("steps", [0, 1, 12, 13, 40])
def test_a_batch_goes_on_from_its_arrays_bit_for_bit(options, steps):
    batch = opened(steps, **options)
    state = through_a_file(batch.state_dict())
    restored = make(seed=99, **options)
    restored.load_state_dict(state)
    assert restored.seed == batch.seed == 3 and (restored.seeds == batch.seeds).all()
    assert (restored._core.block == batch._core.block).all()
    copy = pickle.loads(pickle.dumps(batch))
    assert rollout(restored, 60) == rollout(copy, 60) == rollout(batch, 60)


def test_actions_of_agents_that_wait_may_be_anything_in_a_state_too():
    batch = opened(action_type="continuous", on_collision="stop", on_offroad="stop")
    while not batch.waits.any():
        rollout(batch, 1)
    batch.step(np.where(batch.waits[:, None], np.float32(np.nan), batch.actions))
    restored = make(seed=99, action_type="continuous", on_collision="stop", on_offroad="stop")
    restored.load_state_dict(through_a_file(batch.state_dict()))
    assert rollout(restored, 5) == rollout(batch, 5)


def test_a_batch_before_its_first_reset_is_restored_as_one():
    used = opened()
    used.load_state_dict(make().state_dict())
    with pytest.raises(CallError, match="reset"):
        used.step(used.actions)


@pytest.mark.parametrize("polylines", [[], [(3, [(0, -3), (25, -3), (50, -3)]), (1, [(0, 0), (50, 0)])]])
def test_a_batch_before_its_first_reset_is_restored_where_the_first_road_is_no_lane(polylines):
    scene = small_scene()
    roads, lanes = roads_of(polylines), LaneGraph(np.zeros(len(polylines) + 1, np.int32), np.zeros(0, np.int32))
    batch = Batch([replace(scene, roads=roads, lanes=lanes)], threads=1,
                  config={"on_goal": "next", "detailed_metrics": True})
    batch.load_state_dict(batch.state_dict())
    batch.reset()


def test_scenes_that_differ_from_those_of_the_worlds_are_refused():
    """Python looks a world's scene up in the array, the core in its state."""
    batch = opened()
    state = batch.state_dict()
    for scene in (1 - state["arrays/scene_index"][0], 99, -1):
        wrong = state["arrays/scene_index"].copy()
        wrong[0] = scene
        with pytest.raises(CallError, match=rf"^state\['arrays/scene_index'\] is \[{scene}, .*; it must be that of"):
            batch.load_state_dict(state | {"arrays/scene_index": wrong})


def test_the_largest_counts_of_a_state_have_a_sum():
    batch = opened()
    state = batch.state_dict()
    most = ranges(batch._core)["trials"][1]
    state["state/trials"][...] = most
    batch.load_state_dict(state)
    assert batch.metrics()["trials"].value == most * state["state/trials"].size


def test_every_array_of_the_core_s_state_has_a_range():
    """Floats have finite ranges: an absurd one, turned into an index, would be outside of the core's memory."""
    batch = make()
    limits = ranges(batch._core)
    assert set(limits) == set(batch._core.state)
    for name, array in batch._core.state.items():
        assert array.dtype.kind != "f" or np.isfinite(np.array(limits[name], array.dtype)).all(), name


def test_the_ranges_hold_in_play():
    """A batch accepts its own state from anywhere in an episode."""
    batch, met = opened(0), dict.fromkeys(("trial_index", "removed", "stopped", "trial_ended", "outcome"), False)
    for step in range(80):
        rollout(batch, 1, seed=step)
        batch.load_state_dict(batch.state_dict())
        met = {name: found or getattr(batch, name).any() for name, found in met.items()}
    assert all(met.values())


def extremes(batch, state, rng):
    """The state with a random part of some arrays at the ends of their ranges; directions follow the headings."""
    limits = ranges(batch._core)
    for name in rng.choice([name for name in batch._core.state if name not in KEPT], 12, replace=False):
        array, (low, high) = state[f"state/{name}"], limits[name] if name != "episode" else (0, limits[name][1])
        ends = np.array([low, high, (low + high) // 2 if array.dtype.kind in "iu" else rng.uniform(low, high)])
        inside = np.clip(ends.astype(array.dtype), np.array(low, array.dtype), np.array(high, array.dtype))
        state[f"state/{name}"] = np.where(rng.random(array.shape) < 0.4, rng.choice(inside, array.shape), array)
    for name, function in (("cos_heading", np.cos), ("sin_heading", np.sin)):
        state[f"state/{name}"] = function(state["state/heading_rad"])
    return state


KEPT = ("seed", "id", "scene_index", "status", "controller", "present", "overlapping", "hidden", "lane", "trial",
        "pending")
"""Arrays whose values depend on the scene, on the config or on each other; other tests damage them."""


@pytest.mark.parametrize("observation_type", ["float32", "float16", "index"])
@pytest.mark.parametrize("road_selection", ["exact", "near"])
def test_a_batch_steps_on_from_any_state_that_it_accepts(observation_type, road_selection):
    rng = np.random.default_rng(0)
    for round_ in range(12):
        batch = Batch(SCENES, num_worlds=3, seed=round_, threads=1, trial_records=2, config=CONFIG.replace(
            observation={"type": observation_type, "road_selection": road_selection},
            on_collision=("stop", "remove", "ignore")[round_ % 3], reward={"progress_per_m": round_ % 2}))
        batch.reset()
        rollout(batch, round_, seed=round_)
        batch.load_state_dict(extremes(batch, batch.state_dict(), rng))
        rollout(batch, 30, seed=round_)
        assert np.isfinite(batch.rewards).all() and (np.abs(batch.float_observations()) <= 1).all()
        assert all(np.isfinite(figure.value) for figure in batch.metrics().values() if figure.n)


def test_a_trial_that_ends_without_a_step_of_an_agent_has_finite_metrics():
    """No trial does, but a state can say so: a mean over no time would be infinite."""
    batch = make(on_collision="ignore", on_offroad="ignore", on_goal="ignore", action_mask=True, hidden=NOT_HIDDEN)
    batch.reset()
    rollout(batch, CONFIG.trial_steps - 1)
    state = batch.state_dict()
    stopped = np.where(state["state/status"] == DRIVES, STOPPED, state["state/status"]).astype(np.uint8)
    state |= {"state/steps_driven": np.zeros_like(state["state/steps_driven"]), "state/status": stopped}
    assert (state["state/distance_m"] > 0).any()
    batch.load_state_dict(state)
    rollout(batch, 1)
    metrics = batch.metrics()
    assert metrics["trials"].n > 0 and metrics["mean_speed_mps"].value > 0
    assert all(np.isfinite(figure.value) for figure in metrics.values() if figure.n)


def test_a_trial_after_the_last_one_of_an_episode_is_refused():
    """The core would write averages outside of its arrays, which have one entry an agent and trial of an episode."""
    batch = opened()
    last = CONFIG.max_trials - 1
    before, good = pickle.dumps(batch), batch.state_dict()
    for trial, pending, follows in ((last, 1, 2), (0, 2, 1)):
        wrong = {name: good[f"state/{name}"].copy() for name in ("trial", "pending")}
        wrong["trial"][2], wrong["pending"][2] = trial, pending
        with pytest.raises(CallError, match=rf"^state\['state/pending'\] of world 2 has {pending}; in trial {trial} of "
                                            rf"3 it must be 0 or {follows}$"):
            batch.load_state_dict(good | {f"state/{name}": array for name, array in wrong.items()})
    assert pickle.dumps(batch) == before


def test_an_absurd_heading_and_a_direction_of_another_are_refused():
    batch = opened()
    good = batch.state_dict()
    for name, value, sentence in (("heading_rad", 1e30, "from -3.14"), ("cos_heading", 0.5, "within 0.001 of"),
                                  ("sin_heading", -0.9, "within 0.001 of")):
        wrong = good[f"state/{name}"].copy()
        wrong[1, 0] = value
        with pytest.raises(CallError, match=rf"^state\['state/{name}'\] has .*must be {sentence}"):
            batch.load_state_dict(good | {f"state/{name}": wrong})


def damages(array):
    """An array in other shapes and types, and values that are no array."""
    return {"none": None, "text": "x", "list": array.tolist(), "number": 1.0, "flat": array.reshape(-1)[:-1],
            "longer": np.concatenate([array, array[:1]]), "empty": array[:0], "scalar": np.array(0, array.dtype),
            "other type": array.astype(np.float32 if array.dtype != np.float32 else np.float64),
            "objects": array.astype(object)}


def test_an_array_of_another_shape_or_type_is_an_error_that_names_it_and_nothing_changes():
    batch = opened()
    before, good = pickle.dumps(batch), batch.state_dict()
    for name, array in good.items():
        for wrong in damages(array).values():
            with pytest.raises(CallError) as raised:
                batch.load_state_dict(good | {name: wrong})
            assert f"state[{name!r}]" in str(raised.value) and "it must be" in str(raised.value)
        with pytest.raises(CallError, match=f"^state lacks '{name}'$"):
            batch.load_state_dict({other: good[other] for other in good if other != name})
    for wrong, sentence in ((None, "state is None"), ([], "state is \\[\\]"), (good | {"more": 1}, "state has 'more'")):
        with pytest.raises(CallError, match=sentence):
            batch.load_state_dict(wrong)
    assert pickle.dumps(batch) == before


ARRAYS_OF_OPTIONS = {
    "valid_action_sum": {"action_mask": True, "hidden": NOT_HIDDEN},
    "script_frame": {"scenes": [generate_scene("gates")], "coplayers": 0},
    "script_crossed": {"scenes": [generate_scene("gates")], "coplayers": 0},
    "respawns": {"on_goal": "respawn"},
    "start_of": {"on_goal": "respawn"},
    "own_reward": {"function": doubled},
    "reward_is_due": {"function": doubled},
    "all others": {"others": "idm", "idm_lane_changes": True, "agents_per_world": 3, "dynamics": "single_track",
                   "on_goal": "next", "disturbances": {"partner_blindness": 1.0, "phantom_braking": 1.0},
                   "scenes": RAISED}}
"""Array to options of a batch in which it has entries."""


@pytest.mark.parametrize("tested", ARRAYS_OF_OPTIONS)
def test_a_value_the_core_could_not_take_is_an_error_that_names_it_and_nothing_changes(tested):
    batch = opened(**ARRAYS_OF_OPTIONS[tested])
    before, good, limits = pickle.dumps(batch), batch.state_dict(), ranges(batch._core)
    for name, array in batch._core.state.items():
        if (name if name in ARRAYS_OF_OPTIONS else "all others") != tested:
            continue
        kind = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
        low, high = limits[name]
        beyond = [low - 0.01 * (high - low), high + 0.01 * (high - low), kind.min, kind.max]
        wrong = [np.nan, np.inf, -np.inf, *beyond] if array.dtype.kind == "f" else [
            value for value in (low - 1, high + 1, kind.min, kind.max)
            if kind.min <= value <= kind.max and not low <= value <= high]
        for value in wrong:
            for index in (0, -1):
                worse = array.copy()
                worse[index, index] = value
                with pytest.raises(CallError, match=rf"^state\['state/{name}'\] has .*every entry must be"):
                    batch.load_state_dict(good | {f"state/{name}": worse})
    for name, value in (("observations", 1.5), ("critic_observations", -1.5), ("outcome", 6), ("trial_index", -1)):
        wrong = good[f"arrays/{name}"].copy()
        wrong[(-1,) * wrong.ndim] = value
        with pytest.raises(CallError, match=rf"^state\['arrays/{name}'\] has {value}; every entry must be"):
            batch.load_state_dict(good | {f"arrays/{name}": wrong})
    lie = good["arrays/first"].copy()
    lie.view(np.uint8)[0] = 2
    with pytest.raises(CallError, match=r"state\['arrays/first'\] has 2; every entry must be from 0 to 1"):
        batch.load_state_dict(good | {"arrays/first": lie})
    assert pickle.dumps(batch) == before


@pytest.mark.parametrize("part, sentence", [
    ("own", r"a feature that is not from -1 to 1; every one"), ("partners", r"index 65535 among the partners of agent"),
    ("roads", r"index 65535 among the roads of agent")])
def test_an_index_observation_of_a_record_that_does_not_exist_is_refused(part, sentence):
    batch = opened(observation={"type": "index"})
    before, state = pickle.dumps(batch), batch.state_dict()
    observations = state["arrays/observations"]
    first = 0 if part == "own" else next(each.index_offset_bytes for each in observation_sets(batch.config)
                                         if each.name == part)
    observations[3, first : first + 4] = 0xFF  # two indices, or a float that is no number
    with pytest.raises(CallError, match=rf"^state\['arrays/observations'\] has {sentence}.* must be"):
        batch.load_state_dict(state)
    assert pickle.dumps(batch) == before


@pytest.mark.parametrize("name, value", [("x_m", np.nan), ("x_m", 1e30), ("scene_index", 99)])
def test_a_masked_entry_is_checked_like_any_other(name, value):
    batch = opened()
    before, state = pickle.dumps(batch), batch.state_dict()
    array = state[f"state/{name}"]
    array[0, 0], mask = value, np.zeros(array.shape, bool)
    mask[0, 0] = True
    state[f"state/{name}"] = np.ma.array(array, mask=mask)
    with pytest.raises(CallError, match=rf"^state\['state/{name}'\] has .*every entry must be"):
        batch.load_state_dict(state)
    assert pickle.dumps(batch) == before


def test_an_array_is_read_once_from_a_mapping_that_makes_it():
    """As the file of `np.load` does: what is checked is what is written."""
    class Changing(Mapping):
        def __init__(self, state):
            self.state, self.reads = state, dict.fromkeys(state, 0)

        def __getitem__(self, name):
            self.reads[name] += 1
            return self.state[name] if self.reads[name] == 1 else np.full_like(self.state[name], 99)

        def __iter__(self):
            return iter(self.state)

        def __len__(self):
            return len(self.state)

    batch, state = make(), opened().state_dict()
    batch.load_state_dict(Changing(state))
    assert all(np.array_equal(array, state[name]) for name, array in batch.state_dict().items())


@pytest.mark.parametrize("name, value", [("status", 0), ("controller", 1), ("present", 1), ("overlapping", 1 << 63)])
def test_what_a_scene_lacks_cannot_be_loaded_into_it(name, value):
    """The last agent and the last vehicles of the smaller scene are in no scene: the core would read past its end."""
    batch = opened()
    state = batch.state_dict()
    world = int(np.flatnonzero(state["state/scene_index"][:, 0] == 0)[0])
    state[f"state/{name}"][world, -1] = value
    with pytest.raises(CallError, match=f"state\\['state/{name}'\\] of world {world} does not fit its scene"):
        batch.load_state_dict(state)


def test_a_lane_that_the_scene_of_its_world_lacks_is_refused():
    """The other scene has it."""
    batch = opened()
    state, roads = batch.state_dict(), [scene.roads.count for scene in SCENES]
    scene = int(np.argmin(roads))
    world = int(np.flatnonzero(state["state/scene_index"][:, 0] == scene)[0])
    state["state/lane"][world, 0] = roads[scene]
    sentence = rf"^state\['state/lane'\] of world {world} .* and {roads[scene]} roads, at index 0$"
    with pytest.raises(CallError, match=sentence):
        batch.load_state_dict(state)


def test_the_state_of_other_worlds_is_refused():
    state = opened().state_dict()
    for other, sentence in ((make(scenes=SCENES[::-1]), "is the hash of other scenes"),
                            (make(world_ids=[0, 1, 2, 4]), r"\[0, 1, 2, 3\]; it must be the world_ids of this batch"),
                            (make(parts=2), "'seed'.*shape \\(2,\\); it must be"),
                            (make(num_worlds=3), "it must be int64 of shape \\(27")):
        with pytest.raises(CallError, match=sentence):
            other.load_state_dict(state)


UNLINKED = LaneGraph(np.zeros_like(SCENES[0].lanes.start), np.zeros(0, np.int32))


@pytest.mark.parametrize("part, changed, options", [
    ("candidate_goals_m", np.ones((2, 2), np.float32), {}),
    ("traffic_controls", generate_scene("intersection", seed=1, agents=6, lights=True).traffic_controls, {}),
    ("lanes", UNLINKED, {"reward": {"route_progress_per_m": 0.1}})], ids=["candidate goals", "lights", "lanes"])
def test_the_state_of_scenes_that_differ_in_one_part_is_refused(part, changed, options):
    state = opened(**options).state_dict()
    other = make(scenes=[replace(SCENES[0], **{part: changed}), SCENES[1]], **options)
    with pytest.raises(CallError, match="is the hash of other scenes"):
        other.load_state_dict(state)


def test_a_batch_whose_actions_set_poses_takes_its_own_state():
    """No limit of the config applies to what they set: here a speed of 0.9 of 200 m/s and half turns."""
    batch = make(dynamics=POSES, action_type="continuous", hidden=NOT_HIDDEN, on_collision="ignore",
                 on_offroad="ignore", on_goal="ignore", trial_steps=100)
    batch.reset()
    for step in range(50):
        batch.actions[:] = [0.0, 0.0, -0.99 if step % 2 else 0.01, 0.9]
        batch.step(batch.actions)
    batch.load_state_dict(batch.state_dict())


def test_a_step_in_flight_and_a_closed_batch_are_errors():
    batch = opened()
    state = batch.state_dict()
    batch.step_async(batch.actions)
    for call in (batch.state_dict, lambda: batch.load_state_dict(state)):
        with pytest.raises(CallError, match="in flight"):
            call()
    batch.wait()
    batch.close()
    for call in (batch.state_dict, lambda: batch.load_state_dict(state)):
        with pytest.raises(CallError, match="closed"):
            call()
