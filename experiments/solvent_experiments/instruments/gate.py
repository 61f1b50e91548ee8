"""``solvent gate``: judge claims, decide what is under review, and learn a gate's thresholds."""

from __future__ import annotations

import getpass
import json
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from solvent.files import append_records, write_atomically, write_json
from solvent_experiments.config import ConfigError
from solvent_experiments.console import say, suggest
from solvent_experiments.instruments.options import Quiet
from solvent_experiments.instruments.terminal import one_line, progress, show_table
from solvent_experiments.table import Table

if TYPE_CHECKING:
    from solvent.gate.calibration import Measured
    from solvent.gate.data import Dataset
    from solvent.gate.embedding import SentenceEmbedder
    from solvent.gate.policy import Policy
    from solvent.gate.reviews import Judged, Reviews

__all__ = ["app"]

FAILED, WAITING = 1, 3
SHOWN = 40
STORE = Path("gate_reviews")

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Judge claims against their evidence, decide what is under review, and learn a gate's thresholds.

- `solvent gate judge claims.jsonl --policy standard`  judges claims

- `solvent gate reviews --next`, `decide`, `learn`  decide what waits, and learn from it

- `solvent gate sweep --dataset claims.jsonl --out sweep.json`  learns thresholds; `policy` makes one of each kind

- `solvent gate check claims.jsonl`  runs the checklist; exit code 1 if an item fails

- `solvent gate eval --dataset claims.jsonl`  measures how well the energy separates supported claims from others

- `solvent gate drift`  compares recent claims with the thresholds in force

- `solvent gate build --check`  measures the lab's own sentences again
""",
)

Claims = Annotated[
    Path,
    typer.Option(
        "--dataset", metavar="PATH", help="Claims with evidence: JSON lines, or FEVEROUS's official ones."
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|NAME", help="Embedding model: a folder or a name.  [default: all-MiniLM-L6-v2]"
    ),
]
WikiDb = Annotated[Path | None, typer.Option(metavar="PATH", help="FEVEROUS's SQLite database of pages.")]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Skip broken lines, and count them.")]
Count = Annotated[int, typer.Option("--n", min=0, help="Claims to draw; 0 takes all.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the draw, the mismatched evidence and the splits.")]
OracleName = Annotated[
    Literal["first", "medoid"], typer.Option(help="Oracle of the gap; `first` is the source's.")
]
Policies = Annotated[Path | None, typer.Option(metavar="PATH", help="File of policies, JSON lines.")]
Version = Annotated[
    int, typer.Option(min=1, help="Version of the policies: a file holds a name and version once.")
]
Domain = Annotated[str | None, typer.Option(help="Domain of use.  [default: the file's name]")]
Budget = Annotated[float, typer.Option(help="Share of unsupported or declined claims that may pass.")]
Store = Annotated[Path, typer.Option("--store", metavar="DIR", help="Folder of verdicts and decisions.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]


@app.command()
def judge(
    claims: Annotated[Path, typer.Argument(metavar="CLAIMS", help="Claims with evidence, JSON lines.")],
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="strict, standard, editorial, or one of --policies.")
    ],
    policies: Policies = None,
    domain: Domain = None,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to keep the verdicts in; reviews wait there.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write all verdicts as JSON lines.")
    ] = None,
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Judge claims under a policy. Exit code 0: all accepted, 1: some rejected, 3: none rejected, some under review.

    With a store, a review that somebody has decided counts as decided: run the command again after the decisions.

    Example: `solvent gate judge claims.jsonl --policy standard --store gate_reviews`
    """
    from solvent.gate.policy import ANY, load_policies, policy_named
    from solvent.gate.reviews import Reviews
    from solvent.gate.reviews import judge as judged_under

    chosen = policy_named(policy, {} if policies is None else load_policies(policies))
    data, embedder = _opened(claims, model, wiki_db, skip_broken)
    used = domain or (data.name if chosen.domain == ANY else chosen.domain)
    with progress("judging", quiet=quiet) as told:
        total = len(data.samples)
        judged = judged_under(
            data.samples, embedder, chosen, domain=used, on_progress=lambda n: told(n, total)
        )
    decisions = {}
    if store is not None:
        kept = Reviews(store)
        kept.record(judged)
        decisions = kept.decisions()
    if out is not None:
        write_atomically(out, "".join(row.model_dump_json() + "\n" for row in judged))
    outcomes = {row.id: decisions[row.id].choice if row.id in decisions else row.verdict for row in judged}
    _show([row for row in judged if outcomes[row.id] != "accept"])
    counts = Counter(outcomes[row.id] for row in judged)
    say(
        f"{len(judged):,} claims: "
        + ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    )
    say(f"policy {chosen.name}: accepts up to {chosen.tau_accept:g}, reviews up to {chosen.tau_review:g}")
    if chosen.promise:
        say(chosen.promise)
    if chosen.failed:
        say(f"its checklist fails: {', '.join(chosen.failed)}")
    if counts["review"]:
        suggest(
            f"`solvent gate reviews --next --store {shlex.quote(str(store or STORE))}` asks for decisions."
        )
    if counts["reject"] or counts["decline"]:
        raise typer.Exit(FAILED)
    if counts["review"]:
        raise typer.Exit(WAITING)


