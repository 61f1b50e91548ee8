"""The ledger of the gate: every verdict with the document's fields, every decision, every published error, no truth."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from solvent import LabEnv, LabVectorEnv, ParamError
from solvent.lab.codes import Event, Verdict
from solvent.lab.info import names_of
from solvent.lab.mechanisms.gate import DecisionEvent, VerdictEvent
from solvent.lab.mechanisms.governance import IncidentEvent
from solvent.lab.verbs import Verb
from solvent.lab.words.rows import WORDINGS
from solvent.lab.words.sentences import policies_of, sentences_of

# The dictionary of "What This System Actually Does" in the source document.
DOCUMENT = ["verdict", "hallucination_energy", "energy_gap", "policy_applied"]
PARAMS = {
    "budget": {"heartbeats": 24},
    "debt": {"threshold": 6.0},
    "gate": {"policy": "adaptive.P5", "review_heartbeats": 3, "calm_heartbeats": 5},
}


def talk(env, mask, rng):
    """Plates, and findings about what has a page."""
    rows = env.actions
    known = np.atleast_2d(env.get_state()["experiments"])[0] > 0
    wanted = (
        mask & np.isin(rows["verb"], [Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC]) & known[rows["compound"]]
    )
    if not wanted.any() or rng.random() < 0.6:
        wanted = mask & np.isin(rows["verb"], [Verb.SCREEN, Verb.DOSE_RESPONSE]) & (rows["claim"] == 0.75)
        wanted &= rows["compound"] < 4
    return int(rng.choice(np.flatnonzero(wanted if wanted.any() else mask)))


def play(env, seed=1, episodes=12):
    """Yield the step's record and the lab's, before and after, of every step."""
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    for _ in range(episodes):
        over = False
        while not over:
            action = talk(env, info["action_mask"].astype(bool), rng)
            *_, terminated, truncated, info = env.step(action)
            over = terminated or truncated
            yield env.batch.steps[0].copy(), env.get_state()
        _, info = env.reset()


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(steps with the records they left, lines of the ledger, env)."""
    path = tmp_path_factory.mktemp("gate") / "gate_verdicts.jsonl"
    env = LabEnv(PARAMS, preset="gate", verdicts_path=path)
    return list(play(env, episodes=40)), lines(path), env


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
    tallied = np.sum([lab["incidents"] for _, lab in steps if lab["end_reason"]], axis=0)
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
        env = LabEnv({**PARAMS, "gate": {"governance": False}}, preset="gate", verdicts_path=path)
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


def test_types_in_the_file(told):
    for line in told[1]:
        for name, value in line.items():
            if name == "checks":
                assert type(value) is list
            elif name in ("hallucination_energy", "energy_gap", "confidence"):
                assert type(value) is float
            else:
                assert type(value) is (int if name == "cycle" else str), name


def test_two_runs_of_a_seed_write_the_same_bytes_and_append(tmp_path):
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        for seed in (3, 4):
            before = path.read_bytes() if path.exists() else b""
            list(play(LabEnv(PARAMS, preset="gate", verdicts_path=path), seed=seed))
            assert path.read_bytes().startswith(before)
            assert len(path.read_bytes()) > len(before)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_vectors_ledger_holds_what_single_labs_hold(tmp_path, mode):
    """Also what is decided in the very step in which an episode ends and the next begins."""
    path = tmp_path / "vector.jsonl"
    params = {
        "budget": {"heartbeats": 6},
        "debt": {"threshold": 6.0},
        "gate": {"review_heartbeats": 2, "policy": "adaptive.P1"},
    }
    labs = LabVectorEnv(12, params, preset="gate", verdicts_path=path, autoreset_mode=mode)
    labs.reset(seed=20)
    rng = np.random.default_rng(0)
    taken = []
    for _ in range(120):
        masks = labs.action_masks()
        rows, known = labs.actions, labs.get_state()["experiments"] > 0
        actions = []
        for i in range(12):
            say = masks[i] & (rows["verb"] >= Verb.PUBLISH_PRIVATE) & known[i][rows["compound"]]
            plate = (
                masks[i] & (rows["verb"] == Verb.SCREEN) & (rows["claim"] == 0.75) & (rows["compound"] > 3)
            )
            pool = say if say.any() and rng.random() < 0.5 else plate if plate.any() else masks[i]
            actions.append(rng.choice(np.flatnonzero(pool)) if pool.any() else 0)
        taken.append(actions)
        labs.step(np.array(actions))
    told, at_the_end = lines(path), 0
    for lab in range(12):
        alone = tmp_path / f"single_{lab}.jsonl"
        env = LabEnv(params, preset="gate", verdicts_path=alone)
        env.reset(seed=20 + lab)
        over = False
        for actions in taken:
            if over and mode == "NextStep":
                env.reset()
                over = False
                continue
            *_, terminated, truncated, info = env.step(actions[lab])
            over = terminated or truncated
            at_the_end += over and "reviews_approved" in info
            if over and mode == "SameStep":
                env.reset()
                over = False
        suffix = f"_lab{lab}"
        mine = [line for line in told if line["design_id"].endswith(suffix)]
        assert mine == [{**line, "design_id": line["design_id"] + suffix} for line in lines(alone)] != []
    assert at_the_end


def test_an_event_is_on_disk_when_the_step_returns(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    env = LabEnv(PARAMS, preset="gate", verdicts_path=path)
    count = 0
    for step, lab in play(env, episodes=6):
        count += step["verdict"] != Verdict.NONE
        count += int(step["approved"]).bit_count() + int(step["declined"]).bit_count()
        events = lines(path)
        assert len([e for e in events if e["event"] != "incident"]) == count
        if step["event"] == Event.PUBLISHED and not step["right"]:
            assert events[-1]["event"] == "incident"
        del lab


def test_where_there_is_no_gate_the_ledger_stays_empty(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    env = LabEnv(verdicts_path=path)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(30):
        env.step(int(rng.integers(180)))
    assert path.read_bytes() == b""


def test_what_can_not_be_written_is_said_when_the_lab_is_made(tmp_path):
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        LabEnv(preset="gate", verdicts_path=tmp_path)
    with pytest.raises(ParamError, match="gate"):
        LabEnv({"gate": {"tables": str(tmp_path / "none.npz")}}, preset="gate")
