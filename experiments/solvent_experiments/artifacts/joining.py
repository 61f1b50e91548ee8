"""Joins the tables of all units and writes the summary. Checksums of the pages reveal damaged tables here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solvent import LabParams
from solvent.lab.words.sentences import measured_for, policies_of
from solvent_experiments.artifacts.files import write_json
from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.parquet import Columns, joined, owned, read_parquet, write_parquet
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.measure.columns import LANGUAGE
from solvent_experiments.measure.summary import summary, to_mappings

__all__ = ["DamagedError", "join", "read_tables"]


class DamagedError(RuntimeError):
    """Finished artifacts are unreadable. The message has a line for each."""


def join(experiment: Experiment, folder: RunFolder, units: list[Unit]) -> None:
    """Join the tables of ``units`` in ``folder`` and write the summary; write nothing if a table is damaged."""
    tables = read_tables([table for unit in units for table in unit.tables])
    trained = [unit for unit in units if unit.seed is not None]
    write_parquet(folder.episodes, joined([tables[unit.episodes] for unit in units]))
    write_parquet(folder.traces, joined([tables[unit.traces] for unit in units]))
    if trained:
        write_parquet(folder.training, joined([owned(tables[u.training], u.agent, u.seed) for u in trained]))
    if experiment.params.gate.enabled:
        write_json(folder.gate, judged_by(experiment.params))
    rows = summary(read_parquet(folder.episodes), experiment.params)
    about = {
        "name": experiment.name,
        "env": experiment.env,
        "contaminated": experiment.contaminated,
        "switched_off": list(experiment.switched_off),
    }
    write_json(folder.summary, about | {"agents": to_mappings(rows)})


def judged_by(params: LabParams) -> dict[str, Any]:
    """Return each policy's thresholds, the laxest first, and what `solvent gate build` found of the lab's domain.

    They are kept with the run, so that a rebuilt gate changes no old figure.
    """
    measured = measured_for(params)
    if measured is None:
        return {"thresholds": {}, "domain": None}
    thresholds = {policy.name: [policy.tau_accept, policy.tau_review] for policy in policies_of(params)}
    return {"thresholds": thresholds, "domain": measured.about["domain"]}


def read_tables(paths: list[Path]) -> dict[Path, Columns]:
    """Return tables of units by path, or raise DamagedError."""
    tables, problems = {}, []
    for path in paths:
        try:
            columns = read_parquet(path)
            tables[path] = {name: column for name, column in columns.items() if name not in LANGUAGE}
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0].partition(". ")[0]
            problems.append(f"{path}: damaged ({reason}); move it away, and the same command makes it again")
    problems = problems or _of_other_versions(tables)
    if problems:
        raise DamagedError("\n".join(problems))
    return tables


def _of_other_versions(tables: dict[Path, Columns]) -> list[str]:
    """Return a line for each table that lacks columns of others of its name."""
    widest: dict[str, set[str]] = {}
    for path, columns in tables.items():
        widest.setdefault(path.name, set()).update(columns)
    return [
        f"{path}: written by another version, without {', '.join(sorted(lacking))}; --fresh repeats the run"
        for path, columns in tables.items()
        if (lacking := widest[path.name] - set(columns))
    ]
