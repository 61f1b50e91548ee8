"""Options shared by the commands of ``solvent adequacy``, and the judge that they configure."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import say
from solvent_experiments.instruments.options import SkipBroken, json_object

if TYPE_CHECKING:
    from solvent.adequacy.judge import Judge
    from solvent.adequacy.responses import Responses

__all__ = [
    "SCORES",
    "By",
    "Incidents",
    "JudgeOptions",
    "Out",
    "Reason",
    "ResponsesFile",
    "Scores",
    "person",
]

KEY_VARIABLE = "SOLVENT_JUDGE_KEY"
SCORES = Path("scores.jsonl")

Scores = Annotated[
    Path,
    typer.Option("--scores", metavar="PATH", help="File of scores, or the lab's gate_verdicts.jsonl."),
]
Incidents = Annotated[
    Path | None, typer.Option("--incidents", metavar="PATH", help="File of failure incidents.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="PATH", help="JSON file to write.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who decides: a person's name.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Reason for the decision.")]


@dataclass(frozen=True)
class ResponsesFile:
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="JSONL: the transcript of an agent's session, or one response per line: "
            "{id?, response, query?, tool_calls | messages}.",
        ),
    ]
    skip_broken: SkipBroken = False

    def read(self) -> Responses:
        """Return the responses, and print the skipped lines."""
        from solvent.adequacy.responses import read_responses

        responses = read_responses(self.file, skip_broken=self.skip_broken)
        for line in responses.skipped:
            say(f"skipped: {line}", stderr=True)
        if more := responses.broken - len(responses.skipped):
            say(f"skipped: {more:,} more lines", stderr=True)
        return responses


@dataclass(frozen=True)
class JudgeOptions:
    """The judge, and the responses that it sees."""

    judge_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=f"Also ask a model at URL/chat/completions. Its key is read from {KEY_VARIABLE}.",
        ),
    ] = None
    judge_model: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the judge's model.")] = None
    judge_escalated: Annotated[
        bool,
        typer.Option("--judge-escalated", help="Ask only about responses that the heuristic escalates."),
    ] = False
    judge_budget: Annotated[
        int, typer.Option(min=0, help="Most requests to the judge, retries included.")
    ] = 1000
    judge_tokens: Annotated[int | None, typer.Option(min=0, help="Most tokens of these requests.")] = None
    judge_timeout: Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds for a request.")] = 30.0
    judge_jobs: Annotated[int, typer.Option(min=1, max=64, help="Parallel requests.")] = 4
    judge_cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of judgements.  [default: `judgements` in SOLVENT_CACHE or the user's cache]",
        ),
    ] = None
    judge_options: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help='Further fields of a request: \'{"max_completion_tokens": 4000, "temperature": null}\'.',
        ),
    ] = None
    triggers: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="File of accepted triggers (`patterns --accept`); a response on which one fires is escalated.",
        ),
    ] = None

    def judge(self) -> Judge | None:
        """Return the judge, or None without an address. Its key comes from the environment."""
        from solvent.adequacy.judge import Budget, ChatSettings, Judge
        from solvent.gate.cache import cache_folder

        budget = Budget(self.judge_budget, self.judge_tokens)
        if self.judge_url is None:
            if self.judge_model is not None or self.judge_options is not None:
                raise ConfigError("--judge-model, --judge-options: got no --judge-url; allowed: with it")
            if self.judge_escalated:
                raise ConfigError("--judge-escalated: got no judge; allowed: with --judge-url")
            return None
        if self.judge_model is None:
            raise ConfigError("--judge-model: got nothing; allowed: the name of a model at --judge-url")
        settings = ChatSettings(
            base_url=self.judge_url,
            model=self.judge_model,
            api_key=os.environ.get(KEY_VARIABLE, "").strip() or None,
            timeout=self.judge_timeout,
            total=min(3600.0, 4 * self.judge_timeout),
            budget=budget,
            options=json_object("--judge-options", self.judge_options),
        )
        return Judge(settings, self.judge_cache or cache_folder() / "judgements")


def person(option: str, by: str | None, reason: str | None) -> tuple[str, str]:
    """Return who decides and why; raise ConfigError unless both are given."""
    if by is None or reason is None:
        raise ConfigError(f"{option}: got no --by or no --reason; allowed: with both, a person decides")
    return by, reason
