"""Play in the terminal: a person chooses by numbers, or watches an agent."""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from solvent import LabEnv, LabParams
from solvent.lab.mechanisms.gate import wording_at
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.panels import adequacy, energy, gate
from solvent.lab.rendering.panels.costs import cost_of, what_it_does, why, why_not
from solvent.lab.rendering.panels.outcome import tell
from solvent.lab.rendering.panels.page import would_be
from solvent.lab.rendering.sheet import WIDTH, Sheet
from solvent.lab.rendering.words import class_name, clock, in_units
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.sentences import policies_of
from solvent_agents.agent import act_one, show_labs
from solvent_agents.rollout import DrawsLots
from solvent_experiments.cli.compare import make_agent
from solvent_experiments.config.experiment import environment_params
from solvent_experiments.measure.departures import mark_of

__all__ = ["play_episode"]

QUIT = ("q", "quit", "exit")
NOTEBOOK = "n"
MENU = 16
"""Lines under the picture when a person plays with energy or at a gate."""
CORRECTION = 2
"""Additional lines for a correction."""
SHORTEST = 22
"""Lines of the smallest picture in these labs."""


class _Quit(Exception):  # noqa: N818 - no error
    pass


def play_episode(env_id: str, agent: str | None, seed: int, delay: float, *, console: Console) -> None:
    """Play one episode, by a person or by ``agent``."""
    params = environment_params(env_id)
    chooser = None if agent is None else make_agent(agent, params)
    env = LabEnv(params)
    observation, info = env.reset(seed=seed)
    if isinstance(chooser, DrawsLots):
        chooser.start([seed])
    if mark := mark_of(params, params):
        console.print(mark, style="bold red")
    watched = chooser is not None and console.is_terminal
    lines = console.height - 1 if watched else _lines_over_menu(params, console)
    screen = Renderer(params, "ansi", sheet=Sheet(min(WIDTH, console.width), lines))
    _show(env, screen, console, clear=watched)
    if chooser is None:
        for rules in _rules(params):
            console.print("\n" + "\n".join(rules), highlight=False)
    ended = False
    while not ended:
        mask = np.asarray(info["action_mask"], np.bool_)
        if chooser is None:
            try:
                action = _ask_action(env, mask, console)
            except _Quit:
                console.print("You left; the episode is not over.")
                return
        else:
            time.sleep(delay)
            show_labs(chooser, env.batch.get_labs(), params)
            action = act_one(chooser, observation, mask)
        observation, _, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        _show(env, screen, console, clear=watched)
    episode = info["episode_summary"]
    truth = ", ".join(
        f"{compound} {class_name(params, potency)}"
        for compound, potency in zip(params.assay.compounds, env.get_state()["potency"], strict=True)
    )
    console.print(
        f"\nOver ({episode['end_reason']}): {episode['return']:+.2f} bits. {episode['accepted']} findings, "
        f"{episode['wrong']} of them wrong; {sum(episode['refusals'].values())} refusals; "
        f"debt at the end {episode['debt']:.2f} bits."
        f"\nThe truth: {truth}.",
        highlight=False,
    )
    if params.energy.enabled:
        console.print(_energy_account(env, episode), highlight=False)
    if params.gate.enabled:
        console.print(_gate_account(params, episode), highlight=False)
    if params.adequacy.enabled:
        console.print(_adequacy_account(env, episode), highlight=False)


def _rules(params: LabParams) -> list[list[str]]:
    known = (
        (params.energy.enabled, energy.rules),
        (params.gate.enabled, gate.rules),
        (params.adequacy.enabled, adequacy.rules),
    )
    return [in_words(params) for enabled, in_words in known if enabled]


def _lines_over_menu(params: LabParams, console: Console) -> int | None:
    """Return the height of a picture with the menu below it, or None if that is too low and the screen scrolls."""
    lines = console.height - MENU - CORRECTION * params.adequacy.enabled
    return lines if _is_tall(params) and lines >= SHORTEST else None


def _is_tall(params: LabParams) -> bool:
    """Return True if the picture is too high to fit over a menu on many screens."""
    return params.energy.enabled or params.gate.enabled


def _gate_account(params: LabParams, episode: dict[str, Any]) -> str:
    """Return a line on verdicts, reviews, published errors and the final policy."""
    verdicts = ", ".join(f"{count} {name}" for name, count in episode["verdicts"].items())
    policy = policies_of(params)[episode["strictness"]].name
    return (
        f"Gate: {verdicts}; readers approved {episode['reviews_approved']} and declined "
        f"{episode['reviews_declined']}; published errors {episode['incidents_high']}, tightenings "
        f"{episode['tightenings']}; {policy} at the end."
    )


