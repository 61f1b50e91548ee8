"""Epistemic adequacy: the wording of a finding compared with the looks that support it.

Mechanism. The words of a finding are hedged, plain, definitive or absolute (0 to 3). Its evidence is none, thin,
reasonable or ample (0 to 3), by the number of calls on its compound in the tool log: one per look, and a dose response
looks as often as its doses would fill screens. The score

    score = min(3, max(0, words - evidence + 1))

is looked up in a table that the heuristic of the adequacy instrument produced from the actual sentences and logs. A
low score passes the finding, a medium one sends it to a reader, a high one rejects it. The more severe of this
verdict and the gate's applies.

Source: "Epistemic Adequacy Design". Known approximation: it judges the process, not the outcome. A lucky guess in
strong words is inadequate; an error in words that its evidence supports is adequate.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from solvent.lab.codes import VERDICTS
from solvent.lab.mechanism import Field, Info, Mechanism, derived, split
from solvent.lab.settings import ParamGroup, numbers, setting
from solvent.lab.verbs import DOSE_RESPONSE, SCREEN
from solvent.lab.words.rows import N_WORDINGS, WORDINGS


class AdequacyParams(ParamGroup):
    """Epistemic adequacy: the strength of a finding's words compared with the looks at its compound."""

    enabled: bool = setting(False, "switch", "score the words of findings (needs the gate's sentences)")
    enforced: bool = setting(True, "switch", "off: words are scored and logged, without effect (shadow mode)")


def adequacy_rules(params: Any) -> Any:
    """Return the settings of adequacy as a record of numbers; if disabled, ``enforced`` is false."""
    adequacy = params.adequacy
    return numbers(adequacy, enforced=adequacy.enabled and adequacy.enforced)


FIELDS = derived(Field("scores", "i4", "4", "findings", "number of findings by score, 0 to 3"))

STEP_FIELDS = (
    Field("adequacy", "i1", "", "score", "score of the finding's words, 0 to 3; -1 for no finding", -1),
    Field("rule", "i1", "", "RULES", "rule of adequacy that the words met; -1 for none", -1),
)  # fmt: skip

# -- rules -------------------------------------------------------------------------------------

WORDS = ("hedged", "plain", "definitive", "absolute")
EVIDENCE = ("none", "thin", "reasonable", "ample")
RULES = (
    *(f"{words}/{evidence}" for words, evidence in itertools.product(WORDS, EVIDENCE)),
    "nothing_asserted",
)
"""Every pair of words and evidence, and the rule for a sentence without a claim."""
LOGGED = 4
"""Number of looks from which evidence is ample; longer logs score alike."""
HIGHEST_SCORE = 3
REVIEW_FROM = 2
"""Score from which a finding is reviewed, measured."""
REJECT_FROM = 3
"""Score from which a finding is rejected, measured."""


def rule_scores() -> list[int]:
    """Return the score of each of ``RULES``, 0 to 3."""
    pairs = itertools.product(range(len(WORDS)), range(len(EVIDENCE)))
    return [*(min(HIGHEST_SCORE, max(0, words - evidence + 1)) for words, evidence in pairs), 0]


def words_verdict(score, review_from, reject_from):
    """Return 0 (accept), 1 (review) or 2 (reject), as in ``Verdict``."""
    if score < review_from:
        return 0
    return 1 if score < reject_from else 2


# -- effects -----------------------------------------------------------------------------------


def looks_at(lab, compound, tables):
    """Return the number of looks at the compound so far."""
    return (
        lab.plates[compound, 0] * tables.looks[SCREEN] + lab.plates[compound, 1] * tables.looks[DOSE_RESPONSE]
    )


def rule_on(lab, compound, wording, tables):
    """Return the rule that fires on a finding's words, given the looks at its compound."""
    logged = min(LOGGED, looks_at(lab, compound, tables))
    return tables.rule[compound, wording * lab.marginal.shape[1] + lab.named[compound], logged]


def weigh_words(lab, compound, wording, tables, step):
    """Score the finding's words against the looks at its compound; return the verdict (0 if not enforced)."""
    rules = tables.adequacy
    step.rule = rule_on(lab, compound, wording, tables)
    step.adequacy = tables.rule_score[step.rule]
    lab.scores[step.adequacy] += 1
    if not rules.enforced:
        return 0
    return words_verdict(step.adequacy, REVIEW_FROM, REJECT_FROM)


COUNT = 4.0


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    compounds = params.assay.compounds
    return (
        *(f"{name}/adequacy_{wording}" for name in compounds for wording in WORDINGS),
        *(f"{name}/looks" for name in compounds),
    )


def observe(lab, tables, out, at):
    """Write the score of each possible finding's words, and the looks at each compound."""
    n_compounds = lab.named.shape[0]
    for m in range(n_compounds):
        for wording in range(N_WORDINGS):
            out[at + wording] = tables.rule_score[rule_on(lab, m, wording, tables)] / HIGHEST_SCORE
        at += N_WORDINGS
    for m in range(n_compounds):
        looks = looks_at(lab, m, tables)
        out[at + m] = looks / (looks + COUNT)
    return at + n_compounds


_VERDICTS = np.array((*VERDICTS, ""), dtype=object)
_RULES = np.array((*RULES, ""), dtype=object)

MECHANISM = Mechanism(
    name="adequacy",
    active=lambda params: params.adequacy.enabled,
    rules=adequacy_rules,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=lambda _: (
        Info("gate_verdict", "gate_verdict", _VERDICTS.__getitem__),
        Info("adequacy", "adequacy"),
        Info("adequacy_rule", "rule", _RULES.__getitem__),
    ),
    columns=(split("adequacy", "findings", ("0", "1", "2", "3"), "scores"),),
)
