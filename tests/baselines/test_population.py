"""Does one command train partners and the egos among them, and does another one compare known and unseen partners?"""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import run_here, tiny_config

from baselines import cross_play, population
from baselines.config import PopulationConfig
from baselines.evaluate import episode_records
from baselines.partners.loaded import with_partners
from baselines.policy.runner import PolicyRunner
from baselines.population import members, train_population
from baselines.rollout.batches import scenes_of, seeds_used
from baselines.tools.checkpoint import checkpoints, load_policy, newest
from baselines.tools.log_file import read_lines
from drive_env import ConfigError

CPU = torch.device("cpu")


def small_population(folder, **fields):
    """Two partners, of which one is unseen, and two egos; each run has an update or two."""
    base = tiny_config("unused", ppo={"agent_steps": 300})
    return PopulationConfig(**{"folder": str(folder), "egos": (1,), "unseen": 1, "base": base} | fields)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """That of a trained population."""
    found = tmp_path_factory.mktemp("population") / "runs"
    train_population(small_population(found))
    return found


def starts(folder, name):
    """The lines of a run's log with which a training began."""
    return [line for line in read_lines(folder / name / "metrics.jsonl") if line["kind"] == "start"]


# ---- training ----


def test_partners_differ_and_egos_are_trained_with_the_first_of_them():
    runs = members(PopulationConfig(folder="p", egos=(4, 2), unseen=2, base=tiny_config("unused", run={"seed": 3})))
    assert [*runs] == [*(f"partner_{number}" for number in range(1, 7)), "self_play", "ego_4", "ego_2"]
    of_partners = [(one.config.ppo.entropy_weight, one.config.env.drive.reward.collision)
                   for name, one in runs.items() if name.startswith("partner")]
    assert of_partners == [(0.003, -0.2), (0.02, -1.0), (0.003, -1.0), (0.02, -0.2), (0.003, -0.2), (0.02, -1.0)]
    assert [one.config.run.seed for one in runs.values()] == [*range(3000, 3009)]
    assert [one.config.run.folder for one in runs.values()] == [f"p/{name}" for name in runs]
    assert runs["ego_2"].config.partners.checkpoints == ("p/partner_1", "p/partner_2")
    assert runs["ego_4"].partners == ("partner_1", "partner_2", "partner_3", "partner_4")
    assert [runs[name].config.env.drive.coplayers for name in ("partner_1", "self_play", "ego_2")] == [0, 0, 0.5]
    # Egos have the reward and the entropy weight of the base config.
    base, ego = tiny_config("unused"), runs["ego_4"].config
    assert ego.ppo == runs["self_play"].config.ppo == base.ppo
    assert ego.env.drive.replace(coplayers=0) == base.env.drive


