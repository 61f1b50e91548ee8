"""A run: train every seed, evaluate every agent on the same episodes, join the tables, draw the figures.

What is finished is skipped, what broke or was stopped goes on where it was, and nothing is overwritten.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from solvent import LabParams
from solvent_experiments import manifest as manifests
from solvent_experiments.columns import Columns, joined, read_parquet, write_parquet
from solvent_experiments.config import Experiment, environment_params, make_recipe
from solvent_experiments.documents import read_document
from solvent_experiments.files import sha256, write_json
from solvent_experiments.judged_by import judged_by
from solvent_experiments.marks import mark_of
from solvent_experiments.processes import run_tasks
from solvent_experiments.progress import Shown, shown_on
from solvent_experiments.report import energy_table, gate_table, summary, table, to_mapping, words_table
from solvent_experiments.store import RunFolder, Unit
from solvent_experiments.worker import Message, Task

__all__ = ["BrokenRunError", "Interrupted", "run_experiment", "show_results"]

UNITS = {"training": "steps", "evaluation": "episodes"}


class Interrupted(Exception):  # noqa: N818 - no error
    """The run was stopped; the same command goes on with it."""


class BrokenRunError(RuntimeError):
    """Some units broke. The message has a line for each."""


def run_experiment(
    experiment: Experiment,
    root: Path,
    *,
    jobs: int | None = None,
    quiet: bool = False,
    fresh: bool = False,
    console: Console | None = None,
) -> RunFolder:
    """Do what is not done yet of an experiment, in the folder ``root``.

    Args:
        experiment: what to run.
        root: the run's folder.
        jobs: processes at a time; by default one and a half a core, but no more than trainings.
        quiet: show nothing but the results.
        fresh: move what is in the folder aside first.
        console: where to show it.

    Raises:
        ConfigError: the folder is in use, or of another config.
        Interrupted: Ctrl-C or SIGTERM.
        BrokenRunError: a unit broke; the others are finished.
    """
    console = console or Console()
    folder = RunFolder(root)
    shown = shown_on(console, quiet=quiet)
    if fresh and (moved := folder.set_aside()):
        shown.say(f"moved the folder that was there to {moved}")
    with folder.locked(), _stop_on_signals(shown) as stop:
        folder.prepare(experiment)
        _do(experiment, folder, jobs or default_jobs(experiment), shown, stop)
    return folder


def default_jobs(experiment: Experiment) -> int:
    """One and a half for each core of the machine, but no more than there are trainings.

    Trainings take equally long: three on two cores, two at a time, would leave a core idle for half of the time.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores + cores // 2, len(experiment.train) * len(experiment.seeds)))


def show_results(folder: RunFolder, console: Console) -> None:
    """Print the table of agents and where the figures are."""
    found = json.loads(folder.summary.read_text(encoding="utf-8"))
    rows = summary(read_parquet(folder.episodes))
    params = LabParams.from_mapping(read_document(folder.config).data["params"])
    mark = mark_of(params, environment_params(found["env"]))
    console.print(table(rows, title=f"{found['name']} ({found['env']})", mark=mark))
    if rows[0].energy_spent is not None:
        console.print(energy_table(rows))
    if rows[0].verdicts_accept is not None:
        console.print(gate_table(rows))
    if rows[0].adequacy_0 is not None:
        console.print(words_table(rows))
    for path in sorted(folder.figures.glob("*.png")):
        console.print(str(path), highlight=False, soft_wrap=True)


def _do(experiment: Experiment, folder: RunFolder, jobs: int, shown: Shown, stop: threading.Event) -> None:
    units = folder.units(experiment)
    left = [unit for unit in units if not unit.finished]
    finished = json.loads(folder.manifest.read_text(encoding="utf-8")) if folder.manifest.exists() else {}
    if not left and finished.get("finished"):
        shown.say(f"{folder.root}: finished before; nothing to do")
        return
    session = manifests.new_session(jobs)
    manifest = {
        "name": experiment.name,
        "contaminated": experiment.contaminated,
        "switched_off": list(experiment.switched_off),
        "config_sha256": sha256(folder.config),
        "finished": None,
        "sessions": [*finished.get("sessions", []), session],
        "artifacts": {},
    }
    folder.write_manifest(manifest)
    status = "failed"
    try:
        with shown:
            if left:
                _work(experiment, left, jobs, shown, stop, session["seconds"])
            _join(experiment, folder, units)
            _draw(folder, shown, stop, session["seconds"])
        status = "finished"
        manifest["finished"] = manifests.now()
        manifest["artifacts"] = manifests.artifacts(folder.root)
    except Interrupted:
        status = "interrupted"
        raise
    finally:
        session |= {"finished": manifests.now(), "status": status}
        folder.write_manifest(manifest)


