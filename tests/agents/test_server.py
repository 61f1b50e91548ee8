"""``solvent serve`` as its clients meet it: real processes, the protocol's own client, stdio and HTTP."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path

import anyio
import httpx
import pytest
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from solvent import preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.language import server
from solvent_agents.language.bench import MOST_TURNS, Bench, call_by
from solvent_agents.language.calls import salted
from solvent_agents.language.prompt import instructions
from solvent_agents.language.server import MOST_BYTES
from solvent_agents.language.tools import schemas
from solvent_experiments.instruments.tool_servers import list_tools
from tests.commands import call, launching

SEEDS = (10_000, 10_001, 10_002)


@contextlib.asynccontextmanager
async def over_stdio(*options):
    command = ["-m", "solvent_experiments", "serve", *map(str, options)]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        yield session


@contextlib.contextmanager
def served(*options):
    """The URL of a server over HTTP, and its process."""
    with launching() as start:
        process = start("serve", "--http", "--port", 0, *options)
        message = process.stdout.readline()
        assert "Ctrl-C ends it" in message, process.communicate()
        yield message.split(" is served at ")[1].split(";")[0], process


@contextlib.asynccontextmanager
async def over_http(url, **options):
    async with (
        httpx.AsyncClient(**options) as client,
        streamable_http_client(url, http_client=client) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        yield session


async def play(session, seed):
    """Play an episode of the honest script, and return its score.

    The script sees a bench of its own, which must tell the same as the server's.
    """
    bench = Bench("Solvent/Tiny-v0")
    honest = PLAYERS["honest"](preset("tiny"), 0)
    assert await answer(session, "start_episode", {"seed": seed}) == bench.reset(salted(SALT, seed))
    while bench.summary is None:
        tool, arguments = call_by(honest, bench)
        assert await answer(session, tool, arguments) == getattr(bench, tool)(**arguments)
    result = await session.call_tool("finish")
    assert result.structuredContent["invalid_calls"] == 0
    return result.structuredContent["score"]


async def answer(session, tool, arguments, *, error=False):
    result = await session.call_tool(tool, arguments)
    assert result.isError is error, result
    return result.content[0].text


def asks(connect, question):
    """The answer of ``question(session)`` in a session of its own."""

    async def ask():
        async with connect() as session:
            opened = await session.initialize()
            return await question(session, opened)

    return anyio.run(ask)


SALT = "pepper"


@pytest.fixture(scope="module")
def tiny():
    with served("--env", "Solvent/Tiny-v0", "--salt", SALT) as (url, _):
        yield functools.partial(over_http, url), url


def test_a_salt_makes_other_seeds_and_sessions_beside_each_other_do_not_mix(tiny):
    seeds, results = [salted(SALT, seed) for seed in SEEDS], {}
    right = episodes(PLAYERS["honest"](preset("tiny"), 0), preset("tiny"), seeds)["return"].tolist()

    async def one(seed):
        async with tiny[0]() as session:
            await session.initialize()
            results[seed] = await play(session, seed)

    async def at_once():
        async with anyio.create_task_group() as group:
            for seed in SEEDS:
                group.start_soon(one, seed)

    anyio.run(at_once)
    assert [results[seed] for seed in SEEDS] == right


def test_tools_have_the_vocabulary_and_the_prompt_is_offered_twice():
    async def look(session, opened):
        prompt = await session.get_prompt("lab")
        with pytest.raises(McpError, match="allowed: lab"):
            await session.get_prompt("sudo")
        return (await session.list_tools()).tools, opened.instructions, prompt.messages[0].content.text

    options = ("--env", "Solvent/Lab-v0", "--beliefs", "hidden", "--no-explanation")
    tools, first_text, prompt = asks(functools.partial(over_stdio, *options), look)
    functions = {schema["function"]["name"]: schema["function"] for schema in schemas(preset("lab"))}
    assert [tool.name for tool in tools] == ["start_episode", *functions, "finish"]
    for tool in tools[1:-1]:
        assert tool.inputSchema == functions[tool.name]["parameters"]
        assert tool.description == functions[tool.name]["description"]
    assert first_text == prompt
    assert prompt.startswith(instructions(preset("lab"), beliefs=False, explanation=False))


WRONG_SEEDS = (
    {}, {"seed": True}, {"seed": "7"}, {"seed": -1}, {"seed": 7, "sudo": 1}, {"seed": "x" * 50_000}, {"\x1b[2J": 1},
)  # fmt: skip
OVERCLAIM = {"compound": "etoposide", "claim_bits": 0.5}


@pytest.fixture
def session():
    """A session without a network, whose episode has begun with an overclaim."""
    session = server._Session(Bench("Solvent/Tiny-v0"), SALT)
    session.call("start_episode", {"seed": 0})
    session.call("screen", OVERCLAIM)
    return session


@pytest.fixture
def owed():
    """The score of a lab that was left after the overclaim."""
    bench = Bench("Solvent/Tiny-v0")
    bench.reset(salted(SALT, 0))
    bench.screen(**OVERCLAIM)
    return bench.get_reward()


@pytest.fixture
def opened():
    """A session whose episode has not begun."""
    return server._Session(Bench("Solvent/Tiny-v0"), "")


def test_an_error_is_one_of_the_protocols(tiny):
    assert "start_episode" in asks(tiny[0], lambda session, _: answer(session, "rest", {}, error=True))


@pytest.mark.parametrize("tool", ["rest", "finish", "sudo"])
def test_nothing_runs_before_an_episode(opened, tool):
    with pytest.raises(ValueError, match="start_episode"):
        opened.call(tool, {})


@pytest.mark.parametrize("arguments", WRONG_SEEDS)
def test_a_wrong_seed_is_one_short_line(opened, arguments):
    with pytest.raises(ValueError, match="allowed: a seed") as error:
        opened.call("start_episode", arguments)
    assert len(text := str(error.value)) < 300
    assert text.isprintable()


def test_a_session_has_one_episode(session):
    with pytest.raises(ValueError, match="one episode"):
        session.call("start_episode", {"seed": 0})


def test_a_wrong_call_is_an_error_and_counted(session):
    with pytest.raises(ValueError, match="tool: got 'sudo'; allowed: "):
        session.call("sudo", {})
    assert session.call("finish", {})[1]["invalid_calls"] == 1


def test_leaving_early_settles_the_debt(session, owed):
    assert session.call("finish", {})[1]["score"] == owed < 0.0


def test_a_session_has_so_many_calls(session, owed):
    for _ in range(MOST_TURNS - 1):
        session.call("read_notebook", {"compound": "etoposide"})
    with pytest.raises(ValueError, match=f"{MOST_TURNS} calls.*Score: {owed:.2f} bits"):
        session.call("read_notebook", {"compound": "etoposide"})


OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"},
    },
}  # fmt: skip


async def opening(url, headers=(), more=b""):
    """The status that the first request of a session is answered with."""
    accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    body = httpx.Request("POST", url, json=OPENING).read() + more
    async with httpx.AsyncClient() as client:
        return (await client.post(url, content=body, headers=accepted | dict(headers))).status_code


def test_requests_of_web_pages_and_large_ones_are_turned_away(tiny):
    url = tiny[1]
    assert anyio.run(opening, url) == 200
    assert anyio.run(opening, url, {"Host": "evil.example"}) == 421
    assert anyio.run(opening, url, {"Origin": "https://evil.example"}) == 403
    assert anyio.run(opening, url, {}, b" " * MOST_BYTES) == 413


def test_so_many_sessions_are_open_at_a_time(monkeypatch):
    monkeypatch.setattr(server, "MOST_SESSIONS", 2)
    listening = server.listen("127.0.0.1", 0)
    serving = (server.lab_server("Solvent/Tiny-v0"), listening)
    threading.Thread(target=server.serve_http, args=serving, daemon=True).start()
    url = f"http://{server.address_of(listening)}/mcp"
    assert [anyio.run(opening, url) for _ in range(3)] == [200, 200, 503]


def test_ctrl_c_ends_a_server_over_http_while_a_client_listens():
    async def interrupt(url, process):
        async with over_http(url) as session:
            await session.initialize()
            await answer(session, "start_episode", {"seed": 0})
            process.send_signal(signal.SIGINT)
            return await anyio.to_thread.run_sync(lambda: process.wait(20))

    with served("--env", "Solvent/Tiny-v0") as (url, process):
        assert anyio.run(interrupt, url, process) == 130
        assert process.stderr.read().splitlines()[-1] == "solvent: stopped"
        assert "Traceback" not in process.stderr.read()


def test_ctrl_c_ends_a_server_over_stdio_that_nobody_speaks_to():
    with launching() as start:
        process = start("serve", "--env", "Solvent/Tiny-v0")
        process.stdin.write("nonsense\n")
        process.stdin.flush()
        assert "Internal Server Error" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert "Traceback" not in process.stderr.read()


def test_a_client_that_leaves_ends_a_server_over_stdio():
    with launching() as start:
        process = start("serve", "--env", "Solvent/Tiny-v0")
        assert process.communicate("", timeout=60) == ("", "")
        assert process.returncode == 0


def test_what_can_not_be_served_is_one_line():
    call("serve", "--env", "Solvent/Tiny").refused("unknown environment", "Solvent/Tiny-v0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        call("serve", "--http", "--port", port).refused(f"can't listen on 127.0.0.1, port {port} (")
    call("serve", "--http", "--host", "nobody.invalid").refused("can't listen on nobody.invalid, port 8000")
    call("serve", "--beliefs", "some").refused("'shown', 'hidden'")


def test_the_energy_model_prices_its_tools_like_those_of_any_server():
    listing = list_tools(f"{sys.executable} -m solvent_experiments serve", 60.0)
    assert not listing.left_out
    page = (Path(__file__).parents[2] / "docs" / "energy.md").read_text(encoding="utf-8")
    priced = re.findall(r"^│ (\w+) +│ .+? │ +([\d.]+) │", page, re.MULTILINE)
    assert priced
    assert set(priced) <= {(tool.name, f"{tool.energy_cost:g}") for tool in listing.tools}
