"""The words of a lab: its sentences, their measurements, and the gate's policy.

The sentences are those that the tables were measured for: the shipped catalogue, or a ``catalogue.toml`` beside the
file of ``gate.tables``. A step needs only the measurements; logs, pictures and the notebook need the sentences.
"""

from __future__ import annotations

import functools
from pathlib import Path

from solvent.lab.mechanisms.gate import GATE_POLICIES
from solvent.lab.names import LabSentences, LevelPolicy
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.lab.words.catalogue import CATALOGUE, Catalogue, WordsError, load_catalogue
from solvent.lab.words.measured import Measured, load_measured, shipped

__all__ = ["lab_sentences", "measured_for", "policy_of", "sentences_of"]


def _file(params: LabParams) -> Path:
    """Return the file that ``gate.tables`` names, or the shipped file for this assay."""
    return Path(params.gate.tables) if params.gate.tables else shipped(params.assay)


@functools.lru_cache(maxsize=64)
def measured_for(params: LabParams) -> Measured | None:
    """Return the measurements of a lab's sentences, or None without a gate.

    Raises:
        ParamError: ``gate.tables`` can't be used, or lacks something.
    """
    if not params.gate.enabled:
        return None
    try:
        return load_measured(_file(params)).select(params.assay, params.doses)
    except WordsError as error:
        raise ParamError("gate", str(error)) from None


def policy_of(params: LabParams) -> LevelPolicy | None:
    """Return the gate's policy with its thresholds, or None without a gate.

    Raises:
        ParamError: As in ``measured_for``.
    """
    measured = measured_for(params)
    return None if measured is None else measured.policies[GATE_POLICIES.index(params.gate.policy)]


@functools.lru_cache(maxsize=64)
def sentences_of(params: LabParams) -> LabSentences:
    """Return the sentences of a lab with a gate.

    Raises:
        ParamError: The catalogue that ``gate.tables`` was measured for is missing.
    """
    try:
        return lab_sentences(params, _catalogue(_file(params)))
    except WordsError as error:
        raise ParamError("gate", str(error)) from None


def lab_sentences(params: LabParams, catalogue: Catalogue) -> LabSentences:
    """Return the sentences of all compounds.

    Raises:
        WordsError: The catalogue has no words for these parameters.
    """
    assay = params.assay
    return LabSentences(
        spans=tuple(tuple(catalogue.spans(assay, params.doses, name)) for name in assay.compounds),
        findings=tuple(tuple(catalogue.findings(assay, name)) for name in assay.compounds),
        classes=assay.potency_classes,
    )


def _catalogue(file: Path) -> Catalogue:
    wanted = load_measured(file).about["catalogue_sha256"]
    for path in (CATALOGUE, file.with_name(CATALOGUE.name)):
        if path.exists() and load_catalogue(path).sha256 == wanted:
            return load_catalogue(path)
    raise WordsError(
        f"{file}: measured for other sentences than those at hand; allowed: its {CATALOGUE.name} beside it"
    )
