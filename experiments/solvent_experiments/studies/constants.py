"""Constants: the measurements that chose numbers of the world and of the honest script.

They make up the tables of ``docs/decisions``. All comparisons pair plays by episode. Episodes have the seeds from 0 on,
which also served to choose the scripts' constants, and not those of evaluations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent import LabParams
from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.style import new_figure
from solvent_experiments.measure.statistics import Interval, mean_interval
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.drawing import points
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score
from solvent_experiments.studies.world import ATTACKERS, EPISODES, MATTERS, NEVER

TITLE = "The choice of constants"
CLAIM = (
    "A calibration pays for its heartbeat where debt has no consequence; the best claim is neither nothing nor the "
    "most; a voice is worth 5 % to the honest script where prices are wrong, and nothing to a fabricator where none is."
)
REFUTED_BY = "One of these paired differences whose interval lies wholly on the other side of 0."
SWEEP: tuple[Arm, ...] = ()

QUANTILES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)

COLUMNS = {
    "calibrations": "calibrations",
    "plates": "experiments",
    "accepted": "accepted",
    "wrong": "wrong",
    "wells left": "wells",
    "energy spent": "energy_spent",
    "lost": "energy_lost",
    "proposed": "proposals",
    "approved": "approvals",
    "reviewed": "verdicts_review",
    "tightened": "tightenings",
    **{f"score {score}": f"adequacy_{score}" for score in range(4)},
}
"""Headings of means per episode and their columns, used where the level has the column."""


@dataclass(frozen=True)
class Row:
    """A script's play and its reference: ``times`` the return of another play."""

    says: str
    play: Play
    against: Play | None = None
    times: float = 1.0
    expected: int = 0


def lab(
    level: str,
    says: str = "",
    params: Mapping[str, Any] | None = None,
    script: str = "honest",
    **settings: Any,
) -> Play:
    """Return the play of a script on a level, with named differences."""
    name = "_".join([level.lower(), script, *says.replace(",", "").split()])
    return Play(name, params or {}, f"Solvent/{level}-v0", script, settings, episodes=EPISODES, first_seed=0)


def calibrations() -> Iterator[Row]:
    """Yield the honest script with calibrations and without, where debt has no consequence and where it has one."""
    free = {"debt": {"enforced": False, "uncalibrated_licence": 1.0}}
    one_readout = {**free, "plates": {"dmso": {"readouts": 1, "replicates": 8}}}
    none = lab("Debt", "free none", free, "never_calibrates")
    yield Row("no consequence: none", none)
    four = lab("Debt", "free 4 x 2", free, repay_worth=NEVER, learn_worth=1.2)
    yield Row("no consequence: 4 readouts of 2", four, none, 1.0, 1)
    one = lab("Debt", "free 1 x 8", one_readout, repay_worth=NEVER, learn_worth=0.7)
    yield Row("no consequence: 1 readout of 8", one, none)
    yield Row("enforced: none", lab("Debt", script="never_calibrates"), lab("Debt"))


def claims() -> Iterator[Row]:
    """Yield the quantiles of the gain that are claimed, and the median against the extremes."""
    plays = {q: lab("Debt", f"quantile {q:g}", claim_quantile=q) for q in QUANTILES}
    for quantile, play in plays.items():
        yield Row(f"quantile {quantile:g}", play)
    for quantile in (0.05, 0.95):
        yield Row(f"quantile 0.5, against {quantile:g}", plays[0.5], plays[quantile], 1.0, 1)


def energy() -> Iterator[Row]:
    """Yield the honest script by the energy that a heartbeat brings, where no price is wrong."""
    fair = {"proposals": {"mispriced_most": 0}}
    plenty = {**fair, "energy": {"start": 1000.0, "regeneration": 1000.0, "cap": 1000.0}}
    usual = lab("Energy", "fair", fair)
    yield Row("3.6 a heartbeat", usual)
    yield Row("energy is no matter", lab("Energy", "plenty", plenty, energy_price=0.0), usual)
    for brought in (2.0, 3.0, 4.0, 5.0, 6.0, 10.0):
        play = lab("Energy", f"brings {brought:g}", {**fair, "energy": {"regeneration": brought}})
        yield Row(f"{brought:g} a heartbeat", play)


