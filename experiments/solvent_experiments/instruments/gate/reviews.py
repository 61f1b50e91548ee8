"""``solvent gate``: judge claims, decide what is under review, learn from the decisions, and watch thresholds."""

from __future__ import annotations

import contextlib
import getpass
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent.files import write_atomically
from solvent_experiments.console import say
from solvent_experiments.instruments.gate import tables
from solvent_experiments.instruments.gate.options import Measuring, OracleName, oracle_of
from solvent_experiments.instruments.options import grouped
from solvent_experiments.instruments.outputs import Output, require_outputs, require_place
from solvent_experiments.instruments.terminal import counted, show_table

if TYPE_CHECKING:
    from solvent.gate.judged import Judged
    from solvent.gate.policy import Policy

__all__ = ["decide", "drift", "judge", "learn", "reviews"]

REJECTED, WAITING, DRIFTED = 1, 3, 1
VERDICTS, LABELS = "solvent.gate.verdicts.v1", "solvent.gate.labels.v1"
STORE = "solvent_gate.db"
SHOWN = 40

Store = Annotated[
    str,
    typer.Option("--store", metavar="PATH|URL", help="SQLite file, or `postgresql://USER@HOST/DATABASE`."),
]
Policies = Annotated[
    Path | None, typer.Option("--policies", metavar="PATH", help="File of learnt policies, from `sweep`.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
Budget = Annotated[float, typer.Option(help="Share of declined claims that may pass.")]


@grouped
def judge(
    *,
    dataset: Annotated[Path, typer.Argument(metavar="CLAIMS", help="Claims with evidence, JSON lines.")],
    policy: Annotated[
        str,
        typer.Option("--policy", metavar="NAME", help="strict, standard, editorial, or one of --policies."),
    ],
    policies: Policies = None,
    domain: Annotated[
        str | None,
        typer.Option(
            help="Domain of use.  [default: the policy's; for a fixed policy the file's name]",
            show_default=False,
        ),
    ] = None,
    oracle: OracleName = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="PATH|URL",
            help="SQLite file or `postgresql://USER@HOST/DATABASE` to keep the verdicts in; reviews wait there.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="Write all verdicts as JSON lines.")
    ] = None,
    measuring: Measuring,
) -> None:
    """Judge claims under a policy. Exit code 0: all accepted, 1: some rejected, 3: none rejected, some under review.

    With a store, a review that somebody has decided counts as decided: run the command again after the decisions.

    Examples:

    - `solvent gate judge claims.jsonl --policy standard`

    - `solvent gate judge claims.jsonl --policy P10 --policies policies.json --store solvent_gate.db`
    """
    from solvent.database import MissingStoreError, file_of
    from solvent.gate.judging import judge as judged_under
    from solvent.gate.judging import policy_named
    from solvent.gate.policy import ANY
    from solvent.gate.policy_files import load_checklist, load_policies
    from solvent.gate.store import VerdictStore

    file = None if store is None else file_of(store)
    require_outputs({"the data set": dataset, "the store": file}, Output("--out", out, VERDICTS))
    used_oracle = None if oracle is None else oracle_of(oracle)
    chosen = policy_named(policy, {} if policies is None else load_policies(policies), used_oracle)
    failed = [] if policies is None else [item.name for item in load_checklist(policies) if not item.passed]
    if store is not None:  # fail before the model is loaded
        if file is not None:
            require_place("--store", file)
        with contextlib.suppress(MissingStoreError):
            VerdictStore(store).close()
    with measuring.progress("judge") as told:
        data, embedder = measuring.data(dataset), measuring.embedder()
        used = domain or (data.name if chosen.domain == ANY else None)
        judged = judged_under(data.samples, embedder, chosen, domain=used, on_progress=told)
    if store is not None:
        with VerdictStore(store, create=True) as opened:
            judged, place = opened.record(judged), opened.place
    if out is not None:
        lines = [json.dumps({"format": VERDICTS} | document(row)) + "\n" for row in judged]
        write_atomically(out, "".join(lines))
    outcomes = Counter(row.outcome for row in judged)
    _show_judged(judged, outcomes)
    for line in _about(chosen, failed):
        say(line)
    if store is not None and outcomes["review"]:
        say(
            f"{counted(outcomes['review'], 'review')} to decide: solvent gate reviews --store {shlex.quote(place)}"
        )
    if outcomes["reject"] or outcomes["decline"]:
        raise typer.Exit(REJECTED)
    if outcomes["review"]:
        raise typer.Exit(WAITING)


def _show_judged(judged: list[Judged], outcomes: Counter[str]) -> None:
    severe = sorted(
        (row for row in judged if row.outcome != "accept"), key=lambda row: row.outcome != "review"
    )
    if severe:
        show_table(tables.judged_table(severe[:SHOWN]))
    if len(severe) > SHOWN:
        say(f"{len(severe) - SHOWN:,} more are not accepted; --out writes all")
    said = {"accept": "accepted", "review": "under review", "reject": "rejected", "decline": "declined"}
    parts = [f"{outcomes[outcome]:,} {word}" for outcome, word in said.items() if outcomes[outcome]]
    say(f"{counted(len(judged), 'claim')}: {', '.join(parts)}")


def _about(policy: Policy, failed: list[str]) -> list[str]:
    lines = [
        f"policy {policy.name}: accepts up to {policy.tau_accept:g}, reviews up to {policy.tau_review:g}"
    ]
    if policy.promise:
        lines.append(policy.promise)
    if failed:
        lines.append(f"its checklist fails: {', '.join(failed)}")
    return lines


@grouped
def reviews(
    *,
    key: Annotated[
        str | None, typer.Argument(metavar="ID", help="Show this one in full.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of reviews listed.")] = SHOWN,
    as_json: AsJson = False,
    store: Store = STORE,
) -> None:
    """List the claims under review that nobody has decided yet, oldest first, or show one with its evidence.

    Examples:

    - `solvent gate reviews`

    - `solvent gate reviews 3f2a`
    """
    from solvent.gate.store import VerdictStore

    with VerdictStore(store) as opened:
        rows = opened.waiting(limit=limit) if key is None else [opened.find(key)]
        waiting = opened.counts().get("review", 0)
    if as_json:
        say(json.dumps([document(row) for row in rows], indent=2))
    elif key is not None:
        show_table(tables.review_table(rows[0]), framed=True)
        if rows[0].verdict == "review" and rows[0].decision is None:
            say(
                f'decide: solvent gate decide {rows[0].id} accept|decline --why "..."'
                f" --store {shlex.quote(opened.place)}"
            )
    elif rows:
        show_table(tables.judged_table(rows))
        say(f"{counted(waiting, 'review')} to decide: solvent gate reviews ID shows one")
    else:
        say("nothing waits for a decision; once some are decided, `solvent gate learn` learns from them")


@grouped
def decide(
    *,
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the review, or its first characters.")],
    choice: Annotated[str, typer.Argument(metavar="accept|decline", help="The decision.")],
    why: Annotated[str, typer.Option("--why", help="Reason, kept with the decision.")],
    who: Annotated[
        str | None,
        typer.Option("--who", help="Who decides.  [default: the user's name]", show_default=False),
    ] = None,
    store: Store = STORE,
) -> None:
    """Decide a review. A decision is final: whoever comes second is told the first one.

    Example: `solvent gate decide 3f2a decline --why "the page gives another year"`
    """
    from solvent.gate.store import VerdictStore

    with VerdictStore(store) as opened:
        row = opened.decide(key, choice, who=who or getpass.getuser(), why=why)
        left = opened.counts().get("review", 0)
    say(f"{row.id}: {row.outcome}, by {row.decision.who if row.decision else ''}")
    say(f"{counted(left, 'review')} left to decide" + ("" if left else ": solvent gate learn"))


@grouped
def learn(
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="Write the policy, with its checklist.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="PATH", help="Write the decided claims as a labelled data set."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="NAME", help="Only reviews of this policy.")
    ] = None,
    budget: Budget = 0.05,
    store: Store = STORE,
) -> None:
    """Learn from decided reviews: a threshold under a budget for declined claims, labels, and false alarms of checks.

    Exit code 1 if the declined reviews are too few for the budget; the output says how many it needs.

    Examples:

    - `solvent gate learn --out learnt.json`

    - `solvent gate learn --budget 0.2 --labels decided.jsonl`
    """
    from solvent.database import file_of
    from solvent.gate.checklist import run_checklist
    from solvent.gate.learning import learn as learnt_from
    from solvent.gate.policy_files import FORMAT, save_policies
    from solvent.gate.store import VerdictStore

    outputs = (Output("--out", out, FORMAT), Output("--labels", labels, LABELS))
    require_outputs({"the store": file_of(store)}, *outputs)
    with VerdictStore(store) as opened:
        decided = [row for row in opened.decided() if policy in (None, row.policy.name)]
    found = learnt_from(decided, budget)
    if labels is not None:
        write_atomically(labels, "".join(json.dumps(_label(row)) + "\n" for row in decided))
    show_table(tables.learnt_table(found))
    if found.alarms:
        show_table(tables.alarms_table(found))
    if found.policy is None:
        say(
            f"no threshold: a budget of {found.budget:.1%} needs {found.fewest} declined reviews;"
            f" {found.declined.count} allow one of {found.least_budget:.1%} or more (--budget)"
        )
        raise typer.Exit(1)
    items = run_checklist(found.rows)
    failed = [item.name for item in items if not item.passed]
    for line in _about(found.policy, failed):
        say(line)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        save_policies(out, [found.policy], items)
        say(
            f"written: {out}; use it: solvent gate judge CLAIMS --policy {found.policy.name} --policies {out}"
        )


