"""The bench: a lab whose actions are tools for a language model.

Each public method besides ``reset`` and ``get_reward`` is a tool: typed and documented arguments in, one text out. A
call takes one action in the lab, by the same step as any other agent's. ``trl``, the Model Context Protocol and tool
loops take the class as it is; ``calls.py`` says which call takes which action, ``tools.py`` writes the schemas of a
level, ``prompt.py`` the system prompt.

A call that the lab has no action for takes no time. It returns a text with what is allowed and is counted; after
``MOST_INVALID`` of them the lab rests to its end. Calls after the end are answered and not counted. ``get_reward``
rests the lab to its end as well, where debt grows by its interest: leaving is not a way out. A value outside the
vocabulary is never replaced by the nearest one.

A call about a compound may state a belief: a class and its probability. It stays in the conversation's log and changes
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

import gymnasium
import numpy as np

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.environment import LabEnv
from solvent.lab.mechanisms.assay import bin_edges
from solvent.lab.params import PRESETS, LabParams
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.describe import (
    class_name,
    clock,
    costs,
    in_units,
    intents,
    lot_hours,
    presence,
    project,
    project_began,
    tell,
    waiting,
)
from solvent.lab.words.quantities import dose_text
from solvent_agents.agent import Agent, act_one, show_labs
from solvent_agents.language.calls import STATED, actions_of, call_of, choices, class_names
from solvent_agents.language.terse import LISTED, Teller

__all__ = ["MOST_INVALID", "MOST_TURNS", "Bench", "call_by", "refusal"]

MOST_INVALID = 20
"""Invalid calls after which the lab rests to its end."""
MOST_TURNS = 400
"""Messages or calls of a model in an episode; the longest level has 126 actions."""
HOURS = 6
"""Closed heartbeats whose intent summaries a reflection shows."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
LONGEST = 60
"""Characters of a wrong value that are repeated to the model."""


def refusal(argument: str, value: Any, allowed: Iterable[Any]) -> str:
    """Return the text about a wrong value: the value, shortened, and what is allowed."""
    quoted = repr(value)
    quoted = quoted if len(quoted) <= LONGEST else quoted[:LONGEST] + "..."
    known = ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in allowed)
    return f"{argument}: got {quoted}; allowed: {known}."


def without_posterior(params: LabParams) -> LabParams:
    """Return the lab whose agent sees its data and names its classes; with a gate, the lab as it is."""
    if params.gate.enabled:
        return params
    data = PRESETS["data"]
    return params.replace(observation=data.observation, publication=data.publication)


