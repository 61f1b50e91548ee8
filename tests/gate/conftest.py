"""What the gate's tests share: claims of published data, the real model, and an embedder of words that needs none."""

from __future__ import annotations

import functools
import hashlib
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from solvent.files import now
from solvent.gate import Policy
from solvent.gate.calibration import Measured
from solvent.gate.data import Sample, load_dataset
from solvent.gate.reviews import Decision, Judged

MILLS = {"kind": "adaptive", "label": "P10", "domain": "mills", "model": "words", "oracle": "first"}
P10 = Policy(tau_accept=0.4559, **MILLS)
REVIEWED = Policy(tau_accept=0.4, calibration_count=1000, **MILLS)
SPANS = np.eye(8)[:4]


def at(energy):
    """A claim that ``SPANS`` leave unexplained by ``energy``."""
    return np.sqrt(1.0 - energy) * np.eye(8)[0] + np.sqrt(energy) * np.eye(8)[7]


def units(seed, n, d=16):
    """Random vectors of length 1, [n, d]."""
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rows_of(gaps, random=0.5, *, oracle=0.0):
    """Measured claims with these gaps."""
    samples = [Sample(f"s{i}", f"claim {i}", ("a",), group=f"g{i}") for i in range(len(gaps))]
    numbers = zip(samples, gaps, np.broadcast_to(random, len(gaps)), strict=True)
    return [Measured(sample, gap, oracle, gap, other, 0.5) for sample, gap, other in numbers]


def judged(number, gap=0.45, verdict="review", checks=(), policy=REVIEWED, weights=""):
    """A verdict of a store, by a model with these weights; ``checks`` object to it."""
    names = dict.fromkeys(["quotes", *checks])
    return Judged(
        id=f"{number:012x}", claim_id=f"c{number}", claim=f"claim {number}", evidence=("a",), domain="mills",
        model="words", model_fingerprint=weights, judged_at=now(), policy=policy, verdict=verdict,
        hallucination_energy=max(gap, 0.0), energy_gap=gap, policy_applied=policy.name, oracle_energy=0.0,
        oracle_spread=0.0, reasons=("said",), failure_modes=(),
        checks=tuple({"name": name, "fired": name in checks} for name in names),
    )  # fmt: skip


def decided(rows, choice="decline"):
    """A person's decisions on verdicts."""
    return {row.id: Decision(id=row.id, choice=choice, who="Ada", why="so", decided_at=now()) for row in rows}


class WordEmbedder:
    """A vector for each word, added up: texts with words in common are near, and nothing has to be installed."""

    name = "words"
    package = "none"
    dimension = 64
    fingerprint = "0" * 64

    def encode(self, texts):
        rows = np.array([self._row(text) for text in texts]).reshape(len(texts), self.dimension)
        unit: NDArray[np.float64] = np.round(rows / np.linalg.norm(rows, axis=1, keepdims=True), 7)
        return unit

    def _row(self, text):
        return np.array([self._word(word) for word in text.lower().split() or [""]]).sum(axis=0)

    @functools.cache  # noqa: B019 - one embedder lives as long as the tests
    def _word(self, word):
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big")
        return np.random.default_rng(seed).standard_normal(self.dimension)


@pytest.fixture(scope="session")
def words():
    return WordEmbedder()


@pytest.fixture(scope="session")
def embedder():
    """The real model."""
    pytest.importorskip("sentence_transformers", reason="the extra `gate` is not installed")
    from solvent.gate import GateError, SentenceEmbedder

    try:
        return SentenceEmbedder()
    except GateError as error:
        pytest.skip(str(error))


@pytest.fixture
def written(tmp_path):
    """Writes records as JSONL, or a text or bytes as they are, and says where."""

    def write(content, name="claims.jsonl"):
        if isinstance(content, list):
            content = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in content)
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


WORDS = """
    lamp river stone violin harbour copper garden engine window mountain bridge pepper candle forest planet mirror
    island winter carpet silver pencil market desert orchid tunnel falcon marble ribbon anchor thunder
"""
THINGS = WORDS.split()


def small_set(size=30):
    """Claims about one thing each: supported, refuted or without enough information, one to three spans each."""
    records: list[dict[str, Any]] = []
    for i in range(size):
        thing, number = THINGS[i % len(THINGS)], 100 + i
        spans = [f"the old {thing} {number} was built near the {thing} museum of town {number}"]
        spans += [f"every {thing} {number} needs repair in year {number + k}" for k in range(i % 3)]
        kinds = {
            "supported": f"the old {thing} {number} was built near the museum",
            "refuted": f"the new {thing} {number} was never built",
            "nei": f"the {thing} {number} won several prizes abroad",
        }
        shared = {"evidence": spans, "page": f"{thing} {number}"}
        records += [
            shared | {"id": f"{i}-{label}", "label": label, "claim": claim} for label, claim in kinds.items()
        ]
    return records


@pytest.fixture(scope="session")
def dataset(tmp_path_factory):
    """The samples of the small set, read from a file."""
    path = tmp_path_factory.mktemp("small") / "small.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in small_set()))
    return load_dataset(path)[0]
