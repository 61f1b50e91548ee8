"""Names for the codes in a lab's records: compounds, actions, policy, sentences and clock."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["LabSentences", "LevelPolicy", "Names", "design_id"]

_FIRST_DAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
_DAYS = 2_900_000  # datetime ends with the year 9999; later episodes start the calendar again


class LevelPolicy(NamedTuple):
    """A policy of the gate: its thresholds of acceptance and review, energies in [0, 1]."""

    name: str  # ``adaptive.P20.v1``
    tau_accept: float
    tau_review: float

    @property
    def label(self) -> str:
        """Name without its version."""
        return self.name.rpartition(".v")[0]


class LabSentences(NamedTuple):
    """Sentences of each compound, in the row order of ``words.rows``."""

    spans: tuple[tuple[str, ...], ...]
    """Sentences that a page can hold: readouts by dose and bin, then fits by strength and class."""
    findings: tuple[tuple[str, ...], ...]
    """Sentences of findings, by wording and class."""
    classes: int

    def finding(self, compound: int, wording: int, asserted: int) -> str:
        """Return the sentence of a finding."""
        return self.findings[compound][wording * self.classes + asserted]


@dataclass(frozen=True)
class Names:
    """Names for the codes in a lab's records."""

    active: tuple[str, ...]  # active mechanisms
    params: Any  # LabParams, which imports the mechanisms and so can't be imported here
    actions: Any  # the action table
    policy: LevelPolicy | None  # of the gate; None without one
    read_sentences: Callable[[], LabSentences]  # lazy: a step needs no sentences
    strong_negatives: Any = None  # [M, findings] flag: the finding states an absence as a fact

    @property
    def compounds(self) -> tuple[str, ...]:
        """Names of the compounds."""
        names: tuple[str, ...] = self.params.assay.compounds
        return names

    @property
    def sentences(self) -> LabSentences:
        """Sentences of pages and findings.

        Raises:
            ParamError: The catalogue that ``gate.tables`` was measured for is missing.
        """
        return self.read_sentences()

    def is_strong_negative(self, compound: int, wording: int, asserted: int) -> bool:
        """Return whether a finding states an absence as a fact."""
        return bool(self.strong_negatives[compound, wording * self.params.assay.potency_classes + asserted])

    def time(self, episode: int, heartbeat: int) -> str:
        """Return the lab's time as ISO 8601 in UTC. A heartbeat is an hour; each episode starts on a new day."""
        budget = self.params.budget
        days_an_episode = -(-(budget.start_hour + budget.heartbeats) // 24)
        moment = _FIRST_DAY + datetime.timedelta(
            days=episode * days_an_episode % _DAYS, hours=budget.start_hour + heartbeat
        )
        return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def when(self, step: Any) -> str:
        """Return the time of a step."""
        return self.time(int(step["episode"]), int(step["heartbeat"]))


def design_id(subject: str, cycle: int, lab_index: int | None) -> str:
    """Return the identifier of an event: subject, heartbeat and, in a vector, the index of its lab."""
    lab = "" if lab_index is None else f"_lab{lab_index}"
    return f"{subject}_{cycle:03d}{lab}"