def _work(
    experiment: Experiment,
    left: list[Unit],
    jobs: int,
    shown: Shown,
    stop: threading.Event,
    seconds: dict[str, Any],
) -> None:
    """Train and evaluate what is left."""
    seconds["compilation"] = _timed(lambda: _compile(experiment, shown))
    learned = [Task(experiment, (unit,)) for unit in left if unit.seed is not None]
    scripted = tuple(unit for unit in left if unit.seed is None)
    # With more trainings than processes the bars of those that go on don't say when all are done.
    trained = _waiting_steps(experiment, left) if len(learned) > jobs else {}
    failures: dict[str, str] = {}
    noted: set[str] = set()

    def on_message(message: Message) -> None:
        if message.kind == "starting":
            shown.begin(message.label)
        elif message.kind == "note":
            if message.detail not in noted:
                noted.add(message.detail)
                shown.say(f"note: {message.detail}")
        elif message.kind == "warm_start":
            stage, counted = message.detail
            shown.update(message.label, stage, message.done, message.total, counted)
        elif message.kind in UNITS:
            shown.update(message.label, message.kind, message.done, message.total, UNITS[message.kind])
            if message.kind == "training" and message.label in trained:
                trained[message.label] = (message.done, message.total)
                done, total = (sum(column) for column in zip(*trained.values(), strict=True))
                shown.update("all trainings", "training", done, total, "steps")
        elif message.kind == "finished":
            seconds[message.label] = message.detail
            shown.end(message.label, _spoken(message.detail))
        elif message.kind == "failed":
            failures[message.label] = message.detail
            shown.end(message.label, f"failed: {message.detail}")
        else:
            shown.end(message.label, "stopped")

    tasks = learned + ([Task(experiment, scripted)] if scripted else [])
    run_tasks(tasks, jobs, on_message, stop.is_set)
    if stop.is_set():
        raise Interrupted
    if failures:
        places = {unit.label: unit.error for unit in left}
        lines = [f"{label}: {problem} (details: {places[label]})" for label, problem in failures.items()]
        raise BrokenRunError("\n".join(lines))


def _waiting_steps(experiment: Experiment, left: list[Unit]) -> dict[str, tuple[int, int]]:
    """Steps done and to do of every training that is not over, by label."""
    return {
        unit.label: (0, make_recipe(experiment.train[unit.agent]).n_timesteps)
        for unit in left
        if unit.seed is not None and not unit.training.exists()
    }


def _spoken(times: Mapping[str, float]) -> str:
    done = {"training": "trained", "evaluation": "evaluated"}
    return ", ".join(f"{done[stage]} in {seconds:.1f} s" for stage, seconds in times.items())


def _compile(experiment: Experiment, shown: Shown) -> None:
    """Compile the lab once, before several processes would each do it."""
    from solvent import LabEnv

    announce = threading.Timer(
        1.0, shown.say, ["compiling the lab; only the first run with such a lab waits for it"]
    )
    announce.start()
    try:
        env = LabEnv(experiment.params)
        env.reset(seed=0)
        env.step(0)
    finally:
        announce.cancel()


def _join(experiment: Experiment, folder: RunFolder, units: list[Unit]) -> None:
    """The tables of all units as one each, and the summary."""
    write_parquet(folder.episodes, joined([read_parquet(unit.episodes) for unit in units]))
    write_parquet(folder.traces, joined([read_parquet(unit.traces) for unit in units]))
    if trained := [unit for unit in units if unit.seed is not None]:
        write_parquet(folder.training, joined([_training(unit) for unit in trained]))
    if experiment.params.gate.enabled:
        write_json(folder.gate, judged_by(experiment.params))
    rows = summary(read_parquet(folder.episodes))
    about = to_mapping(
        rows,
        name=experiment.name,
        env=experiment.env,
        contaminated=experiment.contaminated,
        switched_off=experiment.switched_off,
    )
    write_json(folder.summary, about)


def _training(unit: Unit) -> Columns:
    import numpy as np

    columns = read_parquet(unit.training)
    rows = len(columns["steps"])
    seeds = np.full(rows, -1 if unit.seed is None else unit.seed, np.int64)
    return {"agent": np.full(rows, unit.agent, object), "training_seed": seeds, **columns}


def _draw(folder: RunFolder, shown: Shown, stop: threading.Event, seconds: dict[str, Any]) -> None:
    if stop.is_set():
        raise Interrupted
    from solvent_experiments.figures import draw_all

    def on_progress(done: int, total: int) -> None:
        shown.update("figures", "drawing", done, total, "figures")

    seconds["figures"] = _timed(lambda: draw_all(folder, on_progress=on_progress))
    shown.end("figures", f"drawn in {seconds['figures']:.1f} s")


def _timed(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return round(time.perf_counter() - started, 3)


@contextmanager
def _stop_on_signals(shown: Shown) -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set. A second one ends the run at once; checkpoints are kept even so."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_signal(*_: object) -> None:
        if stop.is_set():
            raise Interrupted
        stop.set()
        shown.say("stopping where it can go on (once more to stop at once)")

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
