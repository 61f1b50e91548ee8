"""A labelled set for the checks: 170 spans, each with a claim that it supports and one that was changed.

``check_pairs.tsv`` has a line for each span: the kind of the change (number, negation, quotation, or novel for a number
or negation under other words), the span, the supported claim and the changed one. All were written before any check was
changed for them. The SHA-256 of the span splits them: checks were changed by what they did on ``build``, and ``unseen``
was scored once, afterwards.

    python -m tests.gate.check_pairs build
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from solvent.gate.calibration import rate
from solvent.gate.checks import run_checks

HALVES = ("build", "unseen")


class Pair(NamedTuple):
    """A claim and its span; ``changed`` is the kind of the change, or empty for a supported claim."""

    changed: str
    claim: str
    span: str

    @property
    def fired(self) -> list[str]:
        return [check.name for check in run_checks(self.claim, [self.span]) if check.fired]


def pairs(half: str) -> Iterator[Pair]:
    """Yield the pairs of a half."""
    for line in Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines():
        kind, span, supported, changed = line.split("\t")
        if HALVES[hashlib.sha256(span.encode()).digest()[0] % 2] == half:
            yield Pair("", supported, span)
            yield Pair(kind, changed, span)


def scores(half: str) -> dict[str, tuple[int, int]]:
    """Return the number of claims to which a check objects, and of all, by kind; supported claims are ``supported``."""
    found: dict[str, tuple[int, int]] = {}
    for pair in pairs(half):
        objected, count = found.get(pair.changed or "supported", (0, 0))
        found[pair.changed or "supported"] = (objected + bool(pair.fired), count + 1)
    return found


if __name__ == "__main__":
    for half in sys.argv[1:] or HALVES:
        for kind, (objected, count) in scores(half).items():
            exact = rate(objected, count)
            print(f"{half:7s} {kind:10s} {objected:3d} of {count:3d}  {exact.low:.1%} to {exact.high:.1%}")
        if half == "build":
            for pair in pairs(half):
                if bool(pair.fired) != bool(pair.changed):
                    print(pair.fired, pair)
