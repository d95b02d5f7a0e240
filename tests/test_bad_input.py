"""What does a wrong call do? It tells value and range, moves nothing, and the next good call works."""

import copy
import dataclasses
import gc
import hashlib
import math
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from golden import SHOWN
from staged_sim import IGNORE_ALL, driver, replayer, stage

import drive_env
from drive_env import (
    ActionError,
    Batch,
    CallError,
    ConfigError,
    DriveConfig,
    DriveError,
    RewardConfig,
    generate_scene,
)

SCENE = generate_scene("intersection", seed=0, agents=4)
PROCESS = Path("/proc/self/status")
NOT_NUMBERS = (float("nan"), float("inf"), -float("inf"), True, False, "1", b"1", [1.0], (1.0,), {}, 1j,
               object())
NOT_COUNTS = (*NOT_NUMBERS, 1.0, 1.5)
NOT_CHOICES = (0, 1.0, True, float("nan"), "", "Ignore", "ignore ", "nonsense", b"ignore", ["ignore"],
               object())


def number(low, high, *, low_open=False, none=False):
    """Values a number must not have, and those at the ends of its range."""
    bad = (low if low_open else low - max(abs(low), 1.0) * 1e-3, high * 1.001 + 1e-3, -1e300, 1e300, 10**400,
           *NOT_NUMBERS, *(() if none else (None,)))
    return bad, ((low + high) / 2, high, *(() if low_open else (low,)), *((None,) if none else ()))


def count(low, high, *, none=False):
    bad = (low - 1, high + 1, -(2**63), 2**63, 10**30, *NOT_COUNTS, *(() if none else (None,)))
    return bad, (low, high, *((None,) if none else ()))


def choice(*offered):
    return (*NOT_CHOICES, None), offered


EVENT_RESPONSES = choice("ignore", "stop", "remove")
FIELDS = {
    "dt_s": number(0.001, 2.0, none=True),
    "max_trials": count(1, 10_000),
    "trial_steps": count(1, 1_000_000, none=True),
    "start_step": count(0, 1_000_000),
    "agents_per_world": count(1, 4096, none=True),
    "control": ((*NOT_CHOICES[:-2], None, (), (1, 1), (1.0,), ("1",), (True,), (None,), [], [1, 1], object()),
                ("vehicles", "all", "tracks_to_predict", "sdc", (5,), (-3, 2), [1, 2])),
    "others": choice("replay", "static"),
    "dynamics": choice("bicycle"),
    "action_type": choice("discrete", "multi_discrete", "continuous"),
    "max_acceleration_mps2": number(0.01, 50.0),
    "max_steering_rad": number(0.01, 1.2),
    "max_speed_mps": number(0.1, 150.0),
    "min_speed_mps": number(-50.0, 0.0),
    "goal_radius_m": number(0.01, 100.0),
    "goal_max_speed_mps": number(0.0, 150.0, none=True),
    "on_goal": EVENT_RESPONSES, "on_collision": EVENT_RESPONSES, "on_offroad": EVENT_RESPONSES,
    "stopped_share_limit": number(0.0, 1.0, low_open=True, none=True),
    "partners": count(0, 255),
    "roads": count(0, 1024),
    "road_selection": choice("exact", "near"),
    "road_memory_mib": count(0, 1_048_576),
    "observation_type": choice("float32", "float16", "index"),
    "view_radius_m": number(1.0, 1000.0),
    "time_left": choice("off", "actor"),
    "scene_order": choice("random", "cycle"),
    "reward": ((None, 1.0, True, [("goal", 1.0)], "goal", DriveConfig, RewardConfig),
               (RewardConfig(), {}, {"goal": 2.0})),
    "log_ema_alpha": number(0.0, 0.999999),
}
REWARDS = {name: number(-1e3, 1e3) for name in ("goal", "collision", "offroad", "progress_per_m")}
TABLES = {DriveConfig: FIELDS, RewardConfig: REWARDS}
CASES = [pytest.param(kind, name, id=f"{kind.__name__}-{name}")
         for kind, table in TABLES.items() for name in table]


