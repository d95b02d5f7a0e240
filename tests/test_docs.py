"""Do the docs match the code? Tables are generated from it, examples run, links and paths resolve.

`python tests/test_docs.py` rewrites the tables.
"""

import dataclasses
import hashlib
import inspect
import json
import re
import sys
from enum import Enum
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
from installed import skip_where_missing
from public_names import WITH_EXTRAS, public_objects
from test_structure import LAYERS

if sys.version_info < (3, 11):
    import tomli as tomllib
else:
    import tomllib

import drive_env
from drive_env import (
    Batch,
    DriveConfig,
    DriveParallelEnv,
    DynamicsConfig,
    ObservationConfig,
    RewardConfig,
    generate_scene,
    parallel_env,
)
from drive_env.api.gym import DriveEnv, DriveVectorEnv
from drive_env.api.infos import INFO_FLAGS
from drive_env.api.registration import ENV_ID
from drive_env.arrays import CHANNELS
from drive_env.layout import observation_layout
from drive_env.scenes.generate import GENERATORS
from drive_env.scenes.metadata import FIELDS as METADATA
from drive_env.scenes.readers import READERS
from drive_env.scenes.readers.drv.layout import ENTRY_FIELDS, HEADER_FIELDS, KINDS
from drive_env.scenes.scene import OBJECT_KINDS, ROAD_KINDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "c/README.md")),
                *(ROOT / "docs").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def table(head, rows):
    """A Markdown table; cells contain no bar."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def code(value):
    return f"`{value}`"


def observation_table():
    rows = []
    for feature in observation_layout(DriveConfig()).values():
        at = str(feature.offset) if feature.slots == 1 else f"{feature.offset} + {feature.stride} i"
        rows.append([code(feature.name), at, feature.unit, f"{feature.scale:.4g}", f"{feature.low:g} to 1",
                     feature.meaning])
    return table(["feature", "offset", "unit", "scale", "range", "meaning"], rows)


def kinds_table():
    layout = observation_layout(DriveConfig())
    rows = [[name, kind.replace("_", " "), str(number), f"{number * layout[name].scale:g}"]
            for name, kinds in (("partners/kind", OBJECT_KINDS), ("roads/kind", ROAD_KINDS))
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
        rows = [["id", code(ENV_ID)],
                ["action space", code(batch.single_action_space)],
                ["observation space", code(batch.single_observation_space)],
                ["agents", f"{batch.agents_per_world} in a generated town; set by `agents_per_world`"],
                ["steps of a trial", f"{batch.roles[0].trial_steps} in a generated town; "
                                     "`batch.roles[i].trial_steps` for scene i"]]
    return table(["", ""], rows)


def blocks_table():
    meanings = {"ego": "the vehicle itself and its goal", "trial": "the history of its trials",
                "partners": "the nearest vehicles", "roads": "the nearest road segments"}
    blocks = {}
    for name, feature in observation_layout(DriveConfig()).items():
        blocks.setdefault(name.partition("/")[0], []).append(feature)
    rows = [[code(f"{name}/..."), str(min(feature.offset for feature in features)), str(features[0].slots),
             str(len(features)), meanings[name]] for name, features in blocks.items()]
    return table(["features", "from offset", "slots", "numbers per slot", "meaning"], rows)


def rewards_table():
    return table(["event", "reward", "of"], [
        [field.name, f"{field.default:+g}", field.metadata["meaning"].removeprefix("reward ").removeprefix("of ")]
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
            takers = rows.setdefault(name, [code(name), code(repr(default)), "", meanings[name]])
            takers[2] += f"{', ' if takers[2] else ''}{api}"
    return table(["argument", "default", "accepted by", "meaning"], rows.values())


EXTRAS = {"cli": "the command `drive-env`", "render": "pictures, films and charts ([looking](looking.md))",
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
        rows.append([str(kind.code), code(kind.name), kind.type, shape, kind.unit,
                     kind.rule or allowed(kind.low, kind.high), kind.meaning])
    return table(["code", "name", "type", "elements", "unit", "allowed", "meaning"], rows)


def drv_metadata_table():
    return table(["key", "type", "meaning"], [[code(key), kind, meaning] for key, (kind, meaning) in METADATA.items()])


def golden_table():
    """One hash over the plays of tests/golden.json for each part of them."""
    plays = json.loads((ROOT / "tests/golden.json").read_text())
    meanings = {"shown": "every array at every step", "told": "reports and restart observations",
                "state": "the rest of the state at every step"}

    def digest(found):
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]

    rows = [[meaning, code(digest({play: hashes[part] for play, hashes in plays.items()}))]
            for part, meaning in meanings.items()]
    return table(["of", "hash"], [*rows, ["all of these", code(digest(plays))]])


TABLES = {
    ("docs/determinism.md", "golden"): golden_table,
    ("docs/env.md", "facts"): facts_table,
    ("docs/env.md", "blocks"): blocks_table,
    ("docs/env.md", "rewards"): rewards_table,
    ("docs/env.md", "info"): info_table,
    ("docs/env.md", "arguments"): arguments_table,
    ("docs/installation.md", "extras"): extras_table,
    ("docs/installation.md", "dependencies"): dependencies_table,
    ("docs/scenes.md", "drv header"): lambda: drv_fields_table(HEADER_FIELDS),
    ("docs/scenes.md", "drv entry"): lambda: drv_fields_table(ENTRY_FIELDS),
    ("docs/scenes.md", "drv sections"): drv_sections_table,
    ("docs/scenes.md", "drv metadata"): drv_metadata_table,
    ("docs/observation.md", "observation"): observation_table,
    ("docs/observation.md", "kinds"): kinds_table,
    ("docs/config.md", "config"): lambda: config_table(DriveConfig),
    ("docs/config.md", "observation"): lambda: config_table(ObservationConfig),
    ("docs/config.md", "dynamics"): lambda: config_table(DynamicsConfig),
    ("docs/config.md", "reward"): lambda: config_table(RewardConfig),
    ("docs/scenes.md", "formats"): formats_table,
    ("docs/scenes.md", "generators"): generators_table,
}


def with_table(text, name, content):
    """The page with the table between its two markers."""
    begin, end = f"<!-- table: {name} -->\n\n", "\n<!-- end of table -->"
    before, _, rest = text.partition(begin)
    assert rest, f"{begin.strip()} is missing"
    return before + begin + content + end + rest.partition(end)[2]


@pytest.mark.parametrize("page, name", TABLES)
def test_a_table_equals_the_one_generated_from_the_code(page, name):
    text = (ROOT / page).read_text()
    assert text == with_table(text, name, TABLES[page, name]()), "run: python tests/test_docs.py"


def examples(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def runs_as(name):
    """The page of a client may raise that client's own warnings."""
    marks = [pytest.mark.filterwarnings("default")] if name.startswith("docs/clients/") else []
    return pytest.param(ROOT / name, marks=marks, id=name)


