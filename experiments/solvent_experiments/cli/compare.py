"""Comparisons without a run: agents on the same episodes, and a table of the environments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from solvent import ENVIRONMENTS, LabParams
from solvent.lab.actions import action_table
from solvent.lab.ledger import append_jsonl
from solvent.lab.observation import observation_fields
from solvent_agents.agent import Agent
from solvent_experiments.artifacts.folder import REFUSALS
from solvent_experiments.artifacts.parquet import Columns, joined, owned, write_parquet
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import SEED_LIMIT, Evaluation, environment_params, known_agent
from solvent_experiments.measure.departures import mark_of
from solvent_experiments.measure.results import drawn_results
from solvent_experiments.measure.summary import summary
from solvent_experiments.measure.table import Table
from solvent_experiments.run.evaluation import evaluate
from solvent_experiments.run.progress import shown_on

__all__ = ["environments_table", "evaluate_agents", "make_agent", "short_names"]

MODEL = "policy.safetensors"


def make_agent(name: str, params: LabParams) -> Agent:
    """Return a scripted agent by name, or a trained one by path or shipped name."""
    from solvent_agents.learning.shipped import is_shipped_name, shipped_policy

    path = Path(name)
    if is_shipped_name(name):
        from solvent_agents.learning.learned import LearnedAgent

        return LearnedAgent.load(shipped_policy(name), params)
    if path.suffix in (".zip", ".safetensors", ".json") or len(path.parts) > 1 or path.is_file():
        from solvent_agents.learning.learned import LearnedAgent

        return LearnedAgent.load(path, params)
    from solvent_agents import PLAYERS

    known_agent(name)
    return PLAYERS[name](params, 0)


def short_names(names: Sequence[str]) -> list[str]:
    """Return names for a table; a model's path is cut to the last folders that distinguish it (``ppo/seed-0``)."""
    short = {}
    for name in dict.fromkeys(names):
        folders = Path(name).parent.parts
        if Path(name).name != MODEL or len(folders) < 2:
            short[name] = name
            continue
        others = [Path(other).parent.parts for other in names if other != name]
        alike = [n for n in range(2, len(folders) + 1) if all(other[-n:] != folders[-n:] for other in others)]
        short[name] = Path(*folders[-alike[0] :]).as_posix() if alike else name
    return [short[name] for name in names]


def evaluate_agents(
    names: Sequence[str],
    env: str,
    seeds: range,
    *,
    out: Path | None,
    ledger: Path | None,
    console: Console,
) -> None:
    """Evaluate agents on the same episodes, print their table, and write the requested files."""
    params = environment_params(env)
    if seeds.stop > SEED_LIMIT:
        raise ConfigError(f"got {seeds.start}; allowed: seeds below {SEED_LIMIT}", key="--seed")
    if ledger is not None and len(names) > 1:
        raise ConfigError(f"got {len(names)} agents; allowed: one, whose refusals they are", key="--ledger")
    for option, path in (("--out", out), ("--ledger", ledger)):
        if path is not None and path.exists():
            raise ConfigError("exists already; allowed: a new file", file=path, key=option)
    agents = [make_agent(name, params) for name in names]
    evaluation = Evaluation(
        episodes=len(seeds),
        first_seed=seeds.start,
        ledger_episodes=0 if ledger is None else min(len(seeds), 100_000),
        trace_episodes=0,
    )
    names = short_names(names)
    parts: list[Columns] = []
    shown = shown_on(console)
    with shown:
        for name, agent in zip(names, agents, strict=True):

            def on_progress(done: int, total: int, name: str = name) -> None:
                shown.update(name, "evaluation", done, total, "episodes")

            evaluated = evaluate(agent, params, evaluation, on_progress=on_progress)
            assert evaluated is not None
            parts.append(owned(evaluated.episodes, name))
            if ledger is not None:
                append_jsonl(ledger, evaluated.ledgers[REFUSALS])
    episodes = joined(parts)
    if out is not None:
        write_parquet(out, episodes)
    title = f"{env}, seeds {seeds.start} to {seeds.stop - 1}"
    for drawn in drawn_results(summary(episodes, params), title=title, mark=mark_of(params, params)):
        console.print(drawn)


def environments_table() -> Table:
    rows = []
    for env, arguments in ENVIRONMENTS.items():
        params = environment_params(env)
        sizes = (
            len(params.assay.compounds),
            params.budget.wells,
            params.budget.heartbeats,
            params.slots,
            len(action_table(params)),
            len(observation_fields(params)),
        )
        preset = str(arguments.get("preset", "default"))
        rows.append((env, preset, *map(str, sizes), f"{params.ceiling:g}"))
    return Table(
        ("id", "preset", "compounds", "wells", "heartbeats", "slots", "actions", "observed", "most bits"),
        tuple(rows),
        title="Environments",
        caption='gymnasium.make("solvent:ID"). Slots: most actions a heartbeat; most bits: all that can be known.',
        left=("preset",),
        lines={
            "compounds": "com-\npounds",
            "heartbeats": "heart-\nbeats",
            "observed": "ob-\nserved",
            "most bits": "most\nbits",
        },
    )
