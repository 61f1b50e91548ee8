"""The folder of a run: its files, its tables, and which of its units are finished.

    runs/quickstart/
      config.yaml manifest.json summary.json; gate.json on levels with a gate
      episodes.parquet training.parquet traces.parquet
      figures/learning_curve.png ...
      honest/episodes.parquet traces.parquet epistemic_refusals.jsonl ...
      ppo/seed-0/policy.safetensors policy.json training.parquet tensorboard/ and the files of honest/

A *unit* is an agent, or a learner with one training seed. The tables at the top join those of all units. Every file is
written whole and then moved into place, and a unit's ``episodes.parquet`` comes last: a unit that has it is finished.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import yaml
from numpy.typing import NDArray

import solvent
from solvent.files import locked, nearest_path, write_atomically, write_json
from solvent.lab.columns import join_columns
from solvent_experiments.config import ConfigError, Experiment, read_json, read_yaml
from solvent_experiments.provenance import provenance
from solvent_experiments.statistics import Sample

Columns = dict[str, NDArray[Any]]
NO_SEED = -1
"""Marks "no training seed" in memory; in Parquet it is null."""
LANGUAGE = ("invalid_calls", "silent", "messages", "prompt_tokens", "answer_tokens", "stopped")
"""Columns that only the episodes of a language model have. The joined table of a run is without them."""
WRITTEN = "as `solvent run` wrote it"


class Unit:
    """An agent's part of a run; ``seed`` is None except for a learner."""

    def __init__(self, agent: str, seed: int | None, folder: Path) -> None:
        self.agent, self.seed, self.folder = agent, seed, folder
        self.label = agent if seed is None else f"{agent} seed {seed}"
        self.model = folder / "policy.safetensors"  # written after policy.json, which describes it
        self.training = folder / "training.parquet"
        self.traces = folder / "traces.parquet"
        self.episodes = folder / "episodes.parquet"  # the last one
        self.error = folder / "error.txt"

    def steps_left(self, experiment: Experiment) -> int:
        """Return the training steps that are left; 0 for what is not trained."""
        if self.seed is None:
            return 0
        return max(0, int((experiment.train[self.agent] or {}).get("n_timesteps", 0)) - self.steps)

    @property
    def steps(self) -> int:
        """The steps that its policy was trained for; 0 without one."""
        about = self.folder / "policy.json"
        if not (self.model.exists() and self.training.exists() and about.exists()):
            return 0
        try:
            return int(read_json(about, WRITTEN)["recipe"]["n_timesteps"])
        except (KeyError, TypeError, ValueError):
            raise ConfigError(f"no recipe with n_timesteps; allowed: {WRITTEN}", file=about) from None


