"""An agent loop of your own with all four instruments on: debt, energy, adequacy and the gate.

    python examples/own_agent.py FOLDER

A clerk answers letters to a ferry line from its notices. There is no model and no network: a ``Letter`` has the words
that a model would choose. Each instrument is a method of ``Clerk``. Run it again with the same folder, and the clerk
still owes what it owed. It needs the extra ``store``, and for the verdicts the extra ``gate``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from solvent.adequacy import Call, correction_for, score
from solvent.debt import EpistemicController, log_refusal
from solvent.energy import EnergyMeter, ProposalError
from solvent.energy.store import CostStore

NOTICES = """A single ticket costs 5 euros.
A bike costs 2 euros each way.
Pets travel free on the open deck.
The first ferry leaves at 06:20.
On Sundays the last ferry leaves at 18:40."""
AT_TEN = datetime.datetime(
    2026, 7, 1, 10, tzinfo=datetime.UTC
)  # late hours would make replies more expensive
TOOLS = [
    {"name": "search_notices", "annotations": {"readOnlyHint": True, "openWorldHint": False}},
    {"name": "send_reply", "annotations": {"destructiveHint": False}},
]


class Letter(NamedTuple):
    sender: str
    question: str
    words: tuple[str, ...]  # to search for, one after the other
    answer: str = ""  # what a model would say if a notice has one of them
    missing: str = ""  # and if none of those that it tried has


LETTERS = [
    Letter("Ann", "When does the last ferry leave on Sundays?", ("sunday",),
           "On Sundays the last ferry leaves at 18:40."),
    Letter("Ben", "May my dog come?", ("dog", "pet"), "Pets travel free on the open deck.", "Dogs are never allowed."),
    Letter("Dan", "Is there coffee?", ("coffee", "cafe"), missing="I found nothing about coffee in the notices."),
    Letter("Cleo", "What is a bike, there and back?", ("bike",), "A bike costs 4 euros there and back."),
]  # fmt: skip


class Clerk:
    """The loop: it remembers debt, energy, a transcript, and answers with their evidence."""

    def __init__(self, folder: Path, store: CostStore) -> None:
        self.folder, self.store, debt, energy = folder, store, folder / "debt.json", folder / "energy.json"
        self.debt = EpistemicController.load(debt) if debt.exists() else EpistemicController()
        limits: dict[str, Any] = {"regeneration": 3, "cap": 10, "clock": lambda: AT_TEN}
        self.meter = EnergyMeter.load(energy, **limits) if energy.exists() else EnergyMeter(start=6, **limits)
        store.register_tools(action.tool for action in self.meter.discover(TOOLS))
        self.meter.set_prices(store.prices())
        self.transcript: list[dict[str, Any]] = []
        self.answers: list[tuple[str, str, tuple[str, ...]]] = []

    def answer(self, letter: Letter) -> None:
        """Adequacy: compare the words of an answer with its calls, and correct it once."""
        text, calls = self.look_up(letter, letter.question, tries=1)
        result = score(text, calls, letter.question)
        if result.score >= 2:
            correction = correction_for("low", result.rule).text
            print(f"  adequacy {result.score}, {result.rule}: {correction}")
            text, _ = self.look_up(letter, f"{letter.question}\n{correction}", tries=len(letter.words))
        self.send(letter.sender, text)

    def search(self, word: str) -> Call | None:
        """Debt: claim a bit before a search, and settle what it taught; None if debt refuses the search."""
        refused, reason, context = self.debt.should_refuse_action("search_notices", 3, budget_remaining=100)
        if refused:
            log_refusal(
                self.folder / "epistemic_refusals.jsonl", context, cycle=self.meter.heartbeat, design_id=word
            )
            print(f"  refused: {word}, {context['debt_bits']:g} bits of debt, {reason}")
            return None
        key = f"{self.meter.heartbeat}.{len(self.transcript)}.{word}"
        self.debt.claim_action(key, "search_notices", expected_gain_bits=1.0)
        lines = [line for line in NOTICES.splitlines() if word in line.lower()]
        self.debt.resolve_action(key, actual_gain_bits=1.0 if lines else 0.0)
        return Call("search_notices", {"word": word}, "\n".join(lines) or "nothing")

    def pay(self, tool: str, about: str, notes: str = "") -> None:
        """Energy: pay for a call, or wait a heartbeat; what had to wait is logged and may be argued about."""
        while not self.meter.act(tool, about, "chat", value=0.9, notes=notes).runs:
            for deferral in self.meter.close_heartbeat().deferrals:
                self.store.log_discomfort(deferral)

    def judge(self) -> None:
        """The gate: judge every answer against what was read for it; reviews wait in a folder."""
        from solvent.gate import FIXED, GateError, Sample, SentenceEmbedder
        from solvent.gate.reviews import Reviews, judge

        samples = [Sample(sender, text, evidence) for sender, text, evidence in self.answers]
        try:
            judged = judge(samples, SentenceEmbedder(), FIXED["standard"], domain="ferry")
        except GateError as missing:
            print(f"no verdicts: {missing}")
            return
        Reviews(self.folder / "gate_reviews").record(judged)
        for row in judged:
            print(f"{row.verdict}: {row.claim} ({row.reasons[-1]})")

    # -- the rest of the loop --------------------------------------------------------------------

    def look_up(self, letter: Letter, query: str, tries: int) -> tuple[str, list[Call]]:
        """Return what the clerk says to a query, and the calls behind it."""
        self.transcript.append({"role": "user", "content": query})
        calls: list[Call] = []
        for word in letter.words[:tries]:
            self.pay("search_notices", word)
            while (call := self.search(word)) is None:
                print(f"  calibrated: {self.debt.repay_by_calibration(wells=24):g} bits repaid")
            calls.append(call)
            asked = {"name": call.name, "arguments": json.dumps(call.arguments)}
            self.transcript += [
                {"role": "assistant", "tool_calls": [{"id": word, "type": "function", "function": asked}]},
                {"role": "tool", "tool_call_id": word, "content": call.result},
            ]
        read = tuple(call.result for call in calls if call.result != "nothing")
        text = letter.answer if read and letter.answer else letter.missing or letter.answer
        self.transcript.append({"role": "assistant", "content": text})
        self.answers.append((letter.sender, text, read))
        return text, calls

    def send(self, sender: str, text: str) -> None:
        self.pay("send_reply", sender, notes=f"{sender} waits for an answer that is written.")
        print(f"  sent to {sender}: {text}")

    def argue(self) -> None:
        """After a reflection the clerk may argue for a lower cost; a person reviews it."""
        print(self.meter.reflect())
        try:
            self.store.file(
                self.meter.propose("send_reply", 3.0, 3.5, "A reply reaches one person, who asked for it.")
            )
        except ProposalError as error:  # one is pending, or replies waited in too few heartbeats
            print(f"no new proposal: {error}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="An agent loop with four instruments on.")
    parser.add_argument("folder", type=Path, help="where records are written")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    with CostStore(folder / "solvent_costs.db") as store:
        clerk = Clerk(folder, store)
        print(f"debt {clerk.debt.get_total_debt():g} bits, energy {clerk.meter.balance:g}")
        for letter in LETTERS:
            print(f"heartbeat {clerk.meter.heartbeat}, {letter.sender}: {letter.question}")
            clerk.answer(letter)
        clerk.argue()
    clerk.debt.save(folder / "debt.json")
    clerk.meter.save(folder / "energy.json")
    with (folder / "transcript.jsonl").open("a") as file:
        file.writelines(json.dumps(message) + "\n" for message in clerk.transcript)
    clerk.judge()
    at = shlex.quote(str(folder))
    print(f"""next:
  solvent proposals list --store {at}/solvent_costs.db
  solvent adequacy score {at}/transcript.jsonl --out {at}/scores.jsonl
to decide on a page, and to label the answers:
  solvent desk --store {at}/solvent_costs.db --reviews {at}/gate_reviews \\
    --responses {at}/transcript.jsonl --scores {at}/scores.jsonl""")


if __name__ == "__main__":
    main()
