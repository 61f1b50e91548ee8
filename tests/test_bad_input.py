"""What can't be used is one clear line that names it, and says what is allowed, before anything has changed."""

from __future__ import annotations

import numpy as np
import pytest

import solvent
from solvent import LabEnv, LabVectorEnv, ParamError
from solvent.lab.actions import sentence
from tests.labs import open_lab


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LabEnv(solvent.preset("default"), preset="nonsense"), "unknown preset 'nonsense'"),
        (lambda: LabEnv(preset="two-tier"), "did you mean 'two_tier'"),
        (lambda: LabEnv(0), "got 0; allowed: a mapping"),
        (lambda: LabEnv({"assay": {"prior": [1.0, 1e-12], "potency_classes": 2}}), "prior"),
        (lambda: LabEnv({"assay": {"gains": [1.0, 1.0]}}), "gains: got .* distinct"),
        (lambda: LabEnv({"assay": {"compounds": ["instrument"]}}), "not 'instrument'"),
        (lambda: LabEnv({"assay": {"compounds": ["a/b"]}}), "no '/'"),
        (lambda: LabEnv({"assay": {"technical_sd": 1e-200}}), "technical_sd: .* at least"),
        (
            lambda: LabEnv(
                {
                    "assay": {
                        "gains": list(np.linspace(0.1, 9, 200)),
                        "plate_sds": [0.1] + [0.2 + i / 100 for i in range(9)],
                    }
                }
            ),
            "2000 instrument states; allowed: at most 1024",
        ),
    ],
)
def test_parameters(make, words):
    with pytest.raises(ParamError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 1.5, "seven"])
def test_seeds(seed):
    with pytest.raises(ValueError, match=r"seed: got .*; allowed: a whole number, at least 0"):
        LabEnv().reset(seed=seed)


@pytest.mark.parametrize("seeds", [[3, -1], [3, 1.9]])
def test_seeds_of_a_vector(seeds):
    with pytest.raises(ValueError, match=r"seed\[1\]: got .*; allowed: a whole number"):
        LabVectorEnv(2).reset(seed=seeds)


@pytest.mark.parametrize("action", [-1, 154, 1.5, "rest", [3, 4], np.array([3, 4])])
def test_a_step_of_no_action(action):
    env = LabEnv()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action: got .*; allowed: an integer from 0 to 153"):
        env.step(action)


@pytest.mark.parametrize("action", [-1, 154])
def test_a_sentence_of_no_action(action):
    with pytest.raises(ValueError, match=r"action: got .*; allowed: an integer from 0 to 153"):
        sentence(solvent.preset("default"), action)


@pytest.mark.slow
def test_many_instrument_states_are_told_apart():
    params = {
        "assay": {"gains": list(np.linspace(0.5, 1.5, 20)), "plate_sds": list(np.linspace(0.1, 0.4, 10))}
    }
    envs = LabVectorEnv(500, params)
    envs.reset(seed=0)
    drawn = envs.get_state()["instrument"]
    assert drawn.min() >= 0
    assert drawn.max() > 127
    assert drawn.max() < 200


def test_the_debt_at_the_end_is_not_what_was_settled_before():
    env = open_lab(
        {"debt": {"bankruptcy": "reset", "bankruptcy_after_refusals": 2}, "budget": {"heartbeats": 6}}
    )
    state = env.get_state()
    state["debt"] = 2.5
    env.set_state(state)
    screen = next(a for a in range(len(env.actions)) if env.sentence(a).startswith("screen"))
    settled = [env.step(action)[1] for action in (screen, screen)]
    assert settled == [0.0, -2.5]
    for _ in range(4):
        info = env.step(0)[4]
    assert info["episode_summary"]["debt"] == 0.0
    assert info["episode_summary"]["settled"] == 2.5
    assert info["episode_summary"]["return"] == -2.5


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="options: got 'foo'; allowed: none"):
        solvent.LabEnv().reset(seed=0, options={"foo": 1})
    with pytest.raises(ValueError, match="options: got 'foo'; allowed: 'reset_mask'"):
        solvent.LabVectorEnv(2).reset(seed=0, options={"foo": 1, "reset_mask": [True, False]})