# ---- configs ----


@pytest.mark.parametrize("kind", TABLES)
def test_every_field_is_in_the_table_of_these_tests(kind):
    assert {field.name for field in dataclasses.fields(kind)} == set(TABLES[kind])


def shown(value):
    """A value as a sentence must hold it; a list is told as the tuple that a config makes of it."""
    text = repr(tuple(value) if isinstance(value, list) and len(value) != 1 else value)
    return text if len(text) <= 100 else text[:90]


@pytest.mark.parametrize("kind, name", CASES)
def test_a_value_out_of_range_is_told_with_the_field_the_value_and_the_range(kind, name):
    bad, good = TABLES[kind][name]
    for value in bad:
        with pytest.raises(ConfigError) as told:
            kind(**{name: value})
        said = str(told.value)
        assert said.startswith(f"{name} is ") and "; it must be " in said, said
        assert shown(value) in said, said
        with pytest.raises(ConfigError):
            kind().replace(**{name: value})
    for value in good:
        kept = getattr(kind(**{name: value}), name)
        value = RewardConfig(**value) if isinstance(value, dict) else value
        assert kept == (tuple(value) if isinstance(value, list) else value)
        assert getattr(kind().replace(**{name: value}), name) == kept


def test_the_sentence_holds_the_ends_of_the_range_and_the_choices():
    for make, parts in (
        (lambda: DriveConfig(view_radius_m=0.5), ("0.5", "1", "1000")),
        (lambda: DriveConfig(partners=256), ("256", "0", "255")),
        (lambda: DriveConfig(on_goal="explode"), ("'explode'", "'ignore'", "'stop'", "'remove'")),
        (lambda: DriveConfig(dt_s=3), ("3", "0.001", "2", "None", "scene")),
        (lambda: DriveConfig(control="cars"), ("'cars'", "'vehicles'", "'sdc'", "ids")),
        (lambda: RewardConfig(goal=math.nan), ("nan", "-1000", "1000")),
        (lambda: DriveConfig(trial_steps=0), ("0", "1", "1000000", "None")),
    ):
        with pytest.raises(ConfigError) as told:
            make()
        for part in parts:
            assert part in str(told.value)


def test_a_config_is_frozen_and_takes_no_other_names():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DriveConfig().dt_s = 0.1
    with pytest.raises(TypeError, match="max_trails"):
        DriveConfig(max_trails=2)
    with pytest.raises(TypeError, match="max_trails"):
        DriveConfig().replace(max_trails=2)


@pytest.mark.parametrize("name", FIELDS)
def test_what_a_config_accepts_a_batch_can_be_made_of(name):
    scene = stage([driver(), driver(0.0, 10.0, id=5), driver(0.0, 20.0, id=2, kind="other")], sdc=0,
                  tracks=(1,), generated=True)
    for value in FIELDS[name][1]:
        if name == "start_step" and value:
            continue  # the scene has one frame
        if name == "agents_per_world" and value and value > 3:
            continue  # and three who could drive
        if name == "control" and isinstance(value, list):
            value = [5, 2]
        with Batch(scenes=[scene], config=DriveConfig(**{name: value})) as batch:
            batch.reset()
            batch.step(np.zeros_like(batch.actions))


def test_a_number_of_thousands_of_digits_is_told_like_any_other():
    with pytest.raises(ConfigError, match="partners"):
        DriveConfig(partners=10**5000)


# ---- a batch's arguments ----


@pytest.mark.parametrize("argument, bad", [
    *(("num_worlds", value) for value in (0, -1, (1 << 20) + 1, 1.0, "1", None, True, math.nan, [1], 10**30)),
    *(("seed", value) for value in (-1, 1 << 64, 1.5, "1", True, math.nan, [1, 2])),
    *(("threads", value) for value in (-1, 1025, 1.5, "1", None, True, math.inf)),
    *(("restart", value) for value in ("later", None, 1, "", b"auto", ["auto"])),
    *(("config", value) for value in ("default", [], RewardConfig(), DriveConfig, 1)),
    *(("world_ids", value) for value in ([0.0, 1.0], [0], [0, 1, 2], [0, -1], "01", [[0, 1]], 5, [True, True],
                                         np.array([0, 2**63], np.uint64))),
    *(("scenes", value) for value in ([], (), None, 5, "no_such_scene", ["no_such_scene"], [None], [SCENE, 3],
                                      b"town")),
])
def test_a_bad_argument_of_a_batch_is_told_by_name(argument, bad):
    with pytest.raises(DriveError) as told:
        Batch(**{"scenes": [SCENE], "num_worlds": 2, argument: bad})
    assert isinstance(told.value, ValueError) and argument in str(told.value), str(told.value)


