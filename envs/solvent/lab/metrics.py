"""What a finished episode was: the ``episode`` record of ``info``, for one lab and for a vector of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import INTENTS
from solvent.lab.mechanisms.energy import UNIT
from solvent.lab.params import LabParams
from solvent.lab.records import REFUSAL_REASONS, VERDICTS
from solvent.lab.state import EndReason

__all__ = ["END_REASONS", "REFUSAL_REASONS", "episode_columns", "episode_record", "join_columns", "potential"]

ENERGIES = ("energy", "energy_income", "energy_lost", "energy_spent")
ENERGY_COUNTS = (
    "deferrals",
    "discomforts",
    "out_of_context",
    "hoardings",
    "reflections",
    "proposals",
    "approvals",
)

END_REASONS = tuple(reason.name.lower() for reason in EndReason)
"""Reasons why an episode ends, by code."""


def episode_columns(
    params: LabParams, labs: NDArray[Any], rows: NDArray[np.intp] | slice = slice(None)
) -> dict[str, Any]:
    """The record of each episode in ``labs[rows]`` (all by default), as columns.

    Bits: ``return``, ``published_bits``, ``debt`` (unpaid at the end), ``settled``, ``debt_added``, ``debt_repaid``,
    ``debt_peak``, ``claimed``, ``gained``. Wells: ``wells`` (left), ``wells_spent``. ``length``: actions.
    Counts: the rest. Where acting costs energy, also energies (``energy``, left, to ``energy_spent``, and ``intents``,
    spent by intent class), ``heartbeats``, and counts of deferrals, reflections and proposals. Where a gate judges
    findings, also counts of ``verdicts`` by name, of reviews that were approved and declined, of published errors
    (``incidents_high``, which all readers saw, and ``incidents_low``), of ``tightenings``, and ``strictness``, the
    level of the policy in force at the end, 0 for the laxest. Where their words are held against their evidence, also
    how many findings scored 0 to 3 (``adequacy``).
    """

    def taken(name: str) -> NDArray[Any]:
        column: NDArray[Any] = np.array(labs[name][rows])  # the field of those rows, not whole records
        return column

    def counted(name: str) -> NDArray[np.int64]:
        return taken(name).astype(np.int64)

    score, refusals = taken("score"), counted("refusals")
    columns = {
        "return": score,
        "length": counted("steps"),
        "published_bits": taken("published_bits"),
        "accepted": counted("accepted"),
        "wrong": counted("wrong"),
        "rejected": counted("rejected"),
        "not_executed": counted("not_executed"),
        "refusals": {reason: refusals[:, i] for i, reason in enumerate(REFUSAL_REASONS)},
        "calibrations": counted("calibrations"),
        "experiments": counted("experiments").sum(axis=1),
        "wells": counted("wells"),
        "wells_spent": counted("wells_spent"),
        "debt": taken("settled_at_end") + taken("debt"),
        "settled": taken("settled"),
        "debt_added": taken("debt_added"),
        "debt_repaid": taken("debt_repaid"),
        "debt_peak": taken("debt_peak"),
        "claimed": taken("claimed"),
        "gained": taken("gained"),
        "bankruptcies": counted("bankruptcies"),
        "beats_over_threshold": counted("beats_over_threshold"),
        "longest_streak": counted("longest_streak"),
        "end_reason": np.array(END_REASONS, dtype=object)[taken("end_reason")],
        "is_success": score > 0.0,
        "contaminated": np.full(score.shape, bool(params.unenforced)),
    }
    if params.energy.enabled:
        intents = taken("intents_total") / UNIT
        columns |= {name: taken(name) / UNIT for name in ENERGIES}
        columns["heartbeats"] = counted("heartbeat")
        columns |= {name: counted(name) for name in ENERGY_COUNTS}
        columns["intents"] = {name: intents[:, i] for i, name in enumerate(INTENTS)}
    if params.gate.enabled:
        verdicts, decided, incidents = counted("verdicts"), counted("decided"), counted("incidents")
        columns["verdicts"] = {name: verdicts[:, i] for i, name in enumerate(VERDICTS)}
        columns |= {"reviews_declined": decided[:, 0], "reviews_approved": decided[:, 1]}
        columns |= {"incidents_low": incidents[:, 0], "incidents_high": incidents[:, 1]}
        columns |= {"tightenings": counted("tightenings"), "strictness": counted("strictness")}
    if params.adequacy.enabled:
        scores = counted("scores")
        columns["adequacy"] = {str(i): scores[:, i] for i in range(scores.shape[1])}
    return columns


def join_columns(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Columns of several batches of episodes, one after the other; nested columns stay nested.

    ``parts`` holds one batch or more, all with the same keys.
    """
    joined: dict[str, Any] = {}
    for key, value in parts[0].items():
        columns = [part[key] for part in parts]
        joined[key] = join_columns(columns) if isinstance(value, dict) else np.concatenate(columns)
    return joined


def episode_record(params: LabParams, lab: Any) -> dict[str, Any]:
    """The record of one finished (or running) episode, as plain Python values."""

    def first(column: Any) -> Any:
        if isinstance(column, dict):
            return {key: first(value) for key, value in column.items()}
        value = column[0]
        return value.item() if isinstance(value, np.generic) else value

    labs = np.asarray(lab).reshape(1)
    return {key: first(column) for key, column in episode_columns(params, labs).items()}


def potential(
    labs: NDArray[Any], licence_weight: float = 0.7, well_price: float = 0.0
) -> NDArray[np.float64]:
    """Potential for shaping, bits, shape ``(n,)``.

    ``licence_weight * (licence of what is unpublished) + well_price * (wells left) - debt``, the price in
    bits a well.
    """
    unpublished = np.where(labs["published"] == 0, labs["licence"], 0.0).sum(axis=1)
    value: NDArray[np.float64] = licence_weight * unpublished + well_price * labs["wells"] - labs["debt"]
    return value
