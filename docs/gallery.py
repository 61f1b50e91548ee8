"""Keep small copies of a run's figures for docs/gallery.md: `python docs/gallery.py runs/gallery`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

OUT = Path(__file__).resolve().parent / "img" / "gallery"
WIDTH = 1100  # pixels: the column of the site at one and a half times its size


def main(run: Path) -> None:
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("*.png"):
        old.unlink()
    for path in sorted((run / "figures").glob("*.png")):
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((WIDTH, 2 * WIDTH))
        picture.quantize().save(OUT / path.name, optimize=True)
    print(f"{OUT}: {sum(path.stat().st_size for path in OUT.glob('*.png')) / 1024:.0f} KB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
