"""Does each rule hold by which sections of a TOML file become evaluators?"""

import copy

import pytest

from drive_env import ConfigError, DriveConfig
from drive_env.evaluation.config import (
    EVALUATORS, as_tables, evaluator_of, load_sections, overrides_of, resolved_section, runnable)

SECTIONS = {
    "root": {"scene_count": 3, "scenes": ["town", "intersection"], "env": {"trial_steps": 50, "max_trials": 2}},
    "middle": {"inherits": "root", "type": "multi_scenario", "seed": 4, "env": {"trial_steps": 60}},
    "leaf": {"inherits": "middle", "scenes": ["oval"], "env": {"observation": {"partners": 3}}},
    "off": {"type": "multi_scenario", "enabled": False},
}


def written(tmp_path, text):
    path = tmp_path / "eval.toml"
    path.write_text(text)
    return path


def test_sections_of_a_file_become_evaluators(tmp_path):
    sections = load_sections(written(tmp_path, """
        [eval.quick]
        scene_count = 2
        env.trial_steps = 30
        [eval.crossings]
        type = "multi_scenario"
        inherits = "quick"
        scenes = ["intersection"]
        scene_agents = 2
    """))
    assert runnable(sections) == ["crossings"]
    found = evaluator_of("crossings", resolved_section("crossings", sections)).rollout("constant")
    assert found.coverage.played == 2 and found.rows["trial_length"].max() <= 30 and found.evaluator == "crossings"


def test_a_section_without_a_type_is_a_template_and_never_runs():
    assert runnable(SECTIONS) == ["middle", "leaf"]
    with pytest.raises(ConfigError, match="type of eval.root is None; it must be one of 'multi_scenario', 'human_rep"):
        evaluator_of("root", resolved_section("root", SECTIONS))


def test_parents_are_merged_from_the_root_on_tables_by_key_and_lists_as_a_whole():
    assert resolved_section("leaf", SECTIONS) == {
        "type": "multi_scenario", "seed": 4, "scene_count": 3, "scenes": ["oval"],
        "env": {"trial_steps": 60, "max_trials": 2, "observation": {"partners": 3}}}


def test_the_command_line_is_above_all_sections():
    found = resolved_section("leaf", SECTIONS, {"env.trial_steps": 7, "seed": 9, "env.observation.roads": 2})
    assert found["env"] == {"trial_steps": 7, "max_trials": 2, "observation": {"partners": 3, "roads": 2}}
    assert found["seed"] == 9


def test_a_cycle_is_an_error_that_names_all_its_sections():
    sections = {"a": {"inherits": "b"}, "b": {"inherits": "c"}, "c": {"inherits": "b"}}
    with pytest.raises(ConfigError, match="inherits forms a cycle: a -> b -> c -> b$"):
        resolved_section("a", sections)


def test_an_unknown_parent_is_an_error_with_the_known_names():
    with pytest.raises(ConfigError, match="inherits of eval.a is 'x'; it must be one of 'a', 'b'"):
        resolved_section("a", {"a": {"inherits": "x"}, "b": {}})
    with pytest.raises(ConfigError, match="evaluator is 'x'; it must be one of 'root', 'middle', 'leaf', 'off'"):
        resolved_section("x", SECTIONS)


def test_siblings_share_nothing_with_each_other_or_their_parent():
    """Twelve siblings once all got the last one's folder, since each wrote into the parent's table."""
    sections = {"parent": {"env": {"observation": {"partners": 1}}, "scenes": ["town"]},
                "one": {"inherits": "parent"}, "two": {"inherits": "parent"}}
    before = copy.deepcopy(sections)
    one, two = (resolved_section(name, sections) for name in ("one", "two"))
    one["env"]["observation"]["partners"] = 2
    one["scenes"].append("oval")
    assert sections == before and two == {"env": {"observation": {"partners": 1}}, "scenes": ["town"]}


@pytest.mark.parametrize("section, sentence", [
    ({"scene": "town"}, "eval.a has no key 'scene'; did you mean scenes"),
    ({"options": {}}, "eval.a has no key 'options'"),
    ({"env": {"trial_step": 3}}, "DriveConfig has no field 'trial_step'; did you mean trial_steps"),
    ({"env": 3}, "env of eval.a is 3; it must be a table"), ({"clean": 1}, "clean of eval.a is 1; it must be true"),
    ({"type": "human_replay", "env": {"control": "all"}},
     "env.control of eval.a is 'all'; an evaluator of type 'human_replay' sets it to 'sdc'"),
    ({"eval": {"vehicle": 1}}, "eval.vehicle is 1; an evaluator of type 'multi_scenario' has the options scores")])
def test_a_key_that_does_not_fit_is_one_sentence(section, sentence):
    with pytest.raises(ConfigError, match=sentence):
        evaluator_of("a", resolved_section("a", {"a": {"type": "multi_scenario", **section}}))


def test_clean_values_are_below_everything_that_somebody_set_and_above_the_training():
    training = DriveConfig(disturbances={"partner_blindness": 0.5, "phantom_braking": 0.5, "duration_s": 2.0},
                           sensors={"partner_dropout": 0.2}, trial_steps=33)
    sections = {"a": {"type": "multi_scenario"},
                "b": {"type": "multi_scenario", "env": {"disturbances": {"phantom_braking": 0.1}}},
                "c": {"type": "multi_scenario", "clean": False}}
    a, b, c = (evaluator_of(name, resolved_section(name, sections), training).env for name in sections)
    assert a.disturbances == DriveConfig().disturbances and a.sensors == DriveConfig().sensors
    assert a.traffic_controls and not a.draw_reward_weights and a.trial_steps == 33
    assert (b.disturbances.phantom_braking, b.disturbances.partner_blindness) == (0.1, 0.0)
    assert c.disturbances == training.disturbances and c.sensors == training.sensors and not c.traffic_controls


