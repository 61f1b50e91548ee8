"""A server that behaves in one of many ways: ``scripted.py MODE [FILE]``. Plain Python, so that it starts at once."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "[bold red]markup[/bold red]",
    "two\nlines",
    "\u202etxt.eteled",
    "del\u200bete",
    "d\u0435lete",
    ":skull:",
    "\x07bell",
    "get_" + "x" * 300,
    "n" * 5000,
    "",
]
PAGE = 40


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name: object, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def page(mode: str, cursor: str | None) -> dict[str, Any]:
    start = int(cursor or 0)
    if mode == "hostile":
        return {"tools": [tool(name) for name in HOSTILE]}
    if mode == "invalid":
        return {"tools": [tool(7)]}
    if mode == "endless":
        return {"tools": [tool(f"get_{start}")], "nextCursor": str(start + 1)}
    if mode == "pages":
        tools = [tool(f"get_{n}") for n in range(start, start + PAGE)]
        return {"tools": tools, **({"nextCursor": str(start + PAGE)} if start < 3 * PAGE else {})}
    return {"tools": [tool("get_time")]}


def serve(mode: str) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        method, answer = request["method"], {"id": request["id"]}
        if method == "initialize":
            result = {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {} if mode == "toolless" else {"tools": {}},
                "serverInfo": {
                    "name": "\x1b[31mscripted" if mode == "hostile" else "scripted",
                    "version": "1",
                },
            }
            say(answer | {"result": result})
        elif mode == "error":
            say(answer | {"error": {"code": -32000, "message": "out of\x1b[31m order"}})
        else:
            say(answer | {"result": page(mode, (request.get("params") or {}).get("cursor"))})


def main(mode: str, file: str | None) -> None:
    if file:  # it doesn't want to go
        sys.stdin.readline()  # the file then says that the client waits for an answer
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(file).write_text(str(os.getpid()))
    if mode == "dead":
        print("first line\nno licence for this machine", file=sys.stderr)
        sys.exit(3)
    if mode == "echo":
        for line in sys.stdin:
            print(line, end="", flush=True)
    if mode == "junk":
        while True:
            print("hello, this is no protocol", flush=True)
    if mode == "flood":  # one line without an end
        while True:
            sys.stdout.write("x" * 65_536)
    if mode == "notices":  # each of which is a good message
        while True:
            say({"method": "notifications/message", "params": {"level": "info", "data": "x" * 60_000}})
    if mode == "silent":
        print("thinking", file=sys.stderr, flush=True)
        time.sleep(60)
    if mode == "banner":
        print("Welcome to the server!", flush=True)
    serve(mode)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
