"""The desk as a web application: lists, items and decisions of any number of queues.

The address that the command prints has a random token. Opening it gives the browser a session, in a cookie that other
sites can't send and scripts can't read, and each form has a token of its session. Requests are answered only under the
desk's own names. Pages work without scripts and forbid them; texts are escaped, with characters that would hide or
reverse them shown.

Known approximation: everybody with the address is equal, and the name of a person is what the form says.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import uvicorn
from jinja2 import PackageLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from solvent_experiments.console import complain
from solvent_experiments.desk.queues import Queue
from solvent_experiments.text import page_templates

__all__ = ["Desk"]

LOOPBACK = "127.0.0.1"
LONGEST = {"who": 200, "why": 2000}
MOST_ROWS = 50
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
PAGES = page_templates(PackageLoader("solvent_experiments.desk"))
PAGES.filters["path"] = lambda key: quote(key, safe="")


class Desk:
    """A desk for these queues on a port; its ``token`` opens it."""

    def __init__(self, queues: Sequence[Queue], port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._queues = {queue.name: queue for queue in queues}
        self._form_tokens: dict[str, str] = {}  # by session
        self._cookie = f"solvent_desk_{port}"  # cookies know no ports
        self.app = Starlette(
            routes=[
                Route("/desk.css", lambda _: FileResponse(Path(__file__).with_name("desk.css"))),
                Route("/", self._home),
                Route("/{queue}", self._list),
                Route("/{queue}/{key:path}", self._item, methods=["GET", "POST"]),
            ],
            middleware=[
                Middleware(BaseHTTPMiddleware, dispatch=_with_headers),
                Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"], www_redirect=False),
            ],
            exception_handlers=dict.fromkeys((HTTPException, LookupError, OSError, ValueError, Exception), _failed),
        )  # fmt: skip

    def serve(self, listening: socket.socket) -> None:
        """Serve until Ctrl-C."""
        config = uvicorn.Config(self.app, log_level="critical", timeout_graceful_shutdown=1, lifespan="off")
        anyio.run(uvicorn.Server(config).serve, [listening])

    def _home(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        if secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            session = secrets.token_urlsafe(32)
            self._form_tokens[session] = secrets.token_hex(32)
            answer = RedirectResponse("/", 303)  # the token leaves the address bar
            answer.set_cookie(self._cookie, session, httponly=True, samesite="strict")
            return answer
        self._form_token(request)
        rows = [(queue, len(queue.waiting())) for queue in self._queues.values()]
        return self._page("list.html.j2", title="Pending", queues=rows, rows=None)

    def _list(self, request: Request) -> Response:
        self._form_token(request)
        queue = self._queues[request.path_params["queue"]]
        rows = queue.waiting()
        displayed = rows[:MOST_ROWS]
        return self._page("list.html.j2", title=queue.title, queue=queue, count=len(rows), rows=displayed)

    async def _item(self, request: Request) -> Response:
        form_token = self._form_token(request)
        queue, key = self._queues[request.path_params["queue"]], request.path_params["key"]
        form: dict[str, str] = {}
        error = ""
        if request.method == "POST":
            form = await _form_of(request, form_token)
            try:
                _decide(queue, key, form)
                return RedirectResponse(f"{request.url.path}?recorded=1", 303)
            except ValueError as refused:
                error = str(refused)
        item, status = queue.item(key), 422 if error else 200
        if error and item.decided:
            error, status = f"Somebody else was first: {item.decided}", 409
        following = next((row.key for row in queue.waiting() if row.key != key), None)
        return self._page(
            "item.html.j2", status, title=item.title, queue=queue, item=item, form=form, error=error,
            csrf=form_token, following=following, recorded="recorded" in request.query_params,
        )  # fmt: skip

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        text = PAGES.get_template(template).render(values | {"all": self._queues.values()})
        return HTMLResponse(text, status)

    def _form_token(self, request: Request) -> str:
        """Return the token of the forms of a request's session; refuse a request without a session."""
        token = self._form_tokens.get(request.cookies.get(self._cookie, ""))
        if token is None:
            message = (
                "This browser has no session, or the desk was restarted. Open the address that it printed."
            )
            raise HTTPException(403, message)
        return token


async def _form_of(request: Request, form_token: str) -> dict[str, str]:
    """Return the texts of a form; refuse one of another session."""
    async with request.form() as given:
        form = {name: text.replace("\r\n", "\n") for name, text in given.items() if isinstance(text, str)}
    if form.pop("csrf", "") != form_token:
        message = "This form is not one of this session's. Nothing was recorded. Open the page again."
        raise HTTPException(403, message)
    return form


def _decide(queue: Queue, key: str, form: Mapping[str, str]) -> None:
    """Record the decision of a form; raise ValueError for one that can't be recorded."""
    for name, most in LONGEST.items():
        if not 0 < len(form.get(name, "").strip()) <= most:
            message = f"got {len(form.get(name, ''))} characters; allowed: 1 to {most:,}"
            raise ValueError(f"{name}: {message}")
    decision, allowed = form.get("decision", ""), [value for value, _ in queue.item(key).choices]
    if decision not in allowed:
        raise ValueError(f"decision: got {decision!r:.40}; allowed: {', '.join(allowed) or 'none'}")
    queue.decide(key, decision, form)


async def _with_headers(request: Request, call_next: RequestResponseEndpoint) -> Response:
    answer = await call_next(request)
    answer.headers.update(HEADERS)
    return answer


def _failed(request: Request, error: Exception) -> Response:
    """Answer with what was refused, is missing, or failed, as when a store's file was moved."""
    status, title, message = 503, "Not available", str(error)
    if isinstance(error, HTTPException):
        status, title, message = error.status_code, "Refused", error.detail
    elif isinstance(error, LookupError):
        status, title, message = 404, "Not found", "There is no such page."
    else:
        complain(f"{request.method} {request.url.path}: {type(error).__name__}: {error}")
    values = {"title": title, "message": message, "all": (), "rows": None, "queues": ()}
    return HTMLResponse(PAGES.get_template("list.html.j2").render(values), status)
