"""Real servers as child processes, good and bad: each is priced or is an error of one line, and none survives."""

import contextlib
import gzip
import json
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from solvent.energy.store import CostStore
from solvent_experiments.console import one_line
from solvent_experiments.instruments import relay
from solvent_experiments.instruments.tool_servers import ServerError, list_tools
from tests.adequacy.scripted import reply, serving
from tests.commands import call, launching, wait_until

SERVERS = Path(__file__).parent / "servers"
SHOP = shlex.join([sys.executable, str(SERVERS / "shop.py")])
PATIENT = 20.0


def scripted(mode, *more):
    return shlex.join([sys.executable, str(SERVERS / "scripted.py"), mode, *more])


@pytest.fixture(autouse=True)
def no_child_survives():
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert psutil.wait_procs(left, timeout=1)[1] == []


@pytest.fixture(autouse=True)
def short_farewell(monkeypatch):
    """The SDK waits so long for a server to go by itself; the tests needn't."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.3)


def problem(server, timeout=PATIENT):
    with pytest.raises(ServerError) as caught:
        list_tools(server, timeout)
    text = str(caught.value)
    assert text.startswith(one_line(server))
    assert text.isprintable()  # one line, nothing that moves the cursor
    return text.removeprefix(f"{one_line(server)}: ")


def test_a_server_that_is_not_ours():
    program = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "Europe/Zurich"]
    listing = list_tools(shlex.join(program), PATIENT)
    assert listing.title.startswith("mcp-time")
    assert [tool.category for tool in listing.tools] == ["read", "read"]


def check_shop(server):
    tools = {tool.name: tool for tool in list_tools(server, PATIENT).tools}
    assert [*tools] == ["list_orders", "update_stock", "send_message", "delete_all"]
    assert [tool.category for tool in tools.values()] == ["read", "modify", "send_private", "delete"]
    assert tools["delete_all"].unsure  # it claims to be read-only
    assert tools["update_stock"].allowed_contexts == ("heartbeat", "chat")


def test_over_stdio():
    check_shop(SHOP)


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_over_streamable_http():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([*shlex.split(SHOP), str(port)], stderr=subprocess.DEVNULL) as shop:
        try:
            wait_until(lambda: answers(port), seconds=20)
            check_shop(f"http://127.0.0.1:{port}/mcp")
        finally:
            shop.terminate()


@pytest.mark.parametrize(
    ("mode", "names"),
    [("pages", [f"get_{n}" for n in range(160)]), ("banner", ["get_time"]), ("toolless", [])],
)
def test_all_pages_are_read_and_a_banner_before_them_is_forgiven(mode, names):
    assert [tool.name for tool in list_tools(scripted(mode), PATIENT).tools] == names


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("dead", "ended before it answered"),
        ("junk", "hello, this is no protocol"),
        ("error", r"out of\x1b[31m order"),
        ("invalid", "tools.0.name"),
        ("flood", "sent more than 8 MiB"),
        ("notices", "sent more than 8 MiB"),
    ],
)
def test_an_error_says_what_it_did(mode, says):
    assert says in problem(scripted(mode))


def test_no_answer_in_time():
    assert "no answer within 0.5 s" in problem(scripted("silent"), 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "no answer within 0.5 s" in problem(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", 0.5)


def test_no_end_of_tools_in_time():
    assert "did not finish listing its tools within 2 s" in problem(scripted("endless"), 2.0)


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ("no-such-command-anywhere --now", "no such command"),
        ("/", "no such command"),
        ("'open quote", "isn't a command line"),
        ("ftp://127.0.0.1/mcp", "neither a command line nor a URL"),
        ("http://127.0.0.1:1/mcp", "can't be reached"),
    ],
)
def test_what_is_no_server(server, says):
    assert says in problem(server)


def events_without_end(handler):
    handler.begin(content_type="text/event-stream")
    while not handler.server.open.is_set():
        handler.wfile.write(b"event: ping\ndata: " + b"x" * 60_000 + b"\n\n")


def unpacks_to_much(handler):
    reply(gzip.compress(bytes(2**29), compresslevel=1), content_encoding="gzip")(handler)


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (reply(b"<h1>It works!</h1>", content_type="text/html"), "sent no valid protocol message"),
        (reply({}, 500), "500 Internal Server Error"),
        (events_without_end, "sent more than 8 MiB"),
        (unpacks_to_much, "sent no valid protocol message"),
    ],
)
def test_an_address_that_is_no_server_or_never_stops_talking(act, says):
    with serving(act) as server:
        assert says in problem(server.url)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
@pytest.mark.slow
def test_control_c_ends_it_too(tmp_path):
    file = tmp_path / "pids"
    with launching() as start:
        # On a busy machine the default time limit can pass before the signal comes.
        running = start("tools", "--timeout", "120", scripted("silent", str(file)))
        wait_until(lambda: file.exists() and file.read_text(), running)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert errors.strip() == "solvent: stopped"
    pid = int(file.read_text())
    wait_until(lambda: not psutil.pid_exists(pid), seconds=10)  # the system takes a moment to forget it


def test_hostile_names_neither_colour_nor_break_the_table():
    ended = call("tools", scripted("hostile"), "--why", width=120)
    output = ended.succeeded(r"\x1b[31mred", "[bold red]markup[/bold red]", ":skull:")
    assert all(ch not in output for ch in "\x1b\x07\u202e\u200b")
    assert ended.err.count("left out") == 2  # the empty name and the enormous one
    assert ended.err.replace("\n", "").isprintable()


def test_one_fails_and_the_others_are_shown_and_stored(tmp_path):
    place = tmp_path / "costs.db"
    result = call("tools", scripted("dead"), scripted("ok"), scripted("echo"), "--json", "--store", place)
    assert result.code == 2
    assert len(result.err.splitlines()) == 2
    (row,) = json.loads(result.out)
    assert (row["name"], row["energy_cost_category"]) == ("get_time", "read")
    with CostStore(place, create=False) as store:
        assert [row.target_name for row in store.prices()] == ["scripted:get_time"]


ECHO = "import sys; sys.stdout.write(sys.stdin.read() * 2)"
ENDLESS = "import sys\nwhile True: sys.stdout.write('x' * 1000)"


def passed_on(limit, program, typed=""):
    """Return what the relay passes on of a Python program's output."""
    command = [sys.executable, "-I", relay.__file__, str(limit), sys.executable, "-c", program]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_relay_passes_on_input_and_output():
    assert passed_on(8, ECHO, "ab\n ") == "ab\n ab\n "


@pytest.mark.parametrize(("limit", "program", "passed"), [(7, ECHO, "\n"), (100_000, ENDLESS, "x\n")])
def test_the_relay_ends_a_longer_output_with_a_line_of_its_own(limit, program, passed):
    assert passed_on(limit, program, "ab\n ").endswith(f"{passed}{relay.OVER}\n")
