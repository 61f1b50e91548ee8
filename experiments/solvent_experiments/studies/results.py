"""Running a study, and showing or writing its result."""

from __future__ import annotations

import importlib
import pkgutil
from concurrent.futures import as_completed
from math import isnan
from pathlib import Path
from typing import Any, Self

from matplotlib.figure import Figure
from pydantic import BaseModel, ConfigDict, ValidationError

from solvent.files import first_problem, write_json
from solvent.lab.settings import nearest
from solvent_experiments import studies
from solvent_experiments.config import ConfigError, read_json
from solvent_experiments.console import Progress, new_console
from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import BLUE, GREEN, GREY, RED, head, new_figure, save, styled
from solvent_experiments.folder import by_seed
from solvent_experiments.provenance import provenance
from solvent_experiments.run import Pool, Processes, run_experiment
from solvent_experiments.statistics import NOTHING, Interval, mean_interval
from solvent_experiments.studies.records import make_table
from solvent_experiments.studies.study import (
    CONFIRMED,
    FULL,
    REFUTED,
    Finding,
    Scale,
    Source,
    Study,
    StudyData,
    verdict_on,
)
from solvent_experiments.table import Table, interval_cells

SHIPPED = Path(__file__).resolve().parents[3] / "docs" / "results" / "studies"
"""Results that a clone has."""
RESULT = "a result that `solvent study show NAME --out DIR` wrote"
DIGITS = 6
EXPECTED = {-1: "below 0", 0: "", 1: "above 0"}
LOOKS = {CONFIRMED: (GREEN, "o"), REFUTED: (RED, "X")}
"""Colour and marker of a finding."""
UNDECIDED = (BLUE, "s")


