"""A review desk under test: a real server on a free port, its stores, and clients that have a session."""

from __future__ import annotations

import html
import json
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import sqlalchemy as sa

from solvent.adequacy.responses import read_responses
from solvent.energy.costs import CostStore, EnergyCost, EnergyCostProposal, Reflection
from solvent.gate.judged import Judged
from solvent.gate.policy import FIXED
from solvent_experiments.desk.app import Opened, application, listen, server_of

HOSTILE = "<script>document.title='stolen'</script><img src=x onerror=alert(1)>\u202e\x1b[2J \"'&{{ 7*7 }}"
"""A text that would run, draw or reverse if a page let it."""


class Running:
    """A desk that is served."""

    def __init__(self, opened: Opened, port: int, token: str) -> None:
        self.opened, self.base = opened, f"http://127.0.0.1:{port}"
        self.url = f"{self.base}/?token={token}"

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """A client with a session of its own."""
        with httpx.Client(base_url=self.base, follow_redirects=True, timeout=30.0) as client:
            assert client.get(self.url).status_code == 200
            yield client


@contextmanager
def running(opened: Opened) -> Iterator[Running]:
    with listen(0) as listening:
        port = listening.getsockname()[1]
        guarded = application(opened, port)
        server = server_of(guarded)
        thread = threading.Thread(target=lambda: anyio.run(server.serve, [listening]))
        thread.start()
        try:
            yield Running(opened, port, guarded.token)
        finally:
            server.should_exit = True
            thread.join()


def open_all(
    folder: Path, costs: CostStore | None = None, responses: int | None = 3, **changes: Any
) -> Opened:
    """Everything that a desk shows, in a folder."""
    path = folder / "responses.jsonl"
    path.write_text("".join(json.dumps(response(i)) + "\n" for i in range(responses or 0)))
    parts: dict[str, Any] = {
        "costs": costs,
        "gates": [],
        "responses": None if responses is None else read_responses(path),
        "scores": folder / "scores.jsonl",
        "incidents": folder / "incidents.jsonl",
        "retired": folder / "retired.jsonl",
        "refusals": None,
    }
    return Opened(**{**parts, **changes})


def response(number: int) -> dict[str, Any]:
    calls = [{"name": "Grep", "arguments": {"pattern": "retry"}, "result": "client.py: retry(3)"}]
    text = f"The client never retries, in no case at all ({number})."
    return {"id": f"r{number}", "response": text, "query": "Does it retry?", "tool_calls": calls}


def reviews(count: int, claim: str = "the lamp was built near the harbour") -> list[Judged]:
    """Claims under review."""
    policy = FIXED["standard"]
    return [
        Judged(
            id=f"{i:016x}",
            name=f"claim {i}",
            claim=f"{claim} {i}",
            evidence=("the old lamp was built near the museum", HOSTILE),
            pages=("lamps",),
            domain="lamps",
            model="words",
            model_fingerprint="0" * 64,
            policy=policy,
            result={
                "verdict": "review",
                "hallucination_energy": 0.45 + 1e-6 * (i % 1000),
                "energy_gap": 0.21,
                "policy_applied": policy.name,
                "reasons": ["energy 0.45 in the review band above 0.4"],
                "checks": [],
                "failure_modes": [],
            },
            judged_at="2026-11-24T12:00:00+00:00",
        )
        for i in range(count)
    ]


def fill_with_proposals(
    store: CostStore, count: int, rationale: str = "repeated avoidance"
) -> list[uuid.UUID]:
    """File a pending proposal about each of ``count`` actions, in bulk."""
    memory = store.log_reflection(Reflection(episode="ada", heartbeat_number=110, agent_notes="put off")).id
    names = [f"verb_{i:05d}" for i in range(count)]
    keys = [uuid.uuid4() for _ in names]
    prices = [{"target_type": "action", "target_name": name, "revision": 0, "cost": 4.0} for name in names]
    argued = {
        "target_type": "action",
        "current_cost": 4.0,
        "suggested_min": 2.0,
        "suggested_max": 3.0,
        "direction": "decrease",
        "rationale": rationale,
        "confidence": 0.6,
        "evidence": [{"source": "heartbeat_102", "summary": HOSTILE.replace("\x1b", "")}],
        "heartbeat_refs": [102, 109],
        "memory_refs": [memory],
    }
    with store._writing("proposals") as session:
        session.execute(sa.insert(EnergyCost), prices)
        rows = [{**argued, "id": key, "target_name": name} for key, name in zip(keys, names, strict=True)]
        session.execute(sa.insert(EnergyCostProposal), rows)
    return keys


def field(page: str, name: str) -> str:
    """The value of a page's first field of that name."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def send(client: httpx.Client, path: str, to: str = "", **fields: str) -> httpx.Response:
    """Fill in the form of a page and send it, as a browser does."""
    signature = field(client.get(path).text, "csrf")
    return client.post(to or path, data={"csrf": signature, **fields})
