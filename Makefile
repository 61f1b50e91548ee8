# Solvent. CONTRIBUTING.md says when to use which.
#   PYTHON=python3.12 chooses the interpreter, WORKERS=N the test processes, ARGS='...' goes to pytest or bench.

PYTHON ?= python3
WORKERS ?= 2
ARGS ?=

BIN := .venv/bin
REPORT := build/tests.xml
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

.PHONY: help install quickstart test test-all lint format types docs bench mutations dist clean
.DELETE_ON_ERROR:

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Solvent with its extra '$*' into .venv (some minutes the first time)"
	$(INSTALL) '.[$*]'
	@touch $@

install: .venv/.installed-dev ## everything for development, into .venv

quickstart: .venv/.installed-all ## install, then run a first small experiment
	$(BIN)/solvent run configs/quickstart.yaml

test: MARKED := -m "not slow"
test test-all: .venv/.installed-dev
	@$(BIN)/python tests/browser.py
	$(PYTEST) $(MARKED) --junitxml=$(REPORT) $(ARGS)
test: ## all but the slow tests
test-all: ## every test, as the continuous integration runs them

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
mutations: .venv/.installed-dev ## which seeded faults the tests catch (an hour)
	$(BIN)/python -m tests.mutations $(ARGS)
dist: .venv/.installed-dev ## build the distributions, check them, play a step with the wheel alone
	$(BIN)/python tests/dist.py
clean: ## remove caches and reports; the environment and the runs stay
	rm -rf build dist .numba_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