def _adequacy_account(env: LabEnv, episode: dict[str, Any]) -> str:
    """Return a line on the scores of the findings, and on the correction still in force."""
    scores = ", ".join(f"{count} of score {score}" for score, count in episode["adequacy"].items())
    still = f" Still told: {env.correction}" if env.correction else ""
    return f"Adequacy: findings {scores}.{still}"


def _energy_account(env: LabEnv, episode: dict[str, Any]) -> str:
    """Return a line on the uses of energy and the wrong prices."""
    lab = env.get_state()
    wrong = [verb for verb in Verb if lab["fair"][verb] != lab["price"][verb]]
    costs = ", ".join(
        f"{VERBS[verb].name} {in_units(lab['fair'][verb])} instead of {in_units(lab['price'][verb])}"
        for verb in wrong
    )
    return (
        f"Energy: {episode['energy_spent']:.1f} spent, {episode['energy_leaked']:.1f} leaked, "
        f"{episode['energy_lost']:.1f} lost at the cap; "
        f"{episode['deferrals']} put off, {episode['proposals']} proposed, {episode['approvals']} approved."
        f"\nFair costs: {costs or 'as they were'}."
    )


def _show(env: LabEnv, screen: Renderer, console: Console, *, clear: bool) -> None:
    if clear:
        console.clear()
    console.print(Text.from_ansi(str(screen.draw(env.batch.labs[0], env.batch.steps[0]))))


def _ask_action(env: LabEnv, mask: np.ndarray, console: Console) -> int:
    """Ask for a verb, then for its compound and claim or confidence if it has them."""
    table = env.actions
    verbs = [Verb(verb) for verb in np.unique(table["verb"])]
    words = [_offer(env, verb, bool(mask[table["verb"] == verb].any())) for verb in verbs]
    notebook = partial(_read_notebook, env, console) if env.params.gate.enabled else None
    rows = table["verb"] == verbs[_choose(_situation(env, console), words, console, notebook)]
    compounds = np.unique(table["compound"][rows])
    if compounds[0] >= 0:
        (verb,) = np.unique(table["verb"][rows])
        takes = VERBS[Verb(verb)].takes
        names = []
        for m in compounds:
            allowed = mask[rows & (table["compound"] == m)].any()
            names.append(
                env.params.assay.compounds[m]
                + ("" if allowed or not mask[rows].any() else _not_on(env, Verb(verb), m))
            )
        m = compounds[_choose("Which compound?", names, console)]
        rows &= table["compound"] == m
        if takes == "claim":
            question = "How many bits do you claim to learn?"
        else:
            question = f"{_most_probable(env, m)}. How sure are you?"
        values = [f"{float(value):g}" for value in table[takes][rows]]
        if takes == "confidence" and env.params.gate.enabled:
            values = _said_at(env, m, values, console.width)
        chosen = _choose(question, values, console)
        return int(np.flatnonzero(rows)[chosen])
    return int(np.flatnonzero(rows)[0])


def _situation(env: LabEnv, console: Console) -> str:
    """Return the question for a verb, after the state that the choice needs; on small screens also the last outcome."""
    question = "What do you do?"
    params, lab = env.params, env.batch.labs[0]
    if not _is_tall(params):
        return question
    said, outcome = tell(params, lab, env.batch.steps[0])
    before = f"{said}. {outcome}\n" if console.height < MENU + SHORTEST and lab["last_action"] >= 0 else ""
    if params.gate.enabled:
        before += _at_the_gate(params, lab)
    if not params.energy.enabled:
        return f"{before}{lab['wells']} wells, debt {lab['debt']:.2f}. {question}"
    return (
        f"{before}{clock(params, lab)}, slot {int(lab['slot']) + 1} of {params.energy.slots}, "
        f"{in_units(lab['energy'])} energy, {lab['wells']} wells, debt {lab['debt']:.2f}, "
        f"{energy.presence(params, lab)}. {question}"
    )


def _at_the_gate(params: LabParams, lab: Any) -> str:
    """Return the policy in force, pending reviews, and the key of the notebook."""
    policy = policies_of(params)[lab["strictness"]]
    waiting = ", ".join(gate.pending(params, lab))
    review = f"; under review: {waiting}" if waiting else ""
    return (
        f"The gate is at {gate.policy_word(policy.name)}: accepts up to {policy.tau_accept:.3f}{review}. "
        f"{NOTEBOOK} opens the notebook.\n{_told(params, lab)}"
    )


def _told(params: LabParams, lab: Any) -> str:
    """Return the correction after a published error, while it is in force."""
    now = adequacy.correction_in_force(params, lab)
    return f"You are told, for {now.hours} h more: {now.text}\n" if now else ""


