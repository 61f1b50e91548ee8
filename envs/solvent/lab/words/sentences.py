"""The lab's words: what can stand on a page, what a finding can say, the gate's policies, adequacy's corrections.

They are those that the lab's tables were measured for: the shipped catalogue, or a ``catalogue.toml`` beside the tables
of ``gate.tables``. Playing needs none of this; the ledger, the pictures and ``LabEnv.notebook`` do.
"""

# The gate is imported inside the functions: a lab without one has no use for it, and it takes a tenth of a second.
from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError

if TYPE_CHECKING:
    from solvent.adequacy.corrections import Correction
    from solvent.gate.policy import Policy
    from solvent.lab.words.catalogue import Catalogue

__all__ = [
    "LabSentences",
    "corrections_of",
    "gate_tables",
    "is_strong_negative",
    "policies_of",
    "policy_names",
    "sentences_of",
]


class LabSentences(NamedTuple):
    """Sentences of each compound, by the rows of the gate's tables."""

    spans: tuple[tuple[str, ...], ...]
    """What a page can hold: readouts by dose and bin, then fits by strength and class."""
    findings: tuple[tuple[str, ...], ...]
    """What a finding can say, by wording and class."""
    classes: int

    def finding(self, compound: int, wording: int, named: int) -> str:
        """The sentence of a finding."""
        return self.findings[compound][wording * self.classes + named]


@functools.lru_cache(maxsize=64)
def policies_of(params: LabParams) -> tuple[Policy, ...]:
    """The gate's policies, the laxest first; none where there is no gate.

    Raises:
        ParamError: ``gate.tables``, or the policies beside them, can't be used.
    """
    if not params.gate.enabled:
        return ()
    from solvent.gate.errors import GateError
    from solvent.lab.words.measured import LAB_POLICIES, lab_policies, load_lab_tables

    path = gate_tables(params)
    try:
        tables = load_lab_tables(path)
        return lab_policies(path.with_name(LAB_POLICIES.name), tables)
    except GateError as error:
        raise ParamError("gate", str(error)) from None


def policy_names(params: LabParams) -> tuple[str, ...]:
    """Names of the gate's policies by level, such as ``adaptive.P20.v1``."""
    return tuple(policy.name for policy in policies_of(params))


@functools.lru_cache(maxsize=4096)
def is_strong_negative(sentence: str) -> bool:
    """Whether a sentence states an absence as a fact, by the heuristic of ``solvent.adequacy``."""
    from solvent.adequacy.heuristic import score
    from solvent.adequacy.tools import ToolContext

    return score(sentence, ToolContext()).strong_negative


def corrections_of(params: LabParams) -> tuple[Correction, ...]:
    """What an agent can be told after a published error, in the order of the codes; none without adequacy."""
    if not params.adequacy.enabled:
        return ()
    from solvent.adequacy.lab import lab_corrections

    return lab_corrections(params.adequacy.reject_from)


@functools.lru_cache(maxsize=64)
def sentences_of(params: LabParams) -> LabSentences:
    """The sentences that a lab with a gate speaks.

    Raises:
        ParamError: the words that ``gate.tables`` was measured for are not there.
    """
    from solvent.gate.errors import GateError

    assay = params.assay
    try:
        words = _catalogue(gate_tables(params))
        return LabSentences(
            spans=tuple(tuple(words.spans(assay, params.doses, name)) for name in assay.compounds),
            findings=tuple(tuple(words.findings(assay, name)) for name in assay.compounds),
            classes=assay.potency_classes,
        )
    except GateError as error:
        raise ParamError("gate", str(error)) from None


def gate_tables(params: LabParams) -> Path:
    """The file of the gate's tables: the one that the parameters name, else the shipped one for such readouts."""
    from solvent.lab.words.measured import shipped_tables

    return Path(params.gate.tables) if params.gate.tables else shipped_tables(params.assay)


def _catalogue(tables: Path) -> Catalogue:
    """The words that these tables were measured for."""
    from solvent.gate.errors import GateError
    from solvent.lab.words.catalogue import CATALOGUE, load_catalogue
    from solvent.lab.words.measured import load_lab_tables

    wanted = load_lab_tables(tables).about["catalogue_sha256"]
    for path in (CATALOGUE, tables.with_name(CATALOGUE.name)):
        if path.exists() and load_catalogue(path).sha256 == wanted:
            return load_catalogue(path)
    raise GateError(
        f"{tables}: measured for other sentences than those at hand; allowed: its {CATALOGUE.name} beside it"
    )
