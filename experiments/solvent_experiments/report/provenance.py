"""The provenance of a run, and the state of its files, from its manifest."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from solvent_experiments.artifacts.files import sha256
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import ConfigError

__all__ = ["Artifact", "Provenance", "finished_manifest", "provenance"]

MOST_NAMED = 5
SAME, CHANGED, MISSING = "as written", "changed since", "missing"


class Artifact(NamedTuple):
    """A file of the run: its hash in the manifest, and its state now."""

    name: str
    sha256: str
    state: str


class Provenance(NamedTuple):
    """The facts in the manifest."""

    facts: tuple[tuple[str, str], ...]
    packages: tuple[tuple[str, str], ...]
    sessions: tuple[tuple[str, ...], ...]  # started, finished, status, processes, commit
    artifacts: tuple[Artifact, ...]

    @property
    def altered(self) -> str:
        """Files that differ from the manifest, in one line; empty if none does."""
        others = [artifact for artifact in self.artifacts if artifact.state != SAME]
        named = [f"{artifact.name} ({artifact.state})" for artifact in others[:MOST_NAMED]]
        more = ["…"] if len(others) > MOST_NAMED else []
        return f"changed since the run: {', '.join(named + more)}" if others else ""

    @property
    def finished(self) -> str:
        """End time in a readable form."""
        when = next(value for name, value in self.facts if name == "finished")
        return when.replace("T", " ").replace("+00:00", " UTC")


def finished_manifest(folder: RunFolder) -> dict[str, Any]:
    """Return the manifest of a run. Raise ConfigError unless the run is finished."""
    if not folder.config.exists():
        raise ConfigError(
            "no run; allowed: a folder that `solvent run` wrote (with a config.yaml)", file=folder.root
        )
    try:
        manifest = json.loads(folder.manifest.read_text(encoding="utf-8"))
        finished = manifest["finished"]
    except FileNotFoundError:
        finished = None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"not a manifest ({error}); allowed: as `solvent run` wrote it", file=folder.manifest
        ) from None
    if not finished:
        raise ConfigError(
            "not finished; allowed: a finished run (`solvent run` resumes it)", file=folder.root
        )
    assert isinstance(manifest, dict)
    return manifest


def provenance(folder: RunFolder, manifest: dict[str, Any]) -> Provenance:
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
        artifacts=tuple(
            Artifact(name, digest, _state(folder, name, digest))
            for name, digest in manifest["artifacts"].items()
            if not name.endswith(".html")  # reports may be written again
        ),
    )


def _commit(session: dict[str, Any]) -> str:
    git = session.get("git")
    if not git:
        return "installed without a repository"
    return f"{git['commit']}{', with changes that were not committed' if git['dirty'] else ''}"


def _state(folder: RunFolder, name: str, digest: str) -> str:
    path = folder.root / name
    if not path.is_file():
        return MISSING
    return SAME if sha256(path) == digest else CHANGED
