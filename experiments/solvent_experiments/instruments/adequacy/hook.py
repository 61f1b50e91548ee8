"""``solvent adequacy hook``: the verdict on one response, from standard input or through a socket."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import say

__all__ = ["hook"]

FAILED = 1


def hook(
    listen: Annotated[
        Path | None,
        typer.Option(
            "--listen", metavar="SOCKET", help="Stay and answer at this Unix socket, a line a request."
        ),
    ] = None,
    act: Annotated[
        bool, typer.Option("--act", help="End with exit code 1 if the verdict is reject.")
    ] = False,
    triggers: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="File of accepted triggers (`patterns --accept`)."),
    ] = None,
) -> None:
    """Judge one response: a JSON object on standard input, the verdict and the correction on standard output.

    The object is a line of a file of responses, or `{"transcript_path": PATH}` for the last response of a session.
    Starting takes seconds, so a program that asks after every answer should leave one process at `--listen`.

    Examples:

    - `solvent adequacy hook < response.json`

    - `solvent adequacy hook --listen /tmp/adequacy.sock`, then `nc -NU /tmp/adequacy.sock < response.json`
    """
    from solvent.adequacy.decisions import read_triggers
    from solvent.adequacy.hook import answer, serve
    from solvent.files import LONGEST_LINE

    known = [] if triggers is None else read_triggers(triggers)
    if listen is not None:
        if not hasattr(socket, "AF_UNIX"):
            raise ConfigError("--listen: this system has no Unix sockets; allowed: without it")
        with serve(listen, known) as server:
            say(f"answers at {listen}; Ctrl-C ends it", stderr=True)
            try:
                server.serve_forever()
            finally:
                listen.unlink(missing_ok=True)
        return
    request = sys.stdin.buffer.read(LONGEST_LINE + 1)
    if len(request) > LONGEST_LINE:
        raise ConfigError(f"standard input: longer than {LONGEST_LINE:,} bytes; allowed: one response")
    if not request.strip():
        raise ConfigError(
            "standard input: got nothing; allowed: a JSON object with a response and its tool_calls"
        )
    told = answer(request, known)
    typer.echo(json.dumps(told, ensure_ascii=True))
    if act and told["verdict"] == "reject":
        raise typer.Exit(FAILED)
