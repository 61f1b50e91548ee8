"""What the gate says of published claims: objections to their words, residuals and verdicts."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import solvent
from solvent.gate import FIXED
from solvent.gate.checks import run_checks
from tests.labs import lines

ROOT = Path(solvent.__file__).parents[2]
DATA = Path(os.environ.get("SOLVENT_DATA") or ROOT.parent / "shared" / "data")
PUBLIC = ("feverous", "fever_symmetric", "begin")
CLAIMS_PER_SET = 60


def objections(groups: dict[str, list[tuple[str, list[str]]]]) -> dict[str, Any]:
    """Return to how many claims of each group each check on the words objects, and any of them."""
    found = {}
    for group, claims in sorted(groups.items()):
        fired = [[check.name for check in run_checks(*claim) if check.fired] for claim in claims]
        counts = Counter(name for names in fired for name in names)
        found[group] = {**counts, "any": sum(map(bool, fired)), "claims": len(claims)}
    return found


def public() -> dict[str, Any]:
    """Return the objections to published claims by label, and the residuals of some; nothing without the data."""
    if not DATA.is_dir():
        print(f"public: left out, there is no folder {DATA} (SOLVENT_DATA names another)")
        return {}
    sets = {name: lines(DATA / name / "norm.jsonl") for name in PUBLIC}
    groups = defaultdict(list)
    for name, claims in sets.items():
        for claim in claims:
            groups[f"{name} {claim['label']}"].append((claim["claim"], claim["evidence"]))
    chosen = [claim for claims in sets.values() for claim in claims[:: len(claims) // CLAIMS_PER_SET]]
    return {"objections": objections(groups), "residuals": residuals(chosen)}


def residuals(claims: list[dict[str, Any]]) -> dict[str, Any]:
    """Return energies, gaps and verdicts of claims."""
    from solvent.gate import SentenceEmbedder, evaluate_claim

    embedder = SentenceEmbedder()
    vectors = [embedder.encode([c["claim"], *c["evidence"]]) for c in claims]
    results = {  # as 0.2.0 did: each claim whole, and the medoid as oracle
        name: [
            evaluate_claim(v[0], v[1:], policy, texts=(c["claim"], c["evidence"]), oracle="medoid")
            for v, c in zip(vectors, claims, strict=True)
        ]
        for name, policy in FIXED.items()
    }
    energies = [result["hallucination_energy"] for result in results["standard"]]
    return {
        "energies": energies,
        "gaps": [result["energy_gap"] for result in results["standard"]],
        "decided": {name: [policy.decide(e) for e in energies] for name, policy in FIXED.items()},
        "verdicts": {name: [r["verdict"] for r in found] for name, found in results.items()},
    }
