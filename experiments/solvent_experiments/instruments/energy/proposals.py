"""``solvent proposals``: the review of cost proposals, and the resulting price list."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import new_console, say, suggest, visible
from solvent_experiments.instruments.energy.intents import (
    By,
    Episode,
    FigurePath,
    Zone,
    require_figure,
    shown_intents,
    zone_of,
)
from solvent_experiments.instruments.terminal import show_table
from solvent_experiments.table import Table

if TYPE_CHECKING:
    from solvent import LabParams
    from solvent.energy.costs import CostStore, EnergyCost, EnergyCostProposal

__all__ = ["app", "revised"]

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Review the cost changes that agents ask for: a proposal is an argument, and only an approval changes a cost.

- `solvent proposals file energy_cost_proposals.jsonl`  files the proposals that an environment logged

- `solvent proposals list`  lists the proposals that wait for a review

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
Key = Annotated[str, typer.Argument(metavar="ID", help="Id of the proposal, or the first characters of it.")]
Notes = Annotated[str | None, typer.Option("--notes", help="Reason, kept with the proposal.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
Ledger = Annotated[Path, typer.Argument(metavar="LEDGER", help="JSONL file written by an environment.")]
Env = Annotated[str, typer.Option(help="Environment whose base costs are entered for verbs without a price.")]

DEFAULT_STORE = "solvent_costs.db"
DEFAULT_ENV = "Solvent/Debt-v0"
PRICES = "`solvent proposals prices` shows the price list."
WAITING = "`solvent proposals list --status pending` shows what still waits."


@app.callback(invoke_without_command=True)
def proposals(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_(
    status: Annotated[
        str | None, typer.Option(help="Only `pending`, `approved`, `rejected` or `withdrawn`.")
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
        _print_json(rows)
    elif rows:
        _show(_proposals_table(rows))
        suggest(
            "`solvent proposals show ID` shows its reasons, `solvent proposals approve ID` changes the price."
        )
    else:
        say("no proposals" if status is None else f"no {status} proposals")
        suggest("`solvent proposals file LEDGER` files those of a lab's energy_cost_proposals.jsonl.")


@app.command()
def show(key: Key, as_json: AsJson = False, store: Store = DEFAULT_STORE) -> None:
    """Show one proposal: the change it asks for, its reasons, and the bounds of the price.

    Example: `solvent proposals show 3f2a`
    """
    with _opened(store) as opened:
        row = opened.proposal(key)
        price = opened.price(row.target_type, row.target_name)
    if as_json:
        _print_json(row)
    else:
        _print_page(row, price)
        if row.status == "pending":
            cost = "" if price.cost == row.current_cost else " --cost COST"
            suggest(f"`solvent proposals approve {_short(row)}{cost}`, or `reject` or `withdraw` it.")


@app.command()
def approve(
    key: Key,
    cost: Annotated[
        float | None,
        typer.Option(help="The new cost.  [default: the end of the suggested range nearest to the price]"),
    ] = None,
    notes: Notes = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Approve a proposal: the price changes at once.

    Example: `solvent proposals approve 3f2a --cost 2.5 --notes "paid for in nine of ten uses"`
    """
    with _opened(store) as opened:
        row = opened.approve(key, new_cost=cost, notes=notes)
    say(
        f"approved {_short(row)}: {row.target} costs {row.new_cost:g} instead of {row.old_cost:g}"
        f" from {_time(row.effective_at)}"
    )
    suggest(PRICES)


@app.command()
def reject(key: Key, notes: Notes = None, store: Store = DEFAULT_STORE) -> None:
    """Reject a proposal: the price stays.

    Example: `solvent proposals reject 3f2a --notes "deferred, never paid for"`
    """
    with _opened(store) as opened:
        row = opened.reject(key, notes=notes)
    say(f"rejected {_short(row)}: the cost of {row.target} stays")
    suggest(WAITING)


@app.command()
def withdraw(key: Key, notes: Notes = None, store: Store = DEFAULT_STORE) -> None:
    """Withdraw a pending proposal, for example to file a revised one.

    Example: `solvent proposals withdraw 3f2a`
    """
    with _opened(store) as opened:
        row = opened.withdraw(key, by="user", notes=notes)
    say(f"withdrew {_short(row)}: the cost of {row.target} stays")
    suggest(WAITING)


