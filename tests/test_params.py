"""Parameters: documented, frozen, and every mistake one line that names the setting and what is allowed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from solvent import LabEnv, LabParams, ParamError, preset
from solvent.lab.mechanisms.assay import AssayParams
from solvent.lab.mechanisms.debt import DebtParams
from solvent.lab.params import CONSTANTS, PRESETS
from solvent.lab.settings import ParamGroup


def settings_of(group, path=""):
    """Yield (path, JSON Schema) of every setting, at any depth."""
    for name, about in group.about().items():
        value, where = getattr(group, name), f"{path}.{name}".lstrip(".")
        if isinstance(value, ParamGroup):
            yield from settings_of(value, where)
        else:
            yield where, about


NUMBERS = [(path, about) for path, about in settings_of(LabParams()) if "maximum" in about]


def nested(path, value):
    """{"a": {"b": value}} for "a.b"."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def refused(mapping, message):
    with pytest.raises(ParamError) as caught:
        LabParams.from_mapping(mapping, base=LabParams())
    text = str(caught.value)
    assert text.startswith(message)
    assert "allowed: " in text or "did you mean" in text
    assert "\n" not in text


# -- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "about"), NUMBERS, ids=[path for path, _ in NUMBERS])
def test_bad_number_is_one_line(path, about):
    for bad in (float("nan"), float("inf"), about["maximum"] + 1, True, "3", [[]], 10**400):
        refused(nested(path, bad), f"{path}: got ")


MISTAKES = [
    ("debt.treshold", {"debt": {"treshold": 1}}),
    ("debt", {"debt": 3}),
    ("debt.enforced", {"debt": {"enforced": 1}}),
    ("debt.inflation", {"debt": {"inflation": "cubic"}}),
    ("debt.interest_cap", {"debt": {"interest_cap": 1.0}}),
    ("assay.compounds", {"assay": {"compounds": []}}),
    ("assay.compounds", {"assay": {"compounds": ["a", "a"]}}),
    ("assay.compounds", {"assay": {"compounds": ["\x1b[2J"]}}),
    ("assay.compounds", {"assay": {"compounds": ["a/b"]}}),
    ("assay.prior", {"assay": {"prior": [0.2] * 8}}),
    ("assay.bin_high", {"assay": {"bin_low": 1.3}}),
    ("vocabulary.claims", {"vocabulary": {"claims": [1.0, 0.5]}}),
    ("energy.start", {"energy": {"start": 20.5}}),
    ("energy.cap", {"energy": {"cap": 30.0}}),
    ("proposals.mispriced_least", {"proposals": {"mispriced_most": 0, "mispriced_least": 1}}),
    ("proposals.enabled", {"proposals": {"enabled": True}}),
    ("gate.policy", {"gate": {"policy": "fixed.strict"}}),
    ("adequacy.enabled", {"adequacy": {"enabled": True}}),
]


@pytest.mark.parametrize(("setting", "mapping"), MISTAKES)
def test_mistake_names_the_setting_and_what_is_allowed(setting, mapping):
    refused(mapping, f"{setting}: ")


def test_unknown_preset_names_the_nearest():
    with pytest.raises(ParamError, match="preset: unknown preset 'documnt'; did you mean 'document'"):
        preset("documnt")
    with pytest.raises(ParamError, match="debt: got 3; allowed: a mapping of settings"):
        LabParams(debt=3)


def test_error_survives_a_process_pool():
    error = ParamError("a.b", "got 1; allowed: 2")
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.path, twin.problem) == (str(error), error.path, error.problem)


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_preset_survives_yaml(name):
    params = preset(name)
    assert LabParams.from_mapping(yaml.safe_load(yaml.safe_dump(params.to_mapping()))) == params
    assert hash(params) == hash(pickle.loads(pickle.dumps(params)))


@given(
    st.fixed_dictionaries({}, optional={"threshold": st.floats(0, 1000), "enforced": st.booleans()}),
    st.sets(st.floats(0, 16), min_size=1).map(sorted),
)
def test_differences_survive_the_round_trip(debt, claims):
    changed = {"debt": {"interest_cap": 1000.0, **debt}, "vocabulary": {"claims": claims}}
    params = LabParams.from_mapping(changed, base=LabParams())
    assert LabParams.from_mapping(params.to_mapping()) == params
    assert (params.assay, params.plates) == (LabParams().assay, LabParams().plates)
    assert params.vocabulary.claims == tuple(claims)
    assert {name: getattr(params.debt, name) for name in debt} == debt


def test_a_constant_with_its_value_is_accepted():
    given = {group: dict(constants) for group, constants in CONSTANTS.items()}
    assert LabParams.from_mapping(given) == LabParams()


def test_numpy_values_are_what_they_hold():
    changed = {"budget": {"wells": np.int64(96)}, "debt": {"enforced": np.bool_(False)}}
    changed |= {"vocabulary": {"claims": np.array([0.0, 0.5])}}
    params = LabParams.from_mapping(changed, base=LabParams())
    assert type(params.budget.wells) is int
    assert params.debt.enforced is False
    assert params.vocabulary.claims == (0.0, 0.5)
    hash(params)


@pytest.mark.parametrize("empty", [None, [], ()])
def test_an_empty_prior_is_uniform(empty):
    assert LabParams.from_mapping({"assay": {"prior": empty}}) == LabParams()


def test_parameters_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        LabParams().debt.threshold = 1.0
    with pytest.raises(TypeError):
        PRESETS["default"] = LabParams()
    assert hash(AssayParams(compounds=["a"])) == hash(AssayParams(compounds=("a",)))


def test_differences_are_from_the_preset():
    env = LabEnv({"debt": {"threshold": 1.0}}, preset="document")
    assert (env.params.debt.threshold, env.params.debt.interest) == (1.0, 0.0)
    assert LabEnv(preset("lab")).params == preset("lab")


def test_document_preset_leaves_out_what_its_document_does_not_have():
    document, default = preset("document"), LabParams()
    left_out = {"interest": 0.0, "of_findings": False, "bankruptcy": False, "scored": False}
    assert document.debt == default.debt.replace(**left_out)
    assert document.energy == default.energy.replace(leak=0.0)
    same = document.replace(debt=DebtParams(), energy=default.energy)
    assert same == default
