"""Do the docs match the code? Tables are generated from it, examples run, links and paths resolve.

`python tests/test_docs.py` rewrites the tables.
"""

import dataclasses
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
from docs_tables import ROOT, TABLES, code, project, with_table, write_tables
from installed import skip_where_missing
from public_names import WITH_EXTRAS, public_objects
from test_structure import LAYERS

import drive_env
from drive_env import Batch, DriveConfig, RewardConfig, generate_scene
from drive_env.api.infos import INFO_FLAGS
from drive_env.api.registration import ENV_ID
from drive_env.arrays import CHANNELS
from drive_env.layout import observation_layout
from drive_env.scenes.file_layout import VERSION

PAGES = sorted([*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "c/README.md")),
                *(ROOT / "docs").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


@pytest.mark.parametrize("page, name", TABLES)
def test_a_table_equals_the_one_generated_from_the_code(page, name):
    text = (ROOT / page).read_text()
    assert text == with_table(text, name, TABLES[page, name]()), "run: python tests/test_docs.py"


@pytest.mark.parametrize("inside", ["\n", "\n\n", "\n| old |\n\n"])
def test_a_written_table_replaces_what_is_between_its_markers_alone(inside):
    page = "before\n\n<!-- table: one -->\n{}<!-- end of table -->\n\nbehind\n\n<!-- end of table -->\n"
    assert with_table(page.format(inside), "one", "| new |\n") == page.format("\n| new |\n\n")


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
def test_an_example_registers_the_env_that_it_makes(page):
    """By an import, or by the id; where examples run in one process, an earlier one has registered it."""
    for example in examples(page):
        if f'"{ENV_ID}"' in example:
            assert re.search(r"^(import|from) drive_env\b", example, re.MULTILINE), example


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
    sources = [path for part in ("c", "drive_env", "baselines", "benchmarks", "docs", "examples", "tests")
               for ending in ("*.py", "*.[ch]", "*.js", "*.css", "*.html", "CMakeLists.txt")
               for path in (ROOT / part).rglob(ending)]
    lines = {path: path.read_text().splitlines() for path in sources}
    lines |= {page: [line[4:] for line in code_lines(page)] for page in [*PAGES, ROOT / "baselines/README.md"]}
    assert len(lines) > 200
    too_wide = {str(path): line for path, found in lines.items() for line in found if len(line) > 120}
    assert too_wide == {}


CLIENT_PAGES = sorted((ROOT / "docs/clients").glob("*.md"))


@pytest.mark.parametrize("page", CLIENT_PAGES, ids=lambda page: page.stem)
def test_a_client_s_versions_are_those_that_are_tested(page):
    """Versions after "Run with" are pinned in an environment of make test-clients."""
    _, ran, named = page.read_text().partition("\nRun with ")
    pins = {line.strip() for pins in (ROOT / "tests/clients").glob("*.txt") for line in pins.read_text().splitlines()}
    versions = re.findall(r"([a-z][a-z0-9-]+) (\d+\.\d+\.\d+)", named)
    assert bool(ran) == bool(versions)
    assert {f"{name}=={version}" for name, version in versions} <= {re.sub("_", "-", pin).lower() for pin in pins}


def test_the_readme_has_every_client():
    linked = set(re.findall(r"\]\(docs/clients/(\w+)\.md\)", (ROOT / "README.md").read_text()))
    assert linked == {page.stem for page in CLIENT_PAGES}


def test_the_version_of_the_file_format_is_the_one_that_is_written():
    stated = re.search(r"^Version (\d+)\.(\d+)\. ", (ROOT / "docs/scenes.md").read_text(), re.MULTILINE)
    assert tuple(map(int, stated.groups())) == VERSION


def test_every_channel_is_in_the_contract():
    text = (ROOT / "docs/channels.md").read_text()
    channels = set(CHANNELS) | set(INFO_FLAGS)
    assert {name for name in channels if code(name) not in text} == set()


def test_every_metric_is_defined_and_every_definition_is_a_metric():
    weights = {field.name: 1.0 for field in dataclasses.fields(RewardConfig)}
    metrics = set()
    for choices in ({"reward": weights}, {"on_goal": "next"}):
        config = DriveConfig(max_trials=2, detailed_metrics=True, traffic_controls=True, action_mask=True,
                             **choices)
        with Batch(generate_scene("town", agents=1), config=config) as batch:
            metrics |= {re.sub(r"trial_\d+", "trial_k", name) for name in batch.metrics()}
    defined = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    assert defined == metrics


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
    text, metadata = (ROOT / "CITATION.cff").read_text(), project()
    fields = dict(re.findall(r"^([a-z-]+): *(.*)$", text, re.MULTILINE))
    assert fields["cff-version"] == "1.2.0" and fields["type"] == "software"
    assert fields["license"] == metadata["license"] and fields["title"].strip('"').startswith(metadata["name"])
    assert {"message", "authors"} <= set(fields)
    assert set(re.findall(r"^  - ([a-z -]+)$", text, re.MULTILINE)) <= set(metadata["keywords"])


