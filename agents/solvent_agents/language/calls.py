"""The calls of a level: which tool and arguments take an action of the lab, and the values that each argument allows.

Both directions come from the action table, so a level's vocabulary is its tools' vocabulary.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.describe import class_name

__all__ = ["STATED", "actions_of", "call_of", "choices", "class_names", "salted"]

STATED = ("stated_class", "stated_probability")
"""Arguments of a stated belief, which is recorded and changes nothing; where a finding names its class, the first one
of ``publish`` is that class."""


def call_of(params: LabParams, action: int) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments that take an action of the lab."""
    row = action_table(params)[action]
    spec = VERBS[Verb(row["verb"])]
    if spec.intent == "maintenance":
        return "calibrate", {"plate": spec.name}
    compound = {"compound": params.assay.compounds[row["compound"]]} if row["compound"] >= 0 else {}
    if spec.takes == "claim":
        return spec.name, compound | {"claim_bits": float(row["claim"])}
    if spec.takes == "confidence":
        named = {STATED[0]: class_name(params, int(row["potency"]))} if row["potency"] >= 0 else {}
        return "publish", compound | {"confidence": float(row["confidence"])} | named
    return spec.name, compound


@functools.lru_cache(maxsize=16)
def actions_of(params: LabParams) -> dict[tuple[Any, ...], int]:
    """Return the action of each call; a call is its tool, then the values of its arguments in order."""
    calls = (call_of(params, action) for action in range(len(action_table(params))))
    return {(tool, *arguments.values()): action for action, (tool, arguments) in enumerate(calls)}


@functools.lru_cache(maxsize=16)
def choices(params: LabParams) -> dict[str, dict[str, list[Any]]]:
    """Return the tools of a level, and the values that each argument allows."""
    tools: dict[str, dict[str, list[Any]]] = {}
    for action in range(len(action_table(params))):
        tool, arguments = call_of(params, action)
        allowed = tools.setdefault(tool, {})
        for argument, value in arguments.items():
            values = allowed.setdefault(argument, [])
            if value not in values:
                values.append(value)
    return tools | {"read_notebook": {"compound": list(params.assay.compounds)}}


def class_names(params: LabParams) -> list[str]:
    """Return the names of the potency classes, in order."""
    return [class_name(params, k) for k in range(params.assay.potency_classes)]


def salted(salt: str, seed: int) -> int:
    """Return the seed that a salt makes of a public one, below 2^32; an empty salt changes nothing."""
    if not salt:
        return seed
    return int.from_bytes(hashlib.sha256(f"{salt}:{seed}".encode()).digest()[:4], "big")
