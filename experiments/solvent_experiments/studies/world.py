"""World: the properties that the rules were made for, measured with scripts under today's rules and version 1's.

Every number compares two plays of the same labs. Episodes have the seeds from 0 on, which also served to choose the
scripts' constants, and not those of evaluations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from solvent.lab.params import VERSION_1
from solvent_experiments.figures.style import DASHED, GREY, PALETTE, new_figure
from solvent_experiments.measure.statistics import Interval, mean_interval
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.records import LEFT
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "What the world is like"
CLAIM = (
    "On every level no degenerate script earns more than half of what the honest script earns, and chance loses at "
    "most 5 bits; ignoring a mechanism costs at least a bit, and switching one off changes what the honest script "
    "earns; blocked, calibrating at once beats waiting for the next lot."
)
REFUTED_BY = "One of these differences under today's rules whose interval lies wholly on the other side of 0."
SWEEP: tuple[Arm, ...] = ()

EPISODES = 512
MATTERS = 0.25  # bits
NEVER = 1e9
"""A threshold in bits that nothing reaches."""

Changes = Mapping[str, Mapping[str, Any]]


class Rules(NamedTuple):
    """A level under one version of its rules."""

    level: str
    version: str


TODAY, THEN = "today", "version 1"
VERSIONS: Mapping[str, tuple[Changes, Mapping[str, Any]]] = {
    TODAY: ({}, {}),
    THEN: (VERSION_1, {"repay_worth": 0.34, "energy_margin": -1.0}),
}
"""Changes of the rules, and the honest script's constants that were tuned under them."""
LEVELS = ("Debt", "Energy", "Gate", "Lab")
UNTUNED = ("random", "hermit", "calibrator", "end_game_liar", "planner")
"""Scripts without the honest script's constants."""

DEGENERATE = (
    *("random", "hermit", "zero_claimer", "max_claimer", "calibrator", "surfer", "surfer_1.0", "surfer_0.5"),
    *("spammer", "definitive", "end_game_liar", "never_calibrates", "calibrates_when_blocked"),
)
ATTACKERS = ("sandbagger", "ratcheter", "target_switcher", "launderer")
"""Scripts that fabricate discomfort. They are honest otherwise, so half of the honest return is no bound for them."""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism: the scripts that ignore it, and the changes that switch it off.

    ``group`` has a setting ``enabled`` where the mechanism is missing on some levels. The honest script plays without
    the mechanism with ``settings``.
    """

    says: str
    group: str
    ignored_by: tuple[str, ...]
    off: Changes
    settings: Mapping[str, Any] = field(default_factory=dict)


NO_VOICE: Changes = {"proposals": {"enabled": False}}
MECHANISMS = (
    Mechanism(
        "debt",
        "debt",
        ("max_claimer",),
        {"debt": {"enforced": False, "uncalibrated_licence": 1.0}},
        {"repay_worth": NEVER},
    ),
    Mechanism("licence", "debt", ("zero_claimer",), {"debt": {"licence": "gained"}}),
    Mechanism("lots and calibrations", "debt", ("never_calibrates",), {"assay": {"lot_heartbeats": 42}}),
    Mechanism("energy", "energy", ("value_per_cost",), {"energy": {"enabled": False}, **NO_VOICE}),
    Mechanism("voice", "proposals", (), NO_VOICE),
    Mechanism("gate", "gate", ("premature", "overreacher"), {"gate": {"enforced": False}}),
    Mechanism("adequacy", "adequacy", ("definitive",), {"adequacy": {"enforced": False}}),
)
WRONG_PRICES: Mapping[str, Changes] = {
    "prices wrong": {"proposals": {"mispriced_least": 1}},
    "prices too high": {"proposals": {"mispriced_least": 1, "mispriced_upwards": 1.0}},
}


@dataclass(frozen=True)
class Row:
    """A play against ``times`` the return of another one; ``finding`` adds ``bound`` bits to the difference.

    ``expected`` is the sign of that sum, or None for either. With ``left``, only its rows of a record count.
    """

    about: str
    says: str
    play: Play
    other: Play | None = None
    times: float = 1.0
    bound: float = 0.0
    expected: int | None = 0
    left: int | None = None


def lab(
    rules: Rules, script: str = "honest", says: str = "", changes: Changes | None = None, **settings: Any
) -> Play:
    """Return the play of a script on a level, with named differences."""
    by_version, manner = VERSIONS[rules.version]
    named = changes or {}
    params = {group: {**by_version.get(group, {}), **named.get(group, {})} for group in (*by_version, *named)}
    name = "_".join([rules.level.lower(), *rules.version.split(), script, *says.split()])
    chosen = settings if script in UNTUNED else {**manner, **settings}
    return Play(name, params, f"Solvent/{rules.level}-v0", script, chosen, episodes=EPISODES, first_seed=0)


def degenerates(rules: Rules) -> Iterator[Row]:
    """Yield the honest script, and each degenerate one against half of it."""
    honest = lab(rules)
    half, energy = "less half of honest", honest.lab.energy.enabled
    yield Row("return", "honest", honest)
    for script in (*DEGENERATE, *(("hoarder",) if energy else ())):
        yield Row(half, script, lab(rules, script), honest, 0.5, expected=-1)
    for script in ("waits_for_the_lot", *(ATTACKERS if energy else ())):
        yield Row(half, script, lab(rules, script), honest, 0.5)
    yield Row("return", "random", lab(rules, "random"), bound=5.0, expected=1)


def mechanisms(rules: Rules) -> Iterator[Row]:
    """Yield the scripts that ignore a mechanism, and the honest one without it."""
    honest = lab(rules)
    there = [
        mechanism
        for mechanism in MECHANISMS
        if getattr(getattr(honest.lab, mechanism.group), "enabled", True)
    ]
    for mechanism in there:
        about = f"ignoring {mechanism.says}"
        for script in mechanism.ignored_by:
            yield Row(about, script, lab(rules, script), honest, bound=1.0, expected=-1)
        for says, prices in WRONG_PRICES.items() if mechanism.group == "proposals" else ():
            silent = lab(rules, "honest", f"{says} silent", prices, speaks=False)
            heard = lab(rules, "honest", says, prices)
            yield Row(about, f"honest in silence, {says}", silent, heard, bound=1.0, expected=-1)
    for mechanism in there:
        without = lab(rules, "honest", f"no {mechanism.says}", mechanism.off, **mechanism.settings)
        yield Row(f"without {mechanism.says}", "honest", without, honest, expected=None)


def blocked(rules: Rules) -> Iterator[Row]:
    """Yield calibrating at once against waiting for the next lot, of labs that debt was put into."""
    settings: dict[str, Any] = {"worlds": 0}
    for script, says, chosen in (("honest", "honest", {}), ("planner", "base policy", settings)):
        now, later = (
            replace(lab(rules, script, record, **chosen), record=record) for record in ("indebted", "waiting")
        )
        for left in LEFT:
            about, whose = "calibrating now less waiting", f"{says}, {left} heartbeats left"
            yield Row(about, whose, now, later, expected=1, left=left)


ROWS = {
    (level, version): (*degenerates(rules), *mechanisms(rules), *blocked(rules))
    for version in VERSIONS
    for level in LEVELS
    for rules in [Rules(level, version)]
}
PLAYS = tuple(
    {
        play.name: play
        for rows in ROWS.values()
        for row in rows
        for play in (row.play, row.other)
        if play is not None
    }.values()
)


def score(data: StudyData) -> Score:
    """Return the properties under today's rules, and a table of every level."""
    findings, tables = [], {}
    for level in LEVELS:
        table = []
        for now, then in zip(ROWS[level, TODAY], ROWS[level, THEN], strict=True):
            if not data.has(now.play, now.other or now.play):
                continue
            cells = {"property": now.about, "what": now.says}
            table.append(cells | _told(data, now, TODAY) | _told(data, then, THEN))
            if now.other is not None or now.bound:
                findings.append(_finding(data, level, now))
        if table:
            tables[level] = table
    return Score(tuple(findings), tables, NOTES)