def test_a_population_is_trained_and_its_partners_are_those_of_the_log(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["ego_1", "partner_1", "partner_2", "population.json",
                                                              "self_play"]
    assert [one["path"] for one in starts(folder, "ego_1")[0]["partners"]] == [str(newest(folder / "partner_1"))]
    assert "partners" not in starts(folder, "self_play")[0]


def test_finished_runs_are_skipped_and_interrupted_ones_resumed(folder, tmp_path, capsys):
    for name in ("partner_1", "self_play"):
        (tmp_path / name).mkdir()
        for path in [*(folder / name).glob("*.jsonl"), newest(folder / name)]:
            (tmp_path / name / path.name).symlink_to(path)
    log = tmp_path / "self_play" / "metrics.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.unlink()
    log.write_text("".join(lines[:-1]))
    train_population(small_population(tmp_path, runs=("partner_1", "self_play")))
    assert capsys.readouterr().out.startswith(f"partner_1: finished before\nself_play: {tmp_path}/self_play\n")
    assert len(starts(tmp_path, "partner_1")) == 1 and len(starts(tmp_path, "self_play")) == 2
    assert len(checkpoints(tmp_path / "self_play")) == 1, "its agent-steps were complete"


@pytest.mark.parametrize("fields, sentence", [
    ({"runs": ("ego_2",)}, "runs has 'ego_2'; it must have some of 'partner_1', 'partner_2', 'self_play', 'ego_1'"),
    ({"runs": ("ego_1",)}, "runs has 'ego_1', whose partner 'partner_1' is not trained yet; train it first"),
    ({"egos": ()}, r"egos is \(\); it must be at least one number"),
    ({"egos": (2, 2)}, r"egos is \(2, 2\); it must be different numbers from 1 on"),
    ({"egos": (0,)}, r"egos is \(0,\); it must be different numbers from 1 on"),
    ({"unseen": 0}, "unseen is 0; it must be 1 or more"),
    ({"coplayers": 0}, "coplayers is 0; it must be above 0"),
    ({"coplayers": 6}, "coplayers is 6; scene .* has 6 agents, one of which must be no co-player"),
    ({"entropy_weights": ()}, r"entropy_weights is \(\); it must be at least one number"),
    ({"entropy_weights": (-1.0,)}, "entropy_weight is -1.0; it must be"),
    ({"base": tiny_config("x", env={"drive": {"coplayers": 1}}, partners={"checkpoints": ["a"]})},
     r"base.partners.checkpoints is \('a',\); it must be \(\): the population sets it"),
    ({"base": tiny_config("x", env={"drive": {"coplayers": 1}})}, "base.env.drive.coplayers is 1.*; it must be 0: "),
    ({"base": tiny_config("x", run={"overwrite": True})}, "base.run.overwrite is True; it must be False"),
    ({"runs_": ()}, "PopulationConfig has no field 'runs_'")])
def test_a_population_that_does_not_fit_is_one_sentence(tmp_path, fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        train_population(small_population(tmp_path / "runs", **fields))
    assert not [*tmp_path.rglob("update-*")]


def test_a_folder_has_one_population(folder):
    before = (folder / "population.json").read_text()
    for fields in ({"coplayers": 0.4}, {"unseen": 2}, {"base": tiny_config("unused", ppo={"agent_steps": 400})}):
        with pytest.raises(ConfigError, match="which has a population with another config; choose another folder"):
            train_population(small_population(folder, **fields))
    assert (folder / "population.json").read_text() == before


def test_the_command_trains_the_runs_that_it_names(tmp_path, monkeypatch, capsys):
    small = ("--folder", tmp_path, "--base.env.num-worlds", 8, "--base.env.scene-count", 2,
             "--base.env.drive.trial-steps", 8, "--base.ppo.agent-steps", 200, "--base.ppo.rollout-steps", 8,
             "--base.model.width", 16, "--base.run.device", "cpu", "--base.run.no-progress")
    code, printed, errors = run_here(monkeypatch, capsys, population.main, "partners_intersection", "--runs",
                                     "self_play", *small)
    assert code == 0 and printed.startswith(f"self_play: {tmp_path}/self_play\n"), errors
    assert starts(tmp_path, "self_play") and not (tmp_path / "partner_1").exists()
    code, _, errors = run_here(monkeypatch, capsys, population.main, "nowhere")
    assert (code, errors[:46]) == (1, "baselines.population: preset is 'nowhere'; it ")
    code, _, errors = run_here(monkeypatch, capsys, population.main, "--runs", "ego_2", *small)
    assert code == 1 and errors.startswith("baselines.population: runs has 'ego_2', whose partner 'partner_1' is not")


# ---- cross-play ----


def test_every_ego_drives_with_itself_and_with_known_and_unseen_partners(folder, tmp_path, monkeypatch, capsys):
    out = tmp_path / "found.json"
    code, printed, errors = run_here(monkeypatch, capsys, cross_play.main, folder, "--scene-count", 2, "--episodes", 2,
                                     "--device", "cpu", "--out", out)
    assert code == 0 and f"scores: {out}" in printed, errors
    for words in ("self_play", "ego_1", "itself", "partner 1", "unseen: partner 2", "trial 1", "trial 2 - 1"):
        assert words in printed
    found = json.loads(out.read_text())
    assert [(row["ego"], row["coplayers"], row["known"]) for row in found["rows"]] == [
        ("self_play", "itself", True), ("self_play", "partner 1", False), ("self_play", "unseen: partner 2", False),
        ("ego_1", "itself", False), ("ego_1", "partner 1", True), ("ego_1", "unseen: partner 2", False)]
    assert sorted(found["weights"]) == ["ego_1", "partner_1", "partner_2", "self_play"]
    for row in found["rows"]:  # 3 egos of each of 4 episodes
        first, second = row["scores"]
        assert first["n"] == second["n"] == row["gain"]["n"] == 12
        assert row["gain"]["value"] == pytest.approx(second["value"] - first["value"])


def test_the_scores_are_those_of_the_egos_on_held_out_scenes(folder):
    found = cross_play.scores_with(folder, "self_play", ("partner_2",), 0.5, 2, 2, 0, True, CPU)
    policy, config = load_policy(newest(folder / "self_play"), CPU)
    partners = replace(config.partners, checkpoints=(str(folder / "partner_2"),))
    scenes = scenes_of(config.env.on_scenes(count=2), seeds_used(config.env))
    records = episode_records(with_partners(PolicyRunner(policy, CPU), partners, CPU, "float32"), scenes,
                              config.env.drive.replace(coplayers=0.5), episodes=2)
    for trial in range(2):
        of_egos = records["score"][~records["coplayer"] & (records["trial"] == trial)]
        assert found.of_trial(trial).value == pytest.approx(of_egos.mean()) and len(of_egos) == 12


@pytest.mark.parametrize("text, sentence", [
    (None, "is no folder of a population: population.json is missing or damaged; python -m baselines.population"),
    ("[]", "population.json is missing or damaged"), ('{"egos": {}}', "population.json is missing or damaged"),
    ('{"coplayers": 1, "partners": {}, "unseen": ["partner_1"], "egos": {"self_play": []}}', "is no checkpoint")])
def test_a_folder_without_a_trained_population_is_one_sentence(tmp_path, monkeypatch, capsys, text, sentence):
    if text is not None:
        (tmp_path / "population.json").write_text(text)
    code, _, errors = run_here(monkeypatch, capsys, cross_play.main, tmp_path)
    assert code == 1 and errors.startswith("baselines.cross_play: ") and sentence in errors
    assert not (tmp_path / "cross_play.json").exists() and "\n" not in errors
