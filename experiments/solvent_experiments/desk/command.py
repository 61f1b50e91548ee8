"""``solvent desk``: the local pages on which people decide what waits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import say
from solvent_experiments.instruments.adequacy import SCORES
from solvent_experiments.instruments.energy.proposals import DEFAULT_STORE
from solvent_experiments.instruments.gate.reviews import STORE as DEFAULT_GATE
from solvent_experiments.instruments.options import SkipBroken
from solvent_experiments.instruments.outputs import require_place

if TYPE_CHECKING:
    from solvent_experiments.desk.app import Opened


def desk(
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="PATH|URL",
            envvar="SOLVENT_STORE",
            help=f"Store of costs.  [default: {DEFAULT_STORE}, if it is there]",
            show_default=False,
        ),
    ] = None,
    gate_store: Annotated[
        list[str] | None,
        typer.Option(
            "--gate-store",
            metavar="PATH|URL",
            help=f"Store of verdicts; may be given several times.  [default: {DEFAULT_GATE}, if it is there]",
            show_default=False,
        ),
    ] = None,
    responses: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Responses or a session, to label and to log incidents about."),
    ] = None,
    skip_broken: SkipBroken = False,
    scores: Annotated[
        Path, typer.Option(metavar="PATH", help="File of their scores, to read and to append labels to.")
    ] = SCORES,
    incidents: Annotated[
        Path, typer.Option(metavar="PATH", help="File of incidents, to read and to append to.")
    ] = Path("incidents.jsonl"),
    retired: Annotated[
        Path, typer.Option(metavar="PATH", help="File of retired corrections, to read and to append to.")
    ] = Path("retired.jsonl"),
    refusals: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Log of refusals to draw, epistemic_refusals.jsonl.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 takes a free one.")
    ] = 8780,
) -> None:
    """Open the review desk: a local page where people see and decide what waits.

    Cost proposals, gate reviews, responses to label, incidents and corrections, with charts. Only this machine reaches
    it, with the token in the address that is printed.

    Examples:

    - `solvent desk`  opens the stores of the current folder

    - `solvent desk --store postgresql://user@db.example.org/lab --gate-store solvent_gate.db`

    - `solvent desk --responses responses.jsonl --refusals epistemic_refusals.jsonl`
    """
    import anyio

    from solvent_experiments.desk.app import application, listen, server_of
    from solvent_experiments.desk.guard import LOOPBACK

    opened = _opened(
        store, gate_store, responses, scores, incidents, retired, refusals, skip_broken=skip_broken
    )
    try:
        listening = listen(port)
    except OSError as error:
        raise ConfigError(
            f"--port: can't listen on {LOOPBACK}, port {port} ({error.strerror}); next: `solvent desk --port 0` takes"
            " a free one"
        ) from None
    bound = listening.getsockname()[1]
    guarded = application(opened, bound)
    say("review desk, for this machine only; whoever has this address may decide. Ctrl-C ends it.")
    say(f"open: http://{LOOPBACK}:{bound}/?token={guarded.token}")
    sys.stdout.flush()
    try:
        anyio.run(server_of(guarded).serve, [listening])
    finally:
        for opened_store in (opened.costs, *opened.gates):
            if opened_store is not None:
                opened_store.close()


def _opened(
    store: str | None,
    gate_store: list[str] | None,
    responses: Path | None,
    scores: Path,
    incidents: Path,
    retired: Path,
    refusals: Path | None,
    *,
    skip_broken: bool,
) -> Opened:
    """Return what the desk shows, read once before anything is served."""
    from solvent.adequacy.decisions import retirements
    from solvent.adequacy.fmea import read_incidents
    from solvent.adequacy.responses import read_responses
    from solvent.adequacy.scoring import known_ids
    from solvent.debt import read_refusals_jsonl
    from solvent.energy.costs import CostStore
    from solvent.gate.store import VerdictStore
    from solvent_experiments.desk.app import Opened

    place = store if store is not None else DEFAULT_STORE if Path(DEFAULT_STORE).exists() else None
    gates = gate_store or ([DEFAULT_GATE] if Path(DEFAULT_GATE).exists() else [])
    if place is None and not gates and responses is None and refusals is None and not incidents.exists():
        raise ConfigError(
            f"nothing to review: no {DEFAULT_STORE} and no {DEFAULT_GATE} in this folder; next: `solvent proposals"
            " register` or `solvent gate judge CLAIMS --policy standard --store PATH` begins a store"
        )
    if incidents.exists():
        read_incidents(incidents)
    retirements(retired)
    for option, path in (("--scores", scores), ("--incidents", incidents), ("--retired", retired)):
        require_place(option, path)
    read = None if responses is None else read_responses(responses, skip_broken=skip_broken)
    if read is not None:
        known_ids(scores, read)  # refuses the scores of other responses under their ids
    if refusals is not None:
        read_refusals_jsonl(refusals)
    return Opened(
        gates=[VerdictStore(path) for path in gates],
        responses=read,
        scores=scores,
        incidents=incidents,
        retired=retired,
        refusals=refusals,
        costs=None if place is None else CostStore(place, create=False),
    )
