"""Notebook: a Bayesian who reads the observation alone, and then acts as the honest script does.

For levels whose agent sees its data instead of the posterior (``solvent.lab.mechanisms.measurements``). Letters as in
``state.py``, and ``S`` a sum of readouts in bins. For each compound ``m`` the sums at each dose have the likelihood

    L_m(nu, theta) = prod_d p(S_d | n_d, nu, theta),

the ``n_d``-fold convolution of the distribution of a readout. The earlier lots come first, then this one: with the
likelihood ``c(nu)`` of the vehicle wells,

    p(nu) ~ c(nu) prod_m sum_theta p(theta_m) L_m(nu, theta),    p(theta_m) = sum_nu p(nu) p(theta_m | nu).

Known approximations. Earlier lots are taken for one, since the observation has their mean alone. A sum says less than
its readouts. Vehicle wells are taken as normal, with the moments of binned readouts. A dose is taken as read with the
replicates of the smallest plate that has it.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.batch import LabBatch
from solvent.lab.mechanisms import assay as lab_assay
from solvent.lab.mechanisms import career, debt, measurements
from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.lab.state import blank_lab
from solvent.lab.verbs import EXPERIMENTS, VERBS
from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.honest import Honest

__all__ = ["Notebook", "posterior", "read_data"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_LIKELIHOOD = 1e-30
"""Likelihoods are not taken below it."""
LEAST_VARIANCE = 0.15
"""Of vehicle readouts, bins squared: where all fall into one bin, their spread says little."""


class Data(NamedTuple):
    """What the notebooks of ``n`` labs hold; ``L`` is 2: this lot, earlier lots."""

    sums: Ints  # [n, M, D, L] of readouts, bins
    counts: Ints  # [n, M, D, L]
    vehicle_mean: Floats  # [n] bins
    vehicle_variance: Floats  # [n] bins squared
    vehicle_count: Ints  # [n]


class Belief(NamedTuple):
    """A posterior in ``n`` labs."""

    marginal: Floats  # [n, M, G] p(class)
    instrument: Floats  # [n, N] p(instrument)


# -- the observation, read ------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def _columns(params: LabParams) -> dict[str, Ints]:
    """Return the columns of an observation by what they hold, in the order of compounds and doses."""
    at = {name: i for i, name in enumerate(observation_fields(params))}
    compounds = params.assay.compounds
    columns = {name: [at[name]] for name in ("heartbeat", "wells", "debt", "debt_margin")}
    for part in ("experiments", "licence", "published"):
        columns[part] = [at[f"{name}/{part}"] for name in compounds]
    columns["vehicle"] = [at[f"vehicle/{part}"] for part in ("mean", "spread", "number")]
    columns["data"] = [i for name, i in at.items() if name.rpartition("/")[2].endswith(("mean", "number"))][
        :-2
    ]
    return {name: np.array(which) for name, which in columns.items()}


def count_of(elements: Any, scale: float) -> Any:
    """Return ``x`` of an element that shows ``x / (x + scale)``."""
    elements = elements.astype(np.float64)
    return scale * elements / (1.0 - elements)


def read_data(params: LabParams, observations: Observations) -> Data:
    """Return the data in observations, shape ``(n, n_fields)``."""
    columns, highest = _columns(params), params.assay.bins - 1
    shape = (len(observations), len(params.assay.compounds), len(params.doses), 2, 2)
    each = observations[:, columns["data"]].reshape(shape)
    counts = np.rint(count_of(each[..., 1], measurements.COUNT)).astype(np.int64)
    sums = np.rint(each[..., 0].astype(np.float64) * highest * counts).astype(np.int64)
    mean, deviation, number = observations[:, columns["vehicle"]].astype(np.float64).T
    vehicle_count = np.rint(count_of(number, measurements.COUNT)).astype(np.int64)
    return Data(sums, counts, mean * highest, (deviation * highest) ** 2, vehicle_count)


# -- the posterior --------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def _readout(params: LabParams) -> Floats:
    """Return the distribution of a readout at each dose, shape ``(D, N, G, B)``."""
    plates = [getattr(params.plates, VERBS[verb].name) for verb in EXPERIMENTS]
    plates.sort(key=lambda plate: plate.readouts)
    of_dose = []
    for dose in params.doses:
        replicates = next(plate.replicates for plate in plates if dose in plate.doses)
        viabilities = lab_assay.viability(params.assay, [dose])[0]
        of_dose.append(lab_assay.bin_probabilities(params.assay, viabilities, replicates))
    return np.stack(of_dose)


@functools.lru_cache(maxsize=256)
def _of_sum(params: LabParams, count: int) -> Floats:
    """Return the distribution of the sum of ``count`` readouts, shape ``(D, N, G, count * (B - 1) + 1)``."""
    one = _readout(params)
    if count == 1:
        return one
    fewer = _of_sum(params, count - 1)
    total = np.zeros((*one.shape[:-1], fewer.shape[-1] + one.shape[-1] - 1))
    for k in range(one.shape[-1]):
        total[..., k : k + fewer.shape[-1]] += fewer * one[..., k, None]
    return total


def log_likelihood(params: LabParams, sums: Ints, counts: Ints) -> Floats:
    """Return the log likelihood of sums of readouts, both of shape ``(n, M, D)``; shape ``(n, M, N, G)``."""
    n, compounds, doses = sums.shape
    shape = (n, compounds, params.assay.instrument_states, params.assay.potency_classes)
    total = np.zeros(shape)
    for dose in range(doses):
        for count in np.unique(counts[:, :, dose]):
            if count == 0:
                continue
            lab, compound = np.nonzero(counts[:, :, dose] == count)
            by_sum = np.log(np.maximum(LEAST_LIKELIHOOD, _of_sum(params, int(count))[dose]))  # [N, G, S]
            total[lab, compound] += np.moveaxis(by_sum, -1, 0)[sums[lab, compound, dose]]
    return total


def log_likelihood_of_vehicle(params: LabParams, data: Data) -> Floats:
    """Return the log likelihood of the vehicle wells, shape ``(n, N)``."""
    readout = lab_assay.bin_probabilities(params.assay, [1.0], params.plates.baseline.replicates)[:, 0]
    bins = np.arange(readout.shape[-1])
    mean = readout @ bins
    variance = np.maximum(LEAST_VARIANCE, readout @ bins**2 - mean**2)
    squares = data.vehicle_variance[:, None] + (data.vehicle_mean[:, None] - mean) ** 2
    return -0.5 * data.vehicle_count[:, None] * (np.log(variance) + squares / variance)


def posterior(params: LabParams, data: Data) -> Belief:
    """Return the posterior from the data in ``n`` labs."""
    n, states = len(data.sums), params.assay.instrument_states
    classes = np.broadcast_to(params.assay.class_prior, (n, data.sums.shape[1], params.assay.potency_classes))
    vehicle = log_likelihood_of_vehicle(params, data)
    belief = Belief(classes, np.full((n, states), 1.0 / states))
    for lot, of_vehicle in ((measurements.EARLIER, 0.0), (measurements.THIS_LOT, vehicle)):
        likelihood = log_likelihood(params, data.sums[..., lot], data.counts[..., lot])
        belief = _conditioned(belief.marginal, likelihood, of_vehicle)
    return belief


def _conditioned(classes: Floats, log_likelihoods: Floats, of_vehicle: Any) -> Belief:
    """Condition ``p(class)`` on the data of one lot, whose instrument is unknown."""
    scaled = np.exp(log_likelihoods - log_likelihoods.max(axis=(2, 3), keepdims=True))
    joint = classes[:, :, None, :] * scaled  # [n, M, N, G]
    evidence = np.maximum(joint.sum(axis=-1), 1e-300)  # [n, M, N]
    log_instrument = np.log(evidence).sum(axis=1) + of_vehicle
    instrument = np.exp(log_instrument - log_instrument.max(axis=1, keepdims=True))
    instrument /= instrument.sum(axis=1, keepdims=True)
    marginal = np.einsum("nk,nmkg->nmg", instrument, joint / evidence[..., None])
    return Belief(marginal / marginal.sum(axis=-1, keepdims=True), instrument)


# -- the agent ------------------------------------------------------------------------------------


class Notebook:
    """A Bayesian who reads the observation alone.

    Raises:
        ParamError: the level shows the posterior, or has rules that its observation is not read for.
    """

    name = "notebook"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        others = [name for name in ("energy", "career", "gate") if getattr(params, name).enabled]
        if params.observation.belief != "data" or others:
            raise ParamError("agent", "notebook plays no such lab; allowed: Solvent/Data-v0 and its like")
        self._params, self._honest = params, Honest(params)
        self._batch = LabBatch(params, 1)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs; see ``Agent.act``."""
        if len(self._batch.labs) != len(observations):
            self._batch = LabBatch(self._params, len(observations))
        self._batch.set_labs(self._records(observations))
        self._honest.open(self._batch.labs)
        return self._honest.act(observations, masks)

    def _records(self, observations: Observations) -> NDArray[Any]:
        """Return lab records with what the observations say, and beliefs from their data."""
        params, columns = self._params, _columns(self._params)
        elements = {name: observations[:, which] for name, which in columns.items()}
        labs = np.repeat(blank_lab(params), len(observations))
        labs["heartbeat"] = np.rint(elements["heartbeat"][:, 0] * params.budget.heartbeats)
        labs["wells"] = np.rint(elements["wells"][:, 0] * career.career_rules(params).most_wells)
        owed = count_of(elements["debt"][:, 0], debt.BITS)
        # At the threshold itself, rounding must not block.
        free = elements["debt_margin"][:, 0] >= 0.0
        labs["debt"] = np.where(free, np.minimum(owed, params.debt.threshold), owed)
        labs["experiments"] = np.rint(count_of(elements["experiments"], lab_assay.COUNT))
        labs["licence"] = count_of(elements["licence"], debt.BITS)
        labs["published"] = elements["published"] > 0.5
        belief = posterior(params, read_data(params, observations))
        labs["marginal"], labs["named"] = belief.marginal, belief.marginal.argmax(axis=-1)
        labs["entropy"] = _bits(belief.marginal)
        labs["instrument_belief"], labs["instrument_entropy"] = belief.instrument, _bits(belief.instrument)
        return labs


def _bits(probabilities: Floats) -> Floats:
    entropy: Floats = -(probabilities * np.log2(np.maximum(probabilities, 1e-300))).sum(axis=-1)
    return np.maximum(0.0, entropy)