@pytest.mark.parametrize("argument, bad", [
    ("num_worlds", np.array([1])), ("num_worlds", int), ("num_worlds", np.array(1.0)), ("world_ids", [[0], [1, 2]]),
    ("restart", np.array(["auto", "caller"])), ("arrays", 5), ("arrays", [1]), ("arrays", {1: 2, "x": 3}),
])
def test_an_argument_of_an_unlikely_type_is_told_like_any_other(argument, bad):
    with pytest.raises(ConfigError, match=argument):
        Batch(**{"scenes": [SCENE], "num_worlds": 2, argument: bad})


def test_an_instruction_set_that_is_not_on_offer_is_told(monkeypatch):
    monkeypatch.setenv("DRIVE_ENV_ISA", "v9")
    with pytest.raises(ConfigError, match="instruction set is v9; this processor offers baseline"):
        Batch(scenes=[SCENE])


def test_a_batch_larger_than_memory_is_an_error():
    with pytest.raises(drive_env.DriveMemoryError, match="bytes"):
        Batch(scenes=[SCENE], num_worlds=1 << 20, config=DriveConfig(max_trials=10_000))


# ---- arrays of one's own ----


def array_like(batch, name):
    return np.full_like(getattr(batch, name), 1)


NAMES = ("actions", *SHOWN)


def test_arrays_of_ones_own_are_written_in_place_and_change_no_bit():
    plain = Batch(scenes=[SCENE], num_worlds=3)
    given = {name: array_like(plain, name) for name in NAMES}
    own = Batch(scenes=[SCENE], num_worlds=3, arrays=dict(given))
    play(plain, 30), play(own, 30)
    for name in NAMES:
        assert getattr(own, name) is given[name]
        assert np.array_equal(given[name], getattr(plain, name)), name


@pytest.mark.parametrize("name", NAMES)
def test_an_array_the_core_could_not_write_to_is_told_by_name(name):
    right = array_like(Batch(scenes=[SCENE], num_worlds=2), name)
    wide = np.zeros((*right.shape[:-1], right.shape[-1] * 2), right.dtype)
    read_only = right.copy()
    read_only.flags.writeable = False
    odd = np.zeros(right.nbytes + 1, np.uint8)[1:].view(right.dtype).reshape(right.shape)
    wrong = [right.astype(np.float64), right.astype(np.int16), right[1:], right.reshape(1, *right.shape),
             wide[..., ::2], read_only, right.tolist(), None, 5, "array",
             right.astype(right.dtype.newbyteorder(">"))]
    wrong = [array for array in wrong if not (isinstance(array, np.ndarray) and array.dtype == right.dtype
                                              and array.shape == right.shape and array.flags.carray)]
    if right.itemsize > 1:
        wrong.append(odd)
    assert len(wrong) >= 9
    for array in wrong:
        with pytest.raises(ConfigError, match=f"arrays\\['{name}'\\]"):
            Batch(scenes=[SCENE], num_worlds=2, arrays={name: array})


def test_an_array_of_an_unknown_name_is_told():
    with pytest.raises(ConfigError, match="'reward'.*rewards"):
        Batch(scenes=[SCENE], arrays={"reward": np.zeros(4, np.float32)})


# ---- calls out of order ----


def state_of(batch):
    """A hash of all there is: the state block and every shared array but the actions."""
    digest = hashlib.sha256(batch._block.tobytes())
    for name in SHOWN:
        digest.update(getattr(batch, name).tobytes())
    return digest.hexdigest()


