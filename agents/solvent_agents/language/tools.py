"""The tools of a level: their JSON schemas, calls by name, and the call that takes an action.

Names, arguments and descriptions are those of the desk's methods; enumerations come from the level's vocabulary.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from solvent.lab.actions import action_table, offered_verbs
from solvent.lab.params import LabParams
from solvent.lab.verbs import VERBS, Verb, VerbSpec
from solvent_agents.language.desk import Desk

__all__ = ["call_of", "schemas", "use"]

_ARGUMENT = re.compile(r"^(\w+): (.+)$", re.MULTILINE)


def schemas(params: LabParams) -> list[dict[str, Any]]:
    """Return the tools of a level as OpenAI-compatible function schemas, in the order of the desk's methods."""
    return [_schema(tool, choices) for tool, choices in _tools(params).items()]


def use(desk: Desk, name: str, arguments: Any) -> str:
    """Call a tool by name, as a model asks for it, and return its text.

    An unknown tool and arguments that it doesn't have are invalid calls, as are values outside the vocabulary.
    """
    tools = _tools(desk._params)
    if name not in tools:
        return desk._refuse(str(name), {}, "tool", name, tools)
    if not isinstance(arguments, Mapping):
        return desk._refuse(name, {}, "arguments", arguments, ["an object"])
    parameters = inspect.signature(getattr(Desk, name)).parameters
    known = [argument for argument in parameters if argument != "self"]
    for argument in arguments:
        if argument not in known:
            return desk._refuse(name, dict(arguments), "argument", argument, known or ["none"])
    for argument in known:
        if argument not in arguments and parameters[argument].default is inspect.Parameter.empty:
            return desk._count(name, dict(arguments), f"{argument}: missing.")
    text: str = getattr(desk, name)(**arguments)
    return text


def call_of(params: LabParams, action: int) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments that take an action of the lab."""
    row = action_table(params)[action]
    spec = VERBS[Verb(row["verb"])]
    compound = {"compound": params.assay.compounds[row["compound"]]} if row["compound"] >= 0 else {}
    if spec.takes == "claim":
        return spec.name, compound | {"claim_bits": float(row["claim"])}
    if spec.takes == "confidence":
        return "publish", compound | {"confidence": float(row["confidence"]), "audience": spec.audience}
    return _tool(spec), {"plate": spec.name} if spec.intent == "maintenance" else {}


def _tool(spec: VerbSpec) -> str:
    return "calibrate" if spec.intent == "maintenance" else "publish" if spec.audience else spec.name


def _tools(params: LabParams) -> dict[str, dict[str, list[Any]]]:
    """Return the tools of a level, and the values that each argument allows."""
    compounds, vocabulary = list(params.assay.compounds), params.vocabulary
    tools: dict[str, dict[str, list[Any]]] = {}
    for verb in offered_verbs(params):
        spec = VERBS[verb]
        choices = tools.setdefault(_tool(spec), {})
        if spec.takes:
            choices["compound"] = compounds
        if spec.takes == "claim":
            choices["claim_bits"] = list(vocabulary.claims)
        elif spec.takes == "confidence":
            choices["confidence"] = list(vocabulary.confidences)
            choices.setdefault("audience", []).append(spec.audience)
        elif spec.intent == "maintenance":
            choices.setdefault("plate", []).append(spec.name)
    return tools | {"read_notebook": {"compound": compounds}}


def _schema(tool: str, choices: Mapping[str, list[Any]]) -> dict[str, Any]:
    method = getattr(Desk, tool)
    text = inspect.getdoc(method) or ""
    about = dict(_ARGUMENT.findall(re.sub(r"^ +", "", text, flags=re.MULTILINE)))
    parameters = inspect.signature(method).parameters
    properties = {
        argument: {
            "type": "string" if isinstance(values[0], str) else "number",
            "enum": values,
            "description": about[argument],
        }
        for argument, values in choices.items()
    }
    required = [argument for argument in choices if parameters[argument].default is inspect.Parameter.empty]
    return {
        "type": "function",
        "function": {
            "name": tool,
            "description": text.partition("\n\n")[0],
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
    }
