"""``solvent tools``: prices of the tools of live servers of the Model Context Protocol.

The protocol's SDK queries a server over stdio (a command) or streamable HTTP (a URL). The conversation always ends
within the time limit plus a few seconds, with a list of tools or a one-line error, and leaves no process behind. Its
answers are read up to a limit. Text from the server is escaped before it reaches the terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shlex
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO
from urllib.parse import urlsplit

import anyio
import httpx
import mcp.client.stdio
import psutil
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED, Implementation, PaginatedRequestParams, Tool
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from solvent.energy import CATEGORIES, ToolEnergy, energy_for_tool
from solvent.energy.amounts import number, plain
from solvent_experiments.config import ConfigError
from solvent_experiments.console import complain, say
from solvent_experiments.instruments.terminal import LONGEST as LONGEST_SAID
from solvent_experiments.instruments.terminal import one_line, printable
from solvent_experiments.table import Table

__all__ = ["Listing", "ServerError", "environment_of", "list_tools", "show_tools"]

MOST_PAGES, MOST_TOOLS, MOST_JUNK = 200, 10_000, 100
MOST_SENT = 8 * 2**20  # bytes of all answers together; a hundred tools take some 200 kB
SHORTEST, LONGEST = 0.1, 3600.0  # seconds that a server may be given
_KEPT = 65_536  # bytes of stderr
LONGEST_NAME = 60
_CLOSED = (CONNECTION_CLOSED, "Connection closed")  # the SDK's own; servers reuse the code
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, ConnectionError)


class ServerError(ValueError):
    """A server that can't be priced. The message is one line: the server and its fault."""

    def __init__(self, server: str, problem: str) -> None:
        self.server, self.problem = server, problem
        super().__init__(f"{printable(server)}: {problem}")


@dataclass(frozen=True)
class Listing:
    """The priced tools of a server."""

    server: str  # as given by the caller
    title: str  # the server's own name
    tools: tuple[ToolEnergy, ...]
    left_out: tuple[str, ...]  # one line for each tool without a price


@dataclass
class _Heard:
    """The answers of a server so far."""

    title: str = ""
    tools: list[Tool] = field(default_factory=list)
    complete: bool = False
    endless: bool = False
    junk: list[str] = field(default_factory=list)
    hopeless: bool = False  # too much junk
    sent: int = 0  # bytes
    interrupted: bool = False
    leader: int = 0  # process id; the process leads its own session
    family: list[psutil.Process] = field(default_factory=list)
    scope: anyio.CancelScope | None = None  # of the conversation

    @property
    def too_much(self) -> bool:
        return self.sent > MOST_SENT

    def count(self, part: bytes | str) -> None:
        """Count what was sent, and end the conversation at the limit."""
        self.sent += len(part)
        if self.too_much:
            if self.scope is not None:
                self.scope.cancel()  # the SDK may take the error for a lost connection, and ask again
            raise ConnectionError("more than the limit")


def show_tools(
    servers: Sequence[str], ask: Callable[[str], Listing], console: Console, *, as_json: bool, why: bool
) -> bool:
    """Print the priced tools of each server, or a line on stderr; return True if all servers answered."""
    listings = []
    for server in servers:
        asking = console.status(Text(f"asking {printable(server)}"))
        try:
            with asking if console.is_terminal and not as_json else contextlib.nullcontext():
                listing = ask(server)
        except ServerError as error:
            sys.stdout.flush()
            complain(str(error))
            continue
        listings.append(listing)
        if not as_json:
            _print(listing, console, why=why)
        for line in listing.left_out:
            complain(f"{printable(server)}: left out: {line}")
    if as_json:
        rows = [
            {"server": listing.server, "name": tool.name, **tool.to_row()}
            | ({"reasons": list(tool.reasons), "unsure": tool.unsure} if why else {})
            for listing in listings
            for tool in listing.tools
        ]
        say(json.dumps(rows, indent=2))
    return len(listings) == len(servers)


