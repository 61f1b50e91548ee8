"""Keep small copies of runs' figures for docs/gallery.md: `python docs/gallery.py runs/quickstart runs/gallery`.

A figure that several runs have is that of the first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

OUT = Path(__file__).resolve().parent / "img" / "gallery"
WIDTH = 1100  # pixels: the column of the site at one and a half times its size


def main(*runs: Path) -> None:
    figures = {path.name: path for run in reversed(runs) for path in (run / "figures").glob("*.png")}
    if not figures:
        sys.exit(f"no figures in {', '.join(map(str, runs)) or 'no run'}: `solvent figures RUN` draws them")
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("*.png"):
        old.unlink()
    for name, path in sorted(figures.items()):
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((WIDTH, 2 * WIDTH))
        picture.quantize(method=Image.Quantize.MAXCOVERAGE).save(OUT / name, optimize=True)
    print(f"{OUT}: {sum(path.stat().st_size for path in OUT.glob('*.png')) / 1024:.0f} KB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
