"""The action table: each index of the ``Discrete`` space is a row ``(verb, compound, claim, confidence, potency)``.

A flat action space suits value-based, policy-gradient, masked and tabular methods alike, and lets a policy choose
verb, compound and claim jointly.
"""

from __future__ import annotations

import functools

import numpy as np

from solvent.lab.params import LabParams
from solvent.lab.verbs import TEMPLATES, VERBS, Verb

ACTION_DTYPE = np.dtype(
    [("verb", "i1"), ("compound", "i1"), ("claim", "f8"), ("confidence", "f8"), ("potency", "i1")], align=True
)
"""Row of the action table. Where they do not apply, ``compound`` and ``potency`` are -1, ``claim`` and ``confidence``
NaN. ``potency`` is the class that a finding names, where the agent names it."""


@functools.lru_cache(maxsize=64)
def action_table(params: LabParams) -> np.ndarray:
    """Return all actions of a lab, a read-only array of shape ``(n_actions,)`` and dtype ``ACTION_DTYPE``."""
    nan = float("nan")
    compounds = range(len(params.assay.compounds))
    classes = range(params.assay.potency_classes) if params.publication.names_class else (-1,)
    confidences = params.vocabulary.confidences
    rows: list[tuple[int, int, float, float, int]] = []
    for verb in offered_verbs(params):
        spec = VERBS[verb]
        if spec.takes == "claim":
            rows += [(verb, m, c, nan, -1) for m in compounds for c in params.vocabulary.claims]
        elif spec.takes == "confidence":
            rows += [(verb, m, nan, q, g) for m in compounds for g in classes for q in confidences]
        else:
            rows.append((verb, -1, nan, nan, -1))
    table = np.array(rows, dtype=ACTION_DTYPE)
    table.setflags(write=False)
    return table


def offered_verbs(params: LabParams) -> tuple[Verb, ...]:
    """Return the verbs that a lab offers, in their order."""
    optional = {Verb.REFLECT: params.energy.enabled, Verb.PROPOSE: params.proposals.enabled}
    return tuple(verb for verb in VERBS if optional.get(verb, True))


def sentence(params: LabParams, action: int) -> str:
    """Return the action in words, for example ``screen etoposide, claiming 0.5 bits``.

    Raises:
        ValueError: The action is not in the table.
    """
    table = action_table(params)
    if not 0 <= action < len(table):
        raise ValueError(f"action: got {action!r}; allowed: an integer from 0 to {len(table) - 1}")
    row = table[action]
    verb = Verb(row["verb"])
    words = verb.name.lower().replace("_", " ")
    if row["compound"] < 0:
        return words
    compound = params.assay.compounds[row["compound"]]
    if verb in TEMPLATES:
        return f"{words} {compound}, claiming {row['claim']:g} bit{'' if row['claim'] == 1.0 else 's'}"
    named = f" as class {row['potency']}" if row["potency"] >= 0 else ""
    return f"publish {compound}{named} at {row['confidence']:g}"
