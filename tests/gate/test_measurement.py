"""The source's geometry, in both forms and for many claims at once, on random and on degenerate evidence."""

from __future__ import annotations

import dataclasses
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solvent.gate.errors import GateError
from solvent.gate.measurement import (
    EPS,
    RANK_R,
    TOP_K,
    gram_energy,
    hallucination_energy,
    oracle_gap,
    oracle_gap_gram,
)

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def unit(vectors):
    array = np.asarray(vectors, dtype=np.float64)
    length: Floats = np.linalg.norm(array, axis=-1, keepdims=True)
    return array / length


def topical(rng, n, d=384):
    """A claim and spans about as near to each other as sentences on one topic are."""
    topic = unit(rng.normal(size=d))
    claim, *spans = unit(topic + rng.normal(size=(n + 1, d)) / np.sqrt(d))
    return claim, np.array(spans).reshape(n, d)


def plain(claim, spans, top_k=TOP_K, rank_r=RANK_R):
    """The source's formula and no more: eigenvectors of the scatter [d, d], 1 - ||V_r^T c||^2."""
    chosen = spans[np.argsort(-(spans @ claim))[:top_k]]
    squares, vectors = np.linalg.eigh(chosen.T @ chosen)
    basis = vectors[:, squares > (EPS * np.sqrt(squares[-1])) ** 2][:, -rank_r:]
    return float(1.0 - np.sum((basis.T @ claim) ** 2))


def degenerate():
    """A claim, and evidence that is degenerate in one way each."""
    claim, spans = topical(np.random.default_rng(7), 20)
    near = unit(spans[:6] + 1e-7 * np.random.default_rng(8).normal(size=(6, 384)) / np.sqrt(384))
    zeros = np.zeros((3, 384))
    return claim, {
        "one span": spans[:1],
        "fewer spans than rank": spans[:5],
        "as many as the rank": spans[:8],
        "between rank and top k": spans[:11],
        "more than top k": spans,
        "exact duplicates": np.repeat(spans[:3], 4, axis=0),
        "one span many times": np.repeat(spans[:1], 12, axis=0),
        "near duplicates": np.vstack([spans[:6], near]),
        "near duplicates beyond the rank": np.vstack([spans[:9], near[:3]]),
        "zero vectors": np.vstack([zeros, spans[:4], zeros]),
        "only zero vectors": zeros,
        "the claim itself": np.vstack([spans[:3], claim]),
        "the claim alone": claim[None],
        "the opposite of the claim": -claim[None],
        "orthogonal spans": np.eye(384)[:6],
        "orthogonal spans beyond the rank": np.eye(384)[:12],
        "orthogonal spans twice": np.repeat(np.eye(384)[:10], 2, axis=0),
        "no spans": np.empty((0, 384)),
    }


LONE, DEGENERATE = degenerate()

# ------------------------------------------------------------------------------------------ the formula


def test_by_hand():
    """Two directions explain 0.36 and 0.48^2 of a claim in three."""
    result = hallucination_energy([0.6, 0.48, 0.64], np.eye(3)[:2])
    assert result.explained == pytest.approx(0.36 + 0.2304, abs=1e-15)
    assert result.energy == pytest.approx(0.4096, abs=1e-15)
    assert result.identity_error < 1e-15
    assert (result.effective_rank, result.used, result.span_count, len(result.used)) == (2, (0, 1), 2, 2)
    assert result.singular_values == pytest.approx((1.0, 1.0))
    assert result.topk_scores == (0.6, 0.48)


@given(seed=SEEDS, n=st.integers(1, 30), top_k=st.integers(1, 15), rank_r=st.integers(1, 12))
def test_the_plain_formula_and_both_forms_agree(seed, n, top_k, rank_r):
    claim, spans = topical(np.random.default_rng(seed), n, 96)
    result = hallucination_energy(claim, spans, top_k, rank_r)
    assert result.energy == pytest.approx(plain(claim, spans, top_k, rank_r), abs=1e-9)
    products = gram_energy(spans @ claim, spans @ spans.T, top_k, rank_r)
    assert products.energy == pytest.approx(result.energy, abs=1e-9)
    assert products.singular_values == pytest.approx(result.singular_values, abs=1e-6)
    assert products.used == result.used


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("rank_r", [1, 3, 8])
def test_both_forms_agree_on_degenerate_evidence(name, rank_r):
    claim, spans = LONE, DEGENERATE[name]
    vectors = hallucination_energy(claim, spans, rank_r=rank_r)
    products = gram_energy(spans @ claim, spans @ spans.T, rank_r=rank_r)
    assert products.energy == pytest.approx(vectors.energy, abs=1e-6)
    assert products.explained == pytest.approx(vectors.explained, abs=1e-6)
    assert products.effective_rank == vectors.effective_rank
    assert max(vectors.identity_error, products.identity_error) < 1e-6
    by_vectors, by_products = oracle_gap(claim, spans), oracle_gap_gram(spans @ claim, spans @ spans.T)
    assert by_products.energy_gap == pytest.approx(by_vectors.energy_gap, abs=1e-6)


