"""Measurements of the lab's sentences, made once with the real instruments and looked up in the step.

A file (``.npz``) holds, for each compound, the Gram matrix of its sentences (evidence, then findings), the numbers of
each finding that occur in each span, and the rule of adequacy for each finding and number of plates. Its description
gives the model, packages and hashes; the compounds, doses, bins and classes; the gate's policies calibrated on it;
and adequacy's corrections. ``solvent gate build`` writes the file. Playing needs neither the instruments nor a model.

Inner products are stored as 32-bit integers over 2^30, upper triangle only: accurate to 5e-10, and identical on every
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

from solvent.files import read_input
from solvent.lab.mechanisms.adequacy import LOGGED, RULES
from solvent.lab.mechanisms.assay import AssayParams
from solvent.lab.mechanisms.gate import GateParams
from solvent.lab.mechanisms.governance import (
    FIXED_POLICIES,
    GATE_POLICIES,
    ORACLE_POLICIES,
    family_of,
)
from solvent.lab.names import Correction, LevelPolicy
from solvent.lab.words.catalogue import WordsError
from solvent.lab.words.rows import STRENGTHS, WORDINGS, finding_row, fit_row

__all__ = [
    "MOST_SPANS",
    "SHIPPED",
    "Measured",
    "load_measured",
    "rounded",
    "save_measured",
    "shipped",
]

SHIPPED = Path(__file__).with_name("measured.npz")
TINY = Path(__file__).parent / "tiny" / SHIPPED.name
"""Measurements for the readouts of the smallest level."""
ARRAYS = ("gram", "contains", "rules", "negatives")
READOUTS = ("bins", "bin_low", "bin_high", "lowest_ec50", "ec50_step")
"""Settings of the assay that determine the numbers in its sentences."""
MOST_SPANS = 12
"""Most sentences on a page: ``top_k`` of the lab's policies, and ``rank_r`` of those without an oracle."""
SCALE = 2.0**30
MOST = 64
"""Most compounds, doses, bins or classes."""
UNIT = 1e-5
"""Tolerance of the squared length of a unit vector."""
FORMAT = "solvent.lab.words.v2"
LARGEST = 2**28  # bytes
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
    "policies",
    "source_policies",
    "corrections",
    "domain",
    "sha256",
}
_DAMAGED = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors from reading a damaged file or one in another format."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of the sentences for the compounds, doses and classes in ``about``.

    Attributes:
        gram: Inner products, shape ``(M, T, T)`` float64; rows as in ``rows.py``.
        contains: Flags of spans that contain every number of a finding, shape ``(M, findings, spans)`` uint8.
        rules: Rule of adequacy for a finding, by plates in the log, shape ``(M, findings, LOGGED + 1)``.
        negatives: Whether a finding states an absence as a fact, shape ``(M, findings)`` uint8.
        about: Description: what was measured and how, policies, corrections.
    """

    gram: NDArray[np.float64]
    contains: NDArray[np.uint8]
    rules: NDArray[np.int8]
    negatives: NDArray[np.uint8]
    about: dict[str, Any]

    @property
    def policies(self) -> tuple[LevelPolicy, ...]:
        """Adaptive policies of the gate without an oracle, laxest first."""
        return tuple(LevelPolicy(*policy) for policy in self.about["policies"])

    def policies_for(self, gate: GateParams) -> tuple[LevelPolicy, ...]:
        """Return the policies of the family in force, laxest first."""
        if gate.oracle == "none" and gate.by_gap:
            return self.policies
        policies = [LevelPolicy(*policy) for policy in self.about["source_policies"]]
        return tuple(policy for policy in policies if policy.label in family_of(gate.policy))

    @property
    def corrections(self) -> tuple[Correction | None, ...]:
        """Correction of an error under each rule of adequacy, or None."""
        texts = self.about["corrections"]["texts"]
        return tuple(key and Correction(key, texts[key]) for key in self.about["corrections"]["by_rule"])

    def select(self, assay: AssayParams, doses: tuple[float, ...]) -> Measured:
        """Return the tables of these compounds, doses and classes, in their order.

        Raises:
            WordsError: Something was not measured; the message names it.
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
                raise WordsError(f"plates: got {dose:.9g} mol/L twice; allowed: doses that are distinct")
            places.append(int(where[0]))
        if len(places) + len(STRENGTHS) > MOST_SPANS:
            raise WordsError(
                f"plates: got {len(places)} doses; allowed: {MOST_SPANS - len(STRENGTHS)}, for a page"
            )
        rows = self._rows(places, assay.potency_classes)
        spans = len(rows) - len(WORDINGS) * assay.potency_classes
        chosen = np.array([known[name] for name in assay.compounds])
        n_spans = self.contains.shape[2]
        findings = rows[spans:] - n_spans
        return Measured(
            gram=np.ascontiguousarray(self.gram[np.ix_(chosen, rows, rows)]),
            contains=np.ascontiguousarray(self.contains[np.ix_(chosen, findings, rows[:spans])]),
            rules=np.ascontiguousarray(self.rules[np.ix_(chosen, findings)]),
            negatives=np.ascontiguousarray(self.negatives[np.ix_(chosen, findings)]),
            about=about,
        )

    def _rows(self, doses: list[int], classes: int) -> NDArray[np.int64]:
        bins, measured = self.about["bins"], self.about["potency_classes"]
        readouts = len(self.about["doses"]) * bins
        rows = [dose * bins + b for dose in doses for b in range(bins)]
        rows.append(readouts)
        rows += [fit_row(readouts, s, k, measured) for s in range(1, 4) for k in range(classes)]
        rows += [finding_row(readouts, w, k, measured) for w in range(len(WORDINGS)) for k in range(classes)]
        return np.array(rows)

    @staticmethod
    def _missing(where: str, got: object, allowed: object) -> WordsError:
        return WordsError(
            f"{where}: got {got}, for which no sentence was measured; allowed: {allowed}, or gate.tables from "
            "`solvent gate build`"
        )


