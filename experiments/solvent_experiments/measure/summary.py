"""The table of agents: what each earned, owed and was refused, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from solvent import LabParams
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.measure.statistics import Interval, interval, mean_interval, share_interval

__all__ = ["Row", "energy_table", "gate_table", "groups_of", "summary", "table", "to_mapping", "words_table"]

HEADINGS = (
    *("return\n(bits)", "95 % interval\n", "refusals\n", "debt at end\n(bits)", "accepted\n", "wrong\n"),
    "seeds x\nepisodes",
)
COMPACT_HEADINGS = (
    *("return\n(bits)", "\n95 % interval", "refu-\nsals", "debt\n(bits)", "ac-\ncepted", "\nwrong"),
    "seeds x\nepisodes",
)
COMPACT: dict[str, Any] = {
    "box": box.SIMPLE_HEAD,
    "show_edge": False,
    "pad_edge": False,
    "padding": (0, 1, 0, 0),
}


ENERGY = (
    *("energy_spent", "energy_lost", "deferrals", "discomforts", "out_of_context", "hoardings"),
    *("proposals", "approvals"),
)
GATE = {
    "verdicts_accept": "ac-\ncepted",
    "verdicts_review": "re-\nviewed",
    "verdicts_reject": "re-\njected",
    "reviews_approved": "ap-\nproved",
    "reviews_declined": "de-\nclined",
    "incidents_high": "incid.\nhigh",
    "incidents_low": "incid.\nlow",
    "tightenings": "tight-\nened",
}
"""Columns of an episode -> their headings."""
SCORES = tuple(f"adequacy_{score}" for score in range(4))
"""Findings whose words scored 0 to 3."""


class Row(NamedTuple):
    """One agent. Means an episode; the last ones only where acting costs energy, or where a gate judges findings."""

    agent: str
    seeds: int
    episodes: int
    score: Interval
    refusals: Interval
    debt: Interval
    accepted: float
    wrong: float
    successes: float
    energy_spent: float | None = None
    energy_lost: float | None = None
    deferrals: float | None = None
    discomforts: float | None = None
    out_of_context: float | None = None
    hoardings: float | None = None
    proposals: float | None = None
    approvals: float | None = None
    verdicts_accept: float | None = None
    verdicts_review: float | None = None
    verdicts_reject: float | None = None
    reviews_approved: float | None = None
    reviews_declined: float | None = None
    incidents_high: float | None = None
    incidents_low: float | None = None
    tightenings: float | None = None
    adequacy_0: float | None = None
    adequacy_1: float | None = None
    adequacy_2: float | None = None
    adequacy_3: float | None = None
    inadequacy: Interval | None = None  # mean score of the findings
    overclaimed: Interval | None = None  # share of them that scored 2 or 3
    ceiling_share: Interval | None = None  # interquartile mean of the return over all that there is to know
    optimum_share: Interval | None = None  # mean return over the best expected one, where the level is solved


def groups_of(columns: Columns, agent: str, name: str) -> list[Any]:
    """One column of an agent, split by training seed: the groups that ``statistics.interval`` draws."""
    mine = columns["agent"] == agent
    seeds = columns["training_seed"][mine]
    values = columns[name][mine]
    return [values[seeds == seed] for seed in np.unique(seeds)]


def summary(episodes: Columns, params: LabParams | None = None) -> list[Row]:
    """The agents of ``episodes``, best first; with the labs' parameters also what share of the ceiling they reach."""
    ceiling, optimum = _wholes(params)
    rows = []
    for agent in dict.fromkeys(episodes["agent"]):
        returns = groups_of(episodes, agent, "return")

        def mean(name: str, agent: str = agent) -> float:
            return float(np.concatenate(groups_of(episodes, agent, name)).mean())

        score = interval(returns)
        inadequacy, overclaimed = _words(episodes, agent)
        rows.append(
            Row(
                agent=str(agent),
                seeds=len(returns),
                episodes=sum(map(len, returns)),
                score=score,
                refusals=mean_interval(groups_of(episodes, agent, "refusals")),
                debt=mean_interval(groups_of(episodes, agent, "debt")),
                accepted=mean("accepted"),
                wrong=mean("wrong"),
                successes=mean("is_success"),
                inadequacy=inadequacy,
                overclaimed=overclaimed,
                ceiling_share=_share_of(score, ceiling),
                optimum_share=_share_of(mean_interval(returns), optimum),  # an optimum is a mean
                **{name: mean(name) for name in (*ENERGY, *GATE, *SCORES) if name in episodes},
            )
        )
    return sorted(rows, key=lambda row: -row.score.value)


