"""The command ``solvent``, also as ``python -m solvent_experiments``."""

from __future__ import annotations

import os
import sys

from solvent.lab.announcement import share_announcement

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say in one line which extra it needs."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's: more than free cores are many times slower
    share_announcement()  # with the workers of a run
    try:
        from solvent_experiments import cli
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("solvent"):
            raise
        from solvent.extras import install

        needed = install("experiments")
        print(f"solvent: the command line needs the package {error.name}: {needed}", file=sys.stderr)
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    main()
