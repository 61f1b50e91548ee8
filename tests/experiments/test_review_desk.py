"""The review desk over HTTP and in a real browser: decisions, two at once, forged forms, hostile texts, long lists."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from solvent.adequacy.decisions import retirements
from solvent.adequacy.fmea import read_incidents
from solvent.debt import append_refusals_jsonl
from solvent.energy.costs import CostStore, Heartbeat
from solvent.extras import upgrade
from solvent.gate.store import VerdictStore
from solvent.lab.mechanisms.debt import RefusalEvent
from solvent.lab.verbs import INTENTS
from tests.commands import Launch, call
from tests.desks import HOSTILE, Running, field, fill_with_proposals, gate_store, open_all, running, send

PATIENCE = 30_000
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
MANY = 10_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture
def costs(tmp_path: Path) -> Iterator[CostStore]:
    with CostStore(tmp_path / "costs.db") as store:
        yield store


@pytest.fixture
def desk(tmp_path: Path, costs: CostStore) -> Iterator[Running]:
    fill_with_proposals(costs, 3, HOSTILE.replace("\x1b", ""))
    gates = [gate_store(tmp_path / "gate.db", 3)]
    with running(open_all(tmp_path, costs, gates=gates)) as served:
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


def test_hostile_text_is_shown_as_text(desk: Running, client: httpx.Client) -> None:
    for path in (first_of(client, "/costs"), first_of(client, "/gate/0"), "/costs"):
        page = client.get(path).text
        assert "&lt;script&gt;" in page
        assert "<script" not in page
        assert "\u202e" not in page
        assert "\\u202e" in page
        assert "{{ 7*7 }}" in page


def test_ten_thousand_items_are_paged_within_a_second_each(tmp_path: Path, costs: CostStore) -> None:
    fill_with_proposals(costs, MANY)
    gates = [gate_store(tmp_path / "gate.db", MANY)]
    with running(open_all(tmp_path, costs, responses=MANY, gates=gates)) as desk, desk.client() as client:
        assert client.get("/").text.count("10,000") == 2
        last = f"?page={MANY // 50}"
        after = gates[0].waiting(limit=1, after=MANY - 51)[0].number
        paths = ("/", "/costs", f"/costs{last}", "/gate/0", f"/gate/0?after={after - 1}")
        for path in (
            *paths,
            first_of(client, "/costs"),
            "/adequacy/responses",
            f"/adequacy/responses{last}",
        ):
            begun = time.monotonic()
            page = client.get(path)
            taken = time.monotonic() - begun
            print(f"{path:60} {1000 * taken:.0f} ms")
            assert page.status_code == 200
            assert taken < 1.0, path


def test_charts_are_drawn_with_their_numbers(tmp_path: Path, costs: CostStore) -> None:
    moment = datetime.datetime(2026, 11, 24, 9, tzinfo=datetime.UTC)
    beat = Heartbeat(
        episode="ada", number=1, opened_at=moment, closed_at=moment, energy_start=20.0, regenerated=1.0
    )
    costs.log_heartbeat(beat, {INTENTS[0]: 3.0})
    log = tmp_path / "refusals.jsonl"
    refused = RefusalEvent(
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
    append_refusals_jsonl(log, [refused])
    gates = [gate_store(tmp_path / "gate.db", 250)]
    opened = open_all(tmp_path, costs, gates=gates, refusals=log)
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
    page.get_by_label("Approve: the price changes at once").check()
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
    page.get_by_role("link", name="Incidents").click()
    page.get_by_role("link", name="Log an incident").click()
    page.locator(".items a").first.click()
    page.get_by_label("Severity").select_option("high")
    page.get_by_label("Occurrence").fill("4")
    page.get_by_label("Detectability").fill("7")
    page.get_by_label("Your name").fill("Ann")
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
        "no store yet", "`solvent gate judge CLAIMS --store PATH`"
    )
    assert list(tmp_path.iterdir()) == []
    with CostStore("costs.db") as store:
        fill_with_proposals(store, 1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        call("desk", "--store", "costs.db", "--port", port).refused(
            "Address already in use", "`solvent desk --port 0`"
        )
    VerdictStore("gate.db", create=True)
    with sqlite3.connect("gate.db") as direct:
        direct.execute("PRAGMA user_version = 9")
    call("desk", "--gate-store", "gate.db").refused("a store of version 9", upgrade())
    with sqlite3.connect("costs.db") as direct:
        direct.execute("DROP TRIGGER IF EXISTS solvent_costs_version_update")
        triggers = direct.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'solvent_costs_version'"
        )
        for (name,) in triggers.fetchall():
            direct.execute(f"DROP TRIGGER {name}")
        direct.execute("UPDATE solvent_costs_version SET version_num = '0999'")
    call("desk", "--store", "costs.db").refused("'0999'", upgrade())
