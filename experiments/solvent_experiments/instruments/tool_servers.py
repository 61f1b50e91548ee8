"""The tools of a live server of the Model Context Protocol, priced.

The protocol's SDK asks a server over stdio (a command) or streamable HTTP (a URL). A hostile server has a limit of time
and one of size; what it says is one line of text. No tool is called.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import mcp.client.stdio
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, Implementation, PaginatedRequestParams, Tool
from pydantic import ValidationError

from solvent.energy import ToolEnergy, energy_for_tool
from solvent_experiments.config import ConfigError
from solvent_experiments.instruments.terminal import one_line, printable

__all__ = ["Listing", "ServerError", "environment_of", "list_tools"]

MOST_PAGES, MOST_TOOLS = 200, 10_000
MOST_SENT = 8 * 2**20  # bytes of all answers together; a hundred tools take some 200 kB
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, ConnectionError)


class ServerError(ValueError):
    """A server that can't be priced. The message is one line: the server and its fault."""


@dataclass
class Listing:
    """The priced tools of a server, by the name that it gives itself, and a line for each tool without a price."""

    title: str = ""
    tools: list[ToolEnergy] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


@dataclass
class _Heard:
    """What a server sent: tools, bytes, and the first line that isn't the protocol's."""

    title: str = ""
    tools: list[Tool] = field(default_factory=list)
    complete: bool = False
    sent: int = 0
    junk: str = ""
    scope: anyio.CancelScope | None = None  # of the conversation

    def count(self, part: bytes | str) -> None:
        self.sent += len(part)
        if self.sent > MOST_SENT:
            if self.scope is not None:
                self.scope.cancel()  # the SDK may take the error for a lost connection, and ask again
            raise ConnectionError("more than the limit")


def list_tools(
    server: str, timeout: float = 20.0, env: Mapping[str, str] | None = None, *, show_stderr: bool = False
) -> Listing:
    """Ask one server for its tools and price them.

    Args:
        server: a URL (``http://`` or ``https://``), or a command line.
        timeout: seconds for the whole conversation; stopping a server takes some more.
        env: variables for a command, in addition to those that the SDK passes on.
        show_stderr: copy a command's stderr.

    Raises:
        ServerError: the server doesn't exist, doesn't answer in time, or sends nothing readable.
    """
    heard = _Heard()
    with open(os.devnull, "w") as silent, _counted_stdout(heard), _quiet_sdk():  # noqa: PTH123
        try:
            anyio.run(_ask, server, timeout, dict(env or {}), sys.stderr if show_stderr else silent, heard)
        except Exception as error:
            if not heard.complete:  # an error after the list is complete is harmless
                raise ServerError(f"{printable(server)}: {_problem(error, timeout, heard)}") from None
    if not heard.complete:
        raise ServerError(f"{printable(server)}: {_problem(TimeoutError(), timeout, heard)}")
    found = Listing(heard.title)
    for tool in heard.tools:
        try:
            found.tools.append(energy_for_tool(tool.name, tool.annotations, tool.inputSchema))
        except ValueError as error:
            found.left_out.append(f"a tool {printable(tool.name, 60)!r}: {error}")
    return found


def environment_of(assignments: Sequence[str]) -> dict[str, str]:
    """Return a mapping of ``KEY=VALUE`` assignments; ``KEY`` alone takes the value that is already set."""
    env = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not key or (not equals and key not in os.environ) or "\0" in assignment:
            allowed = "allowed: KEY=VALUE, or the KEY of a variable that is set"
            raise ConfigError(f"got {assignment!r}; {allowed}", key="--env")
        env[key] = value if equals else os.environ[key]
    return env


async def _ask(server: str, timeout: float, env: dict[str, str], errlog: Any, heard: _Heard) -> None:
    if urlsplit(server).scheme.lower() in ("http", "https"):
        await _ask_url(server, timeout, heard)
        return
    try:
        words = shlex.split(server)
    except ValueError as error:
        raise ConfigError(f"isn't a command line ({error})") from None
    if not words or "://" in words[0] or "\0" in server:
        raise ConfigError("is neither a command line nor a URL; allowed: a command, http:// or https://")
    # Bytes that aren't UTF-8 become junk instead of breaking the reader.
    parameters = StdioServerParameters(
        command=words[0], args=words[1:], env=env, encoding_error_handler="replace"
    )
    async with stdio_client(parameters, errlog) as (read, write):
        with anyio.fail_after(
            timeout
        ) as heard.scope:  # inside, so that it doesn't interrupt the server's shutdown
            await _converse(read, write, heard)


