"""The shipped tables against the real model: measured anew, and as verdicts from the vectors themselves."""

from __future__ import annotations

import numpy as np
import pytest

from solvent.gate.energy import hallucination_energy
from solvent.lab.mechanisms.gate import add_direction, in_millionths, verdict_on
from solvent.lab.params import PRESETS
from solvent.lab.words.catalogue import load_catalogue
from solvent.lab.words.measured import MOST_SPANS, load_measured
from solvent.lab.words.rows import fit_row, readout_row
from solvent_experiments.instruments.lab_words import (
    PAGES,
    acceptance_by_kind,
    domain_pages,
    domain_sample,
    lab_sentences,
    lab_vectors,
    measure,
)

GATE = PRESETS["gate"]
CLASSES, BINS, READOUTS, SPANS, FINDINGS = 8, 12, 96, 121, 24
TOLERANCE = 2e-6
"""Of an inner product: embeddings differ by some 1e-7 between builds of the libraries."""
RANDOM_PAGES = 2_000


@pytest.fixture(scope="module")
def vectors(embedder):
    return lab_vectors(lab_sentences(GATE, load_catalogue()), embedder)


@pytest.fixture(scope="module")
def rebuilt(embedder):
    """The cache of the session's embedder has the vectors already."""
    return measure(GATE, load_catalogue(), embedder)


@pytest.fixture(scope="module")
def pages():
    """The domain's pages, as many as the policies are learnt on."""
    return domain_pages(GATE, PAGES)


@pytest.fixture(scope="module")
def sample(pages):
    """Every claim about these pages."""
    return domain_sample(GATE, load_measured(), pages)


def random_pages(n, seed=0):
    """Any page that the notebook can hold: some doses, any bins, any fit; of each compound in turn."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        doses = np.flatnonzero(rng.random(8) < rng.choice([0.2, 0.5, 1.0]))
        rows = [readout_row(int(d), int(rng.integers(BINS)), BINS) for d in doses]
        named = int(rng.integers(CLASSES))
        rows += [fit_row(READOUTS, s, named, CLASSES) for s in range(int(rng.integers(4)) + 1)]
        yield i % 8, rows


def left_of_findings(gram, rows):
    """What the step makes of every finding: each is one more row of the Cholesky factor."""
    n = len(rows)
    places = np.array([*rows, 0])
    factor, inverse = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    for i, row in enumerate(rows):
        add_direction(gram, places, i, row, factor, inverse)
    return np.array([add_direction(gram, places, n, SPANS + f, factor, inverse) for f in range(FINDINGS)])


# -- with the real model -------------------------------------------------------------------------


@pytest.mark.slow
def test_the_shipped_tables_are_what_the_model_says_now(rebuilt, embedder):
    """Inner products and thresholds to two millionths, all else to the letter."""
    shipped = load_measured()
    assert np.abs(rebuilt.gram - shipped.gram).max() < TOLERANCE
    assert (rebuilt.rules == shipped.rules).all()
    assert (rebuilt.negatives == shipped.negatives).all()
    kept = ("policies", "domain", "libraries")
    assert {k: v for k, v in rebuilt.about.items() if k not in kept} == {
        k: v for k, v in shipped.about.items() if k not in (*kept, "format")
    }
    assert rebuilt.about["domain"]["held_out"] == shipped.about["domain"]["held_out"]
    for (name, *learnt), (theirs, *known) in zip(rebuilt.policies, shipped.policies, strict=True):
        assert name == theirs
        assert learnt == pytest.approx(known, abs=TOLERANCE)


@pytest.mark.slow
def test_verdicts_from_the_vectors_are_those_from_the_tables(vectors):
    """Every finding against two thousand random pages, under every policy: real embeddings, no table in between."""
    gram = load_measured().gram
    taus = [(in_millionths(p.tau_accept), in_millionths(p.tau_review)) for p in load_measured().policies]
    worst, at_an_edge, judged = 0.0, 0, 0
    for m, rows in random_pages(RANDOM_PAGES):
        step = left_of_findings(gram[m], rows)
        spans = vectors[m, rows]
        for f in range(FINDINGS):
            energy = hallucination_energy(vectors[m, SPANS + f], spans, MOST_SPANS, MOST_SPANS).energy
            worst = max(worst, abs(energy - step[f]))
            ours, theirs = in_millionths(step[f]), in_millionths(energy)
            for accept, review in taus:
                judged += 1
                if verdict_on(ours, accept, review) != verdict_on(theirs, accept, review):
                    edge = min(abs(ours - accept), abs(ours - review))
                    assert edge <= 5, (m, rows, f, ours, theirs)
                    at_an_edge += 1
    assert worst < 5e-6
    assert at_an_edge <= judged * 1e-4


# -- without -------------------------------------------------------------------------------------


def test_the_sample_measures_as_the_step_does(sample, pages):
    """Every claim about a page, in whole millionths: the policies are learnt on the step's own numbers."""
    tables = load_measured()
    energies = sample.energy.reshape(PAGES, FINDINGS)
    for i, page in enumerate(pages[:48]):
        step = left_of_findings(tables.gram[i // 2 % 8], page.rows(8, BINS, CLASSES))
        assert energies[i] == pytest.approx(step, abs=1e-9)


def test_the_shipped_gate_tells_right_from_premature_and_wrong(sample):
    """On pages that the policies were not learnt on; not one number is a promise, their order is."""
    report = acceptance_by_kind(sample, load_measured().policies)
    for policy in load_measured().policies:
        accepted = {kind: shares["accept"] for kind, shares in report[policy.name].items()}
        assert accepted["right"] > 2 * max(accepted["premature"], accepted["wrong"])


def test_the_last_policy_accepts_one_claim_in_a_hundred_and_the_first_thirty(sample):
    """Held-out rates, unlike those on the sample itself, are no identity."""
    held_out = sample.energy[sample.page % 2 == 1]
    for policy in load_measured().policies:
        share = (held_out <= policy.tau_accept).mean()
        assert share == pytest.approx(float(policy.name.split("P")[1].split(".")[0]) / 100, abs=0.03)
