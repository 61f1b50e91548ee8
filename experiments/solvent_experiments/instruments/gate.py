"""``solvent gate``: judge claims, and learn a gate's thresholds."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from solvent.files import append_records, write_atomically, write_json
from solvent_experiments.config import ConfigError
from solvent_experiments.console import Progress, new_console, one_line, say, suggest
from solvent_experiments.options import Quiet
from solvent_experiments.table import Table, show_table

if TYPE_CHECKING:
    from solvent.gate.data import Sample
    from solvent.gate.embedding import SentenceEmbedder
    from solvent.gate.policy import Policy
    from solvent.gate.reviews import Decision, Judged, Reviews

__all__ = ["app"]

FAILED, WAITING = 1, 3
MOST_ROWS = 40
STORE = Path("gate_reviews")

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Judge claims against their evidence, and learn a gate's thresholds.

- `solvent gate judge claims.jsonl --policy standard`  judges claims

- `solvent gate learn`  learns from what people decided on `solvent desk`

- `solvent gate sweep --dataset claims.jsonl --out sweep.json`  learns thresholds and runs the checklist

- `solvent gate drift`  compares recent claims with the threshold in force
""",
)

Model = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of an embedding model.  [default: all-MiniLM-L6-v2]"),
]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Skip broken lines, and count them.")]
Domain = Annotated[
    str | None,
    typer.Option(help="Domain of use, kept with each verdict or policy.  [default: the file's name]"),
]
Store = Annotated[Path, typer.Option("--store", metavar="DIR", help="Folder of verdicts and decisions.")]
Kept = Annotated[Path | None, typer.Option(metavar="PATH", help="File of policies to append to.")]


@app.command()
def judge(
    claims: Annotated[Path, typer.Argument(metavar="CLAIMS", help="Claims with evidence, JSON lines.")],
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="strict, standard, editorial, or one of --policies.")
    ],
    policies: Annotated[
        Path | None, typer.Option(metavar="PATH", help="File of policies, JSON lines.")
    ] = None,
    domain: Domain = None,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to keep the verdicts in; reviews wait there.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write all verdicts as JSON lines.")
    ] = None,
    model: Model = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Judge claims under a policy. Exit code 0: all accepted, 1: some rejected, 3: none rejected, some under review.

    With a store, a review that somebody has decided counts as decided: run the command again after the decisions.

    Example: `solvent gate judge claims.jsonl --policy standard --store gate_reviews`
    """
    chosen = _chosen(policy, policies)
    used = domain or claims.stem
    chosen.check_use(domain=used)
    samples, embedder = _inputs(claims, skip_broken, model)
    judged = _judged(samples, embedder, chosen, used, quiet=quiet)
    decisions = _recorded(judged, store)
    if out is not None:
        write_atomically(out, "".join(row.model_dump_json() + "\n" for row in judged))
    outcomes = {row.id: decisions[row.id].choice if row.id in decisions else row.verdict for row in judged}
    objected = [row for row in judged if outcomes[row.id] != "accept"]
    _show(sorted(objected, key=lambda row: row.verdict != "reject"))
    counts: Counter[str] = Counter(outcomes[row.id] for row in judged)
    _say_outcomes(chosen, counts)
    if counts["review"]:
        _suggest_review(store)
    if counts["reject"] or counts["decline"]:
        raise typer.Exit(FAILED)
    if counts["review"]:
        raise typer.Exit(WAITING)


@app.command()
def learn(
    out: Kept = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Only reviews of this policy.")] = None,
    budget: Annotated[float, typer.Option(help="Share of declined claims that may pass.")] = 0.05,
    store: Store = STORE,
) -> None:
    """Learn a threshold from decided reviews, under a budget for declined claims that may pass.

    Reviews to which a check objects are left out: another threshold would not accept them.

    Example: `solvent gate learn --budget 0.2 --out policies.jsonl`
    """
    from solvent.gate.reviews import learn as learnt_from

    kept = _existing(store)
    rows = [row for row in kept.verdicts() if policy in (None, row.policy.name)]
    _keep(_numbered([learnt_from(rows, kept.decisions(), budget)], out), out)


@app.command()
def sweep(
    dataset: Annotated[
        Path,
        typer.Option(metavar="PATH", help="Claims with evidence, JSON lines."),
    ],
    out: Annotated[Path, typer.Option(metavar="PATH", help="JSON file to write.")],
    n: Annotated[int, typer.Option("--n", min=0, help="Claims to draw; 0 takes all.")] = 100,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the draw, the mismatched evidence and the splits.")
    ] = 0,
    oracle: Annotated[
        Literal["first", "medoid"], typer.Option(help="Oracle of the gap; `first` is the source's.")
    ] = "first",
    policies: Kept = None,
    domain: Domain = None,
    model: Model = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Measure claims of a domain, learn thresholds, and run the source's checklist.

    Policies: percentiles of the energy gaps, and two standard deviations above the mean of the oracles' energies. The
    rates on the sample itself follow from the percentiles by construction; look at the held-out rates, and at claims
    with the evidence of another page.

    Example: `solvent gate sweep --dataset claims.jsonl --out sweep.json --policies policies.jsonl`
    """
    from solvent.gate import calibration
    from solvent.gate.embedding import SentenceEmbedder

    every, embedder = _inputs(dataset, skip_broken, model)
    samples = _drawn(every, n, seed)
    _embed(samples, embedder, quiet=quiet)
    rows = calibration.measured(samples, embedder, oracle=oracle, seed=seed)
    summary, items = calibration.summary(rows, seed), calibration.checklist(rows, SentenceEmbedder(model))
    about: dict[str, Any] = {
        "domain": domain or dataset.stem, "oracle": oracle, "model": embedder.name,
        "model_fingerprint": embedder.fingerprint, "failed": [name for name, (holds, _) in items.items() if not holds],
    }  # fmt: skip
    made = [
        calibration.oracle_policy([row.oracle_energy for row in rows], **about),
        *calibration.adaptive_policies([row.energy_gap for row in rows], **about),
    ]
    made = _numbered(made, policies)  # which may refuse the file, before anything is written
    document = {
        "settings": {"dataset": str(dataset), "n": len(rows), "seed": seed} | about,
        "tau_by_percentile": {name: row["tau_accept"] for name, row in summary.items()},
        "summary": summary,
        "checklist": {name: {"holds": holds, "found": result} for name, (holds, result) in items.items()},
        "samples": [row._asdict() | {"sample": row.sample.id, "label": row.sample.label} for row in rows],
    }
    write_json(out, document)
    _show_sweep(summary, items)
    say(f"written: {out}")
    _keep(made, policies)


