"""Running a study, and showing or writing what it found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from math import isnan
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from solvent.files import now, write_json
from solvent.lab.settings import nearest
from solvent_experiments import studies
from solvent_experiments.config import ConfigError
from solvent_experiments.console import Progress, new_console
from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import BLUE, GREEN, GREY, RED, head, new_figure, save, styled
from solvent_experiments.run import Processes, run_experiment
from solvent_experiments.statistics import NOTHING, Interval
from solvent_experiments.studies.records import make_table
from solvent_experiments.studies.study import (
    CONFIRMED,
    REFUTED,
    Compare,
    Finding,
    Play,
    Source,
    Study,
    StudyData,
    verdict_on,
)
from solvent_experiments.table import Table

Means = Mapping[str, Mapping[str, Interval]]


def all_studies() -> dict[str, Study]:
    """Return the studies by name: the modules of this package that define one."""
    names = sorted(module.name for module in pkgutil.iter_modules(studies.__path__))
    modules = {name: importlib.import_module(f"{studies.__name__}.{name}") for name in names}
    return {name: module.STUDY for name, module in modules.items() if hasattr(module, "STUDY")}


def study_named(name: str) -> Study:
    known = all_studies()
    if name not in known:
        raise ConfigError(f"unknown study {name!r:.80}" + nearest(name, known))
    return known[name]


def run_study(
    name: str, runs: Path, seeds: Sequence[int] | None, *, smoke: bool, jobs: int | None, quiet: bool
) -> None:
    """Train the arms and make the plays that are not there yet."""
    study, data = study_named(name), StudyData(name, runs)
    with Processes(jobs) as pool:
        for arm in study.arms():
            experiment = arm.experiment(seeds, smoke=smoke)
            run_experiment(experiment, data.folder(arm).root, pool=pool, quiet=quiet)
        plays = [source for source in study.sources() if isinstance(source, Play)]
        left = [play for play in plays if not data.table(play).exists()]
        made = [pool.call(make_table, play, data, smoke) for play in left]
        with Progress(new_console(), quiet=quiet) as shown:
            for done, future in enumerate(as_completed(made), 1):
                future.result()
                shown.update(name, done / len(left), f"{done} of {len(left)} plays")


def show_score(name: str, runs: Path, out: Path | None = None) -> None:
    """Print a study's findings and means; with ``out``, write them first, as ``NAME.json`` and ``NAME.png``."""
    study, data, console = study_named(name), StudyData(name, runs), new_console()
    findings = study.score(data)
    means = {label: _means(study, data, source) for label, source in study.rows.items()}
    if out is not None:  # before anything is printed: who reads may close the pipe
        write_json(out / f"{name}.json", _document(study, data, findings, means))
        with styled():
            save(figure(name, study, findings), out / name)
    console.print(f"{study.title}: {verdict_on(findings)}\n{study.claim}", highlight=False)
    expected = {-1: "below 0", 0: "", 1: "above 0"}
    told = [(f.name, _told(f.found), f.unit, expected[f.expected], f.verdict) for f in findings]
    headings = ("finding", "value (95 %)", "unit", "expected", "verdict")
    console.print(Table(headings, tuple(told), left=headings, wrapped=("finding",)).terminal())
    rows = [(column, label, _told(of[column])) for column in study.columns for label, of in means.items()]
    console.print(Table(("mean per episode", "of", "value (95 %)"), tuple(rows), left=("of",)).terminal())
    console.print("\n".join(study.notes), highlight=False)
    if out is not None:
        console.print(f"{out / name}.json\n{out / name}.png", highlight=False)


def _means(study: Study, data: StudyData, source: Source) -> dict[str, Interval]:
    measured = data.columns(source)
    return {
        name: Compare(name, "", source, name).found(data) if name in measured else NOTHING
        for name in study.columns
    }


def _told(found: Interval) -> str:
    return "-" if isnan(found.value) else f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def _document(study: Study, data: StudyData, findings: Sequence[Finding], means: Means) -> dict[str, Any]:
    arms = [(arm, data.folder(arm).read_manifest()) for arm in study.arms()]
    fewer = [made["seeds"] for arm, made in arms if len(made["seeds"]) < arm.seeds]
    seeds = f" --seeds {','.join(map(str, fewer[0]))}" if fewer else ""
    kept = ("solvent", "commit", "seeds", "finished")
    return {
        "command": f"solvent study run {data.name}{seeds} && solvent study show {data.name} --out docs/results/studies",
        "finished": now().isoformat(timespec="seconds"),
        "title": study.title,
        "claim": study.claim,
        "verdict": verdict_on(findings),
        "findings": [
            {
                "name": f.name,
                **_rounded(f.found),
                "unit": f.unit,
                "expected": f.expected,
                "verdict": f.verdict,
            }
            for f in findings
        ],
        "means": {
            label: {name: _rounded(found) for name, found in of.items()} for label, of in means.items()
        },
        "arms": {arm.name: {key: made[key] for key in kept} for arm, made in arms},
        "notes": study.notes,
    }


def _rounded(found: Interval) -> dict[str, float | None]:
    return {key: None if isnan(n) else round(float(n), 6) for key, n in found._asdict().items()}


def figure(name: str, study: Study, findings: Sequence[Finding]) -> Figure:
    """Draw every finding with its interval, a panel for each unit, in the colour of its verdict."""
    units = list(dict.fromkeys(finding.unit for finding in findings))
    parts = [[finding for finding in findings if finding.unit == unit] for unit in units]
    heights = [0.35 + 0.21 * len(part) for part in parts]
    drawn = new_figure(0.6 + sum(heights) + 0.3 * len(parts))
    drawn.set_figwidth(8.0)
    panels = drawn.subplots(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
    colours = {CONFIRMED: GREEN, REFUTED: RED}
    for axes, unit, part in zip(panels, units, parts, strict=True):
        found, shown = [f.found for f in part], [colours.get(f.verdict, BLUE) for f in part]
        dots(axes, [f.name for f in part], found, shown)
        axes.axvline(0, color=GREY, lw=0.8)
        axes.set_title(unit)
    legend = "green: as the claim expects, red: the opposite, blue: not shown or not claimed"
    drawn.supxlabel(f"95 % intervals; {legend}", fontsize="small")
    head(drawn, f"{name}: {study.title}")
    return drawn
