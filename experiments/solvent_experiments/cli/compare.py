"""Comparisons without a run: agents on the same episodes, and the environments beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from solvent import ENVIRONMENTS, LabParams
from solvent.lab.actions import action_table
from solvent.lab.ledger import append_jsonl
from solvent.lab.observation import observation_fields
from solvent_agents.agent import Agent
from solvent_experiments.artifacts.folder import REFUSALS
from solvent_experiments.artifacts.parquet import NO_SEED, Columns, joined, write_parquet
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import SEED_LIMIT, Evaluation, environment_params, known_agent
from solvent_experiments.measure.departures import mark_of
from solvent_experiments.measure.summary import energy_table, gate_table, summary, table, words_table
from solvent_experiments.run.evaluation import evaluate
from solvent_experiments.run.progress import shown_on

__all__ = ["environments_table", "evaluate_agents", "make_agent", "short_names"]

MODEL = "policy.safetensors"


def make_agent(name: str, params: LabParams) -> Agent:
    """A scripted agent by its name, or a trained one by its path or, where it is shipped, by its name.

    Raises:
        ConfigError: neither.
        ValueError: a policy that can't be used in these labs.
    """
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
    """Names for a table: of a model's path the last folders, as many as tell the models apart (``ppo/seed-0``)."""
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
    episodes: int,
    first_seed: int,
    *,
    out: Path | None,
    ledger: Path | None,
    console: Console,
) -> None:
    """Evaluate agents on the same episodes, print their table, and write what is asked for.

    Raises:
        ConfigError: an unknown agent or environment, a file that is there already, a ledger for several
        agents.
    """
    params = environment_params(env)
    if first_seed + episodes > SEED_LIMIT:
        raise ConfigError(f"got {first_seed}; allowed: seeds below {SEED_LIMIT}", key="--seed")
    if ledger is not None and len(names) > 1:
        raise ConfigError(f"got {len(names)} agents; allowed: one, whose refusals they are", key="--ledger")
    for option, path in (("--out", out), ("--ledger", ledger)):
        if path is not None and path.exists():
            raise ConfigError("exists already; allowed: a new file", file=path, key=option)
    agents = [make_agent(name, params) for name in names]
    evaluation = Evaluation(
        episodes=episodes,
        first_seed=first_seed,
        ledger_episodes=0 if ledger is None else min(episodes, 100_000),
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
            owner = {"agent": np.full(episodes, name, object), "training_seed": np.full(episodes, NO_SEED)}
            parts.append(owner | evaluated.episodes)
            if ledger is not None:
                append_jsonl(ledger, evaluated.ledgers[REFUSALS])
    if out is not None:
        write_parquet(out, joined(parts))
    title = f"{env}, seeds {first_seed} to {first_seed + episodes - 1}"
    rows = summary(joined(parts), params)
    console.print(table(rows, title=title, mark=mark_of(params, params)))
    if params.energy.enabled:
        console.print(energy_table(rows))
    if params.gate.enabled:
        console.print(gate_table(rows))
    if params.adequacy.enabled:
        console.print(words_table(rows))


def environments_table() -> Table:
    """Every registered environment: its preset and its sizes."""
    drawn = Table(
        title="Environments",
        title_style="bold",
        caption='gymnasium.make("solvent:ID"). Slots: most actions a heartbeat; most bits: all that can be known.',
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=0,
    )
    drawn.add_column("\nid", no_wrap=True)
    drawn.add_column("\npreset", no_wrap=True)
    for name in (
        "com-\npounds",
        "\nwells",
        "heart-\nbeats",
        "\nslots",
        "\nactions",
        "ob-\nserved",
        "most\nbits",
    ):
        drawn.add_column(name, justify="right")
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
        drawn.add_row(env, str(arguments.get("preset", "default")), *map(str, sizes), f"{params.ceiling:g}")
    return drawn
