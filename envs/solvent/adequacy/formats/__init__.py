"""Turns of an agent's transcript: the user's words, the calls that followed, and what was answered in the end.

    from solvent.adequacy.formats import read_turns

    for turn in read_turns("session.jsonl").turns:
        print(turn.query, len(turn.calls), turn.response)

A file is JSON lines or one JSON document. Each client's format is a module of this package, found by ``registry``; the
``session`` knows what a turn is. What is not understood is counted in ``Reading.notes``. If it looks like a call or a
result, its turn is ``unread``.
"""

from __future__ import annotations

from solvent.adequacy.formats.reader import read_turns, turn_of
from solvent.adequacy.formats.texts import MOST_KEPT
from solvent.adequacy.formats.turns import Reading, Turn

__all__ = ["MOST_KEPT", "Reading", "Turn", "read_turns", "turn_of"]
