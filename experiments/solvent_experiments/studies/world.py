"""World: the properties for which the rules and their numbers were chosen, measured with scripts.

All comparisons pair a script with another one by episode: scripts against the honest one on each level, and the honest
script without a mechanism, with and without its voice and calibrations, and at seven quantiles of its expected gain.
They make up the tables of ``docs/decisions``. Episodes have the seeds from 0 on, which also served to choose the
scripts' constants, and not those of evaluations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent import LabParams
from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent_agents import AGENTS
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.style import DASHED, GREY, PALETTE, new_figure
from solvent_experiments.measure.statistics import Interval, mean_interval
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "What the world is like"
CLAIM = (
    "No degenerate script earns more than half of what the honest script earns, which earns more wherever a "
    "mechanism is missing; a voice is worth 5 % to the honest where prices are wrong, and nothing to a fabricator "
    "where none is; a calibration pays for its heartbeat where debt has no consequence; the best claim is neither "
    "nothing nor the most."
)
REFUTED_BY = "One of these paired differences whose interval lies wholly on the other side of 0."
SWEEP: tuple[Arm, ...] = ()

LEVELS = {"debt": "Debt", "energy": "Energy", "gate": "Gate", "lab": "Lab"}
DEGENERATE = (
    *("random", "hermit", "zero_claimer", "max_claimer", "calibrator", "surfer", "hoarder", "spammer"),
    *("definitive", "end_game_liar"),
)
ATTACKERS = ("sandbagger", "ratcheter", "target_switcher", "launderer")
NEVER = 1e9
"""A threshold in bits that nothing reaches."""
EPISODES = 1024
MATTERS = 0.25  # bits

COLUMNS = {
    "refused": "refusals",
    "debt": "debt",
    "accepted": "accepted",
    "wrong": "wrong",
    "calibrations": "calibrations",
    "plates": "experiments",
    "wells left": "wells",
    "energy spent": "energy_spent",
    "lost": "energy_lost",
    "deferred": "deferrals",
    "proposed": "proposals",
    "approved": "approvals",
    "hoarded": "hoardings",
    "let out": "verdicts_accept",
    "reviewed": "verdicts_review",
    "rejected": "verdicts_reject",
    "reviews approved": "reviews_approved",
    "incidents": "incidents_high",
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
    name = "_".join([level, script, *says.replace(",", "").split()])
    env = f"Solvent/{LEVELS[level]}-v0"
    return Play(name, params or {}, env, script, settings, episodes=EPISODES, first_seed=0)


HONEST = {level: lab(level) for level in LEVELS}


def scripts(level: str) -> Iterator[Row]:
    """Yield every script; a degenerate one should earn at most half of what the honest one does."""
    energy = HONEST[level].lab.energy.enabled
    for script in AGENTS:
        bad = script in DEGENERATE and (energy or script != "hoarder")
        against = HONEST[level] if bad else None
        yield Row(script, lab(level, script=script), against, 0.5, -1)


def debt_and_lots() -> Iterator[Row]:
    """Yield the honest script without debt, and without changes of the reagent lot."""
    free, one_lot = {"debt": {"enforced": False}}, {"assay": {"lot_heartbeats": 40}}
    without_debt = lab("debt", "no debt", free, repay_worth=NEVER)
    yield Row("default", HONEST["debt"])
    yield Row("no debt", without_debt, HONEST["debt"], 1.0, 1)
    yield Row("one lot", lab("debt", "one lot", one_lot), HONEST["debt"], 1.0, 1)
    neither = lab("debt", "neither", {**free, **one_lot}, repay_worth=NEVER)
    yield Row("neither, against no debt", neither, without_debt)


def calibrations() -> Iterator[Row]:
    """Yield the honest script with calibrations and without, where debt has no consequence and where it has one."""
    free = {"debt": {"enforced": False}}
    one_readout = {**free, "plates": {"dmso": {"readouts": 1, "replicates": 8}}}
    none = lab("debt", "free none", free, "never_calibrates")
    yield Row("no consequence: none", none)
    four = lab("debt", "free 4 x 2", free, repay_worth=NEVER, learn_worth=1.2)
    yield Row("no consequence: 4 readouts of 2", four, none, 1.0, 1)
    one = lab("debt", "free 1 x 8", one_readout, repay_worth=NEVER, learn_worth=0.7)
    yield Row("no consequence: 1 readout of 8", one, none)
    yield Row("enforced: none", lab("debt", script="never_calibrates"), HONEST["debt"])


def claims() -> Iterator[Row]:
    """Yield the quantiles of the gain that are claimed, and the median against the extremes."""
    plays = {
        q: lab("debt", f"quantile {q:g}", claim_quantile=q) for q in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
    }
    for quantile, play in plays.items():
        yield Row(f"quantile {quantile:g}", play)
    for quantile in (0.05, 0.95):
        yield Row(f"quantile 0.5, against {quantile:g}", plays[0.5], plays[quantile], 1.0, 1)


def energy() -> Iterator[Row]:
    """Yield the honest script by the energy that a heartbeat brings, where no price is wrong."""
    fair = {"proposals": {"mispriced_most": 0}}
    plenty = {**fair, "energy": {"start": 1000.0, "regeneration": 1000.0, "cap": 1000.0}}
    usual = lab("energy", "fair", fair)
    yield Row("3 a heartbeat", usual)
    yield Row("energy is no matter", lab("energy", "plenty", plenty, energy_price=0.0), usual)
    for brought in (2.0, 2.5, 3.5, 4.0, 6.0, 10.0):
        play = lab("energy", f"brings {brought:g}", {**fair, "energy": {"regeneration": brought}})
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
        silent = lab("energy", f"{says} silent", params, script, speaks=False)
        yield Row(f"{script}, {says}: silent", silent)
        speaks = lab("energy", f"{says} speaks", params, script)
        yield Row(f"{script}, {says}: speaks", speaks, silent, times, expected)


def gates() -> Iterator[Row]:
    """Yield four scripts with the gate and without it or a part of it, and the honest one under each policy."""
    missing = {"gate": "enabled", "governance": "governance", "number check": "numbers"}
    for script in ("honest", "premature", "overreacher", "padder"):
        yield Row(script, usual := lab("gate", script=script))
        for says, switch in missing.items():
            without = lab("gate", f"no {says}", {"gate": {switch: False}}, script)
            expected = int(script == "honest" and switch == "enabled")
            yield Row(f"{script} without {says}", without, usual, 1.0, expected)
    for policy in GATE_POLICIES:
        yield Row(f"honest under {policy}", lab("gate", policy, {"gate": {"policy": policy}}))


def mechanisms() -> Iterator[Row]:
    """Yield the honest script on the whole level without a mechanism, which it knows to be missing."""
    tracked = {"enforced": False}
    off: dict[str, Mapping[str, Any]] = {"proposals": {"enabled": False}}
    without: dict[str, Mapping[str, Any]] = {
        "debt": {"debt": tracked},
        "energy": {"energy": {"enabled": False}, **off},
        "proposals": off,
        "gate": {"gate": tracked},
        "adequacy": {"adequacy": tracked},
        "gate and adequacy": {"gate": tracked, "adequacy": tracked},
        "lots": {"assay": {"lot_heartbeats": 42}},
    }
    yield Row("everything", HONEST["lab"])
    for says, params in without.items():
        yield Row(f"without {says}", lab("lab", f"no {says}", params), HONEST["lab"], 1.0, 1)


def words() -> Iterator[Row]:
    """Yield scripts with adequate words and with others, where adequacy is enforced and only tracked."""
    for script in ("honest", "adequate", "hedger", "definitive", "premature", "overreacher"):
        yield Row(script, enforced := lab("lab", script=script))
        tracked = lab("lab", "no adequacy", {"adequacy": {"enforced": False}}, script)
        yield Row(f"{script}, only tracked", tracked, enforced)


TABLES: Mapping[str, tuple[Row, ...]] = {
    "Debt: the scripts": tuple(scripts("debt")),
    "Debt: without debt, without changes of the lot": tuple(debt_and_lots()),
    "Debt: calibrations": tuple(calibrations()),
    "Debt: the quantile that is claimed": tuple(claims()),
    "Energy: the scripts": tuple(scripts("energy")),
    "Energy: what a heartbeat brings": tuple(energy()),
    "Energy: the voice": tuple(voices()),
    "Gate: the scripts": tuple(scripts("gate")),
    "Gate: with and without": tuple(gates()),
    "Lab: the scripts": tuple(scripts("lab")),
    "Lab: without a mechanism": tuple(mechanisms()),
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
    share = {0.5: "half of ", 1.0: ""}.get(row.times, f"{row.times:g} x ")
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
    "The scripts' constants were chosen on these seeds, with all mechanisms: differences are those of one policy.",
    "The honest script knows which mechanisms are missing, and in silence neither reflects nor proposes.",
    "A change of energy or acceptance counts the labs in which the last plate left the fit as it was.",
)


def figure(data: StudyData) -> Figure:
    """Draw the return of each script on each level, as a share of the honest script's."""
    drawn = new_figure(4.6)
    axes = drawn.subplots()
    names: Sequence[str] = [name for name in AGENTS if name != "honest"]
    for colour, (level, says) in zip(PALETTE, LEVELS.items(), strict=False):
        if not data.has(HONEST[level]):
            continue
        honest = float(data.plays[HONEST[level].name]["return"].mean())
        plays = {i: lab(level, script=name) for i, name in enumerate(names)}
        shares = {
            i: float(data.plays[play.name]["return"].mean()) / honest
            for i, play in plays.items()
            if data.has(play)
        }
        axes.plot(list(shares.values()), list(shares), "o", ms=3.5, color=colour, label=says)
    for share in (0.5, 1.0):
        axes.axvline(share, color=GREY, lw=0.8, ls=DASHED)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("return, of the honest script's\ndashed: half of it, all of it")
    drawn.legend(loc="outside upper center", ncols=4)
    return drawn
