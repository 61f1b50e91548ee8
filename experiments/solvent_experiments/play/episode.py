"""One episode: played with keys in a terminal, by lines of text elsewhere, or by an agent that is watched."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from solvent import LabEnv, LabParams
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.sheet import WIDTH, Sheet
from solvent_agents.agent import Agent, act_one, show_labs
from solvent_agents.rollout import DrawsLots
from solvent_experiments.cli.compare import make_agent
from solvent_experiments.config.experiment import environment_params
from solvent_experiments.measure.departures import mark_of
from solvent_experiments.play.debrief import Book, debrief
from solvent_experiments.play.game import Game, LeftError

__all__ = ["play_episode"]

HEIGHT = 23
"""Lines of the screen, less the input, where there is no terminal."""


def play_episode(env_id: str, agent: str | None, seed: int, delay: float, *, console: Console) -> None:
    """Play one episode, by a person or by ``agent``, and print its debrief."""
    params = environment_params(env_id)
    if mark := mark_of(params, params):
        console.print(mark, style="bold red")
    if agent is not None:
        book, summary = _watch(params, make_agent(agent, params), seed, delay, console)
        debrief(book, summary, agent, env_id, seed, console)
        return
    game = Game(params, seed)
    try:
        if console.is_terminal and not console.is_dumb_terminal:
            from solvent_experiments.play.screen import play_with_keys

            play_with_keys(game)
        else:
            _play_by_lines(game, console)
    except LeftError:
        _leave(game, env_id, seed, console)
        return
    except KeyboardInterrupt:
        _leave(game, env_id, seed, console)
        raise
    assert game.summary is not None
    debrief(game.book, game.summary, "you", env_id, seed, console)


def _leave(game: Game, level: str, seed: int, console: Console) -> None:
    console.print(
        f"{game.state()}\nThe same lab again: solvent play --env {level} --seed {seed}", highlight=False
    )


def _play_by_lines(game: Game, console: Console) -> None:
    from solvent_experiments.play.screen import PROMPT, compose

    shown = -1
    while game.summary is None:
        if shown != (shown := int(game.env.batch.labs["steps"][0])):
            console.print(Text.from_ansi(compose(game, "", -1, console.width, HEIGHT)))
        try:
            typed = console.input(PROMPT).rstrip()
            if not console.is_terminal:
                console.print(typed, highlight=False, markup=False)  # a pipe echoes nothing
            game.enter(typed)
        except EOFError:
            raise LeftError from None
        if game.answer or game.page:
            console.print("\n".join(filter(None, (game.page, game.answer))), highlight=False, markup=False)


def _watch(
    params: LabParams, agent: Agent, seed: int, delay: float, console: Console
) -> tuple[Book, dict[str, Any]]:
    """Show an agent at work. Return the book and the summary of the episode."""
    env = LabEnv(params)
    observation, info = env.reset(seed=seed)
    book = Book(env)
    if isinstance(agent, DrawsLots):
        agent.start([seed])
    height = console.height - 1 if console.is_terminal else None
    screen = Renderer(params, "ansi", sheet=Sheet(min(WIDTH, console.width), height))
    while True:
        if console.is_terminal:
            console.clear()
        console.print(Text.from_ansi(str(screen.draw(env.batch.labs[0], env.batch.steps[0]))))
        if "episode_summary" in info:
            return book, info["episode_summary"]
        time.sleep(delay)
        show_labs(agent, env.batch.labs, params)
        action = act_one(agent, observation, np.asarray(info["action_mask"], np.bool_))
        book.before(action)
        observation, *_, info = env.step(action)
        book.after()
