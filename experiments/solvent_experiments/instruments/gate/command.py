"""``solvent gate``: thresholds from a domain's own claims, the checklist, and how well the measure tells claims apart.

Only the command line: what is measured is decided in ``solvent.gate``, which is imported by the command that needs it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from solvent_experiments.instruments.gate.tables import (
    EVALUATION,
    MANIFEST,
    checklist_table,
    evaluation_document,
    evaluation_table,
    manifest_of,
    say_skipped,
    show,
    sweep_notes,
    sweep_table,
    write_manifest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.gate.embedding import SentenceEmbedder
    from solvent.gate.sweep import Sweep

__all__ = ["app"]

FAILED = 1

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Learn a verity gate's thresholds from claims with evidence, check them, and see what they are worth.

- `solvent gate sweep --dataset claims.jsonl --out sweep.json`  learns thresholds

- `solvent gate check sweep.json`  holds them against the checklist; exit code 1 where one item fails

- `solvent gate eval --dataset claims.jsonl`  says how well the residual tells supported claims from others

- `solvent gate plot sweep.json`  draws it

- `solvent gate build --check`  measures the lab's own sentences anew
""",
)

DatasetPath = Annotated[
    Path,
    typer.Option(
        "--dataset",
        metavar="PATH",
        help="Claims with evidence: JSON lines with claim, evidence and label, or FEVEROUS's official lines.",
        show_default=False,
    ),
]
WikiDb = Annotated[
    Path | None,
    typer.Option(
        "--wiki-db",
        metavar="PATH",
        help="FEVEROUS's SQLite database of pages, for evidence given as ids.",
        show_default=False,
    ),
]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Leave broken lines out, and say which.")]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|NAME",
        help="Embedding model: a folder or a sentence-transformers name.  [default: all-MiniLM-L6-v2]",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of the draw, the mismatched evidence and the bootstrap.")]