def _finding(data: StudyData, level: str, row: Row) -> Finding:
    found = _difference(data, row, row.bound)
    expected = row.expected
    if expected is None:
        expected = 1 if found.value >= 0.0 else -1
    plus = f", plus {row.bound:g}" if row.bound else ""
    return Finding(f"{level}: {row.says}, {row.about}{plus}", found, "bits", expected, MATTERS)


def _returns(data: StudyData, row: Row, play: Play) -> Any:
    columns = data.plays[play.name]
    return columns["return"] if row.left is None else columns["return"][columns["left"] == row.left]


def _difference(data: StudyData, row: Row, bound: float = 0.0) -> Interval:
    own = _returns(data, row, row.play) + bound
    return mean_interval([own if row.other is None else own - row.times * _returns(data, row, row.other)])


def _told(data: StudyData, row: Row, version: str) -> dict[str, str]:
    """Return a row's cells of one version: the return, its share of the other's, and the difference."""
    returned, share, difference = "-", "-", "-"
    if data.has(row.play, row.other or row.play):
        returned = shown(mean_interval([_returns(data, row, row.play)]))
        if row.other is not None:
            difference = shown(_difference(data, row))
            share = "-" if row.left else f"{100.0 * _share(data, row):.0f} %"
    cells = {"return": returned, "share": share, "difference": difference}
    return {f"{version}: {name}": cell for name, cell in cells.items()}


NOTES = (
    "Shares are of the honest script's return; differences to half of it, to all of it (mechanisms), or to waiting.",
    "The honest script is hardly ever blocked by itself, so that waits_for_the_lot plays as it does.",
    "Under version 1 the scripts have the constants that were tuned there: repay_worth 0.34, energy_margin -1.",
    "The honest script knows which mechanism is missing: differences are those of one policy, not of the best.",
    "Blocked labs owe half a bit more than the threshold from a heartbeat of the second lot on.",
)


def figure(data: StudyData) -> Figure:
    """Draw the share of the honest script's return that each degenerate script earns, a panel for each level."""
    drawn = new_figure(7.0)
    names = [row.says for row in degenerates(Rules("Lab", TODAY)) if row.times == 0.5]
    panels = drawn.subplots(2, 2, sharex=True, sharey=True)
    for axes, level in zip(panels.flat, LEVELS, strict=True):
        axes.axvline(0.5, color=GREY, lw=0.8, ls=DASHED)
        for version, filled in ((THEN, False), (TODAY, True)):
            shares = {
                names.index(row.says): _share(data, row)
                for row in ROWS[level, version]
                if row.times == 0.5 and row.other is not None and data.has(row.play, row.other)
            }
            style = {"color": PALETTE[0], "mfc": PALETTE[0] if filled else "white", "label": version}
            axes.plot(list(shares.values()), list(shares), "o", ms=3.5, mew=0.8, **style)
        axes.set_title(level, loc="left", pad=2)
    panels[0, 0].set_yticks(range(len(names)), names)
    panels[0, 0].invert_yaxis()
    panels[0, 0].set_xticks([0.0, 1.0], ["0", "100 %"])
    drawn.supxlabel("share of the honest script's return (dashed: half)", fontsize=8)
    drawn.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return drawn


def _share(data: StudyData, row: Row) -> float:
    assert row.other is not None
    return float(_returns(data, row, row.play).mean() / _returns(data, row, row.other).mean())