def draw(batch, rng):
    if batch.config.action_type == "discrete":
        return rng.integers(0, 91, batch.num_agents)
    if batch.config.action_type == "multi_discrete":
        return np.stack([rng.integers(0, 7, batch.num_agents), rng.integers(0, 13, batch.num_agents)], 1)
    return rng.uniform(-1, 1, (batch.num_agents, 2)).astype(np.float32)


def play(batch, steps, seed=0):
    """Resets a batch that was not, drives it by seeded actions, and returns the hash of where it got to."""
    rng = np.random.default_rng(seed)
    if batch._state["episode"][0, 0] < 0:
        batch.reset()
    for _ in range(steps):
        batch.step(draw(batch, rng))
    return state_of(batch)


def make(num_worlds=3, threads=1, scenes=(SCENE,), **choices):
    return Batch(scenes=list(scenes), num_worlds=num_worlds, threads=threads, seed=5,
                 config=DriveConfig(**{"max_trials": 2, "trial_steps": 15, **choices}))


def refused(batch, call, kind=CallError):
    """The call is refused, nothing has moved, and the batch plays on as if it had not been made."""
    before, other = state_of(batch), copy.deepcopy(batch)
    with pytest.raises(kind) as told:
        call()
    assert isinstance(told.value, DriveError) and state_of(batch) == before
    assert play(batch, 25) == play(other, 25)
    return str(told.value)


def test_step_before_reset_is_told():
    batch = make()
    assert "reset" in refused(batch, lambda: batch.step(np.zeros(batch.num_agents, np.int64)))
    batch = make()
    assert "reset" in refused(batch, batch.restart_observations)
    batch = make()
    assert "world 1" in refused(batch, lambda: batch.reset(worlds=np.array([True, False, True])))


@pytest.mark.parametrize("arguments", [
    {"worlds": [True, False]}, {"worlds": [1, 0, 1]}, {"worlds": np.ones((3, 1), bool)}, {"worlds": "yes"},
    {"worlds": 1}, {"initial_ages": [0, 0]}, {"initial_ages": [0.0, 1.0, 2.0]}, {"initial_ages": [0, 0, 15]},
    {"initial_ages": [-1, 0, 0]}, {"initial_ages": [0, 0, 2**40]}, {"initial_ages": np.ones((3, 1), int)},
    {"initial_ages": 3}, {"seed": -1}, {"seed": 1 << 64}, {"seed": 1.5}, {"seed": "1"}, {"seed": True},
])
def test_a_bad_argument_of_reset_moves_nothing(arguments):
    batch = make()
    play(batch, 7)
    assert next(iter(arguments)) in refused(batch, lambda: batch.reset(**arguments), DriveError)


def test_an_action_that_is_masked_is_no_action():
    batch = make()
    play(batch, 7)
    actions = np.ma.array(np.zeros(batch.num_agents, np.int64))
    batch.step(actions)  # nothing is masked
    actions[1] = np.ma.masked
    assert "1 masked" in refused(batch, lambda: batch.step(actions), ActionError)


@pytest.mark.parametrize("arguments", [{"worlds": [[True], [True, False]]}, {"initial_ages": [[0], [1, 2]]},
                                       {"seed": [[0], [1, 2], 3]}])
def test_a_ragged_argument_of_reset_is_told_like_any_other(arguments):
    batch = make()
    play(batch, 7)
    refused(batch, lambda: batch.reset(**arguments), DriveError)


@pytest.mark.parametrize("out", [np.zeros((12, 3), np.float32), "out", np.zeros(5), None.__class__])
def test_a_bad_array_for_restart_observations_is_told(out):
    batch = make()
    play(batch, 7)
    refused(batch, lambda: batch.restart_observations(out))


def test_a_bad_number_of_a_world_or_scene_is_told():
    batch = make()
    play(batch, 3)
    for bad in (-1, 3, 1.0, "0", True, None):
        refused(batch, lambda bad=bad: batch.vehicles(bad), ConfigError)
        refused(batch, lambda bad=bad: batch.scene_report(bad), ConfigError)