@app.command()
def revise(
    key: Key,
    least: Annotated[float, typer.Option(help="The least cost that is suggested.")],
    most: Annotated[float, typer.Option(help="The most.")],
    by: Annotated[str, typer.Option(metavar="NAME", help="Who revises it: a person's name.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason, added to the rationale.")],
    store: Store = DEFAULT_STORE,
) -> None:
    """Put a proposal with another range in the place of a pending one, with its evidence.

    Example: `solvent proposals revise 3f2a --least 3 --most 3.5 --by "J. Doe" --reason "half of it was paid for"`
    """
    with _opened(store) as opened:
        old = opened.proposal(key)
        new = revised(opened, old, least, most, by=by, reason=reason)
    say(f"withdrew {_short(old)}, filed {_short(new)}: {new.target}, {least:g} to {most:g}")
    suggest(WAITING)


@app.command()
def expire(
    days: Annotated[float, typer.Option(help="Days after which a pending proposal expires.")] = 30.0,
    store: Store = DEFAULT_STORE,
) -> None:
    """Reject pending proposals that nobody has reviewed in time.

    Example: `solvent proposals expire --days 14`
    """
    try:
        age = datetime.timedelta(days=days)
    except (OverflowError, ValueError):
        raise ConfigError(f"got {days:g}; allowed: above 0", key="--days") from None
    with _opened(store) as opened:
        rows = opened.expire(age)
    for row in rows:
        say(f"rejected {_short(row)} by timeout: the cost of {row.target} stays")
    if not rows:
        say("no proposal has waited that long")
    suggest(WAITING)


@app.command()
def file(ledger: Ledger, env: Env = DEFAULT_ENV, store: Store = DEFAULT_STORE) -> None:
    """File the pending proposals of an environment's ledger, `energy_cost_proposals.jsonl`.

    Proposals that a lab's simulated reviewer has decided are left out, and so are those filed before.

    Example: `solvent proposals file energy_cost_proposals.jsonl`
    """
    from solvent.energy.costs.ledgers import file_proposals, proposals_in
    from solvent_experiments.config import environment_params

    params, lines = environment_params(env), proposals_in(ledger)  # before a store is made
    with _opened(store, create=True) as opened:
        _register(opened, env, params)
        intake = file_proposals(opened, lines)
        waiting = opened.proposals("pending")
    _say_skipped(ledger, intake.skipped)
    say(f"filed {len(intake.filed)}, skipped {len(intake.skipped)}; {len(waiting)} wait for a review")
    suggest("`solvent proposals list --status pending` shows them." if waiting else PRICES)


@app.command()
def log(ledger: Ledger, store: Store = DEFAULT_STORE) -> None:
    """Add an environment's ledger of discomfort, `cost_discomfort_log.jsonl`, to the store.

    Example: `solvent proposals log cost_discomfort_log.jsonl`
    """
    from solvent.energy.costs.ledgers import discomfort_in, log_discomforts

    lines = discomfort_in(ledger)  # before a store is made
    with _opened(store, create=True) as opened:
        intake = log_discomforts(opened, lines)
    _say_skipped(ledger, intake.skipped)
    say(f"logged {len(intake.filed)}, skipped {len(intake.skipped)}")
    suggest("`solvent desk` shows it beside the proposals that rest on it.")


@app.command()
def register(env: Env = DEFAULT_ENV, store: Store = DEFAULT_STORE) -> None:
    """Create a store, and enter the base costs of a lab's verbs that have no price yet.

    Example: `solvent proposals register`
    """
    from solvent_experiments.config import environment_params

    params = environment_params(env)  # before a store is made
    with _opened(store, create=True) as opened:
        if not _register(opened, env, params):
            say("every verb has a price already; only an approval changes it")
    suggest(PRICES)


def _moment(text: str) -> datetime.datetime:
    """Return a point in time, UTC where no zone is given; a date starts at midnight."""
    try:
        read = datetime.datetime.fromisoformat(text)
        return read.replace(tzinfo=datetime.UTC) if read.tzinfo is None else read.astimezone(datetime.UTC)
    except (ValueError, OverflowError):  # no date, or before the year 1 in UTC
        allowed = "a date or time such as 2026-11-01 or 2026-11-01T12:00:00Z"
        raise ConfigError(f"got {text!r:.60}; allowed: {allowed}", key="--as-of") from None


