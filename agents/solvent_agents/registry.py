"""Every agent that needs no training, by name: ``PLAYERS[name](params, seed)``; and users' classes."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType

from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError, nearest
from solvent.lab.vector import LabVectorEnv
from solvent_agents.agent import Agent, show_labs, start_labs
from solvent_agents.exact.exact import Exact
from solvent_agents.planning.planner import Planner
from solvent_agents.scripts.honest import Honest
from solvent_agents.scripts.notebook import Notebook
from solvent_agents.scripts.offenders import OFFENDERS, Offender
from solvent_agents.scripts.others import Calibrator, Hermit, Random, RandomMasked, Spammer

__all__ = ["AGENTS", "OWN", "PLAYERS", "YARDSTICKS", "find_agent", "try_agent"]

MakesAgent = Callable[[LabParams, int], Agent]

OWN = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")
"""How a user's class is written: ``my_module:MyAgent``."""

AGENTS: Mapping[str, MakesAgent] = MappingProxyType(
    {
        Honest.name: Honest,
        **{name: functools.partial(Offender, name=name) for name in OFFENDERS},
        **{each.name: each for each in (Random, RandomMasked, Hermit, Calibrator, Spammer)},
    }
)
"""The scripts."""

YARDSTICKS: Mapping[str, MakesAgent] = MappingProxyType(
    {each.name: each for each in (Planner, Exact, Notebook)}
)
"""Reference agents, which compute for long, hold a solution, or play one level alone."""

PLAYERS: Mapping[str, MakesAgent] = MappingProxyType({**AGENTS, **YARDSTICKS})
"""Both."""


def find_agent(name: str, folder: Path | None = None) -> MakesAgent:
    """Return the factory of an agent: a function of parameters and a seed.

    Args:
        name: a name in ``PLAYERS``, or ``MODULE:CLASS``.
        folder: searched for the module before the Python path; by default the working directory.

    Raises:
        ParamError: the name is unknown, or the module or its class can't be loaded. What is returned raises it if the
            class can't be made or is not an ``Agent``.
    """
    if name in PLAYERS:
        return PLAYERS[name]
    if not OWN.fullmatch(name):
        raise ParamError("", f"unknown agent {name!r:.80}" + nearest(name, PLAYERS))
    module, _, called = name.partition(":")
    own = getattr(_module(module, (folder or Path()).resolve()), called, None)
    if not callable(own):
        raise ParamError("", f"{name}: the module has no class {called!r}")

    def make(params: LabParams, seed: int) -> Agent:
        try:
            agent = own(params, seed)
        except Exception as error:
            raise ParamError("", f"{name}: can't be made, {_line(error)}") from error
        if not callable(getattr(agent, "act", None)):
            raise ParamError("", f"{name}: has no method act(observations, masks)")
        if not isinstance(getattr(agent, "name", None), str) or agent.name in PLAYERS:
            got = repr(getattr(agent, "name", None))
            raise ParamError("", f"{name}: name is {got:.80}; allowed: a text that names no other agent")
        return agent  # type: ignore[no-any-return]

    return make


def _module(name: str, folder: Path) -> ModuleType:
    """Import a module, which may lie in ``folder``."""
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise ParamError("", f"no module {name!r:.80} in {folder} or on the Python path") from None
        raise ParamError("", f"{name}: can't be imported, {_line(error)}") from error
    finally:
        sys.path.remove(str(folder))
        if str(folder) not in sys.path:  # for the module's later imports; last, so that it hides no package
            sys.path.append(str(folder))
    path = folder.joinpath(*name.split("."))
    files = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
    if files and Path(module.__file__ or "").resolve() not in files:
        raise ParamError("", f"{name}: {files[0]} has the name of another module; allowed: a new name")
    return module


def try_agent(make: MakesAgent, params: LabParams) -> str:
    """Let a new agent act once in two labs, and return its name; raise ParamError if it can't."""
    agent = make(params, 0)
    labs = LabVectorEnv(2, params)
    observations, infos = labs.reset(seed=[0, 1])
    try:
        start_labs(agent, [0, 1])
        show_labs(agent, labs.batch.get_labs(), params)
        labs.step(agent.act(observations, infos["action_mask"]))
    except Exception as error:
        raise ParamError("", f"{agent.name}: its first act in two labs fails, {_line(error)}") from error
    return agent.name


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
