"""``solvent gate``: learn thresholds from a domain's claims, run the checklist, evaluate and build."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent.files import write_atomically, write_json
from solvent_experiments.config import ConfigError
from solvent_experiments.console import say, suggest
from solvent_experiments.instruments.gate import reviews, tables
from solvent_experiments.instruments.gate.files import (
    sweep_at,
    with_manifest,
    write_manifest,
)
from solvent_experiments.instruments.gate.options import (
    Claims,
    DatasetPath,
    Measuring,
    Model,
    OracleName,
    RankR,
    Seed,
    TopK,
    oracle_of,
    percentiles_of,
)
from solvent_experiments.instruments.options import grouped
from solvent_experiments.instruments.outputs import Output, require_outputs
from solvent_experiments.instruments.terminal import show_table

if TYPE_CHECKING:
    from solvent.gate.datasets import Dataset

__all__ = ["app"]

FAILED = 1

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Judge claims against their evidence, decide what is under review, and learn a gate's thresholds.

- `solvent gate judge claims.jsonl --policy standard`  judges claims

- `solvent gate reviews`, `decide`, `learn`  decide what waits, and learn from it

- `solvent gate drift`  compares recent claims with the thresholds in force

- `solvent gate sweep --dataset claims.jsonl --out sweep.json`  learns thresholds

- `solvent gate check sweep.json`  runs the checklist on them; exit code 1 if an item fails

- `solvent gate eval --dataset claims.jsonl`  measures how well the residual separates supported claims from others

- `solvent gate plot sweep.json`  draws the thresholds and the verdicts of each policy

- `solvent gate build --check`  measures the lab's own sentences again
""",
)


@app.callback(invoke_without_command=True)
def gate(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
@grouped
def sweep(
    *,
    dataset: DatasetPath,
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="JSON file to write.")],
    n: Claims = 100,
    seed: Seed = 0,
    percentiles: Annotated[
        str, typer.Option(metavar="P,P,...", help="Percentiles of the gaps.")
    ] = "1,5,10,20,30",
    budget: Annotated[
        float, typer.Option(help="Share of claims with mismatched evidence that may be accepted.")
    ] = 0.05,
    top_k: TopK = 12,
    rank_r: RankR = 8,
    oracle: OracleName = None,
    policies: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Also write the policies, with the checklist.")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="Domain that the policies name.  [default: the file's name]")
    ] = None,
    measuring: Measuring,
) -> None:
    """Measure claims of a domain and learn thresholds at percentiles of their energy gaps.

    Writes `tau_by_percentile`, the effect of each percentile, all samples, and a manifest. The rates on the sample
    itself follow from the percentiles by construction; look at the held-out rates and at mismatched evidence. Budgets
    are learnt from evidence of another page and, where the claims name their pages, from other evidence of the same
    page.

    Examples:

    - `solvent gate sweep --dataset claims.jsonl --out sweep.json`

    - `solvent gate sweep --dataset feverous.jsonl --wiki-db pages.db --out sweep.json --policies policies.json`
    """
    from solvent.gate.checklist import run_checklist, runs_of
    from solvent.gate.policy import Policy
    from solvent.gate.policy_files import FORMAT as POLICIES
    from solvent.gate.policy_files import save_policies
    from solvent.gate.sweep import FORMAT, SweepSettings, run_sweep

    settings = SweepSettings(
        n or None, seed, top_k, rank_r, oracle_of(oracle), percentiles_of(percentiles), budget
    )
    inputs = {"the data set": dataset, "the database of pages": measuring.wiki_db}
    require_outputs(inputs, *with_manifest(out, FORMAT), Output("--policies", policies, POLICIES))
    with measuring.progress("sweep") as told:
        data, embedder = measuring.data(dataset), measuring.embedder()
        domain = domain or data.name
        if policies is not None:  # fail before the sweep, on a domain or a model that no policy can name
            Policy.learnt("P10", 0.0, domain=domain, model=embedder.name)
        found = run_sweep(data, embedder, settings, told)
    write_atomically(out, found.to_json())
    if policies is not None:
        policies.parent.mkdir(parents=True, exist_ok=True)
        items = run_checklist(found.samples, runs_of([row.energy_gap for row in found.samples], found.taus))
        save_policies(policies, found.policies(domain), items)
    write_manifest(out, data, dataset, embedder, {**found.settings, "domain": domain})
    _say_skipped(data)
    show_table(tables.sweep_table(found))
    for line in tables.sweep_lines(found):
        say(line)
    say(f"written: {out}" + ("" if policies is None else f", {policies}"))
    if policies is not None:
        failed = ", ".join(item.name for item in items if not item.passed)
        say(
            f"the checklist in {policies} fails: {failed}" if failed else f"the checklist in {policies} holds"
        )
        suggest(f"`solvent gate judge CLAIMS --policy P10 --policies {policies}` uses them.")
    else:
        suggest(
            f"`solvent gate plot {shlex.quote(str(out))}` draws it; --policies FILE keeps the thresholds."
        )


