"""Episodes of a language model: several at once, interrupted without loss, their transcripts in order of seeds.

The threads only wait for answers. Every answer is in the cache before it is used, so an interrupted game is played
again without another request.
"""

from __future__ import annotations

import hashlib
import json
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from solvent.chat import Budget, EndpointError, Usage
from solvent.files import write_atomically, write_json
from solvent_agents.language.conversation import Message, Model, converse
from solvent_agents.language.desk import Desk
from solvent_agents.language.prompt import instructions
from solvent_agents.language.tools import schemas
from solvent_agents.language.transcript import line_of
from solvent_experiments.config import Experiment
from solvent_experiments.console import Progress
from solvent_experiments.folder import Unit
from solvent_experiments.language.transcripts import desk_of
from solvent_experiments.run import Interrupted

__all__ = ["Game", "key_of", "play"]

EVERY = 0.2  # seconds between updates of the progress
MOST_IN_A_ROW = 8
"""Episodes without an answer, one after the other, that end a game: the endpoint is down."""


@dataclass(frozen=True)
class Game:
    """A model's part of an experiment.

    Attributes:
        experiment: the experiment.
        unit: the model's unit.
        model: makes the model of an episode from its desk and seed.
        budget: what its requests may use, and their prices.
        concurrency: number of episodes at once.
        sampling: fields of the requests, as they are sent.
    """

    experiment: Experiment
    unit: Unit
    model: Callable[[Desk, int], Model]
    budget: Budget
    concurrency: int
    sampling: Mapping[str, Any] = field(default_factory=dict)


def key_of(experiment: Experiment) -> bytes:
    """Return the identity of an experiment's games, by which the cache knows what they paid for."""
    return hashlib.sha256(experiment.model_dump_json().encode()).digest()


class _Stopped(Exception):  # noqa: N818 - no error
    pass


def play(game: Game, shown: Progress, should_stop: Callable[[], bool]) -> None:
    """Play all episodes and write the model's transcripts.

    Raises:
        Interrupted: ``should_stop`` became true.
        ChatError: the endpoint can't be used, or the budget is spent.
    """
    hall = _Hall(game, should_stop)
    total = game.experiment.evaluation.episodes * game.experiment.lab.budget.heartbeats
    label = game.unit.agent
    while not hall.over:
        time.sleep(EVERY)
        spent = f", {game.budget.spent:.2f} spent" if any(game.budget.prices) else ""
        said = f"playing, {hall.heartbeats:,} of {total:,} heartbeats, {game.budget.used:,} tokens{spent}"
        shown.update(label, hall.heartbeats / total, said)
    if hall.problem is not None:
        raise hall.problem
    if should_stop():
        raise Interrupted
    lines = [hall.lines[seed] for seed in game.experiment.evaluation.seeds]
    write_atomically(game.unit.transcripts, "".join(lines))
    write_json(game.unit.endpoint, about(game, [json.loads(line) for line in lines]))
    shown.end(label, f"played {len(hall.lines)} episodes")


def about(game: Game, played: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts about a model's conversations, from their transcripts."""
    model, params = game.experiment.language[game.unit.agent], game.experiment.lab
    prompt = instructions(params, beliefs=model.beliefs == "shown", explanation=model.explanation)
    return {
        **model.model_dump(),
        "sampling": dict(game.sampling),
        "served": sorted({name for one in played for name in one["served"]}),
        "prompt_sha256": _sha256(prompt),
        "schemas_sha256": _sha256(json.dumps(schemas(params), sort_keys=True)),
        "stopped": dict(Counter(one["stopped"] for one in played)),
        "invalid_calls": sum(one["invalid"] for one in played),
        "prompt_tokens": sum(one["usage"]["prompt"] for one in played),
        "answer_tokens": sum(one["usage"]["answer"] for one in played),
        "cost": sum(one["cost"] for one in played),
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Hall:
    """The desks at which a game is played, one a thread."""

    def __init__(self, game: Game, should_stop: Callable[[], bool]) -> None:
        self.lines: dict[int, str] = {}
        self.problem: Exception | None = None
        self._game, self._should_stop, self._in_a_row = game, should_stop, 0
        self._seeds: queue.SimpleQueue[int] = queue.SimpleQueue()
        for seed in game.experiment.evaluation.seeds:
            self._seeds.put(seed)
        self._desks = [
            desk_of(game.experiment, game.experiment.language[game.unit.agent])
            for _ in range(min(game.concurrency, game.experiment.evaluation.episodes))
        ]
        # Daemons: a second Ctrl-C ends the process although answers are awaited.
        self._threads = [
            threading.Thread(target=self._sit, args=(desk,), daemon=True) for desk in self._desks
        ]
        for thread in self._threads:
            thread.start()

    @property
    def over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def heartbeats(self) -> int:
        """Heartbeats that are over, in all episodes."""
        running = sum(
            int(desk._env.batch.labs["heartbeat"][0]) for desk in self._desks if desk._summary is None
        )
        return len(self.lines) * self._game.experiment.lab.budget.heartbeats + running

    def _sit(self, desk: Desk) -> None:
        try:
            while not self._should_stop() and self.problem is None:
                self._play(desk, self._seeds.get_nowait())
        except (queue.Empty, _Stopped):
            pass
        except Exception as error:
            self.problem = error

    def _play(self, desk: Desk, seed: int) -> None:
        game = self._game
        model = game.model(desk, seed)
        settings = game.experiment.language[game.unit.agent]
        episode = converse(desk, _Stoppable(model, self._stop), seed, explanation=settings.explanation)
        usage: Usage = getattr(model, "usage", Usage(0, 0))
        problem = getattr(model, "problem", "")
        self._in_a_row = self._in_a_row + 1 if problem else 0
        if self._in_a_row == MOST_IN_A_ROW:
            raise EndpointError(f"{problem}; so it went for {MOST_IN_A_ROW} episodes in a row")
        self.lines[seed] = line_of(
            episode,
            {
                "env": game.experiment.env,
                "model": settings.model,
                "served": getattr(model, "served", []),
                "problem": problem,
                "usage": usage._asdict(),
                "cost": game.budget.cost(usage),
            },
        )

    def _stop(self) -> bool:
        return self._should_stop() or self.problem is not None


class _Stoppable:
    """Asks a model until the game is stopped."""

    def __init__(self, model: Model, should_stop: Callable[[], bool]) -> None:
        self._model, self._should_stop = model, should_stop

    def answer(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        if self._should_stop():
            raise _Stopped
        return self._model.answer(messages, tools)
