"""Is a wrong value in any field of a checkpoint's config.json an error that names the field?"""

import copy
import json
import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")


from checkpoint_damage import Damage, copied_to, error_of, two_checkpoints

from baselines.tools import checkpoint
from baselines.tools.checkpoint import CheckpointError

NULLABLE = {"scene_agents", "env_groups", "dt_s", "trial_steps", "agents_per_world", "goal_max_speed_mps",
            "goal_heading_tolerance_rad", "goal_reveal_s", "stopped_share_limit", "kv_heads", "gamma_trial",
            "target_kl", "torch_threads", "compile", "minutes", "final_entropy_weight", "start_from", "best_metric",
            "evaluators", "evaluate_scenes", "reward_function", "wandb_project", "wandb_name", "policy"}
"""Fields of a config that may be null."""

TEXT = {"folder", "device", "unit", "start_from", "best_metric", "evaluators", "reward_function", "policy"}
"""Fields for which any text is valid."""

FLAGS = {"action_mask", "draw_reward_weights", "reward_terms", "critic_observations", "detailed_metrics",
         "traffic_controls", "idm_lane_changes", "reveal_hidden", "previous_action", "anneal", "recompute_context",
         "resume", "overwrite", "compile", "tensorboard", "wandb", "progress", "deterministic"}

SIGNED = {"goal", "collision", "offroad", "progress_per_m", "time_per_s", "reverse_per_m", "lane_alignment_per_s",
          "lane_offset_per_m_s", "wrong_way_per_m", "over_speed_per_m", "discomfort_per_s", "time_to_collision_per_s",
          "red_light", "stop_sign", "distance_to_log_per_m_s", "route_progress_per_m", "min_speed_mps", "target_kl"}
"""Numbers that may be negative."""

PARTS = {"drive", "observation", "image", "sensors", "disturbances", "dynamics",
         "hidden", "idm", "mobil", "reward", "reward_ranges", "scene_parameters", "scene_counts", "scene_agents_of"}
"""Configs nested in those of the trainer, and other objects; missing fields get their frozen values."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return two_checkpoints(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def alone(run, tmp_path_factory):
    return copied_to(tmp_path_factory.mktemp("alone"), run[1])


def places(value, path=()):
    """The path of everything in a JSON value, objects and lists too; of a list its ends and its middle."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        # One loop checks all of the 64 features of a layout.
        if isinstance(value, dict) or key in (0, len(value) // 2, len(value) - 1):
            yield from places(entry, (*path, key))


def put(about, path, value):
    """A copy with another value at a path, without the entry if the value is `put` itself; all else is shared."""
    about = parent = copy.copy(about)
    for key in path[:-1]:
        parent[key] = copy.copy(parent[key])
        parent = parent[key]
    if value is put:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return about


def may_be(path, was, value):
    """Whether the value is valid for the field."""
    name, of_config = path[-1], path[0] == "config"
    if value is put:
        return of_config and len(path) > 1 and name not in range(99)
    if value is None:
        return name in NULLABLE and of_config
    if value == {}:
        return name in PARTS or of_config and len(path) <= 2
    if value == {"a": 1}:
        return name == "scene_parameters"
    if value == "x":
        return name in TEXT or path[:3] == ("config", "env", "scenes") and len(path) == 4
    if value is True:
        return name in FLAGS
    if value == -1:
        return name in SIGNED or name == "low"
    return value == was


@pytest.mark.parametrize("value", [put, None, "x", [], {}, True, -1, math.nan, math.inf, 10**400, [[None]], {"a": 1}],
                         ids=lambda value: "missing" if value is put else str(value)[:9])
def test_a_damaged_field_is_named(alone, value):
    newest = alone
    count = 0
    with Damage(newest / "config.json") as damage:
        whole = json.loads(damage.whole)
        for path in places(whole):
            was = whole
            for key in path:
                was = was[key]
            if was == value and isinstance(was, bool) is isinstance(value, bool):
                continue
            damage.path.write_text(json.dumps(put(whole, path, value)))
            if may_be(path, was, value):
                try:
                    checkpoint.about(newest)
                except CheckpointError:  # a part of a config that does not fit the rest
                    error_of(checkpoint.about, newest, "config.json", repr(str(newest)))
                continue
            names = [name for name in path if isinstance(name, str)]
            error_of(checkpoint.about, newest, "config.json", repr(str(newest)),
                 *names[-1:] if path[-1:] != ("layout",) and path[:2] != ("semantics", "layout") else ["layout"])
            count += 1
    assert count > 50


def test_legal_values_are_accepted(alone):
    """The values that `may_be` calls valid are accepted: rejecting everything would pass the test above."""
    newest = alone
    with Damage(newest / "config.json") as damage:
        whole = json.loads(damage.whole)
        for path, value in ((("config", "run", "folder"), "x"), (("config", "ppo", "target_kl"), None),
                            (("config", "run", "compile"), True), (("config", "run", "seed"), put),
                            (("config", "env", "drive", "reward", "goal"), -1), (("config", "run"), {}),
                            (("config", "env", "scene_agents"), None)):
            damage.path.write_text(json.dumps(put(whole, path, value)))
            checkpoint.about(newest)


@pytest.mark.parametrize("path, value, names", [
    (("schema",), True, "schema is True; this version reads 1"),
    (("schema",), 1.0, "schema is 1.0; this version reads 1"),
    (("semantics", "actions", "space"), {"discrete": [92]}, "weights.safetensors: 'actor."),
    (("semantics", "actions", "space"), {"multi_discrete": [7, 13]}, "weights.safetensors"),
    (("semantics", "actions", "space"), {"box": [-1.0, 1.0, 2]}, "weights.safetensors"),
    (("semantics", "actions", "space"), {"box": [1.0, -1.0, 2]}, "semantics.actions.space"),
    (("semantics", "actions", "space"), {"discrete": [91, 91]}, "semantics.actions.space"),
    (("semantics", "actions", "space"), {"discrete": [2**60]}, "semantics.actions.space"),
    (("semantics", "actions", "space"), {"discrete": [91], "box": [0, 1, 2]}, "semantics.actions.space"),
    (("config", "model", "width"), 32, "weights.safetensors: "),
    (("config", "model", "width"), 2**30, "config.model and semantics.layout make no policy"),
    (("config", "model", "layers"), 10**12, "tensors; config.model.layers is 1000000000000"),
    (("config", "model", "layers"), 3, "weights.safetensors lacks 'trunks.0.layers.2."),
    (("config", "model", "layers"), 1, "weights.safetensors has 'trunks.0.layers.1."),
    (("config", "ppo", "credit"), "stop", "semantics.credit is 'through'; its config and layout require 'stop'"),
    (("counters", "update"), 7, "counters.update is 7; the name of its folder says 2"),
    (("counters", "more"), 7, "counters has 'more'"),
    (("files", "../weights.safetensors"), "0" * 64, "files is {"),
    (("files", "rank-0.safetensors"), put, "files does not name 'rank-0.safetensors', which exists"),
    (("ranks",), 2, "the files of all 2 ranks or of none"),
])
def test_fields_that_contradict_each_other_are_an_error(run, path, value, names):
    newest = run[1]
    with Damage(newest / "config.json") as damage:
        damage.path.write_text(json.dumps(put(json.loads(damage.whole), path, value)))
        error_of(checkpoint.load_policy, newest, names)
