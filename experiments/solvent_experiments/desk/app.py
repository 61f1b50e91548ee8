"""The desk as a web application: lists, items and decisions of any number of queues.

The address that the command prints has a random token. Opening it gives the browser a session, in a signed cookie that
other sites can't send and scripts can't read, and each form is signed for its session. Requests are answered only under
the desk's own names. Pages work without scripts and forbid them; texts are escaped, with characters that would hide or
reverse them shown.

Known approximation: everybody with the address is equal, and the name of a person is what the form says.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from solvent_experiments.console import complain, visible
from solvent_experiments.desk.queues import Decided, Queue

__all__ = ["Desk", "listen"]

LOOPBACK = "127.0.0.1"
MOST_BYTES, LONGEST = 65_536, {"who": 200, "why": 2000}
PER_PAGE = 50
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # "no-referrer" would make the Origin of our own forms "null"
    "Cache-Control": "no-store",
}
PAGES = Environment(
    autoescape=True,
    loader=PackageLoader("solvent_experiments.desk"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=lambda value: visible(value, "\n") if type(value) is str else value,
)
PAGES.filters["path"] = lambda key: quote(key, safe="")


class Desk:
    """A desk for these queues on a port; its ``token`` opens it."""

    def __init__(self, queues: Sequence[Queue], port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._queues = {queue.name: queue for queue in queues}
        self._port, self._key = port, secrets.token_bytes(32)
        self._cookie = f"solvent_desk_{port}"  # cookies know no ports
        self.app = Starlette(
            routes=[
                Route("/desk.css", _style),
                Route("/", self._home),
                Route("/{queue}", self._list),
                Route("/{queue}/{key:path}", self._item, methods=["GET", "POST"]),
            ],
            middleware=[
                Middleware(_Headers),
                Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"], www_redirect=False),
            ],
            exception_handlers={
                HTTPException: _refused,
                OSError: _unusable,
                ValueError: _unusable,
                Exception: _failed,
            },
        )

    def serve(self, listening: socket.socket) -> None:
        """Serve until Ctrl-C."""
        import anyio

        config = uvicorn.Config(
            self.app,
            log_level="critical",
            timeout_graceful_shutdown=1,
            lifespan="off",
            ws="none",
            server_header=False,
        )
        anyio.run(uvicorn.Server(config).serve, [listening])

    # -- pages

    def _home(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        if _same(token, self.token):
            session = secrets.token_urlsafe(16)
            answer = RedirectResponse("/", 303)  # the token leaves the address bar
            answer.set_cookie(
                self._cookie, f"{session}.{self._signed(session)}", httponly=True, samesite="strict"
            )
            return answer
        self._session(request)
        rows = [(queue, len(queue.waiting())) for queue in self._queues.values()]
        return self._page("list.html.j2", title="What waits", queues=rows, rows=None)

    def _list(self, request: Request) -> Response:
        self._session(request)
        queue, rows = self._queue(request), self._queue(request).waiting()
        first = int(page) if (page := request.query_params.get("from", "")).isdecimal() else 0
        following = first + PER_PAGE if len(rows) > first + PER_PAGE else None
        return self._page(
            "list.html.j2", title=queue.title, queue=queue, count=len(rows),
            rows=rows[first : first + PER_PAGE], first=first, following=following,
        )  # fmt: skip

    async def _item(self, request: Request) -> Response:
        session = self._session(request)
        queue, key = self._queue(request), request.path_params["key"]
        form: dict[str, str] = {}
        error, status = "", 200
        if request.method == "POST":
            form = await self._form(request, session)
            try:
                _require(form)
                queue.decide(key, form)
                return RedirectResponse(f"{request.url.path}?recorded=1", 303)
            except Decided as first:
                error, status = f"Somebody else was first: {first}", 409
            except LookupError:
                raise HTTPException(404, "There is no such item.") from None
            except ValueError as wrong:
                error, status = str(wrong), 422
        try:
            item = queue.item(key)
        except LookupError:
            raise HTTPException(404, "There is no such item.") from None
        following = next((row.key for row in queue.waiting() if row.key != key), None)
        return self._page(
            "item.html.j2", status, title=item.title, queue=queue, item=item, form=form, error=error,
            csrf=self._signed(f"form {session}"), following=following, recorded="recorded" in request.query_params,
        )  # fmt: skip

    def _page(self, template: str, status: int = 200, **shown: Any) -> Response:
        return HTMLResponse(
            PAGES.get_template(template).render(shown | {"all": self._queues.values()}), status
        )

    # -- who may

    def _queue(self, request: Request) -> Queue:
        name = request.path_params["queue"]
        if name not in self._queues:
            raise HTTPException(404, "There is no such page.")
        return self._queues[name]

    def _session(self, request: Request) -> str:
        session, _, signature = request.cookies.get(self._cookie, "").partition(".")
        if not _same(signature, self._signed(session)):
            said = (
                "This browser has no session, or the desk was started anew. Open the address that it printed."
            )
            raise HTTPException(403, said)
        return session

    async def _form(self, request: Request, session: str) -> dict[str, str]:
        """Return the fields of a form of this session."""
        if int(request.headers.get("content-length", MOST_BYTES + 1)) > MOST_BYTES:
            raise HTTPException(413, f"The form has over {MOST_BYTES:,} bytes. Nothing was recorded.")
        async with request.form(max_fields=40, max_files=0) as given:
            form = {
                name: value.replace("\r\n", "\n") for name, value in given.items() if isinstance(value, str)
            }
        origin = request.headers.get("origin", f"http://{LOOPBACK}:{self._port}")
        ours = origin in (f"http://{LOOPBACK}:{self._port}", f"http://localhost:{self._port}")
        if not ours or not _same(form.pop("csrf", ""), self._signed(f"form {session}")):
            said = "This form is not one of this session's. Nothing was recorded. Open the page again and repeat it."
            raise HTTPException(403, said)
        return form

    def _signed(self, text: str) -> str:
        return hmac.digest(self._key, text.encode("utf-8", "replace"), "sha256").hex()


class _Headers:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, with_headers)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address; raise OSError if the port is in use."""
    return socket.create_server((LOOPBACK, port))


def _require(form: Mapping[str, str]) -> None:
    for name, most in LONGEST.items():
        if not 0 < len(form.get(name, "").strip()) <= most:
            raise ValueError(f"{name}: got {len(form.get(name, ''))} characters; allowed: 1 to {most:,}")


def _same(said: str, known: str) -> bool:
    return hmac.compare_digest(said.encode("utf-8", "replace"), known.encode("ascii"))


def _style(_: Request) -> Response:
    return Response(
        (files("solvent_experiments.desk") / "desk.css").read_text("utf-8"), media_type="text/css"
    )


def _message(status: int, title: str, said: str) -> Response:
    shown = {"title": title, "said": said, "all": (), "rows": None, "queues": ()}
    return HTMLResponse(PAGES.get_template("list.html.j2").render(shown), status)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = error.detail if error.detail != "Not Found" else "There is no such page."
    return _message(error.status_code, "Refused" if error.status_code == 403 else "Not found", said)


def _unusable(_: Request, error: Exception) -> Response:
    """Answer when a store can't be read or locked any more, as after its file was moved."""
    return _message(503, "Not available", str(error))


def _failed(request: Request, error: Exception) -> Response:
    complain(f"{request.method} {request.url.path}: {type(error).__name__}: {error}")
    return _message(500, "Error", "The desk failed; its terminal says where.")
