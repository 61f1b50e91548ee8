"""Contradictions between a response and its calls that are certain, from marks alone.

A mark is a flag, an exit code, a count, an identifier in code style, a status in a table, or the absence of a call of a
kind; never a word of failure that a tool only showed. The kinds:

=====================  =====================================================================================
untold_failure         a check or an attempt failed, nothing settles it, and the response tells of success
nothing_ran            "the tests pass" over a run of no test, or of skipped ones
still_running          "the tests pass" over a run that is still in the background
count_without_result   a number of tests that no result of the session has or adds up to
claim_without_call     an edit, commit, deployment, message or test run without a call that could have done it
denied_but_shown       the response denies what a result shows
asserted_but_absent    the response asserts an identifier that every search for it failed to find
status_contradicted    "running" over a table that says ``Pending``
=====================  =====================================================================================

Source: *Epistemic Adequacy Design*, "definitive claim with no or contradictory evidence". Known approximation: what the
response claims is known by its phrases, in English (``words.toml``); where they are unsure, there is no finding.
"""

from __future__ import annotations

from solvent.adequacy.marks.acts import claim_without_call
from solvent.adequacy.marks.checks import answered, empty_check, untold_failure
from solvent.adequacy.marks.identifiers import asserted_but_absent, denied_but_shown
from solvent.adequacy.marks.material import Finding, Material, pattern, tells_of_failure
from solvent.adequacy.marks.numbers import count_without_result, unmeasured
from solvent.adequacy.marks.statuses import status_contradicted

__all__ = ["Finding", "Material", "answered", "contradiction", "tells_of_failure", "unmeasured"]

_DETECTORS = (
    untold_failure,
    empty_check,
    count_without_result,
    claim_without_call,
    denied_but_shown,
    asserted_but_absent,
    status_contradicted,
)
_FOREIGN = 2
"""Function words of another language, from which on nothing is found: the phrases are English."""


def contradiction(material: Material) -> Finding | None:
    """Return the first contradiction between a response and its calls, the certain ones first."""
    if sum(len(pattern("foreign").findall(claim.prose)) for claim in material.claims) >= _FOREIGN:
        return None
    findings = [finding for detect in _DETECTORS if (finding := detect(material))]
    return min(findings, key=lambda finding: not finding.certain, default=None)
