"""What do hidden values change? Against the motion of other actions and vehicles without them."""

import numpy as np
import pytest
from scripted_scenes import COAST_ACTION, IGNORE_ALL, STEERINGS_RAD, batch_of, discrete, driver, stage

from drive_env import Batch, CallError, ConfigError, DriveConfig, HiddenConfig, generate_scene
from drive_env.binding import choices
from drive_env.config import HIDDEN_PARAMETERS, action_types, hidden_parameters

STARTS = [(0.0, 100.0 * i, 0.3 * i, 4.0 + 2.0 * i) for i in range(6)]
POSES = ("x_m", "y_m", "heading_rad", "speed_mps")


def begin(model="bicycle", length_m=4.0, **choices):
    """A batch of one world of six vehicles far apart."""
    scene = stage([driver(*start, length_m=length_m) for start in STARTS])
    return batch_of(scene, action_type="continuous", **{"dynamics": model, **IGNORE_ALL, **choices})


def poses(batch):
    return np.stack([batch.vehicles()[name] for name in POSES])


def actions_of(batch, steps, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, *batch.actions.shape)).astype(np.float32)


def assert_same_motion(varied, plain, actions, replaced):
    """The first moves by `actions` as the second by `replaced`, to the bit."""
    for action, other in zip(actions, replaced, strict=True):
        varied.step(action)
        plain.step(other)
        assert (poses(varied) == poses(plain)).all()


# ---- effects ----


@pytest.mark.parametrize("model", ["bicycle", "classic", "grip", "invertible_bicycle", "single_track"])
def test_gains_are_factors_of_what_the_actions_command(model):
    """Powers of 2, so that the product with an action is exact."""
    varied = begin(model, hidden={"steering_gain": (0.5, 0.5), "throttle_gain": (0.25, 0.25), "brake_gain": (0.5, 0.5)})
    actions = actions_of(varied, 40)
    factors = np.stack([np.where(actions[..., 0] > 0, 0.25, 0.5), np.full(actions.shape[:2], 0.5)], -1)
    assert_same_motion(varied, begin(model), actions, (actions * factors).astype(np.float32))


def test_a_flipped_vehicle_turns_to_the_other_side():
    varied = begin(hidden={"steering_flip": 1.0})
    actions = actions_of(varied, 40)
    assert (varied.hidden["steering_gain"] == -1).all()
    assert_same_motion(varied, begin(), actions, actions * np.float32([1, -1]))


def test_an_offset_turns_the_wheels_by_no_more_than_their_limit():
    limit_rad, offset_rad = 0.5, 0.25
    varied = begin(dynamics={"max_steering_rad": limit_rad}, hidden={"steering_offset_rad": (offset_rad, offset_rad)})
    plain = begin(dynamics={"max_steering_rad": limit_rad})
    actions = np.zeros((3, *varied.actions.shape), np.float32)
    actions[:, :, 1] = np.float32([-0.5, 0.25, 0.75])[:, None]
    shifted = actions.copy()
    shifted[:, :, 1] = np.float32([0.0, 0.75, 1.0])[:, None]
    assert_same_motion(varied, plain, actions, shifted)


@pytest.mark.parametrize("model", [
    model for model in choices("dynamics") if "action_delay_steps" in hidden_parameters(model)])
@pytest.mark.parametrize("delay", [1, 2, 5])
def test_a_delayed_action_takes_effect_later_in_every_trial(model, delay):
    """The first steps of a trial have the effect of the action 0."""
    options = {"max_trials": 3, "trial_steps": 12, "scene_order": "cycle"}
    varied = begin(model, hidden={"action_delay_steps": (delay, delay)}, **options)
    plain = begin(model, **options)
    for trial in range(4):
        actions = actions_of(varied, 12, seed=trial)
        late = np.concatenate([np.zeros_like(actions[:delay]), actions[:-delay]])
        assert_same_motion(varied, plain, actions, late)
        assert varied.trial_ended.all()
        varied.step(actions[0])
        plain.step(actions[0])


