"""Who may speak to the desk: the token, the session's cookie, forms that can't be forged, and headers.

The address that the command prints has a random token. Whoever opens it gets a session, whose number is signed and kept
in a cookie that other sites can't send (``SameSite=Strict``) and scripts can't read. Each form has a signature of its
session. Requests are answered only under the desk's own names, so that no web page reaches it by a name of its own.

Known approximation: everybody with the token is equal, and the name of a person is what the form says.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from solvent_experiments.desk.pages import CSRF, FORM, render

__all__ = ["LOOPBACK", "Guard"]

LOOPBACK = "127.0.0.1"
STYLE = "/desk.css"
MOST_BYTES, MOST_FIELDS = 65_536, 40
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # "no-referrer" would make the Origin of our own forms "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Answers requests that may not pass, and passes the others with their form and the signature for new forms."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._app, self._key = app, secrets.token_bytes(32)
        self._hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}
        self._cookie = f"solvent_desk_{port}"  # cookies know no ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = await self._answer(Request(scope, receive), scope)
        await (self._app if answer is None else answer)(scope, receive, with_headers)

    async def _answer(self, request: Request, scope: Scope) -> Response | None:
        """Return the answer to a request that doesn't pass."""
        if request.headers.get("host") not in self._hosts:
            return _refused(
                request, 421, "This name is not the desk's. Open the address that the command printed."
            )
        if request.url.path == STYLE:
            return None
        if (token := request.query_params.get("token")) is not None and _same(token, self.token):
            session = secrets.token_urlsafe(16)
            answer = RedirectResponse("/", 303)  # the token leaves the address bar
            value = f"{session}.{self._signed(session)}"
            answer.set_cookie(self._cookie, value, httponly=True, samesite="strict")
            return answer
        session, _, signature = request.cookies.get(self._cookie, "").partition(".")
        if not _same(signature, self._signed(session)):
            said = (
                "This browser has no session, or the desk was started anew. Open the address that it printed."
            )
            return _refused(request, 403, said)
        scope[CSRF] = self._signed(f"form {session}")
        if request.method not in ("GET", "HEAD", "POST"):
            return _refused(request, 405, "The desk reads pages and takes forms; nothing else.")
        return await self._form(request, scope) if request.method == "POST" else None

    async def _form(self, request: Request, scope: Scope) -> Response | None:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return _refused(
                    request, 413, f"The form has over {MOST_BYTES:,} bytes. Nothing was recorded."
                )
        try:
            pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            return _refused(request, 400, "The form can't be read. Nothing was recorded.")
        form = {name: value.replace("\r\n", "\n") for name, value in pairs}
        origin = request.headers.get("origin")
        foreign = origin is not None and origin.removeprefix("http://") not in self._hosts
        if foreign or not _same(form.pop("csrf", ""), scope[CSRF]):
            return _refused(
                request,
                403,
                "This form is not one of this session's. Nothing was recorded. Open the page again and repeat it.",
            )
        scope[FORM] = form
        return None

    def _signed(self, text: str) -> str:
        return hmac.digest(self._key, text.encode("utf-8", "replace"), "sha256").hex()


def _same(said: str, known: str) -> bool:
    return hmac.compare_digest(said.encode("utf-8", "replace"), known.encode("ascii"))


def _refused(request: Request, status: int, said: str) -> Response:
    return render(request, "message.html.j2", status, title="Refused", said=said)
