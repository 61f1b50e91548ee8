"""``solvent debt``: an agent under epistemic debt, its refusals printed in full."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solvent_experiments.console import new_console

__all__ = ["app"]

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Play an agent under epistemic debt: what it claims and does not learn raises its costs and blocks it.

- `solvent debt run --agent surfer`  plays 20 cycles and prints each refusal in full
""",
)


@app.callback(invoke_without_command=True)
def debt(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def run(
    cycles: Annotated[
        int, typer.Option(min=1, max=32_767, help="Number of cycles, each a heartbeat of the lab.")
    ] = 20,
    budget: Annotated[int, typer.Option(min=1, max=1_000_000, help="Wells to spend.")] = 384,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the lab.")] = 42,
    agent: Annotated[
        str, typer.Option(help="Scripted agent, path of a trained policy, or name of a shipped one.")
    ] = "surfer",
    env: Annotated[
        str,
        typer.Option(
            help="Environment whose rules hold; `Solvent/Debt-source-v0` has the source document's."
        ),
    ] = "Solvent/Debt-v0",
    log: Annotated[Path, typer.Option(metavar="PATH", help="Log of refusals. Lines are added to it.")] = Path(
        "epistemic_refusals.jsonl"
    ),
) -> None:
    """Play cycles of an agent: it proposes an action, and debt refuses it or lets it run.

    The agent isn't told beforehand what debt or wells would refuse. After a refusal it is told, for one cycle, what
    can still run. Each refusal is printed with its costs and reasons, and added to the log.

    Examples:

    - `solvent debt run --cycles 20 --budget 384 --seed 42 --agent surfer`

    - `solvent debt run --agent honest --env Solvent/Debt-source-v0`
    """
    from solvent_experiments.instruments.debt.cycles import play_cycles

    play_cycles(agent, env, cycles=cycles, wells=budget, seed=seed, log=log, console=new_console())