def test_agents_are_late_by_different_delays():
    varied = begin(hidden={"action_delay_steps": (0, 3)})
    delays = varied.hidden["action_delay_steps"].astype(int)
    assert len(set(delays)) > 1
    actions = actions_of(varied, 20)
    late = np.zeros_like(actions)
    for agent, delay in enumerate(delays):
        late[delay:, agent] = actions[: len(actions) - delay, agent]
    assert_same_motion(varied, begin(), actions, late)


def test_a_drawn_friction_has_the_effect_of_that_friction_in_the_config():
    varied = begin("grip", hidden={"friction": (0.25, 0.25)})
    actions = actions_of(varied, 40)
    assert_same_motion(varied, begin(dynamics={"model": "grip", "friction": 0.25}), actions, actions)


@pytest.mark.parametrize("model", ["bicycle", "classic", "grip", "jerk"])
def test_a_longer_wheelbase_is_that_of_a_longer_vehicle(model):
    varied, longer = begin(model, hidden={"wheelbase_factor": (1.5, 1.5)}), begin(model, length_m=6.0)
    for action in actions_of(varied, 40):
        varied.step(action)
        longer.step(action)
        assert poses(varied) == pytest.approx(poses(longer), abs=2e-3)


# ---- draws ----

ALL = {"steering_gain": (0.5, 1.5), "steering_offset_rad": (-0.1, 0.1), "throttle_gain": (0.5, 1.5),
       "brake_gain": (0.8, 2.0), "action_delay_steps": (0, 3), "friction": (0.2, 1.0), "wheelbase_factor": (0.8, 1.25)}


def town(hidden, num_worlds=4, **choices):
    batch = Batch([generate_scene("town", seed=seed, agents=8) for seed in range(3)], num_worlds, DriveConfig(
        dynamics="grip", hidden=hidden, **{"max_trials": 2, "trial_steps": 6, **choices}), seed=9, threads=1)
    batch.reset()
    return batch


def finish_trial(batch):
    """Steps until the next trial of every world has begun."""
    for _ in range(batch.config.trial_steps + 1):
        batch.step(np.full(batch.num_agents, COAST_ACTION))


@pytest.mark.parametrize("name", ALL)
def test_values_are_uniform_over_their_range_and_independent(name):
    low, high = ALL[name]
    values = town(ALL, num_worlds=500).hidden[name].astype(np.float64)
    assert values.shape == (4000,) and low <= values.min() and values.max() <= high
    # Counts of equal parts of the range are within 5 deviations of a binomial count.
    if name == "action_delay_steps":
        counts = np.bincount(values.astype(int), minlength=4)
        assert (np.abs(counts - 1000) < 5 * np.sqrt(750)).all()
    else:
        counts, _ = np.histogram(values, 10, (low, high))
        assert (np.abs(counts - 400) < 5 * np.sqrt(360)).all()
    # no correlation with the agent beside it, nor with the first agent of another world
    pairs = values.reshape(-1, 2)
    for other in (pairs[:, 1], values.reshape(500, 8)[:, 0].repeat(4)[: len(pairs)][::-1]):
        assert abs(np.corrcoef(pairs[:, 0], other)[0, 1]) < 5 / np.sqrt(len(pairs))


def test_the_share_of_flips_is_their_probability():
    gains = town({"steering_gain": (0.5, 1.5), "steering_flip": 0.25}, num_worlds=500).hidden["steering_gain"]
    assert abs((gains < 0).sum() - 1000) < 5 * np.sqrt(750)
    assert (np.abs(gains) == town({"steering_gain": (0.5, 1.5)}, num_worlds=500).hidden["steering_gain"]).all()


def test_a_parameter_changes_no_other_draw():
    everything, plain = town({**ALL, "steering_flip": 0.5}), town({})
    for _ in range(3):
        together = everything.hidden
        assert (everything.scene_index == plain.scene_index).all()
        for name, ends in ALL.items():
            alone = town({name: ends})
            alone.reset(seed=9)
            for _ in range(int(everything._core.state["episode"][0, 0])):
                alone.reset()
            assert (np.abs(together[name]) == np.abs(alone.hidden[name])).all(), name
        everything.reset()
        plain.reset()


