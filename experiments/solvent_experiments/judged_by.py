"""What the gate of a run judges by, kept with the run: a gate that is built anew changes no figure of an old one."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

from solvent import LabParams
from solvent.lab.words.sentences import policies_of

__all__ = ["judged_by"]

DOMAIN_FILE = "lab_domain.json"


def judged_by(params: LabParams) -> dict[str, Any]:
    """The thresholds of each policy, the laxest first, and what `solvent gate build` found of the lab's domain.

    Raises:
        ParamError: the policies beside ``gate.tables`` can't be used.
    """
    thresholds = {policy.name: [policy.tau_accept, policy.tau_review] for policy in policies_of(params)}
    return {"thresholds": thresholds, "domain": _domain(params)}


def _domain(params: LabParams) -> Any:
    """The report beside the tables of these labs; None where there is none."""
    shipped = importlib.resources.files("solvent.gate").joinpath(DOMAIN_FILE)
    path = Path(params.gate.tables).with_name(DOMAIN_FILE) if params.gate.tables else shipped
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
