"""Which tables of the docs come from the code? `TABLES`: page and name to the function that writes the table."""

import dataclasses
import hashlib
import inspect
import json
import re
import sys
from enum import Enum
from fractions import Fraction
from pathlib import Path

if sys.version_info < (3, 11):
    import tomli as tomllib
else:
    import tomllib

from drive_env import (
    Batch,
    DisturbanceConfig,
    DriveConfig,
    DriveParallelEnv,
    DynamicsConfig,
    HiddenConfig,
    IDMConfig,
    ImageConfig,
    MOBILConfig,
    ObservationConfig,
    RewardConfig,
    RewardRanges,
    SensorConfig,
    generate_scene,
    parallel_env,
)
from drive_env.action_space import action_dimensions
from drive_env.api.gym import DriveEnv, DriveVectorEnv
from drive_env.api.infos import INFO_FLAGS
from drive_env.api.ladder import LADDER
from drive_env.api.registration import ENV_ID
from drive_env.api.scene_envs import SCENE_ENVS
from drive_env.behaviours import BEHAVIOURS
from drive_env.binding import choices, lib, text
from drive_env.binding import table as table_of_core
from drive_env.config import HIDDEN_PARAMETERS, action_types, hidden_parameters
from drive_env.evaluation import EvaluatorConfig
from drive_env.evaluation.scores import SCORES
from drive_env.gallery.cards import cards
from drive_env.gallery.films import Filmed
from drive_env.gallery.page import Shown, facts
from drive_env.layout import critic_layout, observation_layout
from drive_env.policies import KNOWN as KNOWN_POLICIES
from drive_env.realism.weights import FEATURES, YEARS
from drive_env.roles import STEPS_WITHOUT_A_LOG
from drive_env.scenes.file_layout import ENTRY_FIELDS, HEADER_FIELDS, KINDS
from drive_env.scenes.generate import GENERATORS, TASK_OF, TRIAL_STEPS
from drive_env.scenes.generate.blocks import BLOCKS as MAP_BLOCKS
from drive_env.scenes.metadata import FIELDS as METADATA
from drive_env.scenes.readers import READERS
from drive_env.scenes.scene import CONTROL_KINDS, OBJECT_KINDS, ROAD_KINDS
from drive_env.tasks import KNOWLEDGE, gates, hidden_closure, hidden_exit, occluded_crossing

ROOT = Path(__file__).resolve().parents[2]


