"""Reading the environment's ledgers: what is filed, what is left out and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from solvent.energy.costs import CostStore, file_proposals_jsonl, log_discomfort_jsonl
from tests.labs import ASKED_FOR

PROPOSAL: dict[str, Any] = {
    **ASKED_FOR,
    "memory_refs": None,
    "created_at": "2025-01-01T09:00:00.000Z",
    "reviewed_at": None,
    "reviewed_by": None,
    "review_notes": None,
    "old_cost": None,
    "new_cost": None,
    "effective_at": None,
    "design_id": "seed-1-episode-0",
}
DISCOMFORT: dict[str, Any] = {
    "heartbeat_number": 3,
    "action_considered": "screen",
    "estimated_value": 0.6,
    "energy_cost": 4.0,
    "energy_available": 2.1,
    "deferral_reason": "insufficient_energy",
    "agent_notes": None,
    "similar_deferrals_recent": 1,
    "created_at": "2025-01-01T09:00:00.000Z",
    "design_id": "seed-1-episode-0",
}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_pending_proposals_are_filed_once(store: CostStore, tmp_path: Path, raw: Any) -> None:
    reviewed = {**PROPOSAL, "target_name": "dmso", "status": "approved", "old_cost": 4.0, "new_cost": 3.0}
    other = {**PROPOSAL, "design_id": "seed-1-episode-1"}
    unknown = {**PROPOSAL, "target_name": "sing"}
    under = {**PROPOSAL, "target_name": "publish_public"}
    ledger = write(tmp_path / "proposals.jsonl", PROPOSAL, reviewed, "", other, unknown, under)
    intake = file_proposals_jsonl(store, ledger)
    (filed,) = intake.filed
    assert store.proposal(filed.id).heartbeat_refs == [3, 5]
    said = dict(intake.skipped)
    assert list(said) == [2, 4, 5, 6]
    assert "the lab's own review" in said[2]
    assert "pending proposal already" in said[4]
    assert "no price" in said[5]
    assert "at least the floor 6" in said[6]
    assert store.price("action", "dmso").cost == 1.0  # a simulated review binds nobody
    assert raw("SELECT ledger, line, design_id, logged_at FROM ledger_lines") == [
        ("proposals.jsonl", 1, "seed-1-episode-0", "2025-01-01T09:00:00.000Z")
    ]
    assert filed.created_at.year > 2025  # a person's time to review runs from the filing

    store.reject(filed.id)
    again = file_proposals_jsonl(store, ledger)
    assert dict(again.skipped)[1] == "was filed before"
    assert [row.target_name for row in again.filed] == ["screen"]  # line 4: another episode's argument


def test_the_same_words_of_two_episodes_are_two_lines(store: CostStore, tmp_path: Path) -> None:
    ledger = write(tmp_path / "discomfort.jsonl", DISCOMFORT, DISCOMFORT)
    assert len(log_discomfort_jsonl(store, ledger).filed) == 2
    write(ledger, DISCOMFORT, DISCOMFORT, {**DISCOMFORT, "deferral_reason": "hoarding", "created_at": None})
    grown = log_discomfort_jsonl(store, ledger)
    assert [row.deferral_reason for row in grown.filed] == ["hoarding"]
    assert grown.skipped == [(1, "was logged before"), (2, "was logged before")]
    assert [row.created_at.year for row in store.discomfort()][:2] == [2025, 2025]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON"),
        ("[1]", "an object"),
        ({**PROPOSAL, "status": None}, "status: got None; allowed: a text"),
        ({**PROPOSAL, "rationale": 3}, "rationale"),
        ({**PROPOSAL, "confidence": "high"}, "confidence: got 'high'; allowed: a number"),
        ({**PROPOSAL, "suggested_min": True}, "suggested_min"),
        ({**PROPOSAL, "evidence": "because"}, "evidence"),
        ({**PROPOSAL, "heartbeat_refs": ["x"]}, "heartbeat_refs"),
        ({**PROPOSAL, "memory_refs": ["x"]}, "memory_refs"),
    ],
)
def test_a_line_that_is_no_proposal_is_named(store: CostStore, tmp_path: Path, line: Any, said: str) -> None:
    ledger = write(tmp_path / "proposals.jsonl", PROPOSAL, line)
    with pytest.raises(ValueError, match=r"proposals\.jsonl, line 2: ") as refusal:
        file_proposals_jsonl(store, ledger)
    assert said in str(refusal.value)
    assert store.proposals() == [], "all or nothing"


@pytest.mark.parametrize(
    "wrong",
    [
        {"deferral_reason": "tired"},
        {"heartbeat_number": None},
        {"created_at": "yesterday"},
        {"energy_cost": -1.0},
        {"heartbeat_number": float("inf")},
        {"agent_notes": "\ud800"},
    ],
)
def test_a_line_that_is_no_discomfort_is_named(store: CostStore, tmp_path: Path, wrong: Any) -> None:
    ledger = write(tmp_path / "discomfort.jsonl", {**DISCOMFORT, **wrong})
    with pytest.raises(ValueError, match=r"discomfort\.jsonl, line 1: "):
        log_discomfort_jsonl(store, ledger)
    assert store.discomfort() == []
