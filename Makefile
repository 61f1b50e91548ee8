# Solvent. `make` alone lists what there is; CONTRIBUTING.md says when to use which.

PYTHON ?= python3
VENV ?= .venv
# Test processes.
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/bin
REPORTS := build/test-reports
SOURCE_ROOTS := envs agents experiments benchmarks examples
SOURCES := $(shell find $(SOURCE_ROOTS) -name '*.py' 2>/dev/null)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help quickstart policies test test-all test-plain totals soak public-data browser lint format format-check types docs notebooks bench figures constraints dist clean
.DELETE_ON_ERROR:

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PYTHON=python3.12 chooses the interpreter, VENV=DIR the environment, WORKERS=N the test processes,"
	@echo "  ARGS='...' is passed on to pytest, bench and figures."

# ------------------------------------------------------------------------------------------- environment
# A stamp for each set of extras: nothing is installed again until the requirements change.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Solvent needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | head -n 1). Choose another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.installed-all: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Solvent with its agents and experiments into $(VENV) (some minutes the first time)"
	$(PIP_INSTALL) -e '.[all]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Solvent with its development tools into $(VENV) (some minutes the first time)"
	$(PIP_INSTALL) -e '.[dev]'
	@touch $(VENV)/.installed-all $@

# Numba renews a cached function when its own file changes, not when a function that it calls in another
# file does. So whatever changed, compiled code from before it goes. (The tests keep a cache of their own.)
$(VENV)/.compiled-is-current: $(SOURCES) | $(BIN)/python
	@find $(wildcard $(SOURCE_ROOTS)) \( -name '*.nbi' -o -name '*.nbc' \) -delete
	@touch $@

quickstart: $(VENV)/.installed-all $(VENV)/.compiled-is-current ## install, then run a first small experiment
	$(BIN)/solvent run configs/quickstart.yaml

# A policy for each level, of training seed 0, whatever it came to: none is chosen by its score.
POLICIES := tiny:Tiny debt:Debt energy:Energy gate:Gate lab:Lab
SHIPPED_FOLDER := agents/solvent_agents/learning/shipped_policies