def _read_notebook(env: LabEnv, console: Console) -> None:
    names = env.params.assay.compounds
    runs = env.batch.labs[0]["experiments"]
    options = [f"{name}{'' if count else '  (nothing yet)'}" for name, count in zip(names, runs, strict=True)]
    m = _choose("Whose page?", options, console)
    page = "\n".join(_hanging(line, console.width) for line in str(env.notebook(m)).split("\n"))
    console.print(f"\n{page}", highlight=False, markup=False)


def _hanging(line: str, width: int) -> str:
    """Return a line, wrapped with a hanging indent."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=indent, drop_whitespace=True)


def _said_at(env: LabEnv, m: int, confidences: list[str], width: int) -> list[str]:
    """Return a menu line for each confidence: the finding's sentence, and the verdict it would get."""
    page, gate = env.notebook(int(m)), env.params.gate
    findings = [page.findings[wording_at(gate, q)] for q in env.params.vocabulary.confidences]
    return [
        f"{confidence:<5}{would_be(finding)}\n" + _hanging(f"{' ' * 7}“{finding.sentence}”", width)
        for confidence, finding in zip(confidences, findings, strict=True)
    ]


def _offer(env: LabEnv, verb: Verb, allowed: bool) -> str:
    name = f"{verb.name.lower():<16} "
    if not env.params.energy.enabled:
        refused = "" if allowed else "  (would be refused)"
        return f"{name}{VERBS[verb].doc}{_price(env, verb)}{_meaning(env.params, verb)}{refused}"
    lab = env.batch.labs[0]
    cost = cost_of(env.params, lab, verb)
    price = f"{in_units(cost.now):>5} energy{_price(env, verb)}" if cost.base else " free"
    if not allowed:
        return f"{name}{price}  (not now: {why_not(env.params, lab, verb)})"
    because = f" ({why(cost)})" if cost.base and why(cost) else ""
    return f"{name}{price}: {what_it_does(env.params, lab, verb)}{because}"


def _not_on(env: LabEnv, verb: Verb, m: int) -> str:
    """Return the reason why a verb would not run on this compound."""
    lab = env.batch.labs[0]
    if VERBS[verb].takes == "confidence" and lab["decision_at"][m]:
        return "  (under review)"
    elif not env.params.energy.enabled:
        return "  (would not run)"
    elif VERBS[verb].takes == "confidence" and lab["published"][m]:
        return "  (published already)"
    return f"  (again in this hour: {in_units(cost_of(env.params, lab, verb).again)} energy, too dear)"


def _price(env: LabEnv, verb: Verb) -> str:
    plate = getattr(env.params.plates, verb.name.lower(), None)
    return "" if plate is None else f", {plate.wells} wells"


def _meaning(params: LabParams, verb: Verb) -> str:
    """Return the effect of a choice, unless its name says it."""
    if VERBS[verb].intent == "maintenance":
        return "; repays debt"
    if verb is Verb.PUBLISH_PRIVATE:
        share = params.publishing.private_share
        paid = "half" if share == 0.5 else f"{share:g}"
        return f": names your most probable potency, pays {paid}"
    if verb is Verb.PUBLISH_PUBLIC:
        return ": names your most probable potency"
    return ""


def _most_probable(env: LabEnv, m: int) -> str:
    """Return the class that a finding on a compound would name, with its probability."""
    belief = env.get_state()["marginal"][m]
    named = int(belief.argmax())
    return (
        f"{env.params.assay.compounds[m]}: most probable {class_name(env.params, named)}, "
        f"p = {belief[named]:.2f}"
    )


def _choose(
    question: str, options: Sequence[str], console: Console, notebook: Callable[[], None] | None = None
) -> int:
    """Return a number from a menu. ``n`` shows the ``notebook`` first; ``q`` or the end of input quits."""
    width = math.ceil(math.log10(len(options) + 1))
    lines = [f"  {i:>{width}}  {option}" for i, option in enumerate(options)]
    console.print("\n" + question + "  (q quits)\n" + "\n".join(lines), highlight=False, markup=False)
    while True:
        try:
            answer = console.input("> ").strip().lower()
        except EOFError:
            raise _Quit from None
        if answer in QUIT:
            raise _Quit
        if answer == NOTEBOOK and notebook is not None:
            notebook()
            console.print("\n" + question + "\n" + "\n".join(lines), highlight=False, markup=False)
            continue
        if answer in map(str, range(len(options))):
            return int(answer)
        console.print(f"A number from 0 to {len(options) - 1}, or q.", highlight=False)
