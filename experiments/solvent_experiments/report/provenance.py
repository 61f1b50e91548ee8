"""The provenance of a run, and the state of its files, from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.integrity import Artifact, altered, compared

__all__ = ["Provenance", "provenance"]


class Provenance(NamedTuple):
    """The facts in the manifest."""

    facts: tuple[tuple[str, str], ...]
    packages: tuple[tuple[str, str], ...]
    sessions: tuple[tuple[str, ...], ...]  # started, finished, status, processes, commit
    artifacts: tuple[Artifact, ...]

    @property
    def altered(self) -> str:
        """Files that differ from the manifest, in one line; empty if none does."""
        return altered(self.artifacts)

    @property
    def finished(self) -> str:
        """End time in a readable form."""
        when = next(value for name, value in self.facts if name == "finished")
        return when.replace("T", " ").replace("+00:00", " UTC")


def provenance(folder: RunFolder, manifest: Mapping[str, Any]) -> Provenance:
    """Return versions, machine and times of the run, and its files compared with their hashes."""
    last = manifest["sessions"][-1]
    machine = last["machine"]
    facts = (
        ("solvent", last["solvent"]),
        ("commit", _commit(last)),
        ("Python", last["python"]),
        ("platform", last["platform"]),
        ("machine", f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB"),
        ("finished", manifest["finished"]),
        ("config SHA-256", manifest["config_sha256"]),
    )
    return Provenance(
        facts=tuple((name, str(value)) for name, value in facts),
        packages=tuple((name, str(version)) for name, version in last["packages"].items() if version),
        sessions=tuple(
            (str(one["started"]), str(one["finished"]), str(one["status"]), str(one["jobs"]), _commit(one))
            for one in manifest["sessions"]
        ),
        artifacts=compared(folder, manifest),
    )


def _commit(session: dict[str, Any]) -> str:
    git = session.get("git")
    if not git:
        return "installed without a repository"
    return f"{git['commit']}{', with changes that were not committed' if git['dirty'] else ''}"