class Number(BaseModel):
    """A number and its 95 % interval; null where there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, interval: Interval) -> Self:
        rounded = {name: None if isnan(n) else round(n, DIGITS) for name, n in interval._asdict().items()}
        return cls.model_validate(rounded)

    @property
    def interval(self) -> Interval:
        return Interval.from_json({"value": self.value, "low": self.low, "high": self.high})


class Measured(Number):
    """A finding: a number with its unit, the sign that the claim expects of it, and the verdict."""

    unit: str
    expected: int
    verdict: str

    @classmethod
    def from_finding(cls, finding: Finding) -> Self:
        number = Number.of(finding.number).model_dump()
        return cls(**number, unit=finding.unit, expected=finding.expected, verdict=finding.verdict)


class StudyResult(BaseModel):
    """The result of a study: what its JSON holds after its provenance."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    command: str
    finished: str
    machine: dict[str, Any]
    versions: dict[str, str | None]
    title: str
    claim: str
    verdict: str
    findings: dict[str, Measured]
    means: dict[str, dict[str, Number]]
    seeds: dict[str, list[int]]
    series: dict[str, Any]
    notes: list[str]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return a result; raise ConfigError for another file."""
        try:
            return cls.model_validate(read_json(path, RESULT))
        except ValidationError as error:
            raise ConfigError(f"{first_problem(error)}; allowed: {RESULT}", file=path) from None


def result_of(study: Study, data: StudyData, command: str | None = None) -> StudyResult:
    """Return what the tables of a study give; the command is by default that of this process."""
    findings = study.findings(data)
    manifests = {arm.name: data.folder(arm).read_manifest() for arm in study.arms()}
    return StudyResult(
        **provenance(command),
        title=study.title,
        claim=study.claim,
        verdict=verdict_on(findings),
        findings={finding.name: Measured.from_finding(finding) for finding in findings},
        means={label: _means(study, data, source) for label, source in study.rows.items()},
        seeds={name: manifest["seeds"] for name, manifest in manifests.items()},
        series=dict(study.series(data)) if study.series else {},
        notes=list(study.notes),
    )


def _means(study: Study, data: StudyData, source: Source) -> dict[str, Number]:
    columns = data.columns(source)
    present = {name: by_seed(columns, name) for name in study.columns if name in columns}
    return {
        name: Number.of(mean_interval(sample) if len(sample.pooled) else NOTHING)
        for name, sample in present.items()
    }


# -- studies by name


def all_studies() -> dict[str, Study]:
    """Return the studies by name: those of the modules of this package that define ``STUDY``, or ``STUDIES``."""
    by_name: dict[str, Study] = {}
    for module in pkgutil.iter_modules(studies.__path__):
        defined = vars(importlib.import_module(f"{studies.__name__}.{module.name}"))
        by_name |= {module.name: defined["STUDY"]} if "STUDY" in defined else defined.get("STUDIES", {})
    return dict(sorted(by_name.items()))


def study_named(name: str) -> Study:
    """Return a study; raise ConfigError with the nearest name if there is none."""
    known = all_studies()
    if name not in known:
        raise ConfigError(f"unknown study {name!r:.80}" + nearest(name, known))
    return known[name]


def data_of(name: str, runs: Path) -> StudyData:
    """Return the tables of a named study below ``runs``, where studies share their arms."""
    return StudyData(runs / "arms", runs / name, f"solvent study run {name}")


# -- running, showing, writing


def run_study(study: Study, data: StudyData, jobs: int | None, scale: Scale = FULL, *, quiet: bool) -> None:
    """Train the arms and make the plays that are missing or outdated, with processes of this machine."""
    with Processes(jobs) as pool:
        run_arms(study, data, pool, scale, quiet=quiet)
        missing = [play for play in study.plays() if not data.has(play)]
        futures = [pool.call(make_table, play, data, scale.smoke) for play in missing]
        with Progress(new_console(), quiet=quiet) as progress:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                progress.update("plays", done / len(missing), f"{done} of {len(missing)} plays")


def run_arms(study: Study, data: StudyData, pool: Pool, scale: Scale = FULL, *, quiet: bool) -> None:
    """Run the unfinished part of the arms."""
    for arm in study.arms():
        run_experiment(arm.scaled(scale), data.folder(arm).root, pool=pool, quiet=quiet)


def show(result: StudyResult) -> None:
    """Print a result: its findings if anything was compared, and the means."""
    console = new_console()
    verdict = f": {result.verdict}\n{result.claim}" if result.claim else ""
    console.print(result.title + verdict, highlight=False)
    if result.findings:
        console.print(_findings_table(result).terminal())
    console.print(means_table(result).terminal())
    if result.notes:
        console.print("\n".join(result.notes), highlight=False)


def _findings_table(result: StudyResult) -> Table:
    headings = ("finding", "value", "95 % interval", "unit", "expected", "verdict")
    rows = [
        (name, *interval_cells(one.interval), one.unit, EXPECTED[one.expected], one.verdict)
        for name, one in result.findings.items()
    ]
    return Table(headings, tuple(rows), left=("unit", "expected", "verdict"), wrapped=("finding", "unit"))


def means_table(result: StudyResult) -> Table:
    """Return the means per row of a table of the study, a line for each source; the first column has its interval."""
    columns = list(dict.fromkeys(name for means in result.means.values() for name in means))
    nothing = Number.of(NOTHING)
    rows = []
    for label, means in result.means.items():
        first, *others = (means.get(name, nothing).interval for name in columns)
        rows.append((label, *interval_cells(first), *(interval_cells(number)[0] for number in others)))
    headings = ("mean of", columns[0], "95 % interval", *columns[1:])
    return Table(tuple(heading.replace("_", "_\n") for heading in headings), tuple(rows))


def write(result: StudyResult, study: Study, out: Path, name: str) -> list[Path]:
    """Write a result as ``NAME.json`` and its figures as PNG; return their paths."""
    write_json(out / f"{name}.json", result.model_dump())
    with styled():
        figures = study.draw(result) if study.draw else {"": findings_figure(result)}
        paths = []
        for ending, figure in figures.items():
            head(figure, f"{name}: {result.title}")
            paths.append(save(figure, out / f"{name}{ending}"))
    return [out / f"{name}.json", *paths]


def findings_figure(result: StudyResult) -> Figure:
    """Draw every finding with its interval, a panel for each unit, in the colour of its verdict."""
    panels: dict[str, dict[str, Measured]] = {}
    for name, finding in result.findings.items():
        panels.setdefault(finding.unit, {})[name] = finding
    heights = [0.35 + 0.21 * len(part) for part in panels.values()]
    figure = new_figure(0.6 + sum(heights) + 0.3 * len(panels))
    figure.set_figwidth(8.0)
    grid = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, (unit, part) in zip(grid, panels.items(), strict=True):
        colours, markers = zip(*(LOOKS.get(of.verdict, UNDECIDED) for of in part.values()), strict=True)
        dots(axes, list(part), [finding.interval for finding in part.values()], colours, markers)
        axes.axvline(0, color=GREY, lw=0.8)
        axes.set_xlabel(unit)
    legend = "green dot: supports the claim, red cross: contradicts it, blue square: inconclusive or untested"
    figure.supxlabel(f"95 % intervals{_over_seeds(result)}; {legend}", fontsize="small")
    return figure


def _over_seeds(result: StudyResult) -> str:
    """Return over how many training seeds the intervals of a result are, empty where nothing was trained."""
    counts = sorted({len(seeds) for seeds in result.seeds.values()})
    return f" ({' to '.join(map(str, counts))} training seeds)" if counts else ""