def _show_sweep(summary: Mapping[str, Any], items: Mapping[str, tuple[bool, str]]) -> None:
    """Show the rates of each threshold, and the checklist."""
    lines = [
        (name, " / ".join(map(str, row["verdicts"].values())), "{:.1%} [{:.1%}, {:.1%}]".format(*row["held_out"]),
         f"{row['random']:.1%}")
        for name, row in summary.items()
    ]  # fmt: skip
    show_table(Table(("", "accept / review / reject", "accepted held out", "another page"), tuple(lines)))
    checks = [(name, "holds" if holds else "fails", result) for name, (holds, result) in items.items()]
    show_table(Table(("checklist", "", "found"), tuple(checks), left=("", "found"), wrapped=("found",)))


@app.command()
def drift(
    policy: Annotated[str, typer.Option(metavar="NAME", help="Policy of a percentile, such as P10.")],
    policies: Annotated[Path, typer.Option(metavar="PATH", help="File of policies, JSON lines.")],
    store: Store = STORE,
) -> None:
    """Compare windows of 100 consecutive claims of a store with a threshold; exit code 1 after a drift.

    Example: `solvent gate drift --policy P10 --policies policies.jsonl`
    """
    from solvent.gate.policy import load_policies, policy_named
    from solvent.gate.reviews import drift as windows_of

    chosen = policy_named(policy, load_policies(policies))
    windows = windows_of(_existing(store).verdicts(), chosen)
    cells = [
        (f"{one.begin:%Y-%m-%d %H:%M}", f"{one.threshold:.4f}", f"{one.accepted} ({one.low} to {one.high})",
         "drifted" if one.drifted else "")
        for one in windows
    ]  # fmt: skip
    show_table(Table(("window from", "its threshold", "accepted (expected)", ""), tuple(cells)))
    say(f"{chosen.name} accepts up to {chosen.tau_accept:g}")
    if any(one.drifted for one in windows):
        say("drifted: learn again with `solvent gate sweep`")
        raise typer.Exit(FAILED)
    suggest("no window has drifted; keep judging with `solvent gate judge`.")


# -- what the commands share ---------------------------------------------------------------------


def _inputs(path: Path, skip_broken: bool, model: Path | None) -> tuple[list[Sample], SentenceEmbedder]:
    """Return the claims of a file and the model; say what was skipped once both can be used."""
    from solvent.gate.data import load_dataset
    from solvent.gate.embedding import SentenceEmbedder

    samples, skipped = load_dataset(path, skip_broken=skip_broken)
    embedder = SentenceEmbedder(model)
    if skipped:
        say(f"skipped {len(skipped):,} broken lines; the first: {skipped[0]}", stderr=True)
    return samples, embedder