def test_a_closed_batch_says_so_and_keeps_its_arrays_readable():
    batch = make(threads=2)
    play(batch, 7)
    seen = batch.observations.copy()
    batch.close()
    batch.close()
    for call in (lambda: batch.step(batch.actions), batch.reset, lambda: batch.reset(seed=1), batch.metrics,
                 batch.vehicles, batch.restart_observations, lambda: batch.phase_times(True),
                 lambda: pickle.dumps(batch), lambda: copy.deepcopy(batch)):
        with pytest.raises(CallError, match="closed"):
            call()
    assert np.array_equal(batch.observations, seen)
    assert "Batch" in repr(batch) and batch.observation_layout()
    with make() as other:
        play(other, 3)
    with pytest.raises(CallError, match="closed"):
        other.step(other.actions)


def test_a_restart_left_to_the_caller_is_owed():
    batch = Batch(scenes=[SCENE], num_worlds=2, config=DriveConfig(trial_steps=3), restart="caller")
    play(batch, 3)
    before = state_of(batch)
    for _ in range(2):
        with pytest.raises(CallError, match="world 0.*reset"):
            batch.step(batch.actions)
        assert state_of(batch) == before
    batch.reset(worlds=np.array([True, False]))
    with pytest.raises(CallError, match="world 1"):
        batch.step(batch.actions)
    batch.reset(worlds=np.array([False, True]))
    batch.step(np.zeros(batch.num_agents, np.int64))


# ---- actions ----


BAD_VALUES = {
    "discrete": [-1, 91, 2**31, -(2**63), 2**63 - 1, 2**32 + 45],
    "multi_discrete": [(-1, 6), (7, 6), (3, -1), (3, 13), (2**32 + 3, 6), (3, 2**32 + 6),
                       (-(2**63), 2**63 - 1)],
    "continuous": [(math.nan, 0.0), (0.0, math.nan), (math.inf, 0.0), (0.0, -math.inf), (1.0000002, 0.0),
                   (0.0, -1.001), (3e38, 0.0)],
}
ACTION_TYPES = tuple(BAD_VALUES)


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_an_action_out_of_its_table_names_its_agent_and_moves_nothing(action_type, threads):
    for agent, value in enumerate(BAD_VALUES[action_type]):
        batch = make(threads=threads, action_type=action_type)
        play(batch, 2)
        driving = np.flatnonzero(~batch.waits)
        agent = int(driving[agent % len(driving)])
        actions = draw(batch, np.random.default_rng(1))
        actions[agent] = value
        said = refused(batch, lambda batch=batch, actions=actions: batch.step(actions), ActionError)
        assert f"agent {agent} " in said and f"world {agent // batch.agents_per_world}" in said, said


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_an_action_at_the_end_of_its_table_is_taken(action_type):
    ends = {"discrete": [0, 90], "multi_discrete": [(0, 0), (6, 12)],
            "continuous": [(-1.0, -1.0), (1.0, 1.0), (-0.0, 0.0), (1e-45, -1e-45)]}[action_type]
    batch = make(action_type=action_type)
    batch.reset()
    for value in ends:
        actions = np.zeros_like(batch.actions)
        actions[...] = value
        batch.step(actions)


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_actions_of_the_wrong_shape_are_refused(action_type):
    shapes = [(), (0,), (1,), (11,), (13,), (12, 1), (12, 3), (1, 12), (12, 2, 1), (6, 2), (2, 12), (24,)]
    shapes.append((12, 2) if action_type == "discrete" else (12,))
    for shape in shapes:
        batch = make(action_type=action_type)
        play(batch, 7)
        said = refused(batch, lambda b=batch, shape=shape: b.step(np.zeros(shape, b.actions.dtype)),
                       ActionError)
        assert str(shape) in said and str(batch.actions.shape) in said


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_actions_of_the_wrong_type_are_refused(action_type):
    types = [np.bool_, np.complex64, object, "U5", "S5", "M8[s]", "m8[s]"]
    types += [np.float32, np.float64, np.float16] if action_type != "continuous" else []
    for dtype in types:
        batch = make(action_type=action_type)
        play(batch, 7)
        wrong = np.zeros(batch.actions.shape, dtype)
        assert "actions" in refused(batch, lambda b=batch, wrong=wrong: b.step(wrong), ActionError)
    for wrong in (None, "actions", {}, 3, object()):
        batch = make(action_type=action_type)
        play(batch, 7)
        refused(batch, lambda b=batch, wrong=wrong: b.step(wrong), ActionError)


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_actions_of_a_kindred_type_or_layout_are_the_same_actions(action_type):
    kinds = {"discrete": (np.int8, np.uint8, np.int32, np.uint64, ">i8"),
             "multi_discrete": (np.int8, np.uint16, ">i4"),
             "continuous": (np.float64, np.float16, ">f4", np.int8)}[action_type]
    plain = make(action_type=action_type)
    plain.reset()
    actions = np.array([0, 1, -1, 1])[np.arange(plain.actions.size) % 4].reshape(plain.actions.shape)
    if action_type != "continuous":
        actions = np.abs(actions)
    actions = actions.astype(plain.actions.dtype)
    plain.step(actions)
    forms = [actions.astype(kind) for kind in kinds]
    forms += [actions.tolist(), np.asfortranarray(actions), np.repeat(actions, 2, axis=0)[::2]]
    forms.append(np.frombuffer(b"-" + actions.tobytes(), actions.dtype, offset=1).reshape(actions.shape))  # misaligned
    forms.append(np.broadcast_to(actions, actions.shape))  # not to be written to
    for form in forms:
        batch = make(action_type=action_type)
        batch.reset()
        batch.step(form)
        assert state_of(batch) == state_of(plain)


