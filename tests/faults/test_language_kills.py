"""Kills of ``solvent llm run`` while an endpoint answers: the same artifacts, and no answer is asked for twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.adequacy.judge_server import calling, reply, running
from tests.commands import Launch
from tests.faults.tally import Tally, rounds
from tests.faults.test_kills import killed

CONCURRENCY = 3
ANSWERS = (
    ("calibrate", {"plate": "dmso"}),
    ("screen", {"compound": "etoposide", "claim_bits": 0.5}),
    ("read_notebook", {"compound": "etoposide"}),
    ("rest", {}),
    ("publish", {"compound": "etoposide", "confidence": 0.5}),
)


def answer(handler) -> None:
    """Answer by the length of the conversation alone, so that every run of it is the same."""
    time.sleep(0.05)
    name, arguments = ANSWERS[len(handler.asked.json["messages"]) // 2 % len(ANSWERS)]
    reply(body=calling(name, arguments))(handler)


def results(root: Path) -> dict[str, bytes]:
    names = (
        "small/transcripts.jsonl",
        "small/endpoint.json",
        "small/episodes.parquet",
        "small/traces.parquet",
        "episodes.parquet",
    )
    return {name: (root / name).read_bytes() for name in names}


@pytest.mark.slow
def test_a_killed_run_of_a_model_goes_on_to_the_same_artifacts_and_pays_no_answer_twice(
    tmp_path: Path, tally: Tally, launch: Launch
) -> None:
    luck = random.Random(17)
    with running(answer) as server:

        def arguments(out: str, cache: str) -> list[str]:
            sizes = ["--episodes", "6", "--concurrency", str(CONCURRENCY), "--agents", "honest", "--quiet"]
            where = ["--base-url", server.url, "--cache", str(tmp_path / cache), "--out", str(tmp_path / out)]
            return ["llm", "run", "--model", "small", *sizes, *where]

        whole = launch(*arguments("whole", "a.sqlite"))
        assert whole.wait(timeout=300) == 0, whole.communicate()
        needed = len(server.requests)
        asked = Counter(request.body for request in server.requests)
        server.requests.clear()
        kills, problems, wanted = 0, [], rounds(10, 40)
        for kill in range(wanted):
            process = launch(*arguments("killed", "b.sqlite"))
            # While the model plays: every kill comes after some more answers.
            while len(server.requests) < needed * (kill + 1) // (wanted + 2) and process.poll() is None:
                time.sleep(0.01)
            if problem := killed(process, luck, 0.0, 0.1):
                problems.append(problem)
            kills += process.returncode != 0
        process = launch(*arguments("killed", "b.sqlite"))
        assert process.wait(timeout=300) == 0, process.communicate()
    twice = len(server.requests) - needed
    assert asked.keys() == {request.body for request in server.requests}
    # What the server had not finished saying when a process was killed is asked again; nothing else is.
    held = (
        not problems
        and 0 <= twice <= kills * CONCURRENCY
        and results(tmp_path / "killed") == results(tmp_path / "whole")
    )
    tally("kills", kills, kills if held else 0)
    assert problems == []
    assert kills == wanted
    assert 0 <= twice <= kills * CONCURRENCY
    assert results(tmp_path / "killed") == results(tmp_path / "whole")
