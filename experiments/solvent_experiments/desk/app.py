"""The desk as a web application, and its server."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.responses import Responses
from solvent.energy.costs import CostStore, StoreError
from solvent.gate.errors import GateError
from solvent.gate.store import VerdictStore
from solvent_experiments.console import complain
from solvent_experiments.desk.adequacy import Corrections, Incidents
from solvent_experiments.desk.charts import Charts
from solvent_experiments.desk.costs import PENDING, Costs
from solvent_experiments.desk.gate import Gates
from solvent_experiments.desk.guard import LOOPBACK, STYLE, Guard
from solvent_experiments.desk.labels import Labels
from solvent_experiments.desk.pages import render

__all__ = ["Opened", "application", "listen", "server_of"]

REGISTER, JUDGE, RESPONSES = (
    "solvent proposals register",
    "solvent gate judge CLAIMS --policy standard --store solvent_gate.db",
    "solvent desk --responses FILE",
)


@dataclass(frozen=True)
class Opened:
    """Everything that a desk shows."""

    costs: CostStore | None
    gates: Sequence[VerdictStore]
    responses: Responses | None
    scores: Path
    incidents: Path
    retired: Path
    refusals: Path | None


def application(opened: Opened, port: int) -> Guard:
    """Return the desk for a port; its ``token`` opens it."""
    incidents, corrections = Incidents(opened.incidents), Corrections(opened.retired)
    labels = Labels(opened.responses, opened.scores, incidents)

    def home(request: Request) -> Response:
        rows, missing = [], []
        if opened.costs is None:
            missing.append(("Cost proposals", REGISTER))
        else:
            waiting = opened.costs.count_proposals()[PENDING]
            rows.append(("/costs", "cost proposal", "to decide", waiting, opened.costs.place))
        for number, store in enumerate(opened.gates):
            reviews = store.counts().get("review", 0)
            rows.append((f"/gate/{number}", "gate review", "to decide", reviews, store.place))
        if not opened.gates:
            missing.append(("Gate reviews", JUDGE))
        if opened.responses is None:
            missing.append(("Responses to label", RESPONSES))
        else:
            waiting = len(labels.unlabelled())
            rows.append(("/adequacy/responses", "response", "to label", waiting, str(opened.responses.path)))
        logged = len(incidents.logged())
        rows.append(("/adequacy/incidents", "incident", "logged", logged, str(opened.incidents)))
        return render(request, "home.html.j2", title="What waits", rows=rows, missing=missing)

    charts = Charts(opened.costs, opened.gates, opened.refusals)
    routes = [Route("/", home), Route(STYLE, _style)]
    for pages in (labels, incidents, corrections, charts):
        routes += pages.routes()
    if opened.costs is not None:
        routes += Costs(opened.costs).routes()
    routes += Gates(opened.gates).routes()
    app = Starlette(
        routes=routes,
        exception_handlers={
            HTTPException: _not_found,
            StoreError: _unusable,
            GateError: _unusable,
            AdequacyError: _unusable,
            OSError: _unusable,
            Exception: _failed,
        },
    )
    app.state.responses = opened.responses is not None
    return Guard(app, port)


def server_of(desk: Guard) -> uvicorn.Server:
    """Return the server of a desk, which serves until Ctrl-C."""
    config = uvicorn.Config(
        desk,
        log_level="critical",
        timeout_graceful_shutdown=1,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
    )
    return uvicorn.Server(config)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address.

    Raises:
        OSError: the port is in use.
    """
    return socket.create_server((LOOPBACK, port))


def _style(_: Request) -> Response:
    parts = (
        files("solvent_experiments.desk") / "pages.css",
        files("solvent_experiments.desk") / "desk.css",
    )
    return Response("".join(part.read_text(encoding="utf-8") for part in parts), media_type="text/css")


def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = error.detail if error.detail != "Not Found" else "There is no such page."
    return render(request, "message.html.j2", error.status_code, title="Not found", said=said)


def _unusable(request: Request, error: Exception) -> Response:
    """Answer when a store can't be read or locked any more, as after its file was moved."""
    return render(request, "message.html.j2", 503, title="Not available", said=str(error))


def _failed(request: Request, error: Exception) -> Response:
    complain(f"{request.method} {request.url.path}: {type(error).__name__}: {error}")
    return render(
        request, "message.html.j2", 500, title="Error", said="The desk failed; its terminal says where."
    )
