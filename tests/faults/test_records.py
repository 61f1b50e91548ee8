"""Records that no lab has had: refused by name, or the lab steps on from them as from any other."""

from __future__ import annotations

import collections
import json
import subprocess
import sys

import pytest

LEVELS = ("Debt", "Energy", "Gate", "Lab", "Tiny")
ROUNDS = 64


def attempts(env_id: str) -> list[tuple[str, str]]:
    """The attack and the outcome of every attempt; a process that dies has failed at its last one."""
    made: list[tuple[str, str]] = []
    while len(made) < ROUNDS:
        program = [sys.executable, "-m", "tests.faults.corrupt_records", env_id, str(len(made)), str(ROUNDS)]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert told, done.stderr
        attacks = [line["attack"] for line in told if "attack" in line]
        outcomes = [line["outcome"] for line in told if "outcome" in line]
        if done.returncode != 0:
            outcomes.append(f"the process ended with {done.returncode}: {done.stderr[-300:]}")
        made += zip(attacks, outcomes, strict=True)
    return made


@pytest.mark.parametrize("level", LEVELS)
def test_a_corrupted_record_is_refused_or_the_lab_steps_on(level: str) -> None:
    made = attempts(f"Solvent/{level}-v0")
    counts = collections.Counter(outcome for _, outcome in made)
    assert [each for each in made if each[1] not in ("refused", "stepped")][:5] == []
    assert min(counts.values()) > len(made) // 10  # both happen
