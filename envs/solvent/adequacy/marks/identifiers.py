"""Identifiers: what a response denies and a result shows, and what it asserts and every search failed to find."""

from __future__ import annotations

import re
from collections.abc import Sequence

from solvent.adequacy.calls import Call, Outcome, commands, empty_result, is_look, is_search, outcome, stems
from solvent.adequacy.marks.material import PATH, Finding, Material, denies, fails, pattern
from solvent.adequacy.words import Claim

__all__ = ["asserted_but_absent", "denied_but_shown", "denied_things"]

_CODE_STYLE = re.compile(r"`([\w./:@-]{3,})(?:\(\))?`|\b(\w+_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+)\b")
_USE = re.compile(r"(?i)\b(?:used|uses|called|calls|referenced|imported|imports)\b")
_DEFINITION = re.compile(r"\b(?:def|class|function|func|fn|const|let|var|interface|struct|enum)\s+\w+")
_GENERIC = stems(
    "function method class module feature entry setting support implementation reference call code project folder"
)


def _identifiers(text: str) -> list[str]:
    return [quoted or bare for quoted, bare in _CODE_STYLE.findall(text)]


def _names(text: str, identifier: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(identifier)}(?![\w-])", text))


def denied_but_shown(material: Material) -> Finding | None:
    """Find a denial of what a result shows: certain of an identifier, not of plain words."""
    for claim in material.asserted:
        if not claim.negative or pattern("elsewhere").search(claim.text.partition(",")[0]):
            continue
        for identifier in _identifiers(claim.text):
            if _denies(claim.text, identifier) and _shows(material.session, identifier, claim.text):
                return Finding("denied_but_shown", claim)
        denied = frozenset() if _USE.search(claim.text) else denied_things(claim.text)
        if denied and any(_finds(call, denied, claim, material) for call in material.calls):
            return Finding("denied_but_shown", claim, certain=False)
    return None


def _denies(text: str, identifier: str) -> bool:
    """Return whether it is the identifier that the sentence denies: "`x` does not exist", "there is no `x`"."""
    before, _, after = text.partition(identifier)
    is_absent = re.match(r"\W+(?:\w+\s){0,2}?", after) and pattern("not_there").search(after[:40])
    there_is_no = pattern("there_is_no").search(before[-40:])
    return bool(is_absent or (there_is_no and len(before[-40:][there_is_no.end() :].split()) < 3))


def _shows(calls: Sequence[Call], identifier: str, denial: str) -> bool:
    """Return whether a result shows an identifier where it is denied, and nothing done afterwards names it.

    A line that denies it too does not show it, and a definition is not a use.
    """
    place = re.search(r"\b(?:in|from|by|under) `?([\w-]*[./][\w./-]*\w)", denial)
    where = place[1].strip(".") if place else ""
    acts = [i for i, call in enumerate(calls) if not is_look(call) and _names(call.asked, identifier)]
    since = calls[acts[-1] + 1 :] if acts else calls
    lines = [line for call in since if not call.failed for line in call.result.splitlines()]
    hits = [line for line in lines if _names(line, identifier) and where in line and not denies(line)]
    return any(not (_USE.search(denial) and _DEFINITION.search(line)) for line in hits)


def denied_things(text: str) -> frozenset[str]:
    """Return the stems of what a sentence says is absent."""
    text = text.replace("`", "")
    if after := pattern("there_is_no").search(text):
        rest = text[after.end() :]
    elif before := pattern("not_there").search(text):
        rest = text[: before.start()]
    else:
        return frozenset()
    named = re.split(
        r"[.,;:()!?]|\b(?:in|on|at|for|from|that|which|to|within|here|by|or|and|exists?)\b", rest
    )[0]
    return stems(named) - _GENERIC


def _finds(call: Call, denied: frozenset[str], claim: Claim, material: Material) -> bool:
    """Return whether a search for just what is denied has hits where it is denied, or a listing names it."""
    if not is_search(call) or outcome(call) is Outcome.FAILED or empty_result(call):
        return False
    hits = _hits(call, claim, material)
    return bool(hits) and (_asks_for(call, denied) or _lists(hits, denied))


def _asks_for(call: Call, denied: frozenset[str]) -> bool:
    """Return whether a search asks for just these stems; of a command's arguments the first is the pattern."""
    for command in commands(call):
        patterns = command.targets[:1] if call.command else command.targets
        if any(stems(one) == denied for one in patterns):
            return True
    return False


def _lists(lines: Sequence[str], denied: frozenset[str]) -> bool:
    """Return whether a line is a name, but for its ending, of nothing but these stems."""
    names = [stems(re.sub(r"\.\w+$", "", line)) for line in lines]
    return any(name and name <= denied for name in names)


def _hits(call: Call, claim: Claim, material: Material) -> list[str]:
    """Return the lines of a result which tell of the place that a sentence names, and of no other sentence's."""
    places = PATH.findall(claim.text)
    elsewhere = {path for other in material.claims if other is not claim for path in PATH.findall(other.text)}
    there = [line for line in call.result.splitlines() if all(place in line for place in places)]
    return [line for line in there if not denies(line) and elsewhere.isdisjoint(PATH.findall(line))]


def asserted_but_absent(material: Material) -> Finding | None:
    """Find an identifier that is asserted although every search for it came back empty."""
    for claim in material.asserted:
        denied = claim.negative or fails(claim) or denies(claim.prose)
        if denied or not pattern("is_there").search(claim.text):
            continue
        if any(_sought_in_vain(identifier, material.session) for identifier in _identifiers(claim.text)):
            return Finding("asserted_but_absent", claim)
    return None


def _sought_in_vain(identifier: str, calls: Sequence[Call]) -> bool:
    """Return whether calls name an identifier, all of them searches without a hit, and no result names it."""
    naming = [call for call in calls if _names(call.asked, identifier)]
    in_vain = bool(naming) and all(is_search(call) and empty_result(call) for call in naming)
    return in_vain and not any(_names(call.result, identifier) for call in calls)
