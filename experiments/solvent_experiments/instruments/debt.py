"""``solvent debt``: an agent under epistemic debt, its refusals printed in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent_experiments.console import say, suggest

if TYPE_CHECKING:
    from solvent import LabEnv

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Play an agent under epistemic debt: what it claims and does not learn raises its costs and blocks it.

- `solvent debt run --agent random`  plays 20 cycles and prints each refusal in full
""",
)


@app.callback()
def debt() -> None:
    """Keep ``run`` a subcommand."""


@app.command()
def run(
    cycles: Annotated[
        int, typer.Option(min=1, max=32_767, help="Number of cycles, each a heartbeat of the lab.")
    ] = 20,
    budget: Annotated[int, typer.Option(min=1, max=1_000_000, help="Wells to spend.")] = 384,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the lab.")] = 42,
    agent: Annotated[
        str,
        typer.Option(
            help="Scripted agent, my_module:MyAgent, path of a trained policy, or name of a shipped one."
        ),
    ] = "random",
    env: Annotated[str, typer.Option(help="Environment whose rules hold.")] = "Solvent/Debt-v0",
    log: Annotated[Path, typer.Option(metavar="PATH", help="Log of refusals. Lines are added to it.")] = Path(
        "epistemic_refusals.jsonl"
    ),
) -> None:
    """Play cycles of an agent: it proposes an action, and debt refuses it or lets it run.

    The agent isn't told beforehand what debt or wells would refuse. After a refusal it is told, for one cycle, what
    can still run. Each refusal is printed with its costs and reasons, and added to the log.

    Examples:

    - `solvent debt run --cycles 20 --budget 384 --seed 42 --agent random`

    - `solvent debt run --agent honest --env Solvent/Lab-v0`
    """
    from solvent import LabEnv, LabParams, read_refusals_jsonl
    from solvent_agents.agent import act_one, show_labs, start_labs
    from solvent_experiments.config import environment_params, make_agent

    params = LabParams.from_mapping(
        {"budget": {"heartbeats": cycles, "wells": budget}}, base=environment_params(env)
    )
    chooser = make_agent(agent, params)
    earlier = len(read_refusals_jsonl(log)) if log.exists() else 0
    lab = LabEnv(params, ledger_path=log)
    observation, info = lab.reset(seed=seed)
    start_labs(chooser, [seed])
    ended = False
    while not ended:
        mask = info["action_mask"]
        show_labs(chooser, lab.batch.get_labs(), params)
        observation, _, ended, _, info = lab.step(act_one(chooser, observation, mask))
        _print_cycle(lab, info)
    episode = info["episode_summary"]
    refused = sum(episode["refusals"].values())
    say(
        f"\n{refused} of {lab.batch.labs[0]['heartbeat']} cycles refused, {episode['accepted']} findings accepted, "
        f"{episode['wrong']} of them wrong; {episode['debt']:.2f} bits of debt unpaid, return "
        f"{episode['return']:+.2f} bits. {log} has {earlier + refused} refusals."
    )
    other = "honest" if agent != "honest" else "random"
    suggest(
        f"`solvent debt run --cycles {cycles} --budget {budget} --seed {seed} --agent {other} --env {env}` plays "
        "the same lab with another agent; docs/debt.md shows how to hold an agent of your own to these rules."
    )


def _print_cycle(lab: LabEnv, info: dict[str, Any]) -> None:
    import numpy as np

    from solvent.lab.ledger import Origin, refusals
    from solvent.lab.verbs import VERBS
    from solvent.lab.words.describe import tell

    record, step = lab.batch.labs[0], lab.batch.steps[0]
    done, outcome = tell(lab.params, record, step)
    books = f"Debt {record['debt']:.2f} bits, {record['wells']} wells left."
    head = f"CYCLE {step['heartbeat'] + 1}/{lab.params.budget.heartbeats}  {done}."
    if not info["refusal"]:
        say(f"{head} {outcome} {books}")
        return
    (event,) = refusals(lab.params, step, None, Origin())
    threshold = (
        f"debt is above the threshold of {event['debt_threshold']:g} bits, and this is not a calibration"
    )
    why = [threshold] if event["blocked_by_threshold"] else []
    why += ["it would cost more wells than there are"] if event["blocked_by_cost"] else []
    able = np.unique(
        lab.actions["verb"][np.flatnonzero(info["action_mask"]) if not record["end_reason"] else []]
    )
    rows = {
        "Proposal": event["design_id"],
        "Hypothesis": event["proposed_hypothesis"],
        "Debt accumulated": f"{event['debt_bits']:.3f} bits",
        "Base cost": f"{event['base_cost_wells']} wells",
        "Inflated cost": f"{event['inflated_cost_wells']:.2f} wells",
        "Budget remaining": f"{event['budget_remaining']} wells",
        "Why": "; ".join(why),
        "Caused by debt": "yes" if event["caused_by_debt"] else "no: it would not run at zero debt either",
        "Can run next": ", ".join(VERBS[verb].name for verb in able) or "nothing: the last cycle is over",
    }
    say(f"\n{head}\nEPISTEMIC DEBT REFUSAL: {info['refusal']}")
    for name, text in rows.items():
        say(f"  {name:<16}  {text}")
    say(f"  {books}\n")
