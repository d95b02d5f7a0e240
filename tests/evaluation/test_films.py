"""Do films show the very episodes that were counted, those with the lowest scores, within their budgets?"""

import dataclasses
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from replay_reader import Page
from schema import problems

from drive_env import Batch, ConfigError, SceneError, generate_scene
from drive_env.behaviours import behaviour_scenes
from drive_env.evaluation import (
    BehaviourClass, EvalManager, HumanReplay, MultiScenario, Robustness, TrafficMatrix, films, load_result, merge)
from drive_env.evaluation import episodes as episodes_module
from drive_env.evaluation.films import scored_episodes
from drive_env.evaluation.rows import HEAD
from drive_env.policies import policy_maker
from drive_env.replay import Recorder

SMALL = {"scenes": ("intersection",), "scene_count": 5, "scene_agents": 4, "env": {"trial_steps": 40},
         "render": True, "render_scenes": 2, "render_steps": 200}
"""Few vehicles, short trials."""


def small(**changes):
    return MultiScenario("small", {**SMALL, **changes})


def means(result):
    """The mean score of each episode, by group and world."""
    rows, found = result.rows, {}
    for group, world, score in zip(rows["group"], rows["world"].tolist(), rows["score"].tolist(), strict=True):
        found.setdefault((group, world), []).append(score)
    return {place: sum(scores) / len(scores) for place, scores in found.items()}


def columns(group, world, score):
    """Rows of one agent each."""
    found = {name: np.zeros(len(world), kind) for name, kind in HEAD.items()}
    found |= {"group": np.array(group, object), "world": np.array(world), "scene_key": np.array(world),
              "score": np.array(score, np.float32)}
    return found


# ---- which episodes ----


def test_the_lowest_scores_come_first_and_equal_ones_in_the_order_of_worlds():
    rows = columns(["a", "a", "a", "a", "b"], [0, 1, 1, 2, 0], [0.5, 0.25, 0.75, 0.125, 0.5])
    found = scored_episodes(rows)
    assert [(one.group, one.world, one.score) for one in found] == [
        ("a", 2, 0.125), ("a", 0, 0.5), ("a", 1, 0.5), ("b", 0, 0.5)]
    assert [one.rows for one in found] == [slice(3, 4), slice(0, 1), slice(1, 3), slice(4, 5)]
    assert scored_episodes(columns([], [], [])) == []


def test_two_evaluations_in_a_row_show_different_scenes(tmp_path):
    manager = EvalManager([small(interval=5, render_rotates=True)], tmp_path)
    first, second = (next(manager.maybe_run(update, "random")).result for update in (5, 10))
    shown = [{render.scene for render in result.renders} for result in (first, second)]
    assert len(shown[0]) == len(shown[1]) == 2 and not shown[0] & shown[1]
    assert {render.file for render in first.renders} == {
        f"films/small/{scene.replace('/', '_')}_u5_replay.html" for scene in shown[0]}


def test_the_files_are_those_of_the_episodes_with_the_lowest_scores(tmp_path):
    found = small(scene_count=4, episodes=2, render_scenes=3).rollout("random", out=tmp_path / "of.json")
    scores = means(found)
    lowest = sorted(scores, key=lambda place: (scores[place], place))[:3]
    assert [(render.group, render.world) for render in found.renders] == lowest
    assert [render.score for render in found.renders] == pytest.approx([scores[place] for place in lowest])
    assert all((tmp_path / render.file).is_file() for render in found.renders)
    assert len({render.file for render in found.renders}) == 3  # also of two episodes of one scene
    assert all(Path(render.file).parent.as_posix() == "films/of" for render in found.renders)


# ---- the same episode ----


def outcomes_in(page, trial):
    """The outcome of each agent of a trial in a replay page: the last code that is not 0."""
    codes = np.rint(page.array(f"trial{trial}/outcome")).astype(int)
    return [page.header["outcomes"][codes[agent].max()] for agent in range(len(codes))]


def test_a_page_has_the_bytes_of_the_episode_that_was_counted(tmp_path):
    """Of a world with draws of its own; recorded by a loop over a batch of this world alone."""
    env = {"trial_steps": 40, "max_trials": 2, "hidden": {"steering_gain": (0.5, 1.5)}}
    evaluator = small(seed=3, episodes=2, env=env)
    found = evaluator.rollout("random", out=tmp_path / "result.json")
    assert len(found.renders) == 2
    for render in found.renders:
        html = (tmp_path / render.file).read_bytes()
        scene = generate_scene("intersection", seed=int(render.scene.partition("/")[2]), agents=4)
        with Batch(scene, config=evaluator.env, seed=3, world_ids=[render.world]) as batch:
            act, recorder, ended = policy_maker("random", 3)(batch), Recorder(batch), 0
            batch.reset()
            recorder.capture()
            while ended < 2:
                batch.step(act(batch))
                recorder.capture()
                ended += bool(batch.trial_ended[0])
        assert recorder.recording().html().encode() == html

        page, rows = Page(html.decode()), found.rows
        for trial in range(2):
            own = (rows["world"] == render.world) & (rows["trial"] == trial)
            assert outcomes_in(page, trial) == rows["outcome"][own].tolist()