class RunFolder:
    """The folder ``root`` of a run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config.yaml"
        self.manifest = root / "manifest.json"  # its "finished" is null until the run is
        self.summary = root / "summary.json"
        self.gate = root / "gate.json"  # kept with the run, so that a rebuilt gate changes no figure
        self.episodes = root / "episodes.parquet"
        self.traces = root / "traces.parquet"
        self.training = root / "training.parquet"
        self.figures = root / "figures"

    def experiment(self) -> Experiment:
        """Return the experiment of a run; raise ConfigError for a folder that holds none."""
        self._require_run()
        try:
            return Experiment.model_validate(read_yaml(self.config))
        except ValueError as error:
            problem = f"not the config of a run ({str(error).splitlines()[0]})"
            raise ConfigError(problem, file=self.config) from None

    def read_manifest(self) -> dict[str, Any]:
        """Return the manifest; raise ConfigError unless the run is finished."""
        self._require_run()
        manifest = read_json(self.manifest, WRITTEN) if self.manifest.exists() else {}
        if not isinstance(manifest, dict) or not manifest.get("finished"):
            message = "unfinished; allowed: a finished run (the same `solvent run` resumes it)"
            raise ConfigError(message, file=self.root)
        return manifest

    @property
    def finished(self) -> bool:
        """Whether the run is finished; an unreadable manifest counts as unfinished, and the tables are joined again."""
        try:
            return bool(self.read_manifest())
        except ConfigError:
            return False

    def _require_run(self) -> None:
        if not self.config.exists():
            allowed = nearest_path(self.root) or "; allowed: a folder that `solvent run` wrote"
            raise ConfigError(f"no run{allowed}", file=self.root)

    def unit(self, agent: str, seed: int | None = None) -> Unit:
        folder = self.root / agent
        return Unit(agent, seed, folder if seed is None else folder / f"seed-{seed}")

    def units(self, experiment: Experiment) -> list[Unit]:
        """Return all units of an experiment; learners come first because they take longest."""
        learned = [self.unit(agent, seed) for agent in experiment.train for seed in experiment.seeds]
        return learned + [self.unit(name) for name in [*experiment.language, *experiment.agent_names]]

    def prepare(self, experiment: Experiment) -> None:
        """Make the folder, or check that it belongs to this experiment; training seeds and steps may be added."""
        if self.config.exists():
            present = self.experiment()
            added = set(present.seeds) <= set(experiment.seeds)
            same = present.model_copy(update={"seeds": experiment.seeds}) if added else present
            longer = _longer(same.train, experiment.train)
            same = same.model_copy(
                update={"train": same.train | {name: experiment.train[name] for name in longer}}
            )
            if differs := first_difference(same.model_dump(), experiment.model_dump()):
                raise ConfigError(f"holds another config ({differs}); allowed: another --out", file=self.root)
            if (version := self._version()) not in (None, solvent.__version__):
                message = f"started with Solvent {version}; allowed: {solvent.__version__}, or another --out"
                raise ConfigError(message, file=self.root)
        elif any(path.name != ".lock" for path in self.root.iterdir()):
            raise ConfigError("is not empty and not a run; allowed: another --out", file=self.root)
        for unit in self.units(experiment):
            if unit.steps and unit.steps_left(experiment):  # the evaluation is of a shorter training
                unit.episodes.unlink(missing_ok=True)
        text = yaml.safe_dump(experiment.model_dump(), sort_keys=False, allow_unicode=True, width=110)
        if not self.config.exists() or self.config.read_text(encoding="utf-8") != text:
            write_atomically(self.config, text)

    def _version(self) -> str | None:
        """Return the version of Solvent that wrote the manifest, if it can be read."""
        try:
            return str(read_json(self.manifest, WRITTEN)["versions"]["solvent"])
        except (ConfigError, KeyError, TypeError):
            return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out of the folder."""
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            with locked(self.root / ".lock", 0.0):
                yield
        except filelock.Timeout:
            message = "another process is using this folder; allowed: one at a time"
            raise ConfigError(message, file=self.root) from None

    def write_manifest(
        self, experiment: Experiment, started: datetime, finished: datetime | None = None
    ) -> None:
        """Write what the results depend on besides the config: the command and the versions."""
        about = {
            **provenance(["solvent", *sys.argv[1:]]),
            "name": experiment.name,
            "env": experiment.env,
            "mark": experiment.mark,
            "started": started.isoformat(timespec="seconds"),
            "finished": finished and finished.isoformat(timespec="seconds"),
            "seconds": round(((finished or started) - started).total_seconds(), 1),
            "seeds": experiment.seeds,
            "agents": dict(zip(experiment.agent_names, experiment.agents, strict=True)),
        }
        write_json(self.manifest, about)


