"""Plates on a compound as tool calls, one per look: what the words of a finding are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from solvent.lab.params import LabParams
from solvent.lab.tables import looks_of
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.rows import fit_row, readout_row
from solvent.lab.words.sentences import LabSentences


class Plate(NamedTuple):
    """A plate as written in the notebook."""

    verb: Verb
    readouts: tuple[int, ...]  # bin of each dose on the plate
    strength: int  # strength of its fit
    named: int  # class named by its fit


def tool_calls(
    params: LabParams, words: LabSentences, compound: int, plates: Sequence[Plate]
) -> list[dict[str, Any]]:
    """Return the tool log of a compound: ``{name, arguments, result}`` for each look; a plate's last has its fit."""
    bins, spans, calls = params.assay.bins, words.spans[compound], []
    for number, plate in enumerate(plates, start=1):
        name = VERBS[plate.verb].name
        template = getattr(params.plates, name)
        doses = [params.doses.index(dose) for dose in template.doses]
        rows = [readout_row(dose, seen, bins) for dose, seen in zip(doses, plate.readouts, strict=True)]
        looks = looks_of(params, template)
        shares = [rows[len(rows) * i // looks : len(rows) * (i + 1) // looks] for i in range(looks)]
        shares[-1].append(fit_row(len(params.doses) * bins, plate.strength, plate.named, words.classes))
        arguments = {"compound": params.assay.compounds[compound], "plate": number}
        for share in shares:
            result = " ".join(spans[row] for row in share)
            calls.append({"name": name, "arguments": {**arguments}, "result": result})
    return calls
