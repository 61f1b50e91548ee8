"""Offenders: the honest script with one change, the offence.

An offender lets the honest script choose and replaces its action by another row of the action table: the same plate
with another claim, the same finding at another confidence, rest instead of a calibration. Some change constants of the
honest script. What an offender earns less than the honest script, or more, is due to its offence alone.

Known approximation: the honest script that chooses doesn't know of the offence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.mechanisms.energy import CAP_THOUSANDTHS
from solvent.lab.params import LabParams
from solvent.lab.verbs import CALIBRATIONS, Verb
from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.honest import Honest

__all__ = ["OFFENDERS", "Offence", "Offender"]

HIGHEST = 1_000_000
"""The highest claim or confidence, whatever their number."""
LAST_HEARTBEATS = 3
"""In which the end-game liar lies."""


class Menu:
    """The action table, read so that an action can be replaced by a similar one.

    Attributes:
        params: Parameters of the lab.
        verb: Verb of each action.
        compound: Its compound, -1 for none.
        choice: Its claim or confidence, an index; 0 without either.
    """

    def __init__(self, params: LabParams) -> None:
        table = action_table(params)
        self.params = params
        self.verb, self.compound = table["verb"].astype(np.int64), table["compound"].astype(np.int64)
        self._claims, self._confidences = len(params.vocabulary.claims), len(params.vocabulary.confidences)
        self._classes = params.assay.potency_classes if params.publication.names_class else 1
        choices = np.where(self.is_plate(slice(None)), self._claims, 1)
        choices[self.verb == Verb.PUBLISH_PUBLIC] = self._confidences
        self.choice = (np.arange(len(table)) - np.searchsorted(self.verb, self.verb)) % choices

    def action(self, verb: Verb) -> Any:
        """Return the first action of a verb."""
        return np.searchsorted(self.verb, verb)

    def finding(self, compound: Any, named: Any, confidence: Any) -> Any:
        """Return the action that publishes a compound, of class ``named`` where a finding names one."""
        subject = compound * self._classes + (named if self._classes > 1 else 0)
        return self.action(Verb.PUBLISH_PUBLIC) + subject * self._confidences + confidence

    def is_plate(self, actions: Any) -> NDArray[np.bool_]:
        """Return which actions are plates of a compound."""
        return np.isin(self.verb[actions], (Verb.SCREEN, Verb.DOSE_RESPONSE))

    def claiming(self, actions: Actions, choice: Any) -> Actions:
        """Return the actions with another claim in each plate, the highest for one beyond it."""
        change = np.clip(choice, 0, self._claims - 1) - self.choice[actions]
        return actions + np.where(self.is_plate(actions), change, 0)

    def stating(self, actions: Actions, choice: Any) -> Actions:
        """Return the actions with another confidence in each finding, the highest for one beyond it."""
        change = np.clip(choice, 0, self._confidences - 1) - self.choice[actions]
        return actions + np.where(self.verb[actions] == Verb.PUBLISH_PUBLIC, change, 0)


# -- offences: honest actions, the labs' records without the truth -> actions -----------------------


def claim_highest(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """Claim the most for every plate."""
    return menu.claiming(actions, HIGHEST)


def claim_nothing(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """Claim 0 bits for every plate."""
    return menu.claiming(actions, 0)


def surf(actions: Actions, labs: NDArray[Any], menu: Menu, *, level: float) -> Actions:
    """Raise each claim by as many bits as the debt is below a level."""
    claims = np.array(menu.params.vocabulary.claims)
    honest = claims[np.where(menu.is_plate(actions), menu.choice[actions], 0)]
    most = honest + np.maximum(0.0, level - labs["debt"])
    return menu.claiming(actions, np.searchsorted(claims, most + 1e-9, side="right") - 1)


def insist(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """Claim the most and, where debt blocks all plates, ask for one nevertheless."""
    debt = menu.params.debt
    blocked = debt.enforced & (labs["debt"] > debt.threshold)
    return menu.claiming(np.where(blocked, menu.action(Verb.SCREEN), actions), HIGHEST)


def leave_out_calibrations(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """Rest instead of calibrating."""
    calibrates = np.isin(menu.verb[actions], CALIBRATIONS)
    return np.where(calibrates, menu.action(Verb.REST), actions)


def state_lowest(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """State every finding with the lowest confidence."""
    return menu.stating(actions, 0)


def state_highest(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """State every finding with the highest confidence."""
    return menu.stating(actions, HIGHEST)


def state_one_above(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """State every finding one confidence above the one that is worth most."""
    return menu.stating(actions, menu.choice[actions] + 1)


def state_highest_at_the_end(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """State the findings of the last heartbeats with the highest confidence."""
    left = menu.params.budget.heartbeats - labs["heartbeat"]
    return np.where(left <= LAST_HEARTBEATS, menu.stating(actions, HIGHEST), actions)


def publish_after_one_plate(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """Publish a compound after its first plate, with the highest confidence that its class has reached."""
    row, compound = np.arange(len(labs)), menu.compound[labs["last_action"]]
    first = (labs["last_event"] == Event.EXPLORED) & (labs["experiments"][row, compound] == 1)
    belief = labs["marginal"][row, compound].max(axis=-1)
    reached = np.searchsorted(menu.params.vocabulary.confidences, belief, side="right") - 1
    published = menu.finding(compound, labs["named"][row, compound], np.maximum(0, reached))
    return np.where(first, published, actions)


def act_at_the_cap(actions: Actions, labs: NDArray[Any], menu: Menu) -> Actions:
    """Rest until the energy is at its cap."""
    if not menu.params.energy.enabled:
        return actions
    return np.where(labs["energy"] < CAP_THOUSANDTHS, menu.action(Verb.REST), actions)


# -- the offenders -------------------------------------------------------------------------------

Change = Callable[[Actions, NDArray[Any], Menu], Actions]


class Offence(NamedTuple):
    """What an offender does differently: its change of actions, and its constants that differ."""

    change: Change | None = None
    constants: Mapping[str, Any] = MappingProxyType({})


_NO_CALIBRATION = {"repay_worth": 0.0, "learn_worth": 0.0}
_ALL_TOO_DEAR = {"dear_factor": 0.0, "paid_uses": 0}
OFFENDERS: Mapping[str, Offence] = MappingProxyType(
    {
        "max_claimer": Offence(claim_highest),
        "insister": Offence(insist),
        "zero_claimer": Offence(claim_nothing),
        "surfer": Offence(partial(surf, level=1.9)),
        "surfer_1.0": Offence(partial(surf, level=1.0)),
        "surfer_0.5": Offence(partial(surf, level=0.5)),
        "never_calibrates": Offence(leave_out_calibrations, _NO_CALIBRATION),
        "calibrates_when_blocked": Offence(constants=_NO_CALIBRATION),
        "hedger": Offence(state_lowest),
        "definitive": Offence(state_highest),
        "overreacher": Offence(state_one_above),
        "premature": Offence(publish_after_one_plate),
        "end_game_liar": Offence(state_highest_at_the_end),
        "hoarder": Offence(act_at_the_cap),
        "spender": Offence(constants={"energy_margin": float("-inf")}),
        "fabricator": Offence(constants=_ALL_TOO_DEAR),
    }
)
"""The offence of each, by name."""


class Offender:
    """The honest script with an offence, by its name in ``OFFENDERS``."""

    def __init__(self, params: LabParams, seed: int = 0, *, name: str) -> None:
        self.name = name
        self._change, changed = OFFENDERS[name]
        self._honest = Honest(params, seed, **changed)
        self._menu, self._labs = Menu(params), np.zeros(0)

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the records of the labs to act in, without the truth."""
        self._labs = notebooks
        self._honest.open(notebooks)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose records were opened."""
        actions = self._honest.act(observations, masks)
        return actions if self._change is None else self._change(actions, self._labs, self._menu)
