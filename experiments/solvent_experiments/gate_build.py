"""``solvent gate build``: the lab's gate, measured anew with the real model from the sentences of the catalogue."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from solvent.params import LabParams
from solvent_experiments.documents import ConfigError
from solvent_experiments.files import write_json
from solvent_experiments.progress import shown_on

__all__ = ["DOMAIN_FILE", "build_gate", "check_gate"]

DOMAIN_FILE = "lab_domain.json"
PAGES = 1024
TOLERANCE = 2e-6
"""How far inner products may be from those of another machine: float32 sums of another order."""


def build_gate(
    params: LabParams, catalogue: Path | None, out: Path | None, model: str | None, console: Console
) -> tuple[Any, ...]:
    """Measure, learn and write; return the policies.

    Raises:
        GateError: no model, a catalogue that can't be used, a folder that can't be written.
    """
    from solvent.gate import build
    from solvent.gate.lab_tables import LAB_POLICIES, LAB_TABLES, load_lab_tables, save_lab_tables
    from solvent.gate.policy_files import save_policies

    folder = LAB_TABLES.parent if out is None else out
    if not folder.is_dir():
        raise ConfigError("no such folder; allowed: one that exists", file=folder)
    tables, vectors = _measured(params, catalogue, model, console)
    path = folder / LAB_TABLES.name
    save_lab_tables(path, tables)
    load_lab_tables.cache_clear()
    kept = load_lab_tables(path)
    sample = build.domain_sample(params, kept, build.domain_pages(params, PAGES), vectors)
    policies = build.learn_policies(sample, kept)
    save_policies(folder / LAB_POLICIES.name, policies)
    report = {
        "pages": PAGES,
        "claims": int((sample.kind != build.OFF_COMPOUND).sum()),
        "thresholds": {policy.name: [policy.tau_accept, policy.tau_review] for policy in policies},
        "held_out": build.acceptance_by_kind(sample, policies),
        "held_out_by_residual_alone": build.acceptance_by_kind(sample, policies, numbers=False),
    }
    write_json(folder / DOMAIN_FILE, report)
    console.print(acceptance_table(report))
    return policies


def check_gate(
    params: LabParams, catalogue: Path | None, folder: Path | None, model: str | None, console: Console
) -> bool:
    """Whether what is in ``folder`` is what would be built now; says what differs.

    Raises:
        GateError: no model, or tables that can't be read.
    """
    import numpy as np

    from solvent.gate import build
    from solvent.gate.lab_tables import LAB_POLICIES, LAB_TABLES, lab_policies, load_lab_tables

    where = LAB_TABLES.parent if folder is None else folder
    kept = load_lab_tables(where / LAB_TABLES.name)
    fresh, _ = _measured(params, catalogue, model, console)
    policies = build.learn_policies(
        build.domain_sample(params, kept, build.domain_pages(params, PAGES)), kept
    )
    gap = float(np.abs(kept.gram - fresh.gram).max()) if kept.gram.shape == fresh.gram.shape else np.inf
    same = {
        "sentences": kept.about["catalogue_sha256"] == fresh.about["catalogue_sha256"],
        "model": kept.about["model_sha256"] == fresh.about["model_sha256"],
        f"inner products (furthest apart: {gap:.1e}, allowed: {TOLERANCE:.0e})": gap <= TOLERANCE,
        "numbers": np.array_equal(kept.stands, fresh.stands),
        "policies": lab_policies(where / LAB_POLICIES.name) == policies,
    }
    for name, holds in same.items():
        console.print(f"{'same' if holds else '[bold red]differs[/]'}  {name}")
    return all(same.values())


def _measured(
    params: LabParams, catalogue: Path | None, model: str | None, console: Console
) -> tuple[Any, Any]:
    """The lab's tables and vectors from the real model, with a bar."""
    from solvent.gate import build
    from solvent.gate.catalogue import CATALOGUE, load_catalogue
    from solvent.gate.embedding import SentenceEmbedder

    words = load_catalogue(CATALOGUE if catalogue is None else catalogue)
    total = len(params.assay.compounds)
    with shown_on(console) as shown:

        def ticking(stage: str) -> Callable[[], None]:
            done = itertools.count(1)
            shown.update("gate", stage, 0, total, "compounds")
            return lambda: shown.update("gate", stage, next(done), total, "compounds")

        shown.begin("gate")
        embedder = SentenceEmbedder(model)
        vectors = build.lab_vectors(params, words, embedder, ticking("embedding the sentences"))
        tables = build.build_lab_tables(params, words, embedder, vectors, ticking("reading the numbers"))
        shown.end("gate", f"measured with {embedder.name} ({embedder.package})")
    return tables, vectors


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
