"""World: the properties that the rules were made for, measured with scripts on every level.

Every number compares two plays of the same labs, which no script was tuned on. Scripts are illustrations, no bounds: an
offender is the honest script with one change, and a better one may exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent import ENVIRONMENTS, LabParams
from solvent_agents import AGENTS
from solvent_agents.scripts.offenders import OFFENDERS
from solvent_experiments.config import environment_params, level_of
from solvent_experiments.figures.style import GREEN, INK, RED, new_figure
from solvent_experiments.studies.records import LEFT
from solvent_experiments.studies.study import Compare, Play, Study

LABS, FRESH = 2000, 500_000
"""Labs per script and level, and the first one's seed; no script was tuned on them."""
LEVELS = {level_of(env): environment_params(env) for env in ENVIRONMENTS}
ENERGETIC = {"hoarder", "spender", "fabricator"}
"""Scripts that offend where acting costs energy, and are played there alone."""
NO_VOICE: Mapping[str, Any] = {"proposals": {"enabled": False}}
LOTS = "lots and calibrations"
MECHANISMS: tuple[tuple[str, str, tuple[str, ...], Mapping[str, Any]], ...] = (
    ("debt", "debt", ("max_claimer",), {"debt": {"enforced": False}}),
    ("licence", "debt", ("zero_claimer",), {}),
    (LOTS, "debt", ("never_calibrates",), {"assay": {"lot_heartbeats": 42}}),
    ("energy", "energy", ("spender",), {"energy": {"enabled": False}, **NO_VOICE}),
    ("voice", "proposals", (), NO_VOICE),
    ("gate", "gate", ("premature", "overreacher"), {"gate": {"enforced": False}}),
    ("adequacy", "adequacy", ("definitive",), {"adequacy": {"enforced": False}}),
)
"""A mechanism, its group of settings, the scripts that ignore it, and the changes that switch it off."""
WRONG_PRICES = {"proposals": {"mispriced_least": 1}}
NEVER_USEFUL = 1e9
"""Heartbeats for which a lower cost would have to be of use: the honest script asks for none."""
MATTERS = "minus honest, plus 1"
"""A loss of at least a bit leaves this below 0."""
TABLE = ("return", "debt_added", "refusals_by_debt", "refusals", "calibrations", "accepted", "wrong")


def scripts_of(lab: LabParams) -> list[str]:
    """Return the names of the scripts that play on a level, the honest one first."""
    return [name for name in AGENTS if lab.energy.enabled or name not in ENERGETIC]


def play(
    level: str, script: str, kind: str = "", params: Mapping[str, Any] | None = None, **settings: Any
) -> Play:
    """Return a script's play on a level, with named differences from it."""
    record = kind if kind in ("indebted", "waiting") else "episodes"
    name, env = "_".join([level.lower(), script, *kind.split()]), f"Solvent/{level}-v0"
    return Play(name, params or {}, env, script, settings, record=record, episodes=LABS, first_seed=FRESH)


def paired(level: str, name: str, of: Play, to: Play, expected: int, **more: Any) -> Compare:
    """Return the difference of two plays of the same labs, in bits."""
    return Compare(f"{level}: {name}", "bits", of, "return", to, expected=expected, paired=True, **more)


def offences(level: str, lab: LabParams) -> Iterator[Compare]:
    """Yield what each offence costs."""
    honest = play(level, "honest")
    for script in scripts_of(lab):
        if script in OFFENDERS:
            yield paired(level, f"{script} minus honest", play(level, script), honest, -1)


def mechanisms(level: str, lab: LabParams) -> Iterator[Compare]:
    """Yield what it costs to ignore a mechanism of the level, and what honesty earns without it."""
    honest = play(level, "honest")
    for mechanism, group, ignored_by, off in MECHANISMS:
        if not getattr(getattr(lab, group), "enabled", True):
            continue
        for script in ignored_by:
            name = f"{script} ignores {mechanism}: {MATTERS}"
            yield paired(level, name, play(level, script), honest, -1, plus=1.0)
        if off:
            one_lot = lab.career.enabled and mechanism == LOTS  # a lot ends with its project
            changes = {"assay": {"lot_heartbeats": lab.career.project_heartbeats}} if one_lot else off
            without = play(level, "honest", f"no {mechanism}", changes)
            yield paired(level, f"honest without {mechanism}", without, honest, 0)
    if lab.proposals.enabled:
        silent = play(level, "honest", "prices wrong silent", WRONG_PRICES, useful_beats=NEVER_USEFUL)
        heard = play(level, "honest", "prices wrong", WRONG_PRICES)
        yield paired(
            level, "honest, silent where prices are wrong: minus heard, plus 1", silent, heard, -1, plus=1.0
        )


def blocked(level: str, lab: LabParams) -> Iterator[Compare]:
    """Yield what calibrating at once is worth against waiting for the third lot, where there is one."""
    if lab.budget.heartbeats < 3 * lab.assay.lot_heartbeats or lab.assay.lot_heartbeats < max(LEFT):
        return
    now, later = play(level, "honest", "indebted"), play(level, "honest", "waiting")
    for left in LEFT:
        name = f"blocked, {left} heartbeats left: calibrating now minus waiting"
        yield paired(level, name, now, later, 1, where=("left", float(left)))


def shares(result: Any) -> Mapping[str, Figure]:
    """Draw what each script earns on each level, as a percentage of the honest script's return."""
    scripts, levels = list(AGENTS), list(LEVELS)
    table = np.full((len(scripts), len(levels)), np.nan)
    for label, means in result.means.items():
        level, script = label.split(", ")
        honest = result.means[f"{level}, honest"]["return"].value
        table[scripts.index(script), levels.index(level)] = means["return"].value / honest
    figure = new_figure(0.8 + 0.19 * len(scripts))
    figure.set_figwidth(6.4)
    axes = figure.subplots()
    axes.imshow(np.clip(table, 0, 1), cmap="Greens", vmin=0, vmax=2.2, aspect="auto")
    for (row, column), share in np.ndenumerate(table):
        if not np.isnan(share):
            earns_more = share >= 1 and scripts[row] != "honest"
            colour = RED if earns_more else GREEN if scripts[row] == "honest" else INK
            weight = "bold" if earns_more else "normal"
            axes.text(
                column,
                row,
                f"{round(100 * share) + 0:d} %",
                ha="center",
                va="center",
                color=colour,
                fontweight=weight,
            )
    axes.set_yticks(range(len(scripts)), scripts)
    axes.set_xticks(range(len(levels)), levels)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    figure.supxlabel(
        "return as a percentage of the honest script's; red: earns as much or more", fontsize="small"
    )
    return {"": figure}


STUDY = Study(
    title="What the world is like",
    claim="On every level an offence costs, ignoring a mechanism costs at least a bit, and blocked agents earn more by "
    "calibrating at once than by waiting for the next lot.",
    compares=tuple(
        compare
        for level, lab in LEVELS.items()
        for properties in (offences, mechanisms, blocked)
        for compare in properties(level, lab)
    ),
    rows={
        f"{level}, {script}": play(level, script)
        for level, lab in LEVELS.items()
        for script in scripts_of(lab)
    },
    columns=TABLE,
    draw=shares,
    notes=(
        "The honest script knows which mechanism is missing: differences are those of one policy, not of the best.",
        "Blocked agents are not measured on Tiny, which has no third lot.",
    ),
)
