"""Append-only logs: one JSON object per line, never rewritten; one function per table of the source documents.

Each function takes the parameters of a lab, the record of a step, the record of the lab after it, and the origin of the
step, and returns the lines that the step adds to its log.
"""

from __future__ import annotations

import datetime
import functools
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from solvent.files import append_lines, writable
from solvent.lab.actions import action_table
from solvent.lab.codes import DEFERRALS, REFUSAL_REASONS, VERDICTS, Deferral
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.gate import DECISIONS, MILLION
from solvent.lab.mechanisms.proposals import confidence
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT
from solvent.lab.tables import looks_of
from solvent.lab.verbs import EXPERIMENTS, VERBS, Verb
from solvent.lab.words.measured import measured_for, policy_of
from solvent.lab.words.rows import WORDINGS
from solvent.lab.words.sentences import sentences_of

File = str | os.PathLike[str]
Line = dict[str, Any]
FIRST_DAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
NOTES = {
    Deferral.INSUFFICIENT_ENERGY: "chosen, but too expensive",
    Deferral.HOARDING: "passed over by a rest at a full balance",
}
"""The source's ``agent_notes``: what the agent did, since it says nothing."""
DAYS = 2_900_000  # datetime ends with the year 9999; later episodes start the calendar again


# -- what the lines share ------------------------------------------------------------------------


class Origin(NamedTuple):
    """Where a line comes from.

    Attributes:
        episode: Number of the episode in its log, from 0. The lab's own number starts again with every seed.
        lab: Index of the lab in a vector; None for a single lab.
        reason: The agent's own words for a proposal; empty for the lab's.
    """

    episode: int = 0
    lab: int | None = None
    reason: str = ""


