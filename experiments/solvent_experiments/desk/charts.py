"""The desk's charts: energy by intent class, verdicts and thresholds over time, debt at each refusal.

Each is an image that the server draws and a table with the same numbers, for those who don't see the image.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from solvent.debt import read_refusals_jsonl
from solvent.energy.costs import CostStore
from solvent.gate.drift import Change, drift
from solvent.gate.errors import GateError
from solvent.gate.store import VerdictStore, Window
from solvent.lab.mechanisms.debt import RefusalEvent
from solvent_experiments.desk.pages import render
from solvent_experiments.figures.style import (
    CATEGORIES,
    DASHED,
    INK,
    MINT,
    REASONS,
    VERDICT_COLOURS,
    as_image,
    new_figure,
    styled,
)
from solvent_experiments.instruments.energy.intents import intents_figure, intents_table
from solvent_experiments.instruments.gate.tables import drift_table
from solvent_experiments.table import Table

__all__ = ["Charts"]

WINDOW = 100
"""Claims in a window, as in `solvent gate drift`."""
COLOURS = {
    "accept": VERDICT_COLOURS["accept"],
    "review": VERDICT_COLOURS["review"],
    "decline": MINT,
    "reject": VERDICT_COLOURS["reject"],
}


@dataclass(frozen=True)
class Chart:
    """A chart: its image and its numbers, or the reason why there is none."""

    title: str
    image: str
    table: Markup | None = None
    why: str = ""


Drawn = tuple[Table, Callable[[], Figure]]


class Charts:
    """The charts of what the desk has open."""

    def __init__(self, costs: CostStore | None, gates: Sequence[VerdictStore], refusals: Path | None) -> None:
        self._lock = threading.Lock()  # matplotlib's settings belong to the process
        self._drawn: dict[str, tuple[str, Callable[[], Drawn | str]]] = {}
        if costs is not None:
            for by, what in (("hour", "hour of the day"), ("day", "day")):
                self._drawn[f"intents-{by}"] = (f"Energy by intent and {what}", partial(_intents, costs, by))
        for number, store in enumerate(gates):
            self._drawn[f"verdicts-{number}"] = (f"Verdicts in {store.name}", partial(_verdicts, store))
            self._drawn[f"thresholds-{number}"] = (f"Thresholds in {store.name}", Thresholds(store).drawn)
        if refusals is not None:
            self._drawn["refusals"] = ("Debt at each refusal", partial(_refusals, refusals))

    def routes(self) -> list[Route]:
        return [Route("/charts", self.all), Route("/charts/{name}.png", self.image)]

    def all(self, request: Request) -> Response:
        charts = []
        for name, (title, load) in self._drawn.items():
            found = load()
            if isinstance(found, str):
                charts.append(Chart(title, "", why=found))
            else:
                charts.append(Chart(title, f"/charts/{name}.png", Markup(found[0].html())))
        return render(request, "charts.html.j2", title="Charts", charts=charts)

    def image(self, request: Request) -> Response:
        _, load = self._drawn.get(request.path_params["name"], ("", lambda: "There is no such chart."))
        found = load()
        if isinstance(found, str):
            raise HTTPException(404, found)
        with self._lock, styled():
            return Response(as_image(found[1](), "png"), media_type="image/png")


def _intents(store: CostStore, by: str) -> Drawn | str:
    periods = store.intents(by)
    if not periods:
        return "No heartbeat is logged yet; an EnergyMeter with this store logs them."
    return intents_table(periods, by, "UTC"), lambda: intents_figure(periods, by, "UTC")


def _verdicts(store: VerdictStore) -> Drawn | str:
    windows = store.windows(WINDOW)
    if not windows:
        return "No claim is judged yet; `solvent gate judge --store` keeps verdicts."
    cells = tuple(
        (f"{begin} to {end}", *(f"{counts[name]:,}" for name in COLOURS)) for begin, end, counts in windows
    )
    return Table(("claims judged", *COLOURS), cells), lambda: verdicts_figure(windows)


def verdicts_figure(windows: Sequence[Window]) -> Figure:
    """Return the shares of the outcomes in windows of consecutive claims."""
    figure = new_figure(2.4)
    axes = figure.subplots()
    sizes = np.array([sum(window.counts.values()) for window in windows])
    left = np.cumsum([0, *sizes])
    base = np.zeros(len(windows))
    for name, colour in COLOURS.items():
        shares = np.array([window.counts[name] for window in windows]) / sizes
        axes.bar(left[:-1], shares, sizes, bottom=base, align="edge", color=colour, lw=0, label=name)
        base += shares
    axes.set_xlim(0, left[-1])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(visible=False)
    axes.set_xlabel(f"claims in the order of their verdicts, {WINDOW} a bar")
    figure.legend(loc="outside upper center", ncols=4)
    return figure


class Thresholds:
    """The thresholds of a store over time, computed again when there are more verdicts; no verdict ever changes."""

    def __init__(self, store: VerdictStore) -> None:
        self._store, self._lock = store, threading.Lock()
        self._count = -1
        self._found: Drawn | str = ""

    def drawn(self) -> Drawn | str:
        with self._lock:
            count = sum(self._store.counts().values())
            if count != self._count:
                self._found = _thresholds(self._store)
                self._count = count
            return self._found


def _thresholds(store: VerdictStore) -> Drawn | str:
    try:
        changes = drift(store.verdicts(), size=WINDOW)
    except GateError as error:
        return str(error)
    return drift_table(changes), lambda: thresholds_figure(changes)


def thresholds_figure(changes: Sequence[Change]) -> Figure:
    """Return the thresholds that each window would learn, beside those of the first window."""
    figure = new_figure(2.4)
    axes = figure.subplots()
    percentiles = sorted({change.percentile for change in changes})
    for i, percentile in enumerate(percentiles):
        mine = [change for change in changes if change.percentile == percentile]
        colour = CATEGORIES[i % len(CATEGORIES)]
        places = np.arange(2, len(mine) + 2)
        axes.plot(
            places, [one.threshold for one in mine], color=colour, marker="o", ms=3, label=f"P{percentile:g}"
        )
        axes.axhline(mine[0].reference, color=colour, ls=DASHED, lw=0.8)
        axes.set_xlim(1.5, len(mine) + 1.5)
        drifted = [(x, one.threshold) for x, one in zip(places, mine, strict=True) if one.drifted]
        if drifted:
            axes.plot(*zip(*drifted, strict=True), ls="", marker="x", ms=7, color=INK)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel(f"window of {WINDOW} claims\ndashed: the first window, crossed: drifted")
    axes.set_ylabel("threshold (energy gap)")
    # In one row, because more rows would be filled column by column.
    figure.legend(loc="outside upper center", ncols=len(percentiles))
    return figure


def _refusals(path: Path) -> Drawn | str:
    events = read_refusals_jsonl(path) if path.exists() else []
    if not events:
        return f"No refusal is logged in {path}."
    cells = tuple(
        (
            *(one.timestamp, str(one.cycle), one.refusal_reason, one.proposed_template),
            *(f"{one.debt_bits:.2f}", f"{one.base_cost_wells:g}", f"{one.inflated_cost_wells:.2f}"),
        )
        for one in events
    )
    headings = ("time", "cycle", "reason", "refused", "debt, bits", "base cost", "inflated cost")
    return Table(headings, cells), lambda: refusals_figure(events)


def refusals_figure(events: Sequence[RefusalEvent]) -> Figure:
    """Return the debt at each refusal by its reason, with the threshold."""
    figure = new_figure(2.4)
    axes = figure.subplots()
    places = np.arange(1, len(events) + 1)
    axes.plot(places, [one.debt_threshold for one in events], color=INK, ls=DASHED, lw=0.8)
    for reason, (name, colour) in REASONS.items():
        mine = [
            (x, one.debt_bits) for x, one in zip(places, events, strict=True) if one.refusal_reason == reason
        ]
        if mine:
            axes.plot(*zip(*mine, strict=True), ls="", marker="o", ms=3.5, color=colour, label=name)
    highest = max(max(one.debt_bits, one.debt_threshold) for one in events)
    axes.set_ylim(0, 1.1 * highest or 1.0)  # debts close to each other leave no margin above 0
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel("refusals in the order of the log")
    axes.set_ylabel("debt, bits")
    handles, _ = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color=INK, ls=DASHED, lw=0.8, label="threshold"))
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure
