"""People's labels: lines of ``scores.jsonl`` with the name of who gave them and, where it was said, why.

The first person's label of a response stands: it is the ``human`` rating of ``scores.merged``. What a second person
gives is another label; it counts on a scale that the first left out, and nothing is overwritten. ``comparison``
measures how well two people agree on the responses that both labelled. A label must not be anchored, so a person gives
one per response, before the heuristic's score is shown; only someone who takes a label back at once (``again``) gives
another, and then that person's last line counts.

Source: "Epistemic Adequacy Design", "Manual EpAd scoring" and phase 2; names, reasons and second labels are ours.

Known approximation: ``labelled_by`` is what a person typed; another spelling is another person.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import score
from solvent.adequacy.responses import Response
from solvent.adequacy.scores import Ratings, ScoreRecord, append_scores, read_scores, record_of

__all__ = ["add_label", "labels_of", "read_labels", "scores_of"]

_LABELLED = re.compile(rb'"human": ?[0-3]')


def read_labels(path: str | os.PathLike[str]) -> list[ScoreRecord]:
    """Return the lines with a person's label, in order; none without a file. The other lines are not parsed.

    Raises:
        AdequacyError: the file can't be read, or one of these lines is not a score.
    """
    if not Path(path).exists():
        return []
    return [record for record in read_scores(path, having=_LABELLED) if record.labelled]


def scores_of(path: str | os.PathLike[str], response: Response) -> list[ScoreRecord]:
    """Return the lines about a response, in order; none without a file. Raises what ``read_labels`` raises."""
    if not Path(path).exists():
        return []
    about = re.compile(response.sha256.encode("ascii"))
    return [record for record in read_scores(path, having=about) if record.id == response.id]


def labels_of(records: Iterable[ScoreRecord]) -> list[ScoreRecord]:
    """Return each person's label among the lines about one response, in the order in which people came."""
    last = {record.labelled_by: record for record in records if record.labelled}
    return list(last.values())


def add_label(
    path: str | os.PathLike[str],
    response: Response,
    epad: int,
    sya: int | None,
    *,
    by: str,
    reason: str | None,
    again: bool = False,
) -> None:
    """Append a person's label of a response. A response that was scored keeps the heuristic's score.

    Raises:
        AdequacyError: the person has labelled it and it is not ``again``, a value is not allowed, or the file can't be
            read or written.
    """
    known = scores_of(path, response)
    if not again and any(one.labelled_by == by for one in labels_of(known)):
        raise AdequacyError(f"{by!r:.80} has labelled this response; allowed: one label from each person")
    record = record_of(
        response.text,
        response.context,
        response.query,
        score(response.text, response.context, response.query),
    )
    # The earlier score may include triggers, which a new score would not have.
    scored = any(one.epad.heuristic is not None for one in known)
    old_epad, old_sya = (Ratings(), Ratings()) if scored else (record.epad, record.sya)
    record = replace(
        record,
        id=response.id,
        epad=replace(old_epad, human=epad),
        sya=replace(old_sya, human=sya),
        agent=response.agent,
        session=response.session,
        labelled_by=by,
        reason=reason,
    )
    append_scores(path, [record])
