"""``solvent proposals intents``: the long-term pattern of an agent, read back from the store."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from solvent.energy.costs import CostStore, Heartbeat
from solvent.lab.verbs import INTENTS
from solvent_experiments.figures.style import styled
from solvent_experiments.instruments.energy.intents import intents_figure
from tests.commands import call

START = datetime.datetime(2026, 10, 30, 20, tzinfo=datetime.UTC)


@pytest.fixture
def lived(store: CostStore, place: str, monkeypatch: pytest.MonkeyPatch) -> CostStore:
    """Two agents: one of sixty hourly heartbeats that thinks by day and reads at night, one that speaks once."""
    monkeypatch.setenv("SOLVENT_STORE", place)
    for episode, beats in (("ada", 60), ("grace", 1)):
        for number in range(1, beats + 1):
            opened = START + datetime.timedelta(hours=number - 1)
            intent = (
                "social" if episode == "grace" else "cognition" if 8 <= opened.hour < 20 else "exploration"
            )
            beat: dict[str, Any] = {"opened_at": opened, "closed_at": opened + datetime.timedelta(hours=1)}
            row = Heartbeat(episode=episode, number=number, energy_start=10.0, regenerated=2.5, **beat)
            store.log_heartbeat(row, {intent: 2.5})
    return store


def shown(*arguments: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(call("proposals", "intents", "--json", *arguments).succeeded())
    return told


def test_what_is_shown_is_what_was_spent(lived: CostStore) -> None:
    for by in ("hour", "day"):
        for episode, energy in (("ada", 150.0), ("grace", 2.5)):
            periods = shown("--by", by, "--episode", episode)
            assert sum(sum(period["spent"].values()) for period in periods) == energy
            assert sum(period["heartbeats"] for period in periods) == energy / 2.5
    hours = shown("--by", "hour")
    assert [period["label"] for period in hours] == [f"{hour:02d}" for hour in range(24)]
    assert hours[12] == {"label": "12", "heartbeats": 2, "spent": {"cognition": 5.0}}
    assert hours[20] == {"label": "20", "heartbeats": 4, "spent": {"exploration": 7.5, "social": 2.5}}
    assert [(day["label"], day["heartbeats"]) for day in shown()] == [
        ("2026-10-30", 5),
        ("2026-10-31", 24),
        ("2026-11-01", 24),
        ("2026-11-02", 8),
    ]
    tokyo = shown("--zone", "Asia/Tokyo")
    assert [(day["label"], day["heartbeats"]) for day in tokyo][:2] == [
        ("2026-10-31", 20),
        ("2026-11-01", 24),
    ]


def test_the_table_and_the_figure(lived: CostStore, tmp_path: Path) -> None:
    for by, label in (("hour", "hour of the day (UTC)"), ("day", "day (UTC), 2026-10-30 to 2026-11-02")):
        for kind, head in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
            path = tmp_path / f"{by}.{kind}"
            said = call("proposals", "intents", "--by", by, "--figure", path, width=120).succeeded()
            assert path.read_bytes().startswith(head)
            assert f"figure: {path}" in said
            assert "nothing was spent on: maintenance, meta" in said
        with styled():
            figure = intents_figure(lived.intents(by), by, "UTC")
        (axes,) = figure.axes
        periods = lived.intents(by)
        drawn = [bar.get_height() for bar in axes.patches]
        assert drawn == [period.spent.get(intent, 0.0) for intent in INTENTS for period in periods]
        assert axes.get_xlabel() == label
    middle = axes.patches[1].get_x() + axes.patches[1].get_width() / 2
    assert datetime.date.fromordinal(round(middle)) == datetime.date(2026, 10, 31)
    row = next(line for line in said.splitlines() if "2026-10-31" in line)
    assert row.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split()[-7:] == [
        "24",
        "30",
        "30",
        "0",
        "0",
        "0",
        "60",
    ]


def test_wrong_input_is_one_line_and_nothing_is_drawn(lived: CostStore, tmp_path: Path) -> None:
    for arguments, said in (
        (("--by", "week"), "period: got 'week'; allowed: hour, day"),
        (("--zone", "Mars/Olympus"), "allowed: a time zone such as UTC"),
        (("--zone", "../../etc/passwd"), "allowed: a time zone"),
        (("--figure", tmp_path / "intents.txt"), "allowed: a file that ends in .png, .pdf, .svg"),
        (("--figure", tmp_path), "allowed: a file that ends in"),
        (("--store", tmp_path / "none.db"), "no such store"),
    ):
        call("proposals", "intents", *arguments).refused(said)
    assert [
        path.suffix for path in tmp_path.iterdir() if path.suffix not in (".db", ".db-wal", ".db-shm")
    ] == []


def test_a_store_without_heartbeats_says_so(
    store: CostStore, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOLVENT_STORE", place)
    said = call("proposals", "intents", "--figure", tmp_path / "intents.png").succeeded()
    assert "no heartbeat is logged yet" in said
    assert not (tmp_path / "intents.png").exists()
