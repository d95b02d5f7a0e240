"""Is every episode played exactly once, and do the figures, files and shards of an evaluation agree with its trials?"""

import dataclasses
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from schema import problems
from still_town import still_town

from drive_env import ActionError, Batch, CallError, ConfigError, DriveConfig, SceneError, generate_scene, save_scene
from drive_env.behaviours import behaviour_scenes
from drive_env.evaluation import (
    EvalResult, Evaluator, EvaluatorConfig, HumanReplay, MultiScenario, Probe, Source, TrafficMatrix, load_result,
    merge)
from drive_env.evaluation import episodes as episodes_module
from drive_env.evaluation.config import evaluator_of
from drive_env.evaluation.result import settings_that_differ, sha256_of
from drive_env.evaluation.sources import part_of, sample_of, sources_of
from drive_env.policies import policy_maker

SMALL = {"scenes": ("intersection",), "scene_count": 5, "scene_agents": 4, "env": {"trial_steps": 40}}
"""Few vehicles, short trials."""


def small(**changes):
    return MultiScenario("small", {**SMALL, **changes})


def same_figures(one: EvalResult, other: EvalResult) -> bool:
    """Bit for bit: a figure is a tuple of floats."""
    return (one.metrics, one.groups) == (other.metrics, other.groups) and all(
        (one.rows[name] == other.rows[name]).all() or one.rows[name].dtype.kind == "f"
        and one.rows[name].tobytes() == other.rows[name].tobytes() for name in one.rows)


# ---- every episode once ----


@pytest.mark.parametrize("worlds, episodes, trials", [(64, 1, 1), (2, 1, 2), (3, 2, 1)])
def test_every_trial_of_every_agent_has_one_row(worlds, episodes, trials, monkeypatch):
    monkeypatch.setattr(episodes_module, "WORLDS_AT_ONCE", worlds)
    found = small(episodes=episodes, env={"trial_steps": 40, "max_trials": trials}).rollout("random")
    rows = found.rows
    places = set(zip(rows["world"].tolist(), rows["agent"].tolist(), rows["trial"].tolist(), strict=True))
    assert places == {(world, agent, trial) for world in range(5 * episodes) for agent in range(4)
                      for trial in range(trials)}
    assert len(rows["world"]) == len(places) == found.metrics["score"].n
    assert found.coverage.to_dict() == {"expected": 5 * episodes, "played": 5 * episodes, "unique_scenes": 5,
                                        "stalled": 0, "complete": True}
    assert found.agent_steps == rows["trial_length"].sum()
    names = {(rows["scene_key"][row], rows["scene"][row]) for row in range(len(rows["scene"]))}
    assert names == {(number, f"intersection/{10_000_000 + number}") for number in range(5)}


def test_a_row_is_the_trial_that_a_batch_of_this_world_alone_plays():
    """The replay of any line: scene, seed and world give the same bytes, also of what each world draws for itself."""
    hidden = {"trial_steps": 40, "hidden": {"steering_gain": (0.5, 1.5)}, "max_trials": 2}
    evaluator = small(seed=3, env=hidden)
    found = evaluator.rollout("random").rows
    for world in (0, 3):
        scene = generate_scene("intersection", seed=10_000_000 + world, agents=4)
        with Batch(scene, config=evaluator.env, seed=3, world_ids=[world], trial_records=2) as batch:
            act = policy_maker("random", 3)(batch)
            batch.reset()
            ends = 0
            while ends < 2:
                batch.step(act(batch))
                ends += int(batch.trial_ended[0])
            records = batch.trial_records()
        own = found["world"] == world
        order = np.lexsort([records["trial"], records["agent"]])
        for name in ("score", "distance_m", "reward", "trial_length"):
            assert found[name][own].tobytes() == records[name][order].tobytes(), name


def test_a_batch_of_another_size_gives_the_same_figures(monkeypatch):
    scenes = [generate_scene("town", seed=seed, agents=2 + seed % 3) for seed in range(7)]
    evaluator = MultiScenario("towns", {"scenes": scenes, "env": {"trial_steps": 30, "disturbances": {
        "phantom_braking": 0.5}}})
    whole = evaluator.rollout("random")
    monkeypatch.setattr(episodes_module, "WORLDS_AT_ONCE", 3)
    assert same_figures(whole, evaluator.rollout("random"))


