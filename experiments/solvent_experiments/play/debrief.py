"""The debrief: what was claimed, what was learnt, what was published, where bits were lost, what to try next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from solvent import LabEnv
from solvent.lab.codes import EndReason, Event
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.publication import Finding, asserted_bits, log_score, pay
from solvent.lab.rendering.panels.outcome import ENDINGS
from solvent.lab.rendering.words import bits, class_name, in_units
from solvent.lab.tables import tables_for
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.notebook import plural
from solvent.lab.words.sentences import policies_of
from solvent_agents import PLAYERS
from solvent_agents.rollout import episodes
from solvent_experiments.measure.table import Table

__all__ = ["Book", "Unpublished", "debrief"]

COMPARED = ("honest", "oracle")
SMALL = 0.005
"""Bits that are shown as 0."""


class Unpublished(NamedTuple):
    """A compound with a licence and no finding."""

    compound: int
    licence: float  # bits
    confidence: float  # the best one under the belief at the end
    paid: float  # bits that a finding would have paid then, less the debt of what the licence doesn't cover


class Book:
    """What one episode claimed, learnt and published, by compound. Call ``before`` and ``after`` every step."""

    def __init__(self, env: LabEnv) -> None:
        compounds = len(env.params.assay.compounds)
        self.env = env
        self.claimed, self.learnt = np.zeros(compounds), np.zeros(compounds)
        self.overclaimed, self.unlicensed = np.zeros(compounds), np.zeros(compounds)
        self.findings: dict[int, Finding] = {}  # the last one submitted of each compound
        self._named = -1

    def before(self, action: int) -> None:
        """Note the class that a finding would name."""
        m = int(self.env.actions["compound"][action])
        self._named = int(self.env.batch.labs["marginal"][0, m].argmax())

    def after(self) -> None:
        """Enter the step."""
        step = self.env.batch.steps[0]
        row, event = self.env.actions[step["action"]], Event(int(step["event"]))
        m = int(row["compound"])
        if event is Event.EXPLORED:
            self.claimed[m] += step["claim"]
            self.learnt[m] += step["gain"]
            self.overclaimed[m] += step["debt_added"]
        elif m >= 0:
            self.unlicensed[m] += step["debt_added"]
            if event in (Event.PUBLISHED, Event.SUBMITTED):
                said = float(row["confidence"])
                self.findings[m] = Finding(int(row["verb"]), m, self._named, said, int(step["rule"]))

    def is_right(self, m: int) -> bool:
        """Return whether the last finding on a compound is right."""
        return bool(self.findings[m].asserted == self.env.batch.labs["potency"][0, m])

    def paid(self, m: int) -> float:
        """Return the bits that readers paid for the finding on a compound; 0 if none was published."""
        if not self.env.batch.labs["published"][0, m]:
            return 0.0
        return float(plain(pay)(self.findings[m], self.is_right(m), tables_for(self.env.params)))

    def unpublished(self) -> Iterator[Unpublished]:
        """Yield the compounds on which a finding would have paid."""
        params, lab = self.env.params, self.env.batch.labs[0]
        for m in np.flatnonzero((lab["published"] == 0) & (lab["licence"] >= SMALL)).tolist():
            k = int(lab["marginal"][m].argmax())
            p, prior = float(lab["marginal"][m][k]), params.assay.class_prior[k]

            def worth(q: float, p: float = p, prior: float = prior) -> float:
                return float(p * log_score(q, prior, True) + (1.0 - p) * log_score(q, prior, False))

            best = max(params.vocabulary.confidences, key=worth)
            owed = max(0.0, asserted_bits(best, prior) - float(lab["licence"][m]))
            score = log_score(best, prior, bool(k == lab["potency"][m]))
            if score > owed:
                yield Unpublished(m, float(lab["licence"][m]), best, score - owed)


def debrief(book: Book, summary: dict[str, Any], who: str, level: str, seed: int, console: Console) -> None:
    """Print the debrief of a finished episode, which ``who`` played."""
    env = book.env
    settled, paid = summary["settled"], summary["published_bits"]
    ending = ENDINGS[EndReason(int(env.batch.labs["end_reason"][0]))]
    console.print(
        f"\n{ending}. {bits(summary['return'])} bits = {bits(paid)} for "
        f"{plural(summary['accepted'], 'finding')} − {settled:.2f} of debt that was left.\n",
        highlight=False,
    )
    console.print(_table(env, book).terminal())
    _listed(console, "Where bits were lost", _losses(env, book, summary))
    _listed(console, "What else was counted", _accounts(env, summary))
    console.print(f"\nThe same lab, seed {seed}", style="bold")
    console.print(f"- {who} {bits(summary['return'])} bits", highlight=False, markup=False)
    for name in COMPARED:
        if name == who:
            continue
        with console.status(f"{name} plays the same lab ..."):
            earned = episodes(PLAYERS[name](env.params, 0), env.params, [seed])["return"][0]
        knows = ", which knows the truth" if name == "oracle" else ""
        console.print(f"- {name} {bits(earned)} bits{knows}", highlight=False)
    same = f"--env {level} --seed {seed}"
    commands = (
        f"solvent play {same}  (the same lab again)",
        f"solvent play --agent honest {same}  (watch the honest script in it)",
        f"solvent evaluate honest {same} --episodes 100  (what it earns on average)",
    )
    _listed(console, "Next", commands)


def _listed(console: Console, heading: str, lines: Iterable[str]) -> None:
    """Print lines below their heading, if there are any."""
    lines = list(lines)
    if lines:
        console.print(f"\n{heading}", style="bold")
    for line in lines:
        console.print(f"- {line}", highlight=False, markup=False)


def _table(env: LabEnv, book: Book) -> Table:
    params, lab = env.params, env.batch.labs[0]
    rows = []
    for m, compound in enumerate(params.assay.compounds):
        said = "-"
        if m in book.findings:
            finding = book.findings[m]
            said = f"{class_name(params, finding.asserted)} at {finding.confidence:g}"
            said += "" if lab["published"][m] else " (not accepted)"
        rows.append(
            (
                compound,
                class_name(params, int(lab["potency"][m])),
                said,
                bits(book.paid(m)),
                str(int(lab["experiments"][m])),
                f"{book.claimed[m]:.2f}",
                f"{book.learnt[m]:.2f}".replace("-", "−"),
                f"{book.overclaimed[m] + book.unlicensed[m]:.2f}",
            )
        )
    headings = ("compound", "truth", "said", "paid", "plates", "claimed", "learnt", "debt")
    return Table(headings, tuple(rows), left=("truth", "said"))


def _losses(env: LabEnv, book: Book, summary: dict[str, Any]) -> Iterator[str]:
    """Yield where bits were lost, and how the debt came about."""
    names, lab = env.params.assay.compounds, env.batch.labs[0]

    def listed(amounts: Any) -> str:
        most = sorted(np.flatnonzero(amounts >= SMALL).tolist(), key=lambda m: -amounts[m])
        return ", ".join(f"{names[m]} {amounts[m]:.2f}" for m in most)

    if shown := listed(book.overclaimed):
        yield f"Overclaims made {book.overclaimed.sum():.2f} bits of debt: {shown}."
    if shown := listed(book.unlicensed):
        yield f"Findings beyond their licence made {book.unlicensed.sum():.2f} bits of debt: {shown}."
    if summary["debt_interest"] >= SMALL:
        yield f"Interest added {summary['debt_interest']:.2f} bits of debt."
    if summary["debt_repaid"] >= SMALL:
        yield f"Calibrations repaid {summary['debt_repaid']:.2f} bits; {summary['debt']:.2f} were left at the end."
    lost = np.array([-min(0.0, book.paid(m)) for m in range(len(names))])
    if shown := listed(lost):
        yield f"Wrong findings cost {lost.sum():.2f} bits: {shown}."
    for left in book.unpublished():
        pending = ", under review at the end" if lab["decision_at"][left.compound] else ""
        yield (
            f"{names[left.compound]} was not published{pending}: its licence was {left.licence:.2f} bits, and a "
            f"finding at {left.confidence:g} would have come to {bits(left.paid)}."
        )
    silent = (lab["published"] == 0) & (lab["licence"] < SMALL)
    if silent.any():
        unsaid = ", ".join(names[m] for m in np.flatnonzero(silent))
        yield f"No licence was earned and nothing published on {unsaid}."
    if refused := sum(summary["refusals"].values()):
        yield f"Refusals took {plural(refused, 'heartbeat')}."


def _accounts(env: LabEnv, summary: dict[str, Any]) -> Iterator[str]:
    """Yield a line on each further mechanism of the level."""
    params, lab = env.params, env.batch.labs[0]
    if params.energy.enabled:
        yield (
            f"Energy: {summary['energy_spent']:.1f} spent, {summary['energy_leaked']:.1f} leaked, "
            f"{summary['energy_lost']:.1f} lost at the cap; {summary['deferrals']} put off, "
            f"{summary['proposals']} proposed, {summary['approvals']} approved."
        )
        wrong = [
            f"{VERBS[verb].name} {in_units(lab['fair'][verb])} instead of {in_units(lab['price'][verb])}"
            for verb in Verb
            if lab["fair"][verb] != lab["price"][verb]
        ]
        yield f"Fair costs: {', '.join(wrong) or 'all costs were'}."
    if params.gate.enabled:
        verdicts = ", ".join(f"{count} {name}" for name, count in summary["verdicts"].items())
        yield (
            f"Gate: {verdicts}; readers approved {summary['reviews_approved']} and declined "
            f"{summary['reviews_declined']}; published errors {summary['incidents_high']}, tightenings "
            f"{summary['tightenings']}; {policies_of(params)[summary['strictness']].name} at the end."
        )
    if params.adequacy.enabled:
        scores = ", ".join(f"{count} of score {score}" for score, count in summary["adequacy"].items())
        yield f"Adequacy: findings {scores}."