TopK = Annotated[int, typer.Option(min=1, max=1000, help="Spans that count, nearest first.")]
RankR = Annotated[int, typer.Option(min=1, max=1000, help="Directions that count.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


@app.callback(invoke_without_command=True)
def gate(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def sweep(
    dataset: DatasetPath,
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="JSON file to write.", show_default=False)
    ],
    n: Annotated[int, typer.Option("--n", min=0, help="Claims to draw; 0 takes all.")] = 100,
    seed: Seed = 0,
    percentiles: Annotated[
        str, typer.Option(metavar="P,P,...", help="Percentiles of the gaps.")
    ] = "1,5,10,20,30",
    budget: Annotated[
        float, typer.Option(help="Share of mismatched claims that the negative control may accept.")
    ] = 0.05,
    policies: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Also write the policies.", show_default=False)
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="Domain that the policies name.  [default: the file's name]", show_default=False),
    ] = None,
    top_k: TopK = 12,
    rank_r: RankR = 8,
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Measure claims of a domain and learn thresholds at percentiles of their energy gaps.

    Writes `tau_by_percentile`, what each percentile does, and every sample, and a manifest beside it. The rates on the
    sample itself are what the percentiles say by construction; look at the held-out ones and at the controls.

    Examples:

    - `solvent gate sweep --dataset claims.jsonl --out sweep.json`

    - `solvent gate sweep --dataset feverous.jsonl --wiki-db pages.db --out sweep.json --policies policies.json`
    """
    from solvent.gate.datasets import load_dataset
    from solvent.gate.policy import Policy
    from solvent.gate.policy_files import save_policies
    from solvent.gate.sweep import FORMAT, SweepSettings, run_sweep
    from solvent_experiments.artifacts.files import write_atomically

    settings = SweepSettings(n or None, seed, top_k, rank_r, _percentiles(percentiles), budget)
    _writable(
        {"the data set": dataset, "the database of pages": wiki_db},
        _Output("--out", out, FORMAT),
        _Output("--out", manifest_of(out), MANIFEST, of=out),
        _Output("--policies", policies, "solvent.gate.policies.v1"),
    )
    with _progress(quiet, "sweep") as told:
        data = load_dataset(dataset, wiki_db=wiki_db, skip_broken=skip_broken)
        embedder = _embedder(model)
        if policies is not None:  # refuses a domain or a model that no policy can name
            Policy.learnt("P10", 0.0, domain=domain or data.name, model=embedder.name)
        found = run_sweep(data, embedder, settings, told)
    write_atomically(out, found.to_json())
    if policies is not None:
        policies.parent.mkdir(parents=True, exist_ok=True)
        save_policies(policies, found.policies(domain))
    write_manifest(out, data, dataset, embedder, {**found.settings, "domain": domain or data.name})
    say_skipped(data)
    show(sweep_table(found))
    for line in sweep_notes(found):
        typer.echo(line)
    typer.echo(f"written: {out}" + ("" if policies is None else f", {policies}"))


@app.command()
def check(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A sweep's file, or a data set to sweep first (100 claims).",
            show_default=False,
        ),
    ],
    dataset: Annotated[
        Path | None,
        typer.Option(
            "--dataset",
            metavar="PATH",
            help="The sweep's data set: measures the 100 runs anew, from the text.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    quiet: Quiet = False,
) -> None:
    """Hold a sweep against the validation checklist; exit code 1 where an item fails.

    Monotonicity, non-collapse, stability, oracle sanity, determinism. Several items of the source fail on real data,
    and some hold by construction; the notes say which.

    Examples:

    - `solvent gate check sweep.json`

    - `solvent gate check sweep.json --dataset claims.jsonl`
    """
    from solvent.gate.checklist import run_checklist, runs_from_text
    from solvent.gate.datasets import load_dataset
    from solvent.gate.sweep import SweepSettings, run_sweep

    found = _sweep_at(path)
    runs = None
    source = path if found is None else dataset
    if source is not None:
        with _progress(quiet, "check") as told:
            data = load_dataset(source, wiki_db=wiki_db, skip_broken=skip_broken)
            embedder = _embedder(model)
            if found is None:
                found = run_sweep(data, embedder, SweepSettings(seed=seed), told)
            if found.model["fingerprint"] != embedder.fingerprint:
                raise _error(f"{path}: made with the model {found.model['name']}; allowed: the same --model")
            runs = runs_from_text(
                found,
                data.samples,
                embedder,
                anew=_embedder(model, cached=False),
                on_progress=lambda done, total: told("runs", done, total),
            )
    assert found is not None
    items = run_checklist(found, runs)
    if as_json:
        typer.echo(json.dumps([vars(item) for item in items], indent=2))
    else:
        show(checklist_table(items))
    if failed := [item.name for item in items if not item.passed]:
        if not as_json:
            typer.echo(f"fails: {', '.join(failed)}")
        raise typer.Exit(FAILED)


@app.command("eval")
def eval_(
    dataset: DatasetPath,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PATH", help="JSON file for the figures.", show_default=False),
    ] = None,
    n: Annotated[int, typer.Option("--n", min=0, help="Claims to draw; 0 takes all.")] = 0,
    seed: Seed = 0,
    resamples: Annotated[int, typer.Option(min=100, max=100_000, help="Draws of the bootstrap.")] = 1000,
    top_k: TopK = 12,
    rank_r: RankR = 8,
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Say how well the residual tells supported claims from others, beside cosine and TF-IDF.

    AUROC with 95 % bootstrap intervals over groups, against mismatched evidence, refuted claims and claims with not
    enough information; then the same among claims with equally many spans, for their number may give the label away.

    Examples:

    - `solvent gate eval --dataset claims.jsonl`

    - `solvent gate eval --dataset claims.jsonl --out eval.json`
    """
    from solvent.gate.datasets import load_dataset
    from solvent.gate.evaluation import evaluate_backends, standard_backends
    from solvent_experiments.artifacts.files import write_json

    if out is not None:
        _writable(
            {"the data set": dataset, "the database of pages": wiki_db},
            _Output("--out", out, EVALUATION),
            _Output("--out", manifest_of(out), MANIFEST, of=out),
        )
    with _progress(quiet, "eval") as told:
        data = load_dataset(dataset, wiki_db=wiki_db, skip_broken=skip_broken)
        embedder = _embedder(model)
        drawn = data.drawn(n or None, seed)
        backends = standard_backends(drawn.samples, embedder, top_k=top_k, rank_r=rank_r, on_progress=told)
        result = evaluate_backends(drawn.samples, backends, resamples=resamples, seed=seed, on_progress=told)
    settings = {
        "n": len(drawn.samples),
        "seed": seed,
        "resamples": resamples,
        "top_k": top_k,
        "rank_r": rank_r,
    }
    if out is not None:
        write_json(out, evaluation_document(result, data, settings))
        write_manifest(out, data, dataset, embedder, settings)
    say_skipped(data)
    show(evaluation_table(result))
    typer.echo(
        "AUROC of supported claims against others: 0.5 is chance, brackets are 95 %. Gain: on the residual. Matched:"
        " among claims with equally many spans."
    )
    if out is not None:
        typer.echo(f"written: {out}")


