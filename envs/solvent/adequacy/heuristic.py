"""The adequacy of a response: does the strength of its words fit the evidence behind them?

    score = 3                                 where a mark contradicts the response (``marks``)
    score = MATRIX[words, evidence]           else, the maximum over the sentences

The matrix is the source's table: hedged words are adequate; a strong or universal claim after one look is 2, without a
look 3; ample evidence carries nearly all. Evidence is the session's: the distinct calls of the turn, and those of
earlier turns that the response refers to. Source: *Epistemic Adequacy Design*, "Heuristic scoring".

Known approximation: it measures the process, not the outcome, and it counts looks without weighing them. It can't tell
a claim that happens to be right from one that is wrong, nor whether the right tool was asked.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass

from solvent.adequacy.calls import Call, Outcome, is_search, outcome, stems
from solvent.adequacy.marks import Material, answered, contradiction, tells_of_failure, unmeasured
from solvent.adequacy.marks.material import PATH, pattern
from solvent.adequacy.words import Claim, Words, claims, phrases

__all__ = ["CUTS", "MATRIX", "Adequacy", "Evidence", "score"]


class Evidence(enum.IntEnum):
    """Amount of evidence behind a response."""

    NONE = 0
    THIN = 1
    REASONABLE = 2
    AMPLE = 3


CUTS = (2, 4)
"""From how many distinct calls on evidence is reasonable, and ample."""
MATRIX = ((0, 0, 0, 0), (2, 1, 0, 0), (3, 2, 1, 0), (3, 2, 2, 1))
"""Score by words (hedged, plain, definitive, absolute) and evidence (none, thin, reasonable, ample)."""
WORST = 3

_LINE = re.compile(r"\blines? \d|:\d")


@dataclass(frozen=True)
class Adequacy:
    """The score of a response and its grounds.

    Attributes:
        score: 0 (the confidence fits the evidence) to 3 (a definitive claim with no or contradictory evidence).
        rule: the cell of the matrix, such as ``definitive/thin``; ``definitive/contradicted`` if a mark says the
            opposite; ``nothing_asserted`` without a claim, which has no score in a log.
        signals: the contradiction's kind (``marks``), and signs of limited evidence: ``no_tool_call``, ``only_errors``,
            ``single_call``, ``single_narrow_search``, ``results_not_referred``, ``material_given`` (in the query).
        sentence: the sentence that decided.
        spans: its phrases.
        strong_negative: the response asserts that something is absent.
        certain: marks alone contradict the response, so that its agent may be stopped.
    """

    score: int
    rule: str
    signals: tuple[str, ...]
    sentence: str
    spans: tuple[str, ...]
    strong_negative: bool
    certain: bool = False

    @property
    def escalate(self) -> bool:
        """Whether a judge should look."""
        return self.score >= 2


def score(
    response: str,
    calls: Sequence[Call],
    query: str = "",
    *,
    earlier: Sequence[Call] = (),
    cuts: tuple[int, int] = CUTS,
) -> Adequacy:
    """Score a response against the calls of its session.

    Args:
        response: the text to judge.
        calls: the calls of the turn, in order.
        query: what the user asked.
        earlier: the calls of earlier turns of the session, in order.
        cuts: from how many calls on evidence is reasonable, and ample.
    """
    is_text = not calls and not earlier and pattern("asks_for_text").search(query)
    material = Material([] if is_text else claims(response), query, calls, earlier)
    looks, signals = _looks(material, response)
    negative = any(claim.negative for claim in material.claims)
    if finding := contradiction(material):
        claim = finding.claim
        rule = f"{(claim.words or Words.PLAIN).name.lower()}/contradicted"
        grounds = (finding.kind, *signals)
        return Adequacy(WORST, rule, grounds, claim.text, claim.spans, negative, certain=finding.certain)
    best, rule, decisive = -1, "nothing_asserted", Claim("")
    for claim in material.claims:
        if claim.words is None:
            continue
        evidence = _evidence(claim, looks, material, cuts)
        value = MATRIX[_words(claim, looks, material)][evidence]
        if value > best:
            best, rule, decisive = value, f"{claim.words.name.lower()}/{evidence.name.lower()}", claim
    return Adequacy(max(0, best), rule, signals, decisive.text, decisive.spans, negative)


def _looks(material: Material, response: str) -> tuple[list[Call], tuple[str, ...]]:
    """Return the distinct calls that are evidence, and the signals of little.

    A failed call is evidence of its failure, if the response tells of it. A call of an earlier turn is evidence if the
    response has two words or more of it.
    """
    new = stems(response) - stems(material.query)
    opens = phrases("unfinished").search(response) or phrases("qualified").search(response)
    tells = bool(opens) or tells_of_failure(material.claims)
    looks: list[Call] = []
    for call in material.calls:
        if call not in looks and (outcome(call) is not Outcome.FAILED or tells or stems(call.result) & new):
            looks.append(call)
    looks += [call for call in material.earlier if call not in looks and len(_shared(call, new)) > 1]
    if not looks:
        signal = "only_errors" if material.calls else "no_tool_call"
        return [], (signal,)
    signals = []
    if not any(_refers(call, response, new) for call in looks):
        signals.append("results_not_referred")
    if len(looks) == 1:
        signals.append("single_narrow_search" if is_search(looks[0]) else "single_call")
    return looks, tuple(signals)


def _shared(call: Call, words: frozenset[str]) -> frozenset[str]:
    return words & (stems(call.result) | stems(call.asked))


def _refers(call: Call, response: str, new: frozenset[str]) -> bool:
    """Return whether a response refers to a call: by words of its result, or by what was asked."""
    paths = PATH.findall(call.asked)
    return not call.recorded or len(stems(call.result) & new) > 1 or any(path in response for path in paths)


def _words(claim: Claim, looks: Sequence[Call], material: Material) -> Words:
    """Return the strength of a sentence's words, given where it stands."""
    words = claim.words or Words.HEDGED
    if words is Words.PLAIN and not looks:
        # Failed looks alone make any answer definitive; of things in general one may know something.
        return Words.DEFINITIVE if material.calls else Words.PLAIN
    cited = _LINE.search(claim.text) and any(
        path in call.asked + call.result for call in looks for path in PATH.findall(claim.text)
    )
    return min(words, Words.PLAIN) if cited else words


def _evidence(claim: Claim, looks: Sequence[Call], material: Material, cuts: tuple[int, int]) -> Evidence:
    """Return the amount of evidence for a sentence."""
    if not looks:
        called = material.calls or material.earlier
        return Evidence.NONE if called else _evidence_of_query(claim, material)
    if unmeasured(claim, material):
        return Evidence.NONE
    if len(looks) < cuts[0]:
        return Evidence.REASONABLE if answered(claim, material, looks) else Evidence.THIN
    return Evidence.REASONABLE if len(looks) < cuts[1] else Evidence.AMPLE


def _evidence_of_query(claim: Claim, material: Material) -> Evidence:
    """Return the evidence of a session without calls: what was given, or what one may know of things in general."""
    general = material.query and not pattern("particular").search(material.query)
    given = pattern("material").search(material.query) or any("```" in one.text for one in material.claims)
    return Evidence.THIN if given or (general and claim.words is Words.PLAIN) else Evidence.NONE
