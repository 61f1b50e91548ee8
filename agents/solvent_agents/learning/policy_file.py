"""Policy files: ``policy.safetensors`` has the weights, ``policy.json`` recipe and labs; neither can run code.

A policy must fit the labs it acts in: the same observations and actions in the same order. Other rules are allowed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any, Literal, NoReturn

import torch
from gymnasium.spaces import Discrete
from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load, save
from stable_baselines3.common.policies import BasePolicy

import solvent
from solvent.errors import SolventError
from solvent.files import read_input, write_atomically
from solvent.lab.actions import action_table
from solvent.lab.observation import observation_fields, observation_space
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent_agents.learning.recipe import Recipe, first_problem

WEIGHTS, ABOUT = "policy.safetensors", "policy.json"
PACKAGES = ("numpy", "safetensors", "sb3-contrib", "stable-baselines3", "torch")
LARGEST, LONGEST = 2**28, 2**22  # bytes of weights, of a description


class PolicyFileError(SolventError, ValueError):
    """A policy file that can't be used. The message is one line: file, what is wrong, what is allowed."""


class Description(BaseModel):
    """``policy.json``; nothing is built from ``params`` and ``packages``."""

    format: Literal["solvent-policy 2"] = "solvent-policy 2"
    recipe: dict[str, Any]
    layout: dict[str, Any]
    params: dict[str, Any]
    packages: dict[str, str]


def save_policy(folder: Path, policy: BasePolicy, recipe: Recipe, params: LabParams) -> Path:
    """Write both files into ``folder`` and return the path of the weights, which are written last."""
    about = Description(
        recipe=recipe.to_mapping(),
        layout=_layout(params),
        params=params.to_mapping(),
        packages={"solvent-gym": solvent.__version__}
        | {name: importlib.metadata.version(name) for name in PACKAGES},
    )
    weights = {key: value.contiguous() for key, value in policy.state_dict().items() if "target" not in key}
    for name, content in ((ABOUT, about.model_dump_json(indent=2).encode()), (WEIGHTS, save(weights))):
        write_atomically(folder / name, content)
    return folder / WEIGHTS


def load_policy(path: Path, params: LabParams) -> tuple[BasePolicy, str]:
    """Return the policy of ``path`` for labs with ``params``, and the name of its algorithm.

    ``path`` is that of the weights, with the description beside them under the same name, or of a folder with both.

    Raises:
        PolicyFileError: a file is missing, damaged, of another format, or of labs of another shape.
    """
    path, about_path = _paths(path)
    try:
        weights = load(read_input(path, LARGEST))
        about = Description.model_validate_json(read_input(about_path, LONGEST))
        policy, algorithm = _untrained(about, params)
        keys = policy.load_state_dict(weights, strict=False)  # without target networks
    except OSError as error:
        _fail(Path(error.filename), f"{error.strerror}; allowed: {WEIGHTS} with {ABOUT} beside it")
    except ValidationError as error:
        _fail(about_path, ": ".join(first_problem(error, Description)))
    except ParamError as error:
        _fail(about_path, str(error))
    except (SafetensorError, RuntimeError) as error:
        _fail(path, f"not the weights of this network: {error}")
    odd = [*keys.unexpected_keys, *(key for key in keys.missing_keys if "target" not in key)]
    odd += [key for key, value in weights.items() if not bool(torch.isfinite(value).all())]
    if odd:
        _fail(path, f"{odd[0]}: missing, unknown or not finite; allowed: the network's weights")
    return policy, algorithm


def steps_of(path: Path) -> int:
    """Return the number of steps that a policy was trained for; raise PolicyFileError as ``load_policy``."""
    about, about_path = _described(path)
    steps = about.recipe.get("n_timesteps")
    if type(steps) is not int:
        _fail(about_path, f"recipe.n_timesteps: got {steps!r:.40}; allowed: a whole number")
    return steps


def rules_of(path: Path) -> LabParams:
    """Return the parameters of the labs that a policy was trained in; raise PolicyFileError as ``load_policy``."""
    about, about_path = _described(path)
    try:
        return LabParams.from_mapping(about.params)
    except ParamError as error:
        _fail(about_path, str(error))


def _described(path: Path) -> tuple[Description, Path]:
    """Return the description of a policy, and its path."""
    _, about_path = _paths(path)
    try:
        return Description.model_validate_json(read_input(about_path, LONGEST)), about_path
    except OSError as error:
        _fail(about_path, f"{error.strerror}; allowed: {WEIGHTS} with {ABOUT} beside it")
    except ValidationError as error:
        _fail(about_path, ": ".join(first_problem(error, Description)))


def _paths(path: Path) -> tuple[Path, Path]:
    """Return the paths of weights and description, of which ``path`` is one, or their folder."""
    if path.is_dir():
        return path / WEIGHTS, path / ABOUT
    if path.suffix == ".zip":
        _fail(
            path,
            f"of another library; allowed: {WEIGHTS}, or a class that loads it (solvent evaluate --help)",
        )
    if path.suffix not in (".safetensors", ".json"):
        _fail(path, f"not a policy of Solvent; allowed: {WEIGHTS} with {ABOUT} beside it")
    return path.with_suffix(".safetensors"), path.with_suffix(".json")


def _untrained(about: Description, params: LabParams) -> tuple[BasePolicy, str]:
    """Return the described network with random weights, and its algorithm."""
    if about.layout != (ours := _layout(params)):
        raise ParamError("layout", f"trained on other labs: got {about.layout}; allowed: {ours}")
    network = {key: about.recipe.get(key) for key in ("algorithm", "policy", "policy_kwargs", "class_target")}
    recipe = Recipe.from_mapping({**network, "n_timesteps": 1}, path="recipe")
    cls, arguments = recipe.network(params)
    spaces = observation_space(params), Discrete(len(action_table(params)))
    with torch.random.fork_rng(devices=[]):  # loading must not consume the caller's random numbers
        policy: BasePolicy = cls(*spaces, lambda _remaining: 0.0, **arguments)
    policy.set_training_mode(False)
    return policy, recipe.algorithm


def _layout(params: LabParams) -> dict[str, Any]:
    """Return the sizes of observation and action space and a hash of their meanings, compounds by number."""
    numbers = {name: str(m) for m, name in enumerate(params.assay.compounds)}
    names = [name.split("/") for name in observation_fields(params)]
    fields = ["/".join(numbers.get(part, part) for part in name) for name in names]
    rows = action_table(params).tolist()
    if not params.publication.names_class:  # files of 0.3.0 don't know that a finding can name its class
        rows = [row[:-1] for row in rows]
    actions = [[str(value) for value in row] for row in rows]
    meaning = hashlib.sha256(json.dumps([fields, actions]).encode()).hexdigest()
    return {"observations": len(fields), "actions": len(actions), "sha256": meaning}


def _fail(path: Path, problem: str) -> NoReturn:
    line = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in f"{path}: {problem:.300}")
    raise PolicyFileError(line) from None
