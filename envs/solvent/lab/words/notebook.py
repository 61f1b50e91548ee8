"""The notebook: what a lab's page about a compound says in words, and what becomes of a finding held against it.

The step works on rows of a table; here they become sentences again, for people. Energies are those that the step has
measured, in [0, 1] to six decimals; scores of adequacy, 0 to 3, are those of the step's own table. Of the verdicts of
both, where they are enforced, the more severe one holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvent.lab.codes import VERDICTS
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.adequacy import RULES, adequacy_rules, rule_on, words_verdict
from solvent.lab.mechanisms.gate import ACCEPT, MILLION, combined_verdict, gate_verdict
from solvent.lab.params import LabParams
from solvent.lab.tables import tables_for
from solvent.lab.verbs import EXPERIMENTS, VERBS
from solvent.lab.words.catalogue import Page
from solvent.lab.words.rows import STRENGTHS, WORDINGS
from solvent.lab.words.sentences import policies_of, sentences_of

__all__ = [
    "DECIDERS",
    "NO_PLATE",
    "UNWEIGHED",
    "Finding",
    "Notebook",
    "Weighed",
    "compound_index",
    "page_of",
    "plural",
    "rows_of",
    "weigh",
]

UNWEIGHED = -1
"""The score where adequacy is not enabled."""
NO_PLATE = "no plate"
"""What decides where the gate is not enforced: a finding without an experiment is rejected all the same."""

DECIDERS = {"gate": "the gate", "adequacy": "its words", "both": "both", NO_PLATE: "having no plate"}
"""Who decided on what was not accepted, in words."""


class Finding(NamedTuple):
    """What a finding would say in one wording, and what would become of it."""

    wording: str
    sentence: str
    energy: float  # hallucination energy against the page; its gap too, for a control claim from the page has none
    number_missing: bool  # a number of it stands in no sentence of the page
    verdict: str  # the more severe of the gate's and adequacy's, as far as they are enforced
    gate_verdict: str = ""  # the gate's alone, enforced or not
    adequacy: int = UNWEIGHED  # score of its words, 0 to 3
    rule: str = (
        ""  # of adequacy: its words against their evidence, ``definitive/thin``; empty where unweighed
    )
    decided_by: str = ""  # one of ``DECIDERS``; empty for what is accepted


class Notebook(NamedTuple):
    """A compound's page and the findings that could be held against it now."""

    compound: str
    spans: tuple[
        str, ...
    ]  # readouts by dose, then the fit's sentence of its strength and of every lesser one
    fit: str  # strength of the latest fit; empty without one
    findings: tuple[Finding, ...]  # by wording, the weakest first
    policy: str
    tau_accept: float
    tau_review: float
    decision_in: int  # heartbeats until the finding under review is decided; 0 for none
    plates: tuple[tuple[str, int], ...] = ()  # the tool log's size: experiments run on it, by kind
    unenforced: tuple[str, ...] = ()  # of gate and adequacy, what has no consequence

    @property
    def calls(self) -> int:
        """Plates in the tool log."""
        return sum(count for _, count in self.plates)

    @property
    def fits(self) -> tuple[str, ...]:
        """The sentences of the latest fit, the strongest first."""
        count = STRENGTHS.index(self.fit) + 1 if self.fit else 0
        return self.spans[::-1][:count]

    @property
    def readouts(self) -> tuple[str, ...]:
        """The sentences of the readouts, by dose."""
        return self.spans[: len(self.spans) - len(self.fits)]

    def __str__(self) -> str:
        """The page as a person would read it."""
        page = [f"  {span}" for span in self.fits + self.readouts] or [
            "  nothing yet: no experiment was run on it"
        ]
        said = []
        for finding in self.findings:
            missing = ", a number stands nowhere on the page" if finding.number_missing else ""
            said += [
                f"  {finding.wording}: {finding.sentence}",
                f"    energy {finding.energy:.3f}{missing}{_weighed(finding)}",
            ]
        limits = f"{self.policy} accepts up to {self.tau_accept:.3f}, reviews up to {self.tau_review:.3f}"
        pending = [f"Under review, decided in {self.decision_in} h."] if self.decision_in else []
        return "\n".join(
            [
                f"The page of {self.compound}:",
                *page,
                *self._tool_log(),
                f"What a finding would be ({limits}):",
                *said,
                *([f"Not enforced: {', '.join(self.unenforced)}."] if self.unenforced else []),
                *pending,
            ]
        )

    def _tool_log(self) -> list[str]:
        """The tool log in a line, where the words of findings are held against it."""
        if self.findings[0].adequacy == UNWEIGHED:
            return []
        kinds = [plural(count, name.replace("_", " ")) for name, count in self.plates if count]
        return [f"The tool log: {', '.join(kinds) or 'empty'}."]


