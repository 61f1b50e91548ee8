"""The review desk over HTTP and in a real browser: decisions, two people at once, forged forms, hostile texts."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page

from solvent.adequacy.patterns import TRIGGERS, Trigger
from solvent.adequacy.records import ScoreRecord
from solvent.energy import Proposal
from solvent.energy.store import CostStore
from solvent.files import append_records, now, read_records
from solvent.gate.policy import FIXED
from solvent.gate.reviews import Judged
from solvent.gate.reviews import Reviews as Verdicts
from solvent_experiments.desk.app import LOOPBACK, Desk
from solvent_experiments.desk.queues import Proposals, Responses, Reviews
from tests.commands import call, launching

HOSTILE = "<script>document.title='stolen'</script><img src=x onerror=alert(1)>\u202e \"'&{{ 7*7 }}"
"""A text that would run, draw or reverse if a page let it."""


@pytest.fixture
def costs(tmp_path: Path) -> Iterator[CostStore]:
    with CostStore(str(tmp_path / "costs.db")) as store:
        store.register_verbs()
        for name, cost in (("screen", 4.0), ("dose_response", 6.0)):
            phrase = {
                "target": name, "current_cost": cost, "suggested_range": [2.0, 3.0], "direction": "decrease",
                "rationale": f"put off again {HOSTILE}", "confidence": 0.6,
                "evidence": [f"heartbeat_102: {HOSTILE}", "heartbeat_109: again"],
            }  # fmt: skip
            store.file(Proposal.model_validate(phrase))
        yield store


@pytest.fixture
def gate(tmp_path: Path) -> Verdicts:
    verdicts = Verdicts(tmp_path / "gate")
    verdicts.record([review(i) for i in range(3)])
    return verdicts


def review(i: int) -> Judged:
    return Judged(
        id=f"{i:016x}", claim_id=f"claim {i}", claim=f"the lamp was built near the harbour {i}", evidence=(HOSTILE,),
        pages=("lamps",), domain="lamps", model="words", judged_at=now(), policy=FIXED["standard"], verdict="review",
        hallucination_energy=0.45, energy_gap=0.21, policy_applied="standard", oracle_energy=0.0, oracle_spread=0.0,
        reasons=("energy 0.45 in the review band above 0.4",), checks=(), failure_modes=(),
    )  # fmt: skip


@pytest.fixture
def labels(tmp_path: Path) -> tuple[Path, Path]:
    responses = tmp_path / "responses.jsonl"
    calls = [{"name": "Grep", "arguments": {"pattern": "retry"}, "result": f"client.py: retry(3) {HOSTILE}"}]
    rows = [
        {
            "id": f"r{i}",
            "response": f"The client never retries ({i}).",
            "query": "Does it retry?",
            "tool_calls": calls,
        }
        for i in range(2)
    ]
    responses.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return responses, tmp_path / "scores.jsonl"


@pytest.fixture
def url(costs: CostStore, gate: Verdicts, labels: tuple[Path, Path]) -> Iterator[str]:
    with socket.create_server((LOOPBACK, 0)) as listening:
        port = listening.getsockname()[1]
        desk = Desk([Proposals(costs), Reviews(gate), Responses(*labels)], port)
        threading.Thread(target=desk.serve, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{port}/?token={desk.token}"


@contextmanager
def session(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url.partition("?")[0], follow_redirects=True, timeout=30.0) as client:
        assert client.get(url).status_code == 200
        yield client


def keys(page: str, queue: str) -> list[str]:
    return re.findall(rf'href="/{queue}/([^"]+)"', page)


def send(
    client: httpx.Client, path: str, opened: Callable[[], object] = lambda: None, **form: str
) -> httpx.Response:
    """Open a page and send its form; ``opened`` is called in between."""
    csrf = re.search(r'name="csrf" value="(\w+)"', client.get(path).text)
    assert csrf
    opened()
    return client.post(path, data={"csrf": csrf[1], "who": "Ada", "why": "seen", **form})


def test_the_first_page_says_what_waits(url: str) -> None:
    with session(url) as client:
        home = client.get("/").text
    assert all(phrase in home for phrase in ("Cost proposals: 2", "Gate reviews: 3", "Responses to label: 2"))


def test_decisions_reach_the_stores(
    url: str, costs: CostStore, gate: Verdicts, labels: tuple[Path, Path]
) -> None:
    with session(url) as client:
        first, second = keys(client.get("/costs").text, "costs")
        send(client, f"/costs/{first}", decision="approve", cost="2.5")
        send(client, f"/costs/{second}", decision="reject")
        send(client, f"/reviews/{0:016x}", decision="decline")
        (key, _) = keys(client.get("/responses").text, "responses")
        send(client, f"/responses/{key}", decision="3")
    decided = [(row.status, row.new_cost) for row in map(costs.proposal, (first, second))]
    assert decided == [("approved", 2.5), ("rejected", None)]
    assert [made.who for made in gate.decisions().values()] == ["Ada"]
    (label,) = read_records(labels[1], ScoreRecord)
    assert (label.epad.human, label.labelled_by, label.reason) == (3, "Ada", "seen")


def test_a_decision_is_confirmed_and_no_longer_waits(url: str) -> None:
    with session(url) as client:
        for key in keys(client.get("/costs").text, "costs"):
            assert "Recorded." in send(client, f"/costs/{key}", decision="reject").text
        assert "Nothing is pending." in client.get("/costs").text


def test_the_heuristics_score_is_shown_after_the_label_alone(url: str) -> None:
    """A label must not be anchored."""
    with session(url) as client:
        (key, _) = keys(client.get("/responses").text, "responses")
        assert "heuristic" not in client.get(f"/responses/{key}").text
        assert "The heuristic says" in send(client, f"/responses/{key}", decision="3").text


def test_a_label_leaves_what_was_logged_of_the_response(labels: tuple[Path, Path]) -> None:
    responses, scores = labels
    call("adequacy", "score", responses, "--out", scores).succeeded()
    first, second = read_records(scores, ScoreRecord)
    limited = second.model_copy(update={"rule": "definitive/reasonable", "session": "other"})
    append_records(scores, [limited])
    queue = Responses(responses, scores)
    for row in (first, second):
        queue.decide(row.id, "3", {"who": "Ada", "why": "seen"})
    *_, label, limited_label = read_records(scores, ScoreRecord)
    assert (label.rule, label.session) == (first.rule, first.session)
    assert (limited_label.rule, limited_label.session) == ("definitive/reasonable", "other")


def test_a_trigger_holds_for_a_response_that_was_not_scored(labels: tuple[Path, Path]) -> None:
    responses, scores = labels
    trigger = Trigger(pattern="only Grep", by="Ada", reason="seen", time=now())
    append_records(scores.with_name(TRIGGERS), [trigger])
    queue = Responses(responses, scores)
    queue.decide(queue.waiting()[0].key, "3", {"who": "Ada", "why": "seen"})
    (label,) = read_records(scores, ScoreRecord)
    assert "trigger: only Grep" in label.signals


def test_the_first_of_two_people_decides(url: str, gate: Verdicts) -> None:
    all_have_it_open = threading.Barrier(4)

    def decide(who: str) -> httpx.Response:
        with session(url) as client:
            return send(client, f"/reviews/{1:016x}", all_have_it_open.wait, decision="accept", who=who)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(decide, "ABCD"))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    (made,) = gate.decisions().values()
    assert all(f"accept by {made.who}" in answer.text for answer in answers)


@pytest.mark.parametrize(
    ("form", "phrase"),
    [({"who": ""}, "who"), ({"why": " "}, "why"), ({"decision": "maybe"}, "decision"), ({"who": "x" * 201}, "who"),
     ({"decision": "approve", "cost": "much"}, "cost"), ({"decision": "approve", "cost": "0.1"}, "allowed")],
)  # fmt: skip
def test_wrong_forms_record_nothing(url: str, costs: CostStore, form: dict[str, str], phrase: str) -> None:
    with session(url) as client:
        (key, _) = keys(client.get("/costs").text, "costs")
        answer = send(client, f"/costs/{key}", **{"decision": "reject", **form})
    assert answer.status_code == 422
    assert "Not recorded." in answer.text
    assert phrase in answer.text
    assert costs.proposal(key).status == "pending"


def test_forged_and_foreign_requests_are_refused(url: str, costs: CostStore) -> None:
    base = url.partition("?")[0]
    with session(url) as client, httpx.Client(base_url=base) as stranger, session(url) as other:
        (key, _) = keys(client.get("/costs").text, "costs")
        theirs = re.search(r'name="csrf" value="(\w+)"', other.get(f"/costs/{key}").text)
        assert theirs
        form = {"who": "Eve", "why": "x", "decision": "reject"}
        answers = [
            client.post(f"/costs/{key}", data=form),
            client.post(f"/costs/{key}", data=form | {"csrf": theirs[1]}),
            client.post(f"/costs/{key}", data=form | {"csrf": "\u00e9"}),
            stranger.get("/costs"),
            stranger.get("/?token=wrong"),
            stranger.post(f"/costs/{key}", data=form),
        ]
        assert [answer.status_code for answer in answers] == [403] * 6
    assert costs.proposal(key).status == "pending"


def test_another_host_and_unknown_pages_are_refused(url: str) -> None:
    with session(url) as client:
        assert client.get("/", headers={"host": "evil.example"}).status_code == 400
        for path in ("/nothing", "/costs/none", "/reviews/%00"):
            assert client.get(path).status_code == 404


@pytest.fixture
def page(url: str, browser: Browser) -> Iterator[Page]:
    """A small screen with a cost proposal, on which nothing may pop up or fail."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    noise: list[str] = []
    page.on("dialog", lambda dialog: noise.append(dialog.message))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.goto(url)
    assert "token" not in page.url
    page.get_by_role("link", name="Cost proposals: 2").click()
    page.locator(".items a").first.click()
    page.wait_for_load_state()  # with its styles
    yield page
    assert noise == []
    page.close()


def test_texts_are_shown_and_do_nothing(page: Page) -> None:
    body = page.locator("body").inner_text()
    assert all(text in body for text in ("<script>", "{{ 7*7 }}", "\\u202e"))
    assert "stolen" not in page.title()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_decision_leads_to_the_next_one(page: Page) -> None:
    page.get_by_label("Reject").check()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Reason").fill(HOSTILE)
    page.get_by_role("button", name="Record").click()
    assert page.get_by_role("status").inner_text() == "Recorded."
    page.get_by_role("link", name="The next one").click()
    assert "/costs/" in page.url


def test_the_command_serves_and_ends(
    labels: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call("desk").refused("nothing to review", "--responses")
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        call("desk", "--responses", labels[0], "--port", port).refused(f"--port: got {port}", "--port 0")
    with launching() as start:
        process = start("desk", "--responses", labels[0], "--scores", labels[1], "--port", 0)
        process.stdout.readline()
        address = process.stdout.readline().strip().removeprefix("open: ")
        with session(address) as client:
            assert "Responses to label: 2" in client.get("/").text
