"""The tools of a level: their JSON schemas, and calls by name.

Names, arguments and descriptions are those of the bench's methods; enumerations come from the level's vocabulary.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from solvent.extras import docstring
from solvent.files import strict_json
from solvent.lab.arguments import subjects
from solvent.lab.params import LabParams
from solvent_agents.language.bench import LONGEST, Bench
from solvent_agents.language.calls import STATED, choices, class_names
from solvent_agents.language.terse import read_line

__all__ = ["schemas", "use", "use_line"]

_ARGUMENT = re.compile(r"^(\w+): (.+)$", re.MULTILINE)


def schemas(params: LabParams) -> list[dict[str, Any]]:
    """Return the tools of a level as OpenAI-compatible function schemas, in the order of the bench's methods."""
    return [_schema(params, tool, allowed) for tool, allowed in choices(params).items()]


def _schema(params: LabParams, tool: str, allowed: Mapping[str, list[Any]]) -> dict[str, Any]:
    method = getattr(Bench, tool)
    text = docstring(method)
    about = dict(_ARGUMENT.findall(re.sub(r"^ +", "", text, flags=re.MULTILINE)))
    parameters = inspect.signature(method).parameters
    types: dict[str, dict[str, Any]] = {
        argument: {"type": "string" if isinstance(values[0], str) else "number", "enum": values}
        for argument, values in allowed.items()
    }
    names_class = STATED[0] in allowed
    if names_class:
        text, about[STATED[0]] = (
            "Publish the potency of a compound, for good.",
            "The potency that the finding names.",
        )
    if tool == "propose":
        number = {"type": "number"}
        types = {
            "target": {"type": "string", "enum": subjects(params)},
            "low": number,
            "high": number,
            "reason": {"type": "string"},
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
                "required": [
                    name
                    for name in allowed
                    if parameters[name].default is inspect.Parameter.empty or name == STATED[0]
                ],
                "additionalProperties": False,
            },
        },
    }


def use(bench: Bench, name: str, arguments: Any) -> str:
    """Call a tool by name, as a model asks for it, and return its text.

    An unknown tool and arguments that it doesn't have are invalid calls, as are values outside the vocabulary. Servers
    differ in how they write what a model means: null, empty text and none mean no arguments, JSON may come as text,
    null leaves an optional argument out, and a number as text is that number.
    """
    if name not in choices(bench.params):
        return bench._refuse("tool", name, choices(bench.params))
    arguments = _read(arguments)
    if not isinstance(arguments, Mapping):
        return bench._refuse("arguments", arguments, ["an object"])
    method = getattr(bench, name)
    known, given = inspect.signature(method).parameters, {}
    for argument, value in arguments.items():
        if argument not in known:
            return bench._refuse("argument", argument, known or ["none"])
        if value is not None or known[argument].default is inspect.Parameter.empty:
            given[argument] = _number(value) if known[argument].annotation == "float" else value
    for argument, about in known.items():
        if argument not in given and about.default is inspect.Parameter.empty:
            return bench._count(f"{argument}: missing.")
    text: str = method(**given)
    return text


def use_line(bench: Bench, text: str) -> str:
    """Take the call that a line of the terse protocol stands for, and return what happened.

    A line that stands for no call is an invalid call. Further lines are not read, and the answer says so.
    """
    line, *rest = text.strip().splitlines() or [""]
    call = read_line(bench.params, line)
    if call is None:
        return bench._count(f"not a call: {line:.{LONGEST}}")
    happened = use(bench, *call)
    return f"only the first line is read\n{happened}" if any(map(str.strip, rest)) else happened


def _read(arguments: Any) -> Any:
    """Return the arguments of a call: an object for all that stands for one, other values as they are."""
    if isinstance(arguments, str):
        try:
            return _read(strict_json(arguments or "null"))
        except ValueError:
            return arguments
    return {} if arguments is None else arguments


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
