"""``solvent gate build``: the lab's gate, measured anew with the real model from the sentences of the catalogue."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from solvent.lab.params import LabParams
from solvent_experiments.files import write_json
from solvent_experiments.progress import shown_on

__all__ = ["DOMAIN_FILE", "build_gate", "check_gate", "domain_report"]

DOMAIN_FILE = "lab_domain.json"
PAGES = 1024
TOLERANCE = 2e-6
"""How far inner products may be from those of another machine: float32 sums of another order."""


def build_gate(
    params: LabParams, catalogue: Path | None, folder: Path, model: str | None, console: Console
) -> tuple[Any, ...]:
    """Measure, learn and write tables, policies, the report on the domain and the words; return the policies.

    Everything is written beside the folder's files and moved into it at the end, the policies last: until then what is
    there names other tables, and is refused.

    Raises:
        GateError: no model, a catalogue that can't be used.
        OSError: a folder that can't be written.
    """
    from solvent.gate.policy_files import save_policies
    from solvent.lab.words.catalogue import CATALOGUE
    from solvent.lab.words.measured import (
        LAB_POLICIES,
        LAB_TABLES,
        lab_policies,
        load_lab_tables,
        save_lab_tables,
    )
    from solvent_experiments import lab_policies as build

    words = (catalogue or CATALOGUE).read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    tables, vectors = _measured(params, catalogue, model, console)
    with tempfile.TemporaryDirectory(prefix=".gate-", dir=folder) as made:
        fresh = Path(made)
        save_lab_tables(fresh / LAB_TABLES.name, tables)
        kept = load_lab_tables(fresh / LAB_TABLES.name)
        sample = build.domain_sample(params, kept, build.domain_pages(params, PAGES), vectors)
        policies = build.learn_policies(sample, kept)
        report = domain_report(sample, policies)
        write_json(fresh / DOMAIN_FILE, report)
        (fresh / CATALOGUE.name).write_bytes(words)
        save_policies(fresh / LAB_POLICIES.name, policies)
        for name in (CATALOGUE.name, LAB_TABLES.name, DOMAIN_FILE, LAB_POLICIES.name):
            (fresh / name).replace(folder / name)
    load_lab_tables.cache_clear()
    lab_policies.cache_clear()
    console.print(acceptance_table(report))
    return policies


def domain_report(sample: Any, policies: Sequence[Any]) -> dict[str, Any]:
    """What the policies do with the claims about the pages that they were not learnt on."""
    from solvent_experiments import lab_policies as build

    return {
        "pages": PAGES,
        "claims": int((sample.kind != build.OFF_COMPOUND).sum()),
        "thresholds": {policy.name: [policy.tau_accept, policy.tau_review] for policy in policies},
        "held_out": build.acceptance_by_kind(sample, policies),
        "held_out_by_residual_alone": build.acceptance_by_kind(sample, policies, numbers=False),
    }


def check_gate(
    params: LabParams, catalogue: Path | None, folder: Path | None, model: str | None, console: Console
) -> bool:
    """Whether what is in ``folder`` is what would be built now; says what differs.

    Raises:
        GateError: no model, or tables that can't be read.
    """
    import numpy as np

    from solvent.lab.words.measured import LAB_POLICIES, LAB_TABLES, lab_policies, load_lab_tables
    from solvent_experiments import lab_policies as build

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
    from solvent.gate.embedding import SentenceEmbedder
    from solvent.lab.words.catalogue import CATALOGUE, load_catalogue
    from solvent_experiments import lab_policies as build

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