def test_paths_are_expanded_or_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_LOGS", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("EVAL_NOWHERE", raising=False)
    found = lambda scenes: list(evaluator_of("a", {"type": "multi_scenario", "scenes": scenes}).config.scenes)
    assert found(["$EVAL_LOGS/a", "${EVAL_LOGS}b", "~/c", "town", "./d"]) == [
        f"{tmp_path}/a", f"{tmp_path}b", f"{tmp_path}/c", "town", "./d"]
    with pytest.raises(ConfigError, match="has '\\$EVAL_NOWHERE/a'; the environment has no variable EVAL_NOWHERE"):
        found(["$EVAL_NOWHERE/a"])
    with pytest.raises(ConfigError, match="has '~nobody-of-this-name/a'; there is no such home folder"):
        found("~nobody-of-this-name/a")


def test_the_scenes_of_one_generator_have_the_config_of_its_task():
    found = evaluator_of("a", {"type": "multi_scenario", "scenes": "parking"}).env
    assert found.dynamics.min_speed_mps < 0
    assert evaluator_of("a", {"type": "multi_scenario", "scenes": ["parking", "town"]}).env.dynamics.min_speed_mps == 0
    assert evaluator_of("a", {"type": "multi_scenario", "scenes": "parking", "env": {"trial_steps": 9}}
                        ).env.trial_steps == 9


@pytest.mark.parametrize("text, sentence", [
    ("[eval", "it cannot be read as TOML"), ("", r"it has the tables \(none\); it must have sections"),
    ("[evil.a]", "it has the tables evil; it must"),
    ("[eval]\na = 3", r"eval.a is 3; it must be a section \[eval.a\]")])
def test_a_file_that_is_no_config_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(ConfigError, match=sentence):
        load_sections(written(tmp_path, text))
    with pytest.raises(ConfigError, match="nowhere.toml: it cannot be read as TOML: No such file"):
        load_sections(tmp_path / "nowhere.toml")


def test_overrides_of_the_command_line_have_the_types_of_toml():
    assert overrides_of(["seed=3", "env.dt_s=0.2", "clean=false", "scenes=[town, ./a]", "env.on_goal=stop"]) == {
        "seed": 3, "env.dt_s": 0.2, "clean": False, "scenes": ["town", "./a"], "env.on_goal": "stop"}
    for wrong in ("seed", "=3"):
        with pytest.raises(ConfigError, match=f"--set is '{wrong}'; it must be key=value"):
            overrides_of([wrong])


@pytest.mark.parametrize("keys", [("env.reward", "env.reward.goal"), ("env.reward.goal", "env.reward"),
                                  ("env", "env.dt_s"), ("eval.a", "eval.a.b")])
def test_a_setting_and_a_part_of_it_are_an_error_that_names_both(keys):
    """The one that came later once replaced the other."""
    whole, part = sorted(keys)
    with pytest.raises(ConfigError, match=f"^the command line sets {whole} and {part}, which is a part of it; at most"):
        resolved_section("leaf", SECTIONS, dict.fromkeys(keys, 3))


def test_settings_of_one_table_are_joined_with_each_other():
    assert as_tables("a", {"env.reward.goal": 1, "env.rewards": 2, "env.reward.time": 3, "seed": 4}) == {
        "env": {"reward": {"goal": 1, "time": 3}, "rewards": 2}, "seed": 4}


def test_several_values_of_the_command_line_are_a_list_in_brackets():
    films = {"type": "multi_scenario", **overrides_of(["render_views=[replay, follow]"])}
    assert evaluator_of("a", films).config.render_views == ("replay", "follow")
    for text in ("render_views=[follow,replay]", "render_views=replay,follow", "render_views=[]"):
        with pytest.raises(ConfigError, match="^render_views is .*; it must be a tuple of some of 'replay', 'scene'"):
            evaluator_of("a", {"type": "multi_scenario", **overrides_of([text])})


def test_a_setting_without_effect_is_an_error():
    """`--show` once showed a scene_order that is never played; keys of sections were ignored on the command line."""
    for env, sentence in (({"scene_order": "random"}, "env.scene_order of eval.a is 'random'; .* sets it to 'cycle'"),
                          ({"detailed_metrics": False}, "env.detailed_metrics of eval.a is False; .* sets it to True")):
        with pytest.raises(ConfigError, match=sentence):
            evaluator_of("a", {"type": "multi_scenario", "env": env})
    assert evaluator_of("a", {"type": "multi_scenario"}).resolved()["env"]["scene_order"] == "cycle"
    for key in ("inherits", "enabled"):
        with pytest.raises(ConfigError, match=f"the command line has the key '{key}'; it must be in a section"):
            resolved_section("leaf", SECTIONS, {key: "root"})


def test_every_type_has_its_name():
    assert all(kind.type == name for name, kind in EVALUATORS.items())


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "[eval.a.env." + ".".join("a" * 3000) + "]"])
def test_deep_nesting_is_one_sentence(tmp_path, text):
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="deep.toml: it cannot be read as TOML: maximum recursion depth"):
        load_sections(path)


def test_options_under_the_name_of_the_field_are_not_lost():
    with pytest.raises(ConfigError, match="eval.a has the key 'options'; the options of a type must be in its table"):
        evaluator_of("a", {"type": "multi_scenario", "options": {"scores": True}})
