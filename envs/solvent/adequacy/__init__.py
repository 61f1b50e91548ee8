"""Epistemic adequacy: is the confidence of the words warranted by the evidence that was gathered?

    from solvent.adequacy import ToolContext, score

    context = ToolContext.from_dicts([{"name": "Read", "arguments": {"path": "auth.py"}, "result": "def login(): ..."}])
    found = score("The function `logout` does not exist in this codebase.", context)
    found.score, found.rule, [span.text for span in found.spans]      # 2, 'definitive/thin', ['does not exist']

``score`` is a heuristic on the words and the tool log alone: ``heuristic``, with ``lexicon.toml`` for a person to edit.
It measures the process, not whether the answer is right. Beside it: ``sycophancy`` (whose premise a false claim is),
``judge`` (a model behind an OpenAI-compatible endpoint), ``scores`` (``scores.jsonl``), ``thresholds`` and
``comparison`` (against human labels), ``fmea`` and ``patterns`` (incidents, and what precedes them), ``drift`` and
``corrections``. ``lab`` applies it to the lab's own findings.

Importing this loads the standard library and NumPy; what needs more is loaded when it is asked for.

Source: *Epistemic Adequacy Design*.
"""

from __future__ import annotations

import importlib
import typing

from solvent.adequacy.corrections import Correction, CorrectionTable, correction_for, load_corrections
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy, SentenceFinding, Span, Words, score, score_of
from solvent.adequacy.lexicon import Lexicon, load_lexicon
from solvent.adequacy.tools import Evidence, Scope, ToolCall, ToolContext

if typing.TYPE_CHECKING:
    from solvent.adequacy.comparison import compare
    from solvent.adequacy.drift import DriftMonitor, DriftRules
    from solvent.adequacy.fitness import fitness
    from solvent.adequacy.fmea import Incident
    from solvent.adequacy.judge import Judge, JudgeError
    from solvent.adequacy.judgement import Judgement
    from solvent.adequacy.labelled import Example, load_examples
    from solvent.adequacy.patterns import extract
    from solvent.adequacy.scores import ScoreRecord, append_scores, read_scores, record_of
    from solvent.adequacy.thresholds import discover

__all__ = [
    "Adequacy",
    "AdequacyError",
    "Correction",
    "CorrectionTable",
    "DriftMonitor",
    "DriftRules",
    "Evidence",
    "Example",
    "Incident",
    "Judge",
    "JudgeError",
    "Judgement",
    "Lexicon",
    "Scope",
    "ScoreRecord",
    "SentenceFinding",
    "Span",
    "ToolCall",
    "ToolContext",
    "Words",
    "append_scores",
    "compare",
    "correction_for",
    "discover",
    "extract",
    "fitness",
    "load_corrections",
    "load_examples",
    "load_lexicon",
    "read_scores",
    "record_of",
    "score",
    "score_of",
]

_LATER = {
    "DriftMonitor": "drift",
    "DriftRules": "drift",
    "Example": "labelled",
    "Incident": "fmea",
    "Judge": "judge",
    "JudgeError": "judge",
    "Judgement": "judgement",
    "ScoreRecord": "scores",
    "append_scores": "scores",
    "compare": "comparison",
    "discover": "thresholds",
    "extract": "patterns",
    "fitness": "fitness",
    "load_examples": "labelled",
    "read_scores": "scores",
    "record_of": "scores",
}
"""What needs more than NumPy, and the module that has it."""


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
