"""A chat-completions server on the loopback that answers what a test tells it to, well or badly.

Each request takes the next ``Act`` of the script; the last one stays. Acts write to the socket themselves, so that
nothing keeps them from breaking the protocol. What was asked is kept in ``requests``.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from solvent.adequacy.judge import ChatSettings, Judge

__all__ = [
    "Act",
    "Asked",
    "JudgeServer",
    "asking",
    "calling",
    "completion",
    "drip_body",
    "drip_head",
    "endless_body",
    "grades",
    "judge_at",
    "reply",
    "reset",
    "running",
    "silence",
    "text",
]


def judge_at(url: str, cache: Path | None = None, **settings: Any) -> Judge:
    """The judge of a test: the model ``small``, at an address."""
    return Judge(ChatSettings(**{"base_url": url, "model": "small", **settings}), cache)


def asking(server: JudgeServer, model: str = "small") -> tuple[str, ...]:
    """Options of a command line that has this server judge."""
    return "--judge-url", server.url, "--judge-model", model


@dataclass(frozen=True)
class Asked:
    """One request, as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def user(self) -> str:
        """What stands in the message that holds the material."""
        return str(self.json["messages"][1]["content"])


class JudgeServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script: list[Act]) -> None:
        self.script = script
        self.requests: list[Asked] = []
        self.faults: list[BaseException] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def asked(self, request: Asked) -> Act:
        """Keep the request; the act that answers it."""
        with self._lock:
            self.requests.append(request)
            return self.script[min(len(self.requests), len(self.script)) - 1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        import sys

        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):  # a client that has left is no fault
            self.faults.append(error)


class _Handler(BaseHTTPRequestHandler):
    server: JudgeServer
    asked: Asked
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked = Asked(self.path, headers, body, time.monotonic())
        self.server.asked(self.asked)(self)
        self.close_connection = True

    def do_GET(self) -> None:  # what a client that follows a redirect would do
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def wait(self, seconds: float) -> bool:
        """Whether the server is still open after so long."""
        return not self.server.closing.wait(seconds)


Act = Callable[[_Handler], None]


@contextmanager
def running(*script: Act) -> Iterator[JudgeServer]:
    """A server with this script, closed at the end; what went wrong within it is raised then."""
    server = JudgeServer(list(script) or [grades()])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(10.0)
    if server.faults:
        raise server.faults[0]


def completion(content: str | None, *, tokens: int | None = 50, **fields: Any) -> bytes:
    """A chat completion whose one message says ``content``."""
    message = {"role": "assistant", "content": content, **fields.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **fields}
    usage = {} if tokens is None else {"usage": {"prompt_tokens": 40, "total_tokens": tokens}}
    answer = {"id": "chat-1", "object": "chat.completion", "model": "small", "choices": [choice], **usage}
    return json.dumps(answer).encode()


def calling(name: str, arguments: Any, **fields: Any) -> bytes:
    """A chat completion that calls a tool."""
    plain = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": plain}}
    return completion(None, message={"tool_calls": [call]}, **fields)


def grades(epad: Any = 2, sya: Any = 1, reason: Any = "One narrow look.", **more: Any) -> Act:
    """An answer with these grades, whatever they are."""
    return text(json.dumps({"reason": reason, "epad": epad, "sya": sya, **more}))


def text(content: str | None, **fields: Any) -> Act:
    """An answer that says ``content``."""
    return reply(body=completion(content, **fields))


def reply(status: int = 200, headers: Mapping[str, str] | None = None, body: bytes = b"{}") -> Act:
    """A whole answer."""

    def act(handler: _Handler) -> None:
        handler.write(_head(status, {"content-length": str(len(body)), **(headers or {})}) + body)

    return act


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = {"content-type": "application/json", "connection": "close", **headers}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Some\r\n{text}\r\n".encode()


def silence(handler: _Handler) -> None:
    """Take the request and never answer."""
    handler.wait(60.0)


def reset(handler: _Handler) -> None:
    """Cut the connection with a reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.rfile.close()


def drip_head(handler: _Handler) -> None:
    """A byte of the headers now and then, without end: no read ever waits for long."""
    handler.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while handler.wait(0.05):
        handler.write(b"a")


def drip_body(handler: _Handler) -> None:
    """A good start, then a byte now and then."""
    handler.write(_head(200, {"content-length": "100000"}))
    while handler.wait(0.05):
        handler.write(b" ")


def endless_body(handler: _Handler) -> None:
    """As many bytes as are taken."""
    handler.write(_head(200, {}))
    block = b" " * 65536
    while handler.wait(0.0):
        handler.write(block)