def table(head, rows):
    """A Markdown table; cells contain no bar."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def code(value):
    return f"`{value}`"


def layout_table(layout):
    rows = []
    for feature in layout.values():
        at = str(feature.offset) if feature.slots == 1 else f"{feature.offset} + {feature.stride} i"
        rows.append([code(feature.name), at, feature.unit, f"{feature.scale:.4g}", f"{feature.low:g} to 1",
                     feature.meaning])
    return table(["feature", "offset", "unit", "scale", "range", "meaning"], rows)


def actions_table():
    rows = []
    for model in choices("dynamics"):
        offered = action_types(model)
        config = DriveConfig(dynamics=model, action_type=offered[-1])
        for number, dimension in enumerate(action_dimensions(config)):
            rows.append([code(model) if number == 0 else "", code(dimension.name), dimension.unit,
                         f"{dimension.low:.4g} to {dimension.high:.4g}", str(dimension.bins or "none")])
    return table(["`dynamics.model`", "number", "unit", "from -1 to 1", "bins"], rows)


def hidden_table():
    """Which models have each hidden parameter."""
    rows = [[code(field.name), ", ".join(code(model) for model in choices("dynamics")
                                         if field.name in hidden_parameters(model)), field.metadata["meaning"]]
            for field in dataclasses.fields(HiddenConfig) if field.name in HIDDEN_PARAMETERS]
    return table(["parameter", "models", "meaning"], rows)


def layers_table():
    entries = table_of_core(lib.drv_image_layer_kinds, "drv_image_layer_kind")
    return table(["layer", "pixels"], [[code(text(entry.name)), text(entry.meaning)] for entry in entries])


def kinds_table():
    layout = observation_layout(DriveConfig())
    rows = [[name, kind.replace("_", " "), str(number), f"{number * layout[name].scale:g}"]
            for name, kinds in (("partners/kind", OBJECT_KINDS), ("roads/kind", ROAD_KINDS),
                                ("controls/kind", CONTROL_KINDS))
            for number, kind in kinds.items()]
    return table(["feature", "kind", "code", "observed as"], [[code(name), *cells] for name, *cells in rows])


def config_table(config):
    rows = []
    for field in dataclasses.fields(config):
        nested = dataclasses.is_dataclass(field.default)
        default = code(f"{type(field.default).__name__}()" if nested else repr(field.default))
        rows.append([code(field.name), default, field.metadata["unit"], field.metadata["check"].allowed,
                     field.metadata["meaning"]])
    return table(["field", "default", "unit", "allowed", "meaning"], rows)


def facts_table():
    with Batch("town", config=DriveConfig()) as batch:
        rows = [["id of PettingZoo", code(ENV_ID)],
                ["action space", code(batch.single_action_space)],
                ["observation space", code(batch.single_observation_space)],
                ["agents", f"{batch.agents_per_world} in a generated town; set by `agents_per_world`"],
                ["steps of a trial", f"{batch.roles[0].trial_steps} in a generated town; "
                                     "`batch.roles[i].trial_steps` for scene i"]]
    return table(["", ""], rows)


def blocks_table():
    meanings = {"ego": "the vehicle itself and its goal", "trial": "the history of its trials",
                "partners": "the nearest vehicles", "roads": "the nearest road segments",
                "candidates": "the candidate goals of the scene",
                "goals": "the current goal and those that follow it",
                "controls": "the nearest traffic lights and signs", "route": "points of the agent's route"}
    blocks = {}
    for name, feature in observation_layout(DriveConfig()).items():
        blocks.setdefault(name.partition("/")[0], []).append(feature)
    rows = [[code(f"{name}/..."), str(min(feature.offset for feature in features)), str(features[0].slots),
             str(len(features)), meanings[name]] for name, features in blocks.items()]
    return table(["features", "from offset", "slots", "numbers per slot", "meaning"], rows)


def rewards_table():
    return table(["field of `RewardConfig`", "default", "meaning"], [
        [code(field.name), f"{field.default:+g}", field.metadata["meaning"]]
        for field in dataclasses.fields(RewardConfig)])


def info_table():
    """The keys of an info, with their meanings in the contract."""
    meanings = {}
    contract = (ROOT / "docs/channels.md").read_text()
    for names, meaning in re.findall(r"^\| ([`\w, ]+) \| (.+?) \|$", contract, re.MULTILINE):
        meanings = dict.fromkeys(re.findall(r"`(\w+)`", names), meaning) | meanings
    meanings["outcome"] = ("on the step that decides the agent's trial, the index of its name in `drive_env.OUTCOMES`; "
                           "else 0")
    return table(["key", "meaning"], [[code(key), meanings[key]] for key in [*INFO_FLAGS, "trial_index", "outcome"]])


def meanings_of_arguments(found):
    """Argument to its meaning, from the docstring's Args."""
    block = inspect.getdoc(found).partition("Args:\n")[2].partition("\n\n")[0]
    meanings = {}
    for names, meaning in re.findall(r"^    ([\w, ]+): (.*(?:\n {8}.*)*)", block, re.MULTILINE):
        meanings |= dict.fromkeys(names.split(", "), " ".join(meaning.split()).rstrip("."))
    return meanings


def arguments_table():
    apis = {"`make`": DriveEnv, "`make_vec`": DriveVectorEnv, "`parallel_env`": parallel_env, "`Batch`": Batch}
    meanings = meanings_of_arguments(DriveParallelEnv) | meanings_of_arguments(parallel_env)
    for found in (DriveEnv, DriveVectorEnv, DriveParallelEnv, Batch):
        meanings |= meanings_of_arguments(found)
    meanings |= {"max_cycles": meanings_of_arguments(parallel_env)["max_cycles"]}
    rows = {}
    for api, found in apis.items():
        for name, argument in inspect.signature(found).parameters.items():
            default = argument.default.value if isinstance(argument.default, Enum) else argument.default
            row = rows.setdefault(name, [code(name), code(repr(default)), "", meanings[name]])
            row[2] += f"{', ' if row[2] else ''}{api}"
    return table(["argument", "default", "accepted by", "meaning"], rows.values())


