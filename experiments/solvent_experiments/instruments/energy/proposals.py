"""``solvent proposals``: the human's side of the cost proposals, and the price list that comes of it.

Only the command line: ``solvent.energy.costs`` decides what may happen, and is imported by the command that needs it.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from solvent.energy.costs import CostDiscomfort, CostStore, EnergyCost, EnergyCostProposal

__all__ = ["app"]

COLOURS = {"pending": "yellow", "approved": "green", "rejected": "red", "withdrawn": "dim"}
BAR = 60

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Review the cost changes that agents ask for: a proposal is an argument, and only an approval changes a cost.

- `solvent proposals file energy_cost_proposals.jsonl`  files what an environment logged

- `solvent proposals list`  shows what waits for a review

- `solvent proposals approve 3f2a --cost 2.5`  sets a price
""",
)

Store = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="PATH|URL",
        envvar="SOLVENT_STORE",
        help="SQLite file, or `postgresql://USER@HOST/DATABASE`.",
    ),
]
Key = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Id of the proposal, or the first characters of it.", show_default=False
    ),
]
Notes = Annotated[
    str | None, typer.Option("--notes", help="Why; kept with the proposal.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
Ledger = Annotated[
    Path, typer.Argument(metavar="LEDGER", help="JSONL file of an environment.", show_default=False)
]
Env = Annotated[
    str, typer.Option(help="Environment whose base costs its verbs get, where they have no price yet.")
]

DEFAULT_STORE = "solvent_costs.db"
DEFAULT_ENV = "Solvent/Debt-v0"


@app.callback(invoke_without_command=True)
def proposals(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_(
    status: Annotated[
        str | None,
        typer.Option(help="Only `pending`, `approved`, `rejected` or `withdrawn`.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """List proposals, oldest first.

    Example: `solvent proposals list --status pending`
    """
    with _opened(store) as opened:
        rows = opened.proposals(status)
    if as_json:
        typer.echo(json.dumps([_plain(row) for row in rows], indent=2, ensure_ascii=False))
    elif rows:
        _print(_proposals_table(rows))
    else:
        typer.echo("no proposals" if status is None else f"no {status} proposals")


@app.command()
def show(key: Key, as_json: AsJson = False, store: Store = DEFAULT_STORE) -> None:
    """Show one proposal: what is asked for, why, and where it lies between floor and ceiling.

    Example: `solvent proposals show 3f2a`
    """
    with _opened(store) as opened:
        row = opened.proposal(key)
        price = opened.price(row.target_type, row.target_name)
    if as_json:
        typer.echo(json.dumps(_plain(row), indent=2, ensure_ascii=False))
        return
    _print(_page(row, price))


@app.command()
def approve(
    key: Key,
    cost: Annotated[
        float | None,
        typer.Option(
            help="The new cost.  [default: the end of the suggested range nearest to the price]",
            show_default=False,
        ),
    ] = None,
    notes: Notes = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Approve a proposal: the price changes, now.

    Example: `solvent proposals approve 3f2a --cost 2.5 --notes "paid for in nine of ten uses"`
    """
    with _opened(store) as opened:
        row = opened.approve(key, new_cost=cost, notes=notes)
    typer.echo(
        f"approved {_short(row)}: {row.target} costs {row.new_cost:g} instead of {row.old_cost:g}"
        f" from {_time(row.effective_at)}"
    )


@app.command()
def reject(key: Key, notes: Notes = None, store: Store = DEFAULT_STORE) -> None:
    """Reject a proposal: the price stays.

    Example: `solvent proposals reject 3f2a --notes "deferred, never paid for"`
    """
    with _opened(store) as opened:
        row = opened.reject(key, notes=notes)
    typer.echo(f"rejected {_short(row)}: the cost of {row.target} stays")


@app.command()
def withdraw(key: Key, notes: Notes = None, store: Store = DEFAULT_STORE) -> None:
    """Take a pending proposal back without a review, to file another instead.

    Example: `solvent proposals withdraw 3f2a`
    """
    with _opened(store) as opened:
        row = opened.withdraw(key, by="user", notes=notes)
    typer.echo(f"withdrew {_short(row)}: the cost of {row.target} stays")


@app.command()
def expire(
    days: Annotated[float, typer.Option(help="Pending for so many days.")] = 30.0,
    store: Store = DEFAULT_STORE,
) -> None:
    """Reject, by timeout, what nobody has reviewed in time.

    Example: `solvent proposals expire --days 14`
    """
    try:
        age = datetime.timedelta(days=days)
    except (OverflowError, ValueError):
        from solvent_experiments.config.documents import ConfigError

        raise ConfigError(f"got {days:g}; allowed: above 0", key="--days") from None
    with _opened(store) as opened:
        rows = opened.expire(age)
    for row in rows:
        typer.echo(f"rejected {_short(row)} by timeout: the cost of {row.target} stays")
    if not rows:
        typer.echo("nothing has waited so long")


@app.command()
def file(ledger: Ledger, env: Env = DEFAULT_ENV, store: Store = DEFAULT_STORE) -> None:
    """File the pending proposals of an environment's ledger, `energy_cost_proposals.jsonl`.

    What a lab's simulated reviewer has decided is left out, and so is what was filed before.

    Example: `solvent proposals file energy_cost_proposals.jsonl`
    """
    from solvent.energy.costs import file_proposals_jsonl

    with _opened(store, create=True) as opened:
        _register(opened, env)
        intake = file_proposals_jsonl(opened, ledger)
        waiting = opened.proposals("pending")
    _say_skipped(ledger, intake.skipped)
    typer.echo(f"filed {len(intake.filed)}, skipped {len(intake.skipped)}; {len(waiting)} wait for a review")


@app.command()
def log(ledger: Ledger, store: Store = DEFAULT_STORE) -> None:
    """Add an environment's ledger of discomfort, `cost_discomfort_log.jsonl`, to the store.

    Example: `solvent proposals log cost_discomfort_log.jsonl`
    """
    from solvent.energy.costs import log_discomfort_jsonl

    with _opened(store, create=True) as opened:
        intake = log_discomfort_jsonl(opened, ledger)
    _say_skipped(ledger, intake.skipped)
    typer.echo(f"logged {len(intake.filed)}, skipped {len(intake.skipped)}")


@app.command()
def register(env: Env = DEFAULT_ENV, store: Store = DEFAULT_STORE) -> None:
    """Make a store, and enter the base costs of a lab's verbs that have no price in it yet.

    Example: `solvent proposals register`
    """
    with _opened(store, create=True) as opened:
        if not _register(opened, env):
            typer.echo("every verb has a price already; only an approval changes it")


@app.command()
def prices(
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="MOMENT",
            help="Date or time, such as 2026-11-01 or 2026-11-01T12:00:00Z (UTC where no zone is given).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show the price list: that of now, or of a moment.

    Example: `solvent proposals prices --as-of 2026-11-01`
    """
    from solvent_experiments.config.experiment import moment

    when = None if as_of is None else moment(as_of)
    with _opened(store) as opened:
        rows = opened.prices(when)
    if as_json:
        typer.echo(json.dumps([_plain(row) for row in rows], indent=2, ensure_ascii=False))
    else:
        _print(_prices_table(rows, "Prices" if when is None else f"Prices as of {_time(when)}"))


@app.command()
def history(
    target: Annotated[
        str, typer.Argument(metavar="NAME", help="A verb or a tool, such as `screen`.", show_default=False)
    ],
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show every price that a verb or tool has had, and by which proposal.

    Example: `solvent proposals history screen`
    """
    with _opened(store) as opened:
        kinds = {row.target_type for row in opened.prices() if row.target_name == target}
        rows = [row for kind in sorted(kinds or {"action"}) for row in opened.history(kind, target)]
    if as_json:
        typer.echo(json.dumps([_plain(row) for row in rows], indent=2, ensure_ascii=False))
    else:
        _print(_prices_table(rows, f"Prices of {target}"))


# --------------------------------------------------------------------------------------------------- inside


def _opened(place: str, *, create: bool = False) -> CostStore:
    from solvent.energy.costs import CostStore

    return CostStore(place, create=create)


def _register(store: CostStore, env: str) -> bool:
    from solvent_experiments.config.experiment import environment_params

    rows = store.register_verbs(environment_params(env))
    if rows:
        entered = ", ".join(f"{row.target_name} {row.cost:g}" for row in rows)
        typer.echo(f"entered base costs of {env}: {entered}")
    return bool(rows)


def _say_skipped(ledger: Path, skipped: Sequence[tuple[int, str]]) -> None:
    """One sentence for each reason, however many lines it holds for."""
    lines: dict[str, list[int]] = {}
    for line, why in skipped:
        lines.setdefault(why, []).append(line)
    for why, numbers in lines.items():
        first = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
        typer.echo(f"skipped {ledger.name}, line{'s' if len(numbers) > 1 else ''} {first}: {why}")


def _plain(row: EnergyCostProposal | EnergyCost | CostDiscomfort) -> dict[str, Any]:
    """A row as JSON has it, its columns in the order of the schema."""

    def value(item: Any) -> Any:
        if isinstance(item, datetime.datetime):
            return item.isoformat()
        if isinstance(item, list):
            return [value(each) for each in item]
        return item if item is None or isinstance(item, int | float | str | dict) else str(item)

    return {column.key: value(getattr(row, column.key)) for column in row.__table__.columns}


def _print(drawn: Any) -> None:
    from rich.console import Console

    console = Console()
    # As for the other tables: a log is as wide as its widest line.
    (console if console.is_terminal else Console(width=max(console.width, 120))).print(drawn)


def _short(row: EnergyCostProposal) -> str:
    return str(row.id)[:8]


def _time(moment: datetime.datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _proposals_table(rows: Sequence[EnergyCostProposal]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Proposals", title_style="bold", caption="costs in energy", caption_justify="left")
    for name in ("id", "filed", "target"):
        table.add_column(name, no_wrap=True)
    for name in ("cost", "suggested", "confidence"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("rationale")
    for row in rows:
        status = row.status if row.new_cost is None else f"{row.status}: {row.new_cost:g}"
        table.add_row(
            _short(row),
            f"{row.created_at:%Y-%m-%d %H:%M}",
            Text(row.target),
            f"{row.current_cost:g}",
            f"{row.suggested_min:g} – {row.suggested_max:g}",
            f"{row.confidence:.0%}",
            Text(status, COLOURS[row.status]),
            Text(row.rationale),
        )
    return table


def _prices_table(rows: Sequence[EnergyCost], title: str) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_style="bold", caption="costs in energy", caption_justify="left")
    table.add_column("target")
    for name in ("cost", "floor", "ceiling"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("category", "since", "by proposal"):
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row.target_name),
            f"{row.cost:g}",
            f"{row.floor:g}",
            "" if row.ceiling is None else f"{row.ceiling:g}",
            row.category or "",
            _time(row.effective_at),
            "" if row.proposal_id is None else str(row.proposal_id)[:8],
        )
    return table


def _page(row: EnergyCostProposal, price: EnergyCost) -> Any:
    from rich.console import Group
    from rich.text import Text

    def field(name: str, value: str, style: str = "") -> Text:
        return Text.assemble((f"{name:<12}", "dim"), (value, style))

    lines = [
        Text(f"{row.target}: {row.direction} to {row.suggested_min:g} – {row.suggested_max:g}", "bold"),
        field("id", str(row.id)),
        field("status", row.status, COLOURS[row.status]),
        field("filed", _time(row.created_at)),
        field("cost", f"{row.current_cost:g} when it was argued, {price.cost:g} now"),
        field(
            "bounds",
            f"floor {price.floor:g}, "
            + ("no ceiling" if price.ceiling is None else f"ceiling {price.ceiling:g}"),
        ),
        Text(),
        *_bar(row, price),
        Text(),
        field("rationale", row.rationale),
        field("confidence", f"{row.confidence:.0%}"),
        *(
            field("evidence" if i == 0 else "", f"{item['source']}: {item['summary']}")
            for i, item in enumerate(row.evidence)
        ),
    ]
    if row.heartbeat_refs:
        lines.append(field("heartbeats", ", ".join(map(str, row.heartbeat_refs))))
    if row.memory_refs:
        lines.append(field("memories", ", ".join(map(str, row.memory_refs))))
    if row.reviewed_at is not None:
        lines.append(field("reviewed", f"{_time(row.reviewed_at)} by {row.reviewed_by}"))
    if row.review_notes:
        lines.append(field("notes", row.review_notes))
    if row.new_cost is not None:
        lines.append(
            field("changed", f"from {row.old_cost:g} to {row.new_cost:g}, {_time(row.effective_at)}")
        )
    return Group(*lines)


def _bar(row: EnergyCostProposal, price: EnergyCost) -> list[Any]:
    """Floor, range and price on one scale from 0."""
    from rich.text import Text

    marks = [row.suggested_min, row.suggested_max, row.current_cost, price.cost, price.floor]
    top = max(*marks, 1.0) * 1.1 if price.ceiling is None else max(*marks, price.ceiling, 1.0)

    def place(cost: float) -> int:
        return round(cost / top * (BAR - 1))

    cells = ["─"] * BAR
    for i in range(place(row.suggested_min), place(row.suggested_max) + 1):
        cells[i] = "█"
    cells[place(price.floor)] = "├"
    cells[place(row.current_cost)] = "○"
    cells[place(price.cost)] = "●"
    return [
        Text("0 " + "".join(cells) + f" {top:g}"),
        Text("  █ suggested   ● price now   ○ price when it was argued   ├ floor", "dim"),
    ]
