"""What the instruments say: adequacy on its labelled sets, the gate on claims, prices of tools."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import solvent
from solvent.adequacy import calls_of, score
from solvent.energy import CATEGORIES, energy_for_tool
from solvent.gate import FIXED
from solvent.gate.checks import run_checks

ROOT = Path(solvent.__file__).parents[2]
DATA = Path(os.environ.get("SOLVENT_DATA") or ROOT.parent / "shared" / "data")
PUBLIC = ("feverous", "fever_symmetric", "begin")
CLAIMS_PER_SET = 60
EXAMPLES = ("labelled_dev", "labelled_held_out", "labelled_agents_dev", "labelled_agents_held_out")


def file_named(name: str) -> Path:
    """Return a file of the tree by its name, wherever it lies."""
    return next(path for folder in ("envs", "experiments", "tests") for path in (ROOT / folder).rglob(name))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def adequacy() -> dict[str, Any]:
    """Return each set's scores, ordered by id, and their agreement with the labels."""
    from sklearn.metrics import cohen_kappa_score

    found = {}
    for name in EXAMPLES:
        examples = sorted(lines(file_named(f"{name}.jsonl")), key=lambda example: example["id"])
        scored = [score(e["response"], calls_of(e["tool_calls"]), e["query"] or "") for e in examples]
        labels, scores = [e["epad"] for e in examples], [one.score for one in scored]
        kappa = cohen_kappa_score(labels, scores, weights="quadratic", labels=range(4))
        found[name] = {
            "labels": labels,
            "scores": scores,
            "escalated": [int(one.escalate) for one in scored],
            "escalations": sum(one.escalate for one in scored),
            "kappa": round(float(kappa), 6),
        }
    return found


def objections(groups: dict[str, list[tuple[str, list[str]]]]) -> dict[str, Any]:
    """Return to how many claims of each group each check on the words objects, and any of them."""
    found = {}
    for group, claims in sorted(groups.items()):
        fired = [[check.name for check in run_checks(*claim) if check.fired] for claim in claims]
        counts = Counter(name for names in fired for name in names)
        found[group] = {**counts, "any": sum(map(bool, fired)), "claims": len(claims)}
    return found


def gate() -> dict[str, Any]:
    """Return the objections to the labelled pairs by half and kind of change."""
    groups = defaultdict(list)
    for line in file_named("check_pairs.tsv").read_text(encoding="utf-8").splitlines():
        kind, span, supported, changed = line.split("\t")
        half = ("build", "unseen")[hashlib.sha256(span.encode()).digest()[0] % 2]
        groups[f"{half} supported"].append((supported, [span]))
        groups[f"{half} {kind}"].append((changed, [span]))
    return objections(groups)


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


def tool(row: dict[str, str]) -> tuple[dict[str, bool], dict[str, Any]]:
    """Return hints and schema of a labelled tool, from their short forms in the file."""
    hints = {f"{hint.removeprefix('!')}Hint": not hint.startswith("!") for hint in row["hints"].split()}
    properties: dict[str, dict[str, Any]] = {}
    for field in row["fields"].split():
        key, _, choices = field.partition("=")
        kind = {"type": "array"} if key.endswith("[]") else {}
        properties[key.removesuffix("[]")] = kind | ({"enum": choices.split("|")} if choices else {})
    return hints, {"properties": properties, "required": [str(i) for i in range(int(row["required"]))]}


def prices() -> dict[str, Any]:
    """Return category and cost of every labelled tool, ordered by server and name, and how many are right."""
    with file_named("labelled_tools.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["server"], row["tool"]))
    priced = [energy_for_tool(row["tool"], *tool(row)) for row in rows]
    rank = {name: i for i, name in enumerate(CATEGORIES)}
    floors = [CATEGORIES[row["least"]].floor or 0.0 for row in rows]
    at = [rank[one.category] for one in priced]
    return {
        "categories": at,
        "costs": [one.energy_cost for one in priced],
        "right": sum(rank[r["least"]] <= i <= rank[r["most"]] for r, i in zip(rows, at, strict=True)),
        "below floor": sum(one.energy_cost < floor for one, floor in zip(priced, floors, strict=True)),
    }
