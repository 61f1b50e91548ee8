"""The names behind the codes of one lab: its compounds, actions, policies, corrections, sentences and clock."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Correction", "LabSentences", "LevelPolicy", "Names", "design_id"]

_FIRST_DAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
_DAYS = 2_900_000  # dates end with the year 9999; a lab that plays on begins its calendar again


class LevelPolicy(NamedTuple):
    """A policy of the gate: what it accepts and what it reviews, as energies in [0, 1]."""

    name: str  # ``adaptive.P20.v1``
    tau_accept: float
    tau_review: float

    @property
    def label(self) -> str:
        """The name without its version."""
        return self.name.rpartition(".v")[0]


class Correction(NamedTuple):
    """What an agent is told after a published error."""

    id: str
    text: str


class LabSentences(NamedTuple):
    """Sentences of each compound, by their rows (``words.rows``)."""

    spans: tuple[tuple[str, ...], ...]
    """What a page can hold: readouts by dose and bin, then fits by strength and class."""
    findings: tuple[tuple[str, ...], ...]
    """What a finding can say, by wording and class."""
    classes: int

    def finding(self, compound: int, wording: int, asserted: int) -> str:
        """The sentence of a finding."""
        return self.findings[compound][wording * self.classes + asserted]


@dataclass(frozen=True)
class Names:
    """What the codes in a lab's records stand for."""

    active: tuple[str, ...]  # the mechanisms that run
    params: Any  # LabParams, which is made of the mechanisms' settings and so can't be imported here
    actions: Any  # the action table
    policies: tuple[LevelPolicy, ...]  # the laxest first; none without a gate
    corrections: tuple[Correction, ...]  # by code; none without adequacy
    read_sentences: Callable[[], LabSentences]  # playing needs none of them
    strong_negatives: Any = None  # [M, findings] flag: the finding states an absence as a fact
    rule_correction: Any = (
        None  # correction of an error under each of adequacy's rules; None where nothing is told
    )

    @property
    def compounds(self) -> tuple[str, ...]:
        """Names of the compounds."""
        names: tuple[str, ...] = self.params.assay.compounds
        return names

    @property
    def sentences(self) -> LabSentences:
        """What pages can hold and findings can say.

        Raises:
            ParamError: the words that ``gate.tables`` was measured for are not there.
        """
        return self.read_sentences()

    def correction_of(self, rule: int) -> str | None:
        """What the agent is told after an error under a rule of adequacy; None where that is of no consequence."""
        return None if self.rule_correction is None else self.corrections[self.rule_correction[rule]].text

    def is_strong_negative(self, compound: int, wording: int, asserted: int) -> bool:
        """Whether a finding states an absence as a fact."""
        return bool(self.strong_negatives[compound, wording * self.params.assay.potency_classes + asserted])

    def time(self, episode: int, heartbeat: int) -> str:
        """The lab's clock: ISO 8601, UTC. A heartbeat is an hour; each episode starts on a day of its own."""
        budget = self.params.budget
        days_an_episode = -(-(budget.start_hour + budget.heartbeats) // 24)
        moment = _FIRST_DAY + datetime.timedelta(
            days=episode * days_an_episode % _DAYS, hours=budget.start_hour + heartbeat
        )
        return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def when(self, step: Any) -> str:
        """When a step was taken."""
        return self.time(int(step["episode"]), int(step["heartbeat"]))


def design_id(subject: str, cycle: int, lab_index: int | None) -> str:
    """Identity of an event: its subject and heartbeat, and in a vector its lab."""
    lab = "" if lab_index is None else f"_lab{lab_index}"
    return f"{subject}_{cycle:03d}{lab}"