METADRIVE_BLOCKS = {
    "S": "Straight", "C": "Curve", "r": "InRampOnStraight", "R": "OutRampOnStraight", "X": "StdInterSection",
    "T": "StdTInterSection", "O": "Roundabout", "y": "Merge", "Y": "Split", "$": "TollGate", "P": "ParkingLot"}
"""The blocks of MetaDrive with these letters."""

HIGHWAY_ENV = {
    "Highway": ("highway-v0", "40", "50", "0.4 for 20 to 30 m/s, 0.1 for the right lane, collision -1"),
    "HighwayFast": ("highway-fast-v0", "30", "20", "as highway-v0"),
    "Merge": ("merge-v0", "none, ends at 370 m", "4", "0.2 for 20 to 30 m/s, 0.1 for the right lane, lane change "
              "-0.05, slow merging cars -0.5, collision -1"),
    "Roundabout": ("roundabout-v0", "11", "4", "0.2 for speed, lane change -0.05, collision -1"),
    "Racetrack": ("racetrack-v0", "300", "1", "1 for the centre of the lane, steering -0.3, collision -1"),
    "RacetrackLarge": ("racetrack-large-v0", "300", "1", "as racetrack-v0"),
    "Oval": ("racetrack-oval-v0", "300", "", "as racetrack-v0"),
    "TwoWay": ("two-way-v0", "15", "5", "0.8 for speed, 0.2 for the left lane"),
    "Exit": ("exit-v0", "18", "20", "0.1 for 20 to 30 m/s, exit 1"),
    "UTurn": ("u-turn-v0", "10", "6", "0.4 for 8 to 24 m/s, 0.1 for the left lane, collision -1"),
    "Parking": ("parking-v0", "100", "0", "minus the root of a weighted distance to the pose, collision -5"),
    "Intersection": ("intersection-v0", "13", "10, and more that appear", "1 for 7 to 9 m/s, arrival 1, collision -5"),
}
"""HighwayEnv's counterpart of an env: id, horizon in s, other vehicles, and reward of a decision."""


def scene_envs_table():
    rows = []
    for row in SCENE_ENVS:
        reward = DriveConfig.from_dict(row.defaults).reward.to_dict()
        weights = ", ".join(f"`{name}` {value:g}" for name, value in reward.items() if value)
        counts = sorted({generate_scene(row.scenes, seed=seed).objects.count - 1 for seed in range(8)})
        name, horizon, others, terms = HIGHWAY_ENV.get(row.name, ("none", "", "", ""))
        rows.append([code(row.id), f"{row.horizon_s:g}",
                     " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1]))), row.action_type,
                     f"{row.dt_s:g}", weights, name if name == "none" else code(name), horizon,
                     others, terms])
    return table(["id", "horizon, s", "others", "action", "step, s", "reward", "HighwayEnv", "horizon, s", "others",
                  "reward of a decision"], rows)


def ladder_table():
    rows = []
    for level in LADDER:
        config = DriveConfig.from_dict(level.kwargs["defaults"])
        counts = [generate_scene(name).objects.count - 1 for name in level.scenes]
        vehicles = " to ".join(str(count) for count in dict.fromkeys((min(counts), max(counts))))
        rows.append([code(level.id), ", ".join(code(name) for name in level.scenes), vehicles,
                     str(config.observation.partners), f"{config.trial_steps * config.dt_s:g}", level.harder])
    return table(["id", "scenes", "other vehicles", "of these observed", "horizon, s", "what there is to learn"], rows)


EXTRAS = {"cli": "the command `drive-env`", "drive": "[driving by hand](looking.md#driving-by-hand)",
          "render": "pictures, films and charts ([looking](looking.md))",
          "train": "the reference trainer, `baselines/` of a checkout", "sb3": "stable-baselines3",
          "test": "the tests of this package", "docs": "these pages"}
"""The purpose of each extra."""