def test_the_readme_has_every_command():
    app = pytest.importorskip("drive_env.cli.app", reason="the extra [cli] is not installed").app
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    listed = (ROOT / "README.md").read_text().partition("The command behind it is")[2].partition("## ")[0]
    assert {name for name in names if not re.search(rf"`{name}( [A-Z]+)?`", listed)} == set()


def commands(page):
    """The calls of `drive-env` with arguments, in code blocks and in the text, without those that show a syntax."""
    text = page.read_text()
    lines = re.findall(r"^ {4}(drive-env [a-z].*)$", text, re.MULTILINE)
    lines += [" ".join(words.split()) for words in re.findall(r"`(drive-env [a-z]+\s[^`]+)`", text)]
    calls = [call.partition(" #")[0].strip() for line in lines for call in line.split("; ")]
    return [call for call in calls if not re.search(r"\[|\.\.\.", call)]


CALLS = sorted({call for page in PAGES if page.name != "CHANGELOG.md" for call in commands(page)})


@pytest.mark.parametrize("call", CALLS)
def test_a_command_on_a_page_has_the_options_that_it_needs(call):
    """It is parsed and not run: the files and policies that pages name do not exist."""
    app = pytest.importorskip("drive_env.cli.app", reason="the extra [cli] is not installed").app
    from typer.main import get_command

    assert len(CALLS) > 20
    _, name, *words = shlex.split(call)
    get_command(app).commands[name].make_context(name, words)


def test_the_measured_observations_have_the_stated_sizes():
    sizes = {"31 partners, 128 roads": DriveConfig(),
             "15 partners, 64 roads": DriveConfig(observation={"partners": 15, "roads": 64}),
             "own state alone": DriveConfig(observation={"partners": 0, "roads": 0})}
    text = (ROOT / "docs/performance.md").read_text()
    for words, config in sizes.items():
        last = list(observation_layout(config).values())
        floats = max(feature.slice.stop for feature in last if feature.slots)
        assert re.search(rf"{words}[^|]*, {floats:,} floats", text), (words, floats)


def test_goals_of_speed_are_judged_by_the_run_on_the_page(monkeypatch):
    """A run that is written to the page must not leave verdicts of an earlier one."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    goals, pages = import_module("goals"), import_module("pages")
    page = ROOT / "docs/performance.md"
    measured = pages.measured_part(page)
    assert goals.goals_table(measured) == pages.measured_part(page, "goals")
    # Other figures change the verdicts: of a rate, of a time that should be small, and of a goal with two figures.
    restart = re.search(r"^\| a step in which the one world restarts \| (.*) \|$", measured, re.MULTILINE)[1]
    slower = measured.replace(f"restarts | {restart} |", "restarts | 51 us |")
    assert "| a restart in a step: 50 us | 51 us, not reached |" in goals.goals_table(slower)
    many = re.sub(r"(\| 400 distinct scenes, 400 worlds \|) [^|]* \|", r"\1 1.01 M |", measured)
    assert "| 400 scenes on that Zen 4: 1.0 M | 1.01 M |" in goals.goals_table(many)
    near = re.sub(r"(\| 63 \+ 200 slots, near roads \|) [^|]* \|", r"\1 2.50 M |", measured)
    near = re.sub(r"(\| 63 \+ 200 slots \|) [^|]* \|", r"\1 900 k |", near)
    assert "| 900 k and 2.50 M; the first not reached |" in goals.goals_table(near)
    with pytest.raises(ValueError, match="0 measured rows begin with 'two threads'"):
        goals.goals_table(re.sub(r"\| two threads [^\n]*\n", "", measured))


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
    """Three pages with three figures would contradict each other."""
    quoting = {page.name for page in PAGES if re.search(r"dicts?\b[^.|]*\b[\d.]+ us\b", page.read_text())}
    assert quoting <= {"CHANGELOG.md", "performance.md"}


PATH = re.compile(r"(?<![\w/.:-])((?:c|drive_env|baselines|benchmarks|docs|examples|tests)/[\w./*<>-]*[\w*>/])")


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.stem)
def test_every_path_that_a_page_names_exists(page):
    """`<name>` stands for any name."""
    text = re.sub(r"\bdrive_env/\w+-v\d+\b", "", page.read_text()).replace("path/to", "")  # ids of envs are no paths
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
    """tests/test_structure.py checks every import against that order."""
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


if __name__ == "__main__":
    write_tables()
