"""What a finished episode was: the ``episode`` record of ``info``, for one lab and for a vector of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.params import LabParams
from solvent.state import EndReason, Refusal

__all__ = ["END_REASONS", "REFUSAL_REASONS", "episode_columns", "episode_record", "potential"]

REFUSAL_REASONS = tuple(reason.name.lower() for reason in Refusal if reason is not Refusal.NONE)
"""Reasons of refusal as they are logged, in the order in which they are tried."""

END_REASONS = tuple(reason.name.lower() for reason in EndReason)
"""Reasons why an episode ends, by code."""


def episode_columns(params: LabParams, labs: NDArray[Any]) -> dict[str, Any]:
    """The record of each episode in ``labs``, shape ``(n,)``, as columns of shape ``(n,)``.

    Bits: ``return``, ``published_bits``, ``debt`` (unpaid at the end), ``debt_added``, ``debt_repaid``, ``debt_peak``, ``claimed``, ``gained``.
    Wells: ``wells`` (left), ``wells_spent``. Counts: the rest.
    """
    return {
        "return": labs["score"].copy(),
        "length": labs["heartbeat"].astype(np.int64),
        "published_bits": labs["published_bits"].copy(),
        "accepted": labs["accepted"].astype(np.int64),
        "wrong": labs["wrong"].astype(np.int64),
        "rejected": labs["rejected"].astype(np.int64),
        "not_executed": labs["not_executed"].astype(np.int64),
        "refusals": {
            reason: labs["refusals"][:, i].astype(np.int64) for i, reason in enumerate(REFUSAL_REASONS)
        },
        "calibrations": labs["calibrations"].astype(np.int64),
        "experiments": labs["experiments"].sum(axis=1, dtype=np.int64),
        "wells": labs["wells"].astype(np.int64),
        "wells_spent": labs["wells_spent"].astype(np.int64),
        "debt": labs["settled"] + labs["debt"],
        "debt_added": labs["debt_added"].copy(),
        "debt_repaid": labs["debt_repaid"].copy(),
        "debt_peak": labs["debt_peak"].copy(),
        "claimed": labs["claimed"].copy(),
        "gained": labs["gained"].copy(),
        "bankruptcies": labs["bankruptcies"].astype(np.int64),
        "beats_over_threshold": labs["beats_over_threshold"].astype(np.int64),
        "longest_streak": labs["longest_streak"].astype(np.int64),
        "end_reason": np.array(END_REASONS, dtype=object)[labs["end_reason"]],
        "is_success": labs["score"] > 0.0,
        "contaminated": np.full(labs.shape, not params.debt.enforced),
    }


def episode_record(params: LabParams, lab: Any) -> dict[str, Any]:
    """The record of one finished (or running) episode, as plain Python values."""

    def first(column: Any) -> Any:
        if isinstance(column, dict):
            return {key: first(value) for key, value in column.items()}
        value = column[0]
        return value.item() if isinstance(value, np.generic) else value

    labs = np.asarray(lab).reshape(1)
    return {key: first(column) for key, column in episode_columns(params, labs).items()}


def potential(labs: NDArray[Any], licence_weight: float = 0.7) -> NDArray[np.float64]:
    """Potential for shaping, bits, shape ``(n,)``: ``licence_weight * (licence of what is unpublished) - debt``."""
    unpublished = np.where(labs["published"] == 0, labs["licence"], 0.0).sum(axis=1)
    value: NDArray[np.float64] = licence_weight * unpublished - labs["debt"]
    return value
