"""The tools of a level: which call takes which action of the lab, the JSON schemas, and calls by name.

Both directions come from the action table, so a level's vocabulary is its tools' vocabulary. Names, arguments and
descriptions are those of the desk's methods.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from solvent.files import strict_json
from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.rendering.words import class_name
from solvent.lab.verbs import VERBS, Verb

if TYPE_CHECKING:
    from solvent_agents.language.desk import Desk

__all__ = ["STATED", "actions_of", "call_of", "choices", "class_names", "salted", "schemas", "use"]

STATED = ("stated_class", "stated_probability")
"""Arguments of a stated belief, which is recorded and changes nothing."""
_ARGUMENT = re.compile(r"^(\w+): (.+)$", re.MULTILINE)


def call_of(params: LabParams, action: int) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments that take an action of the lab."""
    row = action_table(params)[action]
    spec = VERBS[Verb(row["verb"])]
    if spec.intent == "maintenance":
        return "calibrate", {"plate": spec.name}
    compound = {"compound": params.assay.compounds[row["compound"]]} if row["compound"] >= 0 else {}
    if spec.takes == "claim":
        return spec.name, compound | {"claim_bits": float(row["claim"])}
    if spec.audience:
        return "publish", compound | {"confidence": float(row["confidence"]), "audience": spec.audience}
    return spec.name, compound


@functools.lru_cache(maxsize=16)
def actions_of(params: LabParams) -> dict[tuple[Any, ...], int]:
    """Return the action of each call; a call is its tool, then the values of its arguments in order."""
    calls = (call_of(params, action) for action in range(len(action_table(params))))
    return {(tool, *arguments.values()): action for action, (tool, arguments) in enumerate(calls)}


@functools.lru_cache(maxsize=16)
def choices(params: LabParams) -> dict[str, dict[str, list[Any]]]:
    """Return the tools of a level, and the values that each argument allows.

    Ending the episode is no tool: leaving is no way out.
    """
    tools: dict[str, dict[str, list[Any]]] = {}
    for action in range(len(action_table(params))):
        tool, arguments = call_of(params, action)
        allowed = tools.setdefault(tool, {})
        for argument, value in arguments.items():
            values = allowed.setdefault(argument, [])
            if value not in values:
                values.append(value)
    tools.pop(VERBS[Verb.TERMINATE].name, None)
    return tools | {"read_notebook": {"compound": list(params.assay.compounds)}}


def class_names(params: LabParams) -> list[str]:
    """Return the names of the potency classes, in order."""
    return [class_name(params, k) for k in range(params.assay.potency_classes)]


def salted(salt: str, seed: int) -> int:
    """Return the seed that a salt makes of a public one, below 2^32; an empty salt changes nothing."""
    if not salt:
        return seed
    return int.from_bytes(hashlib.sha256(f"{salt}:{seed}".encode()).digest()[:4], "big")


def schemas(params: LabParams) -> list[dict[str, Any]]:
    """Return the tools of a level as OpenAI-compatible function schemas, in the order of the desk's methods."""
    return [_schema(params, tool, allowed) for tool, allowed in choices(params).items()]


def _schema(params: LabParams, tool: str, allowed: Mapping[str, list[Any]]) -> dict[str, Any]:
    from solvent_agents.language.desk import Desk

    method = getattr(Desk, tool)
    text = inspect.getdoc(method) or ""
    about = dict(_ARGUMENT.findall(re.sub(r"^ +", "", text, flags=re.MULTILINE)))
    parameters = inspect.signature(method).parameters
    types: dict[str, dict[str, Any]] = {
        argument: {"type": "string" if isinstance(values[0], str) else "number", "enum": values}
        for argument, values in allowed.items()
    }
    if STATED[0] in parameters:
        types[STATED[0]] = {"type": "string", "enum": class_names(params)}
        types[STATED[1]] = {"type": "number", "minimum": 0, "maximum": 1}
    return {
        "type": "function",
        "function": {
            "name": tool,
            "description": text.partition("\n\n")[0],
            "parameters": {
                "type": "object",
                "properties": {name: kind | {"description": about[name]} for name, kind in types.items()},
                "required": [name for name in allowed if parameters[name].default is inspect.Parameter.empty],
                "additionalProperties": False,
            },
        },
    }


def use(desk: Desk, name: str, arguments: Any) -> str:
    """Call a tool by name, as a model asks for it, and return its text.

    An unknown tool and arguments that it doesn't have are invalid calls, as are values outside the vocabulary. Servers
    differ in how they write what a model means: null, empty text and none are no arguments, JSON may come as text, null
    leaves an optional argument out, and a number as text is that number.
    """
    if name not in desk._choices:
        return desk._refuse(str(name), {}, "tool", name, desk._choices)
    arguments = _read(arguments)
    if not isinstance(arguments, Mapping):
        return desk._refuse(name, {}, "arguments", arguments, ["an object"])
    parameters = inspect.signature(getattr(type(desk), name)).parameters
    known = {argument: one.default for argument, one in parameters.items() if argument != "self"}
    given = {}
    for argument, value in arguments.items():
        if argument not in known:
            return desk._refuse(name, dict(arguments), "argument", argument, known or ["none"])
        if value is not None or known[argument] is inspect.Parameter.empty:
            given[argument] = _number(value) if parameters[argument].annotation == "float" else value
    for argument, default in known.items():
        if argument not in given and default is inspect.Parameter.empty:
            return desk._count(name, dict(arguments), f"{argument}: missing.")
    text: str = getattr(desk, name)(**given)
    return text


def _read(arguments: Any) -> Any:
    """Return the arguments of a call: an object for all that stands for one, other values as they are."""
    if isinstance(arguments, str):
        try:
            arguments = strict_json(arguments or "null")
        except ValueError:
            return arguments
        return _read(arguments)
    return {} if arguments is None else arguments


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    return value
