"""The shipped tables of the lab: measured anew with the real model, and what their policies accept."""

import numpy as np
import pytest

from solvent.lab.params import PRESETS
from solvent.lab.words.measured import SHIPPED, load_measured
from solvent.lab.words.sentences import sentences_of
from tools.lab_words import (
    PAGES,
    acceptance_by_kind,
    domain_pages,
    domain_sample,
    lab_vectors,
    learn_policies,
    measure,
    rules_on_findings,
)

GATE = PRESETS["gate"]
TOLERANCE = 2e-6
"""Of inner products and thresholds: embeddings differ by some 1e-7 between builds of the libraries."""


@pytest.mark.slow
def test_the_shipped_tables_are_what_the_model_says_now(embedder):
    """All of Tiny's, and those of one of the other levels' eight compounds."""
    rebuilt, shipped = measure(PRESETS["tiny"], embedder), load_measured(SHIPPED[1])
    assert np.abs(rebuilt.gram - shipped.gram).max() < TOLERANCE
    for key in rebuilt.about.keys() - {"policies", "domain", "libraries", "format"}:
        assert rebuilt.about[key] == shipped.about[key]
    for (name, *learnt), (theirs, *known) in zip(rebuilt.policies, shipped.policies, strict=True):
        assert name == theirs
        assert learnt == pytest.approx(known, abs=TOLERANCE)
    words, tables = sentences_of(GATE), load_measured()
    rules, negatives = rules_on_findings(GATE, words)
    assert (rules == tables.rules).all()
    assert (negatives == tables.negatives).all()
    (vectors,) = lab_vectors(words._replace(spans=words.spans[:1], findings=words.findings[:1]), embedder)
    assert np.abs(vectors @ vectors.T - tables.gram[0]).max() < TOLERANCE


def test_the_shipped_policies_tell_right_from_premature_and_wrong():
    """On the pages that they were not learnt on: their rates on the others are an identity."""
    tables = load_measured()
    sample = domain_sample(GATE, tables, domain_pages(GATE, PAGES))
    about = tables.about
    assert learn_policies(sample, about["model"], about["model_sha256"]) == tables.policies
    report = acceptance_by_kind(sample, tables.policies)
    held_out = sample.energy[sample.page % 2 == 1]
    for policy in tables.policies:
        accepted = {kind: shares["accept"] for kind, shares in report[policy.name].items()}
        assert accepted["right"] > 2 * max(accepted["premature"], accepted["wrong"])
        share = (held_out <= policy.tau_accept).mean()
        assert share == pytest.approx(float(policy.name.split("P")[1].split(".")[0]) / 100, abs=0.03)
