"""One tree of errors: the command line asks an error for its exit code, and callers catch one class."""

from __future__ import annotations

import ast
import builtins
import importlib
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from solvent import SolventError
from solvent.lab.settings import ParamError
from solvent_experiments import cli
from solvent_experiments.config import ConfigError
from solvent_experiments.run import BrokenRunError, Interrupted
from tests.commands import call
from tests.test_imports import run

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("envs/solvent", "agents/solvent_agents", "experiments/solvent_experiments")


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the three packages, with its source."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to((ROOT / package).parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def exception_names() -> dict[str, str]:
    """Class -> module of everything that derives from an exception, over any number of steps."""
    bases, home = {}, {}
    for module, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                home[node.name] = module
                bases[node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}

    def is_exception(name: str) -> bool:
        built_in = getattr(builtins, name, None)
        if isinstance(built_in, type) and issubclass(built_in, BaseException):
            return True
        return any(is_exception(base) for base in bases.get(name, ()))

    return {name: module for name, module in home.items() if is_exception(name)}


EXCEPTIONS = exception_names()


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_every_exception_derives_from_the_base(name: str) -> None:
    kind = getattr(importlib.import_module(EXCEPTIONS[name]), name)
    assert issubclass(kind, SolventError)


def test_the_exceptions_of_all_packages_are_seen() -> None:
    assert {"_TransientError", "EndpointError", "PolicyFileError", "ConfigError"} <= set(EXCEPTIONS)


def test_the_base_imports_nothing_heavy() -> None:
    assert (
        run("import solvent.errors, sys\nprint({'pydantic', 'numpy', 'numba'} & set(sys.modules))") == "set()"
    )


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ConfigError("got 3; allowed: 2", key="seeds"), 2, "seeds: got 3; allowed: 2"),
        (BrokenRunError("ppo seed 0: died"), 1, "ppo seed 0: died"),
        (Interrupted(), 130, "stopped; the same command resumes it"),
        (FileNotFoundError(2, "No such file", "here.yaml"), 2, "here.yaml: No such file"),
        (ZeroDivisionError("by zero"), 1, "ZeroDivisionError: by zero (--debug shows where)"),
    ],
)
def test_a_command_exits_with_the_code_of_its_error(
    error: Exception, code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    ended = call("envs")
    assert (ended.code, ended.err) == (code, f"solvent: {message}\n")


def test_an_error_of_ours_with_another_name_has_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    class Halted(Interrupted):
        """Told apart by its class, not by its name."""

    def fail(*_: object, **__: object) -> None:
        raise Halted

    monkeypatch.setattr(cli, "app", fail)
    assert call("envs").code == 130


def test_an_error_of_a_worker_process_arrives_as_it_was() -> None:
    error = pickle.loads(pickle.dumps(ParamError("seeds", "got 3")))
    assert (error.path, error.problem, str(error)) == ("seeds", "got 3", "seeds: got 3")