def _wholes(params: LabParams | None) -> tuple[float | None, float | None]:
    """All that there is to know, and the optimum where it is known; bits."""
    if params is None:
        return None, None
    from solvent_agents.exact.optimum import known_optimum

    return params.ceiling, known_optimum(params)


def _share_of(score: Interval, whole: float | None) -> Interval | None:
    """A return as a share of what could be had; nothing where that isn't known, or is nothing."""
    return None if not whole or whole < 0.0 else Interval(*(number / whole for number in score))


def _words(episodes: Columns, agent: str) -> tuple[Interval | None, Interval | None]:
    """How far an agent's words go beyond its evidence: mean score, and the share of scores of 2 and 3."""
    if SCORES[0] not in episodes:
        return None, None
    counts = [groups_of(episodes, agent, name) for name in SCORES]
    by_seed = list(zip(*counts, strict=True))
    findings = [sum(seed) for seed in by_seed]
    if not sum(int(np.sum(count)) for count in findings):
        return None, None
    points = [sum(score * count for score, count in enumerate(seed)) for seed in by_seed]
    strong = [seed[2] + seed[3] for seed in by_seed]
    return share_interval(points, findings), share_interval(strong, findings)


def words_table(rows: Sequence[Row]) -> Table:
    """How adequate the words of the findings were, in the order of ``table``: rows of labs where they are scored."""
    drawn = Table(
        caption="Findings an episode by the score of their words: 0 says no more than was looked at, 3 is definitive "
        "with next to nothing behind it. Score: their mean. Over: share of 2 and 3. With 95 % bootstrap intervals.",
        caption_justify="left",
        **COMPACT,
    )
    drawn.add_column("\nagent", no_wrap=True)
    for name in (
        "score\n0",
        "\n1",
        "\n2",
        "\n3",
        "mean\nscore",
        "\n95 % interval",
        "over\n(%)",
        "\n95 % interval",
    ):
        drawn.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        counts = [f"{getattr(row, name) or 0.0:.2f}" for name in SCORES]
        drawn.add_row(
            row.agent,
            *counts,
            *_with_interval(row.inadequacy, 1.0, 2),
            *_with_interval(row.overclaimed, 100.0, 1),
        )
    return drawn


def _with_interval(found: Interval | None, scale: float, digits: int) -> tuple[str, str]:
    if found is None:
        return "-", "-"
    value, low, high = (f"{scale * number:.{digits}f}" for number in found)
    return value, f"{low} to {high}"


