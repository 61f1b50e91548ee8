"""Whether a finished run is whole: its files, compared with the hashes in its manifest."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from solvent_experiments.artifacts.files import sha256
from solvent_experiments.artifacts.folder import ENDPOINT, POLICY, TRANSCRIPTS, RunFolder, Unit
from solvent_experiments.artifacts.manifest import BLANK, is_artifact, read_manifest
from solvent_experiments.config.documents import ConfigError

__all__ = [
    "SAME",
    "Artifact",
    "altered",
    "compared",
    "finished_manifest",
    "remedy",
    "repairing",
    "set_changed_aside",
]

MOST_NAMED = 5
SAME, CHANGED, MISSING = "as written", "changed since", "missing"


class Artifact(NamedTuple):
    """A file of the run: its hash in the manifest, and its state now."""

    name: str
    sha256: str
    state: str


def finished_manifest(folder: RunFolder) -> Mapping[str, Any]:
    """Return the manifest of a run. Raise ConfigError unless the run is finished."""
    if not folder.config.exists() and not folder.manifest.exists():
        raise ConfigError(
            "no run; allowed: a folder that `solvent run` wrote (with a config.yaml)", file=folder.root
        )
    manifest = read_manifest(folder.manifest) if folder.manifest.exists() else BLANK
    if not manifest["finished"]:
        raise ConfigError(
            "not finished; allowed: a finished run (the command that made it resumes it)", file=folder.root
        )
    return manifest


def compared(folder: RunFolder, manifest: Mapping[str, Any]) -> tuple[Artifact, ...]:
    """Return the files that the manifest names, with their states; reports may be written again and don't count."""
    return tuple(
        Artifact(name, digest, _state(folder.root / name, digest))
        for name, digest in manifest["artifacts"].items()
        if is_artifact(name)
    )


def _state(path: Path, digest: str) -> str:
    if not path.is_file():
        return MISSING
    return SAME if sha256(path) == digest else CHANGED


def altered(artifacts: Sequence[Artifact]) -> str:
    """Return the files that differ from the manifest, in one line; empty if none does."""
    others = [artifact for artifact in artifacts if artifact.state != SAME]
    named = [f"{artifact.name} ({artifact.state})" for artifact in others[:MOST_NAMED]]
    more = [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    return f"changed since the run: {', '.join(named + more)}" if others else ""


def repairing(folder: RunFolder) -> str:
    """Return the command that makes missing and changed files again; the manifest's own is anyone's text."""
    config = shlex.quote(str(folder.config)) if folder.config.exists() else "CONFIG"
    return f"`solvent run {config} --out {shlex.quote(str(folder.root))}`"


def remedy(name: str) -> str:
    """Return how the repairing command makes a file again."""
    folder, _, file = name.rpartition("/")
    if not folder:
        return "written again" if file == "config.yaml" else "joined again from the agents' tables"
    if folder == "figures":
        return "drawn again"
    if file in (TRANSCRIPTS, ENDPOINT):
        return "`solvent llm run` plays it again; answers that are in the cache are not paid for twice"
    agent, _, seed = folder.partition("/seed-")
    unit = f"{agent} seed {seed}" if seed else agent
    return f"{unit} is {'trained and evaluated' if file in POLICY else 'evaluated'} again"


def set_changed_aside(
    folder: RunFolder, units: Sequence[Unit], manifest: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """Rename the units' files that are not as in the manifest, so that the run makes them again.

    Returns:
        The hashes of the units that are still finished, and a line for each file that is not as written.
    """
    others = {one.name: one.state for one in compared(folder, manifest) if one.state != SAME}
    kept: dict[str, str] = {}
    owned: set[str] = set()
    for unit in units:
        names = {path.relative_to(folder.root).as_posix(): path for path in unit.files}
        for name, path in names.items():
            if others.get(name) == CHANGED:
                path.replace(path.with_name(f"{path.stem}.damaged{path.suffix}"))
        if unit.finished:
            kept |= {name: manifest["artifacts"][name] for name in names if name in manifest["artifacts"]}
        owned |= set(names)
    lines = []
    for name, state in others.items():
        place = f"{state}; set aside" if state == CHANGED and name in owned else state
        lines.append(f"{folder.root / name}: {place}; {remedy(name)}")
    return kept, lines
