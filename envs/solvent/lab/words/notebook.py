"""The notebook: a compound's page in words, and the outcome of each finding that could be submitted now.

The step works on rows of a table; this module turns them into sentences for people. Energies are the step's, in [0,
1] to six decimals; adequacy's scores, 0 to 3, come from the step's table. The more severe of the enforced verdicts
applies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solvent.lab.codes import VERDICTS
from solvent.lab.mechanisms.adequacy import REJECT_FROM, REVIEW_FROM, RULES, rule_on, words_verdict
from solvent.lab.mechanisms.gate import ACCEPT, MILLION, combined_verdict, gate_verdict
from solvent.lab.params import LabParams
from solvent.lab.tables import tables_for
from solvent.lab.verbs import EXPERIMENTS, VERBS
from solvent.lab.words.measured import policy_of
from solvent.lab.words.quantities import plural
from solvent.lab.words.rows import STRENGTHS, WORDINGS, page_rows
from solvent.lab.words.sentences import sentences_of

UNWEIGHED = -1
"""Score if adequacy is not enabled."""


class Finding(NamedTuple):
    """A possible finding in one wording, with its outcome if submitted now."""

    wording: str
    sentence: str
    energy: float  # hallucination energy against the page, which is also the energy gap
    verdict: str  # the more severe of the enforced verdicts
    gate_verdict: str = ""  # the gate's own, enforced or not
    adequacy: int = UNWEIGHED  # score of its words, 0 to 3
    rule: str = ""  # of adequacy, such as ``definitive/thin``; empty if unweighed


class Notebook(NamedTuple):
    """A compound's page and the findings that could be submitted now."""

    compound: str
    spans: tuple[str, ...]  # readouts by dose, then the fit's sentences, weakest first
    fit: str  # strength of the latest fit; empty without one
    findings: tuple[Finding, ...]  # by wording, weakest first
    policy: str
    tau_accept: float
    tau_review: float
    plates: tuple[tuple[str, int], ...] = ()  # experiments on it in the tool log, by kind
    unenforced: tuple[str, ...] = ()  # those of gate and adequacy that are not enforced

    @property
    def fits(self) -> tuple[str, ...]:
        """Sentences of the latest fit, strongest first."""
        count = STRENGTHS.index(self.fit) + 1 if self.fit else 0
        return self.spans[::-1][:count]

    @property
    def readouts(self) -> tuple[str, ...]:
        """Sentences of the readouts, by dose."""
        return self.spans[: len(self.spans) - len(self.fits)]

    def __str__(self) -> str:
        """Return the page as readable text."""
        spans = self.fits + self.readouts or ("nothing yet: no experiment was run on it",)
        lines = [f"The page of {self.compound}:", *(f"  {span}" for span in spans)]
        if self.findings[0].adequacy != UNWEIGHED:
            kinds = [plural(count, name.replace("_", " ")) for name, count in self.plates if count]
            lines.append(f"The tool log: {', '.join(kinds) or 'empty'}.")
        limits = f"{self.policy} accepts up to {self.tau_accept:.3f}, reviews up to {self.tau_review:.3f}"
        lines.append(f"What a finding would be ({limits}):")
        for finding in self.findings:
            lines.append(f"  {finding.wording}: {finding.sentence}")
            lines.append(f"    {finding.energy:.3f} unexplained{_verdicts(finding)}")
        if self.unenforced:
            lines.append(f"Not enforced: {', '.join(self.unenforced)}.")
        return "\n".join(lines)


def _verdicts(finding: Finding) -> str:
    """Return the end of a finding's line: adequacy's rule and score, and the verdicts."""
    score = f"; words {finding.rule}, score {finding.adequacy}" if finding.rule else ""
    by_gate = f" (the gate alone: {finding.gate_verdict})" if finding.gate_verdict != finding.verdict else ""
    return f"{score}: {finding.verdict}{by_gate}"


def compound_index(params: LabParams, compound: str | int) -> int:
    """Return the index of a compound given by name or index.

    Raises:
        ValueError: The compound does not exist.
    """
    names = params.assay.compounds
    if isinstance(compound, str) and compound in names:
        return names.index(compound)
    is_integer = isinstance(compound, int | np.integer) and not isinstance(compound, bool)
    if is_integer and 0 <= int(compound) < len(names):
        return int(compound)
    raise ValueError(
        f"compound: got {compound!r}; allowed: 0 to {len(names) - 1}, or one of {', '.join(names)}"
    )


def rows_of(params: LabParams, lab: Any, compound: int) -> list[int]:
    """Return the rows of the sentences on a compound's page in the measured tables."""
    fit = int(lab["fit_strength"][compound]), int(lab["fit_class"][compound])
    return page_rows(lab["page"][compound], *fit, params.assay.potency_classes, params.assay.bins)


def page_of(params: LabParams, lab: Any, compound: int) -> Notebook:
    """Return the page of a compound in the record of a lab with a gate.

    Raises:
        ValueError: The lab has no gate.
    """
    if not params.gate.enabled:
        raise ValueError("notebook: this lab writes none; allowed: where gate.enabled is true")
    words, rows = sentences_of(params), rows_of(params, lab, compound)
    policy = policy_of(params)
    assert policy is not None
    return Notebook(
        compound=params.assay.compounds[compound],
        spans=tuple(words.spans[compound][row] for row in rows),
        fit=STRENGTHS[lab["fit_strength"][compound]] if rows else "",
        findings=tuple(_finding(params, lab, compound, wording) for wording in range(len(WORDINGS))),
        policy=policy.name,
        tau_accept=policy.tau_accept,
        tau_review=policy.tau_review,
        plates=tuple(
            (VERBS[verb].name, count)
            for verb, count in zip(EXPERIMENTS, lab["plates"][compound].tolist(), strict=True)
        ),
        unenforced=tuple(name for name in params.unenforced if name != "debt"),
    )


def _finding(params: LabParams, lab: Any, compound: int, wording: int) -> Finding:
    tables = tables_for(params)
    asserted, plates = int(lab["named"][compound]), int(lab["experiments"][compound])
    gate, words = int(gate_verdict(lab, compound, wording, tables)), ACCEPT
    score, rule = UNWEIGHED, ""
    if params.adequacy.enabled:
        code = int(rule_on(lab, compound, wording, tables))
        score, rule = int(tables.rule_score[code]), RULES[code]
    if tables.adequacy.enforced:
        words = words_verdict(score, REVIEW_FROM, REJECT_FROM)
    verdict = combined_verdict(gate, words, plates, params.gate.enforced)
    return Finding(
        wording=WORDINGS[wording],
        sentence=sentences_of(params).finding(compound, wording, asserted),
        energy=int(lab["residual"][compound, wording]) / MILLION,
        verdict=VERDICTS[verdict],
        gate_verdict=VERDICTS[gate],
        adequacy=score,
        rule=rule,
    )
