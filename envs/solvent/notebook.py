"""The notebook: what a lab's page about a compound says in words, and what the gate makes of a finding held against it.

The step works on rows of a table; here they become sentences again, for people. Energies are those that the step has
measured, in [0, 1] to six decimals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvent.mechanisms.verity import MILLION, STRENGTHS, WORDINGS
from solvent.params import LabParams
from solvent.sentences import policies_of, sentences_of

__all__ = ["Finding", "Notebook", "compound_index", "page_of", "rows_of"]


class Finding(NamedTuple):
    """What a finding would say in one wording, and what the policy in force would make of it."""

    wording: str
    sentence: str
    energy: float  # hallucination energy against the page; its gap too, for a control claim from the page has none
    number_missing: bool  # a number of it stands in no sentence of the page
    verdict: str


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
                f"    energy {finding.energy:.3f}{missing}: {finding.verdict}",
            ]
        limits = f"{self.policy} accepts up to {self.tau_accept:.3f}, reviews up to {self.tau_review:.3f}"
        pending = [f"Under review, decided in {self.decision_in} h."] if self.decision_in else []
        return "\n".join(
            [f"The page of {self.compound}:", *page, f"What a finding would be ({limits}):", *said, *pending]
        )


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
    """Rows of the sentences on a compound's page, in the gate's tables."""
    from solvent.gate.catalogue import Page  # as in sentences.py

    named = int(lab["fit_class"][compound])
    if named < 0:
        return []
    readouts = tuple((dose, int(b)) for dose, b in enumerate(lab["page"][compound]) if b >= 0)
    page = Page(readouts, int(lab["fit_strength"][compound]), named)
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
    )


def _finding(params: LabParams, lab: Any, compound: int, wording: int) -> Finding:
    policy = policies_of(params)[lab["strictness"]]
    energy = int(lab["residual"][compound, wording]) / MILLION
    missing = bool(lab["unsupported"][compound, wording])
    verdict = policy.decide(energy)
    if missing and params.gate.numbers and verdict == "accept":
        verdict = "review"
    named = int(lab["marginal"][compound].argmax())
    return Finding(
        wording=WORDINGS[wording],
        sentence=sentences_of(params).finding(compound, wording, named),
        energy=energy,
        number_missing=missing,
        verdict=verdict,
    )
