"""``solvent tools`` and ``solvent explain``: what tools cost, and what an agent is told about its energy."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from solvent.errors import USAGE
from solvent_experiments.console import complain, new_console, one_line, say, suggest
from solvent_experiments.options import Env
from solvent_experiments.table import Table, show_table

if TYPE_CHECKING:
    from solvent_experiments.instruments.tool_servers import Listing


def tools(
    servers: Annotated[
        list[str],
        typer.Argument(
            metavar="SERVER...", help="URL of a server, or the command line that runs one, in quotes."
        ),
    ],
    timeout: Annotated[
        float, typer.Option(min=0.1, max=3600.0, help="Time limit for a server, in seconds.")
    ] = 20.0,
    why: Annotated[bool, typer.Option("--why", help="Explain the price of each tool.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the rows of the table `mcp_tools` as JSON.")
    ] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Show what the servers print on stderr.")] = False,
    store: Annotated[
        str | None, typer.Option(metavar="PATH|URL", help="Enter prices in a store of costs, as SERVER:TOOL.")
    ] = None,
) -> None:
    """Price the tools of servers of the Model Context Protocol.

    A tool's category, cost, floor and contexts follow from its name, hints, fields and description.
    A tool that may be either of two kinds has the higher price. No tool is called.

    Examples:

    - `solvent tools "solvent serve"`  the lab itself as such a server

    - `solvent tools http://127.0.0.1:8000/mcp --why`
    """
    from solvent_experiments.instruments.tool_servers import ServerError, list_tools

    rows, failed = [], False
    for server in servers:
        try:
            listing = list_tools(server, timeout, show_stderr=stderr)
        except ServerError as error:
            complain(str(error))
            failed = True
            continue
        for line in listing.left_out:
            complain(f"{one_line(server)}: left out: {line}")
        for tool in listing.tools:
            reasons = {"reasons": list(tool.reasons), "unsure": tool.unsure} if why else {}
            rows.append({"server": server, "name": tool.name, **tool.to_row(), **reasons})
        if not as_json:
            _show(listing, server, why=why)
        if store is not None:
            failed = not _entered(listing, server, store) or failed
    if as_json:
        say(json.dumps(rows, indent=2))
    if failed:
        raise typer.Exit(USAGE)
    if not (as_json or why):
        suggest("--why explains each price; `solvent.energy.EnergyMeter` charges them in a loop of your own.")


def _entered(listing: Listing, server: str, store: str) -> bool:
    """Enter the tools of a server under its name; tell of each that the store refuses, and return whether none was."""
    from solvent.energy import StoreError
    from solvent.energy.store import CostStore

    name, refusals = one_line(listing.name.replace(":", "-").strip() or server.replace(":", "-")), []
    with CostStore(store) as opened:
        for tool in listing.tools:
            try:
                opened.register_tools([tool.of_server(name)])
            except StoreError as error:
                refusals.append(f"{one_line(server)}: left out: {error}")
    for line in refusals:
        complain(line)
    return not refusals


def explain(env: Env = "Solvent/Energy-v0") -> None:
    """Show what an environment's agent is told about its energy.

    Example: `solvent explain --env Solvent/Lab-v0`
    """
    from solvent.energy import explain as explanation
    from solvent_experiments.config import environment_params

    text = explanation(environment_params(env))
    console = new_console()
    if console.is_terminal:
        from rich.markdown import Markdown

        console.print(Markdown(text))
        suggest(f"`solvent play --env {shlex.quote(env)}` lets you try it.")
    else:
        say(text.rstrip("\n"))


def _show(listing: Listing, server: str, *, why: bool) -> None:
    from solvent.energy import CATEGORIES

    title = one_line(listing.title or server, 60)
    if not listing.tools:
        say(f"{title}: offers no tools")
        return
    cells = tuple(
        (
            one_line(tool.name, 60),
            CATEGORIES[tool.category].label,
            f"{tool.energy_cost:g}",
            "" if tool.energy_cost_floor is None else f"{tool.energy_cost_floor:g}",
            ", ".join(tool.allowed_contexts),
            "yes" if tool.unsure else "",
        )
        for tool in listing.tools
    )
    show_table(
        Table(
            ("tool", "category", "energy", "floor", "allowed in", "unsure"), cells, title=title,
            caption="unsure: priced as the most expensive reading", left=("category", "allowed in", "unsure"),
            wrapped=("tool",),
        ),
        framed=True,
        least=120,
    )  # fmt: skip
    for tool in listing.tools if why else ():
        say("\n  ".join([one_line(tool.name, 60), *map(one_line, tool.reasons)]))
