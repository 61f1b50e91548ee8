"""The folder of a run: its files, and which of its units are finished. Nothing in it is overwritten.

    runs/quickstart/
      config.yaml manifest.json summary.json; gate.json on levels with a gate
      episodes.parquet training.parquet traces.parquet
      figures/learning_curve.png ...
      honest/episodes.parquet traces.parquet epistemic_refusals.jsonl; on levels with energy also
        cost_discomfort_log.jsonl energy_cost_proposals.jsonl, with a gate gate_verdicts.jsonl
      ppo/seed-0/policy.safetensors policy.json training.parquet tensorboard/ and the files of honest/
      MODEL/transcripts.jsonl endpoint.json and the files of honest/, for a language model

A *unit* is a scripted agent, a language model, or a learned agent with one training seed. The tables at the top join
those of all units.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent import LabParams
from solvent.lab.ledger import logs_of
from solvent_experiments.artifacts.files import locked, sha256, write_atomically, write_json
from solvent_experiments.artifacts.manifest import BLANK, read_manifest, text_sha256
from solvent_experiments.config.documents import ConfigError, dump_yaml, read_document
from solvent_experiments.config.experiment import Experiment

__all__ = [
    "DISCOMFORT",
    "ENDPOINT",
    "POLICY",
    "PROPOSALS",
    "REFUSALS",
    "TRANSCRIPTS",
    "VERDICTS",
    "RunFolder",
    "Unit",
    "differences",
    "ledger_names",
]

REFUSALS = "epistemic_refusals.jsonl"
DISCOMFORT = "cost_discomfort_log.jsonl"
PROPOSALS = "energy_cost_proposals.jsonl"
VERDICTS = "gate_verdicts.jsonl"
TRANSCRIPTS, ENDPOINT = "transcripts.jsonl", "endpoint.json"
POLICY = ("policy.safetensors", "policy.json", "training.parquet")
"""Files that a training leaves in the folder of its seed."""


def ledger_names(params: LabParams) -> tuple[str, ...]:
    """Return the file names of the ledgers that labs with these parameters keep."""
    return tuple(dict.fromkeys(log.file for log in logs_of(params)))


@dataclass(frozen=True)
class Unit:
    """An agent's folder.

    Attributes:
        agent: its name.
        seed: training seed; None for a script or a language model.
        folder: its place.
        ledgers: files of its evaluation's events.
        talks: it is a language model, whose evaluation is that of its transcripts.
    """

    agent: str
    seed: int | None
    folder: Path
    ledgers: tuple[str, ...] = ()
    talks: bool = False

    @property
    def label(self) -> str:
        """The unit's name in messages."""
        return self.agent if self.seed is None else f"{self.agent} seed {self.seed}"

    @property
    def model(self) -> Path:
        """The weights of the trained policy, written after ``policy.json``, which describes them."""
        return self.folder / "policy.safetensors"

    @property
    def training_log(self) -> Path:
        """Episodes of an unfinished training."""
        return self.folder / "training.bin"

    @property
    def training(self) -> Path:
        """Episodes of a finished training."""
        return self.folder / "training.parquet"

    @property
    def transcripts(self) -> Path:
        """Conversations of a language model. They are to it what the policy is to a learner."""
        return self.folder / TRANSCRIPTS

    @property
    def endpoint(self) -> Path:
        """Facts about a language model's conversations: prompt, schemas, model as the server names it."""
        return self.folder / ENDPOINT

    @property
    def ledger(self) -> Path:
        """Refusals of the first evaluation episodes."""
        return self.folder / REFUSALS

    @property
    def traces(self) -> Path:
        """Actions of the first evaluation episodes."""
        return self.folder / "traces.parquet"

    @property
    def episodes(self) -> Path:
        """Evaluation episodes. They are written last: a unit that has them is finished."""
        return self.folder / "episodes.parquet"

    @property
    def error(self) -> Path:
        """The traceback, if the unit failed."""
        return self.folder / "error.txt"

    @property
    def tables(self) -> list[Path]:
        """The unit's parts of the run's tables."""
        return [self.episodes, self.traces, *([] if self.seed is None else [self.training])]

    @property
    def files(self) -> list[Path]:
        """All files of the finished unit."""
        return [*self._of_training, *self._of_evaluation]

    @property
    def trained(self) -> bool:
        """True if both the policy and its training episodes are there."""
        return _there(self._of_training)

    @property
    def evaluated(self) -> bool:
        """True if tables and ledgers of the evaluation are there."""
        return _there(self._of_evaluation)

    @property
    def finished(self) -> bool:
        return _there(self.files)

    @property
    def _of_training(self) -> list[Path]:
        return [] if self.seed is None else [self.folder / name for name in POLICY]

    @property
    def _of_evaluation(self) -> list[Path]:
        talked = [self.transcripts, self.endpoint] if self.talks else []
        return [self.episodes, self.traces, *talked, *(self.folder / name for name in self.ledgers)]


