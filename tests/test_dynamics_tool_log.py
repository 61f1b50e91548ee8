"""Adequacy's table against the real thing: the heuristic on the sentence of every finding and on its compound's log."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import numpy as np
import pytest

from solvent import LabEnv
from solvent.adequacy import calls_of, score
from solvent.lab.codes import Event, Verdict
from solvent.lab.params import PRESETS, LabParams
from solvent.lab.verbs import VERBS, Verb
from solvent_agents import AGENTS, act_one
from tests.labs import PLAIN, play, score_of

LAB = PRESETS["lab"]
# Nothing but the gate and adequacy stands in the way of a finding.
FREE = {
    "budget": {"heartbeats": 14, "wells": 100_000, "start_hour": 8},
    "debt": {"enforced": False},
    "energy": {"start": 200.0, "cap": 200.0, "regeneration": 60.0},
}


WORDS = tomllib.loads((files("solvent.lab.words") / "catalogue.toml").read_text("utf-8"))
AMOUNTS = {1e-8: "10 nM", 3.16e-8: "32 nM", 1e-7: "100 nM", 3.16e-7: "320 nM"}
AMOUNTS |= {1e-6: "1 µM", 3.16e-6: "3.2 µM", 1e-5: "10 µM", 3.16e-5: "32 µM"}


def amount(dose):
    return next(text for value, text in AMOUNTS.items() if np.isclose(value, dose, rtol=0.01))


def say(text, compound, named=None, **slots):
    """A sentence of the catalogue with its slots filled."""
    if named is not None:
        phrase = WORDS["classes"]["inactive"] if named == 0 else WORDS["classes"]["active"][named - 1]
        text = text.replace("{class}", phrase.replace("{pec50}", f"{8.5 - 0.5 * named:.1f}"))
    for name, value in {"compound": compound, **slots}.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def plate_told(params, compound, verb, step_lab, m):
    """What a plate has to leave: a sentence a dose, and the fit."""
    template = params.plates.screen if verb == Verb.SCREEN else params.plates.dose_response
    bins = step_lab["last_bins"][: len(template.doses)]
    told = [
        say(WORDS["readout"]["text"], compound, dose=amount(dose), percent=15 + 10 * int(seen))
        for dose, seen in zip(template.doses, bins, strict=True)
    ]
    strength, named = int(step_lab["fit_strength"][m]), int(step_lab["fit_class"][m])
    fit = WORDS["fit"][("poor", "rough", "good", "precise")[strength]]
    return [*told, say(fit, compound, named if strength else None)]


DEPARTURES = {"hedged/none": 1, "absolute/thin": 3}
"""What the lab scores otherwise than the instrument (``tests/mechanisms/test_adequacy.py``)."""


class Witness:
    """Writes its own log of an episode, and holds every finding against the heuristic on the lab's log."""

    def __init__(self, env):
        self.env, self.met, self.findings = env, set(), 0
        self.begin()

    def begin(self):
        self.plates = {name: [] for name in self.env.params.assay.compounds}

    def follow(self, info):
        env, step, lab = self.env, self.env.batch.steps[0], self.env.get_state()
        row = env.actions[step["action"]]
        m, params = int(row["compound"]), env.params
        if step["event"] == Event.EXPLORED:
            name = params.assay.compounds[m]
            told = plate_told(params, name, row["verb"], lab, m)
            self.plates[name].append((VERBS[Verb(row["verb"])].name, name, told))
        if step["verdict"] == Verdict.NONE:
            assert not info.keys() & {"adequacy", "adequacy_rule", "gate_verdict"}
            return
        self.judge(info, params.assay.compounds[m], row["confidence"], int(lab["marginal"][m].argmax()))

    def judge(self, info, name, confidence, named):
        gate = self.env.params.gate
        wording = int(confidence >= gate.plain_from) + int(confidence >= gate.definitive_from)
        sentence = say(WORDS["claim"][("hedged", "plain", "definitive")[wording]], name, named)
        log = self.env.tool_log(name)
        assert [(call["name"], call["arguments"]["compound"]) for call in log] == [
            p[:2] for p in self.plates[name]
        ]
        for call, (*_, told) in zip(log, self.plates[name], strict=True):
            assert all(told_sentence in call["result"] for told_sentence in told)
            assert len(call["result"]) <= sum(map(len, told)) + 2 * len(told)
        found = score(sentence, calls_of(log))
        expected = DEPARTURES.get(found.rule, found.score)
        assert (info["adequacy"], info["adequacy_rule"]) == (expected, found.rule), (sentence, log)
        assert expected == score_of(wording, named, len(log))
        self.findings += 1
        self.met.add((wording, named, min(4, len(log))))


