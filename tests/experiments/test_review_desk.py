"""The review desk over HTTP and in a real browser: decisions, two at once, forged forms, hostile texts, long lists."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import re
import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from solvent.adequacy.decisions import retirements
from solvent.adequacy.fmea import read_incidents
from solvent.adequacy.labels import read_labels
from solvent.adequacy.responses import read_responses
from solvent.adequacy.scores import merged, read_scores
from solvent.debt import append_refusals_jsonl
from solvent.energy.costs import CostStore, Heartbeat
from solvent.extras import upgrade
from solvent.gate.drift import Change
from solvent.gate.store import VerdictStore
from solvent.lab.mechanisms.debt import RefusalEvent
from solvent.lab.verbs import INTENTS
from solvent_experiments.desk.charts import refusals_figure, thresholds_figure
from tests.commands import Launch, call
from tests.desks import HOSTILE, Running, field, fill_with_proposals, open_all, reviews, running, send

PATIENCE = 30_000
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
MANY = 10_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture
def costs(new_place: Callable[[], str]) -> Iterator[CostStore]:
    with CostStore(new_place()) as store:
        yield store


@pytest.fixture
def gate(new_place: Callable[[], str]) -> Iterator[VerdictStore]:
    with VerdictStore(new_place(), create=True) as store:
        yield store


@pytest.fixture
def desk(tmp_path: Path, costs: CostStore, gate: VerdictStore) -> Iterator[Running]:
    fill_with_proposals(costs, 3, HOSTILE.replace("\x1b", ""))
    gate.record(reviews(3))
    with running(open_all(tmp_path, costs, gates=[gate])) as served:
        yield served


@pytest.fixture
def client(desk: Running) -> Iterator[httpx.Client]:
    with desk.client() as client:
        yield client


def first_of(client: httpx.Client, path: str) -> str:
    """The address of the first item of a list."""
    found = re.search(r'<[ou]l class="items".*?href="([^"]+)"', client.get(path).text, re.DOTALL)
    assert found is not None
    return found[1]


def test_a_proposal_is_approved_with_who_and_why(
    desk: Running, client: httpx.Client, costs: CostStore
) -> None:
    path = first_of(client, "/costs")
    said = send(client, path, decision="approve", cost="2.5", who="Ann", why="borne out")
    assert said.status_code == 200
    assert "Recorded." in said.text
    row = costs.proposal(path.rsplit("/", 1)[1])
    assert (row.status, row.new_cost, row.reviewed_by, row.review_notes) == (
        "approved",
        2.5,
        "user",
        "Ann: borne out",
    )
    assert costs.price("action", row.target_name).cost == 2.5
    assert costs.count_proposals()["pending"] == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"decision": "approve", "who": "", "why": "yes"}, "who: got"),
        ({"decision": "approve", "who": "Ann", "why": " "}, "why: got"),
        ({"decision": "approve", "who": "Ann", "why": "x" * 3000}, "why: got"),
        (
            {"decision": "approve", "who": "Ann", "why": "yes", "cost": "0.1"},
            "cost: got 0.1; allowed: 2 to 3",
        ),
        ({"decision": "approve", "who": "Ann", "why": "yes", "cost": "nan"}, "cost: got nan"),
        ({"decision": "burn", "who": "Ann", "why": "yes"}, "decision: got"),
        ({"who": "Ann", "why": "yes"}, "decision: got None"),
    ],
)
def test_a_wrong_form_is_shown_again_with_what_was_typed(
    fields: dict[str, str], said: str, desk: Running, client: httpx.Client, costs: CostStore
) -> None:
    shown = send(client, first_of(client, "/costs"), **fields)
    assert shown.status_code == 422
    assert said in shown.text
    assert f'name="who" required maxlength="200" autocomplete="name" value="{fields["who"]}"' in shown.text
    assert costs.count_proposals()["pending"] == 3


def test_a_proposal_is_revised(desk: Running, client: httpx.Client, costs: CostStore) -> None:
    path = first_of(client, "/costs")
    told = {"least": "3", "most": "3.5", "who": "Ann", "why": "too far"}
    said = send(client, path, f"{path}/revise", **told)
    assert said.status_code == 200
    old, new = costs.proposal(path.rsplit("/", 1)[1]), costs.proposal(str(said.url.path).rsplit("/", 1)[1])
    assert (old.status, new.status, new.suggested_min, new.suggested_max) == (
        "withdrawn",
        "pending",
        3.0,
        3.5,
    )
    assert new.rationale.endswith("Revised by Ann: too far")
    assert str(new.id) in (old.review_notes or "")


def test_a_review_is_declined_and_the_second_is_shown_the_first(desk: Running, client: httpx.Client) -> None:
    path = first_of(client, "/gate/0")
    store = desk.opened.gates[0]
    with desk.client() as other:
        page = other.get(path)  # open before the first decides
        assert send(client, path, decision="decline", who="Ann", why="no harbour").status_code == 200
        signature = field(page.text, "csrf")
        late = {"csrf": signature, "decision": "accept", "who": "Bob", "why": "it is there"}
        said = other.post(path, data=late)
    assert said.status_code == 409
    assert "Their decision stands" in said.text
    for part in ("decline", "Ann", "no harbour", "it is there"):
        assert part in said.text
    decision = store.find(path.rsplit("/", 1)[1]).decision
    assert decision is not None
    assert (decision.choice, decision.who, decision.why) == ("decline", "Ann", "no harbour")
    assert "no harbour" in client.get("/gate/0/decided").text
    assert len(store.waiting()) == 2


@pytest.mark.parametrize("kind", ["cost", "review", "incident", "correction"])
def test_of_many_who_decide_at_once_one_is_first(kind: str, desk: Running, client: httpx.Client) -> None:
    said = {"who": "p", "why": "seen"}
    path, fields = {
        "cost": (first_of(client, "/costs"), {"decision": "reject"}),
        "review": (first_of(client, "/gate/0"), {"decision": "accept"}),
        "incident": (
            "/adequacy/response?id=r0",
            {"severity": "high", "occurrence": "4", "detectability": "7", "domain": "code"},
        ),
        "correction": (first_of(client, "/adequacy/corrections"), {}),
    }[kind]
    stack = contextlib.ExitStack()
    clients = [stack.enter_context(desk.client()) for _ in range(6)]
    signatures = [field(one.get(path).text, "csrf") for one in clients]
    assert len(set(signatures)) == 6
    answers: list[int] = []
    ready = threading.Barrier(6)

    def decide(one: httpx.Client, signature: str) -> None:
        ready.wait()
        answers.append(one.post(path, data={"csrf": signature, **fields, **said}).status_code)

    threads = [threading.Thread(target=decide, args=pair) for pair in zip(clients, signatures, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stack.close()
    assert sorted(answers) == [200] + [409] * 5


def test_an_incident_is_logged_and_a_correction_retired(desk: Running, client: httpx.Client) -> None:
    ranks = {"severity": "high", "occurrence": "4", "detectability": "7", "domain": "code"}
    path = "/adequacy/response?id=r1"
    for wrong in ({"severity": ""}, {"occurrence": "11"}, {"detectability": "x"}, {"domain": ""}):
        assert send(client, path, **ranks | wrong, who="Ann", why="it does retry").status_code == 422
    said = send(client, path, **ranks, who="Ann", why="it does retry", contradicted="yes")
    assert "252 = severity 9 x occurrence 4 x detectability 7" in said.text
    (one,) = read_incidents(desk.opened.incidents)
    assert (one.reported_by, one.description, one.contradicted) == ("Ann", "it does retry", True)
    assert "RPN 252" in client.get("/adequacy/incidents").text
    path = first_of(client, "/adequacy/corrections")
    assert send(client, path, who="Ann", why="no help").status_code == 200
    assert retirements(desk.opened.retired)[path.rsplit("/", 1)[1]]["by"] == "Ann"


LABEL = "/adequacy/label?id=r1"
RESPONSE = "/adequacy/response?id=r1"


def label(client: httpx.Client, **fields: str) -> httpx.Response:
    return send(client, RESPONSE, LABEL, **{"epad": "2", "who": "Ann", "why": "one look", **fields})


def test_the_heuristic_s_score_is_shown_after_the_label_alone(desk: Running, client: httpx.Client) -> None:
    hidden = ("definitive/thin", "single_call", "EpAd of the heuristic", "Words looked at")
    for path in (RESPONSE, f"{RESPONSE}&labels=1", "/adequacy/responses", "/"):
        page = client.get(path).text
        assert not any(word in page for word in hidden), path
    page = client.get(RESPONSE).text
    assert "client.py: retry(3)" in page
    said = label(client, sya="0")
    for word in (*hidden, "Recorded.", "Ann: EpAd 2, SyA 0", "one look", "Next response to label"):
        assert word in said.text, word
    assert re.search(r"<dt>Words looked at</dt><dd>[^<]*never", said.text)
    (line,) = read_scores(desk.opened.scores)
    assert (line.id, line.epad.human, line.sya.human, line.labelled_by, line.reason) == (
        *("r1", 2, 0),
        *("Ann", "one look"),
    )
    assert line.epad.heuristic == 2
    page = client.get(RESPONSE).text  # for a second person nothing is shown either
    assert not any(word in page for word in (*hidden, "EpAd 2", "one look"))
    assert "1 person has labelled it" in page
    assert "<strong>2</strong> responses to label" in client.get("/").text
    assert "labelled (1)" in client.get("/adequacy/responses").text


def test_a_second_person_s_label_stands_beside_the_first(desk: Running, client: httpx.Client) -> None:
    with desk.client() as other:
        signature = field(other.get(RESPONSE).text, "csrf")  # open before the first labels
        label(client)
        late = {"csrf": signature, "epad": "3", "who": "Bob", "why": "it is absolute"}
        said = other.post(LABEL, data=late)
    assert said.status_code == 200
    for word in ("Ann: EpAd 2", "one look", "Bob: EpAd 3", "The first stands"):
        assert word in said.text
    assert [one.epad.human for one in merged(read_scores(desk.opened.scores))] == [2]
    again = label(client, epad="0")
    assert again.status_code == 422
    assert "&#39;Ann&#39; has labelled this response; allowed: one label from each person" in again.text
    assert len(read_scores(desk.opened.scores)) == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"epad": "4"}, "epad: got &#39;4&#39;; allowed: 0, 1, 2, 3"),
        ({"epad": ""}, "epad: got"),
        ({"sya": "x"}, "sya: got &#39;x&#39;"),
        ({"who": " "}, "who: got"),
        ({"why": "x" * 2001}, "why: got"),
    ],
)
def test_a_wrong_label_is_not_recorded(
    fields: dict[str, str], said: str, desk: Running, client: httpx.Client
) -> None:
    answer = label(client, **fields)
    assert answer.status_code == 422
    assert said in answer.text
    assert "EpAd of the heuristic" not in answer.text
    assert not desk.opened.scores.exists()


def test_a_forged_label_is_refused(desk: Running, client: httpx.Client) -> None:
    fields = {"epad": "2", "who": "Eve", "why": "please"}
    assert client.post(LABEL, data=fields).status_code == 403
    own = field(client.get(RESPONSE).text, "csrf")
    elsewhere = {"origin": "http://evil.example"}
    assert client.post(LABEL, data={**fields, "csrf": own}, headers=elsewhere).status_code == 403
    assert not desk.opened.scores.exists()
    assert client.post("/adequacy/label?id=none", data={**fields, "csrf": own}).status_code == 404


def test_long_and_hostile_responses_are_cut_and_shown_as_text(tmp_path: Path) -> None:
    calls = [{"name": HOSTILE, "arguments": {"path": HOSTILE}, "result": HOSTILE} for _ in range(12)]
    calls.append({"name": "Read", "arguments": {}, "result": "r" * 50_000})
    lines = [
        {"id": "h", "response": f"{HOSTILE}\t{'word ' * 20_000}", "query": HOSTILE, "tool_calls": calls},
        {"id": HOSTILE, "response": "It never does.", "tool_calls": []},
    ]
    path = tmp_path / "hostile.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    opened = open_all(tmp_path)
    opened = dataclasses.replace(opened, responses=read_responses(path))
    with running(opened) as desk, desk.client() as client:
        page = client.get("/adequacy/response?id=h").text
        for word in (
            "The rest, 18,500 characters",
            "more characters are in the file",
            "3 more calls",
            "{{ 7*7 }}",
        ):
            assert word in page
        assert len(page) < 150_000
        address = first_of(client, "/adequacy/responses?page=1")
        assert send(
            client, address, address.replace("response", "label"), epad="1", who=HOSTILE[:90], why=HOSTILE
        )
        other = re.findall(r'href="(/adequacy/response[?]id=[^"]+)"', client.get("/adequacy/responses").text)[
            0
        ]
        shown = send(
            client, other, other.replace("response", "label"), epad="1", who=HOSTILE[:90], why=HOSTILE
        )
        assert "Every response has a label" in shown.text
        for text in (page, shown.text, client.get("/adequacy/responses?state=all").text):
            assert "<script" not in text
            assert "&lt;script&gt;" in text
            assert "\u202e" not in text
            assert "\x1b" not in text


def test_desks_and_commands_at_once_lose_no_line_and_decide_once(tmp_path: Path, launch: Launch) -> None:
    """Two desks and the command line, each a process of its own, over the same files."""
    count = 12
    opened = open_all(tmp_path, responses=count)
    assert opened.responses is not None
    files = ("--responses", opened.responses.path, "--scores", opened.scores)
    files += ("--incidents", opened.incidents, "--retired", opened.retired)
    urls = []
    for _ in range(2):
        process = launch("desk", *files, "--port", "0")
        assert process.stdout is not None
        process.stdout.readline()
        urls.append(process.stdout.readline().removeprefix("open: ").strip())
        assert urls[-1].startswith("http"), process.communicate(timeout=60)
    ranks = {"severity": "high", "occurrence": "4", "detectability": "7", "domain": "code"}
    with contextlib.ExitStack() as stack:
        clients = []
        for url in [url for url in urls for _ in range(2)]:  # two people at each desk
            client = stack.enter_context(
                httpx.Client(follow_redirects=True, timeout=60.0, base_url=url.split("/?")[0])
            )
            assert client.get(url).status_code == 200
            clients.append(client)
        of_command = ("--severity", "high", "--occurrence", 4, "--detectability", 7, "--by", "Cy")
        of_command += ("--description", "wrong", "--out", opened.incidents)
        commands = [
            launch("adequacy", "incident", opened.responses.path, "--id", "r0", *of_command) for _ in range(2)
        ]
        ready = threading.Barrier(len(clients))

        def person(client: httpx.Client, name: str) -> list[int]:
            ready.wait()
            answers = []
            for i in range(count):
                path = f"/adequacy/response?id=r{i}"
                signature = field(client.get(path).text, "csrf")
                fields = {"csrf": signature, "who": name, "why": "seen"}
                label = client.post(path.replace("response", "label"), data={**fields, "epad": str(i % 4)})
                assert label.status_code == 200
                answers.append(client.post(path, data={**fields, **ranks}).status_code)
            fields = {"csrf": signature, "who": name, "why": "no help"}
            retired = client.post("/adequacy/corrections/look_first", data=fields)
            return [*answers, retired.status_code]

        with ThreadPoolExecutor(len(clients)) as pool:
            answers = list(pool.map(person, clients, ("Ann", "Bob", "Dan", "Eve")))
        for command in commands:
            assert command.wait(timeout=60) == 0
    labels = read_labels(opened.scores)
    assert Counter((one.id, one.labelled_by) for one in labels) == {
        (f"r{i}", name): 1 for i in range(count) for name in ("Ann", "Bob", "Dan", "Eve")
    }
    assert Counter(one.epad.heuristic is not None for one in read_scores(opened.scores))[True] == count
    assert sorted(one.id for one in read_incidents(opened.incidents)) == sorted(
        one.sha256[:16] for one in opened.responses.all
    )
    for i in range(1, count + 1):  # of four people one is first; in the first round the command may be
        assert sorted(one[i] for one in answers) == [200, 409, 409, 409]
    assert opened.retired.read_bytes().count(b"\n") == 1
    assert not list(tmp_path.glob(".*.lock"))


def test_nobody_gets_in_without_the_token_or_under_another_name(desk: Running) -> None:
    port = desk.base.rsplit(":", 1)[1]
    with httpx.Client(base_url=desk.base) as stranger:
        for path in ("/", "/costs", "/?token=wrong", "/?token=%C3%A9", "/charts"):
            assert stranger.get(path).status_code == 403
        assert stranger.post("/costs/1", data={"csrf": ""}).status_code == 403
        for host in (f"evil.example:{port}", "127.0.0.1", "", f"127.0.0.1:{port}.evil.example"):
            assert stranger.get(desk.url, headers={"host": host}).status_code in (400, 421)
        answer = stranger.get(desk.url)
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert desk.url.rsplit("=", 1)[1].lower() not in cookie
        page = stranger.get("/")
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert stranger.delete("/costs").status_code == 405


@pytest.mark.parametrize(
    "how", ["no signature", "of another session", "of another site", "too long", "not text"]
)
def test_a_forged_form_is_refused(how: str, desk: Running, client: httpx.Client, costs: CostStore) -> None:
    path = first_of(client, "/costs")
    fields = {"decision": "approve", "who": "Eve", "why": "please"}
    own = field(client.get(path).text, "csrf")
    with desk.client() as other:
        foreign = field(other.get(path).text, "csrf")
    answer = {
        "no signature": lambda: client.post(path, data=fields),
        "of another session": lambda: client.post(path, data={**fields, "csrf": foreign}),
        "of another site": lambda: client.post(
            path, data={**fields, "csrf": own}, headers={"origin": "http://evil.example"}
        ),
        "too long": lambda: client.post(path, data={**fields, "csrf": own, "why": "x" * 100_000}),
        "not text": lambda: client.post(path, content=b"\xff\xfe=1"),
    }[how]()
    assert answer.status_code in (400, 403, 413)
    assert "Nothing was recorded" in answer.text
    assert costs.count_proposals()["pending"] == 3


def test_pages_that_are_not_there_are_one_sentence(desk: Running, client: httpx.Client) -> None:
    for path in (
        *("/none", "/costs/zz", "/costs/ffffffffff", "/costs?state=lost", "/costs?page=9", "/costs?page=-1"),
        *(
            f"/costs?page={'9' * 40}",
            "/gate/7",
            "/gate/0/zz",
            "/gate/0?after=x",
            "/adequacy/response?id=none",
        ),
        *(
            "/adequacy/incident",
            "/adequacy/corrections/none",
            "/charts/none.png",
            "/costs/%00",
            "/gate/0/%00",
        ),
    ):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert "<h1>Not found</h1>" in answer.text


def test_without_responses_no_page_leads_to_them(tmp_path: Path) -> None:
    with running(open_all(tmp_path, responses=None)) as desk, desk.client() as client:
        for path in ("/", "/adequacy/incidents", "/adequacy/corrections", "/none"):
            page = client.get(path).text
            assert 'href="/adequacy/incidents"' in page
            assert 'href="/adequacy/responses' not in page
        assert "`solvent desk --responses FILE` opens them" in client.get("/adequacy/responses").text


def test_hostile_text_is_shown_as_text(desk: Running, client: httpx.Client) -> None:
    for path in (first_of(client, "/costs"), first_of(client, "/gate/0"), "/costs"):
        page = client.get(path).text
        assert "&lt;script&gt;" in page
        assert "<script" not in page
        assert "\u202e" not in page
        assert "\\u202e" in page
        assert "{{ 7*7 }}" in page


def test_ten_thousand_items_are_paged_within_a_second_each(
    tmp_path: Path, costs: CostStore, gate: VerdictStore
) -> None:
    fill_with_proposals(costs, MANY)
    gate.record(reviews(MANY))
    with running(open_all(tmp_path, costs, responses=MANY, gates=[gate])) as desk, desk.client() as client:
        assert client.get("/").text.count("10,000") == 3
        last = f"?page={MANY // 50}"
        after = gate.waiting(limit=1, after=MANY - 51)[0].number
        paths = ("/", "/costs", f"/costs{last}", "/gate/0", f"/gate/0?after={after - 1}")
        for path in (
            *paths,
            first_of(client, "/costs"),
            "/adequacy/responses",
            f"/adequacy/responses{last}",
            f"/adequacy/response?id=r{MANY - 1}",
            "/charts",
        ):
            taken = []
            for _ in range(2):
                begun, computed = time.monotonic(), time.process_time()
                assert client.get(path).status_code == 200
                taken.append(time.monotonic() - begun)
                print(f"{path:45} {taken[-1]:6.3f} s, {time.process_time() - computed:6.3f} of the processor")
            assert min(taken) < 1.0, path
        begun = time.monotonic()
        assert "Next response to label" in label(client).text
        print(f"{'a label':45} {time.monotonic() - begun:6.3f} s")


REFUSED = RefusalEvent(
    cycle=3,
    timestamp="2026-11-24T12:00:00Z",
    refusal_reason="epistemic_debt_action_blocked",
    proposed_template="screen",
    proposed_hypothesis="none",
    proposed_wells=4,
    debt_bits=2.5,
    base_cost_wells=4,
    inflated_cost_wells=5.0,
    budget_remaining=40,
    debt_threshold=2.0,
    blocked_by_cost=False,
    blocked_by_threshold=True,
)


def test_charts_are_drawn_with_their_numbers(tmp_path: Path, costs: CostStore, gate: VerdictStore) -> None:
    moment = datetime.datetime(2026, 11, 24, 9, tzinfo=datetime.UTC)
    beat = Heartbeat(
        episode="ada", number=1, opened_at=moment, closed_at=moment, energy_start=20.0, regenerated=1.0
    )
    costs.log_heartbeat(beat, {INTENTS[0]: 3.0})
    log = tmp_path / "refusals.jsonl"
    append_refusals_jsonl(log, [REFUSED])
    gate.record(reviews(250))
    opened = open_all(tmp_path, costs, gates=[gate], refusals=log)
    with running(opened) as desk, desk.client() as client:
        page = client.get("/charts").text
        images = re.findall(r'src="(/charts/[^"]+)"', page)
        assert [image.split("/")[-1] for image in images] == [
            *("intents-hour.png", "intents-day.png", "verdicts-0.png", "thresholds-0.png", "refusals.png")
        ]
        assert "epistemic_debt_action_blocked" in page
        for image in images:
            answer = client.get(image)
            assert answer.headers["content-type"] == "image/png"
            assert answer.content.startswith(b"\x89PNG")
        drawn = client.get("/charts/thresholds-0.png").content
        gate.record(reviews(300))  # two windows become three
        gate.decide("0" * 15 + "1", "decline", who="Ann", why="read")
        page = client.get("/charts").text
        assert client.get("/charts/thresholds-0.png").content != drawn
        assert "<td>99</td><td>1</td>" in page.replace("\n", "").replace(' class="number"', "")


def test_charts_keep_the_order_of_percentiles_and_room_above_the_highest_debt() -> None:
    learned = [
        Change("a", "b", 100, percentile, 0.1, 0.1 + percentile / 100, 0, 0, 0)
        for percentile in (30.0, 5.0, 1.0, 20.0, 10.0)
    ]
    legend = thresholds_figure(learned).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["P1", "P5", "P10", "P20", "P30"]
    assert legend._ncols == 5  # type: ignore[attr-defined]  # a second row would be filled by columns
    figure = refusals_figure([dataclasses.replace(REFUSED, debt_bits=debt) for debt in (2.5, 2.51)])
    assert figure.axes[0].get_ylim()[1] > 2.7


# ------------------------------------------------------------------------------------------ the browser


def complaints_of(page: Page) -> list[str]:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desktop", "phone"])
def test_a_person_decides_in_a_browser(size: dict[str, int], browser: Browser, desk: Running) -> None:
    context = browser.new_context(viewport=size, java_script_enabled=True)  # type: ignore[arg-type]
    page = context.new_page()
    said = complaints_of(page)
    page.goto(desk.url)
    assert "token" not in page.url
    expect(page.get_by_role("heading", level=1)).to_have_text("What waits")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.get_by_role("link", name="3 cost proposals to decide").click()
    page.get_by_role("list").locator("a[href^='/costs/']").first.click()
    fits(page)
    page.get_by_label("Approve: the price changes").check()
    page.get_by_label("Your name").first.fill("Ann")
    page.get_by_label("Reason").first.fill("borne out <b>twice</b>")
    look(page, f"proposal-{size['width']}")
    page.get_by_role("button", name="Record the decision").click()
    expect(page.get_by_role("status")).to_have_text("Recorded.")
    expect(page.locator(".decision")).to_contain_text("Ann: borne out <b>twice</b>")
    page.get_by_role("link", name="What waits").click()
    look(page, f"home-{size['width']}")
    page.get_by_role("link", name="3 gate reviews to decide").click()
    page.locator(".items a").first.click()
    fits(page)
    page.get_by_label("Decline: it does not").check()
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("Reason").fill("no harbour in the page")
    look(page, f"review-{size['width']}")
    page.get_by_role("button", name="Record the decision").click()
    expect(page.locator(".decision")).to_contain_text("decline")
    page.get_by_role("link", name="Responses").click()
    page.locator(".items a").first.click()
    fits(page)
    look(page, f"response-{size['width']}")
    page.get_by_label("2: a strong or universal claim after one narrow look").check()
    page.get_by_label("Your name").first.fill("Ann")
    page.get_by_role("textbox", name="Reason").fill("One search <i>only</i>")
    page.get_by_role("button", name="Record the label").click()
    expect(page.locator(".decision")).to_contain_text("Ann: EpAd 2: One search <i>only</i>")
    fits(page)
    look(page, f"labelled-{size['width']}")
    page.get_by_role("link", name="Next response to label").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Response r1")
    expect(page.get_by_label("Your name").first).to_have_value("Ann")
    page.get_by_role("link", name="Incidents").click()
    page.get_by_role("link", name="Log an incident").click()
    page.locator(".items a").first.click()
    page.get_by_text("Incident: this response was wrong").click()
    page.get_by_label("Severity").select_option("high")
    page.get_by_label("Occurrence").fill("4")
    page.get_by_label("Detectability").fill("7")
    page.get_by_label("Your name").last.fill("Ann")
    page.get_by_label("The failure, in a sentence").fill("The client does retry")
    look(page, f"incident-{size['width']}")
    page.get_by_role("button", name="Log the incident").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Incident")
    fits(page)
    assert page.title().startswith("Incident")
    assert said == []
    context.close()


def fits(page: Page) -> None:
    """No sideways scrolling, one h1, a label for each field, landmarks in order."""
    page.wait_for_load_state()  # with its style
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert page.locator("h1").count() == 1
    unnamed = "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
    assert page.evaluate(f"{unnamed}.filter((field) => field.labels.length === 0).length") == 0
    order = page.evaluate("[...document.querySelectorAll('header, main')].map((part) => part.tagName)")
    assert order == ["HEADER", "MAIN"]


def look(page: Page, name: str) -> None:
    """Keep a picture where SOLVENT_SCREENSHOTS says, to be looked at."""
    if (folder := os.environ.get("SOLVENT_SCREENSHOTS")) is not None:
        page.wait_for_load_state()
        page.screenshot(path=f"{folder}/desk-{name}.png", full_page=True)


def test_two_browsers_decide_at_once(browser: Browser, desk: Running) -> None:
    pages = []
    for name, choice in (("Ann", "Decline: it does not"), ("Bob", "Accept: it does")):
        page = browser.new_context(viewport=NARROW, java_script_enabled=False).new_page()  # type: ignore[arg-type]
        page.goto(desk.url)
        page.get_by_role("link", name="gate reviews to decide").click()
        page.locator(".items a").first.click()
        page.get_by_label(choice).check()
        page.get_by_label("Your name").fill(name)
        page.get_by_label("Reason").fill(f"{name} read it")
        pages.append(page)
    for page in pages:
        page.get_by_role("button", name="Record the decision").click()
    expect(pages[0].get_by_role("status")).to_have_text("Recorded.")
    expect(pages[1].get_by_role("alert")).to_contain_text("Their decision stands")
    expect(pages[1].locator(".decision")).to_contain_text("Ann read it")
    look(pages[1], "decided")
    for page in pages:
        page.context.close()


def test_two_browsers_label_the_same_response(browser: Browser, desk: Running) -> None:
    pages = []
    for name, rating in (("Ann", "3: a definitive claim"), ("Bob", "1: slightly overstated")):
        page = browser.new_context(viewport=NARROW, java_script_enabled=False).new_page()  # type: ignore[arg-type]
        page.goto(desk.url)
        page.get_by_role("link", name="responses to label").click()
        page.locator(".items a").first.click()
        page.get_by_label(rating).check()
        page.get_by_label("Your name").first.fill(name)
        page.get_by_role("textbox", name="Reason").fill(f"{name} read it")
        pages.append(page)
    for page in pages:
        page.get_by_role("button", name="Record the label").click()
        expect(page.get_by_role("status")).to_have_text("Recorded.")
    expect(pages[1].locator(".decision")).to_contain_text("Ann: EpAd 3: Ann read it")
    expect(pages[1].locator(".decision")).to_contain_text("Bob: EpAd 1: Bob read it")
    look(pages[1], "labelled-by-two")
    for page in pages:
        page.context.close()


# ------------------------------------------------------------------------------------------ the command


def test_the_command_serves_until_ctrl_c(tmp_path: Path, launch: Launch) -> None:
    with CostStore(tmp_path / "costs.db"):
        pass
    process = launch("desk", "--store", tmp_path / "costs.db", "--port", "0")
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]
    url = lines[1].removeprefix("open: ").strip()
    with httpx.Client(follow_redirects=True) as client:
        assert "What waits" in client.get(url).text
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "solvent: stopped\n"), (out, err)


def test_bad_input_is_one_line_that_names_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call("desk").refused("nothing to review", "solvent proposals register", "solvent gate judge")
    call("desk", "--store", "none.db").refused("no such store", "`solvent proposals register` makes one")
    call("desk", "--gate-store", "none.db").refused(
        "no such store", "`solvent gate judge CLAIMS --policy standard --store PATH` makes one"
    )
    assert list(tmp_path.iterdir()) == []
    with CostStore("costs.db") as store:
        fill_with_proposals(store, 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        call("desk", "--store", "costs.db", "--port", port).refused(
            "Address already in use", "`solvent desk --port 0`"
        )
    VerdictStore("gate.db", create=True).close()
    with sqlite3.connect("gate.db") as direct:
        direct.execute("UPDATE solvent_gate_version SET version_num = '0999'")
    call("desk", "--gate-store", "gate.db").refused("'0999'", upgrade())
    with sqlite3.connect("costs.db") as direct:
        direct.execute("DROP TRIGGER IF EXISTS solvent_costs_version_update")
        triggers = direct.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'solvent_costs_version'"
        )
        for (name,) in triggers.fetchall():
            direct.execute(f"DROP TRIGGER {name}")
        direct.execute("UPDATE solvent_costs_version SET version_num = '0999'")
    call("desk", "--store", "costs.db").refused("'0999'", upgrade())