@app.command()
def reviews(
    key: Annotated[str | None, typer.Argument(metavar="ID", help="Show this one in full.")] = None,
    by_influence: Annotated[
        bool, typer.Option("--next", help="First those whose decision would move the threshold most.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Number of reviews listed.")] = SHOWN,
    as_json: AsJson = False,
    store: Store = STORE,
) -> None:
    """List the claims under review that nobody has decided, oldest first, or show one with its evidence.

    Example: `solvent gate reviews --next`
    """
    kept = _existing(store)
    rows = [kept.find(key)] if key else kept.waiting(by_influence=by_influence)
    if as_json:
        say(json.dumps([row.model_dump(mode="json") for row in rows[:limit]], indent=2))
        return
    if key:
        (row,) = rows
        parts = [("claim", row.claim), *(("evidence", span) for span in row.evidence)]
        parts += [
            ("verdict", f"{row.verdict} by {row.policy_applied}"),
            *(("reason", said) for said in row.reasons),
        ]
        if decision := kept.decisions().get(row.id):
            parts.append(("decision", f"{decision.choice} by {decision.who}: {decision.why}"))
        show_table(Table(("", row.id), tuple(parts), left=(row.id,), wrapped=(row.id,)), framed=True)
    else:
        _show(rows[:limit])
        say(f"{len(rows):,} reviews to decide")
    suggest(
        '`solvent gate decide ID accept|decline --why "..."` decides; once some are, `solvent gate learn`.'
    )


@app.command()
def decide(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the review, or its first characters.")],
    choice: Annotated[str, typer.Argument(metavar="accept|decline", help="The decision.")],
    why: Annotated[str, typer.Option(help="Reason, kept with the decision.")],
    who: Annotated[str | None, typer.Option(help="Who decides.  [default: the user's name]")] = None,
    store: Store = STORE,
) -> None:
    """Decide a review. A decision is final: whoever comes second is told the first one.

    Example: `solvent gate decide 3f2a decline --why "the page gives another year"`
    """
    kept = _existing(store)
    made = kept.decide(key, choice, who=who or getpass.getuser(), why=why)
    say(f"{made.id}: {made.choice}, by {made.who}")
    say(f"{len(kept.waiting()):,} reviews left to decide")
    suggest("`solvent gate reviews --next` shows what to decide next.")


