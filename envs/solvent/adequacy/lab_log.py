"""Read the lab's log of verdicts (``gate_verdicts.jsonl``) as scores and as incidents.

A finding whose words were scored becomes a score of the session ``LAB/EPISODE``, so that drift and patterns can be
looked for in it. A published error becomes an incident with the three ranks of ``fmea``:

- severity: the rank of the lab's name for it, high for a public error and low for a private one;
- occurrence: by the share of all findings with the same rule in this log that were published and wrong, on the usual
  scale (1 in 2 is 10, 1 in 150,000 and less is 1);
- detectability: by what stood against the finding before it came out: nothing 9, words scored 1 or more 7, a verdict of
  review 4.

Source: *Epistemic Adequacy Design*, "Integration with FMEA skill"; the scale of occurrence is that of the handbooks of
failure mode and effects analysis, the ranks of detectability are ours. Known approximation: the log has the names of
tools and neither arguments nor results. The id of a finding stands for its query, because its sentence recurs.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import Incident, severity_named
from solvent.adequacy.jsonl import read_lines
from solvent.adequacy.scores import Ratings, ScoreRecord, response_sha256
from solvent.adequacy.style import style_of
from solvent.adequacy.tools import ToolCall, ToolContext

__all__ = ["incidents_of_lab", "is_lab_log", "occurrence_rank", "scores_of_lab"]

_PLACE = re.compile(r"_(\d{3,})_(\d{3,})(?:_(lab\d+))?(#\d+)?\Z")
_ONE_IN = (2, 3, 8, 20, 80, 400, 2000, 15_000, 150_000)
"""One failure in so many cases has rank 10, 9, ... 2."""
_UNSEEN, _SCORED, _REVIEWED = 9, 7, 4


def is_lab_log(path: str | os.PathLike[str]) -> bool:
    """Return whether the first line of a file is one of the lab's verdicts.

    Raises:
        AdequacyError: the file can't be read, or its first line is no JSON object.
    """
    first = next(read_lines(path, appended=True), ("", {}))[1]
    return {"event", "design_id"} <= first.keys()


def scores_of_lab(path: str | os.PathLike[str]) -> list[ScoreRecord]:
    """Return the scores of the findings in order.

    Raises:
        AdequacyError: the file can't be read, or a line is no verdict of the lab; the message has its number.
    """
    return [_score(place, line) for place, line in _lines(path) if _is_scored(place, line)]


def incidents_of_lab(path: str | os.PathLike[str]) -> list[Incident]:
    """Return the published errors as incidents, in order.

    Raises:
        AdequacyError: as ``scores_of_lab``, or an incident is about a finding that has no verdict here.
    """
    findings: dict[str, Mapping[str, Any]] = {}
    wrong: list[tuple[str, Mapping[str, Any]]] = []
    for place, line in _lines(path):
        if _is_scored(place, line):
            findings[line["design_id"]] = line
        elif line.get("event") == "incident":
            if line.get("design_id") not in findings:
                got = line.get("design_id")
                raise AdequacyError(f"{place}: design_id: got {got!r:.80}; allowed: that of a verdict above")
            wrong.append((place, line))
    judged = Counter(line["adequacy"]["rule"] for line in findings.values())
    failed = Counter(findings[line["design_id"]]["adequacy"]["rule"] for _, line in wrong)
    return [_incident(place, line, findings[line["design_id"]], judged, failed) for place, line in wrong]


def occurrence_rank(failed: int, count: int) -> int:
    """Return the rank, 1 to 10, of ``failed`` failures among ``count`` cases."""
    return 10 - sum(failed * least < count for least in _ONE_IN)


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines; the second finding with an id, of labs that began anew, and what follows on it get ``#2``."""
    seen: Counter[object] = Counter()
    for place, line in read_lines(path, appended=True):
        name = line.get("design_id")
        if isinstance(name, str):
            seen[name] += line.get("event") == "verdict"
            line["design_id"] = name if seen[name] < 2 else f"{name}#{seen[name]}"
        yield place, line


def _is_scored(place: str, line: Mapping[str, Any]) -> bool:
    """Return whether a line is the verdict on a finding whose words were scored."""
    if line.get("event") not in ("verdict", "review", "incident") or not isinstance(
        line.get("design_id"), str
    ):
        raise AdequacyError(
            f"{place}: got {', '.join(map(str, line))!r:.80}; allowed: a line of gate_verdicts.jsonl"
        )
    if line["event"] != "verdict" or line.get("adequacy") is None:
        return False
    adequacy = line["adequacy"]
    if (
        not isinstance(adequacy, Mapping)
        or not {"score", "rule", "gate_verdict", "tool_context"} <= adequacy.keys()
    ):
        raise AdequacyError(
            f"{place}: adequacy: got {adequacy!r:.80}; allowed: score, rule, verdict and tools"
        )
    return True


def _score(place: str, line: Mapping[str, Any]) -> ScoreRecord:
    adequacy, found = line["adequacy"], _PLACE.search(line["design_id"])
    episode, lab = (found[1] + (found[4] or ""), found[3]) if found else ("000", None)
    fields = {
        "id": line["design_id"],
        **vars(style_of(str(line.get("claim")))),
        "tool_context": adequacy["tool_context"],
        "epad": vars(Ratings(heuristic=adequacy["score"])),
        "sya": vars(Ratings()),
        "rule": adequacy["rule"],
        "signals": [],
        "escalate": False,
        "shadow": False,
        "time": str(line.get("timestamp")).replace("Z", "+00:00"),
        "sha256": response_sha256(str(line.get("claim")), _context(place, line), line["design_id"]),
        "agent": "lab",
        "session": f"{lab or 'lab'}/{episode}",
    }
    return ScoreRecord.from_dict(fields, place)


def _context(place: str, line: Mapping[str, Any]) -> ToolContext:
    names = line["adequacy"]["tool_context"].get("tool_types")
    if not isinstance(names, list):
        raise AdequacyError(f"{place}: tool_types: got {names!r:.80}; allowed: a list of names")
    return ToolContext(tuple(ToolCall(name, {}, None) for name in names))


def _incident(
    place: str,
    line: Mapping[str, Any],
    finding: Mapping[str, Any],
    judged: Counter[str],
    failed: Counter[str],
) -> Incident:
    adequacy = finding["adequacy"]
    rule = adequacy["rule"]
    reviewed = "review" in (finding.get("verdict"), adequacy["gate_verdict"])
    try:
        return Incident(
            id=line["design_id"],
            time=str(line.get("timestamp")).replace("Z", "+00:00"),
            severity=severity_named(str(line.get("severity"))).rank,
            occurrence=occurrence_rank(failed[rule], judged[rule]),
            detectability=_REVIEWED if reviewed else _SCORED if adequacy["score"] else _UNSEEN,
            description=f"A {line.get('audience')} finding about {line.get('compound')} was wrong.",
            query=line["design_id"],
            response=str(finding.get("claim")),
            context=_context(place, finding),
            rule=rule,
            domain="lab",
            reported_by="solvent.lab",
        )
    except AdequacyError as error:
        raise AdequacyError(f"{place}: {error}") from None
