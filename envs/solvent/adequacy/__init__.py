"""Epistemic adequacy: is the confidence of a response warranted by the evidence gathered for it?

    from solvent.adequacy import Call, correction_for, score

    calls = [Call("Read", {"path": "src/client.py"}, "def send(request): ...")]
    result = score("Retries do not exist in this codebase.", calls)
    print(result.score, result.rule, result.spans)  # 2 definitive/thin ('do not exist',)
    print(correction_for("high", result.rule).id)  # replicate_before_claiming
    print(score("I saw no retry in src/client.py; other modules may add one.", calls).score)  # 0

The score runs from 0 (the confidence fits the evidence) to 3 (a definitive claim with no or contradictory evidence). It
measures the process, not whether the answer is right. ``marks`` finds contradictions that need no judgement of words,
``heuristic`` computes the score, ``judge`` asks a model, ``formats`` reads the turns of an agent's session. Source:
*Epistemic Adequacy Design*.
"""

from __future__ import annotations

from solvent.adequacy.calls import Call, calls_of
from solvent.adequacy.heuristic import Adequacy, score
from solvent.adequacy.records import correction_for

__all__ = ["Adequacy", "Call", "calls_of", "correction_for", "score"]
