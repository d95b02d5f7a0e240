"""Does the command report in tables, and errors in one sentence?"""

import errno
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from command import cells, exit_of, run
from drv_writer import controlled_scene, listed_scene
from json_writer import json_bytes, small_document
from still_town import still_town

import drive_env
from drive_env.cli import trials_demo, visuals
from drive_env.policies import TrainedPolicy
from drive_env.scenes.generate import GENERATORS


COMMANDS = ["demo", "inspect", "convert", "classify", "play", "drive", "replay", "gallery", "evaluate", "merge",
            "compare", "hardness", "bench"]


@pytest.fixture(autouse=True)
def few_trials(monkeypatch):
    """The last part of the demo, which tests/test_trials_demo.py tests, on 2 scenes instead of 64."""
    monkeypatch.setattr(trials_demo, "SCENES", 2)


def run_alone(*arguments):
    """A python process with these arguments."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)


def test_the_demo_reports_both_drivers_and_the_time_of_each_phase():
    output = run("demo", "--episodes", "1")
    random_policy, by_rule = map(float, cells(output, "goal"))
    assert by_rule > 0.6 > random_policy
    assert cells(output, "trials recorded") == ["64", "64"]
    assert all(float(cell.replace(",", "")) > 1000 for cell in cells(output, "agent-steps/s"))
    parts = re.findall(r"^  \S.*?\s{2,}([\d.]+)%\s+([\d.]+)%", output, re.MULTILINE)
    for column in (0, 1):
        assert sum(float(part[column]) for part in parts) == pytest.approx(100.0, abs=1.0)


def test_the_demo_films_the_scene(tmp_path):
    """Of a narrow street, where a policy that does not wait for the other vehicle would collide."""
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    output = run("demo", "narrow", "--episodes", "1", "--out", str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"episode.mp4", "episode.html", "trials.mp4", "trials.html"}
    assert "narrow" in (tmp_path / "episode.html").read_text() and f"{tmp_path}/episode.mp4: goal 1.00" in output


def test_the_same_seed_plays_the_same_demo():
    def figures(seed):
        output = run("demo", "--episodes", "1", "--seed", seed)
        return output.partition("metrics")[2].partition("time of the env")[0]

    assert figures("7") == figures("7") != figures("8")


def test_the_demo_plays_a_file_after_the_town(sample_path):
    path = str(sample_path("pufferdrive/map_942.bin"))
    output = run("demo", path, "--episodes", "1").partition(path)[2]
    assert "14 agents" in output
    assert cells(output, "trials recorded") == ["28", "28"]


def test_an_unreadable_scene_is_an_error_before_anything_is_played():
    with pytest.raises(drive_env.SceneError, match="nowhere.bin"):
        run("demo", "nowhere.bin", "--episodes", "1000")


def test_inspect_shows_what_a_file_holds(sample_path):
    output = run("inspect", str(sample_path("pufferdrive/map_942.bin")))
    assert cells(output, "vehicle") == ["77", "41", "52"]
    assert cells(output, "pedestrian")[0] == "2"
    assert cells(output, "lane")[:2] == ["459", "2500"]
    assert cells(output, "log") == ["91 frames of 0.1 s, from 0 to 9 s"]
    assert cells(output, "object ids") == ["0-78"]
    assert cells(output, "stop signs") == ["4"]
    for line in ("agents: 14", "log-replay vehicles: 65", "trial: 90 driving steps",
                 "dropped: agent role, marked for log replay: 21", "imputed: dt_s 0.1, absent from the file: 1"):
        assert line in output


def test_inspect_shows_what_a_json_file_holds(sample_path):
    output = run("inspect", str(sample_path("gpudrive/test.json")))
    assert cells(output, "scenario id") == ["1c365f15b70ebdbf"]
    assert cells(output, "vehicle") == ["23", "16", "0"]
    assert cells(output, "lane")[:2] == ["39", "4935"]
    assert cells(output, "recording vehicle") == ["object 24, id 1847"]
    assert cells(output, "tracks to predict") == ["2: ids 1415, 1847"]
    assert cells(output, "objects of interest") == ["2: ids 1415, 1847"]
    assert cells(output, "object ids") == ["1407-1421, 1423-1424, 1426-1430, 1837, 1841, 1847"]
    assert cells(output, "map") == ["229 m x 285 m, x 4246.5 to 4475.9, y 600.0 to 884.5"]
    assert cells(output, "traffic")[0] == "96 m x 112 m, x 4311.3 to 4406.9, y 692.9 to 805.0"
    for line in ("imputed: lane successors, from lanes that end where another starts: 30",
                 "the subtypes of map_element_id", "agents: 2"):
        assert line in output


def test_inspect_escapes_control_characters(tmp_path):
    document = small_document()
    document["scenario_id"] = "\u202ered\ufeff\nline"
    path = tmp_path / "red.json"
    path.write_bytes(json_bytes(document))
    assert cells(run("inspect", str(path)), "scenario id") == ["\\u202ered\\ufeff\\nline"]


def test_ids_are_shown_as_spans_and_many_are_cut():
    spans = drive_env.cli.inspection.spans
    assert spans(np.array([5, 3, 4, -1, 9])) == "-1, 3-5, 9"
    assert spans(np.zeros(0, np.int64)) == "none"
    assert spans(np.arange(0, 60, 2)) == "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, and 18 more"
    assert spans(np.array([-2**63, 2**63 - 1])) == "-9223372036854775808, 9223372036854775807"


def test_inspect_takes_a_generators_name():
    output = run("inspect", "intersection", "--seed", "3", "--agents", "5")
    assert cells(output, "source") == ["generate_scene('intersection', seed=3, agents=5)"]
    assert cells(output, "vehicle") == ["5", "5", "0"]
    assert "agents: 5" in output


@pytest.mark.parametrize("name, fact, count", [("gates", "scripts", "4: ids 1-4"), ("exits", "candidate goals", "3")])
def test_inspect_counts_what_each_episode_draws_from(name, fact, count):
    assert cells(run("inspect", name), fact) == [count]


def test_inspect_counts_goals_beyond_one_per_object(tmp_path):
    drive_env.save_scene(listed_scene(), tmp_path / "listed.drv")
    output = run("inspect", str(tmp_path / "listed.drv"))
    assert cells(output, "goal lists") == ["3 goals of ids 7, 1099511627776"]
    assert cells(output, "repeating lists") == ["ids 1099511627776"] and cells(output, "goal headings") == ["4 goals"]
    assert "goal_lists.goal_heading_rad" in output
    drive_env.save_scene(controlled_scene(), tmp_path / "drawn.drv")
    output = run("inspect", str(tmp_path / "drawn.drv"))
    assert cells(output, "candidate goals") == ["2"] and "goal lists" not in output and "goal headings" not in output


@pytest.mark.parametrize("name", GENERATORS)
def test_every_command_takes_every_generator_without_a_number_of_vehicles(name, tmp_path):
    source = drive_env.generate_scene(name).source
    assert cells(run("inspect", name), "source") == [source]
    run("convert", name, str(tmp_path / "scene.drv"))
    assert drive_env.load_scene(tmp_path / "scene.drv").source == source
    run("replay", name, "--trials", "1", "--policy", "random", "--out", str(tmp_path / "page.html"))


def test_the_demo_takes_a_scene_with_one_car_to_drive():
    assert "generate_scene('gates', seed=0, agents=1)" in run("demo", "gates", "--episodes", "1")


def test_inspect_shows_and_plots_a_map_without_objects(tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes(json_bytes({"roads": small_document()["roads"][:1]}))
    plot = ("--plot", str(tmp_path / "map.png")) if importlib.util.find_spec("matplotlib") else ()
    output = run("inspect", str(path), *plot)
    assert cells(output, "lane graph") == ["1 lane, 0 links"] and cells(output, "object ids") == ["none"]
    assert cells(output, "lane")[:2] == ["1", "3"]
    assert "has no object that could drive" in output and "it has no objects" in output
    assert not plot or (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_inspect_shows_a_scene_without_agents(monkeypatch):
    monkeypatch.setattr(drive_env.cli.inspection, "find", lambda *_: (still_town(), b""))
    assert "has no object that could drive" in run("inspect", "any")


@pytest.mark.parametrize("options", (
    (), ("--action", "continuous", "--partners", "0", "--roads", "0"),
    ("--action", "multi_discrete", "intersection", "--agents", "3", "--threads", "1")))
def test_bench_measures_and_names_the_machine(options):
    output = run("bench", "--worlds", "2", "--seconds", "0.05", *options)
    assert re.search(r"^[\d.,]+( million)? agent-steps/s$", output, re.MULTILINE)
    assert "median of 5 repeats" in output
    assert "Python" in cells(output, "machine")[0]
    phases = [cells(output, name) for name in ("dynamics_integrate", "observe_write", "calls and waiting")]
    total = cells(output, "all")
    assert sum(float(ns) for ns, _ in phases) <= float(total[0])
    assert total[1] == "100.0%"


@pytest.mark.parametrize("scene, named", [
    ("intersection", "generate_scene('intersection', seed=0, agents=32) and 63 like it"), ("own.drv", "own.drv")])
def test_a_command_names_its_argument_not_the_source_of_the_scene(scene, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drive_env.save_scene(drive_env.generate_scene("town", seed=9, agents=2), "own.drv")
    assert cells(run("bench", "--worlds", "1", "--seconds", "0.05", scene), "scenes") == [named]
    demo = run("demo", scene, "--episodes", "1")
    assert demo.count(named.partition(" and ")[0]) == 1 and demo.count("seed=9") == 0


@pytest.mark.parametrize("options, sentence", [
    (["--agents", "2", "--policy", "replay"], "^--agents is 2; policy 'replay' leaves one agent"),
    (["--agents", "2", "--agent", "2", "--view", "follow"], "^--agent is 2; it must be a whole number from 0 to 1")])
def test_an_error_of_a_film_names_the_option(options, sentence, tmp_path):
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    with pytest.raises(drive_env.ConfigError, match=sentence):
        run("play", "town", *options, "--out", str(tmp_path / "sheet.png"))


def test_the_views_of_the_option_are_those_of_the_function():
    from drive_env.cli.visuals import View

    render = pytest.importorskip("drive_env.render", reason="the extra [render] is not installed")
    assert {view.value for view in View} == set(render.VIEWS)


def test_a_page_shows_a_policy_of_the_user(tmp_path, monkeypatch):
    """From a module of the working directory, which is not where the command is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_coasting.py").write_text(
        "import numpy as np\n\ndef act(batch):\n    return np.full(batch.num_agents, 45)\n")
    choices = ("replay", "intersection", "--agents", "2", "--trials", "1", "--out")
    run(*choices, "own.html", "--policy", "own_coasting:act")
    run(*choices, "constant.html", "--policy", "constant")
    assert (tmp_path / "own.html").read_text() == (tmp_path / "constant.html").read_text()


