"""The ledger where words are held against evidence: a score beside each verdict, a correction to each error."""

from __future__ import annotations

import pytest

from solvent import LabEnv
from solvent.adequacy import calls_of, score
from solvent.adequacy.records import corrections
from solvent.lab.codes import Verdict
from solvent.lab.mechanisms.adequacy import RULES, rule_scores
from solvent.lab.verbs import VERBS, Verb
from tests.labs import LEFT_OUT, lines, merged, open_lab, play, study, take

HEDGED, PLAINLY, DEFINITIVE = 0.5, 0.75, 0.95
TEXT = {row.id: row.text for row in corrections()}
PARAMS = {
    "budget": {"heartbeats": 14, "wells": 3000, "start_hour": 8},
    "debt": {"threshold": 20.0, "interest_cap": 20.0, "sensitivity": 0.01},
    "energy": {"start": 40.0, "cap": 40.0, "regeneration": 30.0},
    "gate": {"policy": "adaptive.P30", "review_heartbeats": 2, "calm_heartbeats": 3},
}


def of(told, event):
    return [line for line in told if line["event"] == event]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(what the steps said, the tool log behind each finding, lines of the ledger, env)."""
    path = tmp_path_factory.mktemp("adequacy") / "gate_verdicts.jsonl"
    env = LabEnv(merged(LEFT_OUT, PARAMS), preset="lab", verdicts_path=path)
    steps, logs = [], []
    for *_, (*_, info), lab, step in play(env, 1500):
        steps.append((info, step, lab))
        if step["verdict"] != Verdict.NONE:
            logs.append(env.tool_log(int(env.actions[step["action"]]["compound"])))
    return steps, logs, lines(path), env


# -- verdicts ------------------------------------------------------------------------------------


def test_every_verdict_has_the_score_its_rule_and_the_sources_tool_context(told):
    steps, logs, ledger, _ = told
    verdicts = of(ledger, "verdict")
    judged = [(info, step) for info, step, _ in steps if step["verdict"] != Verdict.NONE]
    assert len(verdicts) == len(judged) == len(logs) > 200
    for line, (info, step), log in zip(verdicts, judged, logs, strict=True):
        adequacy = line["adequacy"]
        assert set(adequacy) == {"score", "rule", "gate_verdict", "tool_context"}
        assert (adequacy["score"], adequacy["rule"]) == (info["adequacy"], info["adequacy_rule"])
        assert (adequacy["gate_verdict"], line["verdict"]) == (info["gate_verdict"], info["verdict"])
        assert adequacy["rule"] == RULES[step["rule"]]
        context = adequacy["tool_context"]
        assert set(context) == {"tool_calls", "tool_types", "has_strong_negative"}
        assert context["tool_calls"] == len(context["tool_types"]) == len(log)
        assert sorted(context["tool_types"]) == sorted(call["name"] for call in log)
        assert set(context["tool_types"]) <= {VERBS[Verb.SCREEN].name, VERBS[Verb.DOSE_RESPONSE].name}
    assert {line["adequacy"]["score"] for line in verdicts} == {0, 1, 2, 3}
    assert len({line["adequacy"]["rule"] for line in verdicts}) > 8


def test_a_line_can_be_scored_again_from_its_claim_and_the_log(told):
    for line, log in zip(of(told[2], "verdict"), told[1], strict=True):
        found = score(line["claim"], calls_of(log))
        assert line["adequacy"]["rule"] == found.rule
        # The lab's own table scores the rule.
        assert line["adequacy"]["score"] == rule_scores()[RULES.index(found.rule)]
        assert line["adequacy"]["tool_context"]["has_strong_negative"] is found.strong_negative


def test_that_a_compound_is_inactive_for_certain_is_a_strong_negative_and_no_other_certainty_is(told):
    seen = set()
    for line in of(told[2], "verdict"):
        if line["wording"] == "definitive":
            inactive = "inactive" in line["claim"]
            assert line["adequacy"]["tool_context"]["has_strong_negative"] is inactive
            seen.add(inactive)
    assert seen == {False, True}


# -- errors --------------------------------------------------------------------------------------


def test_every_error_that_all_saw_has_the_correction_and_no_other_line_has_one(told):
    steps, _, ledger, _ = told
    given = [info["correction"] for info, *_ in steps if "correction" in info]
    high = [line for line in of(ledger, "incident") if line["severity"] == "high"]
    low = [line for line in of(ledger, "incident") if line["severity"] == "low"]
    assert low
    assert len(high) == sum(int(step["incident"]) for _, step, _ in steps) >= len(given) > 3
    assert all("correction" in line and line["correction"] in TEXT.values() for line in high)
    assert all("correction" not in line for line in ledger if line not in high)
    assert {line["correction"] for line in high} >= set(given)


def test_the_correction_on_the_line_is_that_of_the_errors_own_rule(told):
    """By the verdict that the error's ``design_id`` names."""
    rule = {line["design_id"]: line["adequacy"]["rule"] for line in of(told[2], "verdict")}
    answer = {f"{row.severity} {row.words}/{row.evidence}": row.text for row in corrections()}
    high = [line for line in of(told[2], "incident") if line["severity"] == "high"]
    for line in high:
        words, evidence = rule[line["design_id"]].split("/")
        patterns = (f"high {words}/{evidence}", f"* {words}/{evidence}", f"* */{evidence}")
        assert line["correction"] == next(answer[pattern] for pattern in patterns if pattern in answer)


