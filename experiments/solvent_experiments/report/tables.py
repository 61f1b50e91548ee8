"""Tables of a report: results, refusals by reason, what the config changes, with what the run was made.

The tables of results are those of the terminal (``measure.summary``), heading by heading, so a page says nothing
that a run does not say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table

from solvent import LabParams
from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.settings import ParamGroup
from solvent_experiments.config.experiment import Evaluation, environment_params
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import REASONS
from solvent_experiments.measure.statistics import mean_interval
from solvent_experiments.measure.summary import energy_table, gate_table, groups_of, table, words_table

__all__ = ["Change", "Plain", "config_changes", "plain", "refusal_table", "result_tables"]


class Plain(NamedTuple):
    """A table as texts: the first column names its rows."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str


class Change(NamedTuple):
    """A setting that is not what its level has."""

    key: str
    here: str
    default: str
    about: str


def plain(drawn: Table) -> Plain:
    """A terminal's table without its terminal: headings that were broken to fit are whole again."""
    headings = [" ".join(str(column.header).replace("-\n", "").split()) for column in drawn.columns]
    rows = zip(*(tuple(map(str, column.cells)) for column in drawn.columns), strict=True)
    return Plain(tuple(headings), tuple(rows), str(drawn.caption or ""))


def result_tables(run: RunData) -> list[Plain]:
    """Every table that the run prints when it is finished."""
    drawn = [table(run.rows, title="")]
    if run.params.energy.enabled:
        drawn.append(energy_table(run.rows))
    if run.params.gate.enabled:
        drawn.append(gate_table(run.rows))
    if run.params.adequacy.enabled:
        drawn.append(words_table(run.rows))
    return [plain(one) for one in drawn]


def refusal_table(run: RunData) -> Plain:
    """Refusals an episode by reason, with intervals, in the order of the results."""
    rows = []
    for row in run.rows:
        cells = []
        for reason in REFUSAL_REASONS:
            found = mean_interval(groups_of(run.episodes, row.agent, f"refusals_{reason}"))
            cells.append(f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})" if found.high else "0")
        rows.append((row.agent, *cells))
    headings = ("agent", *(REASONS[reason][0] for reason in REFUSAL_REASONS))
    logged = f"In the ledgers they are {', '.join(REFUSAL_REASONS)}."
    return Plain(headings, tuple(rows), f"Means an episode, with 95 % bootstrap intervals. {logged}")


# -- config


def config_changes(config: Mapping[str, Any]) -> list[Change]:
    """What the resolved config has that its level's defaults have not."""
    level = environment_params(str(config["env"]))
    defaults = dict(_flat(level.to_mapping(), "params"))
    abouts = dict(_abouts(level, "params"))
    defaults |= dict(_flat(Evaluation().model_dump(), "evaluation"))
    given = {
        key: config[key] for key in ("params", "agents", "seeds", "evaluation", "train") if config.get(key)
    }
    here = {key: value for name, part in given.items() for key, value in _flat(part, name)}
    return [
        Change(key, _shown(value), _shown(defaults[key]) if key in defaults else "", abouts.get(key, ""))
        for key, value in here.items()
        if key not in defaults or defaults[key] != value
    ]


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Nested mappings as rows: ``params.debt.threshold``."""
    if not isinstance(value, Mapping):
        yield key, value
        return
    for name, inner in value.items():
        yield from _flat(inner, f"{key}.{name}")


def _abouts(group: ParamGroup | LabParams, key: str) -> Iterator[tuple[str, str]]:
    """What each parameter is, and in which unit."""
    for field in dataclasses.fields(group):  # type: ignore[arg-type]
        inner = f"{key}.{field.name}"
        if field.metadata:
            yield inner, f"{field.metadata['doc']} ({field.metadata['unit']})"
        else:
            yield from _abouts(getattr(group, field.name), inner)


def _shown(value: Any) -> str:
    """As YAML would have it."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