@app.command()
def learn(
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="File of policies to append the policy to.")
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Only reviews of this policy.")] = None,
    budget: Budget = 0.05,
    store: Store = STORE,
) -> None:
    """Learn from decided reviews: a threshold under a budget for declined claims, and false alarms of the checks.

    Exit code 1 if the declined reviews are too few for the budget; the output says how many it needs.

    Example: `solvent gate learn --budget 0.2 --out policies.jsonl`
    """
    from solvent.gate.reviews import learn as learnt_from

    kept = _existing(store)
    rows = [row for row in kept.verdicts() if policy in (None, row.policy.name)]
    found = learnt_from(rows, kept.decisions(), budget)
    table = [("accepted", *found.accepted), ("declined", *found.declined)]
    show_table(
        Table(
            ("reviews", "decided", "would pass"),
            tuple((name, str(n), str(passed)) for name, n, passed in table),
        )
    )
    for name, (sent, accepted) in found.alarms.items():
        say(f"the check {name} sent {sent} of them, and people accepted {accepted}")
    if found.policy is None:
        say(
            f"no threshold: a budget of {budget:.1%} needs {found.fewest} declined reviews (--budget sets another)"
        )
        raise typer.Exit(FAILED)
    _keep([found.policy], out)


@app.command()
def sweep(
    dataset: Claims,
    out: Annotated[Path, typer.Option(metavar="PATH", help="JSON file to write.")],
    n: Count = 100,
    seed: Seed = 0,
    percentiles: Annotated[
        str, typer.Option(metavar="P,P,...", help="Percentiles of the gaps.")
    ] = "1,5,10,20,30",
    budget: Budget = 0.05,
    oracle: OracleName = "first",
    version: Version = 1,
    policies: Policies = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Draw gaps and thresholds (PNG).")
    ] = None,
    domain: Domain = None,
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Measure claims of a domain and learn thresholds at percentiles of their energy gaps.

    The rates on the sample itself follow from the percentiles by construction; look at the held-out rates and at
    mismatched evidence. Budgets are learnt from evidence of another page and, where the claims name their pages, from
    other evidence of the same page.

    Example: `solvent gate sweep --dataset claims.jsonl --out sweep.json --policies policies.jsonl`
    """
    from solvent.gate.calibration import adaptive_policies, budget_policies, summary

    cuts = _percentiles(percentiles)
    read = (dataset, model, wiki_db, skip_broken, quiet)
    data, embedder, rows = _measured(*read, n=n, seed=seed, oracle=oracle)
    found = summary(rows, cuts, seed)
    about = _about(data, embedder, oracle, domain, version) | {"failed": _failed(rows)}
    made = adaptive_policies([row.energy_gap for row in rows], cuts, **about)
    made += budget_policies(rows, budget, seed, **about)
    document = {
        "dataset": {"name": data.name, "sha256": data.sha256, "claims": len(data.samples)},
        "model": {"name": embedder.name, "sha256": embedder.fingerprint},
        "settings": {"n": len(rows), "seed": seed, "oracle": oracle, "budget": budget, "version": version},
        "tau_by_percentile": {name: row["tau_accept"] for name, row in found.items()},
        "summary": found,
        "policies": [policy.model_dump(mode="json") for policy in made],
        "samples": [row._asdict() | {"sample": row.sample.id} for row in rows],
    }
    write_json(out, document)
    if figure is not None:
        from solvent_experiments.figures.thresholds import draw_sweep

        draw_sweep(rows, {name: row["tau_accept"] for name, row in found.items()}, figure)
    show_table(_sweep_table(found))
    for policy in made:
        if policy.promise:
            say(f"{policy.name}, up to {policy.tau_accept:g}: {policy.promise}")
    say(f"written: {out}" + (f", {figure}" if figure else ""))
    _keep(made, policies)


@app.command()
def policy(
    kind: Annotated[Literal["fixed", "adaptive", "oracle"], typer.Argument(help="Class of the policy.")],
    dataset: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Claims to learn from; not for `fixed`.")
    ] = None,
    tau: Annotated[float | None, typer.Option(help="`fixed`: largest accepted energy.")] = None,
    label: Annotated[str, typer.Option(help="`fixed`: label of the name.")] = "own",
    percentile: Annotated[float, typer.Option(help="`adaptive`: percentile of the gaps.")] = 10.0,
    k: Annotated[float, typer.Option(help="`oracle`: standard deviations above the oracles' mean.")] = 2.0,
    oracle: OracleName = "first",
    version: Version = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="File of policies to append it to.")
    ] = None,
    domain: Domain = None,
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Make one policy: a fixed threshold, a percentile of a domain's gaps, or relative to the oracles' energies.

    Examples:

    - `solvent gate policy oracle --k 2.0 --dataset claims.jsonl --out policies.jsonl`

    - `solvent gate policy fixed --tau 0.35 --label house --out policies.jsonl`
    """
    from solvent.gate.calibration import adaptive_policies, oracle_policy

    if kind == "fixed":
        if tau is None:
            raise ConfigError("--tau: got nothing; allowed: the largest accepted energy")
        _keep([_fixed(label, tau, version)], out)
        return
    if dataset is None:
        raise ConfigError("--dataset: got nothing; allowed: claims to learn from")
    read = (dataset, model, wiki_db, skip_broken, quiet)
    data, embedder, rows = _measured(*read, oracle=oracle, mismatched=False)
    about = _about(data, embedder, oracle, domain, version)
    if kind == "oracle":
        _keep([oracle_policy([row.oracle_energy for row in rows], k, **about)], out)
    else:
        gaps = [row.energy_gap for row in rows]
        _keep(adaptive_policies(gaps, [percentile], failed=_failed(rows), **about), out)