@pytest.mark.parametrize("action_type, actions", [
    ("continuous", np.full((12, 2), 1e300)), ("continuous", [[0.0], [0.0, 0.0]]), ("discrete", [[1], [1, 2]]),
])
def test_actions_that_numpy_cannot_bring_into_form_are_refused_like_any_other(action_type, actions):
    batch = make(action_type=action_type)
    batch.reset()
    with pytest.raises(ActionError):
        batch.step(actions)


def test_agents_that_wait_may_have_garbage():
    batch, other = make(action_type="continuous"), make(action_type="continuous")
    batch.reset(), other.reset()
    rng = np.random.default_rng(3)
    waited = 0
    for _ in range(60):
        actions = draw(batch, rng)
        garbled = actions.copy()
        garbled[batch.waits] = (math.nan, 1e30)
        waited += batch.waits.sum()
        batch.step(actions)
        other.step(garbled)
        assert state_of(batch) == state_of(other)
    assert waited > 20


# ---- copies ----


def by_pickle(batch):
    return pickle.loads(pickle.dumps(batch))


@pytest.mark.parametrize("copied", [by_pickle, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_a_copy_made_anywhere_in_an_episode_goes_on_bit_for_bit(copied, action_type):
    log = [(20.0 + frame, 5.0, 0.0, 10.0) for frame in range(40)]
    scenes = [SCENE, stage([driver(speed_mps=5.0), driver(0.0, 8.0), replayer(log)],
                           [("edge", [(9.0, -2.0), (9.0, 2.0)])])]
    batch = make(num_worlds=4, threads=2, scenes=scenes, action_type=action_type)
    for length in (0, 1, 7, 8, 20):
        play(batch, length, seed=length)
        other = copied(batch)
        for name in NAMES:
            assert np.array_equal(getattr(other, name), getattr(batch, name)), name
        assert repr(other.metrics()) == repr(batch.metrics())
        assert play(other, 40) == play(copied(batch), 40)
        reference = copied(batch)
        play(batch, 3), play(reference, 3)
        assert state_of(batch) == state_of(reference)
        # Nothing is shared: the copy went its way and the batch stayed.
        other.close()
    assert batch.restart == "auto" and copied(batch).restart == "auto"


def test_a_copy_of_a_batch_that_was_not_reset_was_not_reset_either():
    batch = make()
    other = pickle.loads(pickle.dumps(batch))
    with pytest.raises(CallError, match="reset"):
        other.step(other.actions)
    assert play(other, 10) == play(batch, 10)


def test_a_copy_keeps_seed_ids_and_restart():
    batch = Batch(scenes=[SCENE], num_worlds=2, seed=11, world_ids=[7, 3], restart="caller", threads=2)
    batch.reset()
    other = pickle.loads(pickle.dumps(batch))
    assert (other.seed, other.restart, other.threads) == (11, "caller", 2)
    assert other.world_ids.tolist() == [7, 3] and other.world_of_agent.tolist() == batch.world_of_agent.tolist()


# ---- threads and processes ----


def test_two_batches_in_two_threads_play_as_each_does_alone():
    alone = [play(make(num_worlds=8, threads=2), 200, seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(play, (make(num_worlds=8, threads=2) for _ in alone), (200, 200), (1, 2))) == alone


def test_one_batch_in_two_threads_steps_or_is_told_and_never_tears():
    batch = make(num_worlds=16, threads=2, trial_steps=10_000, **IGNORE_ALL)
    batch.reset()
    actions = np.full(batch.num_agents, 45)

    def step_often():
        done = 0
        for _ in range(400):
            try:
                batch.step(actions)
                done += 1
            except CallError as error:
                assert "another thread" in str(error)
        return done

    with ThreadPoolExecutor(3) as pool:
        done = sum(future.result() for future in [pool.submit(step_often) for _ in range(3)])
    assert done > 0 and (batch._state["clock_steps"] == done).all()
    # Every agent did the same thing, so it stands where one thread alone would have brought it.
    reference = make(num_worlds=16, threads=2, trial_steps=10_000, **IGNORE_ALL)
    reference.reset()
    for _ in range(done):
        reference.step(actions)
    assert np.array_equal(reference.observations, batch.observations)


CRASHES = {
    "closing_while_another_thread_steps": """
        for _ in range(60):
            batch = Batch([SCENE], num_worlds=64, threads=2)
            batch.reset()
            actions = np.full(batch.num_agents, 45)
            def run():
                try:
                    for _ in range(50):
                        batch.step(actions)
                except CallError:
                    pass
            thread = threading.Thread(target=run)
            thread.start()
            time.sleep(0.004)
            try:
                batch.close()
            except CallError:
                pass
            thread.join()
    """,
    "reading_while_another_thread_steps_and_closes": """
        for _ in range(40):
            batch = Batch([SCENE], num_worlds=256, threads=2, config=DriveConfig(max_trials=20))
            batch.reset()
            actions = np.full(batch.num_agents, 45)
            def repeat(call):
                while True:
                    try:
                        call()
                    except CallError as error:
                        if "closed" in str(error):
                            return
            calls = (batch.metrics, batch.vehicles, batch.restart_observations,
                     lambda: batch.phase_times(True), lambda: batch.step(actions))
            threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
            for thread in threads:
                thread.start()
            time.sleep(0.01)
            batch.close()
            for thread in threads:
                thread.join()
    """,
    "bad_actions_while_another_thread_steps": """
        batch = Batch([SCENE], num_worlds=64, threads=1,
                      config=DriveConfig(action_type="continuous", **IGNORE_ALL))
        batch.reset()
        good = np.zeros((batch.num_agents, 2), np.float32)
        bad = np.full((batch.num_agents, 2), np.nan, np.float32)
        def run(actions):
            for _ in range(1000):
                try:
                    batch.step(actions)
                except (CallError, ActionError):
                    pass
        threads = [threading.Thread(target=run, args=(actions,)) for actions in (good, bad)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.isfinite(batch.observations).all() and np.isfinite(batch.vehicles()["x_m"]).all()
    """,
}


@pytest.mark.parametrize("case", CRASHES)
def test_no_order_of_calls_in_two_threads_ends_the_process(case):
    program = """
        import threading, time
        import numpy as np
        from drive_env import *
        SCENE = generate_scene("town", seed=0, agents=32)
        IGNORE_ALL = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
    """
    program = textwrap.dedent(program) + textwrap.dedent(CRASHES[case])
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def play_and_send(batch, steps, pipe):
    found = play(batch, steps)
    batch.close()
    pipe.send(found)
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
def test_a_forked_child_and_its_parent_both_go_on():
    batch, reference = make(num_worlds=6, threads=3), make(num_worlds=6, threads=3)
    play(batch, 10), play(reference, 10)
    alone = play(reference, 30)
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=play_and_send, args=(batch, 30, sender))
        with warnings.catch_warnings():
            # Newer interpreters warn of every fork beside threads; the law here is that ours do no harm.
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        assert receiver.poll(30), "the child hangs"
        assert receiver.recv() == alone
        child.join(60)
        assert child.exitcode == 0
    assert play(batch, 30) == alone


def test_a_spawned_worker_gets_a_batch_by_pickle():
    batch, reference = make(threads=2), make(threads=2)
    play(batch, 10), play(reference, 10)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(play, (batch, 30)) == play(reference, 30)


@pytest.mark.skipif(not PROCESS.exists(), reason="only Linux tells how many threads a process has")
def test_a_batch_that_is_dropped_gives_its_memory_and_threads_back():
    def threads():
        lines = PROCESS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))

    gc.collect()
    before = threads()
    for _ in range(10):
        batch = make(num_worlds=8, threads=4)
        play(batch, 2)
        assert threads() == before + 3
        left = weakref.ref(batch)
        del batch
        assert left() is None and threads() == before


