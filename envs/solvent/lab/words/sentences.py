"""The words of a lab: its sentences, their measurements, the gate's policies and adequacy's corrections.

The sentences are those that the tables were measured for: the shipped catalogue, or a ``catalogue.toml`` beside the
file of ``gate.tables``. A step needs only the measurements; logs, pictures and the notebook need the sentences.
"""

from __future__ import annotations

import functools
from pathlib import Path

from solvent.lab.mechanisms.adequacy import RULES, rule_scores
from solvent.lab.names import Correction, LabSentences, LevelPolicy
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.lab.words.catalogue import CATALOGUE, Catalogue, WordsError, load_catalogue
from solvent.lab.words.measured import Measured, load_measured, shipped

__all__ = [
    "corrections_of",
    "lab_sentences",
    "measured_for",
    "policies_of",
    "rule_corrections",
    "sentences_of",
]


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


def policies_of(params: LabParams) -> tuple[LevelPolicy, ...]:
    """Return the policies of the family in force, laxest first; empty without a gate.

    Raises:
        ParamError: As in ``measured_for``.
    """
    measured = measured_for(params)
    return () if measured is None else measured.policies_for(params.gate)


@functools.lru_cache(maxsize=64)
def _by_rule(params: LabParams) -> tuple[Correction | None, ...]:
    """Return the correction of an error under each rule.

    It is None for findings that can't be published: those without a plate, and those that score ``reject_from`` or
    more.
    """
    measured = measured_for(params)
    if measured is None or not params.adequacy.enabled:
        return ()
    return tuple(
        correction if score < params.adequacy.reject_from and "/" in rule and "/none" not in rule else None
        for rule, score, correction in zip(RULES, rule_scores(), measured.corrections, strict=True)
    )


def corrections_of(params: LabParams) -> tuple[Correction, ...]:
    """Return all corrections that can occur, in the order of their codes; empty without adequacy."""
    return tuple(dict.fromkeys(filter(None, _by_rule(params))))


def rule_corrections(params: LabParams) -> tuple[int, ...]:
    """Return the code of the correction for each rule, or -1 if the rule has none."""
    codes = {correction: code for code, correction in enumerate(corrections_of(params))}
    return tuple(codes[correction] if correction else -1 for correction in _by_rule(params))


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
