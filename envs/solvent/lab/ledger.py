"""Append-only logs: one JSON object per line, never rewritten; one function per table of the source documents.

Each function takes the names of a lab, the record of a step, the record of the lab after it, and the index of the lab
in a vector (None for a single lab), and returns the lines that the step adds to its log.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from solvent.lab.codes import REFUSAL_REASONS, VERDICTS
from solvent.lab.info import names_of
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.gate import DECISIONS, MILLION
from solvent.lab.mechanisms.proposals import INSUFFICIENT_ENERGY, confidence
from solvent.lab.names import Names, design_id
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT
from solvent.lab.tables import looks_of
from solvent.lab.verbs import EXPERIMENTS, VERBS, Verb
from solvent.lab.words.rows import WORDINGS

__all__ = ["LOG_FILES", "Ledgers", "append_jsonl", "begin_ledger", "logs_of"]

File = str | os.PathLike[str]
Line = dict[str, Any]


# -- the lines of each log -----------------------------------------------------------------------


def refusals(names: Names, step: Any, _: Any, lab_index: int | None) -> list[Line]:
    """Return the line of a refused step: the source's fields in its order, and whether debt caused it."""
    row = names.actions[step["action"]]
    verb, compound = Verb(row["verb"]), int(row["compound"])
    template, cycle = VERBS[verb].name, int(step["heartbeat"]) + 1
    subject = f"_{_slug(names, compound)}" if compound >= 0 else ""
    plate = getattr(names.params.plates, template, None)
    wells = plate.wells if plate is not None else 0
    return [
        {
            "cycle": cycle,
            "timestamp": names.when(step),
            "refusal_reason": REFUSAL_REASONS[step["refusal"] - 1],
            "proposed_template": template,
            "proposed_hypothesis": _hypothesis(names, verb, compound, row),
            "proposed_wells": wells,
            "debt_bits": float(step["debt_before"]),
            "base_cost_wells": wells,
            "inflated_cost_wells": float(step["inflated_cost"]),
            "budget_remaining": int(step["wells_before"]),
            "debt_threshold": names.params.debt.threshold,
            "blocked_by_cost": bool(step["blocked_by_cost"]),
            "blocked_by_threshold": bool(step["blocked_by_threshold"]),
            "design_id": design_id(f"{template}{subject}", cycle, lab_index),
            "caused_by_debt": bool(step["caused_by_debt"]),
        }
    ]


def _hypothesis(names: Names, verb: Verb, compound: int, row: Any) -> str:
    if compound < 0:
        return "The vehicle wells show the state of the instrument"
    name = names.compounds[compound]
    if verb is Verb.PUBLISH_PUBLIC:
        return f"The most probable potency class of {name} is right with probability {row['confidence']:g}"
    claim = "1 bit" if row["claim"] == 1.0 else f"{row['claim']:g} bits"
    return f"{name} changes A549 viability with its dose; this plate tells {claim} about its EC50"


def discomforts(names: Names, step: Any, _: Any, lab_index: int | None) -> list[Line]:
    """Return the deferral of a worthwhile action, a row of ``cost_discomfort_log``; the value is in bits."""
    cycle = int(step["heartbeat"]) + 1
    return [
        {
            "heartbeat_number": cycle,
            "action_considered": VERBS[Verb(step["deferred_verb"])].name,
            "estimated_value": float(step["deferred_value"]),
            "energy_cost": float(step["deferred_cost"]) / UNIT,
            "energy_available": float(step["energy_before"]) / UNIT,
            "deferral_reason": INSUFFICIENT_ENERGY,
            "agent_notes": "chosen, and too dear",
            "similar_deferrals_recent": int(step["similar_deferrals"]),
            "created_at": names.when(step),
            "design_id": _cost_id(VERBS[Verb(step["deferred_verb"])].name, step, cycle, lab_index),
        }
    ]


def proposals(names: Names, step: Any, _: Any, lab_index: int | None) -> list[Line]:
    """Return a proposal as filed, and the reviews as the heartbeat closed: rows of ``energy_cost_proposals``."""
    lines = [_proposal(names, step, lab_index)] if step["proposed_verb"] >= 0 else []
    beat = int(step["heartbeat"]) + 1
    when = names.time(int(step["episode"]), beat)
    for verb in np.flatnonzero(step["reviewed"]).tolist():
        name = VERBS[Verb(verb)].name
        old, new = float(step["old_price"][verb]) / UNIT, float(step["new_price"][verb]) / UNIT
        approved = new != old
        filed = beat - names.params.proposals.review_heartbeats + 1
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
                "design_id": _cost_id(name, step, filed, lab_index),
            }
        )
    return lines


def _proposal(names: Names, step: Any, lab_index: int | None) -> Line:
    name = VERBS[Verb(step["proposed_verb"])].name
    cycle, heartbeats = int(step["heartbeat"]) + 1, int(step["similar_deferrals"])
    refs = [int(beat) + 1 for beat in step["evidence"] if beat >= 0]
    return {
        "target_type": "action",
        "target_name": name,
        "current_cost": float(step["proposed_price"]) / UNIT,
        "suggested_min": float(step["proposed_low"]) / UNIT,
        "suggested_max": float(step["proposed_high"]) / UNIT,
        "direction": "decrease",
        "rationale": f"{name} was deferred for lack of energy in {heartbeats} heartbeats although it was worth taking",
        "confidence": confidence(heartbeats),
        "evidence": [
            {"source": f"heartbeat_{ref}", "summary": f"deferred {name}, insufficient energy"} for ref in refs
        ],
        "heartbeat_refs": refs,
        "memory_refs": [],
        "status": "pending",
        "created_at": names.when(step),
        "design_id": _cost_id(name, step, cycle, lab_index),
    }


