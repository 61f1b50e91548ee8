"""The action table: each index of the flat ``Discrete`` space is a row ``(verb, compound, claim, confidence)``.

A flat space lets value-based, policy-gradient, masked and tabular methods all run unchanged, and lets a
policy choose verb, compound and claim jointly. Intent classes and base costs are the source document's.
"""

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

import numpy as np

from solvent.lab.params import LabParams

__all__ = [
    "ACTION_DTYPE",
    "EXPERIMENTS",
    "INTENTS",
    "TEMPLATES",
    "VERBS",
    "Verb",
    "VerbSpec",
    "action_table",
    "sentence",
]


class Verb(enum.IntEnum):
    """What an action does."""

    REST = 0
    DMSO = 1
    BASELINE = 2
    CALIBRATION = 3
    SCREEN = 4
    DOSE_RESPONSE = 5
    PUBLISH_PRIVATE = 6
    PUBLISH_PUBLIC = 7
    TERMINATE = 8
    REFLECT = 9
    PROPOSE = 10


INTENTS = ("cognition", "exploration", "maintenance", "social", "meta")
"""The intent classes of the source document, in its order. They change no rule: they name what energy went into."""


class VerbSpec(NamedTuple):
    """One verb: its name, its intent class, what it takes, who hears of it, and what it does."""

    name: str
    intent: str
    takes: str  # "" | "claim" | "confidence"
    doc: str
    audience: str = ""  # "" | "private" | "public"


VERBS = {
    Verb.REST: VerbSpec("rest", "meta", "", "end the heartbeat"),
    Verb.DMSO: VerbSpec("dmso", "maintenance", "", "a short plate of vehicle wells"),
    Verb.BASELINE: VerbSpec("baseline", "maintenance", "", "a plate of vehicle wells"),
    Verb.CALIBRATION: VerbSpec("calibration", "maintenance", "", "plates of vehicle wells"),
    Verb.SCREEN: VerbSpec("screen", "exploration", "claim", "a compound at few doses"),
    Verb.DOSE_RESPONSE: VerbSpec("dose_response", "exploration", "claim", "a compound at many doses"),
    Verb.PUBLISH_PRIVATE: VerbSpec(
        "publish_private", "social", "confidence", "a finding for one reader", "private"
    ),
    Verb.PUBLISH_PUBLIC: VerbSpec(
        "publish_public", "social", "confidence", "a finding for all readers", "public"
    ),
    Verb.TERMINATE: VerbSpec("terminate", "meta", "", "end the episode"),
    Verb.REFLECT: VerbSpec("reflect", "cognition", "", "look at what the energy of this heartbeat went into"),
    Verb.PROPOSE: VerbSpec("propose", "meta", "", "ask for a lower cost of what was deferred most"),
}

TEMPLATES = (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION, Verb.SCREEN, Verb.DOSE_RESPONSE)
"""The verbs that put wells on a plate; the calibration set is those with no compound in the wells."""

EXPERIMENTS = (Verb.SCREEN, Verb.DOSE_RESPONSE)
"""Those on a compound, in the order in which a lab counts them."""

ACTION_DTYPE = np.dtype(
    [("verb", "i1"), ("compound", "i1"), ("claim", "f8"), ("confidence", "f8")], align=True
)
"""A row of the action table; ``compound`` is -1, ``claim`` and ``confidence`` are NaN where they have no meaning."""


@functools.lru_cache(maxsize=64)
def action_table(params: LabParams) -> np.ndarray:
    """All actions of a lab: a read-only structured array of shape ``(n_actions,)`` and dtype ``ACTION_DTYPE``."""
    nan = float("nan")
    compounds = range(len(params.assay.compounds))
    rows: list[tuple[int, int, float, float]] = []
    offered = {
        Verb.TERMINATE: params.vocabulary.terminate,
        Verb.REFLECT: params.energy.enabled,
        Verb.PROPOSE: params.proposals.enabled,
    }
    for verb, spec in VERBS.items():
        if not offered.get(verb, True):
            continue
        if spec.takes == "claim":
            rows += [(verb, m, c, nan) for m in compounds for c in params.vocabulary.claims]
        elif spec.takes == "confidence":
            rows += [(verb, m, nan, q) for m in compounds for q in params.vocabulary.confidences]
        else:
            rows.append((verb, -1, nan, nan))
    table = np.array(rows, dtype=ACTION_DTYPE)
    table.setflags(write=False)
    return table


def sentence(params: LabParams, action: int) -> str:
    """The action as a person would say it: ``screen etoposide, claiming 0.5 bits``.

    Raises:
        ValueError: an action outside of the table.
    """
    table = action_table(params)
    if not 0 <= action < len(table):
        raise ValueError(f"action: got {action!r}; allowed: 0 to {len(table) - 1}")
    row = table[action]
    verb = Verb(row["verb"])
    words = verb.name.lower().replace("_", " ")
    if row["compound"] < 0:
        return words
    compound = params.assay.compounds[row["compound"]]
    if verb in TEMPLATES:
        return f"{words} {compound}, claiming {row['claim']:g} bits"
    _, _, reader = words.partition(" ")
    return f"publish {compound} {'privately' if reader == 'private' else 'publicly'} at {row['confidence']:g}"