def extras_table():
    rows = [[code(name), EXTRAS[name], ", ".join(code(package) for package in packages)]
            for name, packages in project()["optional-dependencies"].items()]
    return table(["extra", "for", "installs"], rows)


def dependencies_table():
    rows = [[code(name), at_least] for name, at_least in
            (package.split(">=") for package in project()["dependencies"])]
    return table(["package", "at least"], rows)


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def formats_table():
    return table(["format", "file", "identified by"],
                 [[one.format, code(one.extension), one.signature] for one in READERS])


def generators_table():
    rows = [[code(name), code(key), code(repr(parameter.default)), parameter.allowed, parameter.meaning]
            for name, generator in GENERATORS.items() for key, parameter in generator.PARAMETERS.items()]
    return table(["generator", "parameter", "default", "allowed", "meaning"], rows)


def letters_table():
    """The blocks of maps: a row for each parameter."""
    rows = []
    for letter, kind in MAP_BLOCKS.items():
        names = [code(letter), code(kind.name), METADRIVE_BLOCKS[letter], f"{kind.probability:g}"]
        for key, choice in kind.choices.items():
            low_high = " to ".join(f"{end:g}" for end in choice.drawn) if not choice.parameter.choices else ", ".join(
                repr(text) for text in choice.drawn)
            rows.append([*names, code(key), low_high or f"always {choice.parameter.default!r}",
                         choice.parameter.allowed, choice.parameter.meaning])
            names = [""] * 4
    return table(["letter", "name", "MetaDrive's", "probability", "parameter", "drawn", "allowed", "meaning"], rows)


def scene_defaults_table():
    rows = [[code(name), str(generator.DEFAULT_AGENTS), str(TRIAL_STEPS[name] or STEPS_WITHOUT_A_LOG)]
            for name, generator in GENERATORS.items() if name not in TASK_OF]
    return table(["generator", "agents", "steps"], rows)


def optimal_scores_table():
    names = {"memory": "memory", "trial_features": "trial features alone", "none": "neither"}
    tasks = {"hidden exit, 3 exits": hidden_exit(3, 3, [0]), "hidden exit, 4 exits": hidden_exit(4, 4, [0]),
             "hidden exit, 5 exits, revealed": hidden_exit(5, 2, [0], reveal_s=0.5), "2 gates": gates(2, 3, [0]),
             "3 gates": gates(3, 2, [0]), "occluded crossing, 3 vans": occluded_crossing(3, 2, [0]),
             "occluded crossing, 5 vans": occluded_crossing(5, 2, [0]),
             "hidden closure, 2 closed": hidden_closure(2, 3, [0]),
             "hidden closure, 1 closed": hidden_closure(1, 2, [0])}
    rows = [[name if knowledge == KNOWLEDGE[0] else "", names[knowledge],
             ", ".join(str(Fraction(score).limit_denominator(60)) for score in task.optimal_scores[knowledge])]
            for name, task in tasks.items() for knowledge in KNOWLEDGE]
    return table(["task", "a policy has", "success rate in each trial"], rows)


def allowed(low, high):
    """A range as text; empty where both ends are 0."""
    if low == high == 0:
        return ""
    return "finite" if high > 1e300 else " to ".join(f"{end:,}".removesuffix(".0") for end in (low, high))


def drv_fields_table(fields):
    rows = [[str(field.offset), code(field.name), field.type, field.unit, allowed(field.low, field.high), field.meaning]
            for field in fields]
    return table(["byte", "name", "type", "unit", "allowed", "meaning"], rows)


def drv_sections_table():
    rows = []
    for kind in KINDS:
        shape = " x ".join(filter(None, (kind.rows, kind.columns)))
        rows.append([str(kind.code), f"1.{kind.since}", code(kind.name), kind.type, shape, kind.unit,
                     kind.rule or allowed(kind.low, kind.high), kind.meaning])
    return table(["code", "since", "name", "type", "elements", "unit", "allowed", "meaning"], rows)


def drv_metadata_table():
    return table(["key", "type", "meaning"], [[code(key), kind, meaning] for key, (kind, meaning) in METADATA.items()])


