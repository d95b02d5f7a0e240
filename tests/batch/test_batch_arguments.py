"""Which arguments and arrays does a batch accept? A refused one is named in the error."""

import math
from types import MappingProxyType

import numpy as np
import pytest
from scripted_scenes import IGNORE_ALL
from small_batch import NAMES, SCENE, make, rollout, state_of

import drive_env
from drive_env import ActionError, Batch, ConfigError, DriveConfig, DriveError, RewardConfig


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
def test_a_bad_argument_of_a_batch_is_an_error_that_names_it(argument, bad):
    with pytest.raises(DriveError) as raised:
        Batch(**{"scenes": [SCENE], "num_worlds": 2, argument: bad})
    assert isinstance(raised.value, ValueError) and argument in str(raised.value), str(raised.value)


@pytest.mark.parametrize("argument, bad", [
    ("num_worlds", np.array([1])), ("num_worlds", int), ("num_worlds", np.array(1.0)), ("world_ids", [[0], [1, 2]]),
    ("restart", np.array(["auto", "caller"])), ("arrays", 5), ("arrays", [1]), ("arrays", {1: 2, "x": 3}),
])
def test_an_argument_of_an_unlikely_type_is_an_error_like_any_other(argument, bad):
    with pytest.raises(ConfigError, match=argument):
        Batch(**{"scenes": [SCENE], "num_worlds": 2, argument: bad})


def test_an_instruction_set_that_the_processor_lacks_is_an_error(monkeypatch):
    monkeypatch.setenv("DRIVE_ENV_ISA", "v9")
    with pytest.raises(ConfigError, match="instruction set is v9; this processor offers baseline"):
        Batch(scenes=[SCENE])


def test_a_batch_larger_than_memory_is_an_error():
    with pytest.raises(drive_env.DriveMemoryError, match="bytes"):
        Batch(scenes=[SCENE], num_worlds=1 << 20, config=DriveConfig(max_trials=10_000))


# ---- arrays of the caller ----


def array_like(batch, name):
    return np.full_like(getattr(batch, name), 1)


def test_arrays_of_the_caller_are_written_in_place_and_change_no_bit():
    plain = Batch(scenes=[SCENE], num_worlds=3)
    arrays = {name: array_like(plain, name) for name in NAMES}
    own = Batch(scenes=[SCENE], num_worlds=3, arrays=MappingProxyType(arrays))
    rollout(plain, 30), rollout(own, 30)
    for name in NAMES:
        assert getattr(own, name) is arrays[name]
        assert np.array_equal(arrays[name], getattr(plain, name)), name


@pytest.mark.parametrize("name", NAMES)
def test_an_array_the_core_could_not_write_to_is_an_error_that_names_it(name):
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


def test_an_array_of_an_unknown_name_is_an_error():
    with pytest.raises(ConfigError, match="'reward'.*rewards"):
        Batch(scenes=[SCENE], arrays={"reward": np.zeros(4, np.float32)})


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


def test_two_channels_cannot_share_an_array():
    one = np.zeros(make().num_agents, bool)
    with pytest.raises(ConfigError, match="share memory"):
        Batch(scenes=[SCENE], num_worlds=3, arrays={"terminations": one, "truncations": one})
