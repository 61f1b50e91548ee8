"""Governance: what published errors do to the gate.

Mechanism. An accepted finding that is wrong is an incident, of severity ``high`` where all readers saw it and ``low``
where one did. Each high incident tightens the gate by one policy (P30 > P20 > P10 > P5 > P1); a number of heartbeats
without one relaxes it by one, never past the policy in force at the start.

Known approximation: an incident is known at once. In a real lab a wrong finding is found out later, or never.
"""

from __future__ import annotations

from solvent.lab.compiled import inlined

__all__ = ["relaxed", "tightened"]


@inlined
def tightened(level, strictest):  # type: ignore[no-untyped-def]
    """The policy after a high incident; 0 is the laxest."""
    return min(level + 1, strictest)


@inlined
def relaxed(level, start, calm, patience):  # type: ignore[no-untyped-def]
    """The policy after ``calm`` heartbeats without a high incident."""
    return level - 1 if level > start and calm >= patience else level
