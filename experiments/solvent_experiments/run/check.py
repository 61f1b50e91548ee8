"""``solvent check``, and the line of every other command that reads a run which is not whole."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.integrity import (
    SAME,
    altered,
    compared,
    finished_manifest,
    remedy,
    repairing,
)
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.run.console import say, suggest

__all__ = ["check_runs", "tell_altered"]


def check_runs(roots: Sequence[Path]) -> bool:
    """Say what is missing or changed in finished runs, and what to do next; return whether all are whole."""
    commands = []
    for folder in map(RunFolder, roots):
        artifacts = compared(folder, finished_manifest(folder))
        others = [one for one in artifacts if one.state != SAME]
        for one in others:
            say(f"{folder.root / one.name}: {one.state}; {remedy(one.name)}")
        if others:
            commands.append(repairing(folder))
        else:
            say(f"{folder.root}: all {len(artifacts)} files are as written")
    if commands:
        suggest(f"{', '.join(commands)} makes them again.")
    else:
        suggest(f"`solvent report {shlex.join(map(str, roots))}` shows tables, figures and episodes.")
    return not commands


def tell_altered(roots: Iterable[Path]) -> None:
    """Print a line on stderr for each run that is not whole."""
    for folder in map(RunFolder, roots):
        try:
            found = altered(compared(folder, finished_manifest(folder)))
        except ConfigError as error:
            say(f"solvent: {error}", stderr=True)
        else:
            if found:
                say(f"solvent: {folder.root}: {found}; {repairing(folder)} makes them again", stderr=True)
