"""Options shared by the commands of ``solvent gate``: claims, model, sampling."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.instruments.options import Quiet, SkipBroken

if TYPE_CHECKING:
    from solvent.gate.datasets import Dataset
    from solvent.gate.embedding import SentenceEmbedder
    from solvent.gate.measurement import Oracle

__all__ = [
    "Claims",
    "DatasetPath",
    "Measuring",
    "Model",
    "OracleName",
    "RankR",
    "Seed",
    "TopK",
    "oracle_of",
    "percentiles_of",
]

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
Seed = Annotated[
    int, typer.Option(min=0, help="Seed of the draw, the mismatched evidence and the bootstrap.")
]
TopK = Annotated[int, typer.Option(min=1, max=1000, help="Number of nearest spans that count.")]
OracleName = Annotated[
    str | None,
    typer.Option(
        "--oracle",
        metavar="medoid|first|none",
        help="Oracle of the gap; `first` is the source's.  [default: medoid]",
        show_default=False,
    ),
]
RankR = Annotated[int, typer.Option(min=1, max=1000, help="Number of directions that count.")]


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


def oracle_of(name: str | None) -> Oracle:
    """Return an oracle by its name, the medoid by default."""
    from solvent.gate.measurement import Oracle

    for known in get_args(Oracle):
        if name in (None, known):
            return known  # type: ignore[no-any-return]
    raise ConfigError(f"--oracle: got {name!r:.40}; allowed: {', '.join(get_args(Oracle))}")


def percentiles_of(text: str) -> list[float]:
    """Return the numbers of ``1,5,10``; raise ConfigError unless all are above 0, up to 100."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0.0 < value <= 100.0 for value in values):
        raise ConfigError(
            f"--percentiles: got {text!r:.40}; allowed: numbers above 0, up to 100, such as 1,5,10,20,30"
        )
    return values