async def _ask_url(url: str, timeout: float, heard: _Heard) -> None:
    async def counted(response: httpx.Response) -> None:
        response.headers.pop("Content-Encoding", None)  # none was asked for: unpacked, few bytes can be many
        response.stream = _CountedStream(response.stream, heard)

    with anyio.fail_after(timeout) as heard.scope:
        async with (
            httpx.AsyncClient(
                timeout=timeout, headers={"Accept-Encoding": "identity"}, event_hooks={"response": [counted]}
            ) as client,
            streamable_http_client(url, http_client=client) as (read, write, _),
        ):
            await _converse(read, write, heard, most_junk=1)  # an unreadable answer is not sent again


class _CountedStream(httpx.AsyncByteStream):
    """The body of an answer, counted."""

    def __init__(self, stream: Any, heard: _Heard) -> None:
        self._stream, self._heard = stream, heard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._heard.count(part)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


@contextlib.contextmanager
def _counted_stdout(heard: _Heard) -> Iterator[None]:
    """Count what the SDK reads from a command; it has no limit and no place for one but this name."""
    names: dict[str, Any] = vars(mcp.client.stdio)
    kind = names["TextReceiveStream"]

    class Counted(kind):  # type: ignore[misc, valid-type]
        async def receive(self) -> str:
            part: str = await super().receive()
            heard.count(part)
            return part

    names["TextReceiveStream"] = Counted
    try:
        yield
    finally:
        names["TextReceiveStream"] = kind


@contextlib.contextmanager
def _quiet_sdk() -> Iterator[None]:
    """Silence the SDK, which logs unreadable messages; here they are a one-line error."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


async def _converse(read: Any, write: Any, heard: _Heard, most_junk: int = 100) -> None:
    left = most_junk

    async def on_message(message: object) -> None:
        nonlocal left
        if isinstance(message, Exception):
            heard.junk = heard.junk or _junk(message)
            left -= 1
            if left <= 0 and heard.scope is not None:
                heard.scope.cancel()
        await anyio.lowlevel.checkpoint()

    client = Implementation(name="solvent", version="1")
    async with ClientSession(read, write, message_handler=on_message, client_info=client) as session:
        answer = await session.initialize()
        heard.title = f"{answer.serverInfo.name} {answer.serverInfo.version}".strip()
        cursor, pages = None, 0
        while answer.capabilities.tools is not None:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if pages else None)
            heard.tools += page.tools
            pages += 1
            if not page.nextCursor:
                break
            if page.nextCursor == cursor or pages >= MOST_PAGES or len(heard.tools) > MOST_TOOLS:
                raise ConfigError(
                    f"its list of tools has no end ({len(heard.tools)} tools and still more pages)"
                )
            cursor = page.nextCursor
        heard.complete = True


def _junk(message: Exception) -> str:
    said = message.errors(include_url=False)[0].get("input") if isinstance(message, ValidationError) else None
    return _line(said if isinstance(said, str) else str(message))


def _line(said: str) -> str:
    return one_line(said[:1200])  # a server may send any amount


def _problem(error: BaseException, timeout: float, heard: _Heard) -> str:
    error = _innermost(error)
    if heard.sent > MOST_SENT:
        return f"sent more than {MOST_SENT // 2**20} MiB"
    if heard.junk and (isinstance(error, (TimeoutError, *_GONE)) or _is_closed(error)):
        return f"sent nothing that the protocol knows; it sent: {heard.junk}"
    match error:
        case TimeoutError() | httpx.TimeoutException():
            return f"no answer within {timeout:g} s"
        case FileNotFoundError():
            return "no such command"
        case McpError() if not _is_closed(error):
            return f"answered with an error: {_line(error.error.message)}"
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            return f"sent an answer that can't be read ({_line(place)}: {_line(first['msg'])})"
        case httpx.HTTPStatusError():
            return f"answered with HTTP {error.response.status_code}"
        case httpx.HTTPError() | httpx.InvalidURL():
            return f"can't be reached ({_line(str(error)) or type(error).__name__})"
        case ConfigError():
            return error.problem
        case OSError() if error.strerror and not isinstance(error, _GONE):
            return f"can't be run ({error.strerror})"
        case McpError() | anyio.BrokenResourceError() | anyio.ClosedResourceError() | anyio.EndOfStream():
            return "ended before it answered; --stderr shows what it says"
    return f"{type(error).__name__}: {_line(str(error))}"


def _is_closed(error: BaseException) -> bool:
    """Return whether the SDK says that the connection is closed; servers use its code for other things too."""
    closed = (CONNECTION_CLOSED, "Connection closed")
    return isinstance(error, McpError) and (error.error.code, error.error.message) == closed


def _innermost(error: BaseException) -> BaseException:
    """Return the most specific error: in a group the first that isn't a closed connection."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [_innermost(one) for one in error.exceptions]
    return next((one for one in inner if not isinstance(one, _GONE)), inner[0])