def golden_table():
    """One hash of all rollouts of tests/golden.json for each part of their data."""
    rollouts = json.loads((ROOT / "tests/golden.json").read_text())
    meanings = {"outputs": "every array at every step", "reports": "reports and restart observations",
                "state": "the rest of the state at every step"}

    def digest(found):
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]

    rows = [[meaning, code(digest({rollout: hashes[part] for rollout, hashes in rollouts.items()}))]
            for part, meaning in meanings.items()]
    return table(["what is hashed", "hash"], [*rows, ["all of it", code(digest(rollouts))]])


def behaviours_table():
    return table(["class", "meaning", "in numbers: the vehicle", "source"],
                 [[code(name), one.meaning, one.definition, one.source] for name, one in BEHAVIOURS.items()])


def behaviour_scenes_table():
    return table(["class", "drawn from"], [[code(name), one.recipe.scenes] for name, one in BEHAVIOURS.items()])


def realism_table():
    def likelihood(row):
        return f"{row.bins} bins, {row.low:g} to {row.high:g}" if row.bins else "share of rollouts"

    rows = [[code(name), row.bucket, likelihood(row), *(f"{weight:g}" for weight in row.weights)]
            for name, row in FEATURES.items()]
    return table(["feature", "bucket", "likelihood", *map(str, YEARS)], rows)


def scores_table():
    return table(["score", "unit", "meaning, of one drive"], [[code(name), *row] for name, row in SCORES.items()])


def leaderboard_table(kind):
    """Rows are scenes or behaviours, columns policies; the figures are those that docs/play_leaderboard.py measured."""
    rows = [row for row in json.loads((ROOT / "docs/leaderboard.json").read_text()) if row["kind"] == kind]
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    found = {(row["policy"], row["name"]): row for row in rows}
    names = list(dict.fromkeys(row["name"] for row in rows))

    def entry(row):
        if row is None:
            return "-"
        low, high = row["ci95"] or (row["score"], row["score"])
        return f"{row['score']:.2f} [{low:.2f}, {high:.2f}]"

    def mean(policy):
        scores = [found[policy, name]["score"] for name in names if (policy, name) in found]
        return f"{sum(scores) / len(scores):.3f}"

    lines = [[code(name), *(entry(found.get((policy, name))) for policy in policies)] for name in names]
    return table([kind.removesuffix("s"), *map(code, policies)], [*lines, ["mean", *map(mean, policies)]])


GALLERY_COLUMNS = 2
"""Films side by side."""


def gallery_shown():
    """The cards of the gallery with the films and figures that docs/draw_gallery.py has made."""
    measured = json.loads((ROOT / "docs/gallery/measured.json").read_text())
    return [Shown(card, Filmed(**measured[name]["film"]), measured[name]["counts"]) for name, card in cards().items()]


def gallery_films_table():
    films = [f"![Film of {name}](gallery/{name}.gif)<br>{code(name)}: {facts(shown)['film']}"
             for shown in gallery_shown() for name in [shown.card.name]]
    rows = [films[first : first + GALLERY_COLUMNS] for first in range(0, len(films), GALLERY_COLUMNS)]
    return table([""] * GALLERY_COLUMNS, [row + [""] * (GALLERY_COLUMNS - len(row)) for row in rows])


def gallery_table():
    rows = []
    for shown in gallery_shown():
        told, card = facts(shown), shown.card
        links = [f"[{code(name)}](scene_envs.md)" for name in card.envs] or [f"[{code(card.task)}](tasks.md)"]
        rows.append([code(card.name), ", ".join(links), told["cars"], told["horizon"], told["actions"], told["hard"],
                     told["reference"]])
    return table(["scene", "envs, or task", "cars", "horizon", "actions", "what is hard", "score of the driver"], rows)


def gallery_behaviours_table():
    return table(["class", "meaning"], [[code(name), one.meaning] for name, one in BEHAVIOURS.items()])


HEADINGS = DriveConfig(goal_heading_tolerance_rad=0.2, observation={"goals": 1})
"""The default config, but goals have to be reached with their headings."""

def policies_table():
    return table(["policy", "what it does", "needs"], [
        [code(name), known.does, known.needs] for name, known in KNOWN_POLICIES.items()])