# The formula is undefined where singular values are equal on both sides of the rank, and without spans.
UNDEFINED = {"orthogonal spans beyond the rank", "no spans", "only zero vectors"}


@pytest.mark.parametrize("name", sorted(set(DEGENERATE) - UNDEFINED))
def test_degenerate_evidence_by_the_plain_formula(name):
    claim, spans = LONE, DEGENERATE[name]
    assert hallucination_energy(claim, spans).energy == pytest.approx(plain(claim, spans), abs=1e-9)


@settings(max_examples=50)
@given(seed=SEEDS, small=st.floats(-9.0, -2.0), n=st.integers(2, 12))
def test_both_forms_agree_however_small_a_direction_is(seed, small, n):
    """Spans that differ by 1e-9 to 1e-2, so that singular values lie on both sides of the cut."""
    rng = np.random.default_rng(seed)
    claim, spans = topical(rng, 2, 64)
    cloud = unit(spans[0] + 10.0**small * rng.normal(size=(n, 64)))
    vectors = hallucination_energy(claim, cloud)
    relative = np.array(vectors.singular_values) / vectors.singular_values[0]
    if (np.abs(relative / EPS - 1.0) < 1e-6).any():
        return  # within rounding of the cut
    assert gram_energy(cloud @ claim, cloud @ cloud.T).energy == pytest.approx(vectors.energy, abs=1e-6)


# ------------------------------------------------------------------------------------------- properties


@given(seed=SEEDS, n=st.integers(1, 24))
def test_energy_is_a_share_and_explained_the_rest(seed, n):
    result = hallucination_energy(*topical(np.random.default_rng(seed), n, 24))
    assert 0.0 <= result.energy <= 1.0
    assert result.identity_error < 1e-12


@given(seed=SEEDS, n=st.integers(2, 24), coarse=st.booleans())
def test_no_bit_depends_on_the_order_of_spans(seed, n, coarse):
    """Coarse vectors have ties everywhere: in scores, in singular values, in medoids, in themselves."""
    rng = np.random.default_rng(seed)
    if coarse:
        claim, *rows = unit(rng.integers(0, 2, size=(n + 1, 6)) + np.eye(6)[0])
        spans = np.array(rows)
    else:
        claim, spans = topical(rng, n, 48)
    shuffled = rng.permutation(n)
    one, other = oracle_gap(claim, spans, 5, 3), oracle_gap(claim, spans[shuffled], 5, 3)
    assert dataclasses.replace(one.claim, used=()) == dataclasses.replace(other.claim, used=())
    assert (spans[list(one.claim.used)] == spans[shuffled][list(other.claim.used)]).all()
    assert (one.oracle_energy, one.energy_gap) == (other.oracle_energy, other.energy_gap)
    assert (spans[one.oracle_index] == spans[shuffled][other.oracle_index]).all()


@given(seed=SEEDS, n=st.integers(1, 12))
def test_another_span_only_lowers_the_energy_while_the_rank_allows(seed, n):
    claim, spans = topical(np.random.default_rng(seed), n, 64)
    energies = [hallucination_energy(claim, spans[:i], 12, 12).energy for i in range(n + 1)]
    assert (np.diff(energies) <= 1e-12).all()


@given(seed=SEEDS, n=st.integers(1, 6), copies=st.integers(1, 3))
def test_duplicates_change_nothing_while_the_rank_allows(seed, n, copies):
    claim, spans = topical(np.random.default_rng(seed), n, 64)
    once, again = (hallucination_energy(claim, np.repeat(spans, k, axis=0), 24) for k in (1, copies + 1))
    assert again.energy == pytest.approx(once.energy, abs=1e-12)
    assert again.effective_rank == once.effective_rank == n