@app.command()
@grouped
def check(
    *,
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A sweep's file, or a data set to sweep first (100 claims)."),
    ],
    dataset: Annotated[
        Path | None,
        typer.Option(
            "--dataset",
            metavar="PATH",
            help="The sweep's data set, to measure the 100 runs again from its text.",
        ),
    ] = None,
    seed: Seed = 0,
    oracle: OracleName = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
    measuring: Measuring,
) -> None:
    """Run the validation checklist on a sweep; exit code 1 if an item fails.

    Monotonicity, non-collapse, stability, oracle sanity, determinism. Several items of the source fail on real data,
    and some hold by construction; the notes say which.

    Examples:

    - `solvent gate check sweep.json`

    - `solvent gate check sweep.json --dataset claims.jsonl`
    """
    from solvent.gate.checklist import run_checklist, runs_from_text, runs_of
    from solvent.gate.sweep import SweepSettings, run_sweep

    found = sweep_at(path)
    used = oracle_of(oracle)
    if found is not None and oracle is not None and used != found.settings["oracle"]:
        raise ConfigError(
            f"--oracle: got {used}; allowed: {found.settings['oracle']}, which {path} was made with"
        )
    runs = None
    source = path if found is None else dataset
    if source is not None:
        with measuring.progress("check") as told:
            data, embedder = measuring.data(source), measuring.embedder()
            if found is None:
                found = run_sweep(data, embedder, SweepSettings(seed=seed, oracle=used), told)
            if found.model["fingerprint"] != embedder.fingerprint:
                made = found.model["name"]
                raise ConfigError(f"{path}: made with the model {made}; allowed: the same --model")
            runs = runs_from_text(
                found,
                data.samples,
                embedder,
                anew=measuring.embedder(cached=False),
                on_progress=lambda done, total: told("runs", done, total),
            )
    assert found is not None
    runs = runs or runs_of([row.energy_gap for row in found.samples], found.taus)
    items = run_checklist(found.samples, runs)
    failed = [item.name for item in items if not item.passed]
    if as_json:
        say(json.dumps([vars(item) for item in items], indent=2))
    else:
        show_table(tables.checklist_table(items))
        if failed:
            say(f"fails: {', '.join(failed)}")
    if failed:
        raise typer.Exit(FAILED)
    if not as_json:
        suggest("`solvent gate judge CLAIMS --policy NAME` judges claims with such thresholds.")


