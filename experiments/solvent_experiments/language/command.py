"""``solvent llm``: language models play, their transcripts are checked and read."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import new_console, say, suggest
from solvent_experiments.instruments.options import Env, Quiet, grouped, json_object

if TYPE_CHECKING:
    from solvent import LabParams
    from solvent.chat import Budget
    from solvent_agents.language.conversation import Model
    from solvent_agents.language.desk import Desk
    from solvent_experiments.config import Evaluation, Experiment, LanguageModel
    from solvent_experiments.folder import Unit

__all__ = ["app"]

KEY_VARIABLE = "SOLVENT_LLM_KEY"
SCRIPT = "script:"
AMONG = "honest,surfer,max_claimer,zero_claimer"

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Language models at the bench: the same lab by tool calls, the same score.

Without a key: `solvent llm run --model script:honest --episodes 4 --out runs/llm`
""",
)


@dataclass(frozen=True)
class Asking:
    """How the endpoint is asked, and how much may be spent."""

    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=f"Address before /chat/completions. The key is read from {KEY_VARIABLE}.",
        ),
    ] = None
    tools: Annotated[
        Literal["native", "text"], typer.Option(help="`text`: for servers without tool calls.")
    ] = "native"
    options: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="""Further fields of a request: '{"temperature": null, "max_completion_tokens": 4000}'.""",
        ),
    ] = None
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Episodes at once.")] = 4
    timeout: Annotated[float, typer.Option(min=0.1, max=900.0, help="Seconds for a request.")] = 120.0
    calls: Annotated[int, typer.Option(min=0, help="Most requests, retries included.")] = 100_000
    tokens: Annotated[int | None, typer.Option(min=0, help="Most tokens.")] = None
    money: Annotated[float | None, typer.Option(min=0.0, help="Most money, by the two prices.")] = None
    prompt_price: Annotated[float, typer.Option(min=0.0, help="Price of a million tokens of requests.")] = 0.0
    answer_price: Annotated[float, typer.Option(min=0.0, help="Price of a million tokens of answers.")] = 0.0
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Database of answers.  [default: `answers.sqlite` in SOLVENT_CACHE or the user's cache]",
        ),
    ] = None

    def budget(self) -> Budget:
        """Return the budget. Raise ConfigError for money without prices."""
        from solvent.chat import Budget

        prices = (self.prompt_price, self.answer_price)
        if self.money is not None and not any(prices):
            raise ConfigError(
                "got no price; allowed: with --prompt-price or --answer-price, per million tokens",
                key="--money",
            )
        return Budget(self.calls, self.tokens, self.money, prices)


@app.command()
@grouped
def run(
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Name of the model at the endpoint, or `script:AGENT`.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run.", show_default=False)],
    asking: Asking,
    env: Env = "Solvent/Debt-v0",
    episodes: Annotated[int, typer.Option(min=1, max=100_000, help="Number of episodes, one per seed.")] = 64,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 100_001, help="Seed of the first episode.")
    ] = 10_000,
    salt: Annotated[
        str, typer.Option(metavar="TEXT", help="Make other seeds of these, which nobody could practise with.")
    ] = "",
    beliefs: Annotated[
        Literal["shown", "hidden"], typer.Option(help="Show the exact posterior after each plate.")
    ] = "shown",
    corrections: Annotated[
        bool, typer.Option("--corrections/--no-corrections", help="Tell corrections after published errors.")
    ] = True,
    explanation: Annotated[
        bool, typer.Option("--explanation/--no-explanation", help="Tell the reasons behind energy costs.")
    ] = True,
    agents: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Scripts that play the same episodes. The leaderboard needs oracle, which takes minutes, as planner.",
        ),
    ] = AMONG,
    quiet: Quiet = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an existing folder aside first.")] = False,
) -> None:
    """Let a language model play, evaluate it like every other agent, and compare it with scripts on the same seeds.

    The same command goes on after Ctrl-C. Every answer is kept in the cache and never asked for twice.

    Examples:

    - `solvent llm run --model script:honest --episodes 4 --out runs/llm`

    - `solvent llm run --model NAME --base-url http://127.0.0.1:8000/v1 --env Solvent/Lab-v0 --out runs/name`
    """
    from solvent_experiments.config import Evaluation, LanguageModel
    from solvent_experiments.run import run_experiment, show_results

    scripted = model.startswith(SCRIPT)
    if scripted == (asking.base_url is not None):
        allowed = (
            "without it, as a script needs no endpoint"
            if scripted
            else "an address, or --model script:honest"
        )
        raise ConfigError(f"got {asking.base_url or 'nothing'!r:.80}; allowed: {allowed}", key="--base-url")
    settings = LanguageModel(
        model=model,
        base_url=asking.base_url,
        beliefs=beliefs,
        corrections=corrections,
        explanation=explanation,
        tools=asking.tools,
        options=json_object("--options", asking.options),
    )
    played = dict.fromkeys(("episodes", "slow_episodes", "trace_episodes"), episodes)
    experiment = _experiment(
        settings, env, Evaluation(first_seed=seed, salt=salt, **played), agents.split(",")
    )
    budget = asking.budget()
    make = _scripted(settings, experiment.lab) if scripted else _asked(settings, experiment, asking, budget)
    unit = _play(experiment, out, make, budget, asking.concurrency, quiet=quiet, fresh=fresh)
    folder = run_experiment(experiment, out, quiet=quiet)
    show_results(folder, new_console())
    _tell(unit, out)


