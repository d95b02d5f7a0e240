# Two commands. Both set up .venv when they first run, and bring it up to date when the core or the pins change.
#
#   make demo [SCENE=path]   plays the town, and the scene file given; writes a film and a replay page into demo/
#   make test                runs the whole test-suite

PYTHON ?= python3
SCENE ?=
BIN := .venv/bin
INSTALLED_FROM := pyproject.toml constraints.txt $(shell find c -type f)

.PHONY: demo test

demo: .venv/installed-cli,render
	@$(BIN)/drive-env demo $(if $(SCENE),"$(SCENE)") --out demo

test: .venv/installed-test
	$(BIN)/python -m pytest

.venv/installed-%: $(INSTALLED_FROM)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing drive-env[$*] into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch $@
