"""Epistemic adequacy: is the confidence of a response warranted by the evidence gathered for it?

    from solvent.adequacy import ToolContext, correction_for, score

    read = {"name": "Read", "arguments": {"path": "src/client.py"}, "result": "def send(request): ..."}
    context = ToolContext.from_dicts([read])
    found = score("Retries do not exist in this codebase.", context)
    print(found.score, found.rule)  # 2 definitive/thin
    print([span.text for span in found.spans])  # ['do not exist']
    print(correction_for("high", found.rule).id)  # replicate_before_claiming
    found = score("I saw no retry in src/client.py; other modules may add one.", context)
    print(found.score)  # 0

The score runs from 0 (the confidence fits the evidence) to 3 (a definitive claim without evidence). It measures the
process, not whether the answer is right. ``heuristic`` computes it from the words and the tool calls, ``judge`` asks a
model. Labels, thresholds, incidents, patterns and drift have a module each; ``docs/adequacy.md`` is the guide. Source:
*Epistemic Adequacy Design*.
"""

from __future__ import annotations

from solvent.adequacy.corrections import correction_for
from solvent.adequacy.drift import DriftMonitor, DriftRules
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import Incident
from solvent.adequacy.heuristic import Adequacy, score
from solvent.adequacy.judge import ChatSettings, Judge
from solvent.adequacy.labelled import load_examples
from solvent.adequacy.scores import ScoreRecord
from solvent.adequacy.tools import ToolContext

__all__ = [
    "Adequacy",
    "AdequacyError",
    "ChatSettings",
    "DriftMonitor",
    "DriftRules",
    "Incident",
    "Judge",
    "ScoreRecord",
    "ToolContext",
    "correction_for",
    "load_examples",
    "score",
]
