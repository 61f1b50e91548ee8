"""Options shared by the commands of ``solvent gate``: claims, model, sampling."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solvent_experiments.config.documents import ConfigError
from solvent_experiments.instruments.options import Quiet, SkipBroken

if TYPE_CHECKING:
    from solvent.gate.datasets import Dataset
    from solvent.gate.embedding import SentenceEmbedder
    from solvent.gate.sweep import SweepSettings

__all__ = ["DatasetPath", "Learning", "Measuring", "Model", "Sampling", "Seed"]

DatasetPath = Annotated[
    Path,
    typer.Option(
        "--dataset",
        metavar="PATH",
        help="Claims with evidence: JSON lines with claim, evidence and label, or FEVEROUS's official lines.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|NAME",
        help="Embedding model: a folder or a sentence-transformers name.  [default: all-MiniLM-L6-v2]",
    ),
]
Claims = Annotated[int, typer.Option("--n", min=0, help="Claims to draw; 0 takes all.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the draw, the mismatched evidence and the bootstrap.")]
TopK = Annotated[int, typer.Option(min=1, max=1000, help="Spans that count, nearest first.")]
RankR = Annotated[int, typer.Option(min=1, max=1000, help="Directions that count.")]


@dataclass(frozen=True)
class Measuring:
    """The model and the reading of a data set; ``quiet`` hides progress."""

    model: Model = None
    wiki_db: Annotated[
        Path | None,
        typer.Option(
            "--wiki-db",
            metavar="PATH",
            help="FEVEROUS's SQLite database of pages, for evidence given as ids.",
        ),
    ] = None
    skip_broken: SkipBroken = False
    quiet: Quiet = False

    def data(self, path: Path) -> Dataset:
        from solvent.gate.datasets import load_dataset

        return load_dataset(path, wiki_db=self.wiki_db, skip_broken=self.skip_broken)

    def embedder(self, *, cached: bool = True) -> SentenceEmbedder:
        from solvent.gate.embedding import SentenceEmbedder

        return SentenceEmbedder(self.model, cache="default" if cached else None)

    def progress(self, label: str) -> AbstractContextManager[Callable[[str, int, int], None]]:
        from solvent_experiments.instruments.terminal import progress

        return progress(label, quiet=self.quiet)


@dataclass(frozen=True)
class Sampling:
    """The number of claims, their draw, and the spans and directions that count."""

    n: Claims = 0
    seed: Seed = 0
    top_k: TopK = 12
    rank_r: RankR = 8


@dataclass(frozen=True)
class Learning:
    """Settings of a sweep."""

    n: Claims = 100
    seed: Seed = 0
    percentiles: Annotated[str, typer.Option(metavar="P,P,...", help="Percentiles of the gaps.")] = (
        "1,5,10,20,30"
    )
    budget: Annotated[
        float, typer.Option(help="Share of mismatched claims that the negative control may accept.")
    ] = 0.05
    top_k: TopK = 12
    rank_r: RankR = 8

    def settings(self) -> SweepSettings:
        """Return the settings of the sweep; percentiles are above 0, up to 100."""
        from solvent.gate.sweep import SweepSettings

        try:
            values = [float(part) for part in self.percentiles.split(",")]
        except ValueError:
            values = []
        if not values or not all(0.0 < value <= 100.0 for value in values):
            raise ConfigError(
                f"--percentiles: got {self.percentiles!r:.40}; allowed: numbers above 0, up to 100, such as "
                "1,5,10,20,30"
            )
        return SweepSettings(self.n or None, self.seed, self.top_k, self.rank_r, values, self.budget)
