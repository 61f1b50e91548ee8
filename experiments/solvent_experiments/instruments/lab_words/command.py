"""``solvent gate build``: the lab's words, measured anew with the real instruments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from solvent.lab.params import LabParams
from solvent.lab.words.catalogue import CATALOGUE, load_catalogue
from solvent.lab.words.measured import SHIPPED, Measured, load_measured, save_measured
from solvent_experiments.run.progress import shown_on

__all__ = ["build_words", "check_words"]

TOLERANCE = 2e-6
"""How far inner products may be from those of another machine: float32 sums of another order."""


def build_words(
    params: LabParams, catalogue: Path | None, folder: Path, model: str | None, console: Console
) -> Measured:
    """Measure, and write the measurements and the words beside them; the measurements last, whole or not at all.

    Raises:
        GateError, WordsError: no model, a catalogue that can't be used.
        OSError: a folder that can't be written.
    """
    words = (catalogue or CATALOGUE).read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    measured = _measured(params, catalogue, model, console)
    if (folder / CATALOGUE.name).resolve() != CATALOGUE.resolve():
        (folder / CATALOGUE.name).write_bytes(words)
    save_measured(folder / SHIPPED.name, measured)
    load_measured.cache_clear()
    console.print(acceptance_table(measured.about["domain"]))
    return load_measured(folder / SHIPPED.name)


def check_words(
    params: LabParams, catalogue: Path | None, folder: Path | None, model: str | None, console: Console
) -> bool:
    """Return whether what is in ``folder`` is what would be built now, and print what differs.

    Raises:
        GateError, WordsError: no model, or measurements that can't be read.
    """
    kept = load_measured((SHIPPED.parent if folder is None else folder) / SHIPPED.name)
    fresh = _measured(params, catalogue, model, console)
    gap = float(np.abs(kept.gram - fresh.gram).max()) if kept.gram.shape == fresh.gram.shape else np.inf
    learnt = [
        abs(a - b)
        for old, new in zip(kept.policies, fresh.policies, strict=True)
        for a, b in zip(old[1:], new[1:], strict=True)
    ]
    same = {
        "sentences": kept.about["catalogue_sha256"] == fresh.about["catalogue_sha256"],
        "model": kept.about["model_sha256"] == fresh.about["model_sha256"],
        f"inner products (furthest apart: {gap:.1e}, allowed: {TOLERANCE:.0e})": gap <= TOLERANCE,
        "numbers": np.array_equal(kept.stands, fresh.stands),
        "words against plates": np.array_equal(kept.rules, fresh.rules)
        and np.array_equal(kept.negatives, fresh.negatives),
        "policies": max(learnt) <= TOLERANCE,
        "corrections": kept.corrections == fresh.corrections,
    }
    for name, holds in same.items():
        console.print(f"{'same' if holds else '[bold red]differs[/]'}  {name}")
    return all(same.values())


def _measured(params: LabParams, catalogue: Path | None, model: str | None, console: Console) -> Measured:
    """The lab's words measured with the real model, with a bar."""
    from solvent.gate.embedding import SentenceEmbedder
    from solvent_experiments.instruments.lab_words.build import measure

    words = load_catalogue(CATALOGUE if catalogue is None else catalogue)
    total = len(params.assay.compounds)
    with shown_on(console) as shown:
        stages: dict[str, Callable[[], int]] = {}

        def tick(stage: str) -> None:
            counter = stages.setdefault(stage, itertools.count(1).__next__)
            shown.update("words", stage, counter(), total, "compounds")

        shown.begin("words")
        embedder: Any = SentenceEmbedder(model)
        measured = measure(params, words, embedder, tick)
        shown.end("words", f"measured with {embedder.name} ({embedder.package})")
    return measured


def acceptance_table(report: dict[str, Any]) -> Table:
    """What each policy does with each kind of claim, on the pages that it was not learnt on."""
    table = Table(
        title="accepted, and reviewed, of the claims about held-out pages, %",
        caption="right: as its page has it; premature: stronger words than its fit; wrong: of another class; "
        "off_compound: of another compound",
    )
    kinds = list(next(iter(report["held_out"].values())))
    table.add_column("policy")
    table.add_column("accept up to", justify="right")
    for kind in kinds:
        table.add_column(kind, justify="right")
        table.add_column("residual alone", justify="right", style="dim")
    for name, (accept, _) in report["thresholds"].items():
        row = [name, f"{accept:.4f}"]
        for kind in kinds:
            for part in ("held_out", "held_out_by_residual_alone"):
                shares = report[part][name][kind]
                row.append(f"{100 * shares['accept']:.1f} + {100 * shares['review']:.1f}")
        table.add_row(*row)
    return table
