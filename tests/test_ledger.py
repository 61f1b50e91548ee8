"""The ledger: the source document's fields in its order, the same bytes for the same seed, nothing ever rewritten."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from solvent import (
    LabEnv,
    LabParams,
    RefusalEvent,
    append_refusals_jsonl,
    read_refusals_jsonl,
)
from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.info import names_of
from tests.labs import lines

# "Refusal Log Format" of the source document, and a flag for the rule that it doesn't have.
FIELDS = [
    "cycle",
    "timestamp",
    "refusal_reason",
    "proposed_template",
    "proposed_hypothesis",
    "proposed_wells",
    "debt_bits",
    "base_cost_wells",
    "inflated_cost_wells",
    "budget_remaining",
    "debt_threshold",
    "blocked_by_cost",
    "blocked_by_threshold",
    "blocked_by_reserve",
    "design_id",
]
ISO_8601_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

EVENT = RefusalEvent(
    cycle=5,
    timestamp="2025-12-21T14:30:22.150Z",
    refusal_reason="epistemic_debt_action_blocked",
    proposed_template="dose_response",
    proposed_hypothesis="Microtubule disruption shows dose-dependent morphology changes",
    proposed_wells=48,
    debt_bits=2.15,
    base_cost_wells=48,
    inflated_cost_wells=63.48,
    budget_remaining=200,
    debt_threshold=2.0,
    blocked_by_cost=False,
    blocked_by_threshold=True,
    design_id="dose_response_nocodazole_001",
)


def play(env, seed=1, episodes=3):
    """Random actions, which overclaim and are refused soon; return (info, record before, step record) of refusals."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    refused, left = [], episodes
    while left:
        before = env.get_state()
        *_, terminated, truncated, info = env.step(rng.integers(env.action_space.n))
        if "refusal" in info:
            refused.append((info, before, env.batch.steps[0].copy()))
        if terminated or truncated:
            env.reset()
            left -= 1
    return refused


# -- the document's event ------------------------------------------------------------------------


def test_the_fields_are_the_documents_in_its_order():
    assert [field.name for field in dataclasses.fields(RefusalEvent)] == FIELDS
    assert list(EVENT.to_dict()) == FIELDS


def test_an_event_and_a_line_need_no_more_than_the_documents_fields(tmp_path):
    given = {name: value for name, value in EVENT.to_dict().items() if name not in FIELDS[-2:]}
    assert RefusalEvent(**given) == dataclasses.replace(EVENT, design_id="")
    path = tmp_path / "by_the_document.jsonl"
    path.write_text(json.dumps({**given, "design_id": EVENT.design_id}) + "\n", encoding="utf-8")
    assert read_refusals_jsonl(path) == [EVENT]


def test_the_documents_example_survives_the_ledger(tmp_path):
    path = tmp_path / "epistemic_refusals.jsonl"
    append_refusals_jsonl(path, [EVENT])
    assert list(lines(path)[0]) == FIELDS
    assert lines(path)[0]["debt_bits"] == 2.15
    assert lines(path)[0]["blocked_by_threshold"] is True
    assert read_refusals_jsonl(path) == [EVENT]


def test_the_documents_example_happens_in_the_lab(tmp_path):
    """48 wells at 2.15 bits with 200 left: cycle 5, 63.48 wells, blocked by the threshold and not by cost."""
    path = tmp_path / "refusals.jsonl"
    env = LabEnv(preset="source", ledger_path=path)
    env.reset(seed=42)
    state = env.get_state()
    state["debt"], state["wells"], state["heartbeat"] = 2.15, 200, 4
    env.set_state(state)
    action = np.flatnonzero((env.actions["verb"] == 5) & (env.actions["compound"] == 0))[2]
    env.step(action)
    (event,) = read_refusals_jsonl(path)
    same = [name for name in FIELDS if name not in ("timestamp", "proposed_hypothesis", "design_id")]
    for name in same:
        assert getattr(event, name) == pytest.approx(getattr(EVENT, name)), name
    assert event.design_id == "dose_response_nocodazole_005"
    assert event.timestamp == "2025-01-01T10:00:00.000Z"
    assert "nocodazole" in event.proposed_hypothesis
    assert "0.5 bits" in event.proposed_hypothesis