@app.command("eval")
@grouped
def eval_(
    *,
    dataset: DatasetPath,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="JSON file for the figures.")
    ] = None,
    n: Claims = 0,
    seed: Seed = 0,
    top_k: TopK = 12,
    rank_r: RankR = 8,
    oracle: OracleName = None,
    resamples: Annotated[int, typer.Option(min=100, max=100_000, help="Draws of the bootstrap.")] = 1000,
    measuring: Measuring,
) -> None:
    """Measure how well the residual separates supported claims from others, beside cosine and TF-IDF.

    AUROC with 95 % bootstrap intervals over groups, against mismatched evidence, refuted claims and claims with not
    enough information; then the same among claims with equally many spans, as their number may give the label away.

    Examples:

    - `solvent gate eval --dataset claims.jsonl`

    - `solvent gate eval --dataset claims.jsonl --out eval.json`
    """
    from solvent.gate.evaluation import evaluate_backends, standard_backends
    from solvent.gate.evaluation_file import FORMAT, evaluation_document

    if out is not None:
        inputs = {"the data set": dataset, "the database of pages": measuring.wiki_db}
        require_outputs(inputs, *with_manifest(out, FORMAT))
    spans: dict[str, Any] = {"top_k": top_k, "rank_r": rank_r, "oracle": oracle_of(oracle)}
    with measuring.progress("eval") as told:
        data, embedder = measuring.data(dataset), measuring.embedder()
        samples = data.drawn(n or None, seed).samples
        backends = standard_backends(samples, embedder, **spans, on_progress=told)
        result = evaluate_backends(samples, backends, resamples=resamples, seed=seed, on_progress=told)
    if out is not None:
        settings = {"n": len(samples), "seed": seed, "resamples": resamples, **spans}
        write_json(out, evaluation_document(result, data, settings))
        write_manifest(out, data, dataset, embedder, settings)
    _say_skipped(data)
    show_table(tables.evaluation_table(result))
    say(
        "AUROC of supported claims against others: 0.5 is chance, brackets are 95 %. Gain: on the residual. Matched:"
        " among claims with equally many spans."
    )
    if out is not None:
        say(f"written: {out}")
    suggest(
        f"`solvent gate sweep --dataset {shlex.quote(str(dataset))}` learns thresholds from these claims."
    )


for command in (reviews.judge, reviews.reviews, reviews.decide, reviews.learn, reviews.drift):
    app.command()(command)


def _say_skipped(data: Dataset) -> None:
    if data.skipped:
        lines = "line" if len(data.skipped) == 1 else "lines"
        say(f"skipped {len(data.skipped):,} broken {lines}; the first: {data.skipped[0]}")


@app.command()
def plot(
    path: Annotated[Path, typer.Argument(metavar="SWEEP", help="File of a sweep.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of the figures.  [default: the file's]"),
    ] = None,
) -> None:
    """Draw a sweep: its gaps with the thresholds, and the verdicts of each policy.

    Example: `solvent gate plot sweep.json --out figures`
    """
    from solvent_experiments.instruments.gate.figures import draw_sweep

    found = sweep_at(path)
    if found is None:
        raise ConfigError(f"{path}: not a sweep; allowed: what `solvent gate sweep` writes")
    for drawn in draw_sweep(found, (out or path.parent) / path.stem):
        say(str(drawn))
    suggest("`solvent gate judge CLAIMS --policy standard` judges claims of your own.")


@app.command()
def build(
    env: Annotated[
        str, typer.Option(help="Environment whose compounds, doses and classes are put into words.")
    ] = "Solvent/Gate-v0",
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="PATH", help="Config of an experiment instead, for its `params`."),
    ] = None,
    catalogue: Annotated[
        Path | None,
        typer.Option("--catalogue", metavar="PATH", help="TOML file of sentences.  [default: the package's]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder to write to; with --check the folder to compare (default: the package's).",
        ),
    ] = None,
    model: Model = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 if the tables differ.")
    ] = False,
) -> None:
    """Measure the lab's sentences with the real model and the real heuristic, for the lab to look up.

    Writes `measured.npz` (inner products, thresholds, words against plates, corrections, and what each policy accepts)
    and the words themselves, `catalogue.toml`. A lab of your own compounds, doses or words plays with
    `params: {gate: {tables: DIR/measured.npz}}`.

    Examples:

    - `solvent gate build --check`

    - `solvent gate build --catalogue words.toml --out my-gate`
    """
    from solvent_experiments.config import environment_params, load_experiment
    from solvent_experiments.instruments.lab_words import build_words, check_words

    if not check and out is None:
        raise ConfigError("--out: got nothing; allowed: the folder to write the files to, or --check")
    params = environment_params(env) if config is None else load_experiment(config, has_tables=False).lab
    if check:
        if not check_words(params, catalogue, out, model):
            raise typer.Exit(FAILED)
    elif out is not None:
        build_words(params, catalogue, out, model)
        suggest(f"a config with `params: {{gate: {{tables: {out / 'measured.npz'}}}}}` plays with them.")
