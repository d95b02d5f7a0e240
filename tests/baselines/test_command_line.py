"""Does a command line become the config that it names?"""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from baselines.presets import SMALL
from baselines.tools.command_line import parse_config


@pytest.mark.parametrize("words, drive", [
    (["--env.drive.observation.partners", "5"], {"observation": {"partners": 5}}),
    (["--env.drive.reward.goal", "2"], {"reward": {"goal": 2}}),
    (["--env.drive.control", "5"], {"control": (5,)}),
    (["--env.drive.control", "5", "-7"], {"control": (5, -7)}),
    (["--env.drive.control", "sdc"], {"control": "sdc"}),
    (["--env.drive.dt-s", "None"], {"dt_s": None})])
def test_an_option_changes_its_field_and_no_other(words, drive):
    assert parse_config(SMALL, words, "train", None) == SMALL.changed(env={"drive": drive})


def test_the_help_lists_the_choices_of_a_field_of_the_env(capsys):
    with pytest.raises(SystemExit):
        parse_config(SMALL, ["--help"], "train", None)
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "one of 'discrete', 'multi_discrete', 'continuous'" in text


@pytest.mark.parametrize("words, sentence", [
    (["--env.drive.observation.partners", "300"], "observation.partners is 300; it must be"),
    (["--env.drive.control", "cars"], "control is 'cars'; it must be one of"),
    (["--env.drive.partners", "3"], "--env.drive.observation.partners")])
def test_a_value_or_name_that_does_not_fit_is_an_error_that_says_what_does(words, sentence, capsys):
    with pytest.raises(SystemExit):
        parse_config(SMALL, words, "train", None)
    assert sentence in " ".join(capsys.readouterr().err.replace("│", " ").split())
