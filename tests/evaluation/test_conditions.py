"""Do evaluators of several conditions play the same worlds under each, and measure what their groups say?"""

import numpy as np
import pytest

from drive_env import Batch, ConfigError, DriveConfig
from drive_env.behaviours import BEHAVIOURS, behaviour_scenes
from drive_env.evaluation import (
    BehaviourClass, HumanReplay, MultiScenario, Robustness, TrafficMatrix, evaluator_of, merge)
from drive_env.evaluation import behaviour_class as behaviour_module
from drive_env.evaluation import traffic_matrix
from drive_env.evaluation.figures import figures_of
from drive_env.evaluation.metrics import quantities_of
from drive_env.evaluation.result import sha256_of
from drive_env.evaluation.robustness import LEVELS
from drive_env.policies import TrainedPolicy, load_policy, policy_maker

SMALL = {"scenes": ("intersection",), "scene_count": 3, "scene_agents": 4, "env": {"trial_steps": 60}}


# ---- classes of behaviour ----


def test_the_log_shows_its_class_and_a_car_that_drives_straight_on_does_not():
    config = {"scenes": ["lane_change", "cut_in"], "scene_count": 3, "env": {"max_trials": 2}}
    evaluator = BehaviourClass("classes", config)
    logs, straight = evaluator.rollout("replay"), evaluator.rollout("constant")
    assert logs.groups.keys() == {"lane_change", "cut_in"}
    for found in logs.groups.values():
        for name in ("score", "shows_behaviour", "trial_1_score"):
            assert found[name].value == 1.0, name
        assert found["shows_behaviour"].n == 6 and found["trial_1_score"].n == 3
    assert straight.groups["lane_change"]["shows_behaviour"].value == 0.0
    assert set(logs.rows["group"].tolist()) == {name.partition("/")[0] for name in logs.rows["scene"].tolist()}
    parts = [evaluator.rollout("constant", shard=(shard, 2)) for shard in (1, 0)]
    assert merge(parts).groups == straight.groups


def test_each_source_has_the_scene_of_its_class_and_index(monkeypatch):
    """Also beyond the scenes that are made together."""
    monkeypatch.setattr(behaviour_module, "WORLDS", 2)
    for count in (1, 3):
        found = [scene for source in BehaviourClass("few", {"scenes": ["cut_in"], "scene_count": count}).sources()
                 for scene in source.read()]
        for scene, expected in zip(found, behaviour_scenes("cut_in", range(count)), strict=True):
            assert scene.name == expected.name
            np.testing.assert_array_equal(scene.objects.x_m, expected.objects.x_m)


def test_all_classes_with_all_their_scenes_are_the_default():
    assert len(BehaviourClass("all").sources()) == 50 * len(BEHAVIOURS)


@pytest.mark.parametrize("config, sentence", [
    ({"scenes": "lane_chance"}, "name is 'lane_chance', which is no class of behaviour; did you mean lane_change"),
    ({"scene_count": 51}, "scene_count is 51; it must be a whole number from 1 to 50")])
def test_a_class_that_there_is_not_is_an_error(config, sentence):
    with pytest.raises(ConfigError, match=sentence):
        BehaviourClass("classes", config).rollout("constant")


# ---- traffic ----


class Watched:
    """Coasts; the number of agents and of rule-based vehicles of each batch, and whose actions are asked for."""

    def __init__(self):
        self.seen = {}

    def __call__(self, batch):
        roles = batch.roles[0]
        key = (batch.config.others, batch.config.control)
        self.seen[key] = (roles.num_agents, roles.rule_based_count, roles.static_count)
        return np.full(batch.num_agents, 45)


def test_the_ego_is_one_vehicle_among_every_kind_of_traffic():
    watched = Watched()
    found = TrafficMatrix("matrix", SMALL).rollout(watched)
    assert watched.seen == {("replay", "sdc"): (1, 0, 3), ("static", "sdc"): (1, 0, 3), ("idm", "sdc"): (1, 3, 0),
                            ("replay", "vehicles"): (4, 0, 0)}
    assert set(found.groups) == {"replay", "static", "idm", "lane", "self"}
    assert all(figures["score"].n == 3 for figures in found.groups.values())
    by_group = {group: found.rows["object_id"][found.rows["group"] == group].tolist() for group in found.groups}
    assert len(set(map(tuple, by_group.values()))) == 1, "the same egos under each"
    assert found.coverage.expected == found.coverage.played == 15 and found.coverage.unique_scenes == 3


