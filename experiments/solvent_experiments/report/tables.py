"""Tables of a report in addition to the results: refusals by reason, and the config's changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from solvent import LabParams
from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.settings import ParamGroup
from solvent_experiments.config.experiment import Evaluation, environment_params
from solvent_experiments.config.reference import shown
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import REASONS
from solvent_experiments.measure.statistics import mean_interval
from solvent_experiments.measure.summary import groups_of
from solvent_experiments.measure.table import Table

__all__ = ["Change", "config_changes", "refusal_table"]


class Change(NamedTuple):
    """A setting that differs from its level's default."""

    key: str
    here: str
    default: str
    about: str


def refusal_table(run: RunData) -> Table:
    """Return the mean refusals per episode by reason, with intervals, in the order of the results."""
    rows = []
    for row in run.rows:
        cells = []
        for reason in REFUSAL_REASONS:
            found = mean_interval(groups_of(run.episodes, row.agent, f"refusals_{reason}"))
            cells.append(f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})" if found.high else "0")
        rows.append((row.agent, *cells))
    headings = ("agent", *(REASONS[reason][0] for reason in REFUSAL_REASONS))
    logged = f"Their names in the ledgers: {', '.join(REFUSAL_REASONS)}."
    return Table(headings, tuple(rows), caption=f"Means per episode with 95 % bootstrap intervals. {logged}")


# -- config


def config_changes(config: Mapping[str, Any]) -> list[Change]:
    """Return the settings of the resolved config that differ from the level's defaults."""
    level = environment_params(str(config["env"]))
    defaults = dict(_flat(level.to_mapping(), "params"))
    abouts = dict(_abouts(level, "params"))
    defaults |= dict(_flat(Evaluation().model_dump(), "evaluation"))
    given = {
        key: config[key] for key in ("params", "agents", "seeds", "evaluation", "train") if config.get(key)
    }
    here = {key: value for name, part in given.items() for key, value in _flat(part, name)}
    return [
        Change(key, shown(value), shown(defaults[key]) if key in defaults else "", abouts.get(key, ""))
        for key, value in here.items()
        if key not in defaults or defaults[key] != value
    ]


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield nested mappings as rows such as ``params.debt.threshold``."""
    if not isinstance(value, Mapping):
        yield key, value
        return
    for name, inner in value.items():
        yield from _flat(inner, f"{key}.{name}")


def _abouts(group: ParamGroup | LabParams, key: str) -> Iterator[tuple[str, str]]:
    """Yield the description and unit of each parameter."""
    for field in dataclasses.fields(group):  # type: ignore[arg-type]
        inner = f"{key}.{field.name}"
        if field.metadata:
            yield inner, f"{field.metadata['doc']} ({field.metadata['unit']})"
        else:
            yield from _abouts(getattr(group, field.name), inner)
