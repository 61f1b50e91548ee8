"""The results of a study, from artifacts alone: ``NAME.json``, ``NAME.md``, ``NAME.png``, ``NAME_arms.png``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from solvent_experiments.artifacts.files import write_atomically, write_json
from solvent_experiments.figures.style import head, save, styled
from solvent_experiments.measure.statistics import interval, performance_profile
from solvent_experiments.measure.table import Table
from solvent_experiments.studies.data import ArmData, Study, StudyData
from solvent_experiments.studies.drawing import arms_figure
from solvent_experiments.studies.measures import QUANTILES, arm_rows, budget_bands
from solvent_experiments.studies.registry import load_study
from solvent_experiments.studies.verdicts import Finding, Score, rounded

__all__ = ["markdown", "show_score", "write_results"]

Row = Mapping[str, Any]
PROFILE_AT = (-4, 0, 4, 8, 12, 16, 20)
"""Returns in bits at which the JSON has the performance profile."""


def write_results(name: str, study: Study, runs: Path, out: Path) -> dict[str, Any]:
    """Score and draw a finished study, write the results to ``out``, and return the contents of the JSON."""
    data = load_study(name, study, runs)
    score = study.score(data)
    arms = [data.arm(arm) for arm in study.SWEEP]
    found = _found(name, study, score, arms, data)
    with styled():
        drawn = {name: study.figure(data)} | ({f"{name}_arms": arms_figure(arms)} if arms else {})
        for stem, figure in drawn.items():
            head(figure, _heading(name, study))
            save(figure, out / stem, kinds=("png",))
    write_json(out / f"{name}.json", found)
    write_atomically(out / f"{name}.md", markdown(found))
    return found


def _heading(name: str, study: Study) -> str:
    """Return the study and its levels, for the line above its figures."""
    levels = dict.fromkeys(place.env for place in (*study.SWEEP, *study.PLAYS))
    return f"{', '.join(levels)}, study {name}"


def _found(name: str, study: Study, score: Score, arms: Sequence[ArmData], data: StudyData) -> dict[str, Any]:
    return {
        "study": name,
        "title": study.TITLE,
        "claim": study.CLAIM,
        "refuted_by": study.REFUTED_BY,
        "verdict": score.verdict,
        "findings": [finding.to_mapping() for finding in score.findings],
        "small_or_null": _small(score.findings),
        "tables": {title: [dict(row) for row in rows] for title, rows in score.tables.items()},
        "arms": arm_rows(arms) if arms else [],
        "return": {arm.arm.name: rounded(interval(arm.groups("return"))) for arm in arms},
        "profiles": {arm.arm.name: _profile(arm) for arm in arms},
        "wells_left": {arm.arm.name: _bands(arm) for arm in arms},
        "notes": list(score.notes),
        **_budget(name, study, data),
    }


def _small(findings: Sequence[Finding]) -> list[str]:
    return [f"{finding.name}: {finding.size}" for finding in findings if finding.size]


def _profile(arm: ArmData) -> dict[str, float]:
    """Return the share of evaluation episodes above each return."""
    shares = performance_profile(np.concatenate(arm.groups("return")), PROFILE_AT)
    return {str(at): round(float(share), 4) for at, share in zip(PROFILE_AT, shares, strict=True)}


def _bands(arm: ArmData) -> dict[str, list[int]]:
    """Return the wells left at every tenth heartbeat, by quantile."""
    bands = budget_bands(arm)[:, ::10]
    return {
        f"{percent} %": [round(float(left)) for left in band]
        for percent, band in zip(QUANTILES, bands, strict=True)
    }


def _budget(name: str, study: Study, data: StudyData) -> dict[str, Any]:
    """Return the study's command, machine, dates, seeds, steps and minutes."""
    every = list(data.arms.values())
    sessions = [session for arm in every for session in arm.manifest["sessions"]]
    machines = sorted({f"{s['machine']['cores']} cores, {s['platform'].partition('-')[0]}" for s in sessions})
    seconds = sum(
        sum(spent.values()) if isinstance(spent, dict) else spent
        for session in sessions
        for spent in session["seconds"].values()
    )
    return {
        "command": f"solvent study run {name} && solvent study results {name}",
        "machine": machines,
        "dates": sorted({session["started"][:10] for session in sessions}),
        "solvent": sorted({session["solvent"] for session in sessions}),
        "budget": {
            arm.arm.name: {"seeds": arm.seeds, "steps": arm.steps, "episodes": len(arm.groups("return")[0])}
            for arm in every
        },
        "plays": {
            play.name: len(data.plays[play.name]["agent"]) for play in study.PLAYS if play.name in data.plays
        },
        "process_minutes": round(seconds / 60, 1),
    }