def list_tools(
    server: str, timeout: float, env: Mapping[str, str] | None = None, *, show_stderr: bool = False
) -> Listing:
    """Ask one server for its tools and price them.

    Args:
        server: a URL (``http://`` or ``https://``), or a command line.
        timeout: seconds for the whole conversation; stopping a server takes up to 4 more.
        env: variables for a command, in addition to those that the SDK passes on.
        show_stderr: copy a command's stderr.

    Raises:
        ServerError: the server doesn't exist, doesn't answer in time, or sends nothing readable.
    """
    heard = _Heard()
    seconds = number("--timeout", timeout, SHORTEST, LONGEST)
    stderr = _Tail()
    failure: Exception | None = None
    try:
        with _quiet_sdk(), _counted_stdout(heard):
            anyio.run(_ask, server, seconds, dict(env or {}), stderr.writer, heard)
    except Exception as error:
        failure = error
    finally:
        _end_all(heard.leader, heard.family)
        stderr.close()
        if show_stderr:
            for line in stderr.lines:
                say(f"{printable(server)} | {printable(line, 1000)}", stderr=True)
    if heard.interrupted:
        raise KeyboardInterrupt
    if heard.too_much and not heard.complete:
        raise ServerError(server, f"sent more than {MOST_SENT // 2**20} MiB")
    if heard.hopeless and not heard.complete:
        raise ServerError(server, "sent nothing that the protocol knows" + _sample(heard))
    if failure is not None and not heard.complete:  # an error after the list is complete is harmless
        raise ServerError(server, _problem(failure, seconds, heard, stderr.lines)) from failure
    if heard.endless:
        raise ServerError(
            server, f"its list of tools has no end ({len(heard.tools)} tools and still more pages)"
        )
    tools, left_out = _priced(heard.tools)
    return Listing(server, heard.title, tools, left_out)


def environment_of(assignments: Sequence[str]) -> dict[str, str]:
    """Return a mapping of ``KEY=VALUE`` assignments; ``KEY`` alone takes the value that is already set."""
    env = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not key or (not equals and key not in os.environ) or "\0" in assignment:
            raise ConfigError(
                f"got {assignment!r}; allowed: KEY=VALUE, or the KEY of a variable that is set", key="--env"
            )
        env[key] = value if equals else os.environ[key]
    return env


def _priced(tools: Sequence[Tool]) -> tuple[tuple[ToolEnergy, ...], tuple[str, ...]]:
    priced, left_out = [], []
    for tool in tools:
        try:
            priced.append(energy_for_tool(tool.name, tool.annotations, tool.inputSchema))
        except ValueError as error:
            left_out.append(f"a tool {printable(tool.name, LONGEST_NAME)!r}: {error}")
    return tuple(priced), tuple(left_out)


# ------------------------------------------------------------------------------------------------ the conversation


async def _ask(server: str, timeout: float, env: dict[str, str], errlog: TextIO, heard: _Heard) -> None:
    """Talk to a server. Record Ctrl-C, which cancels this task, since an error during cleanup may hide it."""
    try:
        await _reach(server, timeout, env, errlog, heard)
    except Exception:
        task = asyncio.current_task()
        heard.interrupted = task is not None and task.cancelling() > 0
        raise


async def _reach(server: str, timeout: float, env: dict[str, str], errlog: TextIO, heard: _Heard) -> None:
    if urlsplit(server).scheme.lower() in ("http", "https"):
        await _ask_url(server, timeout, heard)
    else:
        await _ask_command(_command(server), timeout, env, errlog, heard)


def _command(server: str) -> list[str]:
    try:
        words = shlex.split(server)
    except ValueError as error:
        raise ConfigError(f"isn't a command line ({error})") from None
    if not words or "://" in words[0] or "\0" in server:
        raise ConfigError("is neither a command line nor a URL; allowed: a command, http:// or https://")
    return words