def test_duplicates_explain_nothing_by_arbitrary_directions():
    """Without the cut, twelve copies of one span would have twelve directions, eleven of them rounding."""
    claim, spans = topical(np.random.default_rng(3), 1)
    result = hallucination_energy(claim, np.repeat(spans, 12, axis=0))
    assert result.effective_rank == 1
    assert result.energy == pytest.approx(1.0 - float(spans[0] @ claim) ** 2, abs=1e-12)


@given(seed=SEEDS, n=st.integers(1, 20), scale=st.floats(0.91, 1.09))
def test_a_common_scale_of_the_spans_changes_nothing(seed, n, scale):
    claim, spans = topical(np.random.default_rng(seed), n, 64)
    scaled = hallucination_energy(claim, scale * spans).energy
    assert scaled == pytest.approx(hallucination_energy(claim, spans).energy, abs=1e-9)


def test_top_k_limits_and_takes_the_nearest():
    claim, spans = topical(np.random.default_rng(5), 20)
    nearest = np.argsort(-(spans @ claim))[:4]
    result = hallucination_energy(claim, spans, top_k=4)
    assert result.used == tuple(nearest)
    assert (len(result.used), result.span_count, len(result.singular_values)) == (4, 20, 4)
    assert list(result.topk_scores) == sorted(result.topk_scores, reverse=True)
    far = np.delete(spans, nearest, axis=0)
    assert hallucination_energy(claim, spans[nearest]).energy == result.energy
    assert hallucination_energy(claim, far, top_k=4).energy != result.energy


def test_rank_limits():
    claim, spans = topical(np.random.default_rng(5), 12)
    energies = [hallucination_energy(claim, spans, rank_r=r) for r in range(1, 13)]
    assert [result.effective_rank for result in energies] == list(range(1, 13))
    assert (np.diff([result.energy for result in energies]) < 0.0).all()


@pytest.mark.parametrize("none", [[], [[]], np.empty(0), np.empty((0, 3)), np.zeros((4, 3))], ids=repr)
def test_no_evidence_explains_nothing(none):
    result = hallucination_energy([1.0, 0.0, 0.0], none)
    assert (result.energy, result.explained, result.identity_error) == (1.0, 0.0, 0.0)
    assert (result.effective_rank, result.used) == (0, ())
    gap = oracle_gap([1.0, 0.0, 0.0], none)
    assert (gap.energy_gap, gap.oracle_energy, gap.oracle_index, gap.trivial) == (1.0, 0.0, -1, True)
    assert gram_energy([], []).energy == 1.0


def test_zero_vectors_take_no_place_among_the_top_k():
    claim, spans = unit([1.0, 0.2, 0.1]), unit([[-1.0, 0.1, 0.0], [-0.5, 1.0, 0.0]])
    padded = np.vstack([np.zeros((5, 3)), spans])
    assert hallucination_energy(claim, padded, top_k=2).energy == hallucination_energy(claim, spans).energy
    assert hallucination_energy(claim, padded, top_k=2).used == (6, 5)
    assert gram_energy(padded @ claim, padded @ padded.T, top_k=2).used == (6, 5)


@pytest.mark.parametrize(("top_k", "rank_r"), [(0, 0), (-3, -1), (1.9, True)])
def test_less_than_one_counts_as_one(top_k, rank_r):
    claim, spans = topical(np.random.default_rng(5), 6)
    assert hallucination_energy(claim, spans, top_k, rank_r) == hallucination_energy(claim, spans, 1, 1)


# --------------------------------------------------------------------------------------- identity error


def test_the_identity_error_can_fail():
    """A claim of length 1.05, and a basis that isn't orthonormal."""
    claim, spans = topical(np.random.default_rng(5), 6)
    assert hallucination_energy(claim, spans).identity_error < 1e-12
    assert hallucination_energy(1.05 * claim, spans).identity_error == pytest.approx(1.05**2 - 1.0)
    assert hallucination_energy(0.95 * claim, spans).identity_error == pytest.approx(1.0 - 0.95**2)


def test_a_broken_decomposition_shows_in_the_identity_error(monkeypatch):
    claim, spans = topical(np.random.default_rng(5), 6)
    svd = np.linalg.svd

    def leaning(matrix, full_matrices):
        left, singular, right = svd(matrix, full_matrices=full_matrices)
        return left, singular, right + 0.2 * right[:1]

    monkeypatch.setattr(np.linalg, "svd", leaning)
    assert hallucination_energy(claim, spans).identity_error > 0.01


