"""Speed of the verity gate: the embedding, claims with and without their evidence, the measurement alone.

    python -m benchmarks.gate                   FEVEROUS from SOLVENT_DATA or ../shared/data, else invented sentences
    python -m benchmarks.gate --claims 60       quicker

Prints median and fastest of several turns in claims or texts per second, uncached unless the row says so. A claim with
its evidence is several texts, and embedding them dominates. The target is 200 claims per second on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from itertools import chain
from pathlib import Path

# Set before the import of numpy: threads in its small matrix products would compete with ours.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.measure import Case, machine, measure
from solvent.gate.embedding import SentenceEmbedder
from solvent.gate.measurement import (
    gram_energy,
    hallucination_energy,
    oracle_gap,
)

ROOT = Path(__file__).resolve().parent.parent
TARGET = 200.0

Claims = list[tuple[str, list[str]]]


def read_claims(count: int) -> tuple[str, Claims]:
    data = Path(os.environ.get("SOLVENT_DATA") or ROOT.parent / "shared" / "data") / "feverous" / "norm.jsonl"
    if not data.is_file():
        return "invented sentences", invented(count)
    with data.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    step = max(1, len(records) // count)
    return "FEVEROUS", [(record["claim"], record["evidence"]) for record in records[::step][:count]]


def invented(count: int) -> Claims:
    rng = np.random.default_rng(0)
    words = ["cell", "the", "copper", "in", "receptor", "was", "measured", "1987", "before", "of", "membrane"]
    said = [" ".join(rng.choice(words, size=24)) for _ in range(4 * count)]
    return [(said[4 * i], said[4 * i + 1 : 4 * i + 4]) for i in range(count)]


def embedding_cases(claims: Claims, threads: int | None) -> list[Case]:
    uncached = SentenceEmbedder(cache=None, threads=threads)
    texts = list(dict.fromkeys(chain.from_iterable([claim, *spans] for claim, spans in claims)))
    known = dict(zip(texts, uncached.encode(texts), strict=True))

    def with_evidence() -> None:
        rows = dict(zip(texts, uncached.encode(texts), strict=True))
        for claim, spans in claims:
            oracle_gap(rows[claim], np.array([rows[span] for span in spans]))

    def evidence_known() -> None:
        rows = uncached.encode([claim for claim, _ in claims])
        for row, (_, spans) in zip(rows, claims, strict=True):
            oracle_gap(row, np.array([known[span] for span in spans]))

    return [
        Case("texts embedded", len(texts), lambda: uncached.encode(texts)),
        Case("claims embedded", len(claims), lambda: uncached.encode([claim for claim, _ in claims])),
        library_case(claims, uncached),
        Case("claims judged, evidence known", len(claims), evidence_known),
        Case("claims judged, nothing known", len(claims), with_evidence),
        cached_case(claims, texts, uncached),
    ]


def library_case(claims: Claims, uncached: SentenceEmbedder) -> Case:
    """Return the case of the plain library, without this embedder: batches of 32, a thread per core."""
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(uncached._files.folder), device="cpu", local_files_only=True)
    texts = [claim for claim, _ in claims]

    def encode() -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(os.cpu_count() or 1)
        model.encode(texts, batch_size=32, show_progress_bar=False)
        torch.set_num_threads(before)

    return Case("  by the library, in batches", len(claims), encode)


def cached_case(claims: Claims, texts: list[str], uncached: SentenceEmbedder) -> Case:
    folder = tempfile.TemporaryDirectory()
    cached = SentenceEmbedder(cache=folder.name)
    cached._model = uncached._loaded()
    cached.encode(texts)

    def judge() -> None:
        rows = dict(zip(texts, cached.encode(texts), strict=True))
        for claim, spans in claims:
            oracle_gap(rows[claim], np.array([rows[span] for span in spans]))

    return Case("claims judged, all of it cached", len(claims), judge, close=folder.cleanup)


def measurement_cases() -> list[Case]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 384)) / np.sqrt(384) + 0.05
    claim, *spans = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    evidence = np.array(spans)
    x, gram = evidence @ claim, evidence @ evidence.T
    return [
        Case("energy by vectors, 5 spans", 1, lambda: hallucination_energy(claim, evidence)),
        Case("energy by products, 5 spans", 1, lambda: gram_energy(x, gram)),
    ]


def table(cases: list[Case], turns: int, seconds: float) -> dict[str, float]:
    print(f"\n{'a second':36}{'median':>12}{'fastest':>12}")
    rows = measure(cases, turns, seconds)
    for row in rows:
        print(f"{row.name:36}{row.median:12,.0f}{row.fastest:12,.0f}", flush=True)
    return {row.name: row.median for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--claims", type=int, default=120, help="claims (default: 120)")
    parser.add_argument(
        "--threads", type=int, default=None, help="texts at a time (default: one a core, at most 4)"
    )
    parser.add_argument(
        "--turns", type=int, default=5, help="turns, of which the median is shown (default: 5)"
    )
    options = parser.parse_args()
    print("  ".join(f"{key} {value}" for key, value in machine().items()))
    source, claims = read_claims(options.claims)
    texts = sum(1 + len(spans) for _, spans in claims)
    print(f"{len(claims)} claims of {source}, {texts / len(claims):.1f} texts each with their evidence")
    medians = table(embedding_cases(claims, options.threads), options.turns, 1.0)
    for name in ("claims judged, evidence known", "claims judged, nothing known"):
        verdict = "reached" if medians[name] >= TARGET else "missed"
        print(f"{TARGET:.0f} {name}: {verdict}")
    table(measurement_cases(), options.turns, 0.2)


if __name__ == "__main__":
    main()
