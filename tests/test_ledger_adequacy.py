"""The ledger where words are held against evidence: a score beside each verdict, a correction to each error."""

from __future__ import annotations

import json

import numpy as np
import pytest

from solvent import LabEnv, LabVectorEnv
from solvent.adequacy.corrections import load_corrections
from solvent.adequacy.heuristic import score
from solvent.adequacy.tools import ToolContext
from solvent.lab.codes import Verdict
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.registration import ENVIRONMENTS
from solvent.lab.verbs import VERBS, Verb

HEDGED, PLAINLY, DEFINITIVE = 0.5, 0.75, 0.95
TEXT = {row.id: row.text for row in load_corrections().rows}
PARAMS = {
    "budget": {"heartbeats": 14, "wells": 3000, "start_hour": 8},
    "debt": {"threshold": 20.0, "sensitivity": 0.01},
    "energy": {"start": 40.0, "cap": 40.0, "regeneration": 30.0},
    "gate": {"policy": "adaptive.P30", "review_heartbeats": 2, "calm_heartbeats": 3},
}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of(told, event):
    return [line for line in told if line["event"] == event]


@pytest.fixture(scope="module")
def told(bench, tmp_path_factory):
    """(what the steps said, the tool log behind each finding, lines of the ledger, env)."""
    path = tmp_path_factory.mktemp("adequacy") / "gate_verdicts.jsonl"
    env = LabEnv(PARAMS, preset="lab", verdicts_path=path)
    steps, logs = [], []
    for *_, (*_, info), lab, step in bench.play(env, 1500):
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
        found = score(line["claim"], ToolContext.from_dicts(log))
        assert (line["adequacy"]["score"], line["adequacy"]["rule"]) == (found.score, found.rule)
        assert line["adequacy"]["tool_context"]["has_strong_negative"] is found.strong_negative


def test_that_a_compound_is_inactive_for_certain_is_a_strong_negative_and_no_other_certainty_is(told):
    seen = set()
    for line in of(told[2], "verdict"):
        if line["wording"] == "definitive":
            inactive = "inactive" in line["claim"]
            assert line["adequacy"]["tool_context"]["has_strong_negative"] is inactive
            seen.add(inactive)
    assert seen == {False, True}


def test_the_documents_fields_still_come_first(told):
    for line in of(told[2], "verdict"):
        assert list(line)[:4] == ["verdict", "hallucination_energy", "energy_gap", "policy_applied"]
        assert list(line)[-1] == "adequacy"


def test_types_in_the_file(told):
    for line in of(told[2], "verdict"):
        assert type(line["adequacy"]["score"]) is int
        assert type(line["adequacy"]["tool_context"]["tool_calls"]) is int
        assert type(line["adequacy"]["tool_context"]["has_strong_negative"]) is bool


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
    answer = {row.pattern: row.text for row in load_corrections().rows}
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


def test_of_two_errors_in_a_step_each_has_its_own(bench, tmp_path):
    """One comes out as it is said, the other as its reader approves, and the latter's correction holds."""
    path = tmp_path / "verdicts.jsonl"
    lab = bench(GATE, preset="gate", verdicts_path=path)
    lab.study(0, screens=1, right=False)
    lab.take(Verb.PUBLISH_PUBLIC, 0, confidence=DEFINITIVE)
    for _ in range(2):
        lab.take(Verb.REST)
    lab.study(1, screens=4, right=False)
    lab.take(Verb.PUBLISH_PUBLIC, 1, confidence=PLAINLY)
    said = {line["compound"]: line["correction"] for line in of(lines(path), "incident")}
    assert said == {
        "nocodazole": TEXT["replicate_before_claiming"],
        "paclitaxel": TEXT["question_the_method"],
    }


