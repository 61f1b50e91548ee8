"""An agent loop of your own with all four instruments on: debt, energy, adequacy and the gate.

    python examples/own_agent.py FOLDER

A clerk answers letters to a ferry line from its notices, a folder of text files. There is no model and no network: a
``Letter`` has the words that a model would choose. Before a call the clerk claims how many bits it will learn about
which line has the answer, and the loop measures them (debt). It pays for calls, and a reply that it can't pay for waits
(energy). An answer that says more than its calls show is corrected (adequacy). All answers are judged against what the
clerk read (gate). Run it again with the same folder, and the clerk still owes what it owed.

It needs the extra ``store``, and for the verdicts the extra ``gate``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from solvent.adequacy import Call, correction_for, score
from solvent.adequacy.records import Incident, rows_of
from solvent.debt import EpistemicController, log_refusal
from solvent.energy import EnergyMeter
from solvent.energy.costs import CostStore, ProposalError
from solvent.files import append_records

NOTICES = {
    "fares.txt": "A single ticket costs 5 euros.\nA bike costs 2 euros each way.\nChildren under six travel free.\n",
    "rules.txt": "Pets travel free on the open deck.\nSmoking is forbidden.\nTwo pieces of luggage are free.\n",
    "times.txt": "The first ferry leaves at 06:20.\nOn Sundays the last ferry leaves at 18:40.\nIn a gale none does.\n",
}


class Letter(NamedTuple):
    sender: str
    question: str
    words: tuple[str, ...]  # to search for
    found: str = ""  # what a model would say if a notice has one of them
    missing: str = ""  # and if none has


LETTERS = [
    Letter("Ann", "When does the last ferry leave on Sundays?", ("sunday",),
           "On Sundays the last ferry leaves at 18:40."),
    Letter("Ben", "May my dog come along?", ("dog", "pet"),
           "Yes, pets travel free on the open deck.", "Dogs are never allowed on any ferry."),
    Letter("Cleo", "What does a bicycle cost, there and back?", ("bicycle", "bike"),
           "A bike costs 4 euros there and back."),
    Letter("Dan", "Can I get coffee on board?", ("coffee", "cafe"),
           missing="I found nothing about coffee in the notices; please ask the crew."),
]  # fmt: skip
READS = {"readOnlyHint": True, "openWorldHint": False}
TOOLS = [{"name": name, "annotations": READS} for name in ("search_notices", "read_notice")]
TOOLS.append({"name": "send_reply", "annotations": {"destructiveHint": False}})
AT_TEN = lambda: datetime.datetime.now(datetime.UTC).replace(hour=10)  # noqa: E731 - late hours make replies dearer
BUDGET = 100  # looks in a run
LOOKS = {"search_notices": 3, "read_notice": 4, "calibration": 2}  # a call's price before debt inflates it
CLAIM = 1.5  # bits that the clerk claims for a call; a search that finds nothing teaches none


class Clerk:
    def __init__(self, folder: Path, store: CostStore) -> None:
        self.folder, saved = folder, folder / "debt.json"
        self.notices = {path.name: path.read_text() for path in sorted((folder / "notices").iterdir())}
        self.debt = EpistemicController.load(saved) if saved.exists() else EpistemicController()
        self.meter = EnergyMeter(start=6, regeneration=3, cap=10, store=store, episode="clerk", clock=AT_TEN)
        self.meter.discover(TOOLS)
        self.meter.register("calibration", "cognition", ratings=(1, 0, 0, 1, 0))
        self.looks, self.tries = BUDGET, 1  # of a letter's words the clerk tries one, until it is corrected
        self.occurs: dict[str, bool] = {}  # words that it knows about
        self.transcript: list[dict[str, Any]] = []
        self.answers: list[tuple[str, str, tuple[str, ...]]] = []  # with their evidence, for the gate
        self.outbox: list[tuple[str, str]] = []

    def answer(self, letter: Letter) -> None:
        said, calls = self.turn(letter, letter.question)
        found = score(said, calls, letter.question)
        if found.score >= 2:
            correction, self.tries = correction_for("low", found.rule).text, len(letter.words)
            print(f"  adequacy {found.score}, {found.rule}: {correction}")
            first, (said, _) = said, self.turn(letter, f"{letter.question}\n{correction}")
            if said == letter.found:  # so the first answer was wrong
                wrong = Incident(
                    id=letter.sender, severity=3, occurrence=5, detectability=6, query=letter.question, response=first,
                    description=f"A notice says otherwise: {said}", tool_calls=rows_of(calls),
                    reported_by="own_agent.py",
                )  # fmt: skip
                append_records(self.folder / "incidents.jsonl", [wrong])
        self.outbox.append((letter.sender, said))

    def turn(self, letter: Letter, query: str) -> tuple[str, list[Call]]:
        """Return what the clerk says to a query, and the calls behind it."""
        self.calls: list[Call] = []
        self.transcript.append({"role": "user", "content": query})
        self.possible = {line: name for name, text in self.notices.items() for line in text.splitlines()}
        said = letter.found if self.look_up(letter) else letter.missing
        self.transcript.append({"role": "assistant", "content": said})
        evidence = "\n".join(call.result for call in self.calls)
        self.answers.append((letter.sender, said, tuple(evidence.splitlines())))
        print(f"  answer: {said}")
        return said, self.calls

    def look_up(self, letter: Letter) -> bool:
        """Return whether a notice has one of the words."""
        for word in [one for one in letter.words[: self.tries] if self.occurs.get(one, True)]:
            names = self.call("search_notices", word, word)
            if names is None:  # debt refuses: calibrate, and think again
                self.calibrate(letter.words)
                return self.look_up(letter)
            self.occurs[word] = bool(names)
            if names:
                self.call("read_notice", names[0], word)
                return True
        return False

    def call(self, tool: str, about: str, word: str) -> list[str] | None:
        """Return what a tool finds, None if debt refuses the call; the claim is held against the lines ruled out."""
        if not self.pay(tool, about):
            return None
        key = f"{self.meter.heartbeat}.{len(self.transcript)}"
        self.debt.claim_action(key, tool, CLAIM)
        if tool == "search_notices":
            found = [name for name, text in self.notices.items() if word in text.lower()]
        else:
            found = self.notices[about].splitlines()
        told = [line for line in self.possible if line in found and word in line.lower()]
        kept = {line: name for line, name in self.possible.items() if name in found or line in told}
        self.debt.resolve_action(key, math.log2(len(self.possible) / len(kept)) if kept else 0.0)
        self.possible = kept or self.possible
        function = {"name": tool, "arguments": json.dumps({"about": about})}
        asked = {"role": "assistant", "content": None, "tool_calls": [{"id": key, "function": function}]}
        result = "\n".join(found) or f"No notice has the word {about}."
        self.calls.append(Call(tool, {"about": about}, result))
        self.transcript += [asked, {"role": "tool", "tool_call_id": key, "content": result}]
        return found

    def pay(self, tool: str, about: str) -> bool:
        """Pay looks and energy; False if debt refuses, which is logged."""
        refused, reason, context = self.debt.should_refuse_action(tool, LOOKS[tool], self.looks)
        if refused:
            log, why = self.folder / "epistemic_refusals.jsonl", f"{about} tells {CLAIM} bits"
            log_refusal(log, context, cycle=self.meter.heartbeat, proposed_hypothesis=why, design_id=about)
            print(f"  refused: {tool} {about}, {context['debt_bits']:g} bits of debt, {reason}")
            return False
        while not self.meter.act(tool, about, context="chat").runs:
            self.meter.close_heartbeat()
        self.looks -= math.ceil(context["inflated_cost_wells"])
        return True

    def calibrate(self, words: tuple[str, ...]) -> None:
        """Ask the index which words occur: one bit for each that was not searched for, at even odds."""
        if not self.pay("calibration", " ".join(words)):
            raise SystemExit("own_agent: the looks of this run are spent")
        index = " ".join(self.notices.values()).lower()
        new = {word: word in index for word in words if word not in self.occurs}
        self.occurs |= new
        print(f"  calibrated: {self.debt.repay_by_calibration(len(new)):g} bits repaid")

    def close_heartbeat(self) -> None:
        for sender, said in list(self.outbox):
            words = f"{sender} waits for an answer that is written."
            if self.meter.act("send_reply", sender, "chat", value=0.9, notes=words).runs:
                print(f"  sent to {sender}: {said}")
                self.outbox.remove((sender, said))
        self.meter.close_heartbeat()

    def judge(self) -> None:
        """Judge the answers against what was read for them; reviews wait in the store."""
        from solvent.gate import FIXED, GateError, SentenceEmbedder
        from solvent.gate.data import Sample
        from solvent.gate.reviews import Reviews, judge

        samples = [Sample(sender, said, evidence) for sender, said, evidence in self.answers]
        try:
            judged = judge(samples, SentenceEmbedder(), FIXED["standard"], domain="ferry")
        except GateError as missing:
            print(f"no verdicts: {missing}")
            return
        Reviews(self.folder / "gate_reviews").record(judged)
        for row in judged:
            print(f"{row.verdict}: {row.claim} ({'; '.join(row.reasons)})")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="An agent loop with four instruments on.")
    parser.add_argument("folder", type=Path, help="where notices and records are written")
    folder = parser.parse_args(arguments).folder
    (folder / "notices").mkdir(parents=True, exist_ok=True)
    for name, text in NOTICES.items():
        (folder / "notices" / name).write_text(text)
    with CostStore(folder / "solvent_costs.db") as store:
        clerk = Clerk(folder, store)
        print(f"debt {clerk.debt.get_total_debt():g} bits, energy {clerk.meter.balance:g}")
        for letter in LETTERS:
            print(f"heartbeat {clerk.meter.heartbeat}, {letter.sender}: {letter.question}")
            clerk.answer(letter)
            clerk.close_heartbeat()
        while clerk.outbox:
            clerk.close_heartbeat()
        if clerk.meter.actions["send_reply"].price > 3.5:
            clerk.meter.reflect("Answers are written in minutes, and then they wait for energy.")
            try:
                clerk.meter.propose("send_reply", 3.0, 3.5, "A reply reaches one person, who asked for it.")
            except ProposalError as error:  # one is pending, or replies waited in too few heartbeats
                print(f"no new proposal: {error}")
    clerk.debt.save(folder / "debt.json")
    with (folder / "transcript.jsonl").open("a") as file:
        file.writelines(json.dumps(message) + "\n" for message in clerk.transcript)
    clerk.judge()
    print(f"written to {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    at = shlex.quote(str(folder))
    print(f"""next:
  solvent proposals list --store {at}/solvent_costs.db
  solvent gate reviews --store {at}/gate_reviews
  solvent adequacy score {at}/transcript.jsonl --out {at}/scores.jsonl
to decide on a page, and to label the answers:
  solvent desk --store {at}/solvent_costs.db --reviews {at}/gate_reviews \\
    --responses {at}/transcript.jsonl --scores {at}/scores.jsonl""")


if __name__ == "__main__":
    main()
