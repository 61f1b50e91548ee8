"""``solvent llm`` and ``solvent serve``: language models' logs as runs, and the lab's tools for their clients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from solvent_experiments.console import complain, say
from solvent_experiments.options import Env, Quiet


def llm(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Logs of `inspect eval`.")],
    agents: Annotated[
        str, typer.Option(help="Agents that play the same episodes: `honest,my_module:MyAgent`.")
    ] = "honest,surfer,max_claimer,zero_claimer",
    out: Annotated[Path, typer.Option(help="Folder to write; its name is the run's.")] = Path("runs/llm"),
    quiet: Quiet = False,
) -> None:
    """Turn logs of language models into a run: their episodes, replayed beside scripts, with tables and figures.

    Play with any model that `inspect` knows, or with a scripted agent, which needs no key; then read the log:

    - `inspect eval solvent_agents/lab --model solvent/honest -T env=Solvent/Tiny-v0 -T episodes=8`

    - `solvent llm logs/*.eval --out runs/llm`
    """
    from solvent_experiments.model_logs import experiment_of_logs
    from solvent_experiments.run import run_experiment, show_results

    experiment, notes = experiment_of_logs(logs, out.name, [name for name in agents.split(",") if name])
    folder = run_experiment(experiment, out, quiet=quiet)
    for note in notes:
        complain(note)
    show_results(folder)


def serve(
    env: Env = "Solvent/Lab-v0",
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP instead of stdio.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Any but a loopback address is open to everyone: there is no login."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    beliefs: Annotated[
        Literal["shown", "hidden"], typer.Option(help="Show the exact posterior after each plate.")
    ] = "shown",
    explanation: Annotated[bool, typer.Option(help="Tell the reasons behind energy costs.")] = True,
    salt: Annotated[
        str, typer.Option(help="Secret that makes other seeds of those that clients ask for.")
    ] = "",
) -> None:
    """Serve the lab to language models, as tools of the Model Context Protocol.

    A session plays one episode: `start_episode` with a seed, the lab's tools, and `finish`, which returns the score.

    Examples:

    - `solvent serve --env Solvent/Tiny-v0`  over stdio, as a client starts it

    - `solvent serve --http --port 8000`  for clients on this machine

    - `solvent tools "solvent serve"`  the tools and their prices
    """
    from solvent_agents.language.server import (
        address_of,
        lab_server,
        listen,
        serve_http,
        serve_stdio,
        warm_up,
    )
    from solvent_experiments.config import environment_params

    environment_params(env)
    listening = listen(host, port) if http else None
    server = lab_server(env, beliefs=beliefs == "shown", explanation=explanation, salt=salt)
    if listening is None:
        if sys.stdin.isatty():
            complain("a client of the Model Context Protocol speaks to this command; --http serves over HTTP")
        serve_stdio(server)
        return
    warm_up(env)
    url = f"http://{address_of(listening)}/mcp"
    say(f"{env} is served at {url}; Ctrl-C ends it. Next: `solvent tools {url}`")
    sys.stdout.flush()
    serve_http(server, listening)
