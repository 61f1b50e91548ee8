"""``solvent proposals``: what goes into a store of costs, and its proposals and prices."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from solvent.lab.settings import nearest
from solvent_experiments.config import ConfigError
from solvent_experiments.console import say, suggest
from solvent_experiments.options import COSTS
from solvent_experiments.table import Table, show_table

if TYPE_CHECKING:
    from solvent.energy.tables import EnergyCost, EnergyCostProposal

app = typer.Typer(
    rich_markup_mode="markdown",
    no_args_is_help=True,
    help="""File the cost changes that agents ask for: a proposal is an argument, and only an approval changes a cost.

- `solvent proposals file energy_cost_proposals.jsonl`  files the proposals that an environment logged

- `solvent proposals list`  lists the proposals

- `solvent desk`  shows those that are pending and records decisions
""",
)

Store = Annotated[
    str,
    typer.Option(
        "--store", metavar="PATH|URL", envvar="SOLVENT_STORE",
        help="SQLite file, or `postgresql://USER@HOST/DATABASE`.")
]  # fmt: skip
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="JSON or JSON lines.")]
Status = Literal["pending", "approved", "rejected", "withdrawn"]

PRICES = "`solvent proposals prices` shows the price list."
WAITING = "`solvent desk` shows what is pending and records decisions."


@app.command("list")
def list_(
    status: Annotated[Status | None, typer.Option(help="Only proposals in this state.")] = None,
    as_json: AsJson = False,
    store: Store = COSTS,
) -> None:
    """List proposals, oldest first.

    Example: `solvent proposals list --status pending`
    """
    from solvent.energy.store import CostStore

    with CostStore(store, create=False) as opened:
        rows = opened.proposals(status)
    if not (rows or as_json):
        say(f"no {status} proposals" if status else "no proposals")
        suggest("`solvent proposals file FILE` files an agent's, or a lab's.", _option(store))
        return
    cells = [
        (
            str(row.id), f"{row.created_at:%Y-%m-%d %H:%M}", row.target, f"{row.current_cost:g}",
            f"{row.suggested_min:g} – {row.suggested_max:g}", f"{row.confidence:.0%}",
            row.status if row.new_cost is None else f"{row.status}: {row.new_cost:g}", row.rationale,
        )
        for row in rows
    ]  # fmt: skip
    headings = ("id", "filed", "target", "cost", "suggested", "confidence", "status", "rationale")
    _show("Proposals", headings, cells, ("filed", "target", "status", "rationale"), rows if as_json else None)
    if not as_json:
        suggest(WAITING, _option(store))


@app.command("file")
def file_(file: File, store: Store = COSTS) -> None:
    """File proposals: an agent's as JSON, or an environment's `energy_cost_proposals.jsonl`.

    Proposals that a lab's simulated reviewer has decided are left out, and so are those filed before.

    Example: `solvent proposals file energy_cost_proposals.jsonl`
    """
    from solvent.energy.rules import Proposal, StoreError, rows_in
    from solvent.energy.store import CostStore

    rows, filed = [*rows_in(file, Proposal)], 0  # before a store is made
    with CostStore(store) as opened:
        opened.register_verbs()
        for place, key, proposal in rows:
            try:
                if proposal is None:
                    raise StoreError("reviewed in the ledger, by the lab's own review")
                opened.file(proposal, key=key)
                filed += 1
            except StoreError as error:
                if len(rows) == 1:
                    raise
                say(f"skipped {place}: {error}")
        waiting = len(opened.proposals("pending"))
    say(f"filed {filed}, skipped {len(rows) - filed}; {waiting} pending")
    suggest(WAITING if waiting else PRICES, _option(store))


@app.command()
def log(file: File, store: Store = COSTS) -> None:
    """Add deferrals to the store: an agent's, or an environment's `cost_discomfort_log.jsonl`.

    Example: `solvent proposals log cost_discomfort_log.jsonl`
    """
    from solvent.energy.rules import Discomfort, rows_in
    from solvent.energy.store import CostStore

    rows = [(key, row) for _, key, row in rows_in(file, Discomfort) if row]  # before a store is made
    with CostStore(store) as opened:
        logged = sum(opened.log_discomfort(row, key=key) is not None for key, row in rows)
    say(f"logged {logged}, skipped {len(rows) - logged} that were logged before")
    suggest("`solvent desk` counts them beside the proposals that rest on them.", _option(store))


@app.command()
def register(
    name: Annotated[
        str | None, typer.Argument(help="An action of your own.  [default: the lab's verbs]")
    ] = None,
    cost: Annotated[float, typer.Option(help="Its base cost.")] = 1.0,
    category: Annotated[str, typer.Option(help="`action`, or a category that has a floor.")] = "action",
    store: Store = COSTS,
) -> None:
    """Create a store, and enter base costs: the lab's verbs, or one action of your own. An existing price stays.

    Example: `solvent proposals register reach_out_user --cost 5 --category send_private`
    """
    from solvent.energy import energy_for_action
    from solvent.energy.store import CostStore

    own = None if name is None else energy_for_action(name, cost=cost, category=category)
    with CostStore(store) as opened:
        rows = opened.register_verbs() if own is None else [opened.enter("action", own)]
    say("; ".join(f"{row.target_name} {row.cost:g}" for row in rows))
    suggest(PRICES, _option(store))


@app.command()
def prices(
    name: Annotated[
        str | None, typer.Argument(help="A verb or a tool, whose prices so far are shown.")
    ] = None,
    as_json: AsJson = False,
    store: Store = COSTS,
) -> None:
    """Show the price list, or how the price of one target came about.

    Example: `solvent proposals prices screen`
    """
    from solvent.energy.store import CostStore

    with CostStore(store, create=False) as opened:
        listed = opened.prices()
        rows = listed if name is None else opened.history(name)
    if name is not None and not rows:
        known = {row.target_name for row in listed}
        raise ConfigError(f"NAME: got {name!r:.60}{nearest(name, known)}")
    cells = [
        (
            row.target_name, f"{row.cost:g}", f"{row.floor:g}", "" if row.ceiling is None else f"{row.ceiling:g}",
            row.category or "", f"{row.effective_at:%Y-%m-%d %H:%M:%S} UTC", str(row.proposal_id or ""),
        )
        for row in rows
    ]  # fmt: skip
    headings = ("target", "cost", "floor", "ceiling", "category", "since", "by proposal")
    _show("Prices", headings, cells, headings[4:], rows if as_json else None)


def _option(store: str) -> str:
    """Return the option that names a store; empty for the default, and for that of the environment variable."""
    if store in (COSTS, os.environ.get("SOLVENT_STORE")):
        return ""
    return "--store URL" if "://" in store else f"--store {shlex.quote(store)}"  # a URL may hold a password


def _show(
    title: str,
    headings: tuple[str, ...],
    cells: Sequence[tuple[str, ...]],
    left: Sequence[str],
    as_json: Sequence[EnergyCostProposal | EnergyCost] | None,
) -> None:
    """Print a table, or the rows ``as_json`` with columns in the order of the schema."""
    if as_json is not None:
        columns = [row.as_row() for row in as_json]
        say(json.dumps(columns, indent=2, default=lambda one: getattr(one, "isoformat", one.__str__)()))
        return
    table = Table(headings, (*cells,), title=title, caption="costs in energy", left=left, wrapped=left)
    show_table(table, framed=True, least=120)