@app.command()
def plot(
    path: Annotated[Path, typer.Argument(metavar="SWEEP", help="File of a sweep.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder.  [default: the file's]", show_default=False),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            "--eval", metavar="PATH", help="File of `solvent gate eval` to draw as well.", show_default=False
        ),
    ] = None,
) -> None:
    """Draw a sweep: gaps with thresholds, verdicts by policy, and what the thresholds do to held-out claims.

    Example: `solvent gate plot sweep.json --out figures --eval eval.json`
    """
    from solvent_experiments.instruments.gate.figures import draw_gate

    found = _sweep_at(path)
    if found is None:
        raise _error(f"{path}: not a sweep; allowed: what `solvent gate sweep` writes")
    document = None if evaluation is None else _evaluation_at(evaluation)
    for drawn in draw_gate(found, document, out or path.parent, path.stem):
        typer.echo(drawn)


# ------------------------------------------------------------------------------------------ what goes in


def _error(text: str) -> ValueError:
    from solvent_experiments.config.documents import ConfigError

    return ConfigError(text)


def _percentiles(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0.0 < value <= 100.0 for value in values):
        raise _error(
            f"--percentiles: got {text!r:.40}; allowed: numbers above 0, up to 100, such as 1,5,10,20,30"
        )
    return values


def _embedder(model: str | None, *, cached: bool = True) -> SentenceEmbedder:
    from solvent.gate.embedding import SentenceEmbedder

    return SentenceEmbedder(model, cache="default" if cached else None)


class _Output(NamedTuple):
    """An output of a command: its option, path (None: not written) and format, and for a manifest the file it is of."""

    option: str
    path: Path | None
    format: str
    of: Path | None = None


def _writable(inputs: Mapping[str, Path | None], *outputs: _Output) -> None:
    """Refuse, before anything is measured, to write over an input, another output or a file of another kind."""
    from solvent_experiments.artifacts.files import require_writable

    taken = {path.resolve(): what for what, path in inputs.items() if path is not None}
    for output in outputs:
        if output.path is None:
            continue
        what = "a folder" if output.path.is_dir() else taken.get(output.path.resolve())
        if what is not None:
            raise _error(f"{output.option}: {output.path} is {what}; allowed: a new file")
        taken[output.path.resolve()] = f"what {output.option} writes"
        if output.path.exists() and not _is_another_of(output):
            raise _error(
                f"{output.option}: {output.path} exists and is another kind of file; allowed: a new one"
            )
        try:
            require_writable(output.path)
        except OSError as error:
            raise _error(
                f"{output.option}: {output.path} can't be written, {error.strerror}; allowed: a file in a folder"
            ) from None


def _is_another_of(output: _Output) -> bool:
    """True if the existing file has the output's format, and for a manifest is of the same file."""
    assert output.path is not None
    if not output.path.is_file():
        return False
    with output.path.open("rb") as file:
        head = file.read(1000).decode("utf-8", errors="replace")
    of = "" if output.of is None else json.dumps(output.of.name, ensure_ascii=False)
    return bool(re.match(rf'\s*\{{\s*"format": "{re.escape(output.format)}"', head)) and of in head


