"""The ledger of the gate: every verdict with the document's fields, every decision, every published error, no truth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solvent import LabEnv
from solvent.lab.codes import Verdict
from solvent.lab.info import names_of
from solvent.lab.mechanisms.gate import DecisionEvent, VerdictEvent
from solvent.lab.mechanisms.governance import IncidentEvent
from solvent.lab.verbs import Verb
from solvent.lab.words.rows import WORDINGS
from solvent.lab.words.sentences import policies_of, sentences_of
from tests.labs import LEFT_OUT, lines, merged, play

# The dictionary of "What This System Actually Does" in the source document.
DOCUMENT = ["verdict", "hallucination_energy", "energy_gap", "policy_applied"]
PARAMS = {
    "budget": {"heartbeats": 24},
    "debt": {"threshold": 6.0, "interest_cap": 6.0},
    "gate": {"policy": "adaptive.P5", "review_heartbeats": 3, "calm_heartbeats": 5},
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(steps with the records they left, lines of the ledger, env)."""
    path = tmp_path_factory.mktemp("gate") / "gate_verdicts.jsonl"
    env = LabEnv(merged(LEFT_OUT, PARAMS), preset="gate", verdicts_path=path)
    steps = [(step, lab) for *_, lab, step in play(env, 1500, seed=1)]
    return steps, lines(path), env


def of(told, event):
    return [line for line in told[1] if line["event"] == event]


def test_the_documents_fields_come_first_and_are_its_own(told):
    assert [field.name for field in dataclasses.fields(VerdictEvent)][:4] == DOCUMENT
    policies = {policy.name: policy for policy in policies_of(told[2].params)}
    for line in of(told, "verdict"):
        assert list(line)[:4] == DOCUMENT
        assert line["verdict"] in ("accept", "review", "reject")
        assert 0.0 <= line["hallucination_energy"] <= 1.0
        assert line["energy_gap"] == line["hallucination_energy"]
        policy = policies[line["policy_applied"]]
        gap = line["energy_gap"]
        decided = "accept" if gap <= policy.tau_accept else "review" if gap <= policy.tau_review else "reject"
        assert line["verdict"] == ("review" if line["checks"] and decided == "accept" else decided)
    assert {line["verdict"] for line in of(told, "verdict")} == {"accept", "review", "reject"}
    assert {tuple(line["checks"]) for line in of(told, "verdict")} == {(), ("numbers",)}
    assert len({line["policy_applied"] for line in of(told, "verdict")}) > 1


def test_every_finding_that_was_judged_is_one_line(told):
    steps, _, env = told
    judged = [(step, lab) for step, lab in steps if step["verdict"] != Verdict.NONE]
    assert len(judged) == len(of(told, "verdict")) > 100
    for (step, _), line in zip(judged, of(told, "verdict"), strict=True):
        row = env.actions[step["action"]]
        m = int(row["compound"])
        assert line["cycle"] == step["heartbeat"] + 1
        assert line["timestamp"] == names_of(env.params).when(step)
        assert line["compound"] == env.params.assay.compounds[m]
        assert line["audience"] == ("public" if row["verb"] == Verb.PUBLISH_PUBLIC else "private")
        assert line["confidence"] == row["confidence"]
        assert line["wording"] == WORDINGS[step["wording"]]
        assert line["claim"] == sentences_of(env.params).finding(m, step["wording"], step["asserted"])
        name = line["compound"].replace(" ", "-")
        expected = f"publish_{line['audience']}_{name}_{step['episode']:03d}_{line['cycle']:03d}"
        assert line["design_id"] == expected


def test_every_decision_is_one_line_that_names_its_verdict(told):
    steps, _, env = told
    reviewed = {line["design_id"] for line in of(told, "verdict") if line["verdict"] == "review"}
    decisions = of(told, "review")
    assert len(decisions) == sum(
        int(step["approved"]).bit_count() + int(step["declined"]).bit_count() for step, _ in steps
    )
    assert {line["status"] for line in decisions} == {"approved", "declined"}
    assert {line["reviewed_by"] for line in decisions} == {"reader"}
    assert all(line["design_id"] in reviewed for line in decisions)
    assert len({line["design_id"] for line in decisions}) == len(decisions)
    at = {line["design_id"]: line["cycle"] for line in of(told, "verdict")}
    for line in decisions:
        assert line["cycle"] == at[line["design_id"]] + env.params.gate.review_heartbeats - 1
        assert line["audience"] in line["design_id"]
        assert line["compound"].replace(" ", "-") in line["design_id"]


def test_every_published_error_is_one_line(told):
    steps, _, _ = told
    incidents = of(told, "incident")
    ends = [lab for number, (_, lab) in enumerate(steps, 1) if lab["end_reason"] or number == len(steps)]
    tallied = np.sum([lab["incidents"] for lab in ends], axis=0)
    severities = [line["severity"] for line in incidents]
    assert [severities.count("low"), severities.count("high")] == tallied.tolist()
    assert min(tallied) > 0
    judged = {line["design_id"]: line for line in of(told, "verdict")}
    assert {judged[line["design_id"]]["verdict"] for line in incidents} == {"accept", "review"}
    for line in incidents:
        assert line["severity"] == ("high" if line["audience"] == "public" else "low")
        assert judged[line["design_id"]]["audience"] == line["audience"]


def test_a_line_has_no_truth_in_it(tmp_path):
    """Two labs that differ in nothing but the hidden truth write the same verdicts and decisions."""
    written = []
    for shift in (0, 1):
        path = tmp_path / f"{shift}.jsonl"
        env = LabEnv(PARAMS, preset="gate", verdicts_path=path)
        env.reset(seed=5)
        rows = env.actions
        for m in range(3):
            plate = (rows["verb"] == Verb.DOSE_RESPONSE) & (rows["compound"] == m) & (rows["claim"] == 1.5)
            env.step(int(np.flatnonzero(plate)[0]))
        state = env.get_state()
        state["potency"] = (state["potency"] + shift) % 8
        env.set_state(state)
        for _ in range(12):
            for m in range(3):
                say = (rows["verb"] == Verb.PUBLISH_PUBLIC) & (rows["compound"] == m)
                env.step(int(np.flatnonzero(say)[0]))
                if env.batch.labs[0]["end_reason"]:
                    break
            else:
                continue
            break
        written.append([line for line in lines(path) if line["event"] != "incident"])
    assert written[0] == written[1] != []
    fields = {field.name for event in (VerdictEvent, DecisionEvent) for field in dataclasses.fields(event)}
    assert not fields & {"right", "wrong", "potency", "truth", "severity", "correct"}
    assert "severity" in {field.name for field in dataclasses.fields(IncidentEvent)}