# What has the shapes of the default, so that it is compiled already.
SAME_SHAPE = {
    "default": {},
    "other wordings": {"gate": {"plain_from": 0.5, "definitive_from": 0.75}},
    "easily precise": {"gate": {"rough": 0.1, "good": 0.2, "precise": 0.3}},
    "never better than poor": {"gate": {"rough": 1.0, "good": 1.0, "precise": 1.0}},
}
OTHER_SHAPES = {
    "some compounds": {"assay": {"compounds": ["etoposide", "nocodazole", "CCCP"]}},
    "fewer classes": {"assay": {"potency_classes": 5}},
    "one compound, two classes": {"assay": {"compounds": ["oligomycin A"], "potency_classes": 2}},
    "few doses": {
        "plates": {"screen": {"doses": [1e-6]}, "dose_response": {"doses": [1e-7, 1e-6, 10**-5.5, 1e-5]}}
    },
    "finer confidences": {"vocabulary": {"confidences": [0.55, 0.65, 0.8, 0.9, 0.99]}},
}


def witnessed(assay, steps, seed):
    """Play in such a lab, every finding held against the heuristic."""
    env = LabEnv(LabParams.from_mapping(assay, base=LabParams.from_mapping(FREE, base=LAB)))
    witness = Witness(env)
    for *_, (*_, terminated, truncated, info), _, _ in play(env, steps, seed=seed):
        witness.follow(info)
        if terminated or truncated:
            witness.begin()
    return witness


@pytest.mark.parametrize("assay", SAME_SHAPE)
def test_what_a_step_says_of_a_finding_is_what_the_heuristic_says_of_its_sentence_and_log(assay):
    steps = 100 if PLAIN else 900
    witness = witnessed(SAME_SHAPE[assay], steps, seed=len(assay))
    assert witness.findings > steps // 12
    if assay == "default" and not PLAIN:
        assert {wording for wording, *_ in witness.met} == {0, 1, 2}
        assert {named for _, named, _ in witness.met} == set(range(8))
        assert {plates for *_, plates in witness.met} == set(range(5))
        assert len(witness.met) > 60


@pytest.mark.skipif(
    not PLAIN, reason="every shape takes half a minute to compile; the plain pass has them all"
)
@pytest.mark.parametrize("assay", OTHER_SHAPES)
def test_so_it_is_in_labs_of_other_compounds_classes_doses_and_confidences(assay):
    witness = witnessed(OTHER_SHAPES[assay], 250, seed=len(assay))
    assert witness.findings >= 5 * len(witness.plates)


@pytest.mark.skipif(PLAIN, reason="the scripts take their time in plain Python")
@pytest.mark.parametrize("name", ["honest", "hedger", "definitive", "end_game_liar"])
def test_so_it_is_for_the_findings_of_agents(name):
    env = LabEnv(preset="lab")
    agent, witness = AGENTS[name](env.params, 0), Witness(env)
    for seed in range(6):
        observation, info = env.reset(seed=seed)
        witness.begin()
        over = False
        while not over:
            action = act_one(agent, observation, info["action_mask"])
            observation, _, terminated, truncated, info = env.step(action)
            witness.follow(info)
            over = terminated or truncated
            info = {"action_mask": env.action_masks(), **info}
    assert witness.findings >= 6
