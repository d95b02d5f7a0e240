"""Which actions does a step accept? A refused action is named with its agent, and nothing has moved."""

import math

import numpy as np
import pytest
from small_batch import ACTION_TYPES, draw, make, refused, rollout, state_of

from drive_env import ActionError, Batch


def test_an_action_that_is_masked_is_no_action():
    batch = make()
    rollout(batch, 7)
    actions = np.ma.array(np.zeros(batch.num_agents, np.int64))
    batch.step(actions)  # nothing is masked
    actions[1] = np.ma.masked
    assert "1 masked" in refused(batch, lambda: batch.step(actions), ActionError)


BAD_VALUES = {
    "discrete": [-1, 91, 2**31, -(2**63), 2**63 - 1, 2**32 + 45],
    "multi_discrete": [(-1, 6), (7, 6), (3, -1), (3, 13), (2**32 + 3, 6), (3, 2**32 + 6),
                       (-(2**63), 2**63 - 1)],
    "continuous": [(math.nan, 0.0), (0.0, math.nan), (math.inf, 0.0), (0.0, -math.inf), (1.0000002, 0.0),
                   (0.0, -1.001), (3e38, 0.0)],
}


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_an_action_out_of_its_table_names_its_agent_and_moves_nothing(action_type, threads):
    for agent, value in enumerate(BAD_VALUES[action_type]):
        batch = make(threads=threads, action_type=action_type)
        rollout(batch, 2)
        driving = np.flatnonzero(~batch.waits)
        agent = int(driving[agent % len(driving)])
        actions = draw(batch, np.random.default_rng(1))
        actions[agent] = value
        message = refused(batch, lambda batch=batch, actions=actions: batch.step(actions), ActionError)
        assert f"agent {agent} " in message and f"world {agent // batch.agents_per_world}" in message, message


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
        rollout(batch, 7)
        message = refused(batch, lambda b=batch, shape=shape: b.step(np.zeros(shape, b.actions.dtype)),
                          ActionError)
        assert str(shape) in message and str(batch.actions.shape) in message


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_actions_of_the_wrong_type_are_refused(action_type):
    types = [np.bool_, np.complex64, object, "U5", "S5", "M8[s]", "m8[s]"]
    types += [np.float32, np.float64, np.float16] if action_type != "continuous" else []
    for dtype in types:
        batch = make(action_type=action_type)
        rollout(batch, 7)
        wrong = np.zeros(batch.actions.shape, dtype)
        assert "actions" in refused(batch, lambda b=batch, wrong=wrong: b.step(wrong), ActionError)
    for wrong in (None, "actions", {}, 3, object()):
        batch = make(action_type=action_type)
        rollout(batch, 7)
        refused(batch, lambda b=batch, wrong=wrong: b.step(wrong), ActionError)


@pytest.mark.parametrize("action_type", ACTION_TYPES)
def test_actions_of_a_castable_type_or_layout_are_the_same_actions(action_type):
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
    forms.append(np.broadcast_to(actions, actions.shape))  # read-only
    for form in forms:
        batch = make(action_type=action_type)
        batch.reset()
        batch.step(form)
        assert state_of(batch) == state_of(plain)


@pytest.mark.parametrize("action_type, actions", [
    ("continuous", np.full((12, 2), 1e300)), ("continuous", [[0.0], [0.0, 0.0]]), ("discrete", [[1], [1, 2]]),
])
def test_actions_that_numpy_cannot_convert_are_refused_like_any_other(action_type, actions):
    batch = make(action_type=action_type)
    batch.reset()
    with pytest.raises(ActionError):
        batch.step(actions)


def test_actions_of_waiting_agents_are_neither_read_nor_checked():
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


def test_refused_actions_leave_the_bound_ones_as_they_were():
    batch = make()
    batch.reset()
    batch.actions[:] = 45
    with pytest.raises(ActionError, match="99"):
        batch.step(np.full(batch.num_agents, 99))
    assert (batch.actions == 45).all()
    with pytest.raises(ActionError, match=str(2**63 - 1)):
        batch.step(np.full(batch.num_agents, 2**64 - 1, np.uint64))


def test_an_object_that_numpy_cannot_read_is_no_action():
    class Refuses:
        def __array__(self, *_, **__):
            raise RuntimeError("not from a graph")

    batch = Batch("intersection")
    batch.reset()
    with pytest.raises(ActionError, match="actions are a Refuses, which numpy cannot read: not from a graph"):
        batch.step(Refuses())
