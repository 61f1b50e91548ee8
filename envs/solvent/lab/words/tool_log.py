"""The tool log of one lab: the plates run on each compound as tool calls, one per look.

A lab's record only counts plates. The log keeps them, so that a finding's words can be compared with the calls that
support them. Sentences are built on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.tables import looks_of
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.rows import fit_row, readout_row
from solvent.lab.words.sentences import LabSentences, sentences_of


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


class ToolLog:
    """The plates of an episode, by compound."""

    def __init__(self, params: LabParams) -> None:
        self.params = params
        actions = action_table(params)
        self._verbs: list[int] = actions["verb"].tolist()
        self._compounds: list[int] = actions["compound"].tolist()
        self.clear()

    def clear(self) -> None:
        """Remove all plates."""
        self._plates: list[list[Plate]] = [[] for _ in self.params.assay.compounds]

    def add(self, action: int, lab: Any) -> None:
        """Store the plate of a compound that ``action`` ran; ``lab`` is the record after it."""
        verb, compound = Verb(self._verbs[action]), self._compounds[action]
        readouts = getattr(self.params.plates, VERBS[verb].name).readouts
        fit = int(lab["fit_strength"][compound]), int(lab["fit_class"][compound])
        self._plates[compound].append(Plate(verb, tuple(lab["last_bins"][:readouts].tolist()), *fit))

    def of(self, compound: int, run: int) -> list[dict[str, Any]]:
        """Return the log of a compound on which ``run`` plates were run, as tool calls, oldest first.

        Raises:
            ValueError: The lab has no gate, so its plates have no sentences, or some plates were not run here.
        """
        if not self.params.gate.enabled:
            raise ValueError("tool_log: this lab writes none; allowed: where gate.enabled is true")
        known = len(self._plates[compound])
        if known != run:
            name = self.params.assay.compounds[compound]
            raise ValueError(
                f"tool_log: {run - known} of {run} plates on {name} came with set_state; allowed: those run here"
            )
        return tool_calls(self.params, sentences_of(self.params), compound, self._plates[compound])
