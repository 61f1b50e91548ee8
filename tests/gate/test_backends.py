"""Backends behind one interface: energies from 0 to 1 that don't depend on the company; weights as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solvent.gate.backends import (
    Backend,
    ChecksBackend,
    CosineBackend,
    GapBackend,
    RememberingEmbedder,
    ResidualBackend,
    SpanCountBackend,
    TfidfBackend,
)
from solvent.gate.combined import CombinedBackend, Weights, train_weights
from solvent.gate.datasets import Dataset, halves, load_dataset
from solvent.gate.embedding import Unread
from solvent.gate.errors import GateError
from solvent.gate.measurement import hallucination_energy
from solvent.gate.tokens import Tokens, token_features

CLAIMS = ["the old mill burned", "the old mill burned", "a cat sleeps", "nothing at all"]
EVIDENCE = [["the old mill burned"], ["a cat sleeps"], ["a cat sleeps in the mill", "cats sleep"], []]


def backends(words: Any) -> list[Backend]:
    texts = [*CLAIMS, *(span for spans in EVIDENCE for span in spans)]
    return [
        ResidualBackend(words),
        GapBackend(words),
        CosineBackend(words),
        TfidfBackend(texts),
        ChecksBackend(),
        SpanCountBackend(),
    ]


def test_energies_lie_in_0_to_1_and_nothing_supports_nothing(words: Any) -> None:
    for backend in backends(words):
        assert isinstance(backend, Backend)
        energies = backend.score(CLAIMS, EVIDENCE)
        assert energies.shape == (4,)
        assert (energies >= 0).all()
        assert (energies <= 1).all(), backend.name
        assert energies[3] == energies.max() == 1.0


def test_what_is_said_word_for_word_is_supported(words: Any) -> None:
    for backend in backends(words)[:5]:
        energies = backend.score(CLAIMS, EVIDENCE)
        assert energies[0] < energies[1], backend.name


def test_a_score_does_not_depend_on_the_other_claims(words: Any) -> None:
    for backend in backends(words):
        together = backend.score(CLAIMS, EVIDENCE)
        alone = [backend.score([c], [e])[0] for c, e in zip(CLAIMS, EVIDENCE, strict=True)]
        assert together.tolist() == alone
        assert backend.score(CLAIMS[::-1], EVIDENCE[::-1]).tolist() == together.tolist()[::-1]


def test_no_claims_and_other_numbers_of_claims(words: Any) -> None:
    for backend in backends(words):
        assert backend.score([], []).shape == (0,)
        with pytest.raises(GateError, match="evidence: got 1 lists of spans; allowed: one a claim, 2"):
            backend.score(["a", "b"], [["c"]])


def test_the_residual_is_the_gates_own_energy(words: Any) -> None:
    energy = ResidualBackend(words, top_k=2, rank_r=1).score(CLAIMS[2:3], EVIDENCE[2:3])[0]
    vectors = words.encode([CLAIMS[2], *EVIDENCE[2]])
    assert energy == round(hallucination_energy(vectors[0], vectors[1:], 2, 1).energy, 6)


def test_texts_are_encoded_once(words: Any) -> None:
    calls: list[str] = []

    class Counting:
        name, dimension, fingerprint = words.name, words.dimension, words.fingerprint

        def encode(self, texts: Any) -> Any:
            calls.extend(texts)
            return words.encode(texts)

    remembering = RememberingEmbedder(Counting())
    seen: list[tuple[int, int]] = []
    remembering.warm(["a", "b", "a"], lambda done, total: seen.append((done, total)))
    rows = remembering.encode(["b", "a", "c", "b"])
    assert calls == ["a", "b", "c"]
    assert seen == [(0, 2), (2, 2)]
    assert (rows == words.encode(["b", "a", "c", "b"])).all()
    assert remembering.encode([]).shape == (0, words.dimension)


def test_what_was_not_read_is_not_forgotten(words: Any, embedder: Any) -> None:
    thai = "\u0e09\u0e31\u0e19"
    assert RememberingEmbedder(embedder).unread([thai]) == embedder.unread([thai])
    assert RememberingEmbedder(words).unread([thai]) == [Unread()]


def test_odd_texts_break_no_backend(words: Any) -> None:
    odd = ["", " ", "\x00\x07", "!!!", "\ud800", "word " * 20_000]
    for backend in backends(words):
        energies = backend.score(odd, [[text, "the old mill"] for text in reversed(odd)])
        assert np.isfinite(energies).all(), backend.name


# -------------------------------------------------------------------------------------------------- words


def tokens(*pieces: tuple[int, list[float]]) -> Tokens:
    return Tokens(np.array([i for i, _ in pieces]), np.array([v for _, v in pieces], dtype=np.float32))


def test_token_features_by_hand() -> None:
    claim = tokens((1000, [1.0, 0.0]), (2718, [0.0, 1.0]))
    span = tokens((1000, [1.0, 0.0]), (5000, [0.6, 0.8]))
    late, worst, uncovered = token_features(claim, [span])
    # ln(1000 / 1000) counts as 0.05, ln(2718 / 1000) is almost 1; the second piece is nearest to a cosine of 0.8.
    weight = np.log(2.718)
    assert late == pytest.approx(1 - (0.05 + 0.8 * weight) / (0.05 + weight), abs=1e-6)
    assert worst == pytest.approx(0.2, abs=1e-6)
    assert uncovered == pytest.approx(weight / (0.05 + weight), abs=1e-6)


def test_the_worst_piece_is_sought_among_the_rare_ones() -> None:
    claim = tokens((1000, [0.0, 1.0]), (9000, [1.0, 0.0]))
    span = tokens((9000, [1.0, 0.0]))
    assert token_features(claim, [span])[1] == 0.0
    assert token_features(tokens((1000, [0.0, 1.0])), [span])[1] == 1.0


def test_token_features_of_nothing() -> None:
    one, none = tokens((2000, [1.0])), Tokens(np.empty(0, dtype=np.int64), np.empty((0, 1), dtype=np.float32))
    assert token_features(one, []).tolist() == [1.0, 1.0, 1.0]
    assert token_features(one, [none]).tolist() == [1.0, 1.0, 1.0]
    assert token_features(none, [one]).tolist() == [1.0, 1.0, 1.0]


# ----------------------------------------------------------------------------------------------- weights

WEIGHTS = Weights(
    features=("a", "b"),
    mean=(0.5, 0.0),
    scale=(0.5, 1.0),
    weight=(2.0, -1.0),
    intercept=0.25,
    model="0" * 64,
    top_k=12,
    rank_r=8,
    dataset={"name": "x", "sha256": "1" * 64},
    seed=0,
    counts={"supported": 1},
    texts=("00",),
)


def test_energies_by_hand() -> None:
    odds = 0.25 + 2.0 * (1.0 - 0.5) / 0.5 - 1.0
    assert WEIGHTS.energies(np.array([[1.0, 1.0]]))[0] == round(1 / (1 + np.exp(-odds)), 6)
    assert WEIGHTS.energies(np.array([[1e9, 0.0], [-1e9, 0.0]])).tolist() == [1.0, 0.0]


def test_weights_come_back_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    WEIGHTS.save(path)
    assert Weights.load(path) == WEIGHTS
    assert [file.name for file in tmp_path.iterdir()] == ["weights.json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["weights"].update(intercept=9.0), "changed since"),
        (lambda d: d.update(format="x"), "not a file of weights"),
        (lambda d: d.pop("weights"), "changed since"),
        (lambda d: d["weights"].pop("seed"), "changed since"),
    ],
)
def test_a_changed_file_is_refused(change: Callable[[Any], Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    WEIGHTS.save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(GateError, match=said):
        Weights.load(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_another_file_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_bytes(content)
    with pytest.raises(GateError) as caught:
        Weights.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(GateError, match="not read"):
        Weights.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    "wrong",
    [
        {"mean": (1.0,)},
        {"scale": (0.0, 1.0)},
        {"intercept": float("nan")},
        {"mean": ("0.5", "0.0")},
        {"features": (1, 2)},
        {"texts": ((),)},
        {"model": None},
        {"top_k": "12"},
        {"rank_r": 0},
    ],
)
def test_impossible_weights(wrong: dict[str, Any]) -> None:
    with pytest.raises(GateError, match="weights"):
        Weights(**{**vars(WEIGHTS), **wrong})


@pytest.fixture(scope="module")
def learnt(embedder: Any, small: list[dict[str, Any]], tmp_path_factory: Any) -> tuple[Dataset, Weights]:
    path = tmp_path_factory.mktemp("set") / "small.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in small))
    found = load_dataset(path)
    return found, train_weights(found, embedder)


def test_weights_are_learnt_from_one_half_and_know_it(learnt: tuple[Dataset, Weights], embedder: Any) -> None:
    pytest.importorskip("sklearn")
    dataset, weights = learnt
    first, second = halves(dataset.samples, 0)
    assert all(weights.trained_on(sample) for sample in first)
    assert not any(weights.trained_on(sample) for sample in second)
    assert sum(weights.counts[kind] for kind in ("supported", "others")) == len(first)
    assert weights.features[:5] == ("residual", "cosine", "late", "worst", "uncovered")
    assert weights == train_weights(dataset, embedder)


def test_the_combined_backend_keeps_the_interface(learnt: tuple[Dataset, Weights], embedder: Any) -> None:
    backend = CombinedBackend(embedder, learnt[1])
    assert isinstance(backend, Backend)
    together = backend.score(CLAIMS, EVIDENCE)
    assert together.tolist() == [backend.score([c], [e])[0] for c, e in zip(CLAIMS, EVIDENCE, strict=True)]
    assert together[3] == 1.0
    assert together[0] < together[1]
    odd = ["", "\x00", "word " * 20_000]
    assert np.isfinite(backend.score(odd, [["the old mill"], [""], odd])).all()


def test_weights_of_another_model_are_refused(learnt: tuple[Dataset, Weights], embedder: Any) -> None:
    with pytest.raises(GateError, match="model: got 53aa"):
        CombinedBackend(embedder, Weights(**{**vars(learnt[1]), "model": "f" * 64}))


def test_a_set_without_both_sides_cant_be_learnt_from(embedder: Any, written: Callable[..., Path]) -> None:
    records = [{"claim": f"c {i}", "evidence": [f"e {i}"], "label": "supported"} for i in range(6)]
    with pytest.raises(GateError, match="supported claims and 0 others; allowed: both"):
        train_weights(load_dataset(written(records)), embedder)