def _cost_id(name: str, step: Any, cycle: int, lab_index: int | None) -> str:
    return design_id(f"{name}_{int(step['episode']):03d}", cycle, lab_index)


def verdicts(names: Names, step: Any, lab: Any, lab_index: int | None) -> list[Line]:
    """Return the verdict on a finding and, if it was under review, the reader's decision."""
    row = names.actions[step["action"]]
    compound, cycle, when = int(row["compound"]), int(step["heartbeat"]) + 1, names.when(step)
    name = names.compounds[compound]
    finding_id = design_id(
        f"publish_public_{_slug(names, compound)}_{int(step['episode']):03d}", cycle, lab_index
    )
    wording, asserted = int(step["wording"]), int(step["asserted"])
    energy = int(step["residual"]) / MILLION
    verdict = {
        "verdict": VERDICTS[step["verdict"]],
        "hallucination_energy": energy,
        "energy_gap": energy,  # the oracle, the page's first sentence, has energy 0
        "policy_applied": names.policy.name if names.policy else None,
        "event": "verdict",
        "cycle": cycle,
        "timestamp": when,
        "compound": name,
        "confidence": float(row["confidence"]),
        "claim": names.sentences.finding(compound, wording, asserted),
        "wording": WORDINGS[wording],
        "design_id": finding_id,
    }
    if "adequacy" in names.active:
        verdict["adequacy"] = _adequacy(names, step, lab["plates"][compound].tolist(), compound)
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


def _adequacy(names: Names, step: Any, plates: list[int], compound: int) -> Line:
    """Return the score of a finding's words with the source's ``tool_context``; calls are ordered by kind, not time."""
    types = []
    for verb, count in zip(EXPERIMENTS, plates, strict=True):
        looks = looks_of(names.params, getattr(names.params.plates, VERBS[verb].name))
        types += [VERBS[verb].name] * (count * looks)
    return {
        "score": int(step["adequacy"]),
        "rule": RULES[step["rule"]],
        "gate_verdict": VERDICTS[step["gate_verdict"]],
        "tool_context": {
            "tool_calls": len(types),
            "tool_types": types,
            "has_strong_negative": names.is_strong_negative(
                compound, int(step["wording"]), int(step["asserted"])
            ),
        },
    }


def _slug(names: Names, compound: int) -> str:
    return names.compounds[compound].replace(" ", "-")


# -- the files -----------------------------------------------------------------------------------


class Log(NamedTuple):
    """A log: its mechanism, its file, the steps that add to it, and the lines that they add."""

    mechanism: str
    file: str
    happened: Callable[[Any], Any]  # step records, shape (n,), to flags
    lines: Callable[[Names, Any, Any, int | None], list[Line]]


LOGS = {
    "refusals": Log("debt", "epistemic_refusals.jsonl", lambda steps: steps["refusal"] != 0, refusals),
    "discomfort": Log(
        "proposals", "cost_discomfort_log.jsonl", lambda steps: steps["discomfort"] != 0, discomforts
    ),
    "proposals": Log(
        "proposals",
        "energy_cost_proposals.jsonl",
        lambda steps: (steps["proposed_verb"] >= 0) | steps["reviewed"].any(axis=1),
        proposals,
    ),
    "verdicts": Log("gate", "gate_verdicts.jsonl", lambda steps: steps["wording"] >= 0, verdicts),
}
LOG_FILES = {name: log.file for name, log in LOGS.items()}
"""Log to its default file name."""


@functools.lru_cache(maxsize=64)
def logs_of(params: LabParams) -> Mapping[str, Log]:
    """Return the logs of labs with these parameters, by name."""
    active = names_of(params).active
    return {name: log for name, log in LOGS.items() if log.mechanism in active}


class Ledgers:
    """The logs of a lab or a vector of labs. A log without a path is not kept.

    Raises:
        OSError: A file can't be written.
        ParamError: The sentences of the gate, needed for the log of verdicts, are missing.
    """

    def __init__(self, params: LabParams, paths: Mapping[str, File | None]) -> None:
        self.params = params
        self.paths = {name: path for name, path in paths.items() if path is not None}
        self._open()
        if "verdicts" in self._logs:
            self._names.sentences  # noqa: B018 - raises now instead of at the first finding
        for path in self.paths.values():
            begin_ledger(path)

    def _open(self) -> None:
        self._names = names_of(self.params)
        self._logs = {name: log for name, log in logs_of(self.params).items() if name in self.paths}

    def __getstate__(self) -> dict[str, Any]:
        return {"params": self.params, "paths": self.paths}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def append(self, steps: Any, labs: Any, *, numbered: bool) -> None:
        """Log the events of step records, shape ``(n,)``.

        Args:
            steps: Step records.
            labs: Records after these steps, shape ``(n,)``.
            numbered: Whether to mark each event with the index of its lab.
        """
        for name, log in self._logs.items():
            lines = [
                line
                for i in np.flatnonzero(log.happened(steps))
                for line in log.lines(self._names, steps[i], labs[i], int(i) if numbered else None)
            ]
            if lines:
                append_jsonl(self.paths[name], lines)


def begin_ledger(path: File) -> None:
    """Check that ``path`` can be appended to, creating it if needed.

    Raises:
        OSError: The file can't be written.
    """
    with Path(path).open("a", encoding="utf-8"):
        pass


def append_jsonl(path: File, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append lines to ``path``, creating it if needed, and flush after each line.

    Raises:
        OSError: The file can't be written.
    """
    with Path(path).open("a", encoding="utf-8", newline="\n") as ledger:
        for line in lines:
            ledger.write(json.dumps(line, ensure_ascii=False) + "\n")
            ledger.flush()