def test_a_page_has_the_config_of_an_env_and_of_the_settings(tmp_path, monkeypatch):
    """The same page as the function writes with that config: one agent among rule-based vehicles, and a weight."""
    monkeypatch.chdir(tmp_path)
    run("replay", "oval", "--env", "drive_env/Drive-v0", "--policy", "constant", "--out", "env.html", "--seed", "7",
        "--set", "env.trial_steps=20", "env.reward.goal=2", "env.max_trials=2")
    config = gymnasium.spec("drive_env/Drive-v0").kwargs["defaults"]
    changes = {"agents_per_world": 1, "trial_steps": 20, "max_trials": 2, "reward": config["reward"] | {"goal": 2.0}}
    recorded = drive_env.record(drive_env.generate_scene("oval", seed=7), "constant", config | changes, seed=7)
    recorded.save_html("own.html")
    assert (tmp_path / "env.html").read_text() == (tmp_path / "own.html").read_text()


@pytest.mark.parametrize("options, sentence", [
    (["--env", "Drive-v0"], "^--env is 'Drive-v0'; it must be one of drive_env/Drive-v0, "),
    (["--env", "drive_env/Drive-v0", "--policy", "generalist"],
     "^--env is 'drive_env/Drive-v0'; with a trained policy, which has the config of its training, it must not be set"),
    (["--set", "trial_steps=3"], "^--set is 'trial_steps'; it must name a field of the config"),
    (["--set", "env.reward.goal.now=3"], "^--set is 'env.reward.goal.now'; it must name a field of the config"),
    (["--set", "env.reward=3", "env.reward.goal=3"], "^--set sets env.reward and env.reward.goal, which is a part of"),
    (["--set", "env.reward.goal=3", "env.reward=3"], "^--set sets env.reward and env.reward.goal, which is a part of"),
    (["--trials", "2", "--set", "env.max_trials=3"],
     "^--trials and --set env.max_trials are both set; at most one may be"),
    (["--set", "env.agents_per_world=1"], "^--agents and --set env.agents_per_world are both set; at most one may be"),
    (["--set", "env.trial_step=3"], "^DriveConfig has no field 'trial_step'; did you mean trial_steps"),
    (["--set", "env.dt_s=0"], "^dt_s is 0; it must be")])
