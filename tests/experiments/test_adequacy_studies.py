"""``solvent adequacy thresholds | patterns | drift``: tables, JSON, people's decisions."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from solvent.adequacy.agreement import Estimate
from solvent.adequacy.decisions import read_triggers, retired
from solvent.adequacy.drift import DriftMonitor, DriftRules, append_drifts
from solvent.adequacy.fmea import Incident, append_incidents, incident_examples, severity_named
from solvent.adequacy.heuristic import score
from solvent.adequacy.labelled import DEV
from solvent.adequacy.responses import labelled_examples, read_responses
from solvent.adequacy.scores import Ratings, append_scores, read_scores, record_of
from solvent.adequacy.tools import ToolCall, ToolContext
from solvent_experiments.instruments.adequacy.tables import estimate
from tests.adequacy.judge_server import asking, grades, running
from tests.commands import call

GREP = ToolCall("Grep", {"pattern": "x", "path": "src/a"}, "")
READ = ToolCall("Read", {"path": "a.py"}, "def foo(): pass")
STRONG = "only Grep, then a strong negative"


@pytest.fixture(autouse=True)
def own(monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)


def adequacy(*arguments):
    return call("adequacy", *arguments)


def discovery(path):
    """What `thresholds --out` wrote."""
    document = json.loads(Path(path).read_text())
    assert document["format"] == "solvent.adequacy.thresholds.v2"
    found: dict[str, Any] = document["discovery"]
    return found


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """Scores, incidents and events of an agent that denies after one search, and does so less once it is told."""
    root, luck = tmp_path_factory.mktemp("live"), random.Random(0)
    monitor = DriftMonitor(DriftRules(withhold=0.5))
    records, incidents, events = [], [], []
    for session in range(50):
        told, name = 0, f"s{session:02}"
        for turn in range(24):
            denies = luck.random() < (0.45 if told > 0 else 0.85)
            said = (
                f"Function f{session}_{turn} does not exist in this codebase."
                if denies
                else f"I read a.py ({turn})."
            )
            context = ToolContext((GREP,)) if denies else ToolContext((READ, GREP, READ))
            adequacy = score(said, context, "Is it there?")
            record = record_of(said, context, "Is it there?", adequacy)
            records.append(replace(record, agent="coder", session=name, id=f"{name}-{turn}"))
            if denies and luck.random() < 0.9:
                incidents.append(
                    Incident(
                        response=said,
                        context=context,
                        query="Is it there?",
                        rule=adequacy.rule,
                        severity=severity_named(luck.choice(["low", "medium", "high"])).rank,
                        occurrence=5,
                        detectability=6,
                        description="it was there",
                        domain="code",
                        reported_by="a user",
                    )
                )
            told -= 1
            if (event := monitor.observe("coder", name, adequacy.score, adequacy.rule)) is not None:
                events.append(event)
                told = 6 if event.given else told
    append_scores(root / "scores.jsonl", records)
    append_incidents(root / "incidents.jsonl", incidents)
    append_drifts(root / "drifts.jsonl", events)
    return root


@pytest.fixture
def here(live, tmp_path):
    for path in live.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


# ----------------------------------------------------------------------------------------------- thresholds


def test_thresholds_are_learnt_from_labels_and_the_raters_are_compared(tmp_path):
    with running(grades(1, 0)) as server:
        adequacy("score", DEV, *asking(server), "-q", "--show", "0").succeeded()
    shown = adequacy("thresholds", DEV, "--out", "t.json").succeeded()
    for word in (
        "evidence count",
        "words level",
        "shipped",
        "chosen",
        "heuristic, human",
        "judge, human",
        "judge over",
    ):
        assert word in shown, word
    found = discovery("t.json")
    assert found["verdict"] in shown
    assert found["learnt_on"] + found["reported_on"] == len(DEV.read_text(encoding="utf-8").splitlines())
    raters = json.loads(Path("t.raters.json").read_text())
    assert raters["format"] == "solvent.adequacy.raters.v1"
    assert [pair["count"] > 100 for pair in raters["pairs"]] == [True] * 3
    before = Path("t.json").read_bytes()
    adequacy("thresholds", DEV, "--out", "t.json").succeeded()
    assert Path("t.json").read_bytes() == before


def test_labels_in_the_scores_go_before_those_in_the_file(tmp_path):
    lines = [json.loads(line) for line in DEV.read_text(encoding="utf-8").splitlines()]
    bare = tmp_path / "bare.jsonl"
    kept = ("id", "query", "response", "tool_calls")
    bare.write_text("".join(json.dumps({key: line[key] for key in kept}) + "\n" for line in lines))
    adequacy("thresholds", bare).refused("labels: got 0 labelled responses; allowed: 50 or more")
    adequacy("score", DEV, "-q", "--show", "0").succeeded()
    adequacy("thresholds", bare, "--out", "a.json").succeeded()
    adequacy("thresholds", DEV, "--scores", "none.jsonl", "--out", "b.json").succeeded(
        "no scores in none.jsonl"
    )
    a, b = discovery("a.json"), discovery("b.json")
    assert a["labels_sha256"] == b["labels_sha256"]
    assert a == b


def test_incidents_are_examples_too(here):
    few = here / "few.jsonl"
    lines = DEV.read_text(encoding="utf-8").splitlines()
    few.write_text("".join(f"{line}\n" for line in lines[:45]))
    for more in ((), ("--incidents", "incidents.jsonl")):
        adequacy("thresholds", few, *more).refused("got 45 labelled responses")
    few.write_text("".join(f"{line}\n" for line in lines[:60]))
    known = ("thresholds", few, "--incidents", "incidents.jsonl")
    shown = adequacy(*known, "--out", "t.json").succeeded()
    found = discovery("t.json")
    count = len((here / "incidents.jsonl").read_text().splitlines())
    assert found["incidents"] == count
    assert found["overall"]["count"] == 60
    assert f"and {count:,} incidents, reported on {found['reported_on']:,} others" in shown


def test_of_an_incident_what_is_not_known_stays_unknown(tmp_path):
    wrong = [
        Incident(
            response=said,
            context=ToolContext(),
            rule=score("It is gone.", ToolContext()).rule,
            severity=severity_named("high").rank,
            occurrence=3,
            detectability=3,
            description="it was there",
            domain="code",
            reported_by="a user",
        )
        for said in ("It is gone.", "It is gone.", "It is not here.")
    ]
    append_incidents(tmp_path / "i.jsonl", wrong)
    one, other = incident_examples(tmp_path / "i.jsonl", [])
    assert (one.query, one.response, other.response) == (None, "It is gone.", "It is not here.")
    assert incident_examples(tmp_path / "i.jsonl", [one]) == [other]  # a person's label goes before
    assert incident_examples(None, []) == []


def test_raters_are_compared_without_people_s_labels(tmp_path):
    kept = ("id", "query", "response", "tool_calls")
    lines = [json.loads(line) for line in DEV.read_text(encoding="utf-8").splitlines()[:30]]
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(json.dumps({key: line[key] for key in kept}) + "\n" for line in lines))
    with running(grades(1, 0)) as server:
        adequacy("score", bare, *asking(server), "-q", "--show", "0").succeeded()
    shown = adequacy("thresholds", bare, "--out", "t.json")
    assert shown.code == 2
    assert re.search(r"heuristic, judge +30 ", shown.out)
    assert re.search(r"heuristic, human +0 +too few", shown.out)
    assert "got 0 labelled responses" in shown.err
    assert len(shown.err.splitlines()) == 1
    raters = json.loads(Path("t.raters.json").read_text())
    assert [pair["count"] for pair in raters["pairs"]] == [30, 0, 0]
    assert not Path("t.json").exists()


def test_a_label_belongs_to_its_response_alone(tmp_path):
    path, queries = tmp_path / "yes.jsonl", ["Is it there?", "Is it safe?"]
    lines = [{"response": "Yes.", "query": query, "tool_calls": []} for query in queries]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    adequacy("score", path).succeeded()
    first, second = read_scores("scores.jsonl")
    assert first.id != second.id
    label = replace(first, epad=Ratings(human=0), sya=Ratings())
    append_scores("scores.jsonl", [label])
    examples = labelled_examples(read_responses(path).all, read_scores("scores.jsonl"))
    assert [(one.query, one.epad) for one in examples] == [("Is it there?", 0)]


def test_what_has_no_interval_says_so():
    assert estimate(Estimate(0.5, math.nan, math.nan)) == "0.50, no interval"
    assert estimate(Estimate(math.nan, math.nan, math.nan)) == "undefined"
    assert estimate(Estimate(0.5, 0.25, 0.75)) == "0.50 [0.25, 0.75]"


# ------------------------------------------------------------------------------------------------- patterns


def test_a_pattern_that_precedes_failures_is_a_candidate_and_a_person_makes_it_a_trigger(here):
    shown = adequacy("patterns", "--incidents", "incidents.jsonl", "--out", "p.json").succeeded()
    assert re.search(rf"{STRONG} .*yes", shown)
    assert "patterns tried: 1 candidate\n" in shown
    assert not Path("triggers.jsonl").exists()
    told = json.loads(Path("p.json").read_text())
    assert told["findings"][0]["text"] == STRONG
    assert told["findings"][0]["lower_bound"] > 0.5
    known = ("patterns", "--incidents", "incidents.jsonl")
    assert adequacy(*known, "--accept", STRONG).code == 2
    assert adequacy(*known, "--accept", "Grep", "--by", "x", "--reason", "y").code == 2
    assert adequacy(*known, "--accept", "nothing", "--by", "x", "--reason", "y").code == 2
    assert not Path("triggers.jsonl").exists()
    adequacy(*known, "--accept", STRONG, "--by", "A person", "--reason", "seen often").succeeded()
    (trigger,) = read_triggers("triggers.jsonl")
    assert (str(trigger.pattern), trigger.accepted_by) == (STRONG, "A person")


def test_incidents_about_no_scored_response_are_counted(here):
    lines = (here / "incidents.jsonl").read_text().splitlines()
    other = [json.loads(line) | {"query": "Is it safe?"} for line in lines[:7]]
    (here / "i.jsonl").write_text("".join(f"{x}\n" for x in (*map(json.dumps, other), *lines[7:])))
    told = adequacy("patterns", "--incidents", "i.jsonl", "--out", "p.json").succeeded()
    assert f"{len(lines):,} incidents, 7 of them about no response that was scored" in told
    found = json.loads(Path("p.json").read_text())
    assert (found["incidents"], found["incidents_unmatched"]) == (len(lines), 7)
    assert sum(one["failures"] for one in found["findings"][:1]) == len(lines) - 7
    assert "about no response" not in adequacy("patterns", "--incidents", "incidents.jsonl").succeeded()


# ---------------------------------------------------------------------------------------------------- drift


def test_drift_is_followed_and_what_helped_is_measured(here):
    shown = adequacy("drift", "--out", "a.json", "--show", "2").succeeded()
    assert "1,200 responses in 50 sessions, 50 of them of 6 or more" in shown
    assert "without agent" not in shown
    assert "verdict" not in shown
    told = json.loads(Path("a.json").read_text())
    assert told["events"]
    assert not any(event["given"] for event in told["events"])
    shown = adequacy("drift", "--events", "drifts.jsonl", "--out", "b.json").succeeded()
    (fitness,) = (one for one in json.loads(Path("b.json").read_text())["fitness"] if one["given"] >= 20)
    assert (fitness["verdict"], fitness["basis"]) == ("helps", "randomised")
    assert f"{fitness['correction']}  " in shown


def test_a_correction_is_retired_by_a_person_alone(here):
    adequacy("drift", "--out", "a.json").succeeded()
    name = json.loads(Path("a.json").read_text())["events"][0]["correction"]
    assert adequacy("drift", "--retire", name).code == 2
    assert adequacy("drift", "--retire", "nobody", "--by", "A person", "--reason", "x").code == 2
    assert not Path("retired.jsonl").exists()
    adequacy("drift", "--retire", name, "--by", "A person", "--reason", "no use").succeeded()
    assert retired("retired.jsonl") == {name}
    adequacy("drift", "--out", "b.json").succeeded()
    after = {event["correction"] for event in json.loads(Path("b.json").read_text())["events"]}
    assert after
    assert name not in after


def test_without_agents_and_sessions_all_is_one(tmp_path):
    adequacy("score", DEV, "-q", "--show", "0").succeeded()
    shown = adequacy("drift", "--out", "d.json", "--threshold", "2.6").succeeded()
    assert "in 1 session," in shown
    count = len(DEV.read_text(encoding="utf-8").splitlines())
    assert f"{count} responses without agent and session: followed as one session" in shown


# -------------------------------------------------------------------------------------------------- files


def test_nothing_is_written_over_that_is_something_else(here):
    (here / "notes.json").write_text("{}")
    before = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    for arguments, said in (
        (("patterns", "--out", "scores.jsonl"), "is the scores"),
        (("patterns", "--out", "notes.json"), "another kind of file"),
        (("patterns", "--out", here), "a folder"),
        (("drift", "--out", "scores.jsonl"), "is the scores"),
        (("drift", "--events", "drifts.jsonl", "--out", "drifts.jsonl"), "is the events"),
        (("thresholds", DEV, "--out", DEV), "is the responses"),
        (("patterns", "--scores", "nowhere.jsonl"), "nowhere.jsonl"),
        (("patterns", "--scores", "incidents.jsonl"), "incidents.jsonl"),
        (("patterns", "--incidents", "nowhere.jsonl"), "nowhere.jsonl"),
        (("patterns", "--rate", "1.5"), "rate"),
        (("drift", "--threshold", "0"), "threshold"),
        (("drift", "--events", "scores.jsonl"), "scores.jsonl"),
        (("ablation", "nowhere", "nowhere"), "nowhere"),
    ):
        adequacy(*arguments).refused(said)
    assert {path: path.read_bytes() for path in here.iterdir() if path.is_file()} == before


def test_events_of_other_scores_are_refused(here):
    lines = (here / "scores.jsonl").read_text().splitlines()
    (here / "other.jsonl").write_text("".join(f"{line}\n" for line in lines[:100]))
    adequacy("drift", "--scores", "other.jsonl", "--events", "drifts.jsonl").refused(
        "an event of these scores"
    )
