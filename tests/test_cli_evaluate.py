"""Does `drive-env evaluate` show, write and merge what the evaluators return?"""

import json

import pytest
from command import cells, run
from typer.testing import CliRunner

from drive_env import ConfigError, DriveError, SceneError, generate_scene, save_scene
from drive_env.behaviours import behaviour_scenes
from drive_env.cli import show
from drive_env.cli.app import app
from drive_env.evaluation import MultiScenario, load_result

SMALL = ("--scenes", "intersection", "--set", "scene_count=4", "--set", "scene_agents=3", "--set", "env.trial_steps=40")


def code_of(*arguments):
    """Exit code and output."""
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return done.exit_code, done.output


def test_the_table_shows_a_policy_beside_those_without_training(tmp_path):
    out = tmp_path / "result.json"
    output = run("evaluate", "constant", *SMALL, "--trials", "2", "--out", str(out))
    header = next(line.split() for line in output.splitlines() if line.startswith("metric"))
    assert header == ["metric", "constant", "95%", "interval", "random", "idm", "lane", "n"]
    found = load_result(out)
    assert found.config["env"]["max_trials"] == 2 and found.type == "multi_scenario"
    score, offroad = found.metrics["score"], found.metrics["offroad"]
    assert cells(output, "score")[0] == f"{score.value:.3g}" and cells(output, "score")[-1] == str(score.n)
    assert cells(output, "offroad")[1] == f"[{offroad.ci95[0]:.3g}, {offroad.ci95[1]:.3g}]"
    assert "ada_delta_trial_1_minus_0" in output and "episodes: 4 of 4, 4 scenes" in output
    random = MultiScenario("multi_scenario", {"scenes": ["intersection"], "scene_count": 4, "scene_agents": 3,
                                              "env": found.config["env"]}).rollout("random")
    assert cells(output, "mean_speed_mps")[2] == f"{random.metrics['mean_speed_mps'].value:.3g}"


@pytest.mark.parametrize("words, scenes, listed", [
    (("random", "--scenes", "oval", "town"), ["oval", "town"], ["multi_scenario"]),
    (("--scenes", "oval", "town", "--show"), ["oval", "town"], ["multi_scenario"]),
    (("--scenes", "oval", "--scenes", "town", "--show"), ["oval", "town"], ["multi_scenario"]),
    (("--scenes=oval", "town", "random", "--show"), ["oval", "town"], ["multi_scenario"]),
    (("--scenes", "oval", "random", "--show"), ["oval"], ["multi_scenario"]),
    (("--scenes", "oval", "random", "--set", "scene_count=2", "seed=3"), ["oval"], ["multi_scenario"]),
    (("--evaluator", "robustness", "multi_scenario", "--scenes", "oval", "--show"), ["oval"],
     ["robustness", "multi_scenario"]),
    (("random", "--evaluator", "robustness", "--evaluator", "multi_scenario", "--scenes", "oval", "town"),
     ["oval", "town"], ["robustness", "multi_scenario"]),
    (("--scenes", "oval", "--trials", "2", "random"), ["oval"], ["multi_scenario"]),
    (("--no-bounds", "random", "--scenes", "oval", "town"), ["oval", "town"], ["multi_scenario"]),
    (("random", "highway", "--scenes", "oval"), None, None)])
def test_an_option_takes_several_values_at_once_or_one_after_the_other(words, scenes, listed):
    code, output = code_of("evaluate", *words, *(() if "--show" in words else ("--show",)))
    if scenes is None:
        assert code == 2
        return
    found, text = [], output
    while text.strip():
        settings, end = json.JSONDecoder().raw_decode(text)
        found, text = [*found, settings], text[end:].lstrip()
    assert code == 0 and [settings["name"] for settings in found] == listed
    assert all(settings["scenes"] == scenes for settings in found)
    assert found[0]["seed"] == (3 if "seed=3" in words else 0)


def test_a_function_of_the_working_directory_is_evaluated(tmp_path, monkeypatch):
    (tmp_path / "own_braking.py").write_text("def act(batch):\n    return [0] * batch.num_agents\n")
    monkeypatch.chdir(tmp_path)
    run("evaluate", "own_braking:act", *SMALL, "--no-bounds", "--out", "own.json")
    found = load_result("own.json")
    assert found.policy == "own_braking:act"
    plain = MultiScenario("multi_scenario", {"scenes": ["intersection"], "scene_count": 4, "scene_agents": 3, "env":
                                             found.config["env"]}).rollout(lambda batch: [0] * batch.num_agents)
    assert found.metrics == plain.metrics


