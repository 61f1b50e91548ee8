"""Words against evidence: the verdict of a score, the score of a rule, and the rule of a finding."""

import itertools

import numpy as np
import pytest

from solvent.adequacy.heuristic import MATRIX as SOURCE
from solvent.lab.mechanisms.adequacy import EVIDENCE, RULES, WORDS, rule_scores, words_verdict
from solvent.lab.params import PRESETS, LabParams
from solvent.lab.words.measured import measured_for
from solvent.lab.words.sentences import sentences_of
from tools.lab_words import rules_on_findings

PASS, REVIEW, REJECT = 0, 1, 2
LAB = PRESETS["lab"]
# How far words go beyond evidence: rows hedged, plain, definitive, absolute; columns none, thin, reasonable, ample.
MATRIX = np.array([[1, 0, 0, 0], [2, 1, 0, 0], [3, 2, 1, 0], [3, 3, 2, 1]])
EVIDENCE_OF = (0, 1, 2, 2, 3)  # none, one, two, three, four looks


@pytest.mark.parametrize(
    ("review_from", "reject_from", "verdicts"),
    [
        (2, 3, [PASS, PASS, REVIEW, REJECT]),
        (0, 4, [REVIEW] * 4),
        (4, 4, [PASS] * 4),
        (2, 2, [PASS, PASS, REJECT, REJECT]),
    ],
)
def test_thresholds_are_where_they_are_said_to_be(review_from, reject_from, verdicts):
    """Equal ones leave no review between; 4 is above all scores, so it never happens."""
    assert [words_verdict(score, review_from, reject_from) for score in range(4)] == verdicts


def test_the_score_of_every_rule():
    assert [*rule_scores()] == [*MATRIX.flat, 0]


def test_the_instrument_scores_words_and_evidence_alike_but_in_two_cells():
    """The lab keeps its table, so that seeds play as before; the instrument follows the source's (docs/adequacy.md)."""
    scored = [value for row in SOURCE for value in row]
    pairs = zip(RULES, rule_scores(), [*scored, 0], strict=True)
    other = {rule: (lab, ours) for rule, lab, ours in pairs if lab != ours}
    assert other == {"hedged/none": (1, 0), "absolute/thin": (3, 2)}


def measured_rules(params):
    """The rule on every finding, as the heuristic has it now."""
    return rules_on_findings(params, sentences_of(params))[0]


@pytest.fixture(scope="module")
def table():
    """Scores and rules of all findings of the default lab: compound, wording, class, plates."""
    rules = measured_rules(LAB)
    assert rules.shape == (8, 24, 5)
    return rules.reshape(8, 3, 8, 5)


def test_what_is_shipped_is_what_the_heuristic_says_now():
    rules, negatives = rules_on_findings(LAB, sentences_of(LAB))
    shipped = measured_for(LAB)
    assert (shipped.rules == rules).all()
    assert (shipped.negatives == negatives).all()


def test_a_findings_words_are_its_wording_and_an_inactive_compound_for_certain_is_absolute(table):
    for wording, named, plates in itertools.product(range(3), range(8), range(5)):
        words = 3 if (wording, named) == (2, 0) else wording
        expected = f"{WORDS[words]}/{EVIDENCE[EVIDENCE_OF[plates]]}"
        assert {RULES[rule] for rule in table[:, wording, named, plates]} == {expected}


def test_a_selection_has_the_rules_of_the_whole(table):
    few = {"compounds": ["oligomycin A", "CCCP"], "potency_classes": 5}
    params = LabParams.from_mapping({"assay": few}, base=LAB)
    chosen = [LAB.assay.compounds.index(name) for name in few["compounds"]]
    result = measured_rules(params).reshape(2, 3, 5, 5)
    assert (result == table[chosen][:, :, :5]).all()
    assert (measured_for(params).rules.reshape(result.shape) == result).all()
