"""``solvent desk``: the local page on which people decide what is pending."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import say
from solvent_experiments.options import COSTS


def desk(
    store: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|URL",
            envvar="SOLVENT_STORE",
            help=f"Store of costs, for the proposals.  [default: {COSTS}, if it is there]",
        ),
    ] = None,
    reviews: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder of the gate's verdicts, for the reviews, if it is there."),
    ] = Path("gate_reviews"),
    responses: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A transcript whose responses are to be labelled.")
    ] = None,
    scores: Annotated[Path, typer.Option(metavar="FILE", help="File of scores, to append labels to.")] = Path(
        "scores.jsonl"
    ),
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 takes a free one.")
    ] = 8780,
) -> None:
    """Open the review desk: a local page where people see and decide what is pending.

    Cost proposals, gate reviews and responses to label. Only this machine can reach it, with the token in the
    printed address.

    Examples:

    - `solvent desk`  opens what is in the current folder

    - `solvent desk --store postgresql://user@db.example.org/lab --responses transcript.jsonl`
    """
    from solvent.energy.store import CostStore
    from solvent.gate.reviews import Reviews as Verdicts
    from solvent_experiments.desk.app import LOOPBACK, Desk
    from solvent_experiments.desk.queues import Proposals, Queue, Responses, Reviews

    place = store or (COSTS if Path(COSTS).exists() else None)
    queues: list[Queue] = [Proposals(CostStore(place, create=False))] if place else []
    queues += [Reviews(Verdicts(reviews))] if (reviews / "verdicts.jsonl").is_file() else []
    queues += [Responses(responses, scores)] if responses else []
    if not queues:
        allowed = "--store, --reviews, --responses"
        raise ConfigError(f"nothing to review: no {COSTS}, and no verdicts in {reviews}; allowed: {allowed}")
    try:
        listening = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise ConfigError(
            f"got {port}; allowed: a free port, as with --port 0 ({error})", key="--port"
        ) from None
    bound = listening.getsockname()[1]
    server = Desk(queues, bound)
    say("review desk, for this machine only; whoever has this address may decide. Ctrl-C ends it.")
    say(f"open: http://{LOOPBACK}:{bound}/?token={server.token}")
    sys.stdout.flush()
    server.serve(listening)
