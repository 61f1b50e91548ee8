"""Measurements of the lab's sentences, made once with the real instruments and looked up in the step.

A file (``.npz``) holds, for each compound, the Gram matrix of its sentences (evidence, then findings), and the rule of
adequacy for each finding and number of looks. Its description gives the model, packages and hash of the catalogue;
the compounds, doses, bins and classes; and the gate's policies calibrated on it. ``python -m tools.lab_words``
writes the files. Playing needs neither the instruments nor a model.

Inner products are stored as 32-bit integers over 2^30, upper triangle only: accurate to 5e-10, and identical on every
machine.
"""

from __future__ import annotations

import functools
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.files import write_atomically
from solvent.lab.mechanisms.gate import GATE_POLICIES
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.lab.words.rows import STRENGTHS, WORDINGS, finding_row, fit_row

SHIPPED = Path(__file__).with_name("measured.npz"), Path(__file__).parent / "tiny" / "measured.npz"
"""The measurements for all levels but the smallest, and for that one, whose readouts differ."""
READOUTS = ("bins", "bin_low", "bin_high", "lowest_ec50", "ec50_step")
"""Settings of the assay that determine the numbers in its sentences."""
MOST_SPANS = 12
"""Most sentences on a page: ``top_k`` of the lab's policies."""
SCALE = 2.0**30
FORMAT = "solvent.lab.words.v3"


class LevelPolicy(NamedTuple):
    """A policy of the gate: its thresholds of acceptance and review, energies in [0, 1]."""

    name: str  # ``adaptive.P20.v1``
    tau_accept: float
    tau_review: float


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

    def fits(self, params: LabParams) -> bool:
        """Return whether the readouts of a lab are those that were measured."""
        values = [getattr(params.assay, name) for name in READOUTS]
        return np.allclose(values, [self.about[name] for name in READOUTS], rtol=1e-9, atol=0.0)

    def select(self, params: LabParams) -> Measured:
        """Return the tables of a lab's compounds, doses and classes, in their order.

        Raises:
            ParamError: Something was not measured; the message names it.
        """
        about, assay, doses = self.about, params.assay, params.doses
        if not self.fits(params):
            allowed = ", ".join(f"{name} {about[name]}" for name in READOUTS)
            raise ParamError("assay", f"got readouts whose sentences were not measured; allowed: {allowed}")
        compounds, most = about["compounds"], about["potency_classes"]
        close = np.isclose(np.array(doses)[:, None], about["doses"], rtol=1e-6, atol=0.0)
        listed, room = ", ".join(f"{dose:.3g}" for dose in about["doses"]), MOST_SPANS - len(STRENGTHS)
        _require(
            "assay.potency_classes", assay.potency_classes <= most, assay.potency_classes, f"at most {most}"
        )
        _require("assay.compounds", {*assay.compounds} <= {*compounds}, assay.compounds, ", ".join(compounds))
        _require("plates", close.any(axis=1).all(), doses, listed)
        _require(
            "plates", len({*close.argmax(axis=1)}) == len(doses) <= room, doses, f"up to {room} of {listed}"
        )
        bins, classes = about["bins"], range(assay.potency_classes)
        readouts = len(about["doses"]) * bins
        spans = [dose * bins + b for dose in close.argmax(axis=1) for b in range(bins)]
        spans.append(readouts)
        spans += [fit_row(readouts, s, k, most) for s in range(1, len(STRENGTHS)) for k in classes]
        values = [finding_row(readouts, w, k, most) for w in range(len(WORDINGS)) for k in classes]
        rows, findings = spans + values, np.array(values) - self.gram.shape[1] + self.negatives.shape[1]
        chosen = np.array([compounds.index(name) for name in assay.compounds])
        return Measured(
            gram=np.ascontiguousarray(self.gram[np.ix_(chosen, rows, rows)]),
            rules=np.ascontiguousarray(self.rules[np.ix_(chosen, findings)]),
            negatives=np.ascontiguousarray(self.negatives[np.ix_(chosen, findings)]),
            about=about,
        )


def _require(where: str, known: Any, got: object, allowed: str) -> None:
    if not known:
        raise ParamError(where, f"got {got}, for which no sentence was measured; allowed: {allowed}")


@functools.lru_cache(maxsize=64)
def measured_for(params: LabParams) -> Measured | None:
    """Return the measurements of a lab's sentences, or None without a gate.

    Raises:
        ParamError: Some sentence of the lab was not measured.
    """
    if not params.gate.enabled:
        return None
    main, *others = map(load_measured, SHIPPED)
    return next((measured for measured in others if measured.fits(params)), main).select(params)


def policy_of(params: LabParams) -> LevelPolicy | None:
    """Return the gate's policy with its thresholds, or None without a gate.

    Raises:
        ParamError: As in ``measured_for``.
    """
    measured = measured_for(params)
    return None if measured is None else measured.policies[GATE_POLICIES.index(params.gate.policy)]


@functools.cache
def load_measured(path: Path = SHIPPED[0]) -> Measured:
    """Return the measurements in a file of the package."""
    with np.load(path, allow_pickle=False) as file:
        about = json.loads(bytes(file["about"]))
        return _read(about, {name: file[name] for name in ("gram", "rules", "negatives")})


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


def rounded(measured: Measured) -> Measured:
    """Return the measurements as they would be read back from a file."""
    return _read(measured.about, _stored(measured))


def _stored(measured: Measured) -> dict[str, NDArray[Any]]:
    """Return the arrays as stored: the upper triangle of the inner products as int32."""
    upper = np.triu_indices(measured.gram.shape[1])
    gram = np.rint(measured.gram[:, upper[0], upper[1]] * SCALE).astype("<i4")
    return {"gram": gram, "rules": measured.rules, "negatives": measured.negatives}


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