def _sweep_at(path: Path) -> Sweep | None:
    """The sweep in a file, None where it is something else that may be a data set."""
    from solvent.gate.sweep import FORMAT
    from solvent.gate.sweep_file import sweep_from_json

    if not path.is_file():
        raise _error(f"{path}: no such file; allowed: a sweep or a data set")
    with path.open("rb") as file:
        if FORMAT.encode() not in file.read(200):
            return None
    return sweep_from_json(path.read_bytes(), str(path))


def _evaluation_at(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise _error(f"{path}: no such file; allowed: what `solvent gate eval --out` writes") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, Mapping) or document.get("format") != EVALUATION:
        raise _error(f"{path}: not an evaluation; allowed: what `solvent gate eval --out` writes")
    rows, about = document.get("comparisons"), document.get("dataset")
    if not isinstance(about, Mapping) or not isinstance(about.get("name"), str):
        raise _error(f"{path}, dataset: allowed: an object with its name, as `solvent gate eval` writes it")
    if not isinstance(rows, list) or not rows:
        raise _error(f"{path}, comparisons: allowed: a list of at least one")
    for i, row in enumerate(rows, start=1):
        if not _is_comparison(row):
            raise _error(f"{path}, comparison {i}: allowed: an object as `solvent gate eval` writes it")
    if all(row["auroc"]["value"] is None for row in rows):
        raise _error(f"{path}: no claims that could be compared; allowed: an evaluation with an AUROC")
    return document


def _is_comparison(row: Any) -> bool:
    """True if a row of an evaluation has its names, and an AUROC with its interval or none."""
    if not isinstance(row, Mapping) or not isinstance(row.get("auroc"), Mapping):
        return False
    named = all(isinstance(row.get(key), str) for key in ("against", "measure"))
    numbers = [row["auroc"].get(key) for key in ("value", "low", "high")]
    shares = all(isinstance(n, int | float) and 0 <= n <= 1 for n in numbers)
    return named and isinstance(row.get("matched"), bool) and (shares or numbers[0] is None)


@contextmanager
def _progress(quiet: bool, label: str) -> Iterator[Callable[[str, int, int], None]]:
    from rich.console import Console

    from solvent_experiments.run.progress import shown_on

    with shown_on(Console(stderr=True), quiet=quiet) as shown:
        shown.begin(label)
        yield lambda stage, done, total: shown.update(label, stage, done, total, "done")


@app.command()
def build(
    env: Annotated[
        str, typer.Option(help="Environment whose compounds, doses and classes are said.")
    ] = "Solvent/Gate-v0",
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="PATH",
            help="Config of an experiment instead, for its `params`.",
            show_default=False,
        ),
    ] = None,
    catalogue: Annotated[
        Path | None,
        typer.Option(
            "--catalogue",
            metavar="PATH",
            help="TOML file of sentences.  [default: the package's]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder to write the files to; with --check the folder to look at (the package's by default).",
            show_default=False,
        ),
    ] = None,
    model: Model = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 where the tables are others.")
    ] = False,
) -> None:
    """Measure the lab's sentences with the real model and the real heuristic: what the lab looks up as it plays.

    Writes `measured.npz` (inner products, thresholds, words against plates, corrections, and what each policy accepts)
    and the words themselves, `catalogue.toml`. A lab of your own compounds, doses or words plays with
    `params: {gate: {tables: DIR/measured.npz}}`.

    Examples:

    - `solvent gate build --check`

    - `solvent gate build --catalogue words.toml --out my-gate`
    """
    from solvent.lab.params import LabParams
    from solvent_experiments.config.experiment import environment_params, load_experiment
    from solvent_experiments.instruments.gate.tables import wide_console
    from solvent_experiments.instruments.lab_words.command import build_words, check_words

    params: LabParams = (
        environment_params(env) if config is None else load_experiment(config, has_tables=False).params
    )
    if not check and out is None:
        raise _error("--out: got nothing; allowed: the folder to write the files to, or --check")
    if not check:
        assert out is not None
        build_words(params, catalogue, out, model, wide_console())
    elif not check_words(params, catalogue, out, model, wide_console()):
        raise typer.Exit(FAILED)
