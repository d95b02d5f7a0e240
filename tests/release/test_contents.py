"""What is in the wheel and in the sdist? The files git tracks, the compiled core, the metadata of the index."""

import json
import re
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

import drive_env

ROOT = Path(__file__).resolve().parents[2]
NAME = f"drive_env-{drive_env.__version__}"
INFO = f"{NAME}.dist-info"
CORE_DEPENDENCIES = {"numpy", "cffi", "gymnasium", "pettingzoo"}


@cache
def tracked(*under: str) -> frozenset[str]:
    """The files that git tracks, by their paths in the checkout."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *under], cwd=ROOT, check=True, capture_output=True)
    return frozenset(listed.stdout.decode().split("\0")) - {""}


def metadata(wheel):
    packaging = pytest.importorskip("packaging.metadata")
    with ZipFile(wheel) as archive:
        # Validation refuses what the index would: unknown fields, versions, names, licence expressions.
        return packaging.Metadata.from_email(archive.read(f"{INFO}/METADATA"), validate=True)


def test_the_wheel_is_the_package_the_compiled_core_and_nothing_else(wheel):
    info = {f"{INFO}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    with ZipFile(wheel) as archive:
        assert archive.testzip() is None
        files = {name for name in archive.namelist() if not name.endswith("/")}
    assert files == tracked("drive_env") | {"drive_env/_core.abi3.so"} | info


@pytest.mark.parametrize("needed", ["drive_env/py.typed", "drive_env/_core.abi3.so", "drive_env/_core.pyi",
                                    "drive_env/replay/web/page.html", "drive_env/replay/web/main.js",
                                    "drive_env/replay/web/page.css", "drive_env/evaluation/result.schema.json",
                                    "drive_env/scenes/example_log.drv", "drive_env/trained/generalist.npz",
                                    "drive_env/trained/hidden_exit.npz", f"{INFO}/licenses/LICENSE"])
def test_the_wheel_has_what_no_python_import_would_miss(wheel, needed):
    with ZipFile(wheel) as archive:
        assert needed in archive.namelist()


def test_the_wheel_holds_no_debug_information_and_is_small(wheel):
    """Debug information would make the core several times as large."""
    with ZipFile(wheel) as archive:
        assert archive.getinfo("drive_env/_core.abi3.so").compress_size < 700_000
    assert wheel.stat().st_size < 3_150_000


def test_the_sdist_is_the_checkout_without_its_ci(sdist):
    with tarfile.open(sdist) as archive:
        found = {member.name for member in archive if member.isfile()}
    wanted = {path for path in tracked() if not path.startswith(".ci/")}
    assert found == {f"{NAME}/{path}" for path in wanted | {"PKG-INFO"}}


def test_the_metadata_has_what_the_index_requires(wheel):
    found = metadata(wheel)
    assert (found.name, str(found.version)) == ("drive-env", drive_env.__version__)
    assert str(found.requires_python) == ">=3.10"
    assert found.license_expression == "MIT"
    assert found.license_files == ["LICENSE"]
    assert found.description_content_type.startswith("text/markdown")
    assert found.description == (ROOT / "README.md").read_text()
    # This project has no public address yet; one that leads nowhere is worse than none.
    assert not found.project_urls and not found.home_page


def test_every_classifier_is_one_of_the_index(wheel):
    known = pytest.importorskip("trove_classifiers").classifiers
    found = metadata(wheel).classifiers
    assert found and [name for name in found if name not in known] == []


def test_four_packages_are_enough_and_none_has_an_upper_bound(wheel):
    requires = [requirement for requirement in metadata(wheel).requires_dist
                if "extra" not in str(requirement.marker or "")]
    assert {requirement.name for requirement in requires} == CORE_DEPENDENCIES
    for requirement in requires:
        assert [specifier.operator for specifier in requirement.specifier] == [">="], str(requirement)


def test_one_wheel_fits_every_python_from_3_10_on(wheel):
    assert re.fullmatch(rf"{NAME}-cp310-abi3-[a-z0-9_.]+\.whl", wheel.name)


def test_the_core_uses_nothing_outside_the_stable_abi(wheel):
    pytest.importorskip("abi3audit")
    done = subprocess.run([sys.executable, "-m", "abi3audit", "--strict", "--report", str(wheel)],
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (audited,) = json.loads(done.stdout)["specs"].values()
    (module,) = audited["wheel"]
    assert module["name"].endswith("_core.abi3.so")
    assert module["result"]["is_abi3"] and module["result"]["baseline"] == "3.10"


def test_the_core_links_only_the_c_library(wheel):
    """Then the wheel runs on every Linux whose C library is as new as its name requires."""
    pytest.importorskip("auditwheel")
    done = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)],
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name.partition(".so")[0] for name in found["external_libs"] or {}} == set()
    assert set(found["versioned_symbols"]) <= {"libc.so.6", "libpthread.so.0", "libm.so.6"}
    assert found["overall_tag"] in wheel.name