def test_a_reviewed_error_names_the_rule_under_which_it_was_said(bench, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    lab = bench(GATE, preset="gate", verdicts_path=path)
    lab.study(screens=1, right=False)
    lab.take(Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
    for _ in range(3):
        lab.take(Verb.SCREEN, claim=0.0)
    verdict, review, incident = lines(path)
    assert (verdict["verdict"], verdict["adequacy"]["gate_verdict"]) == ("review", "accept")
    assert verdict["adequacy"]["tool_context"]["tool_types"] == ["screen"]
    assert (verdict["adequacy"]["score"], verdict["adequacy"]["rule"]) == (2, "definitive/thin")
    assert (review["event"], review["status"]) == ("review", "approved")
    assert not review.keys() & {"adequacy", "correction"}
    assert incident["correction"] == TEXT["replicate_before_claiming"]
    assert incident["design_id"] == verdict["design_id"]


def test_a_private_error_has_none_though_a_correction_holds(bench, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    lab = bench(GATE, preset="gate", verdicts_path=path)
    for m, verb in enumerate((Verb.PUBLISH_PUBLIC, Verb.PUBLISH_PRIVATE)):
        lab.study(m, screens=4, right=False)
        lab.take(verb, m, confidence=PLAINLY)
    public, private = of(lines(path), "incident")
    assert public["correction"] == TEXT["question_the_method"] == lab.env.correction
    assert (private["severity"], "correction" in private) == ("low", False)


# -- shadow mode and older levels ----------------------------------------------------------------


def test_in_shadow_mode_scores_are_logged_and_nothing_is_told(bench, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    for _ in bench.play(
        LabEnv({**PARAMS, "adequacy": {"enforced": False}}, preset="lab", verdicts_path=path), 700
    ):
        pass
    verdicts, incidents = of(lines(path), "verdict"), of(lines(path), "incident")
    assert {line["adequacy"]["score"] for line in verdicts} == {0, 1, 2, 3}
    severities = ("accept", "review", "reject")
    # Whatever the words: the gate's own verdict holds.
    assert all(line["verdict"] == line["adequacy"]["gate_verdict"] for line in verdicts)
    assert {line["verdict"] for line in verdicts} == set(severities)
    assert any(line["severity"] == "high" for line in incidents)
    assert not any("correction" in line for line in incidents)


def test_where_the_gate_is_not_enforced_its_own_verdict_is_logged(bench, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    gate = {**PARAMS["gate"], "enforced": False}
    for _ in bench.play(LabEnv({**PARAMS, "gate": gate}, preset="lab", verdicts_path=path), 500):
        pass
    by_words = ("accept", "accept", "review", "reject")
    verdicts = of(lines(path), "verdict")
    assert {line["adequacy"]["gate_verdict"] for line in verdicts} >= {"accept", "reject"}
    for line in verdicts:
        plates = line["adequacy"]["tool_context"]["tool_calls"]
        assert line["verdict"] == (by_words[line["adequacy"]["score"]] if plates else "reject")


@pytest.mark.parametrize(
    "env_id", [name for name in ENVIRONMENTS if name not in ("Solvent/Lab-v0", "Solvent/Tiny-v0")]
)
def test_older_levels_write_the_lines_that_they_wrote(bench, env_id, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    env = LabEnv(**ENVIRONMENTS[env_id], verdicts_path=path)
    for _ in bench.play(env, 200):
        pass
    assert bool(lines(path)) == env.params.gate.enabled
    assert not any({"adequacy", "correction"} & line.keys() for line in lines(path))


def test_with_adequacy_off_the_lab_writes_the_gates_lines(bench, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    for _ in bench.play(
        LabEnv({**PARAMS, "adequacy": {"enabled": False}}, preset="lab", verdicts_path=path), 400
    ):
        pass
    assert of(lines(path), "incident")
    assert not any({"adequacy", "correction"} & line.keys() for line in lines(path))


# -- a vector ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_vectors_ledger_holds_what_single_labs_hold(bench, tmp_path, mode):
    """Also where a finding is judged in the very step in which an episode ends and the next begins."""
    path = tmp_path / "vector.jsonl"
    params = {
        **PARAMS,
        "budget": {**PARAMS["budget"], "heartbeats": 3},
        "energy": {"slots": 3, **PARAMS["energy"]},
    }
    labs = LabVectorEnv(8, params, preset="lab", verdicts_path=path, autoreset_mode=mode)
    labs.reset(seed=20)
    rng, taken = np.random.default_rng(0), []
    for _ in range(100):
        known, masks = labs.get_state()["experiments"], labs.action_masks()
        taken.append(
            [bench.talk(labs.actions, mask, row, rng) for mask, row in zip(masks, known, strict=True)]
        )
        labs.step(np.array(taken[-1]))
    told, at_the_end = lines(path), 0
    for lab in range(8):
        alone = tmp_path / f"single_{lab}.jsonl"
        env = LabEnv(params, preset="lab", verdicts_path=alone)
        env.reset(seed=20 + lab)
        over = False
        for actions in taken:
            if over and mode == "NextStep":
                env.reset()
                over = False
                continue
            *_, terminated, truncated, info = env.step(actions[lab])
            over = terminated or truncated
            at_the_end += over and "adequacy" in info
            if over and mode == "SameStep":
                env.reset()
                over = False
        suffix = f"_lab{lab}"
        mine = [line for line in told if line["design_id"].endswith(suffix)]
        assert mine == [{**line, "design_id": line["design_id"] + suffix} for line in lines(alone)] != []
    assert at_the_end > 3


def test_two_runs_of_a_seed_write_the_same_bytes(bench, tmp_path):
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        for _ in bench.play(LabEnv(PARAMS, preset="lab", verdicts_path=path), 200):
            pass
    assert paths[0].read_bytes() == paths[1].read_bytes() != b""
