"""``solvent adequacy thresholds | patterns | drift``: tables, JSON, figures, people's decisions."""

from __future__ import annotations

import json
import math
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread

from solvent.adequacy.agreement import Estimate
from solvent.adequacy.decisions import read_triggers, retired
from solvent.adequacy.drift import DriftMonitor, DriftRules, append_drifts
from solvent.adequacy.fmea import Incident, append_incidents, incident_examples, severity_named
from solvent.adequacy.heuristic import score
from solvent.adequacy.labelled import DEV
from solvent.adequacy.responses import labelled_examples, read_responses
from solvent.adequacy.scores import Ratings, append_scores, read_scores, record_of
from solvent.adequacy.tools import ToolCall, ToolContext
from solvent_experiments.cli import app as cli
from solvent_experiments.figures.style import DPI, WIDTH
from solvent_experiments.instruments.adequacy.tables import estimate
from tests.adequacy.judge_server import grades, running

GREP = ToolCall("Grep", {"pattern": "x", "path": "src/a"}, "")
READ = ToolCall("Read", {"path": "a.py"}, "def foo(): pass")
STRONG = "only Grep, then a strong negative"


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)


def call(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    """Exit code of the command line."""
    monkeypatch.setattr(sys, "argv", ["solvent", "adequacy", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return 0 if left.value.code is None else int(left.value.code)  # type: ignore[arg-type]


def discovery(path: str) -> dict[str, Any]:
    """What `thresholds --out` wrote."""
    document = json.loads(Path(path).read_text())
    assert document["format"] == "solvent.adequacy.thresholds.v2"
    found: dict[str, Any] = document["discovery"]
    return found


def assert_figure(stem: Path) -> None:
    """A column wide, with ink to its middle and none on its edges, where it would be cut off."""
    image = imread(stem.with_suffix(".png"))[:, :, :3]
    assert image.shape[1] == round(WIDTH * DPI)
    ink = image.min(axis=2) < 0.95
    assert ink.mean() > 0.005
    assert not ink[:, :2].any()
    assert not ink[:, -2:].any()
    assert not ink[:2].any()
    assert not ink[-2:].any()
    assert stem.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
def here(live: Path, tmp_path: Path) -> Path:
    for path in live.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


# ----------------------------------------------------------------------------------------------- thresholds


def test_thresholds_are_learnt_from_labels_and_the_raters_are_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with running(grades(1, 0)) as server:
        judge = ("--judge-url", server.url, "--judge-model", "small", "-q", "--show", "0")
        assert call(monkeypatch, "score", DEV, *judge) == 0
    capsys.readouterr()
    assert call(monkeypatch, "thresholds", DEV, "--out", "t.json") == 0
    shown = capsys.readouterr().out
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
    assert_figure(tmp_path / "t")
    before = Path("t.json").read_bytes(), Path("t.png").read_bytes()
    assert call(monkeypatch, "thresholds", DEV, "--out", "t.json") == 0
    assert (Path("t.json").read_bytes(), Path("t.png").read_bytes()) == before


def test_labels_in_the_scores_go_before_those_in_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in DEV.read_text(encoding="utf-8").splitlines()]
    bare = tmp_path / "bare.jsonl"
    kept = ("id", "query", "response", "tool_calls")
    bare.write_text("".join(json.dumps({key: line[key] for key in kept}) + "\n" for line in lines))
    assert call(monkeypatch, "thresholds", bare) == 2
    assert "labels: got 0 labelled responses; allowed: 50 or more" in capsys.readouterr().err
    assert call(monkeypatch, "score", DEV, "-q", "--show", "0") == 0
    assert call(monkeypatch, "thresholds", bare, "--out", "a.json") == 0
    assert call(monkeypatch, "thresholds", DEV, "--scores", "none.jsonl", "--out", "b.json") == 0
    assert "no scores in none.jsonl" in capsys.readouterr().out
    a, b = discovery("a.json"), discovery("b.json")
    assert a["labels_sha256"] == b["labels_sha256"]
    assert a == b


def test_incidents_are_examples_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    few = here / "few.jsonl"
    lines = DEV.read_text(encoding="utf-8").splitlines()
    few.write_text("".join(f"{line}\n" for line in lines[:45]))
    for more in ((), ("--incidents", "incidents.jsonl")):
        assert call(monkeypatch, "thresholds", few, *more) == 2
        assert "got 45 labelled responses" in capsys.readouterr().err
    few.write_text("".join(f"{line}\n" for line in lines[:60]))
    known = ("thresholds", few, "--incidents", "incidents.jsonl")
    assert call(monkeypatch, *known, "--out", "t.json") == 0
    found = discovery("t.json")
    count = len((here / "incidents.jsonl").read_text().splitlines())
    assert found["incidents"] == count
    assert found["overall"]["count"] == 60
    assert f"and {count:,} incidents, reported on {found['reported_on']:,} others" in capsys.readouterr().out


def test_of_an_incident_what_is_not_known_stays_unknown(tmp_path: Path) -> None:
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


def test_raters_are_compared_without_people_s_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = ("id", "query", "response", "tool_calls")
    lines = [json.loads(line) for line in DEV.read_text(encoding="utf-8").splitlines()[:30]]
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(json.dumps({key: line[key] for key in kept}) + "\n" for line in lines))
    with running(grades(1, 0)) as server:
        judge = ("--judge-url", server.url, "--judge-model", "small", "-q", "--show", "0")
        assert call(monkeypatch, "score", bare, *judge) == 0
    capsys.readouterr()
    assert call(monkeypatch, "thresholds", bare, "--out", "t.json") == 2
    shown = capsys.readouterr()
    assert re.search(r"heuristic, judge +30 ", shown.out)
    assert re.search(r"heuristic, human +0 +too few", shown.out)
    assert "got 0 labelled responses" in shown.err
    assert len(shown.err.splitlines()) == 1
    raters = json.loads(Path("t.raters.json").read_text())
    assert [pair["count"] for pair in raters["pairs"]] == [30, 0, 0]
    assert not Path("t.json").exists()


def test_a_label_belongs_to_its_response_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, queries = tmp_path / "yes.jsonl", ["Is it there?", "Is it safe?"]
    lines = [{"response": "Yes.", "query": query, "tool_calls": []} for query in queries]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert call(monkeypatch, "score", path) == 0
    first, second = read_scores("scores.jsonl")
    assert first.id != second.id
    label = replace(first, epad=Ratings(human=0), sya=Ratings())
    append_scores("scores.jsonl", [label])
    examples = labelled_examples(read_responses(path).all, read_scores("scores.jsonl"))
    assert [(one.query, one.epad) for one in examples] == [("Is it there?", 0)]


def test_what_has_no_interval_says_so() -> None:
    assert estimate(Estimate(0.5, math.nan, math.nan)) == "0.50, no interval"
    assert estimate(Estimate(math.nan, math.nan, math.nan)) == "undefined"
    assert estimate(Estimate(0.5, 0.25, 0.75)) == "0.50 [0.25, 0.75]"


# ------------------------------------------------------------------------------------------------- patterns


def test_a_pattern_that_precedes_failures_is_a_candidate_and_a_person_makes_it_a_trigger(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    assert call(monkeypatch, "patterns", "--incidents", "incidents.jsonl", "--out", "p.json") == 0
    shown = capsys.readouterr().out
    assert re.search(rf"{STRONG} .*yes", shown)
    assert "patterns tried: 1 candidate\n" in shown
    assert not Path("triggers.jsonl").exists()
    told = json.loads(Path("p.json").read_text())
    assert told["findings"][0]["text"] == STRONG
    assert told["findings"][0]["lower_bound"] > 0.5
    assert_figure(here / "p")
    known = ("patterns", "--incidents", "incidents.jsonl")
    assert call(monkeypatch, *known, "--accept", STRONG) == 2
    assert call(monkeypatch, *known, "--accept", "Grep", "--by", "x", "--reason", "y") == 2
    assert call(monkeypatch, *known, "--accept", "nothing", "--by", "x", "--reason", "y") == 2
    assert not Path("triggers.jsonl").exists()
    assert call(monkeypatch, *known, "--accept", STRONG, "--by", "A person", "--reason", "seen often") == 0
    (trigger,) = read_triggers("triggers.jsonl")
    assert (str(trigger.pattern), trigger.accepted_by) == (STRONG, "A person")


def test_incidents_about_no_scored_response_are_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    lines = (here / "incidents.jsonl").read_text().splitlines()
    other = [json.loads(line) | {"query": "Is it safe?"} for line in lines[:7]]
    (here / "i.jsonl").write_text("".join(f"{x}\n" for x in (*map(json.dumps, other), *lines[7:])))
    assert call(monkeypatch, "patterns", "--incidents", "i.jsonl", "--out", "p.json") == 0
    told = capsys.readouterr().out
    assert f"{len(lines):,} incidents, 7 of them about no response that was scored" in told
    found = json.loads(Path("p.json").read_text())
    assert (found["incidents"], found["incidents_unmatched"]) == (len(lines), 7)
    assert sum(one["failures"] for one in found["findings"][:1]) == len(lines) - 7
    assert call(monkeypatch, "patterns", "--incidents", "incidents.jsonl") == 0
    assert "about no response" not in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------- drift


def test_drift_is_followed_and_what_helped_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    assert call(monkeypatch, "drift", "--out", "a.json", "--show", "2") == 0
    shown = capsys.readouterr().out
    assert "1,200 responses in 50 sessions, 50 of them of 6 or more" in shown
    assert "without agent" not in shown
    assert "verdict" not in shown
    told = json.loads(Path("a.json").read_text())
    assert told["events"]
    assert not any(event["given"] for event in told["events"])
    assert_figure(here / "a")
    assert call(monkeypatch, "drift", "--events", "drifts.jsonl", "--out", "b.json") == 0
    shown = capsys.readouterr().out
    (fitness,) = (one for one in json.loads(Path("b.json").read_text())["fitness"] if one["given"] >= 20)
    assert (fitness["verdict"], fitness["basis"]) == ("helps", "randomised")
    assert f"{fitness['correction']}  " in shown
    assert_figure(here / "b")


def test_a_correction_is_retired_by_a_person_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    assert call(monkeypatch, "drift", "--out", "a.json") == 0
    name = json.loads(Path("a.json").read_text())["events"][0]["correction"]
    assert call(monkeypatch, "drift", "--retire", name) == 2
    assert call(monkeypatch, "drift", "--retire", "nobody", "--by", "A person", "--reason", "x") == 2
    assert not Path("retired.jsonl").exists()
    assert call(monkeypatch, "drift", "--retire", name, "--by", "A person", "--reason", "no use") == 0
    assert retired("retired.jsonl") == {name}
    assert call(monkeypatch, "drift", "--out", "b.json") == 0
    after = {event["correction"] for event in json.loads(Path("b.json").read_text())["events"]}
    assert after
    assert name not in after


def test_without_agents_and_sessions_all_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(monkeypatch, "score", DEV, "-q", "--show", "0") == 0
    assert call(monkeypatch, "drift", "--out", "d.json", "--threshold", "2.6") == 0
    shown = capsys.readouterr().out
    assert "in 1 session," in shown
    count = len(DEV.read_text(encoding="utf-8").splitlines())
    assert f"{count} responses without agent and session: followed as one session" in shown
    assert_figure(tmp_path / "d")


# -------------------------------------------------------------------------------------------------- files


def test_nothing_is_written_over_that_is_something_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    (here / "notes.json").write_text("{}")
    (here / "fine.png").write_text("a picture of somebody's")
    before = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    for arguments, said in (
        (("patterns", "--out", "scores.jsonl"), "is the scores"),
        (("patterns", "--out", "notes.json"), "another kind of file"),
        (("patterns", "--out", "fine.json"), "fine.png exists"),
        (("patterns", "--out", "p.png"), "a JSON file"),
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
        assert call(monkeypatch, *arguments) == 2, arguments
        shown = capsys.readouterr().err
        assert said in shown, arguments
        assert len(shown.splitlines()) == 1, shown
    assert {path: path.read_bytes() for path in here.iterdir() if path.is_file()} == before


def test_events_of_other_scores_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    lines = (here / "scores.jsonl").read_text().splitlines()
    (here / "other.jsonl").write_text("".join(f"{line}\n" for line in lines[:100]))
    assert call(monkeypatch, "drift", "--scores", "other.jsonl", "--events", "drifts.jsonl") == 2
    assert "an event of these scores" in capsys.readouterr().err