@pytest.mark.parametrize("page", [runs_as(name) for name in NAMES if examples(ROOT / name)])
def test_every_example_runs_alone(page, monkeypatch, tmp_path):
    """As it does where a reader copies this one block."""
    monkeypatch.chdir(tmp_path)
    for example in examples(page):
        try:
            exec(compile(example, page.name, "exec"), {})
        except ImportError as error:
            skip_where_missing(error)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
            assert anchor in anchors, target


def code_lines(page):
    """The lines of code blocks, indented by four spaces."""
    text = re.sub(r"^```[^\n]*\n(.*?)^```$", lambda block: re.sub("^", "    ", block[1], flags=re.MULTILINE),
                  page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^    .*$", text, re.MULTILINE)


def test_no_line_of_code_is_longer_than_a_screen_is_wide():
    """In pages, where code blocks do not wrap, and in sources."""
    sources = [path for part in ("c", "drive_env", "baselines", "benchmarks", "examples", "tests")
               for ending in ("*.py", "*.[ch]", "CMakeLists.txt") for path in (ROOT / part).rglob(ending)]
    lines = {path: path.read_text().splitlines() for path in sources}
    lines |= {page: [line[4:] for line in code_lines(page)] for page in [*PAGES, ROOT / "baselines/README.md"]}
    assert len(lines) > 200
    too_wide = {str(path): line for path, found in lines.items() for line in found if len(line) > 120}
    assert too_wide == {}


CLIENT_PAGES = sorted((ROOT / "docs/clients").glob("*.md"))


@pytest.mark.parametrize("page", CLIENT_PAGES, ids=lambda page: page.stem)
def test_a_client_s_versions_are_those_that_are_tested(page):
    """Versions after "Run with" are pinned in an environment of make test-clients."""
    _, ran, said = page.read_text().partition("\nRun with ")
    pins = {line.strip() for pins in (ROOT / "tests/clients").glob("*.txt") for line in pins.read_text().splitlines()}
    versions = re.findall(r"([a-z][a-z0-9-]+) (\d+\.\d+\.\d+)", said)
    assert bool(ran) == bool(versions)
    assert {f"{name}=={version}" for name, version in versions} <= {re.sub("_", "-", pin).lower() for pin in pins}


def test_the_readme_has_every_client():
    linked = set(re.findall(r"\]\(docs/clients/(\w+)\.md\)", (ROOT / "README.md").read_text()))
    assert linked == {page.stem for page in CLIENT_PAGES}


def test_every_channel_is_in_the_contract():
    text = (ROOT / "docs/channels.md").read_text()
    channels = set(CHANNELS) | set(INFO_FLAGS)
    assert {name for name in channels if code(name) not in text} == set()


def test_every_figure_is_defined_and_every_definition_is_a_figure():
    with Batch(generate_scene("town", agents=1), config=DriveConfig(max_trials=2)) as batch:
        figures = {re.sub(r"trial_\d+", "trial_k", name) for name in batch.metrics()}
    defined = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    assert defined == figures


def test_every_public_name_is_in_the_reference():
    module, listed = "", []
    for what, name in re.findall(r"^\.\. (\w+):: ([\w.]+)", (ROOT / "docs/api.md").read_text(), re.MULTILINE):
        if what == "currentmodule":
            module = name
        else:
            listed.append(f"{module}.{name}")
    of_extras = [name for name in listed if name.startswith(WITH_EXTRAS)]
    assert {name.rpartition(".")[0] for name in of_extras} == set(WITH_EXTRAS)
    assert sorted(set(listed) - set(of_extras)) == sorted(public_objects())


def test_the_version_is_the_same_everywhere():
    assert f"## {drive_env.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {drive_env.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_citation_agrees_with_the_package_metadata():
    """And has the fields that format 1.2.0 requires."""
    text, said = (ROOT / "CITATION.cff").read_text(), project()
    fields = dict(re.findall(r"^([a-z-]+): *(.*)$", text, re.MULTILINE))
    assert fields["cff-version"] == "1.2.0" and fields["type"] == "software"
    assert fields["license"] == said["license"] and fields["title"].strip('"').startswith(said["name"])
    assert {"message", "authors"} <= set(fields)
    assert set(re.findall(r"^  - ([a-z -]+)$", text, re.MULTILINE)) <= set(said["keywords"])


def test_the_readme_has_every_command():
    app = pytest.importorskip("drive_env.cli.app", reason="the extra [cli] is not installed").app
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    listed = (ROOT / "README.md").read_text().partition("The command behind it is")[2].partition("## ")[0]
    assert {name for name in names if not re.search(rf"`{name}( [A-Z]+)?`", listed)} == set()


def test_the_measured_observations_have_the_stated_sizes():
    sizes = {"31 partners, 128 roads": DriveConfig(),
             "15 partners, 64 roads": DriveConfig(observation={"partners": 15, "roads": 64}),
             "own state alone": DriveConfig(observation={"partners": 0, "roads": 0})}
    text = (ROOT / "docs/performance.md").read_text()
    for words, config in sizes.items():
        last = list(observation_layout(config).values())
        floats = max(feature.slice.stop for feature in last if feature.slots)
        assert re.search(rf"{words}[^|]*, {floats:,} floats", text), (words, floats)


def test_the_readme_quotes_the_figures_of_the_pages():
    """A figure is measured once, on one page."""
    text = (ROOT / "README.md").read_text()
    one, two = re.search(r"([\d.]+) million agent-steps/s on one thread, ([\d.]+) million on two", text).groups()
    measured = (ROOT / "docs/performance.md").read_text()
    assert re.search(rf"^\| 31 \+ 128 slots, float32 \(v\d\) \| {one} M \|", measured, re.MULTILINE)
    assert re.search(rf"^\| two threads \| {two} M \|", measured, re.MULTILINE)
    goals = re.search(r"\| training \| (\d+% to \d+%) of the goals", text)[1]
    assert f"{goals} goals" in " ".join((ROOT / "docs/results.md").read_text().split())


def test_the_cost_of_pettingzoo_dicts_is_on_one_page():
    """It was once given as 9, 14.9 and 23 us."""
    quoting = {page.name for page in PAGES if re.search(r"dicts?\b[^.|]*\b[\d.]+ us\b", page.read_text())}
    assert quoting <= {"CHANGELOG.md", "performance.md"}


PATH = re.compile(r"(?<![\w/.:-])((?:c|drive_env|baselines|benchmarks|docs|examples|tests)/[\w./*<>-]*[\w*>/])")


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.stem)
def test_every_path_that_a_page_names_exists(page):
    """`<name>` stands for any name."""
    text = page.read_text().replace(ENV_ID, "").replace("path/to", "")
    named = set(PATH.findall(text))
    assert page.stem != "architecture" or len(named) > 40
    assert {path for path in named if not any(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))} == set()