def test_errors_are_one_family_and_their_plain_kinds():
    for kind, plain in ((ConfigError, ValueError), (drive_env.SceneError, ValueError),
                        (ActionError, ValueError), (CallError, RuntimeError)):
        assert issubclass(kind, DriveError) and issubclass(kind, plain)


# ---- what a stranger found ----


def test_another_array_in_the_place_of_the_bound_one_is_what_steps():
    plain, other = make(**IGNORE_ALL), make(**IGNORE_ALL)
    plain.reset(), other.reset()
    full = np.full(plain.num_agents, 90)
    plain.step(full)
    other.actions = full.copy()
    other.step(other.actions)
    assert state_of(plain) == state_of(other)
    with pytest.raises(ActionError, match="shape"):
        other.actions = np.zeros(2, np.int64)
        other.step(np.zeros(2, np.int64))


def test_refused_actions_leave_the_bound_ones_as_they_were():
    batch = make()
    batch.reset()
    batch.actions[:] = 45
    with pytest.raises(ActionError, match="99"):
        batch.step(np.full(batch.num_agents, 99))
    assert (batch.actions == 45).all()
    with pytest.raises(ActionError, match=str(2**63 - 1)):
        batch.step(np.full(batch.num_agents, 2**64 - 1, np.uint64))