def test_steps_of_a_world_that_is_through_are_not_counted():
    """Worlds whose trials end when a quarter of their agents have stopped, some soon and some late."""
    found = small(env={"trial_steps": 150, "stopped_share_limit": 0.25}).rollout("random")
    steps = [found.rows["trial_length"][found.rows["world"] == world].max() for world in range(5)]
    assert len(set(steps)) > 1 and found.agent_steps == found.rows["trial_length"].sum()


def test_an_episode_is_stalled_after_three_times_the_steps_of_its_trials():
    """Of a world whose trials never end as far as the loop can see: 2 trials of 7 steps each."""
    class Hidden(Probe):
        steps = 0

        def __init__(self, batch):
            self.batch = batch

        def after_step(self, playing):
            Hidden.steps += 1
            self.batch.trial_ended[:] = False

    class Endless(MultiScenario):
        def probe(self, batch):
            return Hidden(batch)

    ignore = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
    config = {**SMALL, "scene_count": 1, "env": {"trial_steps": 7, "max_trials": 2, **ignore}}
    found = Endless("endless", config).rollout("constant")
    assert Hidden.steps == 3 * 2 * 7
    assert found.coverage.to_dict() == {"expected": 1, "played": 0, "unique_scenes": 0, "stalled": 1,
                                        "complete": False}


@pytest.mark.parametrize("does", ["step", "reset"])
def test_a_policy_that_moves_the_batch_itself_is_an_error(does):
    """The steps that it made were once missing from the comfort of a trial; after its resets no episode ended."""
    def act(batch):
        actions = np.full(batch.num_agents, 45)
        batch.step(actions) if does == "step" else batch.reset()
        return actions

    with pytest.raises(CallError, match="the policy has stepped or reset the batch; it must only return the actions"):
        small().rollout(act)


def test_an_episode_that_never_ends_is_counted_as_stalled(monkeypatch):
    """A guard that no world of this env can reach, so it is lowered: half of the steps of the trials."""
    monkeypatch.setattr(episodes_module, "STALL_FACTOR", 0.5)
    config = {"scenes": ("intersection",), "scene_count": 3, "scene_agents": 2, "env": {
        "trial_steps": 40, "on_collision": "ignore", "on_offroad": "ignore"}}
    found = MultiScenario("slow", config).rollout("constant")
    assert found.coverage.stalled == 3 - found.coverage.played > 0 and not found.coverage.complete
    assert found.coverage.unique_scenes == len(set(found.rows["world"].tolist())) == found.coverage.played


def test_records_that_are_not_measured_are_dropped_and_the_filters_of_warnings_stay(monkeypatch):
    """The filters belong to all threads of the process. Here one of two worlds goes on into a second episode."""
    calls = []
    with monkeypatch.context() as patched:
        patched.setattr(warnings, "catch_warnings", None)
        patched.setattr(warnings, "warn", lambda *arguments, **options: calls.append(arguments))
        found = small(env={"trial_steps": 150, "stopped_share_limit": 0.25}).rollout("random")
    steps = [found.rows["trial_length"][found.rows["world"] == world].max() for world in range(5)]
    assert min(steps) * 2 < max(steps) and len(found.rows["world"]) == 20 and not calls


def test_planning_time_leaves_out_worlds_whose_episode_has_ended():
    """Two worlds, of which one ends after 20 steps; the policy measures its own time."""
    spent_s = []

    def slow(batch):
        began = time.perf_counter()
        time.sleep(0.002)
        spent_s.append(time.perf_counter() - began)
        return np.full(batch.num_agents, 45)

    scenes = behaviour_scenes("cut_in", (0, 1))
    tracks = ("x_m", "y_m", "z_m", "heading_rad", "vx_mps", "vy_mps", "valid")
    objects = scenes[0].objects
    short = dataclasses.replace(objects, **{name: getattr(objects, name)[:21] for name in tracks})
    ignore = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
    config = {"scenes": [dataclasses.replace(scenes[0], objects=short), scenes[1]], "env": ignore}
    found = HumanReplay("logs", {**config, "options": {"scores": False}}).rollout(slow)
    assert sorted(found.rows["trial_length"].tolist()) == [20, len(spent_s)] and len(spent_s) > 100
    expected_s = sum(spent_s[:20]) + sum(spent_s[20:]) / 2
    assert found.seconds["policy"] == pytest.approx(expected_s, rel=0.1)
    assert found.planning_ms == pytest.approx(1000 * expected_s / (20 + len(spent_s)), rel=0.1)