def voices() -> Iterator[Row]:
    """Yield the honest voice against its silence, and fabricated discomfort, with wrong prices and without."""
    fair = {"mispriced_most": 0}
    honest: dict[str, Mapping[str, Any]] = {
        "as it is": {},
        "always too dear": {"mispriced_least": 1, "mispriced_upwards": 1.0},
        "review after 12": {"review_heartbeats": 12},
        "half trusted at 2 uses": {"half_trusted": 2.0},
    }
    heard = [
        ("honest", says, changes, 1.05, 1 if says == "as it is" else 0) for says, changes in honest.items()
    ]
    heard += [(script, "fair prices", fair, 1.0, -1) for script in ATTACKERS]
    heard += [(script, "as it is", {}, 1.0, 0) for script in ATTACKERS]
    for script, says, changes, times, expected in heard:
        params = {"proposals": changes} if changes else {}
        silent = lab("Energy", f"{says} silent", params, script, speaks=False)
        yield Row(f"{script}, {says}: silent", silent)
        speaks = lab("Energy", f"{says} speaks", params, script)
        yield Row(f"{script}, {says}: speaks", speaks, silent, times, expected)


def gates() -> Iterator[Row]:
    """Yield four scripts with the gate and without it, and the honest one under each policy."""
    for script in ("honest", "premature", "overreacher", "padder"):
        yield Row(script, usual := lab("Gate", script=script))
        without = lab("Gate", "no gate", {"gate": {"enabled": False}}, script)
        yield Row(f"{script} without gate", without, usual)
    for policy in GATE_POLICIES:
        yield Row(f"honest under {policy}", lab("Gate", policy, {"gate": {"policy": policy}}))


def words() -> Iterator[Row]:
    """Yield scripts with adequate words and with others, where adequacy is enforced and only tracked."""
    for script in ("honest", "hedger", "definitive", "premature"):
        yield Row(script, enforced := lab("Lab", script=script))
        tracked = lab("Lab", "no adequacy", {"adequacy": {"enforced": False}}, script)
        yield Row(f"{script}, only tracked", tracked, enforced)


TABLES: Mapping[str, tuple[Row, ...]] = {
    "Debt: calibrations": tuple(calibrations()),
    "Debt: the quantile that is claimed": tuple(claims()),
    "Energy: what a heartbeat brings": tuple(energy()),
    "Energy: the voice": tuple(voices()),
    "Gate: with and without, and its policies": tuple(gates()),
    "Lab: adequacy enforced, and only tracked": tuple(words()),
}

DOSES = LabParams().plates.dose_response.doses
SCREENS = {
    pair: Play(
        f"doses_{pair[0]:.2g}_{pair[1]:.2g}",
        {"plates": {"screen": {"doses": list(pair)}}},
        script="plates",
        settings={"verbs": ["screen"] * 5},
        record="plates",
        episodes=4096,
        first_seed=0,
    )
    for pair in itertools.combinations(DOSES, 2)
}
PADDING = {
    says: Play(
        f"padding_{verbs[-1]}",
        {"budget": {"wells": 10_000}},
        "Solvent/Gate-v0",
        "plates",
        {"verbs": verbs},
        record="plates",
        episodes=EPISODES,
        first_seed=0,
    )
    for says, verbs in {
        "screens": ["screen"] * 6,
        "a screen, then dose responses": ["screen"] + ["dose_response"] * 3,
    }.items()
}
_ROWS = [row for rows in TABLES.values() for row in rows]
PLAYS = tuple(
    {
        play.name: play for play in (*(row.play for row in _ROWS), *PADDING.values(), *SCREENS.values())
    }.values()
)


def score(data: StudyData) -> Score:
    """Return the differences that were expected, and every table."""
    findings, tables = [], {}
    for title, rows in TABLES.items():
        there = [row for row in rows if data.has(row.play, row.against or row.play)]
        level = title.partition(":")[0]
        if there:
            tables[title] = [_row(data, row) for row in there]
        findings += [
            Finding(f"{level}: {_compared(row)}", _difference(data, row), "bits", row.expected, MATTERS)
            for row in there
            if row.against is not None
        ]
    tables["Bits after so many screens of one compound, by doses"] = _doses(data)
    tables["Findings on a compound after so many plates"] = _padding(data)
    return Score(tuple(findings), tables, NOTES)