def table(rows: Sequence[Row], *, title: str, mark: str = "") -> Table:
    """The rows for a terminal; ``mark`` says what their level lacks (``measure.departures``)."""
    warning = f"\n{mark}" if mark else ""
    more = rows[0].energy_spent is not None or rows[0].verdicts_accept is not None
    compact: dict[str, Any] = COMPACT if more else {}  # as the tables below it
    drawn = Table(
        title=title + warning,
        title_style="bold red" if mark else "bold",
        caption="Interquartile mean of the return and its 95 % bootstrap interval over training seeds and episodes; "
        "the rest are means an episode. Ceiling: that return as a share of all bits that there are to know. "
        f"{_OPTIMUM if _solved(rows) else ''}Wrong findings are among the accepted. Evaluations take the most probable "
        "action of a trained policy.",
        caption_justify="left",
        **compact,
    )
    drawn.add_column("\nagent" if compact else "agent", no_wrap=True)
    digits = ".0%" if compact else ".1%"
    first, interval_, *others = COMPACT_HEADINGS if compact else HEADINGS
    shares = (*(("ceil\ning",) if _rated(rows) else ()), *(("opti\nmum",) if _solved(rows) else ()))
    for name in (first, interval_, *shares, *others):
        drawn.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        drawn.add_row(
            row.agent,
            f"{row.score.value:.2f}",
            f"{row.score.low:.2f} to {row.score.high:.2f}",
            *_shares(row, digits),
            f"{row.refusals.value:.2f}",
            f"{row.debt.value:.2f}",
            f"{row.accepted:.2f}",
            f"{row.wrong:.2f}",
            f"{row.seeds} x {row.episodes // row.seeds}",
        )
    return drawn


def _shares(row: Row, digits: str) -> Iterator[str]:
    if row.ceiling_share is not None:
        yield f"{row.ceiling_share.value:{digits}}"
    if row.optimum_share is not None:  # learners are told apart by tenths of a percent
        yield f"{row.optimum_share.value:.1%}"


_OPTIMUM = "Optimum: the mean return as a share of the best expected return of any policy. "


def _rated(rows: Sequence[Row]) -> bool:
    return rows[0].ceiling_share is not None


def _solved(rows: Sequence[Row]) -> bool:
    return rows[0].optimum_share is not None


def energy_table(rows: Sequence[Row]) -> Table:
    """What became of the energy, in the order of ``table``: rows of labs in which acting costs some."""
    drawn = Table(
        caption="Means an episode. Lost: regenerated above the cap. Deferred: not executed for want of energy; "
        "felt: of these, worth taking and the first of its kind in a heartbeat. Away: not executed because the "
        "user was away. Hoarded: rests at the cap with a licensed finding at hand.",
        caption_justify="left",
        **COMPACT,
    )
    drawn.add_column("\nagent", no_wrap=True)
    for name in (
        "energy\nspent",
        "energy\nlost",
        "\ndeferred",
        "\nfelt",
        "\naway",
        "\nhoarded",
        "pro-\nposals",
        "\napproved",
    ):
        drawn.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        drawn.add_row(row.agent, *(f"{getattr(row, name) or 0.0:.2f}" for name in ENERGY))
    return drawn


def gate_table(rows: Sequence[Row]) -> Table:
    """What the gate said of the findings, in the order of ``table``: rows of labs in which one judges."""
    drawn = Table(
        caption="Means an episode. Accepted: let out by the gate at once. Of those under review, approved ones come "
        "out later; what is undecided when the episode ends is dropped. Incidents: published errors, which all "
        "readers saw (high) or one (low). Tightened: changes to a stricter policy.",
        caption_justify="left",
        **COMPACT,
    )
    drawn.add_column("\nagent", no_wrap=True)
    for name in GATE.values():
        drawn.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        drawn.add_row(row.agent, *(f"{getattr(row, name) or 0.0:.2f}" for name in GATE))
    return drawn


def to_mapping(
    rows: Sequence[Row], *, name: str, env: str, contaminated: bool, switched_off: Sequence[str]
) -> dict[str, Any]:
    """The rows as plain values, for ``summary.json``."""

    def plain(value: Any) -> Any:
        if isinstance(value, Interval):
            return {key: round(number, 6) for key, number in value._asdict().items()}
        return round(value, 6) if isinstance(value, float) else value

    agents = [
        {key: plain(value) for key, value in row._asdict().items() if value is not None} for row in rows
    ]
    about = {"name": name, "env": env, "contaminated": contaminated, "switched_off": list(switched_off)}
    return {**about, "agents": agents}