def test_without_a_policy_the_last_word_that_is_no_scene_is_the_policy():
    with pytest.raises(ConfigError, match="POLICY is missing"):
        run("evaluate", "--scenes", "oval", "town")
    with pytest.raises(ConfigError, match="policy is 'fast'; it must be"):
        run("evaluate", "--scenes", "oval", "fast")


def test_a_merged_result_in_another_folder_finds_the_films_of_its_parts(tmp_path):
    part, whole = tmp_path / "parts" / "part.json", tmp_path / "whole" / "whole.json"
    part.parent.mkdir()
    whole.parent.mkdir()
    run("evaluate", "random", "--scenes", "narrow", "--set", "scene_count=2", "--failures", "1", "--out", str(part))
    run("merge", str(part), "--out", str(whole))
    shown = [path.parent / json.loads(path.read_text())["renders"][0]["file"] for path in (part, whole)]
    assert shown[0].is_file() and shown[0].samefile(shown[1]) and shown[0] != shown[1]


def test_shards_are_merged_to_the_file_of_the_whole(tmp_path):
    whole, parts = tmp_path / "whole.json", [tmp_path / f"{shard}.json" for shard in range(2)]
    run("evaluate", "random", *SMALL, "--no-bounds", "--out", str(whole))
    for shard, part in enumerate(parts):
        run("evaluate", "random", *SMALL, "--no-bounds", "--shard", f"{shard}/2", "--out", str(part))
    assert "episodes: 4 of 4" in run("merge", *map(str, parts), "--out", str(tmp_path / "merged.json"))
    one, two = (json.loads(path.read_text()) for path in (whole, tmp_path / "merged.json"))
    for part in ("metrics", "coverage", "config_sha256", "agent_steps"):
        assert one[part] == two[part]
    assert whole.with_suffix(".episodes.csv").read_text() == (tmp_path / "merged.episodes.csv").read_text()
    assert code_of("merge", str(parts[0]), "--out", str(tmp_path / "half.json"))[0] == 3


def test_a_command_does_not_write_over_the_results_that_it_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("evaluate", "random", *SMALL, "--no-bounds", "--out", "one.json")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    for command in ("merge", "hardness"):
        with pytest.raises(ConfigError, match="--out is '.*one.json', which is one of the results to read; it must"):
            run(command, "one.json", "--out", str(tmp_path / "one.json"))
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_an_episode_that_cannot_be_played_is_exit_code_3(tmp_path):
    save_scene(generate_scene("town", seed=1, agents=2), tmp_path / "a.drv")
    (tmp_path / "b.drv").write_bytes(b"none")
    code, output = code_of("evaluate", "random", "--scenes", str(tmp_path), "--no-bounds", "--set", "env.trial_steps=5")
    assert code == 3 and "episodes: 1 of 2, 1 scene\n" in output
    assert f"not played: {tmp_path}/b.drv: SceneError: " in " ".join(output.split("\n"))


