"""The tools of a live server of the Model Context Protocol, priced.

The protocol's SDK asks a server over stdio (a command) or streamable HTTP (a URL). A hostile server has a limit of time
and one of size; what it says is one line of text. No tool is called.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, PaginatedRequestParams
from pydantic import ValidationError

from solvent.energy import ToolEnergy, energy_for_tool
from solvent.errors import SolventError
from solvent.files import first_problem
from solvent_experiments.console import one_line
from solvent_experiments.instruments import relay

__all__ = ["Listing", "ServerError", "list_tools"]

MOST_SENT = 8 * 2**20  # bytes of all answers together; a hundred tools take some 200 kB
MOST_JUNK = 100  # lines that are not a message, as of a banner before the protocol
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, ConnectionError)


class ServerError(SolventError, ValueError):
    """A server that can't be priced. The message is one line: the server and its fault."""


@dataclass
class Listing:
    """The priced tools of a server, by the name that it gives itself, and a line for each tool without a price."""

    name: str = ""
    title: str = ""  # with its version
    tools: list[ToolEnergy] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    complete: bool = False
    sent: int = 0  # bytes, over HTTP
    too_long: bool = False  # it has sent more than the limit
    junk: list[str] = field(default_factory=list)  # lines that aren't the protocol's
    scope: anyio.CancelScope | None = None  # of the conversation

    def count(self, part: bytes) -> None:
        self.sent += len(part)
        if self.sent > MOST_SENT:
            self.too_long = True
            self.stop()  # the SDK may take the error for a lost connection, and ask again
            raise ConnectionError("more than the limit")

    def stop(self) -> None:
        if self.scope is not None:
            self.scope.cancel()


def list_tools(server: str, timeout: float = 20.0, *, show_stderr: bool = False) -> Listing:
    """Ask one server for its tools and price them.

    Args:
        server: a URL (``http://`` or ``https://``), or a command line.
        timeout: seconds for the whole conversation; stopping a server takes some more.
        show_stderr: copy a command's stderr.

    Raises:
        ServerError: the server doesn't exist, doesn't answer in time, or sends nothing readable.
    """
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # the error has what it logs
    listing = Listing()
    fault: BaseException = TimeoutError()  # what stopped the conversation, if not its end
    with open(os.devnull, "w") as silent:  # noqa: PTH123
        ask = _ask_url if server.lower().startswith(("http://", "https://")) else _ask_command
        try:
            anyio.run(ask, server, timeout, listing, sys.stderr if show_stderr else silent)
        except Exception as error:
            fault = _innermost(error)
    if not listing.complete:  # an error after the list is complete is harmless
        raise ServerError(f"{one_line(server)}: {_problem(fault, timeout, listing)}")
    return listing


async def _ask_command(command: str, timeout: float, listing: Listing, errlog: Any) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ServerError(f"isn't a command line ({error})") from None
    if not words or "://" in words[0]:
        raise ServerError("is neither a command line nor a URL; allowed: a command, http:// or https://")
    program = shutil.which(words[0])
    if program is None:
        raise ServerError("no such command; allowed: the command of an MCP server, or its URL")
    # The SDK has no limit for what a command sends, the relay has one. -I: it imports nothing from here.
    relayed = ["-I", relay.__file__, str(MOST_SENT), program, *words[1:]]
    # Bytes that aren't UTF-8 become junk instead of breaking the reader.
    parameters = StdioServerParameters(command=sys.executable, args=relayed, encoding_error_handler="replace")
    async with stdio_client(parameters, errlog) as (read, write):
        with anyio.fail_after(timeout) as listing.scope:  # inside: the server's shutdown takes its time
            await _converse(read, write, listing, MOST_JUNK)


async def _ask_url(url: str, timeout: float, listing: Listing, _: Any) -> None:
    async def counted(response: httpx.Response) -> None:
        response.headers.pop("Content-Encoding", None)  # none was asked for: unpacked, few bytes can be many
        response.stream = _CountedStream(response.stream, listing)

    client = httpx.AsyncClient(
        timeout=timeout, headers={"Accept-Encoding": "identity"}, event_hooks={"response": [counted]}
    )
    with anyio.fail_after(timeout) as listing.scope:
        async with client, streamable_http_client(url, http_client=client) as (read, write, _):
            await _converse(read, write, listing, most_junk=1)  # an unreadable answer is not sent again


class _CountedStream(httpx.AsyncByteStream):
    """The body of an answer, counted."""

    def __init__(self, stream: Any, listing: Listing) -> None:
        self._stream, self._heard = stream, listing

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._heard.count(part)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _converse(read: Any, write: Any, listing: Listing, most_junk: int) -> None:
    async def on_message(message: object) -> None:
        if isinstance(message, Exception):
            listing.junk.append(_content(message))
            listing.too_long |= listing.junk[-1] == relay.OVER
            if listing.too_long or len(listing.junk) >= most_junk:
                listing.stop()
        await anyio.lowlevel.checkpoint()

    async with ClientSession(read, write, message_handler=on_message) as session:
        answer = await session.initialize()
        listing.name = answer.serverInfo.name
        listing.title = f"{answer.serverInfo.name} {answer.serverInfo.version}".strip()
        cursor, more = None, answer.capabilities.tools is not None
        while more:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                try:
                    listing.tools.append(
                        energy_for_tool(tool.name, tool.annotations, tool.inputSchema, tool.description)
                    )
                except ValueError as error:
                    listing.left_out.append(f"a tool {one_line(tool.name, 60)!r}: {error}")
            cursor, more = page.nextCursor, bool(page.nextCursor)
        listing.complete = True


def _content(error: Exception) -> str:
    """Return what a server sent instead of a message; a server may send any amount."""
    text = error.errors(include_url=False)[0].get("input") if isinstance(error, ValidationError) else None
    return one_line((text if isinstance(text, str) else str(error))[:1200])


def _problem(error: BaseException, timeout: float, listing: Listing) -> str:
    # Servers use the code of a closed connection for other things too.
    closed = isinstance(error, _GONE) or (
        isinstance(error, McpError)
        and (error.error.code, error.error.message) == (CONNECTION_CLOSED, "Connection closed")
    )
    late = isinstance(error, TimeoutError | httpx.TimeoutException)
    late = late or (listing.scope is not None and listing.scope.cancel_called)
    if listing.too_long:
        return f"sent more than {MOST_SENT // 2**20} MiB"
    if listing.junk and (closed or late):
        return f"sent no valid protocol message: {listing.junk[0]}"
    if late:
        return f"{'did not finish listing its tools' if listing.tools else 'no answer'} within {timeout:g} s"
    if closed:
        return "ended before it answered; --stderr shows what it says"
    match error:
        case ServerError():
            return str(error)
        case McpError():
            text = f"answered with an error: {error.error.message}"
        case ValidationError():
            text = f"sent an answer that can't be read ({first_problem(error)})"
        case httpx.HTTPError() | httpx.InvalidURL():
            text = f"can't be reached ({str(error) or type(error).__name__})"
        case _:
            text = f"can't be run ({type(error).__name__}: {error})"
    return one_line(text[:1200])


def _innermost(error: BaseException) -> BaseException:
    """Return the most specific error: in a group the first that isn't a closed connection."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [_innermost(one) for one in error.exceptions]
    return next((one for one in inner if not isinstance(one, _GONE)), inner[0])