policies: $(VENV)/.installed-all $(VENV)/.compiled-is-current ## train the policies that come with the package again (runs/policies)
	@set -e; for pair in $(POLICIES); do \
	  config=$${pair%%:*}; level=$${pair##*:}; \
	  $(BIN)/solvent run configs/$$config.yaml --seeds 0 --out runs/policies/$$config; \
	  mkdir -p $(SHIPPED_FOLDER)/$$level-v0/ppo; \
	  cp runs/policies/$$config/ppo/seed-0/policy.json runs/policies/$$config/ppo/seed-0/policy.safetensors \
	    $(SHIPPED_FOLDER)/$$level-v0/ppo/; \
	done

# ------------------------------------------------------------------------------------------------- tests
# Both passes run even if the first fails; the totals are counted from their reports. `worksteal` gives each process
# a run of neighbouring tests, so that what a file makes once and what a level compiles is not made in both.

test: MARKED := -m "not slow"
test test-all: $(VENV)/.installed-dev browser
	@rm -rf $(REPORTS); status=0; \
	echo "== compiled: $(if $(MARKED),all but the slow tests,the whole suite)"; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(MARKED) --junitxml=$(REPORTS)/compiled.xml $(ARGS) || status=1; \
	$(MAKE) --no-print-directory test-plain || status=1; \
	$(MAKE) --no-print-directory --silent totals || status=1; \
	exit $$status

test: ## all but the slow tests, compiled; then the mechanisms as plain Python
test-all: ## every test: what the continuous integration runs

test-plain: $(VENV)/.installed-dev ## only the mechanisms as plain Python
	@echo "== plain Python: mechanisms and dynamics, nothing compiled"
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "plain and not slow" --junitxml=$(REPORTS)/plain.xml $(ARGS)

# A browser for the test that looks at a report's page. Where there is none that test is skipped, and says so; in CI as
# root it fails instead (tests/experiments/test_html_report_browser.py), so it can't go missing there.
browser: ## install Debian's Chromium where it is missing and we may
	@if command -v chromium >/dev/null; then \
	  :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing chromium, to look at a report's page (a minute)"; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 \
	    || echo "chromium could not be installed: its test will be skipped (in CI: fail)"; \
	else \
	  echo "No chromium here, and only root can install it: the test that looks at a report's page will be skipped"; \
	fi

define COUNT
import pathlib, sys, xml.etree.ElementTree as tree
total = [0, 0, 0]
for name in ("compiled", "plain"):
    path = pathlib.Path(sys.argv[1], name + ".xml")
    if not path.exists():
        sys.exit(f"{name}: no report, so the pass did not finish")
    suites = list(tree.parse(path).getroot().iter("testsuite"))
    ran, failed, broken, skipped = (sum(int(s.get(key)) for s in suites) for key in ("tests", "failures", "errors", "skipped"))
    counts = [ran - failed - broken - skipped, failed + broken, skipped]
    print("%-8s %d passed, %d failed, %d skipped" % (name, *counts))
    total = [a + b for a, b in zip(total, counts)]
print("%d passed, %d failed, %d skipped" % tuple(total))
endef
export COUNT

totals: | $(BIN)/python
	@$(BIN)/python -c "$$COUNT" $(REPORTS)

soak: $(VENV)/.installed-dev browser ## fuzzing, kills and soaks in their long form, and the table of docs/reliability.md
	SOLVENT_SOAK=docs/results/reliability.json $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/faults $(ARGS)

# Where there are samples of published data, the tests that read them must have run.
define PUBLIC_DATA
import os, pathlib, sys, xml.etree.ElementTree as tree
folder = pathlib.Path(os.environ.get("SOLVENT_DATA") or pathlib.Path.cwd().parent / "shared" / "data")
wanted = lambda case: any(p.get("name") == "public_data" for p in case.iter("property"))
cases = [case for case in tree.parse(pathlib.Path(sys.argv[1], "compiled.xml")).iter("testcase") if wanted(case)]
ran = sum(case.find("skipped") is None for case in cases)
print(f"published data: {ran} tests ran, {len(cases) - ran} skipped")
if folder.is_dir() and (ran == 0 or ran < len(cases)):
    sys.exit(f"{folder} is there, so all of them had to run")
endef
export PUBLIC_DATA

public-data: | $(BIN)/python
	@$(BIN)/python -c "$$PUBLIC_DATA" $(REPORTS)

# ------------------------------------------------------------------------------------------------ checks

lint: $(VENV)/.installed-dev ## ruff's rules
	$(BIN)/ruff check .

format: $(VENV)/.installed-dev ## rewrite the sources in the one format, imports sorted
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

format-check: $(VENV)/.installed-dev ## whether `make format` would change anything
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev ## mypy, strict
	$(BIN)/mypy

# ----------------------------------------------------------------------------------------- documentation

docs: $(VENV)/.installed-dev ## the documentation site, build/site/index.html; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -n docs build/site
	@echo build/site/index.html

notebooks: $(VENV)/.installed-dev ## run the notebooks and store what they show
	$(BIN)/python notebooks/outputs.py

# ------------------------------------------------------------------------------------------- measurement

bench: $(VENV)/.installed-dev $(VENV)/.compiled-is-current ## speed of the environment on this machine
	$(BIN)/python -m benchmarks $(ARGS)

figures: $(VENV)/.installed-all ## draw the figures again from finished runs
	$(BIN)/solvent figures $(ARGS)

# ------------------------------------------------------------------------------------------- maintenance

define PINS_HEADER
# The versions this release is tested with: pip install -c constraints.txt -e '.[dev]'
# Every direct and indirect requirement, resolved on Python 3.11. A constraint installs nothing by itself,
# so the same file serves every extra and every platform. To renew it: make constraints
endef
export PINS_HEADER

# Resolved in an environment of its own, with the newest versions that pyproject.toml admits. A local build's
# suffix (+cpu) and what only one platform needs don't belong in it.
constraints: pyproject.toml ## resolve the newest versions and pin them
	rm -rf build/constraints
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	build/constraints/bin/python -m pip install --quiet --disable-pip-version-check $(if $(TORCH),torch==$(TORCH)) -e '.[dev]'
	printf '%s\n' "$$PINS_HEADER" > build/constraints.txt
	build/constraints/bin/python -m pip --disable-pip-version-check freeze --all --exclude pip --exclude-editable \
	  | grep -Ev '^(#|nvidia-|cuda-|triton)' | sed 's/+[a-z0-9.]*$$//' | LC_ALL=C sort -f >> build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -rf build/constraints

# The wheel is made from the source distribution, so that one is whole. Then the wheel is installed alone, as a user does
# it, and a step is played on every level.
define FIRST_STEPS
import gymnasium, solvent
for name in solvent.ENVIRONMENTS:
    env = gymnasium.make(name)
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    action = env.action_space.sample(mask=info["action_mask"])
    _, reward, *_ = env.step(action)
    print(f"  {name}: {env.unwrapped.sentence(action)}, {reward:+.3f}")
endef
export FIRST_STEPS

define MADE
import hashlib, pathlib, sys
for path in sorted(pathlib.Path("dist").iterdir()):
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB  sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")
print("Both are checked. Next: CONTRIBUTING.md, Releasing")
endef
export MADE

dist: $(VENV)/.installed-dev ## build the distributions, check them, play a step with the wheel alone
	rm -rf dist build/dist
	$(BIN)/python -m hatchling build -t sdist -d dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist dist/*.tar.gz
	SOLVENT_DIST=dist $(BIN)/python -m pytest -q tests/test_packaging.py
	$(BIN)/python -m venv build/dist
	build/dist/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/dist/bin/python -I -c "$$FIRST_STEPS"
	@$(BIN)/python -c "$$MADE"

clean: ## remove caches and reports; the environment and the runs stay
	rm -rf build dist .numba_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov
	find $(wildcard $(SOURCE_ROOTS)) tests -depth -name __pycache__ -exec rm -rf {} \;