def each_condition():
    """An evaluator whose worlds differ from those of its config, for each way in which they may."""
    logs = {"scenes": behaviour_scenes("cut_in", (0, 1)), "options": {"scores": False, "vehicles": "each"}}
    budgets = {"render": True, "render_scenes": 10, "render_steps": 300}
    yield HumanReplay("each", {**logs, **budgets}), "lane"
    yield BehaviourClass("classes", {"scenes": ("cut_in", "lane_change"), "scene_count": 2, **budgets}), "constant"
    yield TrafficMatrix("matrix", {**SMALL, **budgets, "scene_count": 2}), "random"
    yield Robustness("robust", {**SMALL, **budgets, "scene_count": 1, "env": {"trial_steps": 20}}), "lane"


def test_an_episode_is_played_again_under_the_condition_of_its_group(tmp_path):
    for evaluator, policy in each_condition():
        found = evaluator.rollout(policy, out=tmp_path / f"{evaluator.name}.json")
        assert len(found.renders) == min(10, len(means(found)))
        assert not found.failures or evaluator.name == "robust"
        for render in found.renders:
            page, rows = Page((tmp_path / render.file).read_text()), found.rows
            own = (rows["world"] == render.world) & (rows["group"] == render.group)
            shown = outcomes_in(page, 0)
            assert [shown[agent] for agent in rows["agent"][own]] == rows["outcome"][own].tolist()


@pytest.mark.parametrize("worlds", [2, 64])
def test_a_policy_that_acts_at_random_is_shown_as_it_was_measured(tmp_path, worlds, monkeypatch):
    """Its actions depend on all of its calls so far; worlds of one batch have scenes of several sizes."""
    monkeypatch.setattr(episodes_module, "WORLDS_AT_ONCE", worlds)
    stream = np.random.default_rng(5)
    scenes = [generate_scene("town", seed=seed, agents=2 + seed % 3) for seed in range(6)]
    found = small(scenes=scenes, render_scenes=6, env={"trial_steps": 60, "max_trials": 2}).rollout(
        lambda batch: stream.integers(0, 91, batch.num_agents), out=tmp_path / "result.json")
    assert len(found.renders) == 6
    for render in found.renders:
        page, rows = Page((tmp_path / render.file).read_text()), found.rows
        for trial in range(2):
            own = (rows["world"] == render.world) & (rows["trial"] == trial)
            assert outcomes_in(page, trial) == rows["outcome"][own].tolist()
            rewards = [page.array(f"trial{trial}/rewards")[agent].sum() for agent in rows["agent"][own]]
            assert rewards == pytest.approx(rows["reward"][own].tolist(), abs=1e-4)


def test_films_change_no_figure_and_no_hash(tmp_path):
    shown, plain = small().rollout("random", out=tmp_path / "a.json"), small(render=False).rollout("random")
    assert shown.metrics == plain.metrics and shown.config_sha256 == plain.config_sha256
    assert not plain.renders and plain.seconds["render"] == 0 < shown.seconds["render"] < shown.seconds["total"]


# ---- budgets ----


@pytest.mark.parametrize("missing", ["render_scenes", "render_steps"])
def test_films_without_a_budget_are_one_sentence(missing):
    with pytest.raises(ConfigError, match=f"^{missing} is None; with render .* from 1 to 10{{5,6}}$"):
        small(**{missing: None})
    assert small(**{missing: None, "render": False}).config.render is False


def test_films_without_a_place_are_one_sentence_before_anything_is_played(monkeypatch, tmp_path):
    monkeypatch.setattr(MultiScenario, "sources", None)
    with pytest.raises(ConfigError, match="out is None; render of eval.small is True, so it must be the path of the"):
        small().rollout("random")
    with pytest.raises(ConfigError, match="must end in .json"):
        small().rollout("random", out=tmp_path / "result")
    with pytest.raises(ConfigError, match="render of eval.small is True; without a folder it must be False"):
        EvalManager([small()])


def test_steps_cut_a_film(tmp_path):
    found = small(render_steps=7, render_scenes=1, env={"trial_steps": 40, "on_collision": "ignore"}).rollout(
        "constant", out=tmp_path / "result.json")
    page = Page((tmp_path / found.renders[0].file).read_text())
    assert [trial["frames"] for trial in page.header["trials"]] == [8]