def _there(files: list[Path]) -> bool:
    return all(path.exists() for path in files)


class RunFolder:
    """Paths of a run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config.yaml"
        self.manifest = root / "manifest.json"
        self.summary = root / "summary.json"
        self.gate = root / "gate.json"
        self.episodes = root / "episodes.parquet"
        self.training = root / "training.parquet"
        self.traces = root / "traces.parquet"
        self.figures = root / "figures"
        self._lock = root / ".lock"

    def unit(self, agent: str, seed: int | None = None, ledgers: tuple[str, ...] = ()) -> Unit:
        """Return the unit of an agent, or of one of its training seeds."""
        folder = self.root / agent
        return Unit(agent, seed, folder if seed is None else folder / f"seed-{seed}", ledgers)

    def units(self, experiment: Experiment) -> list[Unit]:
        """Return all units of an experiment; learned agents come first because they take longest."""
        ledgers = ledger_names(experiment.params)
        learned = [self.unit(agent, seed, ledgers) for agent in experiment.train for seed in experiment.seeds]
        scripts = [self.unit(agent, None, ledgers) for agent in experiment.agents]
        models = [Unit(name, None, self.root / name, ledgers, talks=True) for name in experiment.language]
        return learned + models + scripts

    def prepare(self, experiment: Experiment) -> str | None:
        """Make the folder, or check that it belongs to this experiment; training seeds may be added.

        Returns:
            A line if the run had lost its config, or had it in another form, and it was written again.
        """
        resolved = experiment.to_mapping()
        text, again = dump_yaml(resolved), None
        if self.config.exists():
            present = dict(read_document(self.config).data)
            if differs := self._conflict(present, resolved):
                raise ConfigError(
                    f"holds a run with another config ({differs}); allowed: another --out, or --fresh to move it aside",
                    file=self.root,
                )
            if present == resolved:
                if sha256(self.config) == text_sha256(text):
                    return None
                again = f"{self.config}: in another form; written again"
        elif self._lost(text):
            again = f"{self.config}: missing; written again"
        elif any(path != self._lock for path in self.root.iterdir()):
            raise ConfigError(
                "is not empty and no run; allowed: another --out, or --fresh to move it aside", file=self.root
            )
        write_atomically(self.config, text)
        return again

    def _lost(self, config: str) -> bool:
        """Return whether the manifest is that of a run with this config."""
        with suppress(ConfigError, OSError):
            return bool(read_manifest(self.manifest)["config_sha256"] == text_sha256(config))
        return False

    def _conflict(self, present: Mapping[str, Any], resolved: Mapping[str, Any]) -> str:
        seeds = present.get("seeds")
        added = isinstance(seeds, list) and all(seed in resolved["seeds"] for seed in seeds)
        return next(differences({**present, "seeds": resolved["seeds"]} if added else present, resolved), "")

    def set_aside(self) -> Path | None:
        """Rename the folder, if it exists, and return its new path, else None."""
        if not self.root.exists():
            return None
        with self.locked():
            pass
        stamp = time.strftime("%Y%m%d-%H%M%S")
        names = (
            f"{self.root.name}-before-{stamp}{suffix}" for suffix in ("", *(f"-{i}" for i in range(1, 1000)))
        )
        target = next(path for path in map(self.root.with_name, names) if not path.exists())
        self.root.rename(target)
        return target

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out of the folder; the operating system frees the lock of a process that is gone.

        Raises:
            ConfigError: another process is using the folder.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            try:
                held.enter_context(locked(self._lock, 0.0))
            except TimeoutError:
                raise ConfigError(
                    "another process is using this folder; allowed: one at a time", file=self.root
                ) from None
            yield

    def read_manifest(self) -> tuple[Mapping[str, Any], str | None]:
        """Return the manifest, a blank one if missing; a damaged one is set aside and a line about it is returned."""
        if not self.manifest.exists():
            return BLANK, None
        try:
            return read_manifest(self.manifest), None
        except ConfigError:
            aside = self.manifest.with_name("manifest.damaged.json")
            self.manifest.replace(aside)
            return BLANK, f"{self.manifest}: damaged; moved to {aside.name}, with the earlier sessions"

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        write_json(self.manifest, manifest)


def differences(left: Any, right: Any, key: str = "") -> Iterator[str]:
    """Yield a line for each difference of two configs: ``train.ppo.n_envs: 64 there, 256 here``."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for name in [*left, *(name for name in right if name not in left)]:
            inner = f"{key}.{name}" if key else str(name)
            yield from differences(left.get(name), right.get(name), inner)
    elif left != right:
        yield f"{key}: {left!r:.60} there, {right!r:.60} here"
