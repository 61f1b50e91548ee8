"""``solvent debt run``: cycles of an agent, and each refusal in full, as the source document shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from solvent import read_refusals_jsonl
from tests.commands import call

LABELS = [
    "Proposal",
    "Hypothesis",
    "Debt accumulated",
    "Base cost",
    "Inflated cost",
    "Budget remaining",
    "Why",
    "Logged to",
    "Can run next",
]
WHY = {
    "threshold": "debt is above the threshold of 2 bits, and this is no calibration",
    "cost": "more than there are",
    "reserve": "it would leave less than the cheapest calibration costs",
}


def cycles_of(shown):
    """The cycles that were shown: number, action, the rest of its text, and of a refusal its reason and rows."""
    found = []
    for part in re.split(r"^CYCLE ", shown.split("\n\n", 1)[1], flags=re.MULTILINE)[1:]:
        number, action = re.match(r"(\d+)/\d+  (.*?)\. ?", part).groups()
        reason = re.search(r"^EPISTEMIC DEBT REFUSAL: (\w+)$", part, re.MULTILINE)
        rows = dict(re.findall(rf"^  ({'|'.join(LABELS)})  +(.*?) *$", part, re.MULTILINE))
        found.append((int(number), action, part, reason and reason[1], rows))
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What a surfer's 20 cycles showed, and its log: all three reasons."""
    log = tmp_path_factory.mktemp("debt") / "refusals.jsonl"
    arguments = ("--cycles", 20, "--budget", 384, "--seed", 0, "--agent", "surfer", "--log", log)
    return call("debt", "run", *arguments, width=200).succeeded(), log


def test_each_refusal_is_shown_in_full_and_is_a_line_of_the_log(played):
    shown, log = played
    refused = [cycle for cycle in cycles_of(shown) if cycle[3]]
    events = read_refusals_jsonl(log)
    assert len(refused) == len(events)
    assert {event.refusal_reason for event in events} == {
        "epistemic_debt_action_blocked",
        "epistemic_debt_budget_exceeded",
        "insufficient_budget_for_epistemic_recovery",
    }
    for (number, _, _, reason, rows), event in zip(refused, events, strict=True):
        assert list(rows) == LABELS
        assert (number, reason) == (event.cycle, event.refusal_reason)
        assert rows["Proposal"] == event.design_id
        assert rows["Hypothesis"] == event.proposed_hypothesis
        assert rows["Debt accumulated"] == f"{event.debt_bits:.3f} bits"
        assert rows["Base cost"] == f"{event.base_cost_wells} wells"
        assert rows["Inflated cost"].startswith(f"{event.inflated_cost_wells:.2f} wells, charged as ")
        assert rows["Budget remaining"] == f"{event.budget_remaining} wells"
        assert rows["Logged to"] == str(log)
        for flag, why in WHY.items():
            assert (why in rows["Why"]) == getattr(event, f"blocked_by_{flag}")


def test_a_refusal_costs_no_wells_and_what_can_run_next_is_what_runs_next(played):
    cycles = cycles_of(played[0])
    assert [cycle[0] for cycle in cycles] == [*range(1, 21)]
    blocked = 0
    for before, (_, _, part, reason, rows), after in zip(cycles, cycles[1:], cycles[2:], strict=False):
        if not reason:
            continue
        left = [int(re.search(r"(\d+) wells? left", text)[1]) for text in (before[2], part)]
        assert left[0] == left[1]
        able = {re.sub(r" \(.*\)", "", verb) for verb in rows["Can run next"].split(", ")}
        assert after[3] is None
        assert after[1].lower().split()[0] in {name.split("_")[0] for name in able}
        if reason == "epistemic_debt_action_blocked":
            blocked += 1
            assert able == {"rest", "dmso"}
            assert after[1] == "Dmso"  # the agent proposes a calibration
    assert blocked


def test_the_end_counts_the_refusals_and_says_what_to_do_next(played):
    shown, log = played
    assert "5 refusals (2 epistemic_debt_action_blocked, 2 epistemic_debt_budget_exceeded, 1 insuff" in shown
    assert f"{log} has 5 refusals, 5 of this run" in shown
    (command,) = re.findall(r"^Next: `solvent (.*?)`", shown, re.MULTILINE)
    assert call(*command.split(), "--log", log).succeeded("honest in Solvent/Debt-v0, seed 0: 20 cycles")


def test_the_same_seed_adds_the_same_lines(tmp_path):
    log = tmp_path / "refusals.jsonl"
    first = call("debt", "run", "--log", log, width=200).succeeded()
    before = log.read_bytes()
    second = call("debt", "run", "--log", log, width=200).succeeded("has 16 refusals, 8 of this run")
    assert log.read_bytes() == before + before
    assert first.replace("has 8 refusals", "") == second.replace("has 16 refusals", "")


@pytest.mark.parametrize("agent", ["random", "oracle", "planner", "ppo:Solvent/Debt-v0"])
def test_every_kind_of_agent_plays(agent, tmp_path):
    log = tmp_path / "refusals.jsonl"
    shown = call("debt", "run", "--agent", agent, "--cycles", 8, "--budget", 100, "--log", log).succeeded()
    assert shown.count("EPISTEMIC DEBT REFUSAL") == len(read_refusals_jsonl(log))


def test_bad_input_is_one_line_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for option, value, said in [
        ("--cycles", 0, "--cycles"),
        ("--budget", "many", "--budget"),
        ("--seed", -1, "--seed"),
        ("--agent", "honset", "did you mean 'honest'"),
        ("--agent", "\x1b[31m", "allowed: "),
        ("--agent", "exact", "Solvent/Tiny-v0"),
        ("--agent", "none/policy.safetensors", "policy.safetensors"),
        ("--env", "Solvent/Debt", "Solvent/Debt-v0"),
        ("--log", tmp_path, "directory"),
        ("--log", tmp_path / "none" / "log.jsonl", "none/log.jsonl"),
        ("--log", "/dev/zero", "not a regular file"),
    ]:
        call("debt", "run", option, value).refused(said)
        assert not list(tmp_path.iterdir())


def test_only_a_log_of_refusals_is_added_to(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("hello\n", encoding="utf-8")
    call("debt", "run", "--log", notes).refused("notes.txt, line 1: not a refusal event")
    assert notes.read_text(encoding="utf-8") == "hello\n"


def test_the_example_of_the_page_is_what_the_command_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[2] / "docs" / "debt.md").read_text(encoding="utf-8")
    ((command, told),) = re.findall(r"```console\n\$ solvent (debt run .*)\n((?:.+\n)+)```", page)
    shown = call(*command.split(), width=200).succeeded()
    assert told in re.sub(r" +$", "", shown, flags=re.MULTILINE)


def test_without_a_command_it_explains_itself():
    assert "debt run" in call("debt").succeeded()