def timestamp(params: LabParams, episode: int, heartbeat: int) -> str:
    """Return the lab's time as ISO 8601 in UTC. A heartbeat is an hour; each episode starts on a new day."""
    start, days = params.budget.start_hour, -(-(params.budget.start_hour + params.budget.heartbeats) // 24)
    moment = FIRST_DAY + datetime.timedelta(days=episode * days % DAYS, hours=start + heartbeat)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _when(params: LabParams, step: Any, origin: Origin) -> str:
    return timestamp(params, origin.episode, int(step["heartbeat"]))


def _cycle(step: Any) -> int:
    return int(step["heartbeat"]) + 1


def _design_id(subject: str, cycle: int, origin: Origin) -> str:
    """Return the identifier of an event: subject, episode, heartbeat and, in a vector, the index of its lab."""
    lab = "" if origin.lab is None else f"_lab{origin.lab}"
    return f"{subject.replace(' ', '-')}_{origin.episode:03d}_{cycle:03d}{lab}"


# -- the lines of each log -----------------------------------------------------------------------


def refusals(params: LabParams, step: Any, _: Any, origin: Origin) -> list[Line]:
    """Return the line of a refused step: the source's fields in its order, and whether debt caused it."""
    row = action_table(params)[step["action"]]
    verb, compound = Verb(row["verb"]), int(row["compound"])
    template = VERBS[verb].name
    subject = f"_{params.assay.compounds[compound]}" if compound >= 0 else ""
    plate = getattr(params.plates, template, None)
    wells = plate.wells if plate is not None else 0
    return [
        {
            "cycle": _cycle(step),
            "timestamp": _when(params, step, origin),
            "refusal_reason": REFUSAL_REASONS[step["refusal"] - 1],
            "proposed_template": template,
            "proposed_hypothesis": _hypothesis(params, verb, row),
            "proposed_wells": wells,
            "debt_bits": float(step["debt_before"]),
            "base_cost_wells": wells,
            "inflated_cost_wells": float(step["inflated_cost"]),
            "budget_remaining": int(step["wells_before"]),
            "debt_threshold": params.debt.threshold,
            "blocked_by_cost": bool(step["blocked_by_cost"]),
            "blocked_by_threshold": bool(step["blocked_by_threshold"]),
            "design_id": _design_id(f"{template}{subject}", _cycle(step), origin),
            "caused_by_debt": bool(step["caused_by_debt"]),
        }
    ]


def _hypothesis(params: LabParams, verb: Verb, row: Any) -> str:
    if row["compound"] < 0:
        return "The vehicle wells show the state of the instrument"
    name = params.assay.compounds[row["compound"]]
    if verb is Verb.PUBLISH_PUBLIC:
        return f"The most probable potency class of {name} is right with probability {row['confidence']:g}"
    claim = "1 bit" if row["claim"] == 1.0 else f"{row['claim']:g} bits"
    return f"{name} changes A549 viability with its dose; this plate tells {claim} about its EC50"


def discomforts(params: LabParams, step: Any, _: Any, origin: Origin) -> list[Line]:
    """Return the deferral of a worthwhile action, a row of ``cost_discomfort_log``; the value is in bits."""
    name, reason = VERBS[Verb(step["deferred_verb"])].name, Deferral(step["discomfort"])
    return [
        {
            "heartbeat_number": _cycle(step),
            "action_considered": name,
            "estimated_value": float(step["deferred_value"]),
            "energy_cost": float(step["deferred_cost"]) / UNIT,
            "energy_available": float(step["energy_before"]) / UNIT,
            "deferral_reason": DEFERRALS[reason],
            "agent_notes": NOTES[reason],
            "similar_deferrals_recent": int(step["similar_deferrals"]),
            "created_at": _when(params, step, origin),
            "design_id": _design_id(name, _cycle(step), origin),
        }
    ]


def proposals(params: LabParams, step: Any, _: Any, origin: Origin) -> list[Line]:
    """Return a proposal as filed, and the reviews as the heartbeat closed: rows of ``energy_cost_proposals``."""
    lines = [_proposal(params, step, origin)] if step["proposed_verb"] >= 0 else []
    when = timestamp(params, origin.episode, _cycle(step))
    for verb in np.flatnonzero(step["reviewed"]).tolist():
        name = VERBS[Verb(verb)].name
        old, new = float(step["old_price"][verb]) / UNIT, float(step["new_price"][verb]) / UNIT
        approved, filed = new != old, int(step["filed_at"][verb]) + 1
        lines.append(
            {
                "target_type": "action",
                "target_name": name,
                "status": "approved" if approved else "rejected",
                "reviewed_at": when,
                "reviewed_by": "system",
                "review_notes": "by paid uses" if approved else "paid uses do not support the proposed range",
                "old_cost": old if approved else None,
                "new_cost": new if approved else None,
                "effective_at": when if approved else None,
                "design_id": _design_id(name, filed, origin),
            }
        )
    return lines


def _proposal(params: LabParams, step: Any, origin: Origin) -> Line:
    name, heartbeats = VERBS[Verb(step["proposed_verb"])].name, int(step["similar_deferrals"])
    default = (
        f"{name} was deferred for lack of energy in {heartbeats} heartbeats although it was worth taking"
    )
    refs = [int(beat) + 1 for beat in step["evidence"] if beat >= 0]
    return {
        "target_type": "action",
        "target_name": name,
        "current_cost": float(step["proposed_price"]) / UNIT,
        "suggested_min": float(step["proposed_low"]) / UNIT,
        "suggested_max": float(step["proposed_high"]) / UNIT,
        "direction": "decrease",
        "rationale": writable(origin.reason) or default,
        "confidence": confidence(heartbeats),
        "evidence": [
            {"source": f"heartbeat_{ref}", "summary": f"deferred {name}, insufficient energy"} for ref in refs
        ],
        "heartbeat_refs": refs,
        "memory_refs": [],
        "status": "pending",
        "created_at": _when(params, step, origin),
        "design_id": _design_id(name, _cycle(step), origin),
    }


def verdicts(params: LabParams, step: Any, lab: Any, origin: Origin) -> list[Line]:
    """Return the verdict on a finding and, if it was under review, the reader's decision."""
    row, policy = action_table(params)[step["action"]], policy_of(params)
    compound, cycle, when = int(row["compound"]), _cycle(step), _when(params, step, origin)
    name = params.assay.compounds[compound]
    finding_id = _design_id(f"publish_public_{name}", cycle, origin)
    wording, asserted = int(step["wording"]), int(step["asserted"])
    energy = int(step["residual"]) / MILLION
    verdict = {
        "verdict": VERDICTS[step["verdict"]],
        "hallucination_energy": energy,
        "energy_gap": energy,  # the oracle, the page's first sentence, has energy 0
        "policy_applied": policy.name if policy else None,
        "event": "verdict",
        "cycle": cycle,
        "timestamp": when,
        "compound": name,
        "confidence": float(row["confidence"]),
        "claim": sentences_of(params).finding(compound, wording, asserted),
        "wording": WORDINGS[wording],
        "design_id": finding_id,
    }
    if params.adequacy.enabled:
        verdict["adequacy"] = _adequacy(params, step, lab["plates"][compound].tolist(), compound)
    if not step["decision"]:
        return [verdict]
    approved = DECISIONS[step["decision"]] == "approved"
    decision = {
        "event": "review",
        "cycle": cycle,
        "compound": name,
        "status": DECISIONS[step["decision"]],
        "reviewed_at": when,
        "reviewed_by": "reader",
        "review_notes": f"asserted {'no more' if approved else 'more'} than was licensed",
        "design_id": finding_id,
    }
    return [verdict, decision]


def _adequacy(params: LabParams, step: Any, plates: list[int], compound: int) -> Line:
    """Return the score of a finding's words with the source's ``tool_context``; calls are ordered by kind, not time."""
    types = []
    for verb, count in zip(EXPERIMENTS, plates, strict=True):
        looks = looks_of(params, getattr(params.plates, VERBS[verb].name))
        types += [VERBS[verb].name] * (count * looks)
    finding = int(step["wording"]) * params.assay.potency_classes + int(step["asserted"])
    measured = measured_for(params)
    return {
        "score": int(step["adequacy"]),
        "rule": RULES[step["rule"]],
        "gate_verdict": VERDICTS[step["gate_verdict"]],
        "tool_context": {
            "tool_calls": len(types),
            "tool_types": types,
            "has_strong_negative": bool(measured is not None and measured.negatives[compound, finding]),
        },
    }


# -- the files -----------------------------------------------------------------------------------


class Log(NamedTuple):
    """A log: the group of settings that switches it on, its file, the steps that add to it, and their lines."""

    group: str
    file: str
    happened: Callable[[Any], Any]  # step records, shape (n,), to flags
    lines: Callable[[LabParams, Any, Any, Origin], list[Line]]


LOGS = {
    "refusals": Log("debt", "epistemic_refusals.jsonl", lambda steps: steps["refusal"] != 0, refusals),
    "discomfort": Log(
        "energy", "cost_discomfort_log.jsonl", lambda steps: steps["discomfort"] != 0, discomforts
    ),
    "proposals": Log(
        "energy",
        "energy_cost_proposals.jsonl",
        lambda steps: (steps["proposed_verb"] >= 0) | steps["reviewed"].any(axis=1),
        proposals,
    ),
    "verdicts": Log("gate", "gate_verdicts.jsonl", lambda steps: steps["wording"] >= 0, verdicts),
}


@functools.lru_cache(maxsize=64)
def logs_of(params: LabParams) -> Mapping[str, Log]:
    """Return the logs of labs with these parameters, by name."""
    return {name: log for name, log in LOGS.items() if getattr(getattr(params, log.group), "enabled", True)}


class Ledgers:
    """The logs of a lab or a vector of labs; each lab's episodes are counted from the opening of the logs.

    Args:
        params: Parameters of the labs.
        labs: Number of labs in a vector; None for a single lab.
        paths: In the order of ``LOGS``; None: not kept.

    Raises:
        OSError: A file can't be written.
    """

    def __init__(self, params: LabParams, labs: int | None, *paths: File | None) -> None:
        self.params = params
        self.numbered = labs is not None
        self.begun = np.zeros(labs or 1, np.int64)
        self.paths = {name: path for name, path in zip(LOGS, paths, strict=True) if path is not None}
        for path in self.paths.values():
            append_lines(path, ())  # fails now instead of at the first event

    def begin(self, chosen: Any) -> None:
        """Count an episode that begins in the ``chosen`` labs, flags of shape ``(n,)``."""
        self.begun += chosen

    def append(self, steps: Any, labs: Any, reason: str = "") -> None:
        """Log the events of step records; ``labs`` are the records after these steps, both of shape ``(n,)``.

        ``reason`` is the agent's own for a proposal among them.
        """
        for name, log in logs_of(self.params).items() if self.paths else ():
            lines = [
                line
                for i in (np.flatnonzero(log.happened(steps)) if name in self.paths else ())
                for line in log.lines(self.params, steps[i], labs[i], self._origin(int(i), reason))
            ]
            if lines:
                texts = (json.dumps(line, ensure_ascii=False) for line in lines)
                append_lines(self.paths[name], texts)

    def _origin(self, lab: int, reason: str) -> Origin:
        # A lab whose record was set before any reset is in its first episode.
        return Origin(max(0, int(self.begun[lab]) - 1), lab if self.numbered else None, reason)