def _drawn(samples: Sequence[Sample], n: int, seed: int) -> list[Sample]:
    """Return ``n`` of the claims at random, in their order; 0 takes all."""
    import numpy as np

    places = np.sort(np.random.default_rng(seed).permutation(len(samples))[: n or None])
    return [samples[i] for i in places]


def _embed(samples: Sequence[Sample], embedder: SentenceEmbedder, *, quiet: bool) -> None:
    """Let the model encode all texts, which it remembers."""
    with Progress(new_console(stderr=True), quiet=quiet) as progress:
        for done, sample in enumerate(samples, 1):
            embedder.encode([sample.claim, *sample.evidence])
            progress.update("measuring", done / len(samples), f"{done:,} of {len(samples):,}")


def _chosen(name: str, policies: Path | None) -> Policy:
    """Return a policy by its name, and say if a file's policy has taken the name of a shipped one."""
    from solvent.gate.policy import FIXED, load_policies, policy_named

    chosen = policy_named(name, {} if policies is None else load_policies(policies))
    if name in FIXED and chosen is not FIXED[name]:
        say(f"{name} is the policy of {policies}, not the shipped one", stderr=True)
    return chosen


def _judged(
    samples: Sequence[Sample], embedder: SentenceEmbedder, policy: Policy, domain: str, *, quiet: bool
) -> list[Judged]:
    """Return the verdict on each claim."""
    from solvent.gate.reviews import judge as judged_under

    judged: list[Judged] = []
    with Progress(new_console(stderr=True), quiet=quiet) as progress:
        for done, sample in enumerate(samples, 1):
            judged += judged_under([sample], embedder, policy, domain=domain)
            progress.update("judging", done / len(samples), f"{done:,} of {len(samples):,}")
    return judged


def _recorded(judged: Sequence[Judged], store: Path | None) -> dict[str, Decision]:
    """Keep verdicts in a store, if there is one, and return the decisions in it."""
    from solvent.gate.reviews import Reviews

    if store is None:
        return {}
    kept = Reviews(store)
    kept.record(judged)
    return kept.decisions()


def _say_outcomes(policy: Policy, counts: Counter[str]) -> None:
    """Say how many claims came out in which way, and what their policy promises."""
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    say(f"{counts.total():,} claims: {outcomes}")
    say(f"policy {policy.name}: accepts up to {policy.tau_accept:g}, reviews up to {policy.tau_review:g}")
    if policy.promise:
        say(policy.promise)
    if policy.failed:
        say(f"it fails the checklist items: {', '.join(policy.failed)}")


def _suggest_review(store: Path | None) -> None:
    """Suggest what to do about claims under review."""
    if store is None:
        suggest(f"the same with `--store {STORE}` keeps the reviews, for people to decide.")
    else:
        at = "" if store == STORE else f"--reviews {shlex.quote(str(store))}"
        suggest("`solvent desk` shows what to decide.", at)


def _numbered(made: list[Policy], path: Path | None) -> list[Policy]:
    """Give policies the next versions of their names in a file."""
    from solvent.gate.policy import load_policies, next_versions

    return made if path is None or not path.exists() else next_versions(made, load_policies(path))


def _keep(made: Sequence[Policy], path: Path | None) -> None:
    """Say what policies are, and append them to a file."""
    for policy in made:
        say(f"{policy.name} accepts up to {policy.tau_accept:g}. {policy.promise}".rstrip())
    if path is None:
        suggest("the same with `--policies PATH` (`learn`: `--out PATH`) keeps these policies.")
    else:
        append_records(path, made)
        used = f"--policy {made[-1].label} --policies {shlex.quote(str(path))}"
        suggest(f"saved to {path}; `solvent gate judge CLAIMS {used}` uses the newest.")


def _existing(store: Path) -> Reviews:
    from solvent.gate.reviews import Reviews

    if not (store / "verdicts.jsonl").is_file():
        raise ConfigError(
            f"--store: {store} holds no verdicts; allowed: a folder that `judge --store` has written"
        )
    return Reviews(store)


def _show(rows: Sequence[Judged]) -> None:
    """Show the first claims of a list, with the reasons that do not say that the policy accepts."""
    cells = [
        (row.id, row.verdict, f"{row.compared:.4f}", one_line(row.claim),
         one_line("; ".join(reason for reason in row.reasons if " is within " not in reason)))
        for row in rows[:MOST_ROWS]
    ]  # fmt: skip
    if cells:
        headings = ("id", "verdict", "compared", "claim", "reason")
        show_table(
            Table(headings, tuple(cells), left=("verdict", "claim", "reason"), wrapped=("claim", "reason"))
        )
    if len(rows) > MOST_ROWS:
        say(f"and {len(rows) - MOST_ROWS:,} more")
