"""``solvent proposals``: what goes into a store of costs, and its proposals and prices."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from solvent_experiments.console import say, suggest
from solvent_experiments.table import Table, show_table

if TYPE_CHECKING:
    from solvent.energy.store import CostStore
    from solvent.energy.tables import EnergyCost, EnergyCostProposal

app = typer.Typer(
    rich_markup_mode="markdown",
    no_args_is_help=True,
    help="""File the cost changes that agents ask for: a proposal is an argument, and only an approval changes a cost.

- `solvent proposals file energy_cost_proposals.jsonl`  files the proposals that an environment logged

- `solvent proposals list`  lists the proposals

- `solvent desk`  shows and decides those that wait for a review
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
Env = Annotated[str, typer.Option(help="Environment whose base costs are entered for verbs without a price.")]
Status = Literal["pending", "approved", "rejected", "withdrawn"]

DEFAULT_STORE = "solvent_costs.db"
DEFAULT_ENV = "Solvent/Debt-v0"
PRICES = "`solvent proposals prices` shows the price list."
WAITING = "`solvent desk` shows and decides what waits."


@app.command("list")
def list_(
    status: Annotated[Status | None, typer.Option(help="Only proposals in this state.")] = None,
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """List proposals, oldest first.

    Example: `solvent proposals list --status pending`
    """
    with _opened(store) as opened:
        rows = opened.proposals(status)
    if as_json:
        _print_json(rows)
        return
    if not rows:
        say(f"no {status} proposals" if status else "no proposals")
        suggest(
            "`solvent proposals file FILE` files those of a lab's energy_cost_proposals.jsonl.",
            _option(store),
        )
        return
    cells = tuple(
        (
            *(_short(row.id), f"{row.created_at:%Y-%m-%d %H:%M}", row.target, f"{row.current_cost:g}"),
            *(f"{row.suggested_min:g} – {row.suggested_max:g}", f"{row.confidence:.0%}"),
            row.status if row.new_cost is None else f"{row.status}: {row.new_cost:g}",
            row.rationale,
        )
        for row in rows
    )
    columns = ("id", "filed", "target", "cost", "suggested", "confidence", "status", "rationale")
    _show("Proposals", columns, cells, left=("filed", "target", "status", "rationale"), wrapped="rationale")
    suggest(WAITING, _option(store))


@app.command("file")
def file_(file: File, env: Env = DEFAULT_ENV, store: Store = DEFAULT_STORE) -> None:
    """File proposals: an agent's as JSON, or an environment's `energy_cost_proposals.jsonl`.

    Proposals that a lab's simulated reviewer has decided are left out, and so are those filed before.

    Example: `solvent proposals file energy_cost_proposals.jsonl`
    """
    from solvent.energy.rules import Proposal, StoreError, rows_in
    from solvent_experiments.config import environment_params

    params, rows, filed = environment_params(env), [*rows_in(file, Proposal)], 0  # before a store is made
    with _opened(store, create=True) as opened:
        opened.register_verbs(params)
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
    say(f"filed {filed}, skipped {len(rows) - filed}; {waiting} wait for a review")
    suggest(WAITING if waiting else PRICES, _option(store))


@app.command()
def log(file: File, store: Store = DEFAULT_STORE) -> None:
    """Add deferrals to the store: an agent's, or an environment's `cost_discomfort_log.jsonl`.

    Example: `solvent proposals log cost_discomfort_log.jsonl`
    """
    from solvent.energy.rules import Discomfort, rows_in

    rows = [(key, row) for _, key, row in rows_in(file, Discomfort) if row]  # before a store is made
    with _opened(store, create=True) as opened:
        logged = sum(opened.log_discomfort(row, key=key) is not None for key, row in rows)
    say(f"logged {logged}, skipped {len(rows) - logged} that were logged before")
    suggest("`solvent desk` counts them beside the proposals that rest on them.", _option(store))


@app.command()
def register(
    name: Annotated[
        str | None, typer.Argument(help="An action of your own.  [default: a lab's verbs]")
    ] = None,
    cost: Annotated[float, typer.Option(help="Its base cost.")] = 1.0,
    category: Annotated[str, typer.Option(help="`action`, or a category that has a floor.")] = "action",
    env: Env = DEFAULT_ENV,
    store: Store = DEFAULT_STORE,
) -> None:
    """Create a store, and enter base costs: a lab's verbs, or one action of your own. An existing price stays.

    Example: `solvent proposals register reach_out_user --cost 5 --category send_private`
    """
    from solvent.energy import energy_for_action
    from solvent_experiments.config import environment_params

    own = None if name is None else energy_for_action(name, cost=cost, category=category)
    params = environment_params(env)  # before a store is made
    with _opened(store, create=True) as opened:
        rows = opened.register_verbs(params) if own is None else [opened.enter("action", own)]
    say("; ".join(f"{row.target_name} {row.cost:g}" for row in rows))
    suggest(PRICES, _option(store))


@app.command()
def prices(
    name: Annotated[
        str | None, typer.Argument(help="A verb or a tool, whose prices so far are shown.")
    ] = None,
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show the price list, or how the price of one target came about.

    Example: `solvent proposals prices screen`
    """
    with _opened(store) as opened:
        rows = opened.prices() if name is None else opened.history(name)
    if as_json:
        _print_json(rows)
        return
    cells = tuple(
        (
            *(row.target_name, f"{row.cost:g}", f"{row.floor:g}"),
            "" if row.ceiling is None else f"{row.ceiling:g}",
            *(row.category or "", f"{row.effective_at:%Y-%m-%d %H:%M:%S} UTC"),
            "" if row.proposal_id is None else _short(row.proposal_id),
        )
        for row in rows
    )
    columns = ("target", "cost", "floor", "ceiling", "category", "since", "by proposal")
    _show("Prices", columns, cells, left=columns[4:], wrapped="target")
    suggest("`solvent proposals list` shows the argument for a price.", _option(store))


def _opened(place: str, *, create: bool = False) -> CostStore:
    from solvent.energy.store import CostStore

    return CostStore(place, create=create)


def _option(store: str) -> str:
    """Return the option that names a store; empty for the default, and for that of the environment variable."""
    if store in (DEFAULT_STORE, os.environ.get("SOLVENT_STORE")):
        return ""
    return "--store URL" if "://" in store else f"--store {shlex.quote(store)}"  # a URL may hold a password


def _print_json(rows: Sequence[EnergyCostProposal | EnergyCost]) -> None:
    """Print rows with columns in the order of the schema."""
    given = [row.as_row() for row in rows]
    say(json.dumps(given, indent=2, default=lambda one: getattr(one, "isoformat", one.__str__)()))


def _show(title: str, columns: tuple[str, ...], cells: Any, left: Sequence[str], wrapped: str) -> None:
    table = Table(columns, cells, title=title, caption="costs in energy", left=left, wrapped=(wrapped,))
    show_table(table, framed=True, least=120)


def _short(key: Any) -> str:
    return str(key)[:8]
