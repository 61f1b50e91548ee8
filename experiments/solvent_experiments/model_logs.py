"""Language models in a run: the evaluation logs of ``inspect_ai``, played again from their actions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from solvent import LabParams
from solvent.lab.arguments import Argument, argue
from solvent_agents.agent import Actions
from solvent_agents.language.bench import Bench
from solvent_experiments.config import (
    ConfigError,
    Evaluation,
    Experiment,
    LanguageModel,
    environment_params,
    runnable,
)
from solvent_experiments.folder import Columns

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

CONDITIONS = {"beliefs": "hidden", "explanation": "unexplained"}
"""Argument of the task -> what a model's name ends in where it is off."""
SILENT = {
    "max_tokens": "were cut: a larger --max-tokens leaves room for a call",
    "content_filter": "were filtered by the server",
    "unknown": "ended for a reason that the server does not explain",
    "stop": "have no call: where the log shows calls as text, -M emulate_tools=true may help",
    "tool_calls": "announce a call and have none: the server writes calls in a form that is not read",
}
"""Why a model stopped -> what an answer without a call may come from."""

ENDS = {"over": "of the lab", "left": "by leaving", "invalid calls": "by too many invalid calls"}
"""How the episode of a model ended."""


class Log(NamedTuple):
    """A log of the task ``solvent_agents/lab``: its file, the task's arguments, the model, and its episodes by seed."""

    path: Path
    arguments: dict[str, Any]
    model: str
    episodes: dict[int, dict[str, Any]]

    @property
    def name(self) -> str:
        """The model's name as that of an agent and its folder, with the conditions it played under."""
        ends = [end for argument, end in CONDITIONS.items() if not self.arguments[argument]]
        return "-".join([re.sub(r"[^A-Za-z0-9._-]+", "-", self.model)[-60:].lstrip("._-"), *ends])

    def notes(self) -> list[str]:
        """Return a line on invalid calls and ends of episodes, and one for each cause of answers without a call."""
        episodes = self.episodes.values()
        invalid = sum(episode["invalid_calls"] for episode in episodes) / len(episodes)
        ended = Counter(episode["stopped"] for episode in episodes)
        ends = ", ".join(f"{n:,} {ENDS[why]}" for why, n in ended.most_common())
        counted = sum((Counter(episode["silent"]) for episode in episodes), Counter[str]())
        return [
            f"{self.name}: {invalid:.1f} invalid calls per episode; ends: {ends}",
            *(
                f"{self.name}: {n:,} answers {SILENT.get(why, f'({why})')}"
                for why, n in counted.most_common()
            ),
        ]


def read_log(path: Path) -> Log:
    """Return a log of an evaluation; raise ConfigError unless all of its episodes have ended."""
    log = _evaluation(path)
    episodes = {}
    for sample in log.samples or []:
        if kept := _scored(sample):
            episodes[int(sample.id)] = kept | _counts(sample)
    asked = [int(one) for one in log.eval.dataset.sample_ids or []]
    if missing := [seed for seed in asked if seed not in episodes]:
        failed = f"; {_reason(log.error.message, log.error.traceback)}" if log.error else ""
        fault = f"{len(missing)} of {len(asked)} episodes have not ended (seed {missing[0]}){failed}"
        raise ConfigError(f"{fault}; allowed: all, as after `inspect eval-retry {path}`", file=path)
    return Log(path, log.eval.task_args, log.eval.model, dict(sorted(episodes.items())))


def _evaluation(path: Path) -> EvalLog:
    """Load a log of inspect; raise ConfigError unless it is one of an evaluation in the lab."""
    try:
        from inspect_ai.log import read_eval_log
    except ModuleNotFoundError as error:
        from solvent.extras import install

        raise ConfigError(f"needs the package {error.name}: {install('language')}", file=path) from None
    allowed = "a log of `inspect eval solvent_agents/lab`"
    if not path.is_file():
        raise ConfigError(f"no such file; allowed: {allowed}", file=path)
    try:
        log = read_eval_log(str(path))
    except Exception as error:
        raise ConfigError(f"not a log ({type(error).__name__}); allowed: {allowed}", file=path) from None
    needed = {"env", "seed", "salt", *CONDITIONS}
    if log.eval.task.rpartition("/")[2] != "lab" or not needed <= set(log.eval.task_args):
        raise ConfigError(f"of the task {log.eval.task!r:.80}; allowed: {allowed}", file=path)
    return log


def _scored(sample: EvalSample) -> dict[str, Any] | None:
    """Return what the scorer keeps of an episode; None where it has no score."""
    score = (sample.scores or {}).get("score_in_bits")
    return score.metadata if score is not None and sample.error is None else None


def _counts(sample: EvalSample) -> dict[str, int]:
    usage = list(sample.model_usage.values())
    prompt, total = sum(one.input_tokens for one in usage), sum(one.total_tokens for one in usage)
    answers = sum(message.role == "assistant" for message in sample.messages)
    return {"messages": answers, "prompt_tokens": prompt, "answer_tokens": total - prompt}


