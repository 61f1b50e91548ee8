"""What an import brings along: an instrument alone needs neither the environment's libraries nor a compiler."""

from __future__ import annotations

import pytest

from tests.commands import execute_python

HEAVY = "{'numba', 'llvmlite', 'gymnasium', 'scipy', 'torch'}"


def run(code: str) -> str:
    """What a fresh process prints."""
    ended = execute_python(code)
    assert ended.err == ""
    return ended.out.strip()


@pytest.mark.parametrize(
    "instrument",
    [
        "from solvent.debt import EpistemicController as made",
        "from solvent.energy import EnergyMeter as made",
    ],
)
def test_an_instrument_imports_no_compiler_and_no_gymnasium(instrument: str) -> None:
    assert run(f"{instrument}\nmade()\nimport sys\nprint({HEAVY} & set(sys.modules))") == "set()"


def test_a_controller_compiles_nothing() -> None:
    calls = "c = EpistemicController()\nc.claim_action('a', '', 1.5)\nc.resolve_action('a', 0.2)\n"
    calls += "c.should_refuse_action('screen', 8, 50)\nc.repay_by_calibration(24)\n"
    assert (
        run(f"from solvent.debt import EpistemicController\n{calls}import sys\nprint('numba' in sys.modules)")
        == "False"
    )


def test_importing_loads_neither_compiler_nor_settings() -> None:
    assert run("import sys, solvent\nprint({'numba', 'scipy', 'pydantic'} & set(sys.modules))") == "set()"


def test_the_package_of_learners_loads_no_learner() -> None:
    code = "import solvent_agents.learning, sys\nprint({'torch', 'stable_baselines3'} & set(sys.modules))"
    assert run(code) == "set()"


def test_a_lab_loads_no_learner_and_no_instrument() -> None:
    others = {"torch", "matplotlib", "sklearn", "sentence_transformers", "sqlalchemy"}
    code = "import gymnasium, sys\ngymnasium.make('solvent:Solvent/Lab-v0').reset(seed=0)\n"
    assert execute_python(f"{code}print({others} & set(sys.modules))").succeeded() == "set()\n"


@pytest.mark.parametrize("order", ["import gymnasium, solvent", "import solvent, gymnasium"])
def test_ids_are_registered_in_either_order_of_imports(order: str) -> None:
    assert run(f"{order}\nprint('Solvent/Debt-v0' in gymnasium.registry)") == "True"


def test_looking_for_gymnasium_without_importing_it_keeps_the_registration() -> None:
    code = "import importlib.util, solvent\nimportlib.util.find_spec('gymnasium')\nimport gymnasium\n"
    assert run(f"{code}print('Solvent/Debt-v0' in gymnasium.registry)") == "True"


def test_gymnasium_keeps_its_own_loader() -> None:
    code = "import solvent, gymnasium\nprint(type(gymnasium.__spec__.loader).__name__)"
    assert run(code) == "SourceFileLoader"