async def _ask_command(
    words: list[str], timeout: float, env: dict[str, str], errlog: TextIO, heard: _Heard
) -> None:
    # Bytes that aren't UTF-8 become junk instead of breaking the reader.
    parameters = StdioServerParameters(
        command=words[0], args=words[1:], env=env, encoding_error_handler="replace"
    )
    before = {child.pid for child in psutil.Process().children()}
    async with stdio_client(parameters, errlog) as (read, write):
        leader = next((child for child in psutil.Process().children() if child.pid not in before), None)
        try:
            # Inside the transport, so that the limit does not interrupt the server's shutdown.
            with anyio.fail_after(timeout) as heard.scope:
                await _converse(read, write, heard, MOST_JUNK)
        finally:
            if leader is not None:
                heard.leader, heard.family = leader.pid, _family(leader)


async def _ask_url(url: str, timeout: float, heard: _Heard) -> None:
    async def counted(response: httpx.Response) -> None:
        response.headers.pop("Content-Encoding", None)  # none was asked for: unpacked, few bytes can be many
        response.stream = _CountedStream(response.stream, heard)

    with anyio.fail_after(timeout) as heard.scope:
        async with (
            httpx.AsyncClient(
                timeout=timeout,
                headers={"Accept-Encoding": "identity"},
                event_hooks={"response": [counted]},
            ) as client,
            streamable_http_client(url, http_client=client) as (read, write, _),
        ):
            await _converse(read, write, heard, 1)  # an unreadable answer is not sent again


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


async def _converse(read: Any, write: Any, heard: _Heard, most_junk: int) -> None:
    async def on_message(message: object) -> None:
        if isinstance(message, Exception):
            heard.junk.append(_junk(message))
            if len(heard.junk) >= most_junk:
                heard.hopeless = True
                if heard.scope is not None:
                    heard.scope.cancel()
        await anyio.lowlevel.checkpoint()

    client = Implementation(name="solvent", version="1")
    async with ClientSession(read, write, message_handler=on_message, client_info=client) as session:
        answer = await session.initialize()
        heard.title = f"{answer.serverInfo.name} {answer.serverInfo.version}".strip()
        if answer.capabilities.tools is not None:
            await _read_pages(session, heard)
        heard.complete = True


async def _read_pages(session: ClientSession, heard: _Heard) -> None:
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
        page = await session.list_tools(params=params)
        heard.tools += page.tools
        cursor = page.nextCursor
        if cursor is None:
            return
        if cursor in seen or len(seen) >= MOST_PAGES or len(heard.tools) > MOST_TOOLS:
            heard.endless = True
            return
        seen.add(cursor)


# ------------------------------------------------------------------------------------------------------- errors


def _problem(error: BaseException, timeout: float, heard: _Heard, lines: Sequence[str]) -> str:
    error = _innermost(error)
    last = f"; it said: {printable(lines[-1].strip())}" if lines else ""
    match error:
        case TimeoutError():
            return f"no answer within {timeout:g} s" + (_sample(heard) or last)
        case FileNotFoundError():
            return "no such command"
        case McpError() if (error.error.code, error.error.message) == _CLOSED:
            return "ended before it answered" + (last or _sample(heard))
        case McpError():
            return f"answered with an error: {_one_line(error.error.message)}"
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            return f"sent an answer that can't be read ({_one_line(place)}: {_one_line(first['msg'])})"
        case httpx.HTTPStatusError():
            return f"answered with HTTP {error.response.status_code}"
        case httpx.TimeoutException():
            return f"no answer within {timeout:g} s"
        case httpx.HTTPError() | httpx.InvalidURL():
            return f"can't be reached ({_one_line(str(error)) or type(error).__name__})"
        case ConfigError():
            return error.problem
        case OSError() if error.strerror and not isinstance(error, _GONE):
            return f"can't be run ({error.strerror})"
    if isinstance(error, _GONE):
        return "ended before it answered" + (last or _sample(heard))
    return f"{type(error).__name__}: {_one_line(str(error))}"


