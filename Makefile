# Solvent. CONTRIBUTING.md says when to use which.
#   PYTHON=python3.12 chooses the interpreter, WORKERS=N the test processes, ARGS='...' goes to pytest or bench.

WORKERS ?= 2
ARGS ?=

# On Windows make takes its shell and `touch` from Git's bash, as in .github/workflows/tests.yml.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
EXE := .exe
else
PYTHON ?= python3
BIN := .venv/bin
endif
REPORT := build/tests.xml
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

# What needs neither a POSIX terminal nor a server.
LAB := tests/mechanisms tests/reference tests/contracts/test_environments.py tests/test_params.py tests/test_draws.py \
	tests/test_control.py tests/test_reproducible.py

.PHONY: help install quickstart smoke test test-all test-lab lint format types docs bench mutations dist release clean
.DELETE_ON_ERROR:

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

$(BIN)/python$(EXE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/.installed-%: pyproject.toml constraints.txt | $(BIN)/python$(EXE)
	@echo "Installing Solvent with its extra '$*' into .venv (some minutes the first time)"
	$(INSTALL) '.[$*]'
	@touch $@

install: .venv/.installed-dev ## everything for development, into .venv

quickstart: .venv/.installed-all ## install, then run a first small experiment
	$(BIN)/solvent run configs/quickstart.yaml
smoke: .venv/.installed-dev ## a run of seconds, into build/smoke
	$(BIN)/solvent run configs/smoke.yaml --out build/smoke

test: MARKED := -m "not slow"
test test-all: .venv/.installed-dev
	@$(BIN)/python tests/browser.py
	$(PYTEST) $(MARKED) --junitxml=$(REPORT) $(ARGS)
test: ## all but the slow tests
test-all: ## every test, as the continuous integration runs them
test-lab: .venv/.installed-dev ## the environment's tests, on any system
	$(PYTEST) $(LAB) --junitxml=$(REPORT) $(ARGS)

lint: .venv/.installed-dev ## ruff's rules, the one format, plain English
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/python tests/english.py
format: .venv/.installed-dev ## rewrite the sources in the one format
	$(BIN)/ruff check --select I --fix . && $(BIN)/ruff format .
types: .venv/.installed-dev ## mypy, strict
	$(BIN)/mypy
docs: .venv/.installed-dev ## the site, build/site/index.html; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -n docs build/site
bench: .venv/.installed-dev ## speed of the environment on this machine
	$(BIN)/python -m benchmarks $(ARGS)
mutations: .venv/.installed-dev ## try seeded faults not caught yet; ARGS=--again: all, hours
	$(BIN)/python -m tests.mutations $(ARGS)
dist: .venv/.installed-dev ## build the distributions, check them, play a step with the wheel alone
	$(BIN)/python tests/dist.py
release: # in .github/workflows/release.yml, with the TAG and the NOTES
	gh release create "$$TAG" dist/* --verify-tag --title "$$TAG" --notes "$$NOTES"
clean: ## remove caches and reports; the environment and the runs stay
	rm -rf build dist .numba_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
