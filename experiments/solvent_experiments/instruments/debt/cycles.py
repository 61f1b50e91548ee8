"""Cycles of an agent under epistemic debt. A cycle is a heartbeat of the lab.

The agent proposes without knowing what debt or wells would refuse: its mask is that of a lab that owes nothing and has
spent nothing. In the cycle after a refusal it has the lab's own mask, which says what can still run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from solvent import LabEnv, LabParams
from solvent.debt import RefusalEvent, read_refusals_jsonl
from solvent.lab.batch import LabBatch
from solvent.lab.codes import EndReason
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.debt import decide, refusal_events, wells_charged
from solvent.lab.rendering.panels.outcome import ENDINGS, tell
from solvent.lab.tables import tables_for
from solvent.lab.verbs import VERBS, Verb
from solvent_agents.agent import act_one, show_labs
from solvent_agents.rollout import DrawsLots
from solvent_experiments.config import environment_params, make_agent
from solvent_experiments.instruments.terminal import counted

__all__ = ["play_cycles"]


def play_cycles(
    agent: str, env_id: str, *, cycles: int, wells: int, seed: int, log: Path, console: Console
) -> None:
    """Play the cycles, print each, and add the refusals to ``log``."""
    params = LabParams.from_mapping(
        {"budget": {"heartbeats": cycles, "wells": wells}}, base=environment_params(env_id)
    )
    chooser = make_agent(agent, params)
    earlier = len(read_refusals_jsonl(log)) if log.exists() else 0
    env, ignorant = LabEnv(params, ledger_path=log), LabBatch(params, 1)
    observation, info = env.reset(seed=seed)
    if isinstance(chooser, DrawsLots):
        chooser.start([seed])
    console.print(
        f"{agent} in {env_id}, seed {seed}: {counted(cycles, 'cycle')}, {counted(wells, 'well')}. "
        "Only a refusal tells it what debt forbids.\n",
        highlight=False,
    )
    ended = False
    while not ended:
        mask = info["action_mask"] if "refusal" in info else _without_refusals(env, ignorant)
        show_labs(chooser, env.batch.get_labs(), params)
        action = act_one(chooser, observation, mask)
        observation, _, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        _print_step(env, info, log, console)
    _print_end(env, info["episode_summary"], log, earlier, console)
    other = "honest" if agent != "honest" else "surfer"
    console.print(
        f"Next: `solvent debt run --cycles {cycles} --budget {wells} --seed {seed} --agent {other} --env {env_id}` "
        "plays the same lab with another agent; docs/debt.md shows how to hold an agent of your own to these rules.",
        highlight=False,
    )


def _without_refusals(env: LabEnv, ignorant: LabBatch) -> NDArray[np.int8]:
    """Return the mask of the lab as if it owed nothing and had spent nothing."""
    labs = env.batch.get_labs()
    labs["debt"], labs["wells"] = 0.0, env.params.budget.wells
    ignorant.set_labs(labs)
    mask: NDArray[np.int8] = ignorant.masks[0]
    return mask


def _print_step(env: LabEnv, info: dict[str, Any], log: Path, console: Console) -> None:
    lab, step = env.batch.labs[0], env.batch.steps[0]
    done, outcome = tell(env.params, lab, step)
    head = f"CYCLE {step['heartbeat'] + 1}/{env.params.budget.heartbeats}  {done}."
    if "refusal" not in info:
        console.print(f"{head} {outcome} {_books(lab)}", highlight=False)
        return
    (event,) = refusal_events(env.names, step, None)
    console.print(f"\n{head}", highlight=False)
    console.print(Text(f"EPISTEMIC DEBT REFUSAL: {event.refusal_reason}", style="bold red"))
    rows = Table.grid(padding=(0, 2))
    for name, text in _refusal(event, "; ".join(_reasons(event)), str(log)):
        rows.add_row(f"  {name}", Text(text))
    rows.add_row("  Can run next", Text(", ".join(_runnable(env, info)) or "nothing: the last cycle is over"))
    console.print(rows)
    console.print(f"  {_books(lab)}\n", highlight=False)


def _refusal(event: RefusalEvent, why: str, log: str) -> Iterator[tuple[str, str]]:
    yield "Proposal", event.design_id
    yield "Hypothesis", event.proposed_hypothesis
    yield "Debt accumulated", f"{event.debt_bits:.3f} bits"
    yield "Base cost", counted(event.base_cost_wells, "well")
    yield "Inflated cost", f"{event.inflated_cost_wells:.2f} wells, charged as {_charged(event)}"
    yield "Budget remaining", counted(event.budget_remaining, "well")
    yield "Why", why
    yield "Logged to", log


def _reasons(event: RefusalEvent) -> Iterator[str]:
    if event.blocked_by_threshold:
        yield f"debt is above the threshold of {event.debt_threshold:g} bits, and this is no calibration"
    if event.blocked_by_cost:
        yield f"it would cost {counted(_charged(event), 'well')}, more than there are"
    if event.blocked_by_reserve:
        yield "it would leave less than the cheapest calibration costs"


def _charged(event: RefusalEvent) -> int:
    return int(plain(wells_charged)(event.inflated_cost_wells))


def _runnable(env: LabEnv, info: dict[str, Any]) -> Iterator[str]:
    """Yield the verbs that can run now, with what they would cost in wells."""
    tables, lab = tables_for(env.params), env.batch.labs[0]
    allowed = env.actions["verb"][np.flatnonzero(info.get("action_mask", ()))]
    for verb in map(Verb, np.unique(allowed)):
        wells, is_calibration = tables.wells[verb], tables.is_calibration[verb]
        _, inflated, *_ = plain(decide)(tables.debt, lab["debt"], wells, lab["wells"], is_calibration)
        cost = int(plain(wells_charged)(inflated))
        yield f"{VERBS[verb].name} ({counted(cost, 'well')})" if cost else VERBS[verb].name


def _books(lab: Any) -> str:
    return f"Debt {lab['debt']:.2f} bits, {counted(int(lab['wells']), 'well')} left."


def _print_end(env: LabEnv, episode: dict[str, Any], log: Path, earlier: int, console: Console) -> None:
    lab = env.batch.labs[0]
    refusals = {reason: count for reason, count in episode["refusals"].items() if count}
    by_reason = ", ".join(f"{count} {reason}" for reason, count in refusals.items())
    total = sum(refusals.values())
    console.print(
        f"\n{ENDINGS[EndReason(int(lab['end_reason']))]}. {counted(int(lab['heartbeat']), 'cycle')}: "
        f"{counted(total, 'refusal')}{f' ({by_reason})' if by_reason else ''}, "
        f"{counted(episode['accepted'], 'finding')}, {episode['wrong']} wrong; {episode['debt']:.2f} bits of debt "
        f"settled, return {episode['return']:+.2f} bits.",
        highlight=False,
    )
    console.print(
        f"{log} has {counted(earlier + total, 'refusal')}, {total} of this run "
        "(`solvent.debt.read_refusals_jsonl` reads it).",
        highlight=False,
    )