def test_a_wrong_env_or_setting_is_one_sentence(options, sentence, tmp_path):
    with pytest.raises(drive_env.DriveError, match=sentence):
        run("replay", "town", "--agents", "2", *options, "--out", str(tmp_path / "a.html"))


@pytest.mark.parametrize("arguments, code, sentence", (
    (["inspect", "nowhere"], 1, "drive-env: scenes is 'nowhere'; it is neither a file nor one of 'town', "),
    (["bench", "--agents", "4000"], 1, "agents is 4000; at most"),
    (["inspect", "town", "--seed", str(2**64)], 1, f"seed is {2**64}; it must be"),
    (["bench", "--worlds", "0"], 2, "--worlds"),
    (["bench", "--action", "jump"], 2, "--action"),
    (["replay", "town", "--policy", "best", "--out", "a.html"], 1,
     "drive-env: --policy is 'best'; it must be a function or one of 'lane', 'random'"),
    (["replay", "town", "--out", "a.txt"], 1, "drive-env: --out is 'a.txt'; it must end in .html or .htm"),
    (["fly"], 2, "No such command 'fly'"),
))
def test_an_error_is_one_sentence_on_stderr(arguments, code, sentence, monkeypatch, capsys):
    found, printed, errors = exit_of(monkeypatch, capsys, *arguments)
    assert (found, printed) == (code, "")
    assert sentence in errors
    assert code == 2 or errors.count("\n") == 1
    if arguments[0] == "fly" or arguments[-1] == "nowhere":  # of each exit code, the same from a process of its own
        done = run_alone("-m", "drive_env", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", errors)


def test_the_version_is_the_packages():
    assert run("--version") == f"drive-env {drive_env.__version__}\n"


def test_the_list_of_commands_has_whole_sentences():
    listed = re.findall(r"^  (\w+)  +(.*)$", run("--help").partition("Commands:")[2], re.MULTILINE)
    assert [name for name, _ in listed] == COMMANDS
    assert [words for _, words in listed if not re.fullmatch(r"[A-Z].*\w\.", words)] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_type_of_the_library(command):
    assert re.findall(r"--[\w-]+ +<(?:\w+ range|path|str|int|float)>|RANGE", run(command, "--help")) == []


def test_help_names_the_options_of_bench():
    output = run("bench", "--help")
    for option in ("--worlds", "--agents", "--threads", "--partners", "--roads", "--seconds", "--action"):
        assert option in output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a Linux device")
def test_a_failed_print_is_one_sentence():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "drive_env", "inspect", "town"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (1, "drive-env: No space left on device\n")


WRITES = {"demo": ("demo", "--episodes", "1000", "--out"), "gallery": ("gallery", "--out"),
          "inspect": ("inspect", "nowhere.bin", "--plot"), "convert": ("convert", "--force", "nowhere.bin"),
          "classify": ("classify", "nowhere.bin", "--out"), "play": ("play", "nowhere.bin", "--out"),
          "replay": ("replay", "nowhere.bin", "--out"), "evaluate": ("evaluate", "random", "--out"),
          "merge": ("merge", "nowhere.json", "--out"), "hardness": ("hardness", "nowhere.json", "--out")}
"""The commands that write files, up to the path. Their scenes and results are nowhere, so that any work is an error."""

ENDINGS = {"inspect": ".svg", "convert": ".drv", "classify": ".csv", "play": ".gif", "replay": ".html",
           "evaluate": ".json", "merge": ".json", "hardness": ".json"}


@pytest.mark.parametrize("command, path, reason", [
    (command, path, reason) for command in ENDINGS for path, reason in (
        ("nowhere/a{}", "there is no folder 'nowhere'"), ("file/a{}", "there is no folder 'file'"),
        ("folder{}", "it must be that of a regular file"), ("a.txt", "it must end in "))
    if (command, path) != ("convert", "a.txt")])  # a folder, which would be made
def test_the_file_of_an_option_is_checked_before_any_work(command, path, reason, tmp_path, monkeypatch):
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    ending = ENDINGS[command]
    Path(f"folder{ending}").mkdir()
    given = path.format(ending)
    option = "out" if command == "convert" else "--plot" if command == "inspect" else "--out"
    with pytest.raises(drive_env.ConfigError) as raised:
        run(*WRITES[command], given)
    assert str(raised.value).startswith(f"{option} is {given!r}; ") and reason in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", f"folder{ending}"]


@pytest.mark.parametrize("command", ["demo", "gallery", "convert"])
@pytest.mark.parametrize("path", ["file", "file/below"])
def test_the_folder_of_an_option_is_checked_before_any_work(command, path, tmp_path, monkeypatch):
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    option = "out" if command == "convert" else "--out"
    with pytest.raises(drive_env.ConfigError, match=f"^{option} is '{path}', .*exists and is no folder; "):
        run(*WRITES[command], path)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("command", [*WRITES, "save"])
def test_a_folder_without_permission_is_one_sentence_before_any_work(command, tmp_path, monkeypatch):
    """The system refuses every new file; tests may run as root, whom permissions do not stop."""
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    monkeypatch.chdir(tmp_path)
    words = WRITES.get(command) or (*WRITES["hardness"], "list.json", "--save")
    given = ("folder" if command == "save" else "a") + ENDINGS.get(command, "")
    refused, made = PermissionError(errno.EACCES, os.strerror(errno.EACCES)), []

    def refuse(dir):
        made.append(str(dir))
        if len(made) > (command == "save"):
            raise refused
        return io.BytesIO()

    monkeypatch.setattr("drive_env.outputs.tempfile.TemporaryFile", refuse)
    with pytest.raises(drive_env.ConfigError) as raised:
        run(*words, given)
    option = {"inspect": "--plot", "convert": "out", "save": "--save"}.get(command, "--out")
    assert str(raised.value) == f"{option} is {given!r}; the folder '.' cannot be written: Permission denied"
    assert not list(tmp_path.iterdir())


def test_an_episode_is_written_as_a_page_and_a_sheet(tmp_path):
    page, film = tmp_path / "episode.html", tmp_path / "episode.png"
    assert str(page) in run("replay", "town", "--agents", "2", "--trials", "1", "--out", str(page))
    assert page.read_text().startswith("<!")
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    assert str(film) in run("play", "town", "--agents", "2", "--out", str(film))
    assert film.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("command", "trained", "options", "trials"), [
    ("replay", 1, (), 1), ("replay", 3, (), 3), ("replay", 3, ("--trials", "2"), 2), ("play", 2, (), 2)])
