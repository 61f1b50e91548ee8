"""What the detectors of contradictions look at, and what they share: phrases that tell of a failure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from solvent.adequacy.calls import Call
from solvent.adequacy.words import Claim, phrases, vocabulary

__all__ = ["PATH", "Finding", "Material", "denies", "fails", "pattern", "tells_of_failure"]

PATH = re.compile(r"[\w-]*[/.][\w\-./]*\w")


@dataclass(frozen=True)
class Finding:
    """A contradiction: its kind, the sentence, and whether marks alone carry it, so that an agent may be stopped."""

    kind: str
    claim: Claim
    certain: bool = True


@dataclass(frozen=True)
class Material:
    """A response as its sentences, its query, the calls of its turn, and those of earlier turns of the session."""

    claims: Sequence[Claim]
    query: str
    calls: Sequence[Call]
    earlier: Sequence[Call]

    @functools.cached_property
    def session(self) -> list[Call]:
        """All calls up to the response."""
        return [*self.earlier, *self.calls]

    @functools.cached_property
    def asserted(self) -> list[Claim]:
        """The sentences that assert something without a hedge."""
        return [claim for claim in self.claims if claim.words]


@functools.cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of a claim, of ``words.toml``."""
    return re.compile(vocabulary()["claims"][name])


def denies(text: str) -> bool:
    """Return whether a text denies something."""
    return bool(pattern("denies").search(text))


def fails(claim: Claim, kind: str = "failing") -> bool:
    """Return whether a sentence tells of a failure that stands: not denied ("no errors"), and not only as mended."""
    shares = re.findall(r"\b(\d+)(?:/| (?:out )?of (?:the |all )?| von | de )(\d+)\b", claim.prose)
    partial = any(part != total for part, total in shares)
    return partial or bool(phrases(kind).search(phrases("not_failing").sub(" ", claim.prose)))


def tells_of_failure(claims: Iterable[Claim]) -> bool:
    """Return whether a response tells of a failure."""
    return any(map(fails, claims))