def _weighed(finding: Finding) -> str:
    """The end of a finding's line: its verdict, with adequacy's score and who decided where both have a say."""
    said = finding.verdict
    if finding.adequacy != UNWEIGHED and finding.decided_by:
        said += f" by {DECIDERS[finding.decided_by]}"
    if finding.gate_verdict != finding.verdict:
        said += f" (the gate alone: {finding.gate_verdict})"
    score = f"; words {finding.rule}, score {finding.adequacy}" if finding.rule else ""
    return f"{score}: {said}"


def plural(count: int, word: str) -> str:
    """``1 plate``, ``2 plates``."""
    return f"{count} {word}{'s' if count != 1 else ''}"


class Weighed(NamedTuple):
    """A verdict, and which of gate and adequacy decided it."""

    verdict: str
    decided_by: str  # as in ``Finding``


def weigh(params: LabParams, gate: int, score: int, plates: int) -> Weighed:
    """The verdict of the step, and whose it is.

    Args:
        params: of the lab.
        gate: code of the gate's own verdict.
        score: of adequacy, 0 to 3; ``UNWEIGHED`` where it does not run.
        plates: experiments that were run on the compound.
    """
    rules, enforced = adequacy_rules(params), params.gate.enforced
    words = plain(words_verdict)(score, rules.review_from, rules.reject_from) if rules.enforced else ACCEPT
    combine = plain(combined_verdict)
    verdict, by_gate = combine(gate, words, plates, enforced), combine(gate, ACCEPT, plates, enforced)
    by = ""
    if verdict != ACCEPT:
        gates = "gate" if enforced else NO_PLATE
        by = "adequacy" if by_gate < words else gates if words < by_gate or not enforced else "both"
    return Weighed(VERDICTS[verdict], by)


def compound_index(params: LabParams, compound: str | int) -> int:
    """A compound by its name or its index.

    Raises:
        ValueError: there is no such compound; the line names those there are.
    """
    names = params.assay.compounds
    if isinstance(compound, str) and compound in names:
        return names.index(compound)
    if (
        isinstance(compound, int | np.integer)
        and not isinstance(compound, bool)
        and 0 <= compound < len(names)
    ):
        return int(compound)
    raise ValueError(
        f"compound: got {compound!r}; allowed: 0 to {len(names) - 1}, or one of {', '.join(names)}"
    )


def rows_of(params: LabParams, lab: Any, compound: int) -> list[int]:
    """Rows of the sentences on a compound's page, in the measured tables."""
    fitted = int(lab["fit_class"][compound])
    if fitted < 0:
        return []
    readouts = tuple((dose, int(b)) for dose, b in enumerate(lab["page"][compound]) if b >= 0)
    page = Page(readouts, int(lab["fit_strength"][compound]), fitted)
    return page.rows(len(params.doses), params.assay.bins, params.assay.potency_classes)


def page_of(params: LabParams, lab: Any, compound: int) -> Notebook:
    """The page of a compound in a record of a lab with a gate.

    Raises:
        ValueError: a lab without a gate, or whose sentences are not at hand.
    """
    if not params.gate.enabled:
        raise ValueError("notebook: this lab writes none; allowed: where gate.enabled is true")
    words, rows = sentences_of(params), rows_of(params, lab, compound)
    policy = policies_of(params)[lab["strictness"]]
    return Notebook(
        compound=params.assay.compounds[compound],
        spans=tuple(words.spans[compound][row] for row in rows),
        fit=STRENGTHS[lab["fit_strength"][compound]] if rows else "",
        findings=tuple(_finding(params, lab, compound, wording) for wording in range(len(WORDINGS))),
        policy=policy.name,
        tau_accept=policy.tau_accept,
        tau_review=policy.tau_review,
        decision_in=max(0, int(lab["decision_at"][compound]) - int(lab["heartbeat"])),
        plates=tuple(
            (VERBS[verb].name, count)
            for verb, count in zip(EXPERIMENTS, lab["plates"][compound].tolist(), strict=True)
        ),
        unenforced=tuple(name for name in params.unenforced if name != "debt"),
    )


def _finding(params: LabParams, lab: Any, compound: int, wording: int) -> Finding:
    tables = tables_for(params)
    asserted, plates = int(lab["marginal"][compound].argmax()), int(lab["experiments"][compound])
    gate = int(plain(gate_verdict)(lab, compound, wording, tables))
    score, rule = UNWEIGHED, ""
    if params.adequacy.enabled:
        code = int(plain(rule_on)(lab, compound, wording, asserted, tables))
        score, rule = int(tables.rule_score[code]), RULES[code]
    verdict, by = weigh(params, gate, score, plates)
    return Finding(
        wording=WORDINGS[wording],
        sentence=sentences_of(params).finding(compound, wording, asserted),
        energy=int(lab["residual"][compound, wording]) / MILLION,
        number_missing=bool(lab["unsupported"][compound, wording]),
        verdict=verdict,
        gate_verdict=VERDICTS[gate],
        adequacy=score,
        rule=rule,
        decided_by=by,
    )