@grouped
def drift(
    *,
    policies: Policies = None,
    window: Annotated[int, typer.Option(min=20, help="Claims in a window.")] = 100,
    as_json: AsJson = False,
    store: Store = STORE,
) -> None:
    """Compare the thresholds that recent claims would give with those in force; exit code 1 after a drift.

    Windows are consecutive claims of the store. Without `--policies` the first window is the reference.

    Examples:

    - `solvent gate drift --policies policies.json`

    - `solvent gate drift --window 200`
    """
    from solvent.gate.drift import drift as changes_of
    from solvent.gate.policy_files import load_policies
    from solvent.gate.store import VerdictStore

    learnt = () if policies is None else load_policies(policies).values()
    with VerdictStore(store) as opened:
        changes = changes_of(opened.verdicts(), learnt, size=window)
    drifted = sorted({change.begin for change in changes if change.drifted})
    if as_json:
        say(json.dumps([vars(change) | {"drifted": change.drifted} for change in changes], indent=2))
    else:
        show_table(tables.drift_table(changes))
        say(
            f"drifted: windows from {', '.join(drifted)}; learn again with `solvent gate sweep`"
            if drifted
            else "no drift: each window accepts about as many claims as when the thresholds were learnt"
        )
    if drifted:
        raise typer.Exit(DRIFTED)


def document(row: Judged) -> dict[str, Any]:
    """Return a verdict as JSON values, with its decision if there is one."""
    shown = {key: value for key, value in vars(row).items() if key not in ("policy", "result", "decision")}
    decision = None if row.decision is None else vars(row.decision)
    return shown | {"policy": row.policy.name} | dict(row.result) | {"decision": decision}


def _label(row: Judged) -> dict[str, Any]:
    """Return a decided review as a labelled record of a data set."""
    assert row.decision is not None
    return {
        "format": LABELS,
        "id": row.name,
        "claim": row.claim,
        "evidence": row.evidence,
        "page": row.pages,
        "label": "supported" if row.outcome == "accept" else "not supported",
        "decided_by": row.decision.who,
    }