def test_files_and_time_are_limited_and_what_is_left_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(films, "FILM_LIMIT", 3)
    found = small(render_scenes=50).rollout("random", out=tmp_path / "a.json")
    assert (len(found.renders), found.renders_left) == (3, 2)
    monkeypatch.setattr(films, "TIME_LIMIT_S", -1.0)
    found = small(render_scenes=4).rollout("random", out=tmp_path / "b.json")
    assert (len(found.renders), found.renders_left) == (0, 4)


def test_a_film_that_cannot_be_written_is_a_failure_and_the_figures_remain(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError("the disk is full")

    monkeypatch.setattr(films, "_write", fail)
    found = small().rollout("random", out=tmp_path / "result.json")
    assert found.renders == [] and found.renders_left == 0 and found.metrics["score"].n == 20
    assert len(found.failures) == 2 and found.failures[0].error == "OSError: the disk is full"
    assert found.failures[0].scene.startswith("the film films/result/intersection_1000000")


# ---- views, files and results ----


def test_films_are_written_for_each_view(tmp_path):
    for package in ("cv2", "PIL", "av"):
        pytest.importorskip(package, reason='drawing needs the extra: pip install "drive-env[render]"')
    import av

    found = small(scene_count=1, render_scenes=1, render_steps=9, render_views=["replay", "scene", "follow"],
                  env={"trial_steps": 40, "on_collision": "ignore"}).rollout("constant", out=tmp_path / "a.json")
    assert [(Path(render.file).name, render.view) for render in found.renders] == [
        (f"intersection_10000000_u0_{name}", name.partition(".")[0])
        for name in ("replay.html", "scene.mp4", "follow.mp4")]
    for render in found.renders[1:]:
        with av.open(str(tmp_path / render.file)) as film:
            assert sum(1 for _ in film.decode(video=0)) == 10  # the reset and 9 steps


def test_a_result_with_films_fits_the_schema_and_shards_are_merged_with_theirs(tmp_path):
    schema = json.loads(Path(films.__file__).with_name("result.schema.json").read_text())
    parts = []
    for shard in range(2):
        path = tmp_path / f"{shard}.json"
        small(render_scenes=1).rollout("random", shard=(shard, 2), out=path).save(path)
        data = json.loads(path.read_text())
        assert problems(data, schema) == [] and len(data["renders"]) == 1
        assert problems({**data, "renders": [{"file": 1}]}, schema) != []
        parts.append(load_result(path))
    whole = merge(parts)
    assert [render.to_dict() for render in whole.renders] == [
        render.to_dict() for part in parts for render in part.renders]
    assert all((tmp_path / render.file).is_file() for render in whole.renders) and whole.renders_left == 0
    assert whole.seconds["render"] == sum(part.seconds["render"] for part in parts)
    assert whole.metrics == small(render=False).rollout("random").metrics


def table_of(path):
    """The cells of each line of a table of failures, as HTML."""
    lines = path.read_text().splitlines()
    return [re.findall(r"<td>(.*?)</td>", line) for line in lines if line.startswith("<tr><td>")]


def test_the_table_has_every_episode_and_links_that_resolve(tmp_path):
    found = small(env={"trial_steps": 150}).rollout("random", out=tmp_path / "result.json")
    folder, scores = tmp_path / "films/result", means(found)
    lines = table_of(folder / "failures.html")
    assert [int(line[4]) for line in lines] == [
        world for _, world in sorted(scores, key=lambda place: (scores[place], place))]
    for number, line in enumerate(lines):
        own = found.rows["world"] == int(line[4])
        counts = dict(part.split(" ") for part in line[1].split(", "))
        outcomes = found.rows["outcome"][own].tolist()
        assert {name: int(count) for name, count in counts.items()} == {
            name: outcomes.count(name) for name in outcomes}
        links = re.findall(r'href="([^"]+)"', line[5])
        assert len(links) == (number < 2) and all((folder / link).is_file() for link in links)


def test_text_of_a_scene_is_no_markup_in_the_table(tmp_path):
    scene = dataclasses.replace(generate_scene("intersection", seed=1, agents=2), name="../<b>&'\"/x")
    found = small(scenes=[scene]).rollout("constant", policy_name="<i>", out=tmp_path / "result.json")
    page = (tmp_path / "films/result/failures.html").read_text()
    assert "<b>" not in page and "<i>" not in page and "../&lt;b&gt;&amp;" in page
    assert re.fullmatch(r"films/result/[\w.]+_u0_replay\.html", found.renders[0].file)


def test_a_click_on_a_heading_sorts_the_table(tmp_path, chromium):
    small(scene_count=12, env={"trial_steps": 150}).rollout("random", out=tmp_path / "result.json")
    chromium.get((tmp_path / "films/result/failures.html").as_uri())
    column = lambda index: chromium.execute_script(
        "return [...document.querySelectorAll('tbody tr')].map(row => row.cells[arguments[0]].textContent)", index)
    click = lambda index: chromium.execute_script("document.querySelectorAll('th button')[arguments[0]].click()", index)
    for index, kind in ((4, int), (1, str), (2, str), (0, float)):
        click(index)
        assert [*map(kind, column(index))] == sorted(map(kind, column(index)))
        click(index)
        assert [*map(kind, column(index))] == sorted(map(kind, column(index)), reverse=True)


# ---- in a training ----


def films_of(folder):
    return sorted(path.name for path in (folder / "films/small").iterdir() if path.name != "failures.html")


def test_films_of_the_newest_evaluations_remain_and_other_files_do(tmp_path):
    manager = EvalManager([small(interval=1, render_scenes=1, render_kept=2)], tmp_path)
    own = tmp_path / "films/small/own_u1_replay.txt"
    for update in (1, 2, 9, 3):  # 3 after 9: the training was continued from an older checkpoint
        found, = manager.maybe_run(update, "random")
        assert found.error == ""
        if update == 1:
            own.write_text("")
    names = films_of(tmp_path)
    assert len(names) == 3 and own.name in names
    assert [name.split("_u")[1] for name in names if name != own.name] in (
        ["9_replay.html", "3_replay.html"], ["3_replay.html", "9_replay.html"])


def test_without_a_limit_all_films_remain(tmp_path):
    manager = EvalManager([small(interval=1, render_scenes=1, render_kept=None)], tmp_path)
    for update in range(1, 13):
        list(manager.maybe_run(update, "random"))
    assert len(films_of(tmp_path)) == 12


def test_an_evaluation_replaces_the_films_of_the_one_that_it_replaces(tmp_path):
    for settings in ({"render_scenes": 3}, {"seed": 7, "render_scenes": 1}):
        found = small(**settings).rollout("random", out=tmp_path / "small.json")
    assert films_of(tmp_path) == [Path(found.renders[0].file).name]
    one = small().rollout("random", out=tmp_path / "small.json", update=5)  # of another update: both remain
    assert films_of(tmp_path) == sorted(Path(render.file).name for render in (*found.renders, *one.renders))


def test_names_of_films_differ_in_more_than_capital_letters(tmp_path):
    scene = generate_scene("intersection", agents=2)
    scenes = [dataclasses.replace(scene, name=name) for name in ("Crossing", "crossing")]
    found = small(scenes=scenes).rollout("random", out=tmp_path / "small.json")
    assert len({render.file.lower() for render in found.renders}) == 2


def test_the_films_of_a_process_of_its_own_are_beside_its_result(tmp_path):
    text = ("import sys; from drive_env.evaluation import MultiScenario\n"
            f"MultiScenario('small', {SMALL!r}).rollout('random', out=sys.argv[1], update=7).save(sys.argv[1])\n")
    evaluator = small(interval=1, mode="subprocess")
    (tmp_path / "films/small").mkdir(parents=True)
    (tmp_path / "films/small/of_an_earlier_update.html").write_text("")
    manager = EvalManager([evaluator], tmp_path, lambda checkpoint, evaluator, out: [
        sys.executable, "-c", text, str(out)])
    found, = manager.maybe_run(7, "random", Path("update-7"))
    assert found.error == "" and len(found.result.renders) == 2
    names = {Path(render.file).name for render in found.result.renders}
    assert all("_u7_" in name for name in names)
    assert {path.name for path in (tmp_path / "films/small").iterdir()} == {
        *names, "failures.html", "of_an_earlier_update.html"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["films", "small.episodes.csv", "small.json"]


def test_the_seconds_of_a_line_are_those_of_playing_and_of_films(tmp_path):
    found, = EvalManager([small(interval=1)], tmp_path).maybe_run(1, "random")
    line = found.line()
    json.dumps(line, allow_nan=False)
    assert line["eval/small/eval_seconds"] == pytest.approx(
        line["eval/small/play_seconds"] + line["eval/small/render_seconds"])
    assert line["eval/small/render_seconds"] == found.result.seconds["render"] > 0
    assert line["eval/small/renders"] == [render.file for render in found.result.renders]


def test_scenes_that_cannot_be_played_leave_no_film(tmp_path):
    (tmp_path / "a.drv").write_bytes(b"none")
    with pytest.raises(SceneError):
        small(scenes=[str(tmp_path / "a.drv")]).rollout("random", out=tmp_path / "result.json")
