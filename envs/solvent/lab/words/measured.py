"""The lab's gate tables: inner products of all sentences of a compound, measured once, looked up in the step.

A file (``.npz``) has for each compound the Gram matrix of its sentences (evidence, then findings), which numbers of a
finding stand in which span, and a description: model, packages, hashes, and for which compounds, doses, bins and
classes it was measured. ``solvent gate build`` writes it; playing needs neither torch nor the model.

Inner products are stored as 32-bit integers over 2^30, the upper triangle alone: exact to 5e-10, and the same on every
machine.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.gate.errors import GateError
from solvent.gate.policy import Policy
from solvent.gate.policy_files import load_policies
from solvent.lab.mechanisms.gate import STRENGTHS, WORDINGS, finding_row, fit_row
from solvent.lab.params import GATE_POLICIES, AssayParams

__all__ = [
    "LAB_POLICIES",
    "LAB_TABLES",
    "LEVELS",
    "MOST_SPANS",
    "LabTables",
    "domain_of",
    "lab_policies",
    "load_lab_tables",
    "save_lab_tables",
    "shipped_tables",
]

LAB_TABLES = Path(__file__).with_name("lab_tables.npz")
LAB_POLICIES = Path(__file__).with_name("lab_policies.json")
TINY_TABLES = Path(__file__).parent / "tiny" / LAB_TABLES.name
"""Of the readouts of the smallest level, with its own policies beside it."""
READOUTS = ("bins", "bin_low", "bin_high", "lowest_ec50", "ec50_step")
"""Settings of the assay that its sentences have numbers from."""
MOST_SPANS = 12
"""Sentences on a page at most, all of which count: ``top_k`` and ``rank_r`` of the lab's policies."""
LEVELS = GATE_POLICIES
"""The policies among which governance moves, the laxest first."""
DOMAIN = "solvent.lab"
SCALE = 2.0**30
MOST = 64
"""Compounds, doses, bins and classes at most, each."""
UNIT = 1e-5
"""How far off its length a unit vector may be."""
FORMAT = "solvent.gate.lab.v1"
_KEYS = {
    "format",
    "compounds",
    "doses",
    "bins",
    "bin_low",
    "bin_high",
    "lowest_ec50",
    "ec50_step",
    "potency_classes",
    "catalogue_sha256",
    "model",
    "model_package",
    "model_sha256",
    "dimension",
    "libraries",
    "sha256",
}
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error)
"""What reading a file that is none of ours, or broken, can end in."""