def test_what_a_policy_changes_in_the_worlds_is_in_its_result():
    """The hash is that of the settings, so that results can be compared."""
    evaluator = HumanReplay("logs", {"scenes": behaviour_scenes("cut_in", (0,))})
    logged, constant = evaluator.rollout("replay"), evaluator.rollout("constant")
    assert logged.config_sha256 == constant.config_sha256 and constant.policy_env == {}
    assert logged.policy_env["dynamics"]["model"] == "state" and logged.policy_env["action_type"] == "continuous"
    assert logged.config["env"]["dynamics"]["model"] != "state"


def test_totals_count_what_has_rows():
    found = small(episodes=2, env={"trial_steps": 40, "max_trials": 3}).rollout("random")
    assert found.totals == {"episodes": 10, "agents": 40, "trials": 120,
                            "distance_km": pytest.approx(found.metrics["distance_m"].value * 120 / 1000, rel=1e-6)}


# ---- what cannot be played ----


@pytest.fixture
def folder(tmp_path):
    """Two towns, a file that is none, and a town in which nothing can drive, in the order of their names."""
    save_scene(generate_scene("town", seed=1, agents=2), tmp_path / "a.drv")
    (tmp_path / "b.drv").write_bytes(b"no scene at all")
    save_scene(still_town(), tmp_path / "c.drv")
    save_scene(generate_scene("town", seed=2, agents=3), tmp_path / "d.drv")
    return tmp_path


def test_a_scene_that_is_listed_twice_is_an_error(folder):
    """It once counted as two independent scenes, so that intervals were too narrow."""
    town = generate_scene("town", seed=1, agents=2)
    (folder / "link.drv").symlink_to(folder / "a.drv")
    for scenes, name in ((["intersection", "oval", "intersection"], "intersection"), ([town, town], "town/1"),
                         ([str(folder / "a.drv"), folder / "a.drv"], "a.drv"), (["example_log"] * 2, "example_log"),
                         ([str(folder / "d.drv"), str(folder / "link.drv"), str(folder / "a.drv")], "a.drv")):
        with pytest.raises(SceneError, match=f"scenes has '.*{name}' twice; each scene may be listed once, and `episo"):
            MultiScenario("twice", {"scenes": scenes}).rollout("constant")
    twin = dataclasses.replace(town)  # another scene, whatever its name
    twins = MultiScenario("twins", {"scenes": [town, twin], "env": {"trial_steps": 5}}).rollout("constant")
    assert twins.coverage.played == twins.coverage.unique_scenes == 2


def test_a_scene_that_cannot_be_played_is_not_covered_and_leaves_the_others_as_they_are(folder):
    config = {"scenes": str(folder), "env": {"trial_steps": 20}}
    found = MultiScenario("files", config).rollout("random")
    assert found.coverage.to_dict() == {"expected": 4, "played": 2, "unique_scenes": 2, "stalled": 0,
                                        "complete": False}
    assert [failure.error.partition(":")[0] for failure in found.failures] == ["SceneError"] * 2
    assert "b.drv" in found.failures[0].scene and "no object that could drive" in found.failures[1].error
    assert sorted(set(found.rows["world"].tolist())) == [0, 3]
    (folder / "b.drv").unlink()
    (folder / "c.drv").unlink()
    alone = MultiScenario("files", config).rollout("random")
    first = lambda result: [result.rows[name][:2].tolist() for name in ("world", "reward", "distance_m")]
    assert first(found) == first(alone)


def test_where_nothing_can_be_played_the_first_error_is_raised(folder):
    for name in ("a.drv", "d.drv"):
        (folder / name).unlink()
    with pytest.raises(SceneError, match=r"b\.drv"):
        MultiScenario("files", {"scenes": str(folder)}).rollout("random")


def test_an_error_of_the_policy_is_no_failure_of_a_scene():
    with pytest.raises(ActionError, match="shape"):
        small().rollout(lambda batch: np.zeros(3, np.int64))
    with pytest.raises(ConfigError, match="scene intersection/10000000 has no logs"):
        small().rollout("replay")