@app.command()
def replay(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of `solvent llm run`.", show_default=False)
    ],
    quiet: Quiet = False,
) -> None:
    """Replay transcripts from their seeds, and compare every call, text and reward. A submission must pass this.

    Ends with 1 if anything differs.

    Example: `solvent llm replay runs/llm`
    """
    from solvent_experiments.console import Progress
    from solvent_experiments.language.transcripts import check_transcripts

    differing = False
    with Progress(new_console(), quiet=quiet) as shown:
        for root in runs:

            def on_done(name: str, done: int, of: int) -> None:
                shown.update(name, done / of, f"replaying, {done:,} of {of:,} episodes")

            for name, (count, lines) in check_transcripts(root, on_done).items():
                same = "all as written" if not lines else f"{len(lines)} differ"
                shown.end(name, f"{count} transcripts, {same}")
                for line in lines[:10]:
                    say(f"{root}/{name}/transcripts.jsonl: {line}")
                differing |= bool(lines)
    if differing:
        raise typer.Exit(1)
    suggest(
        f"`solvent llm report {shlex.join(map(str, runs))}` shows figures, and conversations step by step."
    )


def _experiment(settings: LanguageModel, env: str, evaluation: Evaluation, agents: list[str]) -> Experiment:
    """Return the experiment of a model among scripts. Raise ConfigError for settings that its level can't use."""
    from solvent_agents import PLAYERS
    from solvent_experiments.config import OF_A_RUN, Experiment, environment_params, known_agent

    params = environment_params(env)
    for agent in agents:
        known_agent(agent)
    if "exact" in agents:
        PLAYERS["exact"](params, 0)  # an error where it has no solution
    if not settings.corrections and not params.adequacy.enabled:
        raise ConfigError(
            f"{env} has no corrections to leave out; allowed: Solvent/Lab-v0", key="--no-corrections"
        )
    if not settings.explanation and not params.energy.enabled:
        raise ConfigError(
            f"{env} has no energy to explain; allowed: Solvent/Energy-v0, Solvent/Lab-v0",
            key="--no-explanation",
        )
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", settings.model).strip("-._")[:90] or "model"
    if OF_A_RUN.fullmatch(name) or name.casefold() in map(str.casefold, agents):
        name += "-model"
    return Experiment(
        name=name,
        env=env,
        params=params.to_mapping(),
        agents=list(dict.fromkeys(agents)),
        train={},
        seeds=[next(seed for seed in itertools.count() if seed not in evaluation.seeds)],
        evaluation=evaluation,
        language={name: settings},
    )


