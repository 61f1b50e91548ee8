"""The bench as a server of the Model Context Protocol, over stdio or streamable HTTP: an episode per session.

A session has its own bench. ``start_episode`` begins its one episode, ``finish`` rests the lab to its end and
returns the score; the tools between them are those of ``tools.schemas``. The system prompt is the server's
instructions, and a prompt for clients that leave instructions out. Calls that the bench refuses are errors of the
protocol's tools (``isError``), counted and capped as everywhere; after ``MOST_TURNS`` calls the lab rests to its end.

This is version 1 of the protocol's SDK: version 2 has other names for servers and clients alike.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import GetPromptResult, Prompt, PromptMessage, TextContent, Tool, ToolAnnotations
from starlette.applications import Starlette
from starlette.routing import Route

import solvent
from solvent_agents.language.bench import MOST_TURNS, Bench, refusal
from solvent_agents.language.calls import salted
from solvent_agents.language.prompt import instructions
from solvent_agents.language.tools import schemas, use

__all__ = ["MOST_BYTES", "address_of", "lab_server", "listen", "serve_http", "serve_stdio", "warm_up"]

MOST_BYTES = 65_536
"""Bytes of a request over HTTP; a call takes some 200."""
MOST_SESSIONS = 64
STOPPED = 130
"""Exit code after Ctrl-C."""
_MOST_SEED = 2**32 - 1
_START, _FINISH, _PROMPT = "start_episode", "finish", "lab"


class _Session:
    """A client's bench and its one episode. What a call must not do is a ValueError, which the SDK tells the client."""

    def __init__(self, bench: Bench, salt: str) -> None:
        self._bench, self._salt, self._begun = bench, salt, False

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[list[TextContent], dict[str, Any] | None]:
        bench, refused, score = self._bench, self._bench.invalid, None
        if tool == _START:
            text = self._start(arguments)
        elif not self._begun:
            raise ValueError(f"No episode has begun. Call {_START} first.")
        elif tool == _FINISH:
            score = {"score": bench.get_reward(), "invalid_calls": bench.invalid}
            text = bench._over()
        elif len(bench.actions) >= MOST_TURNS:
            bench._leave()
            raise ValueError(f"This session has used its {MOST_TURNS} calls. {bench._over()}")
        else:
            over, text = bench.summary is not None, use(bench, tool, arguments)
            if over or bench.invalid > refused:
                raise ValueError(text)
        return [TextContent(type="text", text=text)], score

    def _start(self, arguments: dict[str, Any]) -> str:
        if self._begun:
            raise ValueError("A session has one episode, and this one's has begun.")
        seed = arguments.get("seed")
        if arguments.keys() != {"seed"} or type(seed) is not int or not 0 <= seed <= _MOST_SEED:
            allowed = f"a seed, a whole number from 0 to {_MOST_SEED}"
            raise ValueError(refusal("arguments", arguments, [allowed]))
        self._begun = True
        return self._bench.reset(salted(self._salt, seed))


def lab_server(env_id: str, *, beliefs: bool = True, explanation: bool = True, salt: str = "") -> Server[Any]:
    """Return a server of a level's lab.

    Args:
        env_id: a registered environment.
        beliefs: show the exact posterior (``Bench``).
        explanation: give the reasons behind the costs (``instructions``).
        salt: makes other seeds of those that clients ask for (``salted``).
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[_Session]:
        yield _Session(Bench(env_id, beliefs=beliefs), salt)

    params = Bench(env_id, beliefs=beliefs).params
    text = instructions(params, beliefs=beliefs, explanation=explanation)
    text += f"\n{_START} begins the episode of a seed, {_FINISH} ends it and returns the score.\n"
    server: Server[Any] = Server("solvent", solvent.__version__, instructions=text, lifespan=lifespan)

    tools = _tools(schemas(params))

    @server.list_tools()
    async def list_tools() -> list[Tool]:
        return tools

    @server.call_tool(validate_input=False)  # the bench says what is allowed, and counts
    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        return server.request_context.lifespan_context.call(name, arguments)

    @server.list_prompts()
    async def list_prompts() -> list[Prompt]:
        return [Prompt(name=_PROMPT, description=f"Task and rules of {env_id}.")]

    @server.get_prompt()
    async def get_prompt(name: str, _: dict[str, str] | None) -> GetPromptResult:
        if name != _PROMPT:
            raise ValueError(refusal("prompt", name, [_PROMPT]))
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(messages=[message])

    # It warns of each unknown tool, which the bench tells the client, and calls it an error if a client leaves.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL)
    return server


def warm_up(env_id: str) -> None:
    """Play a heartbeat of a level, so that no client waits until it is compiled."""
    bench = Bench(env_id)
    bench.reset(0)
    bench.rest()


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise ValueError with one line if there can't be one."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        allowed = "an address of this machine and a free port"
        raise ValueError(f"can't listen on {host}, port {port} ({error}); allowed: {allowed}") from None


def address_of(listening: socket.socket) -> str:
    """Return the address of a socket as URLs have it, ``HOST:PORT`` or ``[HOST]:PORT``."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def serve_stdio(server: Server[Any]) -> None:
    """Serve one session over stdin and stdout, until the client leaves."""

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # At once: the SDK's thread waits for a line that may never come.
    signal.signal(signal.SIGINT, lambda *_: os._exit(STOPPED))
    anyio.run(serve)


def serve_http(server: Server[Any], listening: socket.socket) -> None:
    """Serve sessions at ``/mcp`` over streamable HTTP, at most ``MOST_SESSIONS`` at a time, until Ctrl-C.

    On a loopback address only requests for that address are answered, so that no web page reaches the server.
    """
    # Accepted connections inherit it. An answer of two packets would wait 40 ms for the client's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    host, port = listening.getsockname()[:2]
    names = [f"localhost:{port}", f"127.0.0.1:{port}", address_of(listening)]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=ipaddress.ip_address(host).is_loopback,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    manager = StreamableHTTPSessionManager(
        server, json_response=True, security_settings=security, max_request_body_size=MOST_BYTES,
        max_sessions=MOST_SESSIONS,
    )  # fmt: skip
    app = Starlette(routes=[Route("/mcp", manager.asgi_app)], lifespan=lambda _: manager.run())
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, lifespan="on")
    anyio.run(uvicorn.Server(config).serve, [listening])


def _tools(level: list[dict[str, Any]]) -> list[Tool]:
    """Return the tools of a session: an episode begins, acts and ends. Nothing that they do leaves the lab."""

    def tool(name: str, description: str, parameters: dict[str, Any], **more: Any) -> Tool:
        reads = name == "read_notebook"
        hints = ToolAnnotations(
            readOnlyHint=reads, destructiveHint=False, idempotentHint=reads, openWorldHint=False
        )
        return Tool(name=name, description=description, inputSchema=parameters, annotations=hints, **more)

    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    seed = {
        "type": "integer", "minimum": 0, "maximum": _MOST_SEED, "description": "The same seed is the same lab.",
    }  # fmt: skip
    score = {"score": {"type": "number"}, "invalid_calls": {"type": "integer"}}
    return [
        tool(
            _START, "Begin the one episode of this session.",
            nothing | {"properties": {"seed": seed}, "required": ["seed"]},
        ),
        *(tool(**schema["function"]) for schema in level),
        tool(
            _FINISH, "Rest the lab to the end of its episode, and return the score in bits.", nothing,
            outputSchema={"type": "object", "properties": score, "required": list(score)},
        ),
    ]  # fmt: skip
