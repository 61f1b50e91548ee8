"""A chat-completions server on the loopback that answers by a script; the last answer stays."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        self.close_connection = True
        with suppress(ConnectionError):  # the client has left
            self.server.script[min(len(self.server.requests), len(self.server.script)) - 1](self)

    def begin(self, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


Act = Callable[[Handler], None]


def reply(body: Any, status: int = 200, **headers: str) -> Act:
    """An answer with this body, a value of JSON or bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def act(handler: Handler) -> None:
        handler.begin(status, content_length=str(len(content)), **headers)
        handler.wfile.write(content)

    return act


def says(content: Any, finish_reason: str = "stop", **message: Any) -> Act:
    """An answer whose one choice says ``content``."""
    text = content if isinstance(content, str | None) else json.dumps(content)
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    return reply({"choices": [choice], "usage": {"total_tokens": 50}})


def grades(epad: Any = 2, sya: Any = 0, **more: Any) -> Act:
    return says({"reason": "One narrow look.", "epad": epad, "sya": sya, **more})


def hangs(handler: Handler) -> None:
    handler.server.open.wait(30.0)


def floods(handler: Handler) -> None:
    handler.begin()
    while not handler.server.open.is_set():
        handler.wfile.write(b" " * 65536)


@contextmanager
def serving(*script: Act) -> Iterator[Any]:
    """A server with ``url``, ``requests`` so far, and ``open``, which is set at the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.script, server.requests, server.open = script, [], threading.Event()
        server.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.open.set()
            server.shutdown()
