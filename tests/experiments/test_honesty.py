"""Figures and conversations of language models: three scripted ones of different honesty, and one that misbehaves."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solvent import preset
from solvent.inputs import strict_json
from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.verbs import Verb
from solvent_agents.language.conversation import converse
from solvent_agents.language.desk import Desk
from solvent_agents.language.transcript import line_of
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import read_parquet
from solvent_experiments.figures.after_refusal import REACTIONS, after_refusal, reactions
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.honesty import honesty_points
from solvent_experiments.figures.reliability import published, reliability, reliability_points
from solvent_experiments.report.conversations import conversation, model_tables, talking_units
from tests.experiments.talking import HOSTILE, LOUD, Misbehaving
from tests.runs import drawn, words


@pytest.fixture(scope="module")
def run(talking_run: RunFolder) -> RunData:
    return load_run(talking_run)


def test_the_headline_figure_separates_models_by_honesty(run: RunData) -> None:
    points = honesty_points(run)
    order = [points[name] for name in ("script-honest", "script-surfer", "script-max_claimer")]
    for (more_honest, _), (less_honest, _) in itertools.pairwise(order):
        assert more_honest.high < less_honest.low
    (_, best), *others = order
    assert all(best.low > other.high for _, other in others)
    mine = run.episodes["agent"] == "script-surfer"
    assert points["script-surfer"][0].value == pytest.approx(run.episodes["debt_added"][mine].mean())
    figure = drawn("honesty", run)
    (axes,) = figure.axes
    names = [text for text in axes.texts if text.get_text() in points]
    assert {text.get_text() for text in names} == set(points)
    boxes = [text.get_window_extent() for text in names]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert "language model" in words(figure)


def test_reliability_is_that_of_the_published_findings(run: RunData) -> None:
    findings = published(run)
    mine = findings["agent"] == "script-max_claimer"
    points = reliability_points(findings, "script-max_claimer")
    accepted = run.episodes["agent"] == "script-max_claimer"
    assert sum(count for count, _, _ in points.values()) == mine.sum()
    assert mine.sum() == run.episodes["accepted"][accepted].sum()
    right = sum(count * share.value for count, share, _ in points.values())
    assert mine.sum() - right == pytest.approx(run.episodes["wrong"][accepted].sum())
    # The honest script states what the posterior says, at least.
    for confidence, (_, _, belief) in reliability_points(findings, "script-honest").items():
        assert belief > confidence - 0.13
    older = {name: column for name, column in run.traces.items() if name not in ("belief", "right")}
    assert reliability(replace(run, traces=older)) is None


def test_what_follows_a_refusal(run: RunData) -> None:
    table = action_table(run.params)
    screens = np.flatnonzero(table["verb"] == int(Verb.SCREEN))
    rest = int(np.flatnonzero(table["verb"] == int(Verb.REST))[0])
    plate = int(np.flatnonzero(table["verb"] == int(Verb.DMSO))[0])
    first, second = map(int, screens[:2])
    # Two episodes; the refusal that ends the first has no successor.
    actions = [-1, first, plate, first, rest, first, first, -1, second, first, plate]
    refused = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0]
    rows = len(actions)
    traces = {
        "agent": np.full(rows, "script-honest", object),
        "training_seed": np.full(rows, -1),
        "heartbeat": np.array([*range(7), *range(4)]),
        "action": np.array(actions),
        "refusal": np.array(refused),
        "event": np.where(refused, int(Event.REFUSED), int(Event.RESTED)),
    }
    one = replace(run, traces=traces)
    found = reactions(one)
    assert np.argmax([found[name] for name in REACTIONS], axis=0).tolist() == [0, 1, 2, 3]
    assert "4\n" in words(drawn("after_refusal", one)) + "\n"
    assert after_refusal(replace(one, traces=traces | {"refusal": np.zeros(rows)})) is None


@pytest.mark.parametrize("silent_at", [30, None], ids=["no answer", "invalid calls"])
def test_each_action_has_what_was_said_on_the_way_to_it(silent_at: int | None) -> None:
    desk = Desk(preset("default"))
    episode = converse(desk, Misbehaving(desk, silent_at), 10_000)
    transcript = strict_json(line_of(episode, {}))
    taken = [call for call in episode.calls if call.action >= 0]
    talk = conversation(transcript, len(taken))
    assert talk["0"] == [["told", episode.messages[1]["content"]]]
    shown = [text for entries in talk.values() for _, text in entries]
    said = sum(
        len(message.get("tool_calls", ())) + bool(message["content"]) for message in episode.messages[1:]
    )
    assert len(shown) == said
    quiet = [k for k in range(1, len(taken) + 1) if str(k) not in talk]
    assert episode.stopped == ("invalid calls" if silent_at is None else "no answer")
    if quiet:  # the rests to the end, which nobody asked for
        assert quiet == list(range(quiet[0], len(taken) + 1))
    for k, call in enumerate(taken[: quiet[0] - 1 if quiet else None], 1):
        last = talk[str(k)][-1]
        if call.tool != "rest":
            assert last == ["answered", call.text]
    first = talk["1"]
    assert [kind for kind, _ in first[:2]] == ["said", "told"]
    assert "<script>" in first[0][1]
    assert "\\u202e" in first[0][1]
    assert max(map(len, shown)) >= len(LOUD)
    assert HOSTILE not in shown[1]
    with pytest.raises(ValueError, match="other actions"):
        conversation(transcript, len(taken) - 1)


def test_the_table_of_models(talking_run: RunFolder) -> None:
    (table,) = model_tables(talking_units(talking_run))
    rows = {row[0]: dict(zip(table.headings, row, strict=True)) for row in table.rows}
    episodes = read_parquet(Path(talking_run.root / "script-honest" / "episodes.parquet"))
    assert rows["script-honest"]["messages"] == f"{episodes['messages'].mean():,.1f}"
    assert rows["script-honest"]["ended"] == f"over ({len(episodes['messages'])})"
    assert rows["misbehaving"]["ended"].startswith("no answer")
    assert float(rows["misbehaving"]["invalid calls"]) >= 2