def _scripted(settings: LanguageModel, params: LabParams) -> Callable[[Desk, int], Model]:
    from solvent_agents.language.conversation import ScriptedModel
    from solvent_agents.rollout import DrawsLots
    from solvent_experiments.config import make_agent

    agent_name = settings.model.removeprefix(SCRIPT)
    make_agent(agent_name, params)  # an unknown name is an error before anything is written

    def make(desk: Desk, seed: int) -> Model:
        agent = make_agent(agent_name, params)
        if isinstance(agent, DrawsLots):
            agent.start([seed])
        return ScriptedModel(agent, desk)

    return make


def _asked(
    settings: LanguageModel, experiment: Experiment, asking: Asking, budget: Budget
) -> Callable[[Desk, int], Model]:
    from solvent.chat import ChatClient, ChatSettings
    from solvent.gate.cache import cache_folder
    from solvent_experiments.language.endpoint import AnswerCache, Endpoint
    from solvent_experiments.language.playing import key_of

    assert settings.base_url is not None
    client = ChatClient(
        ChatSettings(
            base_url=settings.base_url,
            model=settings.model,
            api_key=os.environ.get(KEY_VARIABLE, "").strip() or None,
            timeout=asking.timeout,
            total=min(3600.0, 4 * asking.timeout),
            budget=budget,
            options=settings.options,
        )
    )
    cache = AnswerCache(asking.cache or cache_folder() / "answers.sqlite", key_of(experiment))
    return Endpoint(client, cache, in_text=settings.tools == "text")


def _play(
    experiment: Experiment,
    root: Path,
    make: Callable[[Desk, int], Model],
    budget: Budget,
    concurrency: int,
    *,
    quiet: bool,
    fresh: bool,
) -> Unit:
    """Play the episodes, unless the folder has their transcripts."""
    from solvent.chat import EndpointError
    from solvent_experiments.console import Progress
    from solvent_experiments.folder import RunFolder
    from solvent_experiments.language.endpoint import Endpoint
    from solvent_experiments.language.playing import Game, play
    from solvent_experiments.run import stop_on_signals

    folder = RunFolder(root)
    shown = Progress(new_console(), quiet=quiet)
    if fresh and (moved := folder.set_aside()):
        shown.say(f"moved the existing folder to {moved}")
    (unit,) = (unit for unit in folder.units(experiment) if unit.talks)
    with folder.locked(), stop_on_signals(shown) as stop:
        folder.prepare(experiment)
        if not (unit.transcripts.exists() and unit.endpoint.exists()):
            try:
                with shown:
                    sampling = make.client.options if isinstance(make, Endpoint) else {}
                    play(Game(experiment, unit, make, budget, concurrency, sampling), shown, stop.is_set)
            except EndpointError as error:
                if "HTTP 401" in str(error) and not os.environ.get(KEY_VARIABLE, "").strip():
                    raise ConfigError(f"{error}; the key is read from {KEY_VARIABLE}") from None
                raise
    return unit


def _tell(unit: Unit, root: Path) -> None:
    """Print how the conversations went, and what to do next."""
    from solvent_experiments.config import read_json
    from solvent_experiments.folder import read_parquet
    from solvent_experiments.language.transcripts import transcripts_of

    about = read_json(unit.endpoint, "as `solvent llm run` wrote it")
    episodes = read_parquet(unit.episodes)
    stopped = Counter(map(str, episodes["stopped"]))
    ends = ", ".join(f"{count} {why}" for why, count in stopped.most_common())
    tokens = f"{episodes['prompt_tokens'].sum():,} + {episodes['answer_tokens'].sum():,} tokens"
    invalid, cost = episodes["invalid_calls"].sum(), episodes["cost"].sum()
    say(f"{unit.agent}: {ends}; {invalid} invalid calls; {tokens}, cost {cost:.4f}")
    if others := [name for name in about["served"] if name != about["model"]]:
        say(f"The server answered as {', '.join(map(repr, others))}, not as {about['model']!r}.")
    if stopped["no answer"]:
        problems = (one.get("problem") for one in transcripts_of(unit.transcripts).values())
        ((problem, _),) = Counter(filter(None, problems)).most_common(1)
        say(f"{stopped['no answer']} episodes ended without an answer: {problem}", stderr=True)
        say("The same command with --fresh asks again for what had none, and for nothing else.")
    say(
        f"Next: `solvent llm report {root}` shows figures and conversations; `solvent llm replay {root}` checks them."
    )
