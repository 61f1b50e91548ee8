"""Checks and attempts: failures that a response leaves out, and claims over a run that ran nothing or still runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from solvent.adequacy.calls import (
    Call,
    Outcome,
    commands,
    empty_result,
    is_check,
    is_look,
    is_narrow,
    is_search,
    open_failures,
    outcome,
    ran,
    stems,
)
from solvent.adequacy.marks.identifiers import denied_things
from solvent.adequacy.marks.material import Finding, Material, fails, pattern, tells_of_failure
from solvent.adequacy.words import Claim, phrases

__all__ = ["answered", "empty_check", "untold_failure"]

_ZERO_VALUE = re.compile(r"\b(\w+)[\"']?[:=] ?0\b(?![.\d])")
SHARED = 3
"""Words of a failed call's result in a response, from which on it quotes the failure."""


def _says_checks_pass(claim: Claim) -> bool:
    return bool(pattern("checks_pass").search(claim.prose)) and not fails(claim, "check_fails")


def untold_failure(material: Material) -> Finding | None:
    """Find a claim of success over a failure that nothing settles and that the response does not tell."""
    failures = open_failures(material.session)
    if not failures or any(fails(claim, "check_fails") for claim in material.claims):
        return None
    if claim := _false_pass(material, [call for call in failures if is_check(call)]):
        return Finding("untold_failure", claim)
    own = [call for call in material.calls if any(call is failed for failed in failures)]
    return None if not own or tells_of_failure(material.claims) else _false_success(material, own)


def _false_pass(material: Material, checks: Sequence[Call]) -> Claim | None:
    """Return a sentence which says that checks pass, or that one of the failed programs succeeded."""
    programs = {command.program.partition(":")[0] for call in checks for command in commands(call)}
    for claim in material.asserted if checks else ():
        named = any(program in claim.text.lower() for program in programs)
        if _says_checks_pass(claim) or (named and phrases("success").search(claim.prose)):
            return claim
    return None


def _false_success(material: Material, failures: Sequence[Call]) -> Finding | None:
    """Find a claim of success or of work over failed calls of the turn.

    It is certain if nothing succeeded after the failure and the response leaves nothing open. A failed check that is
    left out beside other claims is a finding, too, but not a certain one.
    """
    checked = any(is_check(call) and ran(call) for call in failures)
    open_ended = any(_leaves_open(claim, checked=checked) for claim in material.claims)
    last = not _succeeds_after(failures[-1], material.calls)
    quotes = _quotes(material, failures)
    if open_ended:
        successes = [claim for claim in material.claims if checked and _says_done(claim)]
    else:
        successes = [
            claim for claim in material.claims if _speaks_of_success(claim, quotes=quotes, last=last)
        ]
    omitting = material.asserted if checked and not open_ended and not quotes else []
    claims = successes or omitting
    certain = bool(successes) and last and not open_ended
    return Finding("untold_failure", claims[0], certain=certain) if claims else None


def _succeeds_after(failure: Call, calls: Sequence[Call]) -> bool:
    """Return whether a call after a failure, which is one of the calls, succeeded."""
    place = next(place for place, call in enumerate(calls) if call is failure)
    return any(outcome(call) is Outcome.PASSED for call in calls[place + 1 :])


def _speaks_of_success(claim: Claim, *, quotes: bool, last: bool) -> bool:
    """Return whether a sentence claims success, or work in a response that does not quote the failure."""
    return _says_done(claim) or _claims_success(claim) or (not quotes and _claims_work(claim, last=last))


def _says_done(claim: Claim) -> bool:
    return bool(pattern("done").match(claim.text))


def _without_denied_failures(claim: Claim) -> str:
    return phrases("not_failing").sub(" ", claim.prose)


def _claims_success(claim: Claim) -> bool:
    negated = phrases("qualified").search(_without_denied_failures(claim))
    return bool(claim.words and not negated and phrases("success").search(claim.prose))