def test_values_hold_for_an_episode_or_for_a_trial():
    episode, trial = town(ALL), town({**ALL, "scope": "trial"})
    first = episode.hidden, trial.hidden
    for name in ALL:
        assert (first[0][name] == first[1][name]).all()
    for batch in (episode, trial):
        finish_trial(batch)
        assert (batch.trial_index == 1).all()
    for name in set(ALL) - {"action_delay_steps"}:
        assert (episode.hidden[name] == first[0][name]).all()
        assert not (trial.hidden[name] == first[1][name]).any()
    for batch in (episode, trial):
        finish_trial(batch)
        assert batch.first.all() and (batch.hidden["friction"] != first[0]["friction"]).all()


def test_all_agents_of_a_world_can_have_the_same_values():
    values = town({**ALL, "per": "world"}).hidden["steering_gain"].reshape(4, 8)
    assert (values == values[:, :1]).all() and len(set(values[:, 0])) == 4


def test_values_are_those_of_the_seed_and_the_id_of_a_world():
    scene = generate_scene("intersection", agents=3)
    config = DriveConfig(hidden={"steering_gain": (0.5, 1.5)})
    values = {}
    for ids in ([0, 1, 2, 3], [3, 0], [7, 2]):
        with Batch(scene, len(ids), config, seed=4, world_ids=ids, parts=2) as batch:
            batch.reset()
            found = batch.hidden["steering_gain"].reshape(len(ids), 3)
            halves = [part.hidden["steering_gain"] for part in batch.parts]
            assert (np.concatenate(halves) == found.ravel()).all()
            for world, of_world in zip(ids, found):
                assert (values.setdefault(world, of_world) == of_world).all()
    assert len({tuple(found) for found in values.values()}) == 5


def test_without_variation_every_value_is_that_of_the_config():
    values = begin(dynamics={"model": "grip", "friction": 0.4}).hidden
    assert tuple(values) == HIDDEN_PARAMETERS
    assert {name: set(found.tolist()) for name, found in values.items()} == {
        **dict.fromkeys(HIDDEN_PARAMETERS, {1.0}), "steering_offset_rad": {0.0}, "action_delay_steps": {0.0},
        "friction": {float(np.float32(0.4))}}


# ---- observations ----


def test_an_observation_shows_the_commanded_wheel_angle_and_no_hidden_value():
    batch, plain = town({"steering_gain": (0.5, 1.5), "steering_flip": 0.5, "action_delay_steps": (0, 3)}), town({})
    assert batch.observations.shape == plain.observations.shape
    assert (batch.observations == plain.observations).all()
    batch.step(discrete(batch, steering_bin=9))
    feature = batch.observation_layout()["ego/steering"]
    driving = ~batch.removed
    assert batch.observations[driving, feature.offset] / feature.scale == pytest.approx(STEERINGS_RAD[9], abs=1e-6)


def test_a_commanded_curvature_is_observed_as_its_wheel_angle():
    batch = begin("invertible_bicycle", hidden={"steering_gain": (0.5, 0.5)}, observation={"partners": 0, "roads": 0})
    batch.step(np.tile(np.float32([0.0, 0.5]), (6, 1)))
    feature = batch.observation_layout()["ego/steering"]
    wheelbase_m, curvature = 0.6 * 4.0, 0.5 * 0.3  # half of the largest curvature, 1/m
    expected = np.arctan(curvature * wheelbase_m)
    assert batch.observations[:, feature.offset] / feature.scale == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["float32", "float16", "index"])