def test_the_architecture_page_lists_the_phases_in_their_order():
    text = (ROOT / "docs/architecture.md").read_text()
    with Batch(generate_scene("intersection", agents=1)) as batch:
        assert re.findall(r"^\| `(\w+)` \| `c/src/step/", text, re.MULTILINE) == list(batch.phase_times(False))


def test_every_name_on_the_architecture_page_exists():
    sources = [path for part in ("c", "drive_env", "baselines", "tests/helpers")
               for ending in ("*.py", "*.[ch]", "*.md") for path in (ROOT / part).rglob(ending)] + PAGES
    known = set(re.findall(r"\w+", "\n".join(path.read_text() for path in sources if path.stem != "architecture")))
    named = set(re.findall(r"`(\w+)`", (ROOT / "docs/architecture.md").read_text()))
    assert len(named) > 20 and named - known == set()


def layers():
    """Layer of each folder and module that the table of the architecture page names, 0 at its top."""
    text = (ROOT / "docs/architecture.md").read_text().partition("## Layers")[2].partition("## ")[0]
    rows = re.findall(r"^\| [^|`]+ \| (`[^|]+`) \|", text, re.MULTILINE)
    return {path.rstrip("/"): depth for depth, row in enumerate(rows) for path in re.findall(r"`([^`]+)`", row)}