def _compared(row: Row) -> str:
    assert row.against is not None
    share = "" if row.times == 1.0 else f"{row.times:g} x "
    return f"{row.says} less {share}{row.against.name.partition('_')[2].replace('_', ' ')}"


def _difference(data: StudyData, row: Row) -> Interval:
    assert row.against is not None
    own, other = (data.plays[play.name]["return"] for play in (row.play, row.against))
    return mean_interval([own - row.times * other])


def _row(data: StudyData, row: Row) -> dict[str, str]:
    columns = data.plays[row.play.name]
    named = {name: column for name, column in COLUMNS.items() if column in _level_columns(data, row)}
    told = {"": row.says, "return": shown(mean_interval([columns["return"]]))}
    told |= {
        name: f"{columns[column].mean():.2f}" if column in columns else "-" for name, column in named.items()
    }
    return told | {"difference": shown(_difference(data, row)) if row.against else "-"}


def _level_columns(data: StudyData, row: Row) -> set[str]:
    """Return the columns that any play of the row's level has: a lab without a gate lacks those of the gate."""
    names = {other.play.name for other in _ROWS if other.play.env == row.play.env}
    return {column for name in names & set(data.plays) for column in data.plays[name]}


def _doses(data: StudyData) -> list[dict[str, str]]:
    """Return the ten pairs of doses that teach most in five screens."""
    learnt = {}
    for pair, play in SCREENS.items():
        if data.has(play):
            bits, plate = (data.plays[play.name][name] for name in ("bits", "plate"))
            learnt[pair] = [float(bits[plate == k].mean()) for k in np.unique(plate)]
    best = sorted(learnt, key=lambda pair: learnt[pair][-1], reverse=True)[:10]
    return [
        {"doses (mol/L)": f"{low:.2g}, {high:.2g}"}
        | {str(k): f"{bits:.2f}" for k, bits in enumerate(learnt[low, high], 1)}
        for low, high in best
    ]


def _padding(data: StudyData) -> list[dict[str, str]]:
    """Return energy and acceptance by plates, and their changes where the last plate left the fit as it was."""
    rows = []
    for says, play in PADDING.items():
        if data.has(play):
            columns = data.plays[play.name]
            after = [
                {name: column[columns["plate"] == k] for name, column in columns.items()}
                for k in np.unique(columns["plate"])
            ]
            rows += [_plate(says, now, before) for before, now in itertools.pairwise([None, *after])]
    return rows


def _plate(says: str, now: Columns | None, before: Columns | None) -> dict[str, str]:
    assert now is not None
    told = {"plates": f"{says}: {now['plate'][0]}", "readouts": f"{now['readouts'].mean():.1f}"}
    for words in ("plain", "definitive"):
        told[f"energy, {words} (thousandths)"] = shown(mean_interval([now[f"energy_{words}"]]))
        told[f"accepted, {words}"] = f"{now[f'accepted_{words}'].mean():.3f}"
        change = accepted = "-"
        if before is not None:
            same = (now["fit_class"] == before["fit_class"]) & (now["fit_strength"] == before["fit_strength"])
            energies, verdicts = (
                (now[name].astype(float) - before[name])[same]
                for name in (f"energy_{words}", f"accepted_{words}")
            )
            if same.any():
                change, accepted = shown(mean_interval([energies])), f"{verdicts.mean():+.3f}"
        told[f"change of it, {words}"], told[f"of acceptance, {words}"] = change, accepted
    return told


NOTES = (
    "The honest script knows which mechanisms are missing, and in silence neither reflects nor proposes.",
    "A change of energy or acceptance counts the labs in which the last plate left the fit as it was.",
)


def figure(data: StudyData) -> Figure:
    """Draw the honest script's return by the quantile of the expected gain that it claims."""
    drawn = new_figure(2.4)
    axes = drawn.subplots()
    plays = {quantile: lab("Debt", f"quantile {quantile:g}") for quantile in QUANTILES}
    there = {quantile: data.plays[play.name]["return"] for quantile, play in plays.items() if data.has(play)}
    points(axes, list(there), [mean_interval([returns]) for returns in there.values()], ls="-")
    axes.set_xlabel("quantile of the gain that is claimed")
    axes.set_ylabel("return (bits)")
    axes.set_title("Debt, honest script", loc="left", pad=2)
    return drawn
