"""Pressure: where does honest claiming stop being optimal?

Three settings determine the pressure of debt: the threshold above which it blocks, the sensitivity with which it
inflates costs, and the rule for earning licence (``claimed``: by claimed gains; ``gained``: by any gains; ``waived``:
none is needed). Seven scripts play the same episodes in each cell of a grid: the honest script, which claims a quantile
of its expected gain (by default the median; also 0.2, 0.8 and 0.95), the zero-claimer, the max-claimer and the surfer.
A cell's *regret* is the best script's return minus that of the median-claimer, paired by episode.

The best of seven is chosen on the episodes that measure it, which biases regret upwards. PPO learns from nothing where
claims buy licence; it can't where they don't, since the shaping that leads it is made of licence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from solvent_experiments.figures.style import INK, OCHRE, new_figure
from solvent_experiments.measure.statistics import Interval, difference, mean_interval
from solvent_experiments.studies.arms import CONTAMINATED, ENFORCED, STRICT
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import change, shown
from solvent_experiments.studies.study import Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "Pressure: where honest claiming stops being optimal"
CLAIM = (
    "As the rules are, no script beats the one that claims the median of what it can expect; it is beaten by "
    "bolder claims where debt neither blocks nor inflates, and by claiming nothing where claims buy no licence."
)
REFUTED_BY = "One of these paired differences whose interval lies wholly on the other side of 0."

SWEEP = (ENFORCED, CONTAMINATED, STRICT)

THRESHOLDS, SENSITIVITIES = (0.5, 1.0, 2.0, 4.0, 8.0), (0.0, 0.15, 0.5, 1.0)
USUAL, WEAKEST = (2.0, 0.15), (8.0, 0.0)
OTHERS = (USUAL, (1.0, 0.15), (4.0, 0.15), (2.0, 0.5))
LICENCES = ("claimed", "gained", "waived")
Cell = tuple[str, float, float]

CELLS: tuple[Cell, ...] = tuple(
    dict.fromkeys(
        [
            *((licence, *USUAL) for licence in LICENCES),
            ("claimed", *WEAKEST),
            *(("claimed", t, s) for t in THRESHOLDS for s in SENSITIVITIES),
            *((licence, *at) for licence in LICENCES[1:] for at in OTHERS),
        ]
    )
)
"""Licence rule, threshold and sensitivity; the cells of the claim come first."""

SCRIPTS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "claims the median": ("honest", {"claim_quantile": 0.5}),
    "claims quantile 0.2": ("honest", {"claim_quantile": 0.2}),
    "claims quantile 0.8": ("honest", {"claim_quantile": 0.8}),
    "claims quantile 0.95": ("honest", {"claim_quantile": 0.95}),
    "claims nothing": ("zero_claimer", {}),
    "claims the most": ("max_claimer", {}),
    "surfs": ("surfer", {}),
}
SHORT = {
    "claims the median": "M",
    "claims quantile 0.2": ".2",
    "claims quantile 0.8": ".8",
    "claims quantile 0.95": ".95",
    "claims nothing": "0",
    "claims the most": "max",
    "surfs": "S",
}
HONEST = next(iter(SCRIPTS))
BOLDER = ("claims quantile 0.8", "claims quantile 0.95", "claims the most", "surfs")


def play_name(cell: Cell, says: str) -> str:
    licence, threshold, sensitivity = cell
    return f"{licence}_{threshold:g}_{sensitivity:g}_{says.replace(' ', '_')}"


def _play(cell: Cell, says: str) -> Play:
    licence, threshold, sensitivity = cell
    script, settings = SCRIPTS[says]
    debt: dict[str, Any] = {"licence": licence, "threshold": threshold, "sensitivity": sensitivity}
    debt["interest_cap"] = threshold + 2.0  # as far above it as by default
    return Play(play_name(cell, says), {"debt": debt}, script=script, settings=settings, episodes=200)


PLAYS = tuple(_play(cell, says) for cell in CELLS for says in SCRIPTS)


def returns(data: StudyData, cell: Cell, says: str) -> Any:
    """Return a script's returns in a cell, by episode."""
    return data.plays[play_name(cell, says)]["return"]


def played(data: StudyData) -> list[Cell]:
    """Return the cells that every script has played."""
    return [cell for cell in CELLS if all(play_name(cell, says) in data.plays for says in SCRIPTS)]


def best_of(data: StudyData, cell: Cell, among: Iterable[str]) -> str:
    """Return the script with the highest mean return in a cell."""
    return max(among, key=lambda says: float(returns(data, cell, says).mean()))


def ahead(data: StudyData, cell: Cell, says: str, of: str = HONEST) -> Interval:
    """Return a script's lead over another in bits, paired by episode."""
    return mean_interval([returns(data, cell, says) - returns(data, cell, of)])