@app.command()
def check(
    dataset: Annotated[Path, typer.Argument(metavar="CLAIMS", help="Claims with evidence, JSON lines.")],
    n: Count = 100,
    seed: Seed = 0,
    oracle: OracleName = "first",
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Run the source's validation checklist on a domain's claims; exit code 1 if an item fails.

    Several items of the source fail on real data, and some hold by construction; the notes say which.

    Example: `solvent gate check claims.jsonl`
    """
    from solvent.gate.calibration import checklist
    from solvent.gate.embedding import SentenceEmbedder

    read = (dataset, model, wiki_db, skip_broken, quiet)
    *_, rows = _measured(*read, n=n, seed=seed, oracle=oracle, mismatched=False)
    items = checklist(rows, SentenceEmbedder(model))
    cells = [
        (one.name, "holds" if one.passed else "fails", one.found, one.required, one.note) for one in items
    ]
    show_table(Table(("item", "", "found", "required", "note"), tuple(cells), left=("", "found", "required", "note"),
                     wrapped=("found", "note")))  # fmt: skip
    if any(not item.passed for item in items):
        raise typer.Exit(FAILED)
    suggest(f"`solvent gate sweep --dataset {shlex.quote(str(dataset))} --out sweep.json` learns thresholds.")


@app.command("eval")
def eval_(
    dataset: Claims,
    n: Count = 0,
    seed: Seed = 0,
    oracle: OracleName = "first",
    resamples: Annotated[int, typer.Option(min=100, max=100_000, help="Draws of the bootstrap.")] = 1000,
    as_json: AsJson = False,
    model: Model = None,
    wiki_db: WikiDb = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Measure how well the energy separates supported claims from others, beside the cosine of the nearest span.

    AUROC with 95 % bootstrap intervals over groups, against refuted claims, claims with not enough information, and
    claims with the evidence of another page (`random`) or other evidence of the same page (`hard`).

    Example: `solvent gate eval --dataset claims.jsonl`
    """
    from solvent.gate.calibration import auroc

    read = (dataset, model, wiki_db, skip_broken, quiet)
    *_, rows = _measured(*read, n=n, seed=seed, oracle=oracle)
    found = auroc(rows, resamples=resamples, seed=seed)
    if as_json:
        say(json.dumps({" ".join(key): value for key, value in found.items()}, indent=2))
        return
    cells = [
        (f"{other}, {measure}", f"{a:.3f} [{b:.3f}, {c:.3f}]")
        for (other, measure), (a, b, c) in found.items()
    ]
    show_table(
        Table(("supported against", "AUROC"), tuple(cells), caption="0.5 is chance; brackets are 95 %")
    )
    suggest(f"`solvent gate sweep --dataset {shlex.quote(str(dataset))} --out sweep.json` learns thresholds.")


@app.command()
def drift(
    policies: Policies = None,
    window: Annotated[int, typer.Option(min=20, help="Claims in a window.")] = 100,
    store: Store = STORE,
) -> None:
    """Compare the thresholds that recent claims would give with those in force; exit code 1 after a drift.

    Windows are consecutive claims of the store. Without `--policies` the first window is the reference.

    Example: `solvent gate drift --policies policies.jsonl`
    """
    from solvent.gate.policy import load_policies
    from solvent.gate.reviews import drift as windows_of

    learnt = () if policies is None else tuple(load_policies(policies).values())
    found = windows_of(_existing(store).verdicts(), learnt, size=window)
    cells = [
        (f"{one.begin:%Y-%m-%d %H:%M}", f"P{one.percentile:g}", f"{one.reference:.4f}", f"{one.threshold:.4f}",
         f"{one.accepted} ({one.low} to {one.high})", "drifted" if one.drifted else "")
        for one in found
    ]  # fmt: skip
    show_table(
        Table(("window from", "percentile", "in force", "its own", "accepted (expected)", ""), tuple(cells))
    )
    if any(one.drifted for one in found):
        say("drifted: learn again with `solvent gate sweep --version N`")
        raise typer.Exit(FAILED)
    suggest("no window has drifted; keep judging with `solvent gate judge`.")


@app.command()
def build(
    env: Annotated[
        str, typer.Option(help="Environment whose compounds, doses and classes are put into words.")
    ] = ("Solvent/Gate-v0"),
    config: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Config of an experiment instead, for its `params`.")
    ] = None,
    catalogue: Annotated[
        Path | None, typer.Option(metavar="PATH", help="TOML file of sentences.  [default: the package's]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write to; with --check the folder to compare."),
    ] = None,
    model: Model = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 if the tables differ.")
    ] = False,
) -> None:
    """Measure the lab's sentences with the real model and the real heuristic, for the lab to look up.

    Writes `measured.npz` and the words themselves, `catalogue.toml`. A lab of your own compounds, doses or words plays
    with `params: {gate: {tables: DIR/measured.npz}}`.

    Example: `solvent gate build --catalogue words.toml --out my-gate`
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


# -- what the commands share ---------------------------------------------------------------------


def _opened(
    path: Path, model: str | None, wiki_db: Path | None, skip_broken: bool
) -> tuple[Dataset, SentenceEmbedder]:
    from solvent.gate.data import load_dataset
    from solvent.gate.embedding import SentenceEmbedder

    embedder = SentenceEmbedder(model)
    data = load_dataset(path, wiki_db=wiki_db, skip_broken=skip_broken)
    if data.skipped:
        say(f"skipped {len(data.skipped):,} broken lines; the first: {data.skipped[0]}", stderr=True)
    return data, embedder


def _measured(
    path: Path, model: str | None, wiki_db: Path | None, skip_broken: bool, quiet: bool, *, n: int = 0, seed: int = 0,
    **how: Any,
) -> tuple[Dataset, SentenceEmbedder, list[Measured]]:  # fmt: skip
    """Read claims, draw ``n`` of them and measure these; ``how`` are further arguments of ``measured``."""
    from solvent.gate.calibration import measured

    data, embedder = _opened(path, model, wiki_db, skip_broken)
    with progress("measuring", quiet=quiet) as told:
        rows = measured(data.drawn(n, seed).samples, embedder, seed=seed, on_progress=told, **how)
    return data, embedder, rows


def _failed(rows: Sequence[Measured]) -> tuple[str, ...]:
    """Return the items of the checklist that claims fail."""
    from solvent.gate.calibration import checklist

    return tuple(item.name for item in checklist(rows) if not item.passed)


def _about(
    data: Dataset, embedder: SentenceEmbedder, oracle: str, domain: str | None, version: int
) -> dict[str, Any]:
    fields = {"model": embedder.name, "model_fingerprint": embedder.fingerprint, "oracle": oracle}
    return fields | {"domain": domain or data.name, "version": version}


def _keep(made: Sequence[Policy], path: Path | None) -> None:
    """Append policies to a file that holds none of their names."""
    from solvent.gate.policy import load_policies

    names = ", ".join(policy.name for policy in made)
    if path is None:
        say(f"made, not kept: {names}")
        suggest(
            "`--policies PATH` or `--out PATH` keeps them, for `solvent gate judge CLAIMS --policy NAME`."
        )
        return
    known = load_policies(path) if path.exists() else {}
    if twin := next((policy.name for policy in made if policy.name in known), None):
        raise ConfigError(f"{path}: holds {twin} already; allowed: another --version, or another file")
    append_records(path, made)
    say(f"kept in {path}: {names}")
    suggest(
        f"`solvent gate judge CLAIMS --policy {made[-1].label} --policies {shlex.quote(str(path))}` uses them."
    )


def _fixed(label: str, tau: float, version: int) -> Policy:
    from pydantic import ValidationError

    from solvent.files import first_problem
    from solvent.gate.policy import Policy

    try:
        return Policy(kind="fixed", label=label, tau_accept=tau, measure="energy", version=version)  # type: ignore[call-arg]
    except ValidationError as error:
        raise ConfigError(first_problem(error)) from None


def _existing(store: Path) -> Reviews:
    from solvent.gate.reviews import Reviews

    if not (store / "verdicts.jsonl").is_file():
        raise ConfigError(
            f"--store: {store} holds no verdicts; allowed: a folder that `judge --store` has written"
        )
    return Reviews(store)


def _percentiles(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0.0 < value <= 100.0 for value in values):
        raise ConfigError(
            f"--percentiles: got {text!r:.40}; allowed: numbers above 0, up to 100, such as 1,5,10"
        )
    return values


def _show(rows: Sequence[Judged]) -> None:
    severe = sorted(rows, key=lambda row: row.verdict != "reject")[:SHOWN]
    cells = [
        (row.id, row.verdict, f"{row.compared:.4f}", one_line(row.claim), one_line(_decisive(row)))
        for row in severe
    ]
    if cells:
        headings = ("id", "verdict", "compared", "claim", "reason")
        show_table(
            Table(headings, tuple(cells), left=("verdict", "claim", "reason"), wrapped=("claim", "reason"))
        )
    if len(rows) > len(severe):
        say(f"and {len(rows) - len(severe):,} more")


def _decisive(row: Judged) -> str:
    """Return the reasons, without the one that says the policy accepts."""
    return "; ".join(reason for reason in row.reasons if " is within " not in reason)


def _sweep_table(found: dict[str, dict[str, Any]]) -> Table:
    cells = []
    for name, row in found.items():
        held = "" if row["held_out"] is None else "{:.1%} [{:.1%}, {:.1%}]".format(*row["held_out"])
        verdicts = " / ".join(str(row["verdicts"][verdict]) for verdict in ("accept", "review", "reject"))
        others = [f"{row[kind][0]} of {row[kind][1]}" if row[kind][1] else "" for kind in ("random", "hard")]
        cells.append((name, f"{row['tau_accept']:.4f}", verdicts, held, *others))
    headings = ("", "accepts up to", "accept / review / reject", "held out", "another page", "the same page")
    return Table(
        headings, tuple(cells), caption="held out: share accepted by a threshold of the other half, 95 %"
    )