@pytest.mark.parametrize("actions, sentence", [
    (lambda count: np.zeros(3, np.int64), r"actions have shape \(3,\); they must be an array of shape \(6,\)"),
    (lambda count: [[1], [2, 3]] * (count // 2) + [1] * (count % 2), "actions are ragged"),
    (lambda count: np.full(count, 45.5), "actions have dtype float64; it must be an integer type"),
    (lambda count: None, "actions are None")])
def test_wrong_actions_are_the_same_sentence_beside_traffic_and_where_episodes_are_shown(actions, sentence, tmp_path):
    """A fraction of an action was once cut off where the ego drives among the lane driver. Only such a batch, of six
    agents, gets wrong actions here."""
    act = lambda batch: actions(6) if batch.num_agents == 6 else np.full(batch.num_agents, 45)
    config = {**SMALL, "scene_count": 2, "scene_agents": 3}
    shown = {"render": True, "render_scenes": 1, "render_steps": 9}
    for evaluator in (TrafficMatrix("matrix", config), MultiScenario("shown", {**config, **shown})):
        with pytest.raises(ActionError, match=sentence):
            evaluator.rollout(act, out=tmp_path / "result.json")


# ---- shards and files ----


@pytest.mark.parametrize("shards", [2, 3, 7])
def test_merged_shards_are_the_evaluation_that_was_not_split_bit_for_bit(shards, tmp_path):
    evaluator = small(episodes=2, env={"trial_steps": 40, "max_trials": 2, "hidden": {"throttle_gain": (0.5, 1.5)}})
    whole = evaluator.rollout("random")
    for shard in range(shards):
        evaluator.rollout("random", shard=(shard, shards)).save(tmp_path / f"{shard}.json")
    parts = [load_result(tmp_path / f"{shard}.json") for shard in reversed(range(shards))]
    assert not any(part.coverage.complete for part in parts)
    merged = merge(parts)
    assert same_figures(whole, merged) and merged.agent_steps == whole.agent_steps
    assert merged.coverage == whole.coverage


def test_shards_play_every_source_once():
    for count, shards in ((10, 3), (2, 5), (7, 1)):
        places = [place for shard in range(shards) for place in part_of(count, (shard, shards))]
        assert sorted(places) == list(range(count))


@pytest.mark.parametrize("shard, sentence", [((2, 2), "shard is 2; it must be a whole number from 0 to 1"),
                                             ((0, 0), "the number of shards is 0"),
                                             (3, "shard is 3; it must be a pair")])
def test_a_shard_that_there_is_not_is_an_error(shard, sentence):
    with pytest.raises(ConfigError, match=sentence):
        small().rollout("random", shard=shard)


def test_results_that_do_not_fit_are_not_merged():
    one, other = (small().rollout("random", shard=(shard, 2)) for shard in (0, 1))
    constant, seeded = small().rollout("constant", shard=(1, 2)), small(seed=1).rollout("random", shard=(1, 2))
    for parts, sentence in (([], "results is empty"), ([one, one], "shard 0 of 2 is in two results"),
                            ([one, constant], "policy is 'constant' in one result and 'random' in another"),
                            ([one, seeded], "the settings seed differ between two results; only shards of one")):
        with pytest.raises(ConfigError, match=sentence):
            merge(parts)
    assert not merge([one]).coverage.complete and merge([one, other]).coverage.complete


def test_results_of_another_version_are_not_merged_and_a_merged_one_keeps_where_it_was_made(tmp_path):
    """Of another version, an episode may be another one; the processor is that of the planning times."""
    for shard in range(2):
        small().rollout("random", shard=(shard, 2)).save(tmp_path / f"{shard}.json")
    about = json.loads((tmp_path / "1.json").read_text())

    def merged_with(package, machine):
        (tmp_path / "1.json").write_text(json.dumps(about | {"package": about["package"] | package} | machine))
        return merge(load_result(tmp_path / f"{shard}.json") for shard in range(2))

    for change, sentence in (({"version": "0.0.0"}, "the version of drive-env is '0.0.0' in one result and"),
                             ({"git": "abc"}, "the commit of drive-env is 'abc' in one result and")):
        if about["package"][next(iter(change))] is not None:
            with pytest.raises(ConfigError, match=sentence):
                merged_with(change, {})
    found = merged_with({}, {"machine": {"cpu": "another one"}}).to_dict()
    assert found["machine"]["cpu"] == f"{about['machine']['cpu']}; another one"
    assert found["package"] == about["package"]


@pytest.mark.parametrize("results", [3, [3], {"a": 1}, [None]])
def test_what_is_no_result_is_not_merged(results):
    with pytest.raises(ConfigError, match="results is .*; it must hold an EvalResult or more"):
        merge(results)
    with pytest.raises(ConfigError, match="results is .*; it must hold an EvalResult or more"):
        merge(small(scene_count=1).rollout("constant"))


@pytest.mark.parametrize("arguments, sentence", [
    ({"checkpoint": "abc"}, "checkpoint is 'abc'; it must have path, sha256, update and steps, or be None"),
    ({"checkpoint": {"path": "a"}}, "checkpoint is .*; it must have path, sha256, update and steps"),
    ({"checkpoint": {"path": "a", "sha256": None, "update": 0, "steps": 0}}, "sha256 of checkpoint is None; it must"),
    ({"checkpoint": {"path": "a", "sha256": "b", "update": -1, "steps": 0}}, "update of checkpoint is -1; it must"),
    ({"policy_name": 3}, "policy_name is 3; it must be a text or None"),
    ({"update": -1}, "update is -1; it must be a whole number from 0")])
def test_what_a_result_could_not_store_is_one_sentence_before_anything_is_played(arguments, sentence, monkeypatch):
    monkeypatch.setattr(MultiScenario, "sources", None)
    with pytest.raises(ConfigError, match=sentence):
        small().rollout("random", **arguments)


def test_settings_that_differ_are_named_by_their_dotted_names():
    one, other = small().resolved(), small(seed=1, scene_count=2, env={"trial_steps": 9}).resolved()
    assert settings_that_differ(one, other) == ["scene_count", "seed", "env.trial_steps"]
    assert settings_that_differ({"a": {"b": 1}}, {"a": 2, "c": None}) == ["a", "c"]
    assert settings_that_differ(one, small().resolved()) == []


def test_a_saved_result_is_read_back_with_every_bit(tmp_path):
    found = small(env={"trial_steps": 40, "max_trials": 2}).rollout("random")
    found.save(tmp_path / "result.json")
    read = load_result(tmp_path / "result.json")
    assert same_figures(found, read) and read.to_dict() == found.to_dict()
    assert [column.dtype for column in read.rows.values()] == [column.dtype for column in found.rows.values()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.episodes.csv", "result.json"]


@pytest.mark.parametrize("damage, sentence", [
    (lambda path: path.unlink(), "No such file"), (lambda path: path.write_text("{"), "Expecting property name"),
    (lambda path: path.write_text("[]"), r"its schema is \[\]; it must be 1"),
    (lambda path: path.write_text('{"schema": 2}'), "its schema is 2; it must be 1"),
    (lambda path: path.write_text('{"schema": 1}'), "it lacks 'episodes_csv'"),
    (lambda path: path.with_suffix(".episodes.csv").unlink(), "rows of a result cannot be read"),
    (lambda path: path.with_suffix(".episodes.csv").write_text("scene,world\n"), "its columns must begin with source"),
    (lambda path: path.with_suffix(".episodes.csv").write_text(""), "its columns must begin with source")])
def test_a_damaged_result_is_one_sentence(damage, sentence, tmp_path):
    path = tmp_path / "result.json"
    small(scene_count=1).rollout("random").save(path)
    damage(path)
    with pytest.raises(ConfigError, match=sentence):
        load_result(path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupt_while_a_result_is_saved_leaves_the_one_before(error, tmp_path, monkeypatch):
    one, other = (small(seed=seed).rollout("random") for seed in (1, 2))
    one.save(tmp_path / "result.json")

    def stopped(*arguments, **options):
        raise error

    monkeypatch.setattr(json, "dumps", stopped)
    with pytest.raises(error):
        other.save(tmp_path / "result.json")
    monkeypatch.undo()
    assert load_result(tmp_path / "result.json").metrics == one.metrics
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.episodes.csv", "result.json"]


def test_rows_that_were_cut_short_or_are_of_another_result_are_not_read(tmp_path):
    """The figures of a merged result come from its rows: lost ones once changed them without a word."""
    path, rows = tmp_path / "result.json", tmp_path / "result.episodes.csv"
    small(scene_count=1).rollout("constant").save(path)
    text = rows.read_text()
    for changed in (text[: text[:-1].rindex("\n") + 1], text + text.splitlines(keepends=True)[-1]):
        rows.write_text(changed)
        with pytest.raises(ConfigError, match="result.json: not a result .* are not those that were saved with it"):
            load_result(path)
    rows.write_text(text)
    assert len(load_result(path).rows["world"]) == len(text.splitlines()) - 1

    path.rename(tmp_path / "renamed.json")
    small(scene_count=1, seed=1).rollout("random").save(path)
    with pytest.raises(ConfigError, match="renamed.json: .*result.episodes.csv are not those"):
        load_result(tmp_path / "renamed.json")


@pytest.mark.parametrize("change, sentence", [
    (lambda data: data["coverage"].update(played="1"), "played is '1', which has another type"),
    (lambda data: data.update(agent_steps=None), "agent_steps is None, which has another type"),
    (lambda data: data["coverage"].update(played=True), "played is True, which has another type"),
    (lambda data: data["coverage"].update(played=2), "its coverage has 2 played episodes of 1 expected ones"),
    (lambda data: data["coverage"].update(more=2), "coverage has 'more', which is unknown"),
    (lambda data: data["seconds"].update(total="1"), "seconds is .*; it must have the numbers total, play, policy"),
    (lambda data: data["seconds"].pop("play"), "seconds is .*; it must have the numbers total, play, policy, render"),
    (lambda data: data["seconds"].update(play=float("nan")), "it has the number NaN"),
    (lambda data: data.update(failures=[{"scene": 1, "error": ""}]), "scene is 1, which has another type"),
    (lambda data: data.update(renders="a"), "renders is 'a', which has another type"),
    (lambda data: data.update(episodes_csv="../a.csv"), "episodes_csv is '../a.csv'; it must be the name of a file"),
    (lambda data: data["shard"].update(count=0), "the number of shards is 0; it must be 1 or more"),
    (lambda data: data["shard"].update(played=[1]), r"its shards are \[1\]; they must be different ones from 0 to 0"),
    (lambda data: data["shard"].update(played=["0"]), "shard is '0', which has another type"),
    (lambda data: data["config"].update(seed=3), "config_sha256 is not the hash of its config")])
def test_a_result_with_changed_entries_is_one_sentence(change, sentence, tmp_path):
    path = tmp_path / "result.json"
    small(scene_count=1).rollout("constant").save(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=f"result.json: not a result of an evaluation: {sentence}"):
        load_result(path)


def test_an_error_names_the_file_that_cannot_be_read_once(tmp_path):
    path, rows = tmp_path / "result.json", tmp_path / "result.episodes.csv"
    small(scene_count=1).rollout("constant").save(path)
    for missing, what in ((rows, "the rows of a result"), (path, "it")):
        missing.unlink()
        with pytest.raises(ConfigError, match=f"^{missing}: {what} cannot be read: No such file or directory$"):
            load_result(path)


# ---- settings ----


def test_a_sample_depends_on_the_name_and_the_seed_alone():
    sources = sources_of("intersection", seeds=20)
    drawn = lambda name, seed, count=5: [source.name for source in sample_of(sources, name, count, seed)]
    assert drawn("a", 0) == drawn("a", 0) and len(set(drawn("a", 0))) == 5
    assert drawn("a", 0) != drawn("b", 0) and drawn("a", 0) != drawn("a", 1)
    assert drawn("a", 0, None) == [source.name for source in sources]
    with pytest.raises(ConfigError, match="sample is 21; it must be a whole number from 1 to 20"):
        drawn("a", 0, 21)


def test_a_sample_of_an_evaluator_is_the_same_in_every_shard_and_beside_any_other_evaluator():
    config = {**SMALL, "scene_count": 30, "sample": 4, "env": {"trial_steps": 5}}
    whole = MultiScenario("few", config).rollout("constant")
    sources = {source.name for source in sample_of(sources_of("intersection", seeds=30), "few", 4, 0)}
    assert set(whole.rows["source"]) == sources and len(sources) == 4
    assert set(MultiScenario("other", config).rollout("constant").rows["source"]) != sources
    parts = [MultiScenario("few", config).rollout("constant", shard=(shard, 2)) for shard in range(2)]
    assert same_figures(merge(parts), whole)


def test_the_hash_of_a_config_is_that_of_its_canonical_json():
    """By the shell: printf '{"a":[1,2.5,null],"b":"x"}' | sha256sum"""
    assert sha256_of({"b": "x", "a": [1, 2.5, None]}) == (
        "6739d783db2ab3fd0e308ed566ca042752f3cab5f9516e0e6d9e411041c24c13")
    assert small().rollout("random").config_sha256 == small().rollout("constant").config_sha256
    assert small().rollout("random").config_sha256 != small(seed=1).rollout("random").config_sha256


@pytest.mark.parametrize("config, sentence", [
    ({"scene": "town"}, "EvaluatorConfig has no field 'scene'; did you mean scenes"),
    ({"scenes": []}, r"scenes is \(\); it must be a generator's name"), ({"episodes": 0}, "episodes is 0; it must be"),
    ({"options": {"vehicles": "sdc"}},
     "eval.vehicles is 'sdc'; an evaluator of type 'multi_scenario' has the options scores"),
    ({"env": {"trial_steps": 0}}, "trial_steps is 0"), ("town", "config is 'town'; it must be an EvaluatorConfig")])
def test_a_setting_that_does_not_fit_is_one_sentence(config, sentence):
    with pytest.raises(ConfigError, match=sentence):
        MultiScenario("name", config)


def test_a_subclass_overrides_hooks_alone():
    """One that plays each scene as it is and once more, and counts steps."""
    class Counted(Evaluator):
        type = "counted"

        def variants(self, scene):
            return [scene, scene]

        def probe(self, batch):
            class Steps(Probe):
                def after_reset(self):
                    self.counts = np.zeros((batch.num_agents, 1), np.float32)

                def after_step(self, playing):
                    self.counts[:, 0] += ~batch.invalid_step & playing[batch.world_of_agent]

                def columns(self):
                    return {"counted_steps": self.counts}

            return Steps()

    found = Counted("counted", EvaluatorConfig.from_dict(SMALL)).rollout("random")
    assert found.coverage.played == 10 and found.coverage.unique_scenes == 5
    assert (found.rows["counted_steps"] == found.rows["trial_length"]).all()
    assert found.metrics["counted_steps"].unit == "steps"


def test_a_shard_without_scenes_is_empty_even_if_no_condition_is_allowed():
    """The shard that has the scene raises the error."""
    class Refused(Evaluator):
        type = "refused"

        def conditions(self):
            return {"state": {"dynamics": {"model": "state"}, "action_type": "discrete"}}

    evaluator = Refused("refused", {**SMALL, "scene_count": 1})
    with pytest.raises(ConfigError, match="action_type is 'discrete'"):
        evaluator.rollout("random", shard=(0, 2))
    empty = evaluator.rollout("random", shard=(1, 2))
    assert empty.coverage.expected == empty.coverage.played == 0 and len(empty.failures) == 1


def test_scenes_of_one_file_are_different_scenes_in_different_worlds():
    class Pairs(Evaluator):
        type = "pairs"

        def sources(self):
            return [Source("pair", lambda seed=seed: [generate_scene("intersection", seed=2 * seed + one, agents=2)
                                                      for one in range(2)]) for seed in range(2)]

    found = Pairs("pairs", {"episodes": 2, "env": {"trial_steps": 10}}).rollout("constant")
    worlds = {name: sorted(set(found.rows[name].tolist())) for name in ("scene_key", "world", "scene")}
    assert worlds == {"scene_key": [0, 1, 2, 3], "world": list(range(8)),
                      "scene": [f"intersection/{seed}" for seed in range(4)]}
    assert found.coverage.unique_scenes == 4 and found.coverage.played == 8


# ---- human replay ----


@pytest.fixture(scope="module")
def logged():
    return behaviour_scenes("cut_in", (0, 1))


def test_log_replay_does_not_diverge_and_reaches_the_goal(logged):
    found = HumanReplay("logs", {"scenes": logged, "env": {"max_trials": 2}}).rollout("replay")
    for name, value in {"log_divergence_m": 0.0, "score": 1.0, "trial_0_score": 1.0, "trial_1_score": 1.0,
                        "ada_delta_trial_1_minus_0": 0.0}.items():
        assert found.metrics[name].value == pytest.approx(value, abs=1e-3), name
    assert found.metrics["score"].n == 4 and found.metrics["trial_1_score"].n == 2
    assert found.rows["object_id"].tolist() == [scene.objects.id[scene.sdc] for scene in logged for _ in range(2)]


def test_divergence_from_the_log_is_the_mean_distance(logged):
    scene, ignore = logged[0], {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}
    found = HumanReplay("logs", {"scenes": scene, "env": ignore}).rollout("constant")
    objects, sdc = scene.objects, scene.sdc
    steps = np.arange(objects.frame_count)
    speed_mps = np.hypot(objects.vx_mps[0, sdc], objects.vy_mps[0, sdc])
    along = np.array([np.cos(objects.heading_rad[0, sdc]), np.sin(objects.heading_rad[0, sdc])])
    x_m, y_m = (tracks[0, sdc] + speed_mps * scene.dt_s * steps * part
                for tracks, part in zip((objects.x_m, objects.y_m), along, strict=True))
    distance_m = np.hypot(x_m - objects.x_m[:, sdc], y_m - objects.y_m[:, sdc])[1:]
    expected = distance_m[objects.valid[1:, sdc]].mean()
    assert found.metrics["log_divergence_m"].value == pytest.approx(expected, rel=1e-3)


def test_without_an_sdc_each_vehicle_is_driven_in_turn(logged):
    scene = dataclasses.replace(logged[0], sdc=-1)
    config = {"scenes": [scene, logged[1]], "env": {"trial_steps": 10}}
    found, drivable = HumanReplay("logs", config).rollout("constant"), {}
    for one in (scene, logged[1]):
        with Batch(one, config=DriveConfig()) as batch:
            drivable[one.name] = batch.roles[0].objects[: batch.roles[0].num_agents].tolist()
    of_first = found.rows["scene"] == scene.name
    assert sorted(found.rows["object_id"][of_first].tolist()) == sorted(
        scene.objects.id[drivable[scene.name]].tolist())
    assert (~of_first).sum() == 1 and found.coverage.unique_scenes == 2
    each = HumanReplay("logs", {**config, "options": {"vehicles": "each"}}).rollout("constant")
    assert len(each.rows["world"]) == sum(map(len, drivable.values()))


def test_trials_are_those_of_the_training_and_the_others_begin_their_logs_again_in_each(logged):
    evaluator = evaluator_of("logs", {"type": "human_replay", "scenes": [logged[0]], "env": {"trial_steps": 12}},
                             DriveConfig(max_trials=3, disturbances={"phantom_braking": 0.5}))
    assert evaluator.env.max_trials == 3
    found, objects = evaluator.rollout("lane"), logged[0].objects
    assert sorted(found.rows["trial"].tolist()) == [0, 1, 2] and "ada_delta_trial_2_minus_0" in found.metrics
    batch, act = evaluator.open_episode("lane", 0)
    with batch:
        batch.reset()
        starts = [batch.vehicles(0)]
        while len(starts) < 3:
            batch.step(act(batch))
            if batch.trial_ended[0]:
                moved = batch.vehicles(0)
                batch.step(act(batch))  # the restart
                starts.append(batch.vehicles(0))
        in_order = batch.roles[0].objects  # the agents, then all others
    others = [place for place in range(1, len(in_order)) if moved["x_m"][place] != starts[0]["x_m"][place]]
    assert others and in_order[0] == logged[0].sdc
    for start in starts:
        assert start["x_m"].tolist() == objects.x_m[0, in_order].tolist()


def test_a_scene_without_a_log_is_a_failure(logged):
    found = HumanReplay("logs", {"scenes": [logged[0], "intersection"], "scene_count": 1}).rollout("constant")
    assert found.coverage.played == 1 and found.coverage.expected == 2
    assert found.failures[0].error.startswith("SceneError: scene intersection/10000000 has no log; an evaluator of")


# ---- the form of the JSON ----


def test_a_result_has_the_form_of_its_schema(tmp_path, logged):
    schema = json.loads(Path(episodes_module.__file__).with_name("result.schema.json").read_text())
    result = HumanReplay("logs", {"scenes": [logged[0], "intersection"], "scene_count": 1}).rollout(
        "constant", checkpoint={"path": "a", "sha256": "b", "update": 1, "steps": 2})
    result.save(tmp_path / "result.json")
    data = json.loads((tmp_path / "result.json").read_text())
    assert problems(data, schema) == []
    for place, value in (("seed", -1), ("metrics", {"score": {"value": 1}}), ("further", 1), ("created", 3)):
        assert problems({**data, place: value}, schema) != [], place
    del data["coverage"]
    assert problems(data, schema) != []
