"""Options and inputs that several commands of ``solvent adequacy`` share: the judge, the outputs, the progress."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from solvent.adequacy.judge import Budget, Judge

__all__ = [
    "KEY_VARIABLE",
    "SCORES",
    "Incidents",
    "JudgeBudget",
    "JudgeCache",
    "JudgeJobs",
    "JudgeModel",
    "JudgeOptions",
    "JudgeTimeout",
    "JudgeTokens",
    "JudgeUrl",
    "Out",
    "Quiet",
    "ResponsesPath",
    "ScoresPath",
    "SkipBroken",
    "allow_output",
    "error",
    "judge_of",
    "progress",
]

KEY_VARIABLE = "SOLVENT_JUDGE_KEY"
SCORES = Path("scores.jsonl")


ResponsesPath = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="JSONL: {id?, response, query?, tool_calls | messages}, a response a line.",
        show_default=False,
    ),
]
ScoresPath = Annotated[Path, typer.Option("--scores", metavar="PATH", help="File of scores.")]
Incidents = Annotated[
    Path | None,
    typer.Option("--incidents", metavar="PATH", help="File of failure incidents.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="PATH", help="JSON file to write, with a figure beside it.", show_default=False
    ),
]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Leave broken lines out, and say which.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
JudgeUrl = Annotated[
    str | None,
    typer.Option(
        "--judge-url",
        metavar="URL",
        help=f"Ask a model as well, at URL/chat/completions. Its key: the variable {KEY_VARIABLE}.",
        show_default=False,
    ),
]
JudgeModel = Annotated[
    str | None,
    typer.Option("--judge-model", metavar="NAME", help="The judge's model.", show_default=False),
]
JudgeBudget = Annotated[
    int, typer.Option("--judge-budget", min=0, help="Requests to the judge, retries included.")
]
JudgeTokens = Annotated[
    int | None, typer.Option("--judge-tokens", min=0, help="Tokens that they may use.", show_default=False)
]
JudgeTimeout = Annotated[
    float, typer.Option("--judge-timeout", min=0.1, max=3600.0, help="Seconds for a request.")
]
JudgeJobs = Annotated[int, typer.Option("--judge-jobs", min=1, max=64, help="Requests at a time.")]
JudgeCache = Annotated[
    Path | None,
    typer.Option(
        "--judge-cache",
        metavar="DIR",
        help="Folder of judgements.  [default: `judgements` in SOLVENT_CACHE or the user's cache]",
        show_default=False,
    ),
]
JudgeOptions = Annotated[
    str | None,
    typer.Option(
        "--judge-options",
        metavar="JSON",
        help='Further fields of a request: \'{"max_completion_tokens": 4000, "temperature": null}\'.',
        show_default=False,
    ),
]


def error(text: str) -> ValueError:
    """Bad input: one line, and exit code 2."""
    from solvent_experiments.config.documents import ConfigError

    return ConfigError(text)


def allow_output(
    out: Path | None, form: str, inputs: Mapping[str, Path | None], *, drawn: bool = True
) -> None:
    """Refuse, before anything is measured, to write over an input or a file of another kind.

    Raises:
        ConfigError: where ``out``, or the figure beside it, can't be written or stands for something else.
    """
    from solvent_experiments.artifacts.files import require_writable

    if out is None:
        return
    if drawn and out.suffix.lower() in (".png", ".pdf"):
        raise error(f"--out: got {out}; allowed: a JSON file, the figure lies beside it")
    taken = {path.resolve(): what for what, path in inputs.items() if path is not None}
    paths = [out, out.with_suffix(".png"), out.with_suffix(".pdf")] if drawn else [out]
    ours = out.is_file() and _is_of(out, form)
    for path in paths:
        if what := "a folder" if path.is_dir() else taken.get(path.resolve()):
            raise error(f"--out: {path} is {what}; allowed: a new file")
        if path.exists() and not ours:
            raise error(f"--out: {path} exists and is another kind of file; allowed: a new one")
    try:
        require_writable(out)
    except OSError as problem:
        raise error(
            f"--out: {out} can't be written, {problem.strerror}; allowed: a file in a folder"
        ) from None


def _is_of(path: Path, form: str) -> bool:
    with path.open("rb") as file:
        head = file.read(200).decode("utf-8", errors="replace")
    return bool(re.match(rf'\s*\{{\s*"format": "{re.escape(form)}"', head))


def judge_of(
    url: str | None,
    model: str | None,
    budget: Budget,
    timeout: float,
    cache: Path | None,
    options: str | None,
) -> Judge | None:
    """The judge that was configured, None without an address. The key comes from the environment alone."""
    from solvent.adequacy.judge import ChatSettings, Judge
    from solvent.gate.cache import cache_folder

    if url is None:
        if model is not None or options is not None:
            raise error("--judge-model, --judge-options: got no --judge-url; allowed: with it")
        return None
    if model is None:
        raise error("--judge-model: got nothing; allowed: the name of a model at --judge-url")
    settings = ChatSettings(
        base_url=url,
        model=model,
        api_key=os.environ.get(KEY_VARIABLE, "").strip() or None,
        timeout=timeout,
        total=min(3600.0, 4 * timeout),
        budget=budget,
        options=_options(options),
    )
    return Judge(settings, cache_folder() / "judgements" if cache is None else cache)


def _options(text: str | None) -> dict[str, object]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise error(f"--judge-options: got {text!r:.60}; allowed: a JSON object")
    return found


@contextmanager
def progress(quiet: bool, label: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console

    from solvent_experiments.run.progress import shown_on

    with shown_on(Console(stderr=True), quiet=quiet) as shown:
        shown.begin(label)
        yield lambda done, total: shown.update(label, "at work", done, total, unit)
