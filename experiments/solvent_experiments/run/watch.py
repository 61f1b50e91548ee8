"""Messages of a run's workers: displayed, timed, and recorded in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from solvent_experiments.artifacts import manifest as manifests
from solvent_experiments.artifacts.folder import Unit
from solvent_experiments.config.experiment import Experiment, make_recipe
from solvent_experiments.run.progress import Shown
from solvent_experiments.run.worker import Message

__all__ = ["Watch", "waiting_steps"]

UNITS = {"training": "steps", "evaluation": "episodes"}
DONE = {"training": "trained", "evaluation": "evaluated"}


class Watch:
    """Receives the messages of all workers; ``failures`` maps labels to errors, ``full`` tells of a full disk.

    Args:
        shown: the progress display.
        session: the manifest's entry for this session; receives wall times and incidents.
        trained: steps done and total steps by label, if all trainings together are to have a bar.
        keep: called after each incident, to save the session.
    """

    def __init__(
        self,
        shown: Shown,
        session: dict[str, Any],
        trained: dict[str, tuple[int, int]],
        keep: Callable[[], None],
    ) -> None:
        self.failures: dict[str, str] = {}
        self.full: str | None = None
        self._shown = shown
        self._session = session
        self._trained = trained
        self._keep = keep
        self._noted: set[str] = set()

    def __call__(self, message: Message) -> None:
        kind, label, done, total, detail = message
        if kind == "starting":
            self._shown.begin(label)
        elif kind == "note":
            if detail not in self._noted:
                self._noted.add(detail)
                self._shown.say(f"note: {detail.removeprefix('solvent: ')}")
        elif kind in UNITS:
            self._progress(kind, label, done, total)
        elif kind == "incident":
            self._incident("went on", label, detail)
            self._shown.say(f"{label}: {detail}")
        else:
            self._end(message)

    def _progress(self, kind: str, label: str, done: int, total: int) -> None:
        self._shown.update(label, kind, done, total, UNITS[kind])
        if kind == "training" and label in self._trained:
            self._trained[label] = (done, total)
            together, of_all = (sum(column) for column in zip(*self._trained.values(), strict=True))
            self._shown.update("all trainings", "training", together, of_all, "steps")

    def _end(self, message: Message) -> None:
        kind, label, done, total, detail = message
        if kind == "finished":
            # A retried unit keeps the times of the stages that earlier tries completed.
            self._session["seconds"][label] = self._session["seconds"].get(label, {}) | detail
            said = _spoken(detail)
        elif kind == "lost":
            self._incident("tried again", label, detail)
            said = f"{detail}; retrying, attempt {done + 1} of {total}"
        elif kind == "full":
            self.full = self.full or detail
            self._incident("stopped", label, detail)
            said = f"stopped: {detail}"
        elif kind == "failed":
            self.failures[label] = detail
            self._incident("failed", label, detail)
            said = f"failed: {detail}"
        else:
            said = "stopped"
        self._shown.end(label, said)

    def _incident(self, outcome: str, label: str, said: str) -> None:
        self._session["incidents"].append(manifests.incident(outcome, label, said))
        self._keep()


def waiting_steps(experiment: Experiment, left: Iterable[Unit]) -> dict[str, tuple[int, int]]:
    """Return steps done and total steps of every unfinished training, by label."""
    return {
        unit.label: (0, make_recipe(experiment.train[unit.agent]).n_timesteps)
        for unit in left
        if unit.seed is not None and not unit.trained
    }


def _spoken(times: Mapping[str, float]) -> str:
    return ", ".join(f"{DONE[stage]} in {seconds:.1f} s" for stage, seconds in times.items())