@given(seed=SEEDS, n=st.integers(1, 20), length=st.floats(0.901, 1.099))
def test_both_forms_agree_on_a_claim_that_is_a_little_off_length_1(seed, n, length):
    claim, spans = topical(np.random.default_rng(seed), n, 64)
    claim = length * claim
    vectors = oracle_gap(claim, spans)
    products = oracle_gap_gram(spans @ claim, spans @ spans.T, claim_square=float(claim @ claim))
    assert products.energy_gap == pytest.approx(vectors.energy_gap, abs=1e-6)
    for name in ("energy", "explained", "identity_error"):
        assert getattr(products.claim, name) == pytest.approx(getattr(vectors.claim, name), abs=1e-6)


# ------------------------------------------------------------------------------------- ties of the rank


def test_equal_singular_values_at_the_rank_go_to_the_better_spans():
    """Twelve orthogonal spans, rank 3: the three that the claim is nearest to, in both forms and any order."""
    rng = np.random.default_rng(2)
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    for spans in (np.eye(12), turn, turn[rng.permutation(12)]):
        claim = unit(rng.normal(size=12))
        scores = np.sort(spans @ claim)[::-1]
        expected = 1.0 - float(np.sum(scores[:3] ** 2))
        assert hallucination_energy(claim, spans, rank_r=3).energy == pytest.approx(expected, abs=1e-9)
        assert gram_energy(spans @ claim, spans @ spans.T, rank_r=3).energy == pytest.approx(
            expected, abs=1e-9
        )


# ---------------------------------------------------------------------------------------------- oracles


def test_the_medoid_is_the_span_nearest_to_the_others():
    claim, spans = topical(np.random.default_rng(11), 20)
    gap = oracle_gap(claim, spans)
    assert gap.oracle_index == np.argmax((spans @ spans.T).sum(axis=1))
    assert gap.oracle_energy == hallucination_energy(spans[gap.oracle_index], spans).energy
    assert gap.energy_gap == gap.claim.energy - gap.oracle_energy
    assert gap.exhausted == (gap.oracle_energy > 0.01)
    assert not gap.trivial
    products = oracle_gap_gram(spans @ claim, spans @ spans.T)
    assert products.oracle_index == gap.oracle_index
    assert products.oracle_energy == pytest.approx(gap.oracle_energy, abs=1e-9)


def test_twenty_thousand_spans_need_no_product_for_every_pair():
    claim, spans = topical(np.random.default_rng(11), 20_000, 32)
    tracemalloc.start()
    start = time.process_time()
    gap = oracle_gap(claim, spans)
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 15.0
    assert peak < 10 * spans.nbytes
    assert gap.oracle_index == np.argmax(spans @ spans.sum(axis=0))


@pytest.mark.parametrize(
    ("n", "top_k", "trivial"), [(1, 12, True), (8, 12, True), (9, 12, False), (20, 5, True)]
)
def test_with_no_more_spans_than_rank_the_gap_is_the_energy(n, top_k, trivial):
    claim, spans = topical(np.random.default_rng(11), n)
    for gap in (oracle_gap(claim, spans, top_k), oracle_gap_gram(spans @ claim, spans @ spans.T, top_k)):
        assert gap.trivial == trivial
        assert (gap.oracle_energy < 1e-9) == trivial
        assert gap.energy_gap == pytest.approx(gap.claim.energy - gap.oracle_energy)


def test_the_first_span_as_oracle_depends_on_the_order_and_the_medoid_does_not():
    claim, spans = topical(np.random.default_rng(11), 20)
    turned = [np.roll(spans, i, axis=0) for i in range(20)]
    first = {oracle_gap(claim, order, oracle="first").energy_gap for order in turned}
    assert max(first) - min(first) > 0.05
    assert len({oracle_gap(claim, order).energy_gap for order in turned}) == 1
    assert oracle_gap(claim, spans, oracle="first").oracle_index == 0


def test_without_an_oracle_the_gap_is_the_energy():
    gap = oracle_gap(*topical(np.random.default_rng(11), 20), oracle="none")
    assert (gap.energy_gap, gap.oracle_index, gap.trivial) == (gap.claim.energy, -1, True)
    assert not gap.exhausted


def test_the_same_bits_a_hundred_times():
    claim, spans = topical(np.random.default_rng(17), 20)
    assert len({repr(oracle_gap(claim, spans)) for _ in range(100)}) == 1
    assert len({repr(oracle_gap_gram(spans @ claim, spans @ spans.T)) for _ in range(100)}) == 1


# -------------------------------------------------------------------------------------------- bad input

