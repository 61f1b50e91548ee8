"""Speed of the verity gate: whole verdicts, the embedding, the measurement alone.

    python -m benchmarks.gate                   FEVEROUS from SOLVENT_DATA or ../shared/data, else invented sentences
    python -m benchmarks.gate --claims 100      quicker

Prints median and fastest of several turns in verdicts or texts per second of one core. A verdict is the whole of
``evaluate_text``: legibility, measurement, policy, failure modes and checks on the words. A claim with its evidence is
several texts; embedding them takes most of the time where nothing is known.
"""

from __future__ import annotations

import argparse
import json
import os
from itertools import chain
from pathlib import Path

# Set before the import of numpy: threads in its small matrix products would compete with ours.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.measure import Case, machine, measure
from solvent.gate.backends import RememberingEmbedder
from solvent.gate.embedding import SentenceEmbedder, one_torch_thread
from solvent.gate.measurement import gram_energy, hallucination_energy
from solvent.gate.policy import FIXED
from solvent.gate.verdict import evaluate_text

ROOT = Path(__file__).resolve().parent.parent

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


def embedding_cases(claims: Claims) -> list[Case]:
    uncached = SentenceEmbedder(cache=None, threads=1)
    texts = list(dict.fromkeys(chain.from_iterable([claim, *spans] for claim, spans in claims)))
    known = RememberingEmbedder(uncached)
    known.warm(texts)
    known.unread(texts)

    def judge(embedder: RememberingEmbedder) -> None:
        for claim, spans in claims:
            evaluate_text(claim, spans, embedder, FIXED["strict"])

    def nothing_known() -> None:
        fresh = RememberingEmbedder(uncached)
        fresh.warm(texts)
        judge(fresh)

    return [
        Case("verdicts, nothing known", len(claims), nothing_known),
        Case("verdicts, vectors known", len(claims), lambda: judge(known)),
        Case("texts embedded", len(texts), lambda: uncached.encode(texts)),
        library_case(texts, uncached),
    ]


def library_case(texts: list[str], uncached: SentenceEmbedder) -> Case:
    """Return the case of the plain library, without this embedder: padded batches of 32."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(uncached._files.folder), device="cpu", local_files_only=True)

    def encode() -> None:
        with one_torch_thread():
            model.encode(texts, batch_size=32, show_progress_bar=False)

    return Case("  by the library, in padded batches", len(texts), encode)


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


def table(cases: list[Case], turns: int, seconds: float) -> None:
    print(f"\n{'a second':36}{'median':>12}{'fastest':>12}")
    for row in measure(cases, turns, seconds):
        print(f"{row.name:36}{row.median:12,.0f}{row.fastest:12,.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--claims", type=int, default=400, help="claims (default: 400)")
    parser.add_argument(
        "--turns", type=int, default=5, help="turns, of which the median is shown (default: 5)"
    )
    options = parser.parse_args()
    print("  ".join(f"{key} {value}" for key, value in machine().items()))
    source, claims = read_claims(options.claims)
    texts = sum(1 + len(spans) for _, spans in claims)
    print(f"{len(claims)} claims of {source}, {texts / len(claims):.1f} texts each with their evidence")
    table(embedding_cases(claims), options.turns, 1.0)
    table(measurement_cases(), options.turns, 0.2)


if __name__ == "__main__":
    main()
