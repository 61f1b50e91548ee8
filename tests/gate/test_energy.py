"""The residual against the document's formula, and its oracles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.gate.energy import GateError, energy_gap, gram_energy, hallucination_energy


def _units(seed, n, d=16):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 15), st.integers(1, 10))
def test_energy_is_the_documents_formula(seed, n, top_k, rank):
    claim, spans = _units(seed, 1)[0], _units(seed + 1, n)
    chosen = spans[np.argsort(-(spans @ claim))[:top_k]]
    basis = np.linalg.svd(chosen)[2][: min(rank, len(chosen))]
    found = hallucination_energy(claim, spans, top_k, rank)
    assert found.energy == pytest.approx(1.0 - ((basis @ claim) ** 2).sum(), abs=1e-9)
    assert 0.0 <= found.energy <= 1.0
    assert found.identity_error < 1e-5


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_inner_products_give_the_same_energy(seed, n, rank):
    claim, spans = _units(seed, 1)[0], _units(seed + 1, n)
    found = hallucination_energy(claim, spans, 12, rank).energy
    assert gram_energy(spans @ claim, spans @ spans.T, 12, rank) == pytest.approx(found, abs=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 20))
def test_first_span_is_the_oracle_by_default(seed, n):
    claim, spans = _units(seed, 1)[0], _units(seed + 1, n)
    own = hallucination_energy(spans[0], spans).energy
    found = energy_gap(claim, spans)
    assert found.oracle_energy == pytest.approx(own, abs=1e-12)
    assert found.energy_gap == pytest.approx(found.claim.energy - own, abs=1e-12)
    assert found.exhausted == (own > 0.01)
    if n <= 8:  # no more spans than directions
        assert own == pytest.approx(0.0, abs=1e-9)


def test_directions_below_the_cut_explain_nothing():
    claim, base = np.eye(4)[1], np.eye(4)[0]
    below, above = (base + part * claim for part in (1e-6, 1e-3))
    below, above = (np.array([base, near / np.linalg.norm(near)]) for near in (below, above))
    assert hallucination_energy(claim, below).rank == 1
    assert hallucination_energy(claim, above).energy == pytest.approx(0.0, abs=1e-9)


def test_ensemble_keeps_mean_and_spread():
    claim, spans = _units(0, 1)[0], _units(1, 15)
    oracles = ["first", "medoid", lambda evidence: evidence[-1]]
    alone = [energy_gap(claim, spans, oracle=oracle).oracle_energy for oracle in oracles]
    medoid = spans[np.argmax((spans @ spans.T).mean(axis=1))]
    assert alone[1] == pytest.approx(hallucination_energy(medoid, spans).energy)
    both = energy_gap(claim, spans, oracle=oracles)
    assert both.oracle_energy == pytest.approx(np.mean(alone))
    assert both.oracle_spread == pytest.approx(np.std(alone))
    assert both.energy_gap == pytest.approx(both.claim.energy - np.mean(alone))


def test_no_evidence_has_energy_one():
    assert hallucination_energy(_units(0, 1)[0], []).energy == 1.0


@pytest.mark.parametrize("spans", [np.ones((2, 16)), np.full((2, 16), np.nan), _units(0, 2, 8)])
def test_bad_vectors_are_refused(spans):
    with pytest.raises(GateError):
        hallucination_energy(_units(0, 1)[0], spans)
