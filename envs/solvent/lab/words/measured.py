"""Measurements of the lab's sentences, made once with the real instruments and looked up in the step.

A file (``.npz``) holds, for each compound, the Gram matrix of its sentences (evidence, then findings), and the rule of
adequacy for each finding and number of looks. Its description gives the model, packages and hash of the catalogue;
the compounds, doses, bins and classes; and the gate's policies calibrated on it. ``solvent gate build`` writes the
file. Playing needs neither the instruments nor a model.

Inner products are stored as 32-bit integers over 2^30, upper triangle only: accurate to 5e-10, and identical on every
machine.
"""

from __future__ import annotations

import functools
import io
import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.files import read_input, write_atomically
from solvent.lab.mechanisms.assay import AssayParams
from solvent.lab.names import LevelPolicy
from solvent.lab.words.catalogue import WordsError
from solvent.lab.words.rows import STRENGTHS, WORDINGS, finding_row, fit_row

__all__ = ["MOST_SPANS", "SHIPPED", "Measured", "load_measured", "rounded", "save_measured", "shipped"]

SHIPPED = Path(__file__).with_name("measured.npz")
TINY = Path(__file__).parent / "tiny" / SHIPPED.name
"""Measurements for the readouts of the smallest level."""
ARRAYS = ("gram", "rules", "negatives")
READOUTS = ("bins", "bin_low", "bin_high", "lowest_ec50", "ec50_step")
"""Settings of the assay that determine the numbers in its sentences."""
MOST_SPANS = 12
"""Most sentences on a page: ``top_k`` of the lab's policies."""
SCALE = 2.0**30
FORMAT = "solvent.lab.words.v3"
LARGEST = 2**28  # bytes
_UNREADABLE = (ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of the sentences for the compounds, doses and classes in ``about``.

    Attributes:
        gram: Inner products, shape ``(M, T, T)`` float64; rows as in ``rows.py``.
        rules: Rule of adequacy for a finding, by looks in the log, shape ``(M, findings, LOGGED + 1)``.
        negatives: Whether a finding states an absence as a fact, shape ``(M, findings)`` uint8.
        about: Description: what was measured and how, and the policies.
    """

    gram: NDArray[np.float64]
    rules: NDArray[np.int8]
    negatives: NDArray[np.uint8]
    about: dict[str, Any]

    @property
    def policies(self) -> tuple[LevelPolicy, ...]:
        """Policies of the gate, laxest first."""
        return tuple(LevelPolicy(*policy) for policy in self.about["policies"])

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
        findings = rows[-len(WORDINGS) * assay.potency_classes :] - (
            self.gram.shape[1] - self.negatives.shape[1]
        )
        chosen = np.array([known[name] for name in assay.compounds])
        return Measured(
            gram=np.ascontiguousarray(self.gram[np.ix_(chosen, rows, rows)]),
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


def save_measured(path: Path, measured: Measured) -> None:
    """Write the measurements to ``path`` atomically.

    Raises:
        OSError: The file can't be written.
    """
    text = json.dumps({**measured.about, "format": FORMAT}, ensure_ascii=True)
    content = io.BytesIO()
    np.savez_compressed(
        content, allow_pickle=False, about=np.frombuffer(text.encode(), np.uint8), **_stored(measured)
    )
    write_atomically(path, content.getvalue())


def _stored(measured: Measured) -> dict[str, NDArray[Any]]:
    """Return the arrays as stored: the upper triangle of the inner products as int32."""
    upper = np.triu_indices(measured.gram.shape[1])
    gram = np.rint(measured.gram[:, upper[0], upper[1]] * SCALE).astype("<i4")
    return {"gram": gram, "rules": measured.rules, "negatives": measured.negatives}


def rounded(measured: Measured) -> Measured:
    """Return the measurements as they would be read back from a file."""
    return _read(measured.about, _stored(measured))


def _agrees(about: dict[str, Any], assay: AssayParams, name: str) -> bool:
    return bool(np.isclose(getattr(assay, name), about[name], rtol=1e-9, atol=0.0))


def shipped(assay: AssayParams) -> Path:
    """Return the shipped file that matches this assay's readouts; if none does, the main one."""
    if TINY.exists():  # absent while it is being built
        about = load_measured(TINY).about
        if all(_agrees(about, assay, name) for name in READOUTS):
            return TINY
    return SHIPPED


@functools.lru_cache(maxsize=8)
def load_measured(path: Path = SHIPPED) -> Measured:
    """Return the measurements in a file.

    Raises:
        WordsError: The file does not exist or has another format.
    """
    allowed = "allowed: what `solvent gate build` writes"
    try:
        with np.load(io.BytesIO(read_input(path, LARGEST)), allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]).decode("ascii"))
            if about.get("format") != FORMAT:
                raise WordsError(f"{path}: got the format {about.get('format')!r:.40}; {allowed} ({FORMAT})")
            return _read(about, {name: file[name] for name in ARRAYS})
    except OSError as error:
        raise WordsError(f"{path}: not read, {error.strerror}; {allowed}") from None
    except WordsError:
        raise
    except _UNREADABLE:
        raise WordsError(f"{path}: no measured words; {allowed}") from None


def _read(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Measured:
    findings = len(WORDINGS) * about["potency_classes"]
    size = len(about["doses"]) * about["bins"] + 1 + 2 * findings
    gram = np.zeros((len(about["compounds"]), size, size))
    upper = np.triu_indices(size)
    gram[:, upper[0], upper[1]] = arrays["gram"] / SCALE
    gram[:, upper[1], upper[0]] = gram[:, upper[0], upper[1]]
    measured = Measured(gram, arrays["rules"], arrays["negatives"], about)
    for array in (measured.gram, measured.rules, measured.negatives):
        array.setflags(write=False)
    return measured