GATE = {
    "budget": {"heartbeats": 100, "wells": 10_000},
    "adequacy": {"enabled": True},
    "gate": {"review_heartbeats": 4, "calm_heartbeats": 12},
}


def test_of_two_errors_in_a_step_each_has_its_own(tmp_path):
    """One comes out as it is said, the other as its reader approves, and the latter's correction holds."""
    path = tmp_path / "verdicts.jsonl"
    lab = open_lab(GATE, base="gate", verdicts_path=path)
    study(lab, 0, screens=1, right=False)
    take(lab, Verb.PUBLISH_PUBLIC, 0, confidence=DEFINITIVE)
    for _ in range(2):
        take(lab, Verb.REST)
    study(lab, 1, screens=4, right=False)
    take(lab, Verb.PUBLISH_PUBLIC, 1, confidence=PLAINLY)
    said = {line["compound"]: line["correction"] for line in of(lines(path), "incident")}
    assert said == {
        "nocodazole": TEXT["replicate_before_claiming"],
        "paclitaxel": TEXT["question_the_method"],
    }


# -- shadow mode and older levels ----------------------------------------------------------------


def test_in_shadow_mode_scores_are_logged_and_nothing_is_told(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    for _ in play(LabEnv({**PARAMS, "adequacy": {"enforced": False}}, preset="lab", verdicts_path=path), 700):
        pass
    verdicts, incidents = of(lines(path), "verdict"), of(lines(path), "incident")
    assert {line["adequacy"]["score"] for line in verdicts} == {0, 1, 2, 3}
    severities = ("accept", "review", "reject")
    # Whatever the words: the gate's own verdict holds.
    assert all(line["verdict"] == line["adequacy"]["gate_verdict"] for line in verdicts)
    assert {line["verdict"] for line in verdicts} == set(severities)
    assert any(line["severity"] == "high" for line in incidents)
    assert not any("correction" in line for line in incidents)


def test_where_the_gate_is_not_enforced_its_own_verdict_is_logged(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    gate = {**PARAMS["gate"], "enforced": False}
    for _ in play(LabEnv({**PARAMS, "gate": gate}, preset="lab", verdicts_path=path), 500):
        pass
    by_words = ("accept", "accept", "review", "reject")
    verdicts = of(lines(path), "verdict")
    assert {line["adequacy"]["gate_verdict"] for line in verdicts} >= {"accept", "reject"}
    for line in verdicts:
        plates = line["adequacy"]["tool_context"]["tool_calls"]
        assert line["verdict"] == (by_words[line["adequacy"]["score"]] if plates else "reject")