def test_the_traffic_of_the_lane_driver_drives_as_it_does_alone():
    """The ego drives by rule, too: then all agents move as in a batch of the lane driver."""
    evaluator = TrafficMatrix("matrix", SMALL)
    found = evaluator.rollout("lane")
    of_lane, of_self = (found.rows["distance_m"][found.rows["group"] == group] for group in ("lane", "self"))
    assert of_lane.tolist() == of_self.tolist() and of_lane.min() > 10
    played = evaluator.rollout("constant")
    assert (played.rows["max_jerk_mps3"] == 0).all(), "the ego coasts, whatever the others do"
    coasting = played.groups
    assert coasting["lane"]["min_gap_m"] != coasting["self"]["min_gap_m"], "the others drive differently"


def trained(name, sha256="a"):
    """A trained policy that acts as one with a name."""
    return TrainedPolicy(policy_maker(name), {"path": "x", "sha256": sha256, "update": 1, "steps": 2}, DriveConfig())


def test_a_checkpoint_as_traffic_drives_all_but_the_ego(monkeypatch):
    """One that acts as the lane driver is the traffic of `lane`, and one that coasts that of a coasting ego, `self`."""
    config = {**SMALL, "options": {"checkpoint": "runs/town"}}
    for name, same_as in (("lane", "lane"), ("constant", "self")):
        monkeypatch.setattr(traffic_matrix, "load_policy", {"runs/town": trained(name)}.get)
        found = TrafficMatrix("matrix", config).rollout("constant")
        assert found.groups.keys() == {"checkpoint", "replay", "static", "idm", "lane", "self"}
        of_checkpoint, of_other = (
            {column: values[found.rows["group"] == group].tobytes() for column, values in found.rows.items()
             if values.dtype.kind in "fi"} for group in ("checkpoint", same_as))
        assert of_checkpoint == of_other
        assert found.groups["lane"] != found.groups["self"]


def test_results_of_other_traffic_have_another_hash_wherever_its_file_is(monkeypatch):
    hashes = {}
    for path, sha256 in (("here", "a"), ("there", "a"), ("other", "b")):
        monkeypatch.setattr(traffic_matrix, "load_policy", {path: trained("lane", sha256)}.get)
        evaluator = TrafficMatrix("matrix", {**SMALL, "options": {"checkpoint": path}})
        assert evaluator.resolved()["options"]["checkpoint"] == path
        hashes[path] = sha256_of(evaluator.hashed())
    assert hashes["here"] == hashes["there"] != hashes["other"]
    assert sha256_of(TrafficMatrix("matrix", SMALL).hashed()) not in hashes.values()


@pytest.mark.parametrize("checkpoint, sentence", [
    ("nowhere.npz", "eval.checkpoint is 'nowhere.npz', which is no trained policy: "),
    ("lane", "eval.checkpoint is 'lane', which is no trained policy: source is 'lane'; it must be 'generalist', "
             "'hidden_exit', a file"),
    (1, "eval.checkpoint is 1; it must be a text or None"), ("", "eval.checkpoint is ''; it must be a text or None")])
def test_traffic_that_is_no_checkpoint_is_one_sentence(checkpoint, sentence):
    with pytest.raises(ConfigError, match=sentence):
        TrafficMatrix("matrix", {**SMALL, "options": {"checkpoint": checkpoint}})


def test_the_path_of_traffic_may_have_a_variable(monkeypatch):
    monkeypatch.setenv("RUNS", "/runs")
    monkeypatch.setattr(traffic_matrix, "load_policy", {"/runs/town": trained("lane")}.get)
    settings = {"type": "traffic_matrix", "eval": {"checkpoint": "$RUNS/town"}}
    assert evaluator_of("matrix", settings).chosen["checkpoint"] == "/runs/town"
    monkeypatch.delenv("RUNS")
    with pytest.raises(ConfigError, match="checkpoint of eval.matrix has '.RUNS/town'; the environment has no"):
        evaluator_of("matrix", settings)


def test_a_scene_keeps_its_sdc_as_ego_where_it_can_drive():
    evaluator = TrafficMatrix("matrix", SMALL)
    scene = evaluator.sources()[0].read()[0]
    chosen, = evaluator.variants(scene)
    with Batch(scene, config=DriveConfig()) as batch:
        assert chosen.sdc == batch.roles[0].objects[0]
    assert evaluator.variants(chosen)[0] is chosen


# ---- robustness ----


def test_every_level_is_played_in_the_same_worlds():
    found = Robustness("robust", SMALL).rollout("lane")
    worlds = {group: found.rows["world"][found.rows["group"] == group].tolist() for group in found.groups}
    assert len(worlds) == 1 + sum(map(len, LEVELS.values())) and len(set(map(tuple, worlds.values()))) == 1
    clean, delayed = found.groups["clean"], found.groups["action_delay_steps=4"]
    assert clean["distance_m"] != delayed["distance_m"]
    assert found.coverage.played == 3 * len(worlds) and not found.failures