def markdown(found: Mapping[str, Any]) -> str:
    name = found["study"]
    parts = [
        f"# {found['title']}",
        f"**Claim.** {found['claim']}",
        f"**What would refute it.** {found['refuted_by']}",
        f"**Verdict: {found['verdict']}.**",
    ]
    if found["findings"]:
        parts.append(_table([_finding_row(finding) for finding in found["findings"]]))
    parts.append(f"![{found['title']}]({name}.png)")
    for title, rows in found["tables"].items():
        parts += [f"## {title}", _table(rows)]
    if found["arms"]:
        parts += ["## The arms", _table(found["arms"]), f"![Profiles and wells]({name}_arms.png)"]
    parts.append("## Notes")
    parts.append("\n".join(f"- {note}" for note in [*found["notes"], *_about(found)]))
    return "\n\n".join(parts) + "\n"


def _about(found: Mapping[str, Any]) -> list[str]:
    budgets = [
        f"{arm}: {len(spent['seeds'])} seeds x {spent['steps']:,} steps, {spent['episodes']:,} evaluation episodes"
        for arm, spent in found["budget"].items()
    ]
    small = "; ".join(found["small_or_null"]) or "none"
    made = f"Made {', '.join(found['dates'])} on {'; '.join(found['machine'])}"
    trained = f"{made}; {found['process_minutes']} minutes in all, on a machine that was shared."
    return [
        f"Small, null or unclear: {small}.",
        (
            "Values in brackets are 95 % bootstrap intervals over training seeds and episodes; IQM is the "
            "interquartile mean."
        ),
        *([f"Budget: {'; '.join(budgets)}."] if budgets else []),
        f"Plays: {len(found['plays'])}, {sum(found['plays'].values()):,} rows.",
        *([trained] if found["dates"] else []),
        f"Command: `{found['command']}`.",
    ]


def _finding_row(finding: Mapping[str, Any]) -> Row:
    value, low, high = (finding[key] for key in ("value", "low", "high"))
    found = "-" if value is None else f"{value:.3f} ({low:.3f} to {high:.3f})"
    return {
        "measured": finding["name"],
        "found": f"{found} {finding['unit']}",
        "expected": finding["expected"] or "-",
        "verdict": finding["verdict"] or "-",
        "size": finding["size"] or "",
    }


def _table(rows: Sequence[Row]) -> str:
    return _texts(rows).markdown() if rows else "(nothing)"


def _texts(rows: Sequence[Row], **layout: Any) -> Table:
    cells = tuple(tuple(str(cell) for cell in row.values()) for row in rows)
    return Table(tuple(rows[0]), cells, **layout)


def show_score(study: Study, score: Score, console: Console) -> None:
    """Print the claim, the verdict and its numbers."""
    console.print(study.TITLE, style="bold")
    console.print(study.CLAIM)
    console.print(f"Verdict: {score.verdict}\n", style="bold")
    rows = [_finding_row(finding.to_mapping()) for finding in score.findings]
    table = _texts(rows, left=("found", "expected", "verdict", "size"), wrapped=("measured",))
    console.print(table.terminal())
    for note in score.notes:
        console.print(f"- {note}", highlight=False)