def test_a_trained_policy_plays_as_many_trials_as_in_its_training(command, trained, options, trials, tmp_path,
                                                                  monkeypatch):
    played = set()

    def for_batch(batch):
        def act(batch):
            played.add(int(batch.trial_index[0]))
            return np.zeros_like(batch.actions)
        return act

    policy = TrainedPolicy(for_batch, {}, drive_env.DriveConfig(max_trials=trained, trial_steps=4))
    monkeypatch.setattr(visuals, "resolved", {"own.npz": policy}.get)
    if command == "play":
        pytest.importorskip("cv2", reason="the extra [render] is not installed")
    out = tmp_path / {"play": "episode.png", "replay": "episode.html"}[command]
    run(command, "town", "--agents", "1", "--policy", "own.npz", *options, "--out", str(out))
    assert played == set(range(trials))


def test_cars_park_where_a_scene_of_parking_is_played(tmp_path):
    """With its config and driver; with another policy only where that is asked for."""
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    arguments = ("play", "parking", "--agents", "1", "--out", str(tmp_path / "parking.png"))
    assert "goal 1.00" in run(*arguments)
    assert "goal 0.00" in run(*arguments, "--policy", "random")


def test_the_line_of_a_replay_names_the_agent_of_its_figures(tmp_path, monkeypatch):
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.json").write_bytes(json_bytes(small_document()))
    output = run("play", "log.json", "--policy", "replay", "--out", "log.png")
    rates = r"goal \S+, collision \S+, offroad \S+"
    assert re.fullmatch(rf"log.png: the log; the rule-based agent: {rates}\n", output)
    assert re.fullmatch(r"log.png: goal \S+, .*timeout \S+\n", run("play", "log.json", "--out", "log.png"))