def _reason(message: str, traceback: str) -> str:
    """Return why an evaluation failed, in one line.

    Where a server refused a request, inspect's message begins with the request; the server's own words are in the last
    line of the traceback. An answer that can't be read is a validation error, of which three lines tell what and where.
    """
    last = (traceback.strip().splitlines() or [""])[-1]
    refused = re.fullmatch(r"(?:\w+\.)*\w*Error\((['\"])(.*)\1\)", last)
    if refused:
        return f"the server refused: {refused[2]:.300}"
    return f"{' '.join(' '.join(message.strip().splitlines()[:3]).split()):.300}"


def experiment_of_logs(
    paths: Sequence[Path], name: str, agents: Sequence[str]
) -> tuple[Experiment, list[str]]:
    """Return the experiment in which the models of logs and scripted agents play the same episodes, and notes."""
    logs = [read_log(path) for path in paths]
    first, lab = logs[0], _lab_of(logs[0])
    for place, log in enumerate(logs[1:], 1):
        for key in ("env", "salt"):
            if log.arguments[key] != first.arguments[key]:
                fault = f"{key} {log.arguments[key]!r:.60}; allowed: {first.arguments[key]!r:.60}, as in {first.path}"
                raise ConfigError(fault, file=log.path)
        if _lab_of(log) != lab:
            fault = f"beliefs {log.arguments['beliefs']} is another lab; allowed: as in {first.path}"
            raise ConfigError(fault, file=log.path)
        if list(log.episodes) != list(first.episodes):
            raise ConfigError(f"other seeds; allowed: those of {first.path}", file=log.path)
        if log.name in [other.name for other in logs[:place]]:
            raise ConfigError(f"a second log of {log.name}; allowed: one", file=log.path)
    seeds = list(first.episodes)
    if seeds != list(range(seeds[0], seeds[0] + len(seeds))):
        raise ConfigError("seeds are not consecutive; allowed: seeds without gaps", file=first.path)
    experiment = Experiment(
        name=name,
        env=first.arguments["env"],
        params=lab.to_mapping(),
        agents=list(agents),
        language={
            log.name: LanguageModel(
                log=str(log.path.resolve()),
                model=log.model,
                **{argument: bool(log.arguments[argument]) for argument in CONDITIONS},
            )
            for log in logs
        },
        evaluation=Evaluation(episodes=len(seeds), first_seed=seeds[0], salt=first.arguments["salt"]),
    )
    experiment = runnable(experiment, Path())
    return experiment, [note for log in logs for note in log.notes()]


def _lab_of(log: Log) -> LabParams:
    """Return the lab that a model played: hidden beliefs may change what it observes and publishes."""
    return Bench(environment_params(log.arguments["env"]), beliefs=bool(log.arguments["beliefs"])).params


class Recorded:
    """Takes recorded actions in labs with their seeds; a lab's randomness depends on its seed alone."""

    name = "recorded"

    def __init__(
        self,
        params: LabParams,
        actions: Mapping[int, Sequence[int]],
        arguments: Mapping[int, Mapping[str, Sequence[Any]]],
    ) -> None:
        """Make the agent of these actions by seed; after them a lab gets action 0.

        ``arguments`` are those of proposals, by seed and by the number of actions before them.
        """
        self._params, self._actions, self._most = params, actions, params.most_steps
        self._arguments = arguments

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin the episodes of these seeds, one per row."""
        rows = [[*self._actions[seed], *[0] * self._most][: self._most] for seed in lab_seeds]
        self._steps = iter(np.array(rows, np.int64).T)
        self._seeds, self._step = list(lab_seeds), -1

    def act(self, *_: Any) -> Actions:
        """Return the next action of each lab."""
        self._step += 1
        return next(self._steps)

    def argue(self, labs: Any) -> list[str]:
        """Write the recorded arguments for these actions into the labs' records, and return their reasons."""
        given = [self._arguments.get(seed, {}).get(str(self._step)) for seed in self._seeds]
        for lab, argument in zip(labs, given, strict=True):
            if argument is not None:
                argue(self._params, lab, Argument(*argument))
        return [argument[3] if argument else "" for argument in given]


def recorded(experiment: Experiment, name: str) -> tuple[Recorded, Columns]:
    """Return the agent that takes a model's actions, and the columns of its episodes that no other agent has."""
    from solvent_agents.language.calls import salted

    episodes = read_log(Path(experiment.language[name].log)).episodes
    salt, rows = experiment.evaluation.salt, list(episodes.values())
    actions = {salted(salt, seed): episode["actions"] for seed, episode in episodes.items()}
    arguments = {salted(salt, seed): episode.get("arguments", {}) for seed, episode in episodes.items()}
    counts = ("messages", "prompt_tokens", "answer_tokens", "invalid_calls")
    columns = {key: np.array([row[key] for row in rows]) for key in counts}
    columns["silent"] = np.array([sum(row["silent"].values()) for row in rows])
    columns["stopped"] = np.array([row["stopped"] for row in rows], object)
    return Recorded(experiment.lab, actions, arguments), columns