@app.command()
def prices(
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="MOMENT",
            help="Date or time, such as 2026-11-01 or 2026-11-01T12:00:00Z (UTC where no zone is given).",
        ),
    ] = None,
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show the price list, now or at an earlier time.

    Example: `solvent proposals prices --as-of 2026-11-01`
    """
    when = None if as_of is None else _moment(as_of)
    with _opened(store) as opened:
        rows = opened.prices(when)
    _print_prices(rows, "Prices" if when is None else f"Prices as of {_time(when)}", as_json=as_json)
    if not as_json:
        suggest("`solvent proposals history NAME` shows how a price came about.")


@app.command()
def history(
    target: Annotated[str, typer.Argument(metavar="NAME", help="A verb or a tool, such as `screen`.")],
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show all prices of a verb or tool, and the proposals that set them.

    Example: `solvent proposals history screen`
    """
    with _opened(store) as opened:
        kinds = {row.target_type for row in opened.prices() if row.target_name == target}
        rows = [row for kind in sorted(kinds or {"action"}) for row in opened.history(kind, target)]
    _print_prices(rows, f"Prices of {target}", as_json=as_json)
    if not as_json:
        suggest("`solvent proposals show ID` shows the argument for a price.")


@app.command()
def intents(
    by: By = "day",
    episode: Episode = None,
    zone: Zone = "UTC",
    figure: FigurePath = None,
    as_json: AsJson = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show what an agent's energy went into, by hour of the day or by day.

    Example: `solvent proposals intents --by hour --figure intents.png`
    """
    local = zone_of(zone)
    require_figure(figure)
    with _opened(store) as opened:
        periods = opened.intents(by, episode=episode, zone=local)
    shown_intents(periods, by, zone, figure, as_json=as_json)


def revised(
    store: CostStore, row: EnergyCostProposal, least: float, most: float, *, by: str, reason: str
) -> EnergyCostProposal:
    """File a proposal with another range in the place of a pending one, as a person argues it.

    Raises:
        ProposalError: the proposal was reviewed before, or the range is not allowed.
    """
    from solvent.energy.costs import EnergyCostProposal, ProposalError

    cost = store.price(row.target_type, row.target_name).cost
    lower = row.direction == "decrease"
    if not (0.0 < least < cost and least <= most <= cost if lower else cost <= least <= most and cost < most):
        side = "below" if lower else "above"
        raise ProposalError(f"range: got {least:g} to {most:g}; allowed: a least and a most {side} {cost:g}")
    new = EnergyCostProposal(
        target_type=row.target_type,
        target_name=row.target_name,
        current_cost=cost,
        suggested_min=least,
        suggested_max=most,
        direction=row.direction,
        rationale=f"{row.rationale}\nRevised by {by}: {reason}",
        confidence=row.confidence,
        evidence=row.evidence,
        heartbeat_refs=row.heartbeat_refs,
        memory_refs=row.memory_refs,
    )
    return store.revise(row.id, new)


# ------------------------------------------------------------------------------------------ store and output


def _opened(place: str, *, create: bool = False) -> CostStore:
    from solvent.energy.costs import CostStore

    return CostStore(place, create=create)


def _register(store: CostStore, env: str, params: LabParams) -> bool:
    rows = store.register_verbs(params)
    if rows:
        entered = ", ".join(f"{row.target_name} {row.cost:g}" for row in rows)
        say(f"entered base costs of {env}: {entered}")
    return bool(rows)


def _say_skipped(ledger: Path, skipped: Sequence[tuple[int, str]]) -> None:
    """Print each reason once, with the lines it applies to."""
    lines: dict[str, list[int]] = {}
    for line, why in skipped:
        lines.setdefault(why, []).append(line)
    for why, numbers in lines.items():
        first = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
        say(f"skipped {ledger.name}, line{'s' if len(numbers) > 1 else ''} {first}: {why}")


def _print_json(rows: Any) -> None:
    """Print a row or rows with columns in the order of the schema."""

    def plain(item: Any) -> Any:
        if isinstance(item, datetime.datetime):
            return item.isoformat()
        table = getattr(item, "__table__", None)
        return str(item) if table is None else {one.key: getattr(item, one.key) for one in table.columns}

    say(json.dumps(rows, indent=2, default=plain))


def _show(table: Table) -> None:
    show_table(table, framed=True, least=120)


def _short(row: EnergyCostProposal) -> str:
    return str(row.id)[:8]


def _time(moment: datetime.datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _proposals_table(rows: Sequence[EnergyCostProposal]) -> Table:
    return Table(
        ("id", "filed", "target", "cost", "suggested", "confidence", "status", "rationale"),
        tuple(
            (
                *(_short(row), f"{row.created_at:%Y-%m-%d %H:%M}", row.target, f"{row.current_cost:g}"),
                *(f"{row.suggested_min:g} – {row.suggested_max:g}", f"{row.confidence:.0%}"),
                row.status if row.new_cost is None else f"{row.status}: {row.new_cost:g}",
                row.rationale,
            )
            for row in rows
        ),
        title="Proposals",
        caption="costs in energy",
        left=("filed", "target", "status", "rationale"),
        wrapped=("rationale",),
    )


def _print_prices(rows: Sequence[EnergyCost], title: str, *, as_json: bool) -> None:
    if as_json:
        _print_json(rows)
        return
    cells = tuple(
        (
            *(row.target_name, f"{row.cost:g}", f"{row.floor:g}"),
            "" if row.ceiling is None else f"{row.ceiling:g}",
            *(row.category or "", _time(row.effective_at)),
            "" if row.proposal_id is None else str(row.proposal_id)[:8],
        )
        for row in rows
    )
    columns = ("target", "cost", "floor", "ceiling", "category", "since", "by proposal")
    left = columns[4:]
    _show(Table(columns, cells, title=title, caption="costs in energy", left=left, wrapped=("target",)))


def _allowed(row: EnergyCostProposal, price: EnergyCost) -> str:
    from solvent.energy.costs.rules import allowed_costs, next_change

    if row.status != "pending":
        return ""
    allowed, again = allowed_costs(row, price), next_change(price)
    if allowed is None:
        return "nothing now, the price is out of reach"
    since = "" if again is None or again <= datetime.datetime.now(datetime.UTC) else f" from {_time(again)}"
    return f"{allowed[0]:g} to {allowed[1]:g}{since}"


def _print_page(row: EnergyCostProposal, price: EnergyCost) -> None:
    from rich.console import Group
    from rich.text import Text

    def lines(*fields: tuple[str, str]) -> list[Text]:
        return [Text.assemble((f"{name:<12}", "dim"), visible(value)) for name, value in fields if value]

    asked = f"{row.target}: {row.direction} to {row.suggested_min:g} – {row.suggested_max:g}"
    bounds = f"floor {price.floor:g}, " + (
        "no ceiling" if price.ceiling is None else f"ceiling {price.ceiling:g}"
    )
    evidence = [f"{item['source']}: {item['summary']}" for item in row.evidence]
    reviewed = "" if row.reviewed_at is None else f"{_time(row.reviewed_at)} by {row.reviewed_by}"
    changed = (
        ""
        if row.new_cost is None
        else f"from {row.old_cost:g} to {row.new_cost:g}, {_time(row.effective_at)}"
    )
    page = Group(
        Text(asked, "bold"),
        *lines(
            ("id", str(row.id)),
            ("status", row.status),
            ("filed", _time(row.created_at)),
            ("cost", f"{row.current_cost:g} when it was argued, {price.cost:g} now"),
            ("bounds", bounds),
            ("allowed", _allowed(row, price)),
        ),
        Text(),
        *lines(
            ("rationale", row.rationale),
            ("confidence", f"{row.confidence:.0%}"),
            *zip(["evidence"] + [""] * len(evidence), evidence, strict=False),
            ("heartbeats", ", ".join(map(str, row.heartbeat_refs or ()))),
            ("memories", ", ".join(map(str, row.memory_refs or ()))),
            ("reviewed", reviewed),
            ("notes", row.review_notes or ""),
            ("changed", changed),
        ),
    )
    new_console().print(page)