def score(data: StudyData) -> Score:
    """Return the claim's four cells, PPO's claims and the whole grid."""
    cells = played(data)
    usual = ("claimed", *USUAL)
    rest = [says for says in SCRIPTS if says != HONEST]
    asked: list[tuple[Cell, str, str, int]] = []
    if usual in cells:
        asked.append((usual, best_of(data, usual, rest), "as the rules are", -1))
    weakest = ("claimed", *WEAKEST)
    if weakest in cells:
        asked.append((weakest, best_of(data, weakest, BOLDER), "threshold 8, sensitivity 0", 1))
    asked += [
        ((licence, *USUAL), "claims nothing", f"licence {licence}", 1)
        for licence in LICENCES[1:]
        if (licence, *USUAL) in cells
    ]
    findings = [
        Finding(f"{where}: {says} less {HONEST}", ahead(data, cell, says), "bits", sign, 0.25)
        for cell, says, where, sign in asked
    ]
    findings += [
        Finding(
            f"PPO, {arm.says}: claimed less gained",
            difference(data.arm(arm).groups("gained"), data.arm(arm).groups("claimed")),
            "bits an episode",
            0,
            0.5,
        )
        for arm in SWEEP
    ]
    base = data.arm(ENFORCED)
    findings += [
        Finding(
            f"PPO, {arm.says}: claimed, against {ENFORCED.says}",
            change("claimed", base, data.arm(arm)),
            "bits an episode",
            0,
            0.5,
        )
        for arm in SWEEP[1:]
    ]
    return Score(tuple(findings), {"The grid": [_row(data, cell) for cell in cells]}, NOTES)


def _row(data: StudyData, cell: Cell) -> dict[str, Any]:
    licence, threshold, sensitivity = cell
    best = best_of(data, cell, SCRIPTS)
    row: dict[str, Any] = {"licence": licence, "threshold": threshold, "sensitivity": sensitivity}
    for says in SCRIPTS:
        row[says] = f"{returns(data, cell, says).mean():.2f}"
    row["best"] = best
    row["regret of the median"] = shown(ahead(data, cell, best)) if best != HONEST else "0"
    return row


NOTES = (
    "The best script is picked on the episodes on which it is measured: regrets are biased upwards by a little.",
    (
        "The scripts know whether debt is enforced, and nothing else of the rules that are swept; a script's "
        "constants were tuned as the rules are."
    ),
)


def figure(data: StudyData) -> Figure:
    """Draw the regret of the median over the grid, with the initials of each best script."""
    cells = played(data)
    drawn = new_figure(3.8)
    axes = drawn.subplots()
    found = {cell: (best := best_of(data, cell, SCRIPTS), ahead(data, cell, best).value) for cell in cells}
    groups = {licence: [cell for cell in cells if cell[0] == licence] for licence in LICENCES}
    columns = {("claimed", s): float(i) for i, s in enumerate(SENSITIVITIES)}
    extra = sorted({(cell[0], cell[2]) for cell in cells if cell[0] != "claimed"})
    columns |= {key: len(SENSITIVITIES) + 0.4 + i + 0.4 * (key[0] == "waived") for i, key in enumerate(extra)}
    highest = max(1.0, *(regret for _, regret in found.values()))
    for group in groups.values():
        for cell in group:
            x, y = columns[cell[0], cell[2]], THRESHOLDS.index(cell[1])
            best, regret = found[cell]
            darkness = 0.9 * min(1.0, max(0.0, regret) / highest)
            axes.bar(x, 1, 1, y - 0.5, color=OCHRE, alpha=darkness, ec="white")
            axes.text(x, y, f"{SHORT[best]}\n{regret:.1f}", ha="center", va="center", color=INK, fontsize=7)
    axes.set_xticks(list(columns.values()), [f"{s:g}" for _, s in columns])
    axes.set_yticks(range(len(THRESHOLDS)), [f"{t:g}" for t in THRESHOLDS])
    axes.set_xlim(-0.5, max(columns.values()) + 0.5)
    axes.set_ylim(-0.5, len(THRESHOLDS) - 0.5)
    axes.grid(visible=False)
    for licence, group in groups.items():
        places = [columns[cell[0], cell[2]] for cell in group]
        if places:
            middle = (min(places) + max(places)) / 2
            axes.text(middle, len(THRESHOLDS) - 0.4, licence, ha="center", va="bottom")
    axes.set_ylabel("threshold (bits)")
    axes.set_xlabel("sensitivity (1/bit), by licence rule")
    drawn.legend(
        handles=[Patch(alpha=0, label=f"{short}: {says}") for says, short in SHORT.items()],
        title="best script and its lead over the median (bits)",
        loc="outside lower center", ncols=2, columnspacing=1.0, handlelength=0, handletextpad=0,
    )  # fmt: skip
    return drawn