def test_two_channels_cannot_share_an_array():
    one = np.zeros(make().num_agents, bool)
    with pytest.raises(ConfigError, match="share memory"):
        Batch(scenes=[SCENE], num_worlds=3, arrays={"terminations": one, "truncations": one})


def test_a_copy_made_while_another_thread_steps_is_of_one_moment():
    batch = make(num_worlds=16, trial_steps=10_000, **IGNORE_ALL)
    batch.reset()
    going = True

    def step_on():
        while going:
            try:
                batch.step(batch.actions)
            except CallError as error:
                assert "another thread" in str(error)

    batch.actions[:] = 45
    with ThreadPoolExecutor(1) as pool:
        stepping = pool.submit(step_on)
        copies = 0
        while copies < 50:
            try:
                twin = pickle.loads(pickle.dumps(batch))
            except CallError:
                continue
            assert len(set(twin._state["clock_steps"][:, 0].tolist())) == 1
            copies += 1
        going = False
        stepping.result()


def test_an_object_that_numpy_cannot_read_is_no_action():
    class Refuses:
        def __array__(self, *_, **__):
            raise RuntimeError("not from a graph")

    batch = Batch("intersection")
    batch.reset()
    with pytest.raises(ActionError, match="actions are a Refuses, which numpy cannot read: not from a graph"):
        batch.step(Refuses())
