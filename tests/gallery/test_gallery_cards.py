"""Does every scene have a card, with the facts of its envs or task?"""

import json
from pathlib import Path

import gymnasium
import pytest

import drive_env
from drive_env import ConfigError
from drive_env.api.ladder import LADDER
from drive_env.gallery.cards import cards, named_cards
from drive_env.gallery.scores import counts_of, percent, score_text, total
from drive_env.scenes.generate import GENERATORS, TASK_OF

MEASURED = json.loads((Path(__file__).parents[2] / "docs/gallery/measured.json").read_text())


def test_every_generator_has_a_card_and_every_env_of_a_scene_is_on_one():
    registered = {name for name in gymnasium.registry if name.startswith("drive_env/")} - {row.id for row in LADDER}
    named = [env for card in cards().values() for env in card.envs]
    assert cards().keys() == GENERATORS.keys() and sorted(named) == sorted(registered)
    assert {name for name, card in cards().items() if not card.envs} == TASK_OF.keys()


@pytest.mark.parametrize("name", ["highway", "narrow", "parking", "two_way"])
def test_a_card_has_the_horizon_and_actions_of_its_env_and_the_cars_of_its_scene(name):
    card, scene = cards()[name], drive_env.generate_scene(name)
    env = gymnasium.make(card.envs[0])
    roles = env.unwrapped.batch.roles[0]
    assert (card.steps, card.dt_s) == (roles.trial_steps, roles.dt_s)
    assert (card.config.action_type == "continuous") == isinstance(env.action_space, gymnasium.spaces.Box)
    assert card.agents == (~scene.objects.marked_expert).sum() > roles.num_agents == 1
    env.close()


def test_what_is_hard_is_one_sentence_a_scene():
    said = [card.difficulty for card in cards().values()]
    assert len(set(said)) == len(said)
    assert [text for text in said if not (text[0].isupper() and text.endswith(".") and text.count(".") == 1)] == []


def test_cards_come_in_the_order_of_their_names_once():
    assert [card.name for card in named_cards(["oval", "town", "oval"])] == ["oval", "town"]
    assert [card.name for card in named_cards(None)] == list(cards()) == [card.name for card in named_cards([])]
    with pytest.raises(ConfigError, match="scenes has 'moon'; it must be one of 'town', .*'closures'"):
        named_cards(["town", "moon"])


def test_a_driver_that_acts_at_random_scores_nothing_where_the_reference_driver_arrives():
    card = cards()["narrow"]
    assert counts_of(card, 0) == {"trials": 2, "score": 2, "collision": 0, "offroad": 0, "timeout": 0, "goals": 2}
    at_random = counts_of(card._replace(policy="random"), 0)
    assert (at_random["trials"], at_random["score"], at_random["goals"]) == (2, 0, 0)
    assert at_random["collision"] + at_random["offroad"] + at_random["timeout"] >= 2


def test_every_trial_of_a_task_counts():
    """The one car has one outcome in each."""
    card = cards()["exits"]
    found = counts_of(card, 0)
    assert found["trials"] == card.trials == 3
    assert sum(found[name] for name in ("score", "collision", "offroad", "timeout")) == 3


def test_on_circuits_all_goals_count():
    card = cards()["oval"]
    card = card._replace(config=card.config.replace(trial_steps=200), steps=200)
    found = counts_of(card, 0)
    # 20 s at up to 15 m/s; the first goal is 100 to 200 m ahead, then there is one every 40 m.
    assert found["trials"] == 8 and 8 <= found["goals"] <= 8 * (1 + 200 / 40)
    assert score_text(card, [found]).endswith(f", {found['goals'] / 8 * 3:.1f} goals a minute")


def test_a_score_is_a_share_of_all_seeds():
    card = cards()["narrow"]
    rows = [dict.fromkeys(("score", "collision", "offroad", "timeout", "goals"), good) | {"trials": 4}
            for good in (4, 1)]
    assert total(rows)["trials"] == 8 and score_text(card, rows) == "62.5%"
    assert score_text(cards()["gates"], rows) == "62.5%; optimum with memory: 1/4, 3/4"


def test_a_share_is_never_rounded_to_none_or_all():
    assert [percent(part, 4000) for part in (0, 1, 2000, 3999, 4000)] == ["0%", "0.1%", "50.0%", "99.9%", "100%"]


@pytest.mark.parametrize("name", ["narrow", "u_turn", "gates"])
def test_measured_scores_are_those_of_the_code(name):
    assert [counts_of(cards()[name], seed) for seed in (0, 1, 19)] == [MEASURED[name]["counts"][seed]
                                                                      for seed in (0, 1, 19)]


def test_every_scene_is_measured_over_20_seeds():
    assert MEASURED.keys() == GENERATORS.keys()
    for name, found in MEASURED.items():
        assert [row["trials"] for row in found["counts"]] == [cards()[name].agents * cards()[name].trials] * 20
