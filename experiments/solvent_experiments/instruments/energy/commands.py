"""``solvent tools`` and ``solvent explain``: what tools cost, and what an agent is told about its energy."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Annotated

import typer

from solvent_experiments.console import new_console, say, suggest
from solvent_experiments.instruments.options import Env


def tools(
    servers: Annotated[
        list[str],
        typer.Argument(
            metavar="SERVER...",
            help="URL of a server, or the command line that runs one, in quotes.",
            show_default=False,
        ),
    ],
    timeout: Annotated[
        float, typer.Option(min=0.1, max=3600.0, help="Time limit for a server, in seconds.")
    ] = 20.0,
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Environment variable for the commands; KEY alone passes on its current value. Repeatable.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Explain the price of each tool.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the rows of the table `mcp_tools` as JSON.")
    ] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Show what the servers print on stderr.")] = False,
) -> None:
    """Price the tools of servers of the Model Context Protocol.

    A tool's category, cost, floor and contexts follow from the server's hints, the tool's name and its fields.
    A tool that may be either of two kinds has the higher price. No tool is called.

    Examples:

    - `solvent tools "solvent serve"`  the lab itself as such a server

    - `solvent tools http://127.0.0.1:8000/mcp --why`
    """
    from solvent_experiments.instruments.energy.tools import environment_of, list_tools, show_tools

    ask = partial(list_tools, timeout=timeout, env=environment_of(env or []), show_stderr=stderr)
    if not show_tools(servers, ask, new_console(), as_json=as_json, why=why):
        raise typer.Exit(2)
    if not (as_json or why):
        suggest("--why explains each price; `solvent.energy.EnergyMeter` charges them in a loop of your own.")


def explain(env: Env = "Solvent/Energy-v0") -> None:
    """Show what an environment's agent is told about its energy.

    Example: `solvent explain --env Solvent/Debt-v0`
    """
    from rich.markdown import Markdown

    from solvent.energy import explain as explanation
    from solvent_experiments.config import environment_params

    text = explanation(environment_params(env))
    console = new_console()
    if console.is_terminal:
        console.print(Markdown(text))
        suggest(f"`solvent play --env {shlex.quote(env)}` lets you try it.")
    else:
        say(text.rstrip("\n"))