def included(path):
    return [f"c/src/{name}" for name in re.findall(r'^#include "(\w+/[\w/]+\.h)"', path.read_text(), re.MULTILINE)]


def test_the_table_of_layers_has_the_order_of_the_package():
    """Which tests/test_structure.py holds every import against."""
    heights = {name: height for height, names in enumerate(LAYERS) for name in names}
    named = [Path(path).stem for path in layers() if path.startswith("drive_env/")]
    assert len(named) > 10
    assert named == sorted(named, key=heights.__getitem__, reverse=True)


def test_includes_of_the_core_point_down_the_table_of_layers():
    order = layers()
    folder_of = {path: "/".join(path.relative_to(ROOT).parts[:3]) for path in (ROOT / "c/src").rglob("*.[ch]")}
    upward = [f"{path.name} includes {target}" for path, folder in folder_of.items() for target in included(path)
              if order["/".join(target.split("/")[:3])] < order[folder]]
    assert upward == []


def test_the_readme_states_the_requirements_of_the_package():
    text = (ROOT / "README.md").read_text()
    named = re.search(r"`import drive_env` needs ([\w, ]+)", text.replace("\n", " "))[1]
    packages = {re.split("[>=]", package)[0] for package in project()["dependencies"]}
    assert set(re.findall(r"\w+", named)) - {"and"} == packages
    assert f"Python {project()['requires-python'].removeprefix('>=')} or later" in text


def write_tables():
    for (page, name), make in TABLES.items():
        path = ROOT / page
        path.write_text(with_table(path.read_text(), name, make()))


if __name__ == "__main__":
    write_tables()