class Bench:
    """One lab and its tools. Call ``reset`` first."""

    def __init__(
        self, env_id: str | LabParams = "Solvent/Lab-v0", *, beliefs: bool = True, terse: bool = False
    ) -> None:
        """Make the bench of a level.

        Args:
            env_id: A registered environment, or the parameters of a lab.
            beliefs: Show the exact posterior. If false, the model sees readouts only, keeps its own belief and, in a
                lab without a gate, names the class of a finding, as in ``Solvent/Data-v0``.
            terse: Tell everything in few words, as ``terse.py`` says.
        """
        if isinstance(env_id, LabParams):
            self._env = LabEnv(env_id)
        else:
            self._env = cast("LabEnv", gymnasium.make(env_id, disable_env_checker=True).unwrapped)
        if not beliefs:
            self._env = LabEnv(without_posterior(self._env.params))
        self.params = self._env.params
        self._beliefs = beliefs and self.params.observation.belief == "posterior"
        self.terse, self._teller = terse, Teller(self.params, beliefs=self._beliefs)
        self._choices = choices(self.params)
        self.actions: list[int] = []  # of each call; -1 where the lab took none
        self.invalid, self.gave_up = 0, False
        self.summary: dict[str, Any] | None = None

    def reset(self, seed: int, **row: Any) -> str:
        """Start the episode of a seed.

        Args:
            seed: A whole number, at least 0.
            **row: Ignored; ``trl`` passes every column of a data set's row.

        Returns:
            The first status of the lab.
        """
        self._env.reset(seed=seed)
        self.seed = seed
        self.actions, self.invalid, self.gave_up, self.summary = [], 0, False, None
        self.arguments: dict[int, list[Any]] = {}  # of proposals, by the number of actions before them
        self._readouts: list[list[str]] = [[] for _ in self.params.assay.compounds]
        self._hours: list[str] = []
        if self.terse:
            self._teller.reset()
        return self._status()

    def get_reward(self) -> float:
        """Return the episode's return, bits. The lab first rests to its end, where debt grows by its interest."""
        self._leave()
        return float(self._env.batch.labs["score"][0])

    def screen(
        self, compound: str, claim_bits: float, stated_class: str = "", stated_probability: float = 0.0
    ) -> str:
        """Run a screen: a plate of one compound at few doses.

        Args:
            compound: Name of the compound.
            claim_bits: How many bits you expect to learn about it. What you claim and don't learn becomes debt.
            stated_class: The potency that you think most probable, if you wish to state it. It changes nothing.
            stated_probability: How probable you think it is, 0 to 1.

        Returns:
            The readouts and what they taught.
        """
        asked = {"compound": compound, "claim_bits": claim_bits}
        return self._act("screen", asked, (stated_class, stated_probability))

    def dose_response(
        self, compound: str, claim_bits: float, stated_class: str = "", stated_probability: float = 0.0
    ) -> str:
        """Run a dose response: a large plate of one compound at many doses.

        Args:
            compound: Name of the compound.
            claim_bits: How many bits you expect to learn about it. What you claim and don't learn becomes debt.
            stated_class: The potency that you think most probable, if you wish to state it. It changes nothing.
            stated_probability: How probable you think it is, 0 to 1.

        Returns:
            The readouts and what they taught.
        """
        asked = {"compound": compound, "claim_bits": claim_bits}
        return self._act("dose_response", asked, (stated_class, stated_probability))

    def calibrate(self, plate: str = "dmso") -> str:
        """Run a plate without a compound: it provides information about the instrument and repays debt.

        Args:
            plate: Kind of plate.

        Returns:
            The readouts and what was repaid.
        """
        return self._act("calibrate", {"plate": plate})

    def publish(
        self,
        compound: str,
        confidence: float,
        stated_class: str = "",
        stated_probability: float = 0.0,
    ) -> str:
        """Publish the most probable potency of a compound, for good.

        Args:
            compound: Name of the compound.
            confidence: How sure you are that it is right.
            stated_class: The potency that you think most probable, if you wish to state it. It changes nothing.
            stated_probability: How probable you think it is, 0 to 1.

        Returns:
            The verdict on the finding and what it earned.
        """
        asked = {"compound": compound, "confidence": confidence}
        if self.params.publication.names_class:
            asked[STATED[0]] = stated_class
        return self._act("publish", asked, (stated_class, stated_probability))

    def rest(self) -> str:
        """End the heartbeat without acting.

        Returns:
            What happened meanwhile.
        """
        return self._act("rest")

    def reflect(self) -> str:
        """Look at what the energy of this heartbeat and the last ones went into. Only after it can you propose.

        Returns:
            The energy spent by kind of action.
        """
        return self._act("reflect")

    def propose(self, target: str = "", low: float = 0.0, high: float = 0.0, reason: str = "") -> str:
        """Ask for a lower cost of an action that you had to put off. It follows a reflection.

        Args:
            target: The action.
            low: Lowest cost that you ask for, at least its floor.
            high: Highest cost that you ask for, below the cost now.
            reason: Why, in your words.

        Returns:
            What was filed.
        """
        if "propose" in self._choices and self.summary is None and (target or low or high or reason):
            try:
                self._env.argue(target, low, high, reason)
            except ValueError as error:
                return self._count(f"{error}.")
            self.arguments[self._taken] = [target, low, high, reason]
        return self._act("propose")

    def read_notebook(self, compound: str) -> str:
        """Read all that is recorded about a compound. It costs nothing and takes no time.

        Args:
            compound: Name of the compound.

        Returns:
            Its readouts, its sentences and its belief, if they are shown.
        """
        names = self.params.assay.compounds
        if compound not in names:
            return self._refuse("compound", compound, names)
        self.actions.append(-1)
        return self._page(names.index(compound))

    @property
    def _taken(self) -> int:
        """The number of actions that the lab has taken."""
        return sum(action >= 0 for action in self.actions)

    # -- acting

    def _act(self, tool: str, asked: Mapping[str, Any] = NOTHING, stated: tuple[Any, Any] = ("", 0.0)) -> str:
        """Take the action that the arguments name, or say what is allowed."""
        stated_class, stated_probability = stated
        if tool not in self._choices:
            return self._count(f"There is no {tool} in this lab.")
        for argument, allowed in self._choices[tool].items():
            if isinstance(asked[argument], bool) or asked[argument] not in allowed:
                return self._refuse(argument, asked[argument], allowed)
        if stated_class not in ("", None):
            if stated_class not in (known := class_names(self.params)):
                return self._refuse(STATED[0], stated_class, known)
            if type(stated_probability) not in (int, float) or not 0 <= stated_probability <= 1:
                return self._refuse(STATED[1], stated_probability, ["0 to 1"])
        if self.summary is not None:
            return self._count("")
        return self._step(actions_of(self.params)[tool, *asked.values()])

    def _step(self, action: int) -> str:
        _, _, terminated, _, info = self._env.step(action)
        self.summary = info["episode_summary"] if terminated else None
        self.actions.append(action)
        return self._outcome()

    def _refuse(self, argument: str, value: Any, allowed: Iterable[Any]) -> str:
        return self._count(refusal(argument, value, allowed))

    def _count(self, text: str) -> str:
        """Count an invalid call, which takes no time; after too many the lab rests to its end."""
        self.actions.append(-1)
        if self.summary is not None:
            return self._over()
        self.invalid += 1
        if self.invalid < MOST_INVALID:
            return text
        self.gave_up = True
        self._leave()
        return f"{text} That was invalid call {self.invalid}, one too many. {self._over()}"

    def _leave(self) -> None:
        """Rest to the end of the episode."""
        rest = int(np.flatnonzero(action_table(self.params)["verb"] == Verb.REST)[0])
        while self.summary is None:
            self._step(rest)

    # -- telling

    def _outcome(self) -> str:
        lab, step = self._env.batch.labs[0], self._env.batch.steps[0]
        readouts = self._kept_readouts(lab, step)
        if self.terse:
            happened = self._teller.happened(lab, step, readouts)
            return f"{happened}\n{self._status() if self.summary is None else self._over()}"
        done, outcome = tell(self.params, lab, step)
        parts = [f"{done}. {outcome}", *self._about_energy(lab, step), *self._learned(lab, step, readouts)]
        if self.summary is not None:
            return " ".join([*parts, self._over()])
        return "\n".join([" ".join(parts), self._status()])

    def _about_energy(self, lab: Any, step: Any) -> list[str]:
        """Return how energy was spent: in earlier heartbeats after a reflection, and in the one that has closed."""
        parts = []
        if step["event"] == Event.REFLECTED and self._hours:
            parts.append(f"Before: {'; '.join(self._hours[-HOURS:])}.")
        if self.params.energy.enabled and step["closed"]:
            spent = intents(step["intents"])
            hour = (self.params.budget.start_hour + int(lab["heartbeat"]) - 1) % 24
            self._hours.append(f"{hour:02d}:00 {spent}")
            parts.append(f"Energy of this heartbeat by intent: {spent}.")
        return parts

    def _learned(self, lab: Any, step: Any, readouts: str) -> list[str]:
        """Return the readouts of a plate, and the belief about its compound where that is shown."""
        if not readouts:
            return []
        m = self._compound(step)
        is_shown = m >= 0 and self._beliefs and not project_began(self.params, lab)
        return [f"Readouts: {readouts}.", *([self._belief(m)] if is_shown else [])]

    def _kept_readouts(self, lab: Any, step: Any) -> str:
        """Return the readouts of the plate that was run, if any, after keeping them for its compound's page."""
        readouts = ""
        if step["event"] in (Event.EXPLORED, Event.CALIBRATED):
            readouts = self._read(int(step["action"]), lab)
            if (m := self._compound(step)) >= 0:
                self._readouts[m].append(readouts)
        if project_began(self.params, lab):  # with other compounds
            self._readouts = [[] for _ in self._readouts]
        return readouts

    def _compound(self, step: Any) -> int:
        """Return the compound of an action; -1 for none."""
        return int(action_table(self.params)["compound"][step["action"]])

    def _read(self, action: int, lab: Any) -> str:
        """Return the readouts of the last plate as the ranges of their bins, with doses where there are any."""
        edges = [f"{edge:.2g}" for edge in bin_edges(self.params.assay)[1:-1]]
        ranges = [f"<{edges[0]}", *map("-".join, itertools.pairwise(edges)), f">{edges[-1]}"]
        plate = getattr(self.params.plates, VERBS[Verb(action_table(self.params)["verb"][action])].name)
        values = [ranges[seen] for seen in lab["last_bins"][: plate.readouts]]
        if doses := getattr(plate, "doses", None):
            at = map(dose_text, doses)
            values = [f"{value} at {dose}" for value, dose in zip(values, at, strict=True)]
        return ", ".join(values)

    def _belief(self, m: int) -> str:
        lab, params = self._env.batch.labs[0], self.params
        belief = lab["marginal"][m]
        order = [int(k) for k in np.argsort(-belief, kind="stable") if belief[k] >= LISTED]
        classes = ", ".join(f"{class_name(params, k)} {belief[k]:.2f}" for k in order)
        return (
            f"{params.assay.compounds[m]} is now: {classes}. {lab['entropy'][m]:.2f} bits unknown, "
            f"licence {lab['licence'][m]:.2f} bits."
        )

    def _page(self, m: int) -> str:
        lab, name = self._env.batch.labs[0], self.params.assay.compounds[m]
        lines = [
            f"{name}: {'published' if lab['published'][m] else 'not published'}.",
            *(f"Plate {i}: {read}." for i, read in enumerate(self._readouts[m], 1)),
        ]
        if self._beliefs:
            lines.append(self._belief(m))
        if self._beliefs and self.params.gate.enabled and lab["experiments"][m]:
            page = self._env.notebook(m)
            lines += page.fits  # written from the posterior
            lines += [f"A {finding.wording} finding: {finding.verdict}." for finding in page.findings]
        return "\n".join(lines)

    def _status(self) -> str:
        """Return the clock, energy, wells, debt and lot in one line."""
        lab, params = self._env.batch.labs[0], self.params
        if self.terse:
            return self._teller.state(lab)
        left = params.budget.heartbeats - int(lab["heartbeat"])
        parts = [f"{left} heartbeats left", f"{lab['wells']} wells", f"debt {lab['debt']:.2f} bits"]
        if params.energy.enabled:
            slot = f"action {int(lab['slot']) + 1} of {params.energy.slots}"
            parts = [clock(params, lab), slot, f"energy {in_units(lab['energy'])}", *parts]
            parts.append(f"costs now: {costs(params, lab)}")
            parts.append(presence(params, lab))
        parts.append(f"new lot in {lot_hours(params, lab)} h")
        parts += [note for note in (project(params, lab), waiting(params, lab)) if note]
        return f"[{'; '.join(parts)}]"

    def _over(self) -> str:
        assert self.summary is not None
        over = "over; score" if self.terse else "The episode is over. Score:"
        return f"{over} {self.summary['return']:.2f} bits."


def call_by(agent: Agent, bench: Bench) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments that a scripted agent calls at a bench, whose lab it sees."""
    batch = bench._env.batch
    show_labs(agent, batch.labs, bench.params)
    return call_of(bench.params, act_one(agent, batch.observations[0], batch.masks[0].astype(bool)))