@dataclass(frozen=True, eq=False)
class LabTables:
    """Tables of the compounds, doses and classes named in ``about``.

    Attributes:
        gram: inner products, shape ``(M, T, T)`` float64; rows as in ``mechanisms/verity.py``.
        stands: whether every number of a finding stands in a span, shape ``(M, findings, spans)`` uint8.
        about: what was measured, and with what.
    """

    gram: NDArray[np.float64]
    stands: NDArray[np.uint8]
    about: dict[str, Any]

    def select(self, assay: AssayParams, doses: tuple[float, ...]) -> LabTables:
        """The tables of these compounds, doses and classes, in their order.

        Raises:
            GateError: something was not measured; the line names it.
        """
        about = self.about
        for name in READOUTS:
            if not _agrees(about, assay, name):
                raise self._missing(f"assay.{name}", getattr(assay, name), about[name])
        if assay.potency_classes > about["potency_classes"]:
            raise self._missing(
                "assay.potency_classes", assay.potency_classes, f"at most {about['potency_classes']}"
            )
        known = {name: m for m, name in enumerate(about["compounds"])}
        for name in assay.compounds:
            if name not in known:
                raise self._missing("assay.compounds", repr(name), ", ".join(known))
        places = []
        for dose in doses:
            where = np.flatnonzero(np.isclose(about["doses"], dose, rtol=1e-6, atol=0.0))
            if not len(where):
                allowed = ", ".join(f"{known_dose:.3g}" for known_dose in about["doses"])
                raise self._missing("plates", f"a dose of {dose:.3g} mol/L", allowed)
            if int(where[0]) in places:
                raise GateError(f"plates: got {dose:.9g} mol/L twice; allowed: doses that are distinct")
            places.append(int(where[0]))
        if len(places) + len(STRENGTHS) > MOST_SPANS:
            raise GateError(
                f"plates: got {len(places)} doses; allowed: {MOST_SPANS - len(STRENGTHS)}, for a page"
            )
        rows = self._rows(places, assay.potency_classes)
        spans = len(rows) - len(WORDINGS) * assay.potency_classes
        chosen = np.array([known[name] for name in assay.compounds])
        n_spans = self.stands.shape[2]
        findings = rows[spans:] - n_spans
        return LabTables(
            gram=np.ascontiguousarray(self.gram[np.ix_(chosen, rows, rows)]),
            stands=np.ascontiguousarray(self.stands[np.ix_(chosen, findings, rows[:spans])]),
            about=about,
        )

    def _rows(self, doses: list[int], classes: int) -> NDArray[np.int64]:
        """Rows of these doses and of the first ``classes`` classes."""
        bins, measured = self.about["bins"], self.about["potency_classes"]
        readouts = len(self.about["doses"]) * bins
        rows = [dose * bins + b for dose in doses for b in range(bins)]
        rows.append(readouts)
        rows += [fit_row(readouts, s, k, measured) for s in range(1, 4) for k in range(classes)]
        rows += [finding_row(readouts, w, k, measured) for w in range(len(WORDINGS)) for k in range(classes)]
        return np.array(rows)

    @staticmethod
    def _missing(where: str, got: object, allowed: object) -> GateError:
        return GateError(
            f"{where}: got {got}, for which no sentence was measured; allowed: {allowed}, or gate.tables from "
            "`solvent gate build`"
        )


def domain_of(tables: LabTables) -> str:
    """The domain of the lab's own policies: these tables, and no others that look like them."""
    return f"{DOMAIN}.{tables.about['sha256'][:12]}"


