"""The gate's thresholds in a run, kept with the run so that a rebuilt gate changes no old figure."""

from __future__ import annotations

from typing import Any

from solvent import LabParams
from solvent.lab.words.sentences import measured_for

__all__ = ["judged_by"]


def judged_by(params: LabParams) -> dict[str, Any]:
    """Return each policy's thresholds, the laxest first, and what `solvent gate build` found of the lab's domain."""
    measured = measured_for(params)
    if measured is None:
        return {"thresholds": {}, "domain": None}
    thresholds = {policy.name: [policy.tau_accept, policy.tau_review] for policy in measured.policies}
    return {"thresholds": thresholds, "domain": measured.about["domain"]}
