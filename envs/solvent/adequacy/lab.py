"""Adequacy in the lab: a compound's tool log, and what the heuristic makes of every finding held against it.

Each plate that is run on a compound is a tool call: its result is what the plate writes in the notebook, the readouts
and the fit. The heuristic scores the very sentence of a finding against the very log. The step can't call it, so its
rules are tabulated beforehand, once for a set of compounds: for every finding, by how many plates are in the log. The
table's own logs hold plates of either kind by turns, with one reading each; that the rule is the same for any kinds and
whatever they show is tested on the logs of played episodes.

Source: "Epistemic Adequacy Design". Known approximation: more than ``LOGGED`` plates count as so many.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.adequacy.corrections import Correction, correction_for
from solvent.adequacy.heuristic import Words, score, score_of
from solvent.adequacy.tools import Evidence, ToolContext
from solvent.lab.actions import EXPERIMENTS, VERBS, Verb
from solvent.lab.mechanisms.adequacy import LOGGED, RULES
from solvent.lab.mechanisms.gate import fit_row, readout_row
from solvent.lab.params import LabParams
from solvent.lab.words.sentences import LabSentences, sentences_of

__all__ = [
    "SEVERITY",
    "Plate",
    "lab_corrections",
    "rule_corrections",
    "rule_scores",
    "rules_on_findings",
    "tool_calls",
]

SEVERITY = "high"
"""Of a published error that all readers saw: the agent is corrected for those alone."""


class Plate(NamedTuple):
    """A plate as the notebook has it."""

    verb: Verb
    readouts: tuple[int, ...]  # bin of each dose on the plate
    strength: int  # of the fit that it left
    named: int  # class that the fit names


def tool_calls(params: LabParams, compound: int, plates: Sequence[Plate]) -> list[dict[str, Any]]:
    """The tool log of a compound: ``{name, arguments, result}`` for each plate, as ``ToolContext.from_dicts`` reads it.

    Raises:
        ParamError: the lab's sentences are not at hand.
    """
    words = sentences_of(params)
    return [_call(params, words, compound, number, plate) for number, plate in enumerate(plates, start=1)]


def _call(params: LabParams, words: LabSentences, compound: int, number: int, plate: Plate) -> dict[str, Any]:
    doses = [params.doses.index(dose) for dose in _doses(params, plate.verb)]
    bins, spans = params.assay.bins, words.spans[compound]
    written = [spans[readout_row(dose, seen, bins)] for dose, seen in zip(doses, plate.readouts, strict=True)]
    written.append(spans[fit_row(len(params.doses) * bins, plate.strength, plate.named, words.classes)])
    return {
        "name": VERBS[plate.verb].name,
        "arguments": {"compound": params.assay.compounds[compound], "plate": number},
        "result": " ".join(written),
    }


def _doses(params: LabParams, verb: Verb) -> tuple[float, ...]:
    doses: tuple[float, ...] = getattr(params.plates, VERBS[verb].name).doses
    return doses


def _supposed(params: LabParams, number: int) -> Plate:
    """A plate of the table's logs: the kinds by turns, every readout in the middle bin, a fit that says little."""
    verb = EXPERIMENTS[number % len(EXPERIMENTS)]
    return Plate(verb, (params.assay.bins // 2,) * len(_doses(params, verb)), 0, 0)


def rules_on_findings(params: LabParams) -> NDArray[np.int8]:
    """The rule that fires on every finding, shape ``(M, findings, LOGGED + 1)``: an index of ``RULES``.

    Findings by wording and class, as the gate's tables have them; then the number of plates in the log.

    Raises:
        ParamError: the lab's sentences are not at hand.
    """
    words, codes = sentences_of(params), {name: code for code, name in enumerate(RULES)}
    n, run = len(params.assay.compounds), [_supposed(params, number) for number in range(LOGGED)]
    rules = np.zeros((n, len(words.findings[0]), LOGGED + 1), np.int8)
    for compound, plates in itertools.product(range(n), range(LOGGED + 1)):
        context = ToolContext.from_dicts(tool_calls(params, compound, run[:plates]))
        for finding, sentence in enumerate(words.findings[compound]):
            rules[compound, finding, plates] = codes[score(sentence, context).rule]
    return rules


def rule_scores() -> NDArray[np.int64]:
    """The score of each rule, shape ``(RULES,)``."""
    scores = [score_of(words, evidence) for words, evidence in itertools.product(Words, Evidence)]
    return np.array([*scores, 0])


def lab_corrections(reject_from: int) -> tuple[Correction, ...]:
    """The corrections that a lab can give, in the order of their codes.

    Only what is published can be wrong: nothing without a plate, nor what scores ``reject_from`` or more.
    """
    scored = zip(RULES, rule_scores(), strict=True)
    published = [
        rule for rule, value in scored if value < reject_from and "/" in rule and "/none" not in rule
    ]
    return tuple({_correction(rule).id: _correction(rule) for rule in published}.values())


def rule_corrections(reject_from: int) -> NDArray[np.int64]:
    """The code of the correction for an error under each rule, shape ``(RULES,)``; -1 for what can't be."""
    codes = {correction.id: code for code, correction in enumerate(lab_corrections(reject_from))}
    return np.array([codes.get(_correction(rule).id, -1) for rule in RULES])


def _correction(rule: str) -> Correction:
    return correction_for(SEVERITY, rule)
