"""``solvent evaluate``: agents on the same episodes, under the rules that they were trained with or others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console

from solvent import ENVIRONMENTS, LabParams
from solvent_agents.learning.shipped import is_shipped_name
from solvent_experiments.config import (
    FIRST_SEED,
    ConfigError,
    Evaluation,
    environment_params,
    make_agent,
    policy_path,
)
from solvent_experiments.console import Progress
from solvent_experiments.evaluation import evaluate
from solvent_experiments.folder import Columns, differences, first_difference, joined, owned
from solvent_experiments.summary import result_tables, summary

DEFAULT = "Solvent/Debt-v0"
PAGE: Mapping[str, tuple[int, int]] = {"Solvent/Tiny-v0": (20_000, 4000)}
"""Episodes of the leaderboard, and those that agents play there which search, where they are not ``PAGES``."""
PAGES = (4000, 100)


class Rules(NamedTuple):
    """The labs of an evaluation: how they are called, the level's page, and their parameters.

    ``notes`` has a line for each policy that was trained under other rules.
    """

    name: str
    env: str
    params: LabParams
    notes: Sequence[str] = ()


def rules_for(agents: Sequence[str], env: str | None, changes: Mapping[str, Any]) -> Rules:
    """Return the rules to play: those asked for, else those that the policies among the agents were trained with.

    Raises:
        ConfigError: the policies were trained under different rules, and none are asked for.
    """
    trained, unread = _trained_with(agents)
    if env is not None or changes:
        rules = _rules_asked_for(env or DEFAULT, changes)
    elif trained:
        rules = _rules_of_policies(trained)
    else:
        env = next((name.partition(":")[2] for name in agents if is_shipped_name(name)), DEFAULT)
        rules = Rules(env, env, environment_params(env))
    notes = [
        f"{name} was trained under other rules: {difference}"
        for name, params in trained.items()
        if (difference := first_difference(params.to_mapping(), rules.params.to_mapping()))
    ]
    notes += [
        f"{name}: the rules that it was trained with can't be read ({why})" for name, why in unread.items()
    ]
    return rules._replace(notes=notes)


def _trained_with(agents: Sequence[str]) -> tuple[dict[str, LabParams], dict[str, str]]:
    """Return the rules that each policy among the agents was trained with, and why some can't be read."""
    trained, unread = {}, {}
    for name, path in ((name, policy_path(name)) for name in agents):
        if path is not None:
            from solvent_agents.learning.policy_file import PolicyFileError, rules_of

            try:
                trained[name] = rules_of(path)
            except PolicyFileError as error:
                unread[name] = str(error)
    return trained, unread


def _rules_asked_for(env: str, changes: Mapping[str, Any]) -> Rules:
    """Return the rules of a level with changes, which are in their name."""
    params = environment_params(env, changes)
    usual = environment_params(env).to_mapping()
    changed = [f"{key}={value}" for key, _, value in differences(usual, params.to_mapping())]
    return Rules(", ".join([env, *changed]), env, params)


def _rules_of_policies(trained: Mapping[str, LabParams]) -> Rules:
    """Return the rules that all of these policies were trained with; raise ConfigError if they differ."""
    name, params = next(iter(trained.items()))
    for other, rules in trained.items():
        if difference := first_difference(rules.to_mapping(), params.to_mapping()):
            problem = (
                f"trained under other rules than {name} ({difference}); allowed: --env or --params for both"
            )
            raise ConfigError(problem, key=other)
    level = next((env for env in ENVIRONMENTS if environment_params(env) == params), None)
    return Rules(level or f"the rules of {name}", level or "", params)


def evaluate_agents(
    agents: Sequence[str], rules: Rules, episodes: int | None, seed: int, console: Console
) -> None:
    """Play all agents on the same episodes, by default those of the level's leaderboard, and print the tables.

    Raises:
        ConfigError: two agents have the same name.
    """
    usual, slow = PAGE.get(rules.env, PAGES)
    evaluation = Evaluation(
        episodes=episodes or usual, slow_episodes=episodes or slow, first_seed=seed, trace_episodes=0
    )
    parts: list[Columns] = []
    with Progress(console) as progress:
        for name, agent, trained in _made(agents, rules.params):

            def on_progress(done: int, total: int, name: str = name) -> None:
                progress.update(name, done / total, f"{done:,} of {total:,} episodes")

            result = evaluate(agent, rules.params, evaluation, on_progress=on_progress)
            assert result is not None, "nothing stops it"
            # A policy is one training seed.
            parts.append(owned(result.episodes, name, 0 if trained else None))
    title = f"{rules.name}, seeds {seed} to {seed + evaluation.episodes - 1}"
    if rules.env and (evaluation.episodes, seed) != (usual, FIRST_SEED):
        title += f" (the leaderboard: {FIRST_SEED} to {FIRST_SEED + usual - 1})"
    for table in result_tables(summary(joined(parts), rules.params), title=title):
        console.print(table.terminal())
    for note in rules.notes:
        console.print(note, highlight=False, soft_wrap=True)


def _made(agents: Sequence[str], params: LabParams) -> list[tuple[str, Any, bool]]:
    """Return each agent with its name, and whether it is a trained policy."""
    from solvent_agents.registry import OWN

    made: dict[str, tuple[str, Any, bool]] = {}
    for given in agents:
        agent = make_agent(given, params)
        name = agent.name if OWN.fullmatch(given) else given
        if name in made:
            raise ConfigError(f"got a second agent named {name!r:.80}; allowed: one", key=given)
        made[name] = name, agent, policy_path(given) is not None
    return list(made.values())
