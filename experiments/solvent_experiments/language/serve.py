"""``solvent serve``: the lab's tools for clients of the Model Context Protocol."""

from __future__ import annotations

import socket
import sys
from typing import Annotated, Literal

import typer

from solvent_experiments.console import complain, say
from solvent_experiments.instruments.options import Env

LOOPBACK = "127.0.0.1"


def serve(
    env: Env = "Solvent/Lab-v0",
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP in place of stdio.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Any but a loopback address is open to everyone: there is no login."
        ),
    ] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    beliefs: Annotated[
        Literal["shown", "hidden"], typer.Option(help="Show the exact posterior after each plate.")
    ] = "shown",
    corrections: Annotated[bool, typer.Option(help="Tell corrections after published errors.")] = True,
    explanation: Annotated[bool, typer.Option(help="Tell the reasons behind energy costs.")] = True,
    salt: Annotated[
        str,
        typer.Option(help="Secret that makes other seeds of those that clients ask for.", show_default=False),
    ] = "",
    sessions: Annotated[
        int, typer.Option(min=1, max=10_000, help="Most sessions at a time, over HTTP.")
    ] = 64,
    idle: Annotated[
        float,
        typer.Option(min=1.0, max=86_400.0, help="Seconds without a call that end a session, over HTTP."),
    ] = 1800.0,
) -> None:
    """Serve the lab to language models, as tools of the Model Context Protocol.

    A session plays one episode: `start_episode` with a seed, the lab's tools, and `finish`, which returns the score.

    Examples:

    - `solvent serve --env Solvent/Tiny-v0`  over stdio, as a client starts it

    - `solvent serve --http --port 8000`  for clients on this machine

    - `solvent tools "solvent serve"`  the tools and their prices
    """
    from solvent_agents.language.server import compile_lab, lab_server, serve_http, serve_stdio
    from solvent_experiments.config import environment_params

    environment_params(env)
    listening = _listen(host, port) if http else None
    server = lab_server(
        env,
        beliefs=beliefs == "shown",
        corrections=corrections,
        explanation=explanation,
        salt=salt,
        **({"idle": idle} if http else {}),
    )
    if listening is None:
        if sys.stdin.isatty():
            complain(
                "a client of the Model Context Protocol speaks to this command on stdin; --http serves over HTTP"
            )
        serve_stdio(server)
        return
    compile_lab(env)
    address, bound = listening.getsockname()[:2]
    url = f"http://{f'[{address}]' if ':' in address else address}:{bound}/mcp"
    say(f"{env} is served at {url}; Ctrl-C ends it. Next: `solvent tools {url}`")
    sys.stdout.flush()
    serve_http(server, listening, sessions=sessions)


def _listen(host: str, port: int) -> socket.socket:
    from solvent_experiments.config import ConfigError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"can't listen on {host}, port {port} ({reason}); allowed: an address of this machine and a free port"
        ) from None