def _innermost(error: BaseException) -> BaseException:
    """Return the most specific error: in a group the first that isn't a closed connection."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [_innermost(one) for one in error.exceptions]
    return next((one for one in inner if not isinstance(one, _GONE)), inner[0])


def _junk(message: Exception) -> str:
    if isinstance(message, ValidationError):
        said = message.errors(include_url=False)[0].get("input")
        return said if isinstance(said, str) else str(message)
    return str(message)


def _sample(heard: _Heard) -> str:
    return f"; it sent: {_one_line(heard.junk[0])}" if heard.junk else ""


def _one_line(said: str) -> str:
    return one_line(said[: 10 * LONGEST_SAID])  # a server may send any amount


@contextlib.contextmanager
def _quiet_sdk() -> Iterator[None]:
    """Silence the SDK, which logs unreadable messages, partly to the root logger; here they are a one-line error."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


# ------------------------------------------------------------------------------------------------ processes


class _Tail:
    """The last bytes written to ``writer``. A server may write any amount to stderr."""

    def __init__(self) -> None:
        read, write = os.pipe()
        self.writer = os.fdopen(write, "w", encoding="utf-8")
        self._kept = b""
        self._reading = threading.Thread(target=self._read, args=(read,), daemon=True)
        self._reading.start()

    def _read(self, end: int) -> None:
        with os.fdopen(end, "rb", buffering=0) as reader:
            while said := reader.read(_KEPT):
                self._kept = (self._kept + said)[-_KEPT:]

    def close(self) -> None:
        self.writer.close()
        self._reading.join(timeout=2.0)  # a process that escaped may still hold the pipe open

    @property
    def lines(self) -> list[str]:
        return [line for line in self._kept.decode("utf-8", "replace").splitlines() if line.strip()]


def _family(leader: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return [leader, *leader.children(recursive=True)]
    return []


def _end_all(leader: int, family: Sequence[psutil.Process]) -> None:
    """End the remaining processes of a server: its children and its session."""
    left = [process for process in family if process.is_running()]
    if leader and hasattr(os, "getsid"):  # on Windows the SDK's job object ends them
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.getsid(process.pid) == leader:
                    left.append(process)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=2.0)


# ------------------------------------------------------------------------------------------------ the table


def _print(listing: Listing, console: Console, *, why: bool) -> None:
    title = printable(listing.title or listing.server, LONGEST_NAME)
    if not listing.tools:
        console.print(Text(title, style="bold"), Text("offers no tools"), highlight=False)
        return
    names = [printable(tool.name, LONGEST_NAME) for tool in listing.tools]
    columns = {
        "tool": names,
        "category": [CATEGORIES[tool.category].label for tool in listing.tools],
        "energy": [plain(tool.energy_cost) for tool in listing.tools],
        "floor": [
            "" if tool.energy_cost_floor is None else plain(tool.energy_cost_floor) for tool in listing.tools
        ],
        "allowed in": [", ".join(tool.allowed_contexts) for tool in listing.tools],
        "unsure": ["yes" if tool.unsure else "" for tool in listing.tools],
    }
    if not any(columns["unsure"]):
        del columns["unsure"]
    rows = tuple(zip(*columns.values(), strict=True))
    left = ("category", "allowed in", "unsure")
    drawn = Table(tuple(columns), rows, title=title, left=left, wrapped=("tool",))
    console.print(drawn.terminal(framed=True, title_justify="left"), highlight=False)
    if why:
        for name, tool in zip(names, listing.tools, strict=True):
            console.print(
                Text(name, style="bold"), *(Text(f"  {reason}") for reason in tool.reasons), sep="\n"
            )
    elif "unsure" in columns:
        console.print(
            Text(
                "unsure: priced as the most expensive reading; --why gives the reasons",
                style="dim",
            )
        )
