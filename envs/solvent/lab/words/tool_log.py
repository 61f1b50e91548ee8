"""The tool log of one lab: which plates were run on each compound, and what they left in the notebook.

The record of a lab counts plates; this keeps them, for whom the words of a finding are to be held against the very
calls behind them. Sentences are made when they are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solvent.lab.actions import Verb, action_table
from solvent.lab.params import LabParams

__all__ = ["ToolLog"]


class ToolLog:
    """The plates of an episode, by compound."""

    def __init__(self, params: LabParams) -> None:
        self.params = params
        actions = action_table(params)
        self._verbs: list[int] = actions["verb"].tolist()
        self._compounds: list[int] = actions["compound"].tolist()
        self._plates: list[list[tuple[int, bytes, Any, Any]]] = []
        self.clear()

    def clear(self) -> None:
        """Forget everything: another episode, or a state from elsewhere."""
        self._plates = [[] for _ in self.params.assay.compounds]

    def add(self, action: int, lab: Any) -> None:
        """Keep the plate of a compound that ``action`` has run and that left ``lab`` behind.

        As it is, for a step has no time to lose: ``of`` makes numbers of it.
        """
        compound = self._compounds[action]
        fit = lab["fit_strength"][compound], lab["fit_class"][compound]
        self._plates[compound].append((self._verbs[action], lab["last_bins"].tobytes(), *fit))

    def of(self, compound: int, run: int) -> list[dict[str, Any]]:
        """The log of a compound as tool calls, ``{name, arguments, result}``, the oldest first.

        ``run`` is how many plates were run on it.

        Raises:
            ValueError: a lab without a gate, whose plates leave no sentences, or plates that were not run here.
        """
        if not self.params.gate.enabled:
            raise ValueError("tool_log: this lab writes none; allowed: where gate.enabled is true")
        known = len(self._plates[compound])
        if known != run:
            name = self.params.assay.compounds[compound]
            raise ValueError(
                f"tool_log: {run - known} of {run} plates on {name} came with set_state; allowed: those run here"
            )
        from solvent.adequacy.lab import Plate, tool_calls  # only who reads needs it

        plates = []
        for verb, bins, strength, named in self._plates[compound]:
            readouts = getattr(self.params.plates, Verb(verb).name.lower()).readouts
            seen = np.frombuffer(bins, np.int8)[:readouts].tolist()
            plates.append(Plate(Verb(verb), tuple(seen), int(strength), int(named)))
        return tool_calls(self.params, compound, plates)