# -- the environment's events --------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "source", "two_tier", "energy", "gate"])
def test_every_refusal_of_the_environment_is_in_the_ledger_and_nothing_else(tmp_path, preset):
    path = tmp_path / "refusals.jsonl"
    env = LabEnv(preset=preset, ledger_path=path)
    refused = play(env)
    events = read_refusals_jsonl(path)
    assert len(events) == len(refused) > 20
    for event, (info, state, step) in zip(events, refused, strict=True):
        row = env.actions[step["action"]]
        plate = getattr(env.params.plates, event.proposed_template, None)
        assert event.refusal_reason == info["refusal"]
        assert event.cycle == state["heartbeat"] + 1
        assert event.debt_bits == state["debt"]
        assert event.budget_remaining == state["wells"]
        assert event.debt_threshold == 2.0
        assert event.base_cost_wells == event.proposed_wells == (plate.wells if plate else 0)
        assert event.inflated_cost_wells >= event.base_cost_wells
        assert event.blocked_by_threshold == (event.debt_bits > 2.0 and row["compound"] >= 0)
        assert event.blocked_by_cost == (event.inflated_cost_wells > event.budget_remaining)
        flags = event.blocked_by_threshold, event.blocked_by_cost, event.blocked_by_reserve
        assert event.refusal_reason == REFUSAL_REASONS[flags.index(True)]
        if row["compound"] >= 0:
            name = env.params.assay.compounds[row["compound"]]
            assert name in event.proposed_hypothesis
            assert name.replace(" ", "-") in event.design_id
    assert {e.proposed_template for e in events} >= {"dose_response", "screen", "publish_public"}


# -- time ----------------------------------------------------------------------------------------


def test_a_heartbeat_is_an_hour_and_the_day_starts_at_six():
    time = names_of(LabParams()).time
    assert time(0, 0) == "2025-01-01T06:00:00.000Z"
    assert time(0, 1) == "2025-01-01T07:00:00.000Z"
    assert time(0, 18) == "2025-01-02T00:00:00.000Z"
    assert time(1, 0) == "2025-01-03T06:00:00.000Z"


@pytest.mark.parametrize("heartbeats", [1, 18, 19, 40, 48, 1_000])
def test_an_episode_starts_after_the_one_before_has_ended(heartbeats):
    time = names_of(LabParams.from_mapping({"budget": {"heartbeats": heartbeats}}, base=LabParams())).time
    for episode in (0, 1, 50):
        assert time(episode, heartbeats) <= time(episode + 1, 0)


def test_a_lab_that_plays_for_ages_does_not_run_out_of_dates():
    assert ISO_8601_UTC.fullmatch(names_of(LabParams()).time(2**32 - 1, 39))


# -- trouble -------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["{", "[]", '{"cycle": 1}', '{"cycle": 1, "what": 2}', "", "null"])
def test_a_broken_line_is_reported_by_its_number(tmp_path, broken):
    path = tmp_path / "refusals.jsonl"
    append_refusals_jsonl(path, [EVENT, EVENT])
    with path.open("a", encoding="utf-8") as ledger:
        ledger.write(broken + "\n")
    with pytest.raises(ValueError, match=r"refusals\.jsonl, line 3: not a refusal event"):
        read_refusals_jsonl(path)


def test_a_path_that_can_not_be_written_is_an_os_error(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "such" / "folder.jsonl"):
        with pytest.raises(OSError, match=re.escape(str(path))):
            append_refusals_jsonl(path, [EVENT])
        with pytest.raises(OSError, match=re.escape(str(path))):
            LabEnv(ledger_path=path)


def test_a_ledger_that_does_not_exist_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_refusals_jsonl(tmp_path / "none.jsonl")


def test_an_empty_ledger_holds_no_events(tmp_path):
    (tmp_path / "empty.jsonl").touch()
    assert read_refusals_jsonl(tmp_path / "empty.jsonl") == []
    append_refusals_jsonl(tmp_path / "empty.jsonl", [])
    assert (tmp_path / "empty.jsonl").read_bytes() == b""


def test_names_beyond_ascii_are_readable_in_the_file(tmp_path):
    path = tmp_path / "refusals.jsonl"
    append_refusals_jsonl(path, [dataclasses.replace(EVENT, proposed_hypothesis="α-amanitin kills")])
    assert "α-amanitin" in path.read_text(encoding="utf-8")
    assert read_refusals_jsonl(path)[0].proposed_hypothesis == "α-amanitin kills"