def test_a_revealed_value_is_its_position_in_its_range(kind):
    hidden = {**ALL, "steering_flip": 0.5, "brake_gain": None, "throttle_gain": (2.0, 2.0)}
    batch = town(hidden, observation={"reveal_hidden": True, "type": kind})
    plain = town(hidden, observation={"type": kind})
    layout, values = batch.observation_layout(), batch.hidden
    assert [name for name in layout if name not in plain.observation_layout()] == [
        f"hidden/{name}" for name in HIDDEN_PARAMETERS]
    observations = batch.float_observations()
    for name in HIDDEN_PARAMETERS:
        low, high = ALL[name] if name not in ("brake_gain", "throttle_gain") else (0, 0)
        low = -high if name == "steering_gain" else low
        due = 2 * (values[name] - low) / (high - low) - 1 if high > low else np.zeros(batch.num_agents)
        found = observations[:, layout[f"hidden/{name}"].slice][:, 0]
        assert found[~batch.removed] == pytest.approx(due[~batch.removed], abs=1e-3 if kind == "float16" else 1e-6)
    others = np.concatenate([observations[:, layout[name].slice] for name in plain.observation_layout()], axis=1)
    expected = plain.float_observations()
    expected = np.concatenate([expected[:, one.slice] for one in plain.observation_layout().values()], axis=1)
    assert (others == expected).all()


def test_restart_observations_reveal_the_values_of_the_next_trial():
    batch = town({**ALL, "scope": "trial"}, observation={"reveal_hidden": True})
    for _ in range(6):
        batch.step(np.full(batch.num_agents, COAST_ACTION))
    expected = batch.restart_observations()
    before = batch.hidden["friction"]
    batch.step(batch.actions)
    features = [feature for name, feature in batch.observation_layout().items() if not name.startswith("trial/")]
    for feature in features:
        assert (batch.observations[:, feature.slice] == expected[:, feature.slice]).all(), feature.name
    assert (batch.hidden["friction"] != before).all()


# ---- errors and state ----


@pytest.mark.parametrize("choices, sentence", [
    ({"hidden": {"friction": (0.2, 1.0)}},
     r"^hidden\.friction is \(0\.2, 1\.0\); for dynamics\.model 'bicycle' it must be None, since that model "),
    ({"hidden": {"steering_flip": 0.5}, "dynamics": "delta_local", "action_type": "continuous"},
     r"^hidden\.steering_flip is 0\.5; for dynamics\.model 'delta_local', which has no steering_gain, it must be 0$"),
    ({"hidden": {"steering_gain": (1.5, 0.5)}}, r"^hidden\.steering_gain is \(1\.5, 0\.5\); it must be None \(does not "
                                                r"vary\), or a pair \(low, high\) of numbers in \[0\.01, 10\]$"),
    ({"hidden": {"action_delay_steps": (0, 2.5)}},
     r"^hidden\.action_delay_steps is \(0, 2\.5\); .* of whole numbers from 0 to 100$"),
])
def test_a_range_without_a_meaning_is_refused_in_a_sentence(choices, sentence):
    with pytest.raises(ConfigError, match=sentence):
        DriveConfig(**choices)


@pytest.mark.parametrize("model", choices("dynamics"))
def test_a_model_has_the_parameters_that_its_controls_allow(model):
    kind = action_types(model)[-1]
    for name in HIDDEN_PARAMETERS:
        make = DriveConfig(dynamics=model, action_type=kind).replace
        if name in hidden_parameters(model):
            assert make(hidden={name: ALL[name]}).hidden == HiddenConfig(**{name: ALL[name]})
        else:
            with pytest.raises(ConfigError, match=f"hidden.{name} is"):
                make(hidden={name: ALL[name]})


def test_a_range_may_be_any_sequence_of_numbers():
    for ends in ([1, 2], (1, 2), np.array([1, 2]), (np.int64(1), np.float32(2))):
        config = HiddenConfig(steering_gain=ends, action_delay_steps=np.array([0, 3]))
        assert config.steering_gain == (1, 2) and config.action_delay_steps == (0, 3)
        assert HiddenConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize("name, value", [("action_delay_steps", 4), ("wheelbase_factor", 0), ("steering_gain", -1)])
def test_a_state_with_a_hidden_value_out_of_its_range_is_refused(name, value):
    batch = town(ALL)
    state = batch.state_dict()
    batch.load_state_dict(state)
    hidden = state["state/hidden"].reshape(4, -1, len(HIDDEN_PARAMETERS))
    hidden[2, 5, HIDDEN_PARAMETERS.index(name)] = value
    with pytest.raises(CallError, match=rf"^state\['state/hidden'\] has {value}.*must be from"):
        batch.load_state_dict(state)
