"""The log of refusals: one JSON object per line, with the fields of the source."""

from __future__ import annotations

import dataclasses
import json
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from solvent.files import RECORD, append_lines, now, read_records, writable

__all__ = ["RefusalEvent", "append_refusals_jsonl", "log_refusal", "read_refusals_jsonl"]

File = str | os.PathLike[str]


@dataclass(config=RECORD)
class RefusalEvent:
    """The record of an action refused because of epistemic debt: the source's fields, and whether debt caused it."""

    cycle: int
    timestamp: str
    refusal_reason: Literal["epistemic_debt_budget_exceeded", "epistemic_debt_action_blocked"]
    proposed_template: str
    proposed_hypothesis: str
    proposed_wells: int
    debt_bits: float
    base_cost_wells: int
    inflated_cost_wells: float
    budget_remaining: int
    debt_threshold: float
    blocked_by_cost: bool
    blocked_by_threshold: bool
    design_id: str = ""
    caused_by_debt: bool = True  # false: it would have been refused at zero debt too


def log_refusal(
    path: File, context: Mapping[str, Any], *, cycle: int, proposed_hypothesis: str = "", design_id: str = ""
) -> RefusalEvent:
    """Append a refusal to ``path``, at the present time, and return its event.

    Args:
        path: the log. A missing file is created.
        context: the third value of ``EpistemicController.should_refuse_action``.
        cycle: the cycle in which the action was proposed, counted from 1.
        proposed_hypothesis: the reason for the action.
        design_id: identity of the action.

    Raises:
        ValueError: nothing was refused.
        OSError: the file can't be written.
    """
    if not context["refusal_reason"]:
        raise ValueError("context: got that of an action that may run; allowed: that of a refused one")
    template = writable(context["proposed_template"])
    event = RefusalEvent(
        **{**context, "proposed_template": template},
        cycle=operator.index(cycle),
        timestamp=now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        proposed_hypothesis=writable(proposed_hypothesis),
        design_id=writable(design_id),
    )
    append_refusals_jsonl(path, [event])
    return event


def append_refusals_jsonl(path: File, events: Iterable[RefusalEvent]) -> None:
    """Append refusals to ``path``, all of them or none, as the lab writes them. A missing file is created.

    Raises:
        OSError: the file can't be written.
        TimeoutError: another process has held its lock for ten seconds.
    """
    append_lines(path, (json.dumps(dataclasses.asdict(event), ensure_ascii=False) for event in events))


def read_refusals_jsonl(path: File) -> list[RefusalEvent]:
    """Return all events of a log.

    Raises:
        InputError: the file can't be read, or a line is not a refusal event; the message has the line's number.
    """
    return list(read_records(path, RefusalEvent))