def _digest(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a hash of the description and of the arrays as stored."""
    described = {name: value for name, value in about.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def save_measured(path: Path, measured: Measured) -> None:
    """Write the measurements to ``path`` atomically.

    Raises:
        WordsError: The file can't be written.
    """
    arrays = _stored(measured)
    about = {**measured.about, "format": FORMAT}
    about["sha256"] = _digest(about, arrays)
    text = np.frombuffer(json.dumps(about, ensure_ascii=True).encode(), np.uint8)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, about=text, **arrays)
        temporary.replace(path)
    except OSError as error:
        raise WordsError(f"{path}: not written, {error.strerror}; allowed: a file in a folder") from None
    finally:
        temporary.unlink(missing_ok=True)


def _stored(measured: Measured) -> dict[str, NDArray[Any]]:
    """Return the arrays as stored: the upper triangle of the inner products as int32, flags as bits."""
    upper = np.triu_indices(measured.gram.shape[1])
    n = len(measured.gram)
    return {
        "gram": np.rint(measured.gram[:, upper[0], upper[1]] * SCALE).astype("<i4"),
        "contains": np.packbits(measured.contains.reshape(n, -1), axis=1),
        "rules": measured.rules.astype(np.int8),
        "negatives": measured.negatives.astype(np.uint8),
    }


def rounded(measured: Measured) -> Measured:
    """Return the measurements as they would be read back from a file."""
    return _read(measured.about, _stored(measured))


def _fits(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether the description is valid and the arrays match it and hold products of unit vectors."""
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
    gram, contains, rules = arrays["gram"], arrays["contains"], arrays["rules"]
    if rules.dtype != np.int8 or rules.shape != (n, findings, LOGGED + 1):
        return False
    if rules.min() < 0 or rules.max() >= len(RULES) or arrays["negatives"].shape != (n, findings):
        return False
    if not _names_rules(about):
        return False
    if gram.dtype != np.dtype("<i4") or gram.shape != (n, rows * (rows + 1) // 2):
        return False
    if contains.dtype != np.uint8 or contains.shape != (n, -(-findings * spans // 8)):
        return False
    diagonal = np.cumsum([0, *range(rows, 1, -1)])
    off_unit = np.abs(gram[:, diagonal] / SCALE - 1.0).max()
    return bool(off_unit < UNIT and np.abs(gram.astype(np.int64)).max() / SCALE < 1.0 + UNIT)


def _names_rules(about: Mapping[str, Any]) -> bool:
    policies, corrections = [*about["policies"], *about["source_policies"]], about["corrections"]
    labels = [LevelPolicy(*policy).label for policy in policies]
    inside = all(0.0 <= accept <= review <= 1.0 for _, accept, review in policies)
    known = {None, *corrections["texts"]}
    return (
        labels == [*GATE_POLICIES, *GATE_POLICIES, *FIXED_POLICIES, *ORACLE_POLICIES]
        and inside
        and len(corrections["by_rule"]) == len(RULES)
        and set(corrections["by_rule"]) <= known
    )


def _agrees(about: Mapping[str, Any], assay: AssayParams, name: str) -> bool:
    return bool(np.isclose(getattr(assay, name), about[name], rtol=1e-9, atol=0.0))


def shipped(assay: AssayParams) -> Path:
    """Return the shipped file that matches this assay's readouts; if none does, the main one.

    Raises:
        WordsError: A shipped file was modified.
    """
    if TINY.exists():  # absent while it is being built
        about = load_measured(TINY).about
        if all(_agrees(about, assay, name) for name in READOUTS):
            return TINY
    return SHIPPED


@functools.lru_cache(maxsize=8)
def load_measured(path: Path = SHIPPED) -> Measured:
    """Return the measurements in a file.

    Raises:
        WordsError: The file does not exist, has another format, or was modified after it was written.
    """
    try:
        with np.load(io.BytesIO(read_input(path, LARGEST)), allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]).decode("ascii"))
            arrays = {name: file[name] for name in ARRAYS}
    except OSError as error:
        raise WordsError(
            f"{path}: not read, {error.strerror}; allowed: what `solvent gate build` writes"
        ) from None
    except _DAMAGED:
        raise WordsError(f"{path}: no measured words; allowed: what `solvent gate build` writes") from None
    if not isinstance(about, dict) or set(about) != _KEYS or about["format"] != FORMAT:
        raise WordsError(f"{path}: no measured words; allowed: what `solvent gate build` writes ({FORMAT})")
    if about["sha256"] != _digest(about, arrays):
        raise WordsError(f"{path}: changed since it was written (its SHA-256 differs); allowed: unchanged")
    try:
        fits = _fits(about, arrays)
    except _DAMAGED:
        fits = False
    if not fits:
        raise WordsError(
            f"{path}: arrays that don't fit their description; allowed: what `solvent gate build` writes"
        )
    return _read(about, arrays)


def _read(about: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Measured:
    findings = len(WORDINGS) * about["potency_classes"]
    spans = len(about["doses"]) * about["bins"] + 1 + findings
    n = len(about["compounds"])
    gram = np.zeros((n, spans + findings, spans + findings))
    upper = np.triu_indices(spans + findings)
    gram[:, upper[0], upper[1]] = arrays["gram"] / SCALE
    gram[:, upper[1], upper[0]] = gram[:, upper[0], upper[1]]
    bits = np.unpackbits(arrays["contains"], axis=1, count=findings * spans)
    measured = Measured(gram, bits.reshape(n, findings, spans), arrays["rules"], arrays["negatives"], about)
    for array in (measured.gram, measured.contains, measured.rules, measured.negatives):
        array.setflags(write=False)
    return measured