TABLES = {
    ("docs/actions.md", "actions"): actions_table,
    ("docs/behaviours.md", "behaviours"): behaviours_table,
    ("docs/behaviours.md", "behaviour scenes"): behaviour_scenes_table,
    ("docs/determinism.md", "golden"): golden_table,
    ("docs/env.md", "facts"): facts_table,
    ("docs/env.md", "blocks"): blocks_table,
    ("docs/env.md", "rewards"): rewards_table,
    ("docs/env.md", "info"): info_table,
    ("docs/env.md", "arguments"): arguments_table,
    ("docs/evaluation.md", "policies"): policies_table,
    ("docs/evaluation.md", "evaluator"): lambda: config_table(EvaluatorConfig),
    ("docs/installation.md", "extras"): extras_table,
    ("docs/installation.md", "dependencies"): dependencies_table,
    ("docs/scenes.md", "drv header"): lambda: drv_fields_table(HEADER_FIELDS),
    ("docs/scenes.md", "drv entry"): lambda: drv_fields_table(ENTRY_FIELDS),
    ("docs/scenes.md", "drv sections"): drv_sections_table,
    ("docs/scenes.md", "drv metadata"): drv_metadata_table,
    ("docs/observation.md", "observation"): lambda: layout_table(observation_layout(DriveConfig())),
    ("docs/observation.md", "critic"): lambda: layout_table(critic_layout(HEADINGS)),
    ("docs/observation.md", "kinds"): kinds_table,
    ("docs/config.md", "config"): lambda: config_table(DriveConfig),
    ("docs/config.md", "observation"): lambda: config_table(ObservationConfig),
    ("docs/config.md", "dynamics"): lambda: config_table(DynamicsConfig),
    ("docs/config.md", "idm"): lambda: config_table(IDMConfig),
    ("docs/config.md", "mobil"): lambda: config_table(MOBILConfig),
    ("docs/config.md", "hidden"): lambda: config_table(HiddenConfig),
    ("docs/config.md", "image"): lambda: config_table(ImageConfig),
    ("docs/observation.md", "layers"): layers_table,
    ("docs/config.md", "sensors"): lambda: config_table(SensorConfig),
    ("docs/config.md", "disturbances"): lambda: config_table(DisturbanceConfig),
    ("docs/gallery.md", "gallery films"): gallery_films_table,
    ("docs/gallery.md", "gallery"): gallery_table,
    ("docs/gallery.md", "gallery behaviours"): gallery_behaviours_table,
    ("docs/hidden.md", "parameters"): hidden_table,
    ("docs/leaderboard.md", "leaderboard scenes"): lambda: leaderboard_table("scenes"),
    ("docs/leaderboard.md", "leaderboard behaviours"): lambda: leaderboard_table("behaviours"),
    ("docs/realism.md", "features"): realism_table,
    ("docs/scores.md", "scores"): scores_table,
    ("docs/config.md", "reward"): lambda: config_table(RewardConfig),
    ("docs/config.md", "reward ranges"): lambda: config_table(RewardRanges),
    ("docs/scenes.md", "formats"): formats_table,
    ("docs/scenes.md", "generators"): generators_table,
    ("docs/scenes.md", "letters"): letters_table,
    ("docs/scene_envs.md", "scene envs"): scene_envs_table,
    ("docs/first_task.md", "ladder"): ladder_table,
    ("docs/scenes.md", "scene defaults"): scene_defaults_table,
    ("docs/tasks.md", "optimal scores"): optimal_scores_table,
}


def with_table(text, name, content):
    """The page with the table between its two markers."""
    begin, end = f"<!-- table: {name} -->\n", "<!-- end of table -->"
    before, has_begin, rest = text.partition(begin)
    inside, has_end, behind = rest.partition(end)
    assert has_begin and has_end and "<!-- table: " not in inside, f"{begin.strip()} or its {end} is missing"
    return f"{before}{begin}\n{content}\n{end}{behind}"


def write_tables():
    for (page, name), make in TABLES.items():
        path = ROOT / page
        path.write_text(with_table(path.read_text(), name, make()))