UNIT = [1.0, 0.0, 0.0]
BAD_CLAIMS: list[Any] = [
    [float("nan"), 0.0, 0.0],
    [float("inf"), 0.0, 0.0],
    [0.0, 0.0, 0.0],
    [2.0, 0.0, 0.0],
    [0.5, 0.0, 0.0],
    [UNIT],
    1.0,
    [],
    "a claim",
    None,
    [1j, 0.0, 0.0],
    np.array([UNIT]),
    np.array(1.0),
    ["1", "0", "0"],
    [1e308, 1e308, 0.0],
    np.array([np.finfo(np.longdouble).max, 0, 0]),
]
BAD_EVIDENCE: list[Any] = [
    [[1.0, 0.0]],
    [[float("nan"), 0.0, 0.0]],
    [UNIT, [1.0, 0.0]],
    [[3.0, 0.0, 0.0]],
    [[1e-3, 0.0, 0.0]],
    UNIT,
    "evidence",
    None,
    [[UNIT]],
    [[Ellipsis] * 3],
    [[1e308, 1e308, 1e308]],
]


@pytest.mark.parametrize("bad", BAD_CLAIMS, ids=repr)
def test_a_bad_claim_is_an_error_of_one_line(bad):
    for call in (
        lambda: hallucination_energy(bad, [UNIT]),
        lambda: oracle_gap(bad, [UNIT]),
    ):
        with pytest.raises(GateError, match=r"^claim_vecs?(\[0\])?: got .*; allowed: ") as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", BAD_EVIDENCE, ids=repr)
def test_bad_evidence_is_an_error_of_one_line(bad):
    for call in (
        lambda: hallucination_energy(UNIT, bad),
        lambda: oracle_gap(UNIT, bad),
    ):
        with pytest.raises(GateError, match=r"^evidence(_vecs|\[0\]): got .*; allowed: ") as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("cross", "gram", "message"),
    [
        ([0.5, 0.5], [[1.0]], r"gram: got the shape \(1, 1\); allowed: \(2, 2\)"),
        ([0.5, 0.5], [[1.0, 0.2], [0.3, 1.0]], "gram: got different products"),
        ([0.5], [[4.0]], "gram: got a vector of length 2; allowed: 1"),
        ([float("nan")], [[1.0]], "cross: got values that are not finite"),
        ([0.5], [[float("inf")]], "gram: got values that are not finite"),
        ([1.5], [[1.0]], r"cross: explains 2\.25 of the claim's 1; allowed: at most that"),
        ([0.9, -0.9], [[1.0, 0.9], [0.9, 1.0]], "cross: explains"),
        ([0.5], 1.0, "gram: got the shape"),
        ([], [[1.0]], "cross|gram"),
        ("cross", [[1.0]], "cross: got"),
        ([1e308], [[1.0]], "cross: explains inf"),
        ([1e308, -1e308], [[1.0, 0.1], [0.1, 1.0]], "cross: explains"),
        ([0.5, 0.5], [[1.0, 5.0], [5.0, 1.0]], r"gram: got a product of 5; allowed: at most 1"),
        ([0.5, 0.5], [[1.0, 1e308], [1e308, 1.0]], r"gram: got a product of 1e\+308"),
        ([0.5, 0.5], [[1.0, 1e308], [-1e308, 1.0]], "gram: got different products"),
        ([0.5], [[1e308]], "gram: got a vector of length 1e"),
    ],
)
def test_products_that_no_vectors_have(cross, gram, message):
    for call in (gram_energy, oracle_gap_gram):
        with pytest.raises(GateError, match=message):
            call(cross, gram)


@pytest.mark.parametrize("bad", [0.0, -1.0, 0.5, 2.0, 1e308, float("nan"), "1", None], ids=repr)
def test_a_claim_that_is_not_of_length_1_in_products(bad):
    for call in (gram_energy, oracle_gap_gram):
        with pytest.raises(GateError, match=r"^claim_square: got .*; allowed: "):
            call([0.5], [[1.0]], claim_square=bad)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None, "x", [3]], ids=repr)
def test_bad_limits(bad):
    with pytest.raises(GateError, match=r"^top_k: got .*; allowed: a whole number"):
        hallucination_energy(UNIT, [UNIT], top_k=bad)
    with pytest.raises(GateError, match=r"^rank_r: got .*; allowed: a whole number"):
        gram_energy([1.0], [[1.0]], rank_r=bad)


def test_an_oracle_that_does_not_exist():
    with pytest.raises(GateError, match="oracle: got 'median'; allowed: medoid, first, none"):
        oracle_gap(UNIT, [UNIT], oracle="median")