def _digest(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash of the description, which says what each row means, and of the arrays as they are stored."""
    described = {name: value for name, value in about.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def save_lab_tables(path: Path, tables: LabTables) -> None:
    """Write the tables to ``path``: whole or not at all.

    Raises:
        GateError: the file can't be written.
    """
    upper = np.triu_indices(tables.gram.shape[1])
    arrays: dict[str, NDArray[Any]] = {
        "gram": np.rint(tables.gram[:, upper[0], upper[1]] * SCALE).astype("<i4"),
        "stands": np.packbits(tables.stands.reshape(len(tables.stands), -1), axis=1),
    }
    about = {**tables.about, "format": FORMAT}
    about["sha256"] = _digest(about, arrays)
    text = np.frombuffer(json.dumps(about, sort_keys=True, ensure_ascii=True).encode(), np.uint8)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(
                file, allow_pickle=False, about=text, gram=arrays["gram"], stands=arrays["stands"]
            )
        temporary.replace(path)
    except OSError as error:
        raise GateError(f"{path}: not written, {error.strerror}; allowed: a file in a folder") from None
    finally:
        temporary.unlink(missing_ok=True)


def _fits(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether the description is one, and the arrays are of its shapes and hold what unit vectors can have."""
    counts, lists = ("bins", "potency_classes"), ("compounds", "doses")
    if any(type(about[name]) is not int or not 2 <= about[name] <= MOST for name in counts):
        return False
    if any(not isinstance(about[name], list) or not 0 < len(about[name]) <= MOST for name in lists):
        return False
    numeric = [
        *about["doses"],
        *(about[name] for name in ("bin_low", "bin_high", "lowest_ec50", "ec50_step")),
    ]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in numeric):
        return False
    findings = len(WORDINGS) * about["potency_classes"]
    spans = len(about["doses"]) * about["bins"] + 1 + findings
    rows, n = spans + findings, len(about["compounds"])
    gram, stands = arrays["gram"], arrays["stands"]
    if gram.dtype != np.dtype("<i4") or gram.shape != (n, rows * (rows + 1) // 2):
        return False
    if stands.dtype != np.uint8 or stands.shape != (n, -(-findings * spans // 8)):
        return False
    diagonal = np.cumsum([0, *range(rows, 1, -1)])
    off_unit = np.abs(gram[:, diagonal] / SCALE - 1.0).max()
    return bool(off_unit < UNIT and np.abs(gram.astype(np.int64)).max() / SCALE < 1.0 + UNIT)


def _agrees(about: Mapping[str, Any], assay: AssayParams, name: str) -> bool:
    """Whether tables were measured for an assay with this setting."""
    return bool(np.isclose(getattr(assay, name), about[name], rtol=1e-9, atol=0.0))


def shipped_tables(assay: AssayParams) -> Path:
    """The shipped file whose sentences are those of this assay's readouts; the lab's where none is.

    Raises:
        GateError: a shipped file was changed.
    """
    if TINY_TABLES.exists():  # it doesn't while it is built
        about = load_lab_tables(TINY_TABLES).about
        if all(_agrees(about, assay, name) for name in READOUTS):
            return TINY_TABLES
    return LAB_TABLES


@functools.lru_cache(maxsize=8)
def load_lab_tables(path: Path = LAB_TABLES) -> LabTables:
    """Tables from a file.

    Raises:
        GateError: no such file, not this format, or changed since it was written.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]).decode("ascii"))
            arrays = {name: file[name] for name in ("gram", "stands")}
    except OSError as error:
        raise GateError(
            f"{path}: not read, {error.strerror}; allowed: what `solvent gate build` writes"
        ) from None
    except _DAMAGED:
        raise GateError(f"{path}: no gate tables; allowed: what `solvent gate build` writes") from None
    if not isinstance(about, dict) or set(about) != _KEYS or about["format"] != FORMAT:
        raise GateError(f"{path}: no gate tables; allowed: what `solvent gate build` writes ({FORMAT})")
    if about["sha256"] != _digest(about, arrays):
        raise GateError(f"{path}: changed since it was written (its SHA-256 differs); allowed: unchanged")
    if not _fits(about, arrays):
        raise GateError(
            f"{path}: arrays that don't fit their description; allowed: what `solvent gate build` writes"
        )
    spans = len(about["doses"]) * about["bins"] + 1 + len(WORDINGS) * about["potency_classes"]
    findings = len(WORDINGS) * about["potency_classes"]
    n = len(about["compounds"])
    gram = np.zeros((n, spans + findings, spans + findings))
    upper = np.triu_indices(spans + findings)
    gram[:, upper[0], upper[1]] = arrays["gram"] / SCALE
    gram[:, upper[1], upper[0]] = gram[:, upper[0], upper[1]]
    bits = np.unpackbits(arrays["stands"], axis=1, count=findings * spans)
    stands = bits.reshape(n, findings, spans)
    for array in (gram, stands):
        array.setflags(write=False)
    return LabTables(gram, stands, about)


@functools.lru_cache(maxsize=4)
def lab_policies(path: Path = LAB_POLICIES, tables: LabTables | None = None) -> tuple[Policy, ...]:
    """The lab's policies in the order of ``LEVELS``; with ``tables`` they must have been learnt on these very ones.

    Raises:
        GateError: a file that can't be used, a policy that is not in it, or one that was learnt elsewhere.
    """
    found = load_policies(path)
    for policy in found.values():
        try:
            if tables is not None:
                policy.usable(
                    domain=domain_of(tables),
                    model=tables.about["model_sha256"],
                    top_k=MOST_SPANS,
                    rank_r=MOST_SPANS,
                )
        except GateError as error:
            raise GateError(f"{path}: {error}") from None
        if policy.oracle != "none" and policy.measure != "energy":
            raise GateError(f"{path}: {policy.name} is on gaps to a {policy.oracle} oracle; allowed: none")
    by_label = {name.rpartition(".v")[0]: policy for name, policy in found.items()}
    if len(by_label) < len(found):
        raise GateError(f"{path}: a policy in more than one version; allowed: one version of each")
    missing = [name for name in LEVELS if name not in by_label]
    if missing:
        raise GateError(f"{path}: no policy {missing[0]}; allowed: what `solvent gate build` writes")
    return tuple(by_label[name] for name in LEVELS)