def test_logged_scenes_are_evaluated_with_their_sdc(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    save_scene(behaviour_scenes("cut_in", (0,))[0], logs / "cut_in.drv")
    output = run("evaluate", "lane", "--scenes", str(logs), "--control", "sdc", "--trials", "2")
    header = next(line.split() for line in output.splitlines() if line.startswith("metric"))
    assert header[1:] == ["lane", "95%", "interval", "random", "constant", "replay", "idm", "n"]
    assert cells(output, "log_divergence_m")[-3] == "0" and cells(output, "score")[-3] == "1"


def test_failures_are_shown_beside_the_result_of_the_policy_alone(tmp_path, monkeypatch):
    out = tmp_path / "result.json"
    output = run("evaluate", "random", *SMALL, "--out", str(out), "--failures", "3")
    page = tmp_path / "films" / "result" / "failures.html"
    assert f"failures: {page}, 3 files\n" in output and page.is_file()
    found = load_result(out)
    assert sorted(path.name for path in page.parent.iterdir()) == sorted(
        [page.name, *(render.file.rpartition("/")[2] for render in found.renders)])
    monkeypatch.setattr("drive_env.evaluation.films.FILM_LIMIT", 1)
    output = run("evaluate", "random", *SMALL, "--out", str(out), "--failures", "3", "--no-bounds")
    assert "1 file; 2 left, since an evaluator shows at most 10 and begins none after 60 s" in output


CONFIG = """
[eval.quick]
type = "multi_scenario"
scenes = ["intersection"]
scene_count = 2
scene_agents = 2
env.trial_steps = 10

[eval.seeded]
inherits = "quick"
seed = 5

[eval.off]
inherits = "quick"
enabled = false
"""


def test_the_sections_of_a_config_are_listed_shown_and_run(tmp_path):
    path = tmp_path / "eval.toml"
    path.write_text(CONFIG)
    assert run("evaluate", "--config", str(path), "--list").split() == [
        "quick", "multi_scenario", "seeded", "multi_scenario"]
    shown = json.loads(run("evaluate", "--config", str(path), "--evaluator", "off", "--show", "--set", "seed=7"))
    assert (shown["name"], shown["seed"], shown["env"]["trial_steps"], shown["enabled"]) == ("off", 7, 10, False)
    run("evaluate", "constant", "--config", str(path), "--no-bounds", "--out", str(tmp_path / "results"))
    found = {one.name: load_result(one) for one in (tmp_path / "results").glob("*.json")}
    assert {name: result.seed for name, result in found.items()} == {"quick.json": 0, "seeded.json": 5}


@pytest.mark.parametrize("arguments, sentence", [
    (("random", "--shard", "2/2"), "--shard is '2/2'; it must be I/N with 0 <= I < N"),
    (("random", "--shard", f"0/{'9' * 5000}"), "--shard is '0/9"),
    (("random", "--set", "scene_count=1", "--set", "scene_count =2"), "--set has the key 'scene_count' twice"),
    (("best",), "policy is 'best'; it must be a function or one of"),
    ((), "POLICY is missing; it must be a name"),
    (("random", "--evaluator", "x"), "evaluator is 'x'; it must be one of"),
    (("random", "--out", "a.txt"), "--out is 'a.txt'; it must end in .json"),
    (("random", "--set", "scene=3"), "the command line has no key 'scene'; did you mean scenes"),
    (("random", "--evaluator", "multi_scenario", "--evaluator", "human_replay", "--out", "a.json"),
     "--out is 'a.json'; for 2 evaluators it must be a folder"),
    (("random", "--evaluator", "multi_scenario", "--evaluator", "multi_scenario"),
     "--evaluator is 'multi_scenario', 'multi_scenario'; each may be named once"),
    (("random", "--failures", "3"), "--out is not set; with --failures or render = true it must be the result (.json)"),
    (("random", "--failures", "3", "--set", "render=false"), "--failures and --set render are both set"),
    (("random", "--set", "render=true"), "render_scenes is None; with render = True it must be a whole number from 1"),
    (("random", "--scenes", "oval", "--set", "scenes=town"), "--scenes and --set scenes are both set"),
    (("random", "--trials", "2", "--set", "env.max_trials=3"), "--trials and --set env.max_trials are both set")])
def test_an_option_that_does_not_fit_is_one_sentence_before_anything_is_played(arguments, sentence, monkeypatch):
    monkeypatch.setattr(MultiScenario, "rollout", None)
    with pytest.raises(ConfigError) as raised:
        run("evaluate", *arguments)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("text, sentence", [
    ("[eval.a]\nscene_count = 1\n", "eval.toml: no section is run; it must have one with a type that is enabled"),
    ('[eval."../a"]\ntype = "multi_scenario"\n[eval.b]\ntype = "multi_scenario"\n',
     "the name of an evaluator is '../a'; for a file of results it must consist of at most 100")])
def test_sections_that_do_not_fit_are_one_sentence_before_anything_is_played(text, sentence, tmp_path, monkeypatch):
    monkeypatch.setattr(MultiScenario, "rollout", None)
    (tmp_path / "eval.toml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        run("evaluate", "random", "--config", str(tmp_path / "eval.toml"), "--out", str(tmp_path / "results"))
    assert sentence in str(raised.value)


def test_a_file_that_cannot_be_written_is_one_sentence_before_anything_is_played(tmp_path, monkeypatch):
    monkeypatch.setattr(MultiScenario, "rollout", None)
    (tmp_path / "result.episodes.csv").mkdir()
    with pytest.raises(ConfigError, match="--out is '.*result.episodes.csv'; it must be that of a regular file"):
        run("evaluate", "random", "--out", str(tmp_path / "result.json"))
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--out is '.*file/results', but '.*file' exists and is no folder; it must"):
        run("evaluate", "random", "--evaluator", "multi_scenario", "--evaluator", "human_replay", "--out",
            str(tmp_path / "file" / "results"))
    (tmp_path / "films").write_text("")
    with pytest.raises(ConfigError, match="--out is '.*films/shown', but '.*films' exists and is no folder; it must"):
        run("evaluate", "random", "--failures", "1", "--out", str(tmp_path / "shown.json"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "films", "result.episodes.csv"]


def test_a_sample_of_the_command_may_be_none(tmp_path):
    (tmp_path / "eval.toml").write_text('[eval.few]\ntype = "multi_scenario"\nsample = 2\n')
    shown = run("evaluate", "random", "--config", str(tmp_path / "eval.toml"), "--set", "sample=none", "--show")
    assert json.loads(shown)["sample"] is None


def test_an_error_of_an_evaluator_leaves_the_results_of_those_before_and_after_it(tmp_path):
    path, out = tmp_path / "eval.toml", tmp_path / "results"
    path.write_text('[eval.logs]\ntype = "human_replay"\ninherits = "quick"\n' + CONFIG)
    with pytest.raises(DriveError, match="^1 of 3 evaluators failed: logs: SceneError: scene .* has no log; an evalua"):
        run("evaluate", "constant", "--config", str(path), "--no-bounds", "--out", str(out))
    assert sorted(one.name for one in out.glob("*.json")) == ["quick.json", "seeded.json"]
    with pytest.raises(SceneError, match="^scene .* has no log"):
        run("evaluate", "constant", "--config", str(path), "--no-bounds", "--evaluator", "logs")


def test_a_table_that_is_wider_than_the_terminal_keeps_its_columns(capsys):
    """At 80 columns the table of a logged scene once lost its last column, the number of trials."""
    names = [f"column{place}" for place in range(20)]
    show.table("wide", names, [[f"value{place}" for place in range(20)]])
    printed = capsys.readouterr().out.splitlines()
    assert [line.split() for line in printed[-2:]] == [names, [f"value{place}" for place in range(20)]]


def test_the_table_has_what_a_type_of_evaluator_measures_beside_the_score():
    output = run("evaluate", "constant", *SMALL, "--evaluator", "robustness", "--no-bounds")
    assert len(cells(output, "area_phantom_braking")) == 3
    output = run("evaluate", "constant", "--evaluator", "behaviour_class", "--scenes", "cut_in", "--set",
                 "scene_count=2", "--no-bounds")
    assert len(cells(output, "shows_behaviour")) == 3


def test_results_of_the_same_episodes_are_compared_by_their_intervals(tmp_path):
    paths = {name: str(tmp_path / f"{name}.json") for name in ("lane", "random", "constant")}
    for name, path in paths.items():
        run("evaluate", name, *SMALL, "--no-bounds", "--out", path)
    output = run("compare", *paths.values())
    found = {name: load_result(path).metrics for name, path in paths.items()}
    assert [line.split() for line in output.splitlines() if line.startswith("metric")] == [
        ["metric", "1:", "lane", "2:", "random", "3:", "constant", "apart", "from", "1"]]
    for metric in ("mean_speed_mps", "progress"):
        low, high = found["lane"][metric].ci95
        apart = [str(number) for number, name in ((2, "random"), (3, "constant"))
                 if found[name][metric].ci95[0] > high or found[name][metric].ci95[1] < low]
        row = next(line for line in output.splitlines() if line.split()[:1] == [metric])
        assert row.split("]")[-1].strip() == (", ".join(apart) or "-"), metric
        assert f"{found['random'][metric].value:.3g} [{found['random'][metric].ci95[0]:.3g}, " in row
    assert "apart" in output and "2: " in output and "episodes: 4 of 4" in output


def test_results_of_several_policies_are_a_matrix_of_ego_and_traffic(tmp_path):
    paths = [str(tmp_path / f"{name}.json") for name in ("lane", "random")]
    changes = ("--set", "env.trial_steps=150", "env.goal_radius_m=20", "scene_count=4", "scene_agents=3")
    for path, name in zip(paths, ("lane", "random"), strict=True):
        shown = run("evaluate", name, "--scenes", "intersection", *changes, "--evaluator", "traffic_matrix",
                    "--no-bounds", "--out", path)
        groups = load_result(path).groups
        figures = [groups["static"][metric] for metric in ("score", "at_fault_collision")]
        line = next(line for line in shown.splitlines() if line.startswith("static "))
        assert line.split()[1] == f"{figures[0].value:.3g}" and line.split()[-1] == str(figures[0].n) == "4"
        assert f"  {figures[1].value:.3g}  " in line
    lines = run("compare", *paths).splitlines()
    for metric in ("score", "at_fault_collision"):
        start = lines.index(f"{metric} by group")
        assert lines[start + 1].split() == ["group", "1:", "lane", "2:", "random", "apart", "from", "1"]
        for line, group in zip(lines[start + 2: start + 7], sorted(groups), strict=True):
            figures = [load_result(path).groups[group][metric] for path in paths]
            assert line.split()[0] == group
            for figure in figures:
                assert f" {figure.value:.3g} [{figure.ci95[0]:.3g}, {figure.ci95[1]:.3g}]" in line
            apart = figures[0].ci95[0] > figures[1].ci95[1] or figures[0].ci95[1] < figures[1].ci95[0]
            assert line.split()[-1] == ("2" if apart else "-")
    assert not any("in this result or in 1 alone" in line for line in lines)


def test_results_of_other_trials_or_of_another_version_are_compared_with_a_sentence(tmp_path):
    """Of files that could not be read at one time, and of a version that may simulate otherwise."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for seed in range(2):
        save_scene(generate_scene("town", seed=seed, agents=2), logs / f"{seed}.drv")
    evaluator = MultiScenario("files", {"scenes": str(logs), "env": {"trial_steps": 5}})
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    evaluator.rollout("constant").save(one)
    (logs / "1.drv").write_bytes(b"damaged")
    evaluator.rollout("random").save(two)
    about = json.loads(two.read_text())
    about["package"] |= {"version": "0.0.0", "git": "abc", "dirty": True}
    two.write_text(json.dumps(about))
    lines = run("compare", str(one), str(two)).splitlines()
    assert "2: 2 trials are in this result or in 1 alone, so the figures are of different trials" in lines
    assert any(line.startswith("2: made by drive-env 0.0.0, commit abc with changes, and 1 by drive-env 0.1")
               for line in lines)
    assert not any(line.startswith("1: made by") for line in lines)


def test_results_of_other_episodes_are_not_compared(tmp_path):
    one, two = str(tmp_path / "1.json"), str(tmp_path / "2.json")
    run("evaluate", "random", *SMALL, "--no-bounds", "--out", one)
    run("evaluate", "random", *SMALL, "--no-bounds", "--set", "seed=1", "--out", two)
    with pytest.raises(ConfigError, match="2.json: its settings seed differ from those of .*1.json; only results "
                                          "of the same episodes can be compared"):
        run("compare", one, two)
    with pytest.raises(ConfigError, match="RESULT is .*; it must be two results or more"):
        run("compare", one)


def test_a_shard_is_not_compared_with_a_whole_evaluation(tmp_path):
    """Both may be the first part: of one, and of several. All shards together are the whole."""
    evaluator = MultiScenario("held", {"scenes": ["oval"], "scene_count": 2, "env": {"trial_steps": 2}})
    for name, shard in (("whole", (0, 1)), ("part", (0, 2))):
        evaluator.rollout("constant", shard=shard).save(tmp_path / f"{name}.json")
    with pytest.raises(ConfigError, match="part.json: it has shard 0 of 2, and .*whole.json has all scenes; only resu"):
        run("compare", str(tmp_path / "whole.json"), str(tmp_path / "part.json"))
    evaluator.rollout("constant", shard=(1, 2)).save(tmp_path / "last.json")
    run("merge", str(tmp_path / "part.json"), str(tmp_path / "last.json"), "--out", str(tmp_path / "merged.json"))
    assert "episodes: 2 of 2" in run("compare", str(tmp_path / "whole.json"), str(tmp_path / "merged.json"))