def _claims_work(claim: Claim, *, last: bool) -> bool:
    """Return whether a sentence says that something was done: "I raised it", after the last call also "was raised"."""
    forms = ("work", "completed") if last else ("work",)
    return bool(claim.words) and any(pattern(form).search(claim.prose) for form in forms)


def _leaves_open(claim: Claim, *, checked: bool) -> bool:
    """Return whether a sentence leaves something open; over a failed check only if it says what is still to do."""
    kinds = ("unfinished",) if checked else ("unfinished", "qualified")
    return any(phrases(kind).search(_without_denied_failures(claim)) for kind in kinds)


def _quotes(material: Material, failures: Iterable[Call]) -> bool:
    """Return whether a response tells of a failure in the words of its result."""
    own = stems(" ".join(claim.text for claim in material.claims)) - stems(material.query)
    return any(len((stems(call.result[-2000:]) - stems(call.asked)) & own) >= SHARED for call in failures)


def empty_check(material: Material) -> Finding | None:
    """Find a claim that checks pass over a run of nothing, or over one that still runs."""
    claim = next(filter(_says_checks_pass, material.asserted), None)
    outcomes = [outcome(call) for call in _possible_checks(material)]
    if claim is None or not outcomes or Outcome.PASSED in outcomes:
        return None
    kinds = {Outcome.NOTHING_RAN: "nothing_ran", Outcome.RUNNING: "still_running"}
    kind = kinds.get(outcomes[-1])
    return Finding(kind, claim) if kind else None


def _possible_checks(material: Material) -> list[Call]:
    """Return the turn's runs that may be checks, else the last earlier check, else what still runs."""
    runs = [call for call in material.calls if is_check(call) or (ran(call) and not is_look(call))]
    last_earlier = [call for call in material.earlier if is_check(call)][-1:]
    running = [call for call in material.calls if outcome(call) is Outcome.RUNNING]
    return runs or last_earlier or running


def answered(claim: Claim, material: Material, looks: Sequence[Call]) -> bool:
    """Return whether the calls themselves say what a claim says.

    That is so of a failure that the response tells, of what a green check says, of a count of 0, and of an absence
    where the claim names no more than the place that was looked at.
    """
    failed = any(outcome(call) is Outcome.FAILED for call in looks)
    if failed and (claim.negative or tells_of_failure(material.claims)):
        return True
    checks = [call for call in looks if is_check(call)]
    last = outcome(checks[-1]) if checks else None
    if last is Outcome.PASSED and _is_about(claim, checks):
        return _is_within(claim, checks[-1])
    if last is Outcome.NOTHING_RAN:
        return bool(claim.spans)
    return any(_says_none(call, claim) for call in looks)


def _is_within(claim: Claim, check: Call) -> bool:
    """Return whether a claim says no more than a green check: of a narrow one it names a number or a place."""
    names_its_part = bool(re.search(r"\d|[/.]\w", claim.text))
    return not is_narrow(check) or not claim.spans or names_its_part


def _is_about(claim: Claim, checks: Sequence[Call]) -> bool:
    """Return whether a sentence says that checks pass, or names the program of one."""
    programs = {command.program for call in checks for command in commands(call)}
    return _says_checks_pass(claim) or any(program in claim.text.lower() for program in programs)


def _says_none(call: Call, claim: Claim) -> bool:
    """Return whether a call itself says of what a sentence names that there is none."""
    zeros = [*re.findall(r"\b0 (?:to )?(\w+)", call.result), *_ZERO_VALUE.findall(call.result)]
    if stems(" ".join(zeros)) & stems(claim.text):
        return bool(claim.spans)
    if not empty_result(call) or not claim.negative:
        return False
    if is_search(call):
        places = [target for command in commands(call) for target in command.targets[1:]]
        return any(
            re.search(rf"(?<![\w/]){re.escape(place.strip('/'))}(?![\w/])", claim.text) for place in places
        )
    return bool(denied_things(claim.text)) and denied_things(claim.text) <= stems(call.asked)