def _longer(present: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """Return the learners that are asked for more steps, and for nothing else that is new."""
    names = [name for name in present if name in asked and present[name] and asked[name]]
    return [
        name
        for name in names
        if [key for key, *_ in differences(present[name], asked[name])] == ["n_timesteps"]
        and asked[name]["n_timesteps"] > present[name]["n_timesteps"]
    ]


def first_difference(left: Any, right: Any) -> str | None:
    """Return the first difference of two configs as text, if there is one: ``debt.threshold 1.0 instead of 2.0``."""
    difference = next(differences(left, right), None)
    return difference and "{} {} instead of {}".format(*difference)


def differences(left: Any, right: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each difference of two configs as texts: the dotted key, and both values."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for name in [*left, *(name for name in right if name not in left)]:
            inner = f"{key}.{name}" if key else str(name)
            yield from differences(left.get(name), right.get(name), inner)
    elif left != right:
        yield key, f"{left!r:.60}", f"{right!r:.60}"


# -- tables


def flatten(columns: Mapping[str, Any]) -> Columns:
    """Return nested columns as flat ones: ``refusals`` becomes ``refusals_<reason>``, and ``refusals`` their sum."""
    flat: Columns = {}
    for name, column in columns.items():
        if isinstance(column, Mapping):
            flat[name] = np.sum([np.asarray(part) for part in column.values()], axis=0)
            flat |= {f"{name}_{inner}": np.asarray(part) for inner, part in column.items()}
        else:
            flat[name] = np.asarray(column)
    return flat


def joined(parts: Sequence[Columns]) -> Columns:
    """Return the rows of all parts in order. All parts have the same columns."""
    return join_columns(parts) if parts else {}


def owned(columns: Columns, agent: str, seed: int | None = None) -> Columns:
    """Return the columns after two others: the agent and its training seed, if it was trained."""
    rows = len(next(iter(columns.values())))
    seeds = np.full(rows, NO_SEED if seed is None else seed, np.int64)
    return {"agent": np.full(rows, agent, object), "training_seed": seeds, **columns}


def select(columns: Columns, rows: NDArray[Any]) -> Columns:
    """Return the rows of a mask or of an index array."""
    return {name: column[rows] for name, column in columns.items()}


def by_seed(columns: Columns, name: str) -> Sample:
    """Return a column of one agent's episodes as the statistics take it: a group for each training seed."""
    seeds = columns["training_seed"]
    groups = [columns[name][seeds == seed] for seed in np.unique(seeds)]
    return Sample(groups, trained=bool((seeds != NO_SEED).any()))


def pairs_of(first: Columns, second: Columns) -> tuple[Columns, Columns]:
    """Return the rows of two agents' episodes that all of their training seeds played, in the order of the seeds."""
    parts = (first, second)
    common = functools.reduce(
        np.intersect1d, [seeds for part in parts for seeds in by_seed(part, "episode_seed").groups]
    )
    ordered = [select(part, np.lexsort((part["episode_seed"], part["training_seed"]))) for part in parts]
    paired = [select(part, np.isin(part["episode_seed"], common)) for part in ordered]
    return paired[0], paired[1]


def write_parquet(path: Path, columns: Columns) -> None:
    """Write columns as Parquet; the same columns give the same bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    def arrow(name: str, column: NDArray[Any]) -> Any:
        if column.dtype == object:
            return pa.array(column, pa.string()).dictionary_encode()
        return pa.array(column, mask=column == NO_SEED if name == "training_seed" else None)

    buffer = io.BytesIO()
    table = pa.table({name: arrow(name, column) for name, column in columns.items()})
    parquet.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    write_atomically(path, buffer.getvalue())


def read_parquet(path: Path) -> Columns:
    """Return what ``write_parquet`` wrote; raise ConfigError for a missing or damaged file."""
    from pyarrow import parquet

    # Not `read_table`: its thread, if it still holds the file when the process ends, aborts it.
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as reader:
            table = reader.read(use_threads=False)
    except (OSError, ValueError) as error:
        reason = f"damaged ({str(error).partition('. ')[0]})"
        raise ConfigError(f"{reason}; move it away, and the same run makes it again", file=path) from None
    columns = {}
    for name in table.column_names:
        column = table[name].fill_null(NO_SEED) if name == "training_seed" else table[name]
        columns[name] = column.to_numpy()
    return columns