def test_help_names_every_ending_that_a_command_writes():
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    from drive_env.render.extensions import CHART_EXTENSIONS, FILM_EXTENSIONS, SHEET_EXTENSIONS
    from drive_env.replay.record_policy import PAGE_EXTENSIONS

    for command, extensions in (("inspect", CHART_EXTENSIONS), ("play", (*FILM_EXTENSIONS, *SHEET_EXTENSIONS)),
                                ("replay", PAGE_EXTENSIONS), ("convert", (".drv",))):
        output = run(command, "--help")
        assert [one for one in extensions if not re.search(rf"{re.escape(one)}\b", output)] == []


WITHOUT = ("import sys; sys.modules.update(dict.fromkeys({modules!r}))\n"
           "sys.argv[1:] = {arguments!r}\n"
           "from drive_env.cli import main; main()")
DRAWING = ("cv2", "PIL", "av", "matplotlib")


@pytest.mark.parametrize("modules, arguments, extra", (
    (("typer", "rich"), ["--help"], "cli"),
    (DRAWING, ["demo", "--episodes", "1000", "--out", "folder"], "render"),
    (DRAWING, ["play", "town", "--out", "a.png"], "render")))
def test_without_an_extra_a_sentence_names_it(modules, arguments, extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_alone("-c", WITHOUT.format(modules=modules, arguments=arguments))
    assert done.returncode == 1
    assert done.stderr.endswith(f'pip install "drive-env[{extra}]"\n')
    assert done.stderr.count("\n") == 1


def test_what_does_not_draw_runs_without_the_extra_that_draws():
    arguments = ["bench", "--worlds", "1", "--seconds", "0.05"]
    done = run_alone("-c", WITHOUT.format(modules=DRAWING, arguments=arguments))
    assert done.returncode == 0, done.stderr


def test_the_package_imports_without_the_extra():
    done = run_alone("-c", "import sys, drive_env; drive_env.parallel_env().close()\n"
                           "print(sorted({'rich', 'typer', 'drive_env.cli'} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


def test_help_names_the_extra_that_a_command_needs():
    assert "[render]" in run("demo", "--help")


@pytest.mark.parametrize("command, name", [("play", "a.png"), ("replay", "a.html")])
@pytest.mark.parametrize("options, static", [((), 0), (("--parked", "5"), 5)])
def test_agents_are_all_vehicles_but_the_parked_ones(command, name, options, static, tmp_path, monkeypatch):
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    counts = set()

    def policy(batch):
        counts.add((batch.roles[0].num_agents, batch.roles[0].static_count))
        return batch.bound_actions

    monkeypatch.setitem(sys.modules, "own_policy", SimpleNamespace(policy=policy))
    run(command, "town", "--agents", "3", *options, "--trials", "1", "--set", "env.trial_steps=2",
        "--policy", "own_policy:policy", "--out", str(tmp_path / name))
    assert counts == {(3, static)}


@pytest.mark.parametrize("arguments, sentence", [
    (["town", "--parked", "2"], "^--parked is 2; it needs --agents"),
    (["example_log", "--agents", "2", "--parked", "2"], "^--parked is 2; it is for generated scenes"),
    (["town", "--size", "big"], "^--size is 'big'; it must be WIDTHxHEIGHT"),
    (["town", "--size", "100x640"], "^--size is 100; it must be a whole number from 160 to"),
    (["town", "--fps", "0"], "^--fps is 0.0; it must be a number from 0.1 to 100")])
def test_a_wrong_option_of_a_film_is_one_sentence(arguments, sentence, tmp_path):
    pytest.importorskip("cv2", reason="the extra [render] is not installed")
    with pytest.raises(drive_env.DriveError, match=sentence):
        run("play", *arguments, "--out", str(tmp_path / "a.gif"))


def test_a_film_has_the_size_of_the_option(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="the extra [render] is not installed")
    run("play", "town", "--agents", "1", "--set", "env.trial_steps=2", "--size", "320x180", "--out",
        str(tmp_path / "a.gif"))
    with image.open(tmp_path / "a.gif") as film:
        assert film.size == (320, 180)
