"""Do the docs say what the code does? Tables are made from it, examples run, links lead somewhere.

`python tests/test_docs.py` writes the tables anew.
"""

import dataclasses
import re
from pathlib import Path

import pytest

import drive_env
from drive_env import Batch, DriveConfig, RewardConfig, generate_scene
from drive_env.arrays import SHARED
from drive_env.env import INFO_FLAGS
from drive_env.layout import observation_layout
from drive_env.scenes.generate import GENERATORS
from drive_env.scenes.load import FORMATS
from drive_env.scenes.scene import OBJECT_KINDS, ROAD_KINDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def table(head, rows):
    """A table as Markdown; cells hold no bar."""
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def code(value):
    return f"`{value}`"


def observation_table():
    rows = []
    for feature in observation_layout(DriveConfig()).values():
        at = str(feature.offset) if feature.slots == 1 else f"{feature.offset} + {feature.stride} i"
        rows.append([code(feature.name), at, feature.unit, f"{feature.scale:.4g}", f"{feature.low:g} to 1",
                     feature.meaning])
    return table(["feature", "place", "unit", "times", "range", "meaning"], rows)


def kinds_table():
    layout = observation_layout(DriveConfig())
    rows = [[name, kind.replace("_", " "), str(number), f"{number * layout[name].scale:g}"]
            for name, kinds in (("partners/kind", OBJECT_KINDS), ("roads/kind", ROAD_KINDS))
            for number, kind in kinds.items()]
    return table(["feature", "kind", "code", "shown as"], [[code(name), *cells] for name, *cells in rows])


def config_table(config):
    rows = []
    for field in dataclasses.fields(config):
        default = "`RewardConfig()`" if field.name == "reward" else code(repr(field.default))
        rows.append([code(field.name), default, field.metadata["unit"], field.metadata["check"].allowed,
                     field.metadata["meaning"]])
    return table(["field", "default", "unit", "allowed", "meaning"], rows)


def formats_table():
    return table(["format", "told by"], [[name, format_.told_by] for name, format_ in FORMATS.items()])


def generators_table():
    rows = [[code(name), code(key), code(repr(parameter.default)), parameter.allowed, parameter.meaning]
            for name, generator in GENERATORS.items() for key, parameter in generator.PARAMETERS.items()]
    return table(["generator", "parameter", "default", "allowed", "meaning"], rows)


TABLES = {
    ("docs/observation.md", "observation"): observation_table,
    ("docs/observation.md", "kinds"): kinds_table,
    ("docs/config.md", "config"): lambda: config_table(DriveConfig),
    ("docs/config.md", "reward"): lambda: config_table(RewardConfig),
    ("docs/scenes.md", "formats"): formats_table,
    ("docs/scenes.md", "generators"): generators_table,
}


def with_table(text, name, content):
    """The page with the table between its two marks."""
    begin, end = f"<!-- table: {name} -->\n\n", "\n<!-- end of table -->"
    before, _, rest = text.partition(begin)
    assert rest, f"{begin.strip()} is not there"
    return before + begin + content + end + rest.partition(end)[2]


@pytest.mark.parametrize("page, name", TABLES)
def test_a_table_is_what_the_code_says(page, name):
    text = (ROOT / page).read_text()
    assert text == with_table(text, name, TABLES[page, name]()), "run: python tests/test_docs.py"


def examples(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
def test_the_examples_run_from_the_top_of_the_page(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in examples(page):
        try:
            exec(compile(example, page.name, "exec"), names)
        except ImportError as error:
            pytest.skip(f"an extra is not installed: {error}")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
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


def test_every_channel_is_in_the_contract():
    text = (ROOT / "docs/channels.md").read_text()
    channels = {shared.name for shared in SHARED} - {"scene_index"} | set(INFO_FLAGS)
    assert {name for name in channels if code(name) not in text} == set()


def test_every_figure_is_defined_and_every_definition_is_a_figure():
    with Batch(generate_scene("town", agents=1), config=DriveConfig(max_trials=2)) as batch:
        figures = {re.sub(r"trial_\d+", "trial_k", name) for name in batch.metrics()}
    defined = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    assert defined == figures


def test_every_public_name_is_in_the_docs():
    text = "\n".join(page.read_text() for page in PAGES)
    assert [name for name in drive_env.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_the_version_is_the_same_everywhere():
    assert f"## {drive_env.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {drive_env.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def write_tables():
    for (page, name), make in TABLES.items():
        path = ROOT / page
        path.write_text(with_table(path.read_text(), name, make()))


if __name__ == "__main__":
    write_tables()