def test_a_hidden_gain_differs_from_vehicle_to_vehicle_and_is_what_a_batch_with_it_draws():
    """Full throttle: with a gain of 0.5 to 1.5 each vehicle comes as far as its own gain lets it."""
    ignore = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
    config = {**SMALL, "env": {"trial_steps": 10, **ignore}}
    full = lambda batch: np.full(batch.num_agents, 90)
    found = Robustness("robust", config).rollout(full)
    drawn = MultiScenario("drawn", {**config, "env": {**config["env"], "hidden": {"throttle_gain": (0.5, 1.5)}}})
    of_group = found.rows["group"] == "throttle_gain=0.5"
    assert found.rows["distance_m"][of_group].tolist() == drawn.rollout(full).rows["distance_m"].tolist()
    ratio = found.rows["distance_m"][of_group] / found.rows["distance_m"][found.rows["group"] == "clean"]
    assert ratio.min() < 0.98 and ratio.max() > 1.02 and "area_throttle_gain" in found.metrics


def test_a_packaged_policy_is_traffic():
    """Among traffic of its own kind, a policy drives as it does where it drives all agents."""
    policy = load_policy("generalist")
    settings = {"type": "traffic_matrix", "scenes": ["intersection"], "scene_count": 1, "scene_agents": 3,
                "env": {"trial_steps": 30}, "eval": {"checkpoint": "generalist"}}
    found = evaluator_of("matrix", settings, policy.config).rollout(policy)
    one, other = (found.rows["distance_m"][found.rows["group"] == group] for group in ("checkpoint", "self"))
    assert one.tobytes() == other.tobytes() and one[0] > 1.0


def test_the_area_is_that_of_trapezoids_from_no_disturbance_to_the_highest_level():
    """Mean scores 1, 0.5 and 0 at levels 0, 0.5 and 2: (0.5 * 0.75 + 1.5 * 0.25) / 2 = 0.375."""
    groups = ["clean"] * 2 + ["noise=0.5"] * 2 + ["noise=2"] * 2
    rows = {"group": np.array(groups, object), "trial": np.zeros(6, np.int32), "scene_key": np.array([0, 1] * 3),
            "score": np.array([1, 1, 1, 0, 0, 0], np.float32)}
    quantities = {name: one for name, one in quantities_of({
        "scene": rows["group"], "seed": rows["trial"], "world": rows["trial"], "agent": rows["trial"],
        "object_id": rows["trial"], "kind": rows["group"], "outcome": rows["group"], **rows}).items()}
    found = figures_of(rows["scene_key"], quantities)
    assert found["area_noise"].value == pytest.approx(0.375) and found["area_noise"].n == 6
    assert found["score"].value == 0.5


def test_a_level_that_the_config_does_not_allow_is_a_failure_and_the_others_are_played():
    found = Robustness("robust", {**SMALL, "env": {"trial_steps": 20, "observation": {"partners": 0}}}).rollout(
        "constant")
    assert [failure.scene for failure in found.failures] == [
        "partner_blindness=0.5", "partner_blindness=1", "partner_position_noise_m=0.5", "partner_position_noise_m=1",
        "partner_position_noise_m=2", "partner_dropout=0.25", "partner_dropout=0.5"]
    assert "with observation.partners 0 it must be 0" in found.failures[0].error
    gains = {f"{name}_gain={level}" for name in ("steering", "throttle", "brake") for level in (0.25, 0.5)}
    assert set(found.groups) == {"clean", "phantom_braking=0.5", "phantom_braking=1", "action_delay_steps=1",
                                 "action_delay_steps=2", "action_delay_steps=4", *gains}
    assert found.coverage.expected == 3 * (1 + 2 + 2 + 3 + 6 + 3 + 2) and found.coverage.played == 3 * (1 + 2 + 3 + 6)
    assert not found.coverage.complete


@pytest.mark.parametrize("kind, env, sentence", [
    (TrafficMatrix, {"control": "all"}, "env.control of eval.own is 'all'; .* of type 'traffic_matrix' sets it to each "
     "of 'sdc', 'vehicles' in turn"),
    (TrafficMatrix, {"others": "idm"}, "sets it to each of 'replay', 'static', 'idm' in turn"),
    (HumanReplay, {"control": "vehicles"}, "env.control of eval.own is 'vehicles'; .* sets it to 'sdc'"),
    (Robustness, {"detailed_metrics": False}, "env.detailed_metrics of eval.own is False; .* sets it to True")])
def test_a_value_that_the_type_would_replace_is_an_error(kind, env, sentence):
    with pytest.raises(ConfigError, match=sentence):
        kind("own", {"env": env})
    with pytest.raises(ConfigError, match=sentence):
        evaluator_of("own", {"type": kind.type, "env": env})
