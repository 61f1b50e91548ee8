"""Parameters: frozen, documented, and every mistake one line that names the setting and what is allowed."""

from __future__ import annotations

import dataclasses
import math
import pickle
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from solvent import LabEnv, LabParams, ParamError, preset
from solvent.lab.mechanisms.assay import AssayParams, DoseTemplate, PlateParams
from solvent.lab.mechanisms.debt import DebtParams
from solvent.lab.mechanisms.energy import VERB_NAMES
from solvent.lab.params import PRESETS, BudgetParams
from solvent.lab.settings import ParamGroup
from solvent.lab.verbs import Verb
from tests.labs import by_hand

ROOT = Path(__file__).resolve().parent.parent


def settings_of(group, path=""):
    """Yield (path, type, value, metadata) of every setting, at any depth."""
    hints = typing.get_type_hints(type(group))
    for field in dataclasses.fields(group):
        value, where = getattr(group, field.name), f"{path}.{field.name}".lstrip(".")
        if isinstance(value, ParamGroup):
            yield from settings_of(value, where)
        else:
            yield where, hints[field.name], value, field.metadata


SETTINGS = list(settings_of(LabParams()))
PATHS = [path for path, *_ in SETTINGS]


def nested(path, value):
    """{"a": {"b": value}} for "a.b"."""
    *groups, name = path.split(".")
    mapping = {name: value}
    for group in reversed(groups):
        mapping = {group: mapping}
    return mapping


def plain_type(hint):
    """int, float, bool or str: of the setting, or of each item of a list."""
    if isinstance(hint, types.UnionType):
        hint = typing.get_args(hint)[0]
    return typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else hint


def is_list(hint):
    if isinstance(hint, types.UnionType):
        hint = typing.get_args(hint)[0]
    return typing.get_origin(hint) is tuple


NUMBERS = [(p, h, v, m) for p, h, v, m in SETTINGS if plain_type(h) in (int, float)]


def refused(mapping, match):
    with pytest.raises(ParamError, match=match) as caught:
        LabParams.from_mapping(mapping, base=LabParams())
    assert "\n" not in str(caught.value)
    return caught.value


# -- every setting -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_every_setting_has_a_unit_a_meaning_a_source_and_a_range(path):
    hint, value, about = next((h, v, m) for p, h, v, m in SETTINGS if p == path)
    assert about["unit"]
    assert len(about["doc"]) > 5
    assert about["source"] in ("document", "measured")
    if plain_type(hint) in (int, float):
        assert max(about["low"], about["above"]) > -math.inf
        assert math.isfinite(about["high"])
    elif plain_type(hint) is str and not is_list(hint) and about["unit"] != "path":
        assert value in about["choices"]


@pytest.mark.parametrize(("path", "hint", "value", "about"), NUMBERS)
def test_a_number_outside_its_range_or_none_at_all_is_an_error(path, hint, value, about):
    def put(number):
        return nested(path, [number] if is_list(hint) else number)

    lowest = about["low"] if about["low"] > -math.inf else about["above"]
    for bad in (lowest - 1, about["high"] + 1, float("nan"), float("inf"), -float("inf")):
        error = refused(put(bad), "allowed: ")
        assert error.path.startswith(path)
    if about["above"] > -math.inf:
        refused(put(about["above"]), f"above {about['above']:g}")


@pytest.mark.parametrize(("path", "hint", "value", "about"), NUMBERS)
@pytest.mark.parametrize("bad", [True, False, "3", [[]], {"a": 1}, "many"])
def test_what_is_no_number_is_an_error(path, hint, value, about, bad):
    error = refused(
        nested(path, [bad] if is_list(hint) else bad), "allowed: a (whole )?number|allowed: a list"
    )
    assert error.path.startswith(path)


@pytest.mark.parametrize("path", [p for p, h, *_ in SETTINGS if h is bool])
@pytest.mark.parametrize("bad", [0, 1, "yes", None])
def test_a_switch_is_true_or_false(path, bad):
    assert refused(nested(path, bad), "allowed: true or false").path == path


@pytest.mark.parametrize("path", [p for p, h, *_ in SETTINGS if is_list(h)])
def test_a_list_is_a_list_and_only_that_of_further_verbs_may_be_empty(path):
    assert refused(nested(path, "abc"), "allowed: a list").path == path
    if path == "vocabulary.extra":
        assert LabParams.from_mapping(nested(path, []), base=by_hand()).vocabulary.extra == ()
    else:
        assert refused(nested(path, []), "got an empty list").path == path


@pytest.mark.parametrize("path", [p for p, h, *_ in SETTINGS if not isinstance(h, types.UnionType)])
def test_only_what_may_be_empty_can_be(path):
    refused(nested(path, None), "allowed: ")


# -- the mistakes of the issue, word for word ----------------------------------------------------


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"debt": {"treshold": 1}}, "debt.treshold: unknown key; did you mean 'threshold'?"),
        (
            {"budget": {"wells": -3}},
            "budget.wells: got -3; allowed: a finite number, at least 1 and at most 1000000",
        ),
        ({"budget": {"wells": 1.5}}, "budget.wells: got 1.5; allowed: a whole number"),
        ({"budget": {"wells": True}}, "budget.wells: got True; allowed: a whole number"),
        ({"debt": {"threshold": True}}, "debt.threshold: got True; allowed: a number"),
        ({"debt": {"threshold": "2"}}, "debt.threshold: got '2'; allowed: a number"),
        (
            {"debt": {"threshold": float("nan")}},
            "debt.threshold: got nan; allowed: a finite number, at least 0 and at most 1000",
        ),
        ({"debt": {"inflation": "cubic"}}, "debt.inflation: got 'cubic'; allowed: one of linear, two_tier"),
        ({"debt": 3}, "debt: got 3; allowed: a mapping of settings"),
        (
            {"plates": {"screen": {"doses": []}}},
            "plates.screen.doses: got an empty list; allowed: at least one value",
        ),
        (
            {"plates": {"dmso": {"replicates": 0}}},
            "plates.dmso.replicates: got 0; allowed: a finite number, at least 1 and at most 384",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_the_setting_and_what_is_allowed(mapping, message):
    with pytest.raises(ParamError) as caught:
        LabParams.from_mapping(mapping, base=LabParams())
    assert str(caught.value) == message


def test_a_key_like_no_other_lists_the_valid_ones():
    refused({"xyz": 1}, "xyz: unknown key; allowed: adequacy, assay, budget, debt")


@pytest.mark.parametrize("nonsense", [None, 3, "debt", [1]])
def test_what_is_no_mapping_is_an_error(nonsense):
    refused(nonsense, "allowed: a mapping of settings")


def test_a_key_that_is_no_text_is_an_error():
    refused({3: 4}, "3: unknown key")


def test_numbers_beyond_floating_point_are_errors():
    refused({"debt": {"threshold": 10**400}}, "debt.threshold")
    refused({"budget": {"wells": 10**400}}, "budget.wells")


def test_what_must_fit_together_does():
    refused({"assay": {"compounds": ["a", "a"]}}, "assay.compounds: .*distinct")
    refused({"assay": {"compounds": [""]}}, "assay.compounds: .*not empty names")
    refused({"assay": {"compounds": ["a", "\x1b[2J"]}}, "assay.compounds: .*x1b.*printable names")
    refused({"assay": {"compounds": [f"c{i}" for i in range(65)]}}, "at most 64")
    refused({"assay": {"prior": [0.5, 0.5]}}, "assay.prior: .*8 positive numbers that sum to 1")
    refused({"assay": {"prior": [0.2] * 8}}, "assay.prior: .*sum to 1")
    refused({"assay": {"bin_low": 1.3}}, "assay.bin_high: .*above bin_low")
    refused({"vocabulary": {"claims": [1.0, 0.5]}}, "vocabulary.claims: .*rising order")
    refused({"vocabulary": {"extra": ["baseline", "baseline"]}}, "vocabulary.extra: .*distinct")
    refused({"vocabulary": {"extra": ["screen"]}}, "vocabulary.extra: .*one of baseline")
    refused({"vocabulary": {"confidences": [0.5, 0.5]}}, "vocabulary.confidences: .*distinct")


@pytest.mark.parametrize(
    ("group", "mapping", "message"),
    [
        ("energy", {"prices": {"sreen": 4}}, "energy.prices.sreen: unknown key; did you mean 'screen'?"),
        (
            "energy",
            {"prices": {"rest": 1}},
            "energy.prices.rest: got a cost of 1; allowed: 0, for what must always be open",
        ),
        (
            "energy",
            {"ratings": {"propose": [1, 0, 0, 0, 0]}},
            "energy.ratings.propose: got a cost of 0.5; allowed: 0, for what must always be open",
        ),
        (
            "energy",
            {"prices": {"publish_public": 5.99}},
            "energy.prices.publish_public: got a cost of 5.99; allowed: at least its floor 6",
        ),
        (
            "energy",
            {"ratings": {"publish_private": [1, 1, 1, 1, 1]}},
            "energy.ratings.publish_private: got a cost of 2; allowed: at least its floor 3",
        ),
        (
            "energy",
            {"floor_public": 5.99},
            "energy.floor_public: got 5.99; allowed: a finite number, at least 6 and at most 1000",
        ),
        (
            "energy",
            {"floor_private": 2.99},
            "energy.floor_private: got 2.99; allowed: a finite number, at least 3 and at most 1000",
        ),
        (
            "energy",
            {"floor_public": 7.5},
            "energy.ratings.publish_public: got a cost of 7; allowed: at least its floor 7.5",
        ),
        (
            "energy",
            {"ceiling": 6.5},
            "energy.ratings.publish_public: got a cost of 7; allowed: at most the ceiling 6.5",
        ),
        (
            "energy",
            {"prices": {"dmso": 13.5}},
            "energy.prices.dmso: got a cost of 13.5; allowed: at most the ceiling 13",
        ),
        (
            "energy",
            {"cap": 19.4},
            "energy.cap: got 19.4; allowed: enough for a first use at the ceiling, 19.5",
        ),
        (
            "energy",
            {"first_use": 2.0},
            "energy.cap: got 20; allowed: enough for a first use at the ceiling, 26",
        ),
        ("energy", {"start": 20.5}, "energy.start: got 20.5; allowed: at most the cap 20"),
        (
            "energy",
            {"chat_only": ["publish_private", "publish_public", "dmso", "dmso"]},
            (
                "energy.chat_only: got ('publish_private', 'publish_public', 'dmso', 'dmso'); allowed: "
                "distinct verbs, with publish_private and publish_public"
            ),
        ),
        (
            "energy",
            {"chat_only": ["publish_public", "screen"]},
            (
                "energy.chat_only: got ('publish_public', 'screen'); allowed: "
                "distinct verbs, with publish_private and publish_public"
            ),
        ),
        *(
            (
                "energy",
                {"chat_only": ["publish_private", "publish_public", verb]},
                (
                    f"energy.chat_only: got {verb!r}; allowed: one of dmso, baseline, calibration, screen, "
                    "dose_response, publish_private, publish_public"
                ),
            )
            for verb in ("rest", "reflect", "propose", "terminate")
        ),
        (
            "energy",
            {"present_from": 24},
            "energy.present_until: got 24; allowed: another hour than present_from",
        ),
        *(
            (
                "proposals",
                {"mispriceable": ["screen", verb], "mispriced_most": 1},
                (
                    f"proposals.mispriceable: got {verb!r}; allowed: one of screen, dose_response, "
                    "publish_private, publish_public"
                ),
            )
            for verb in VERB_NAMES
            if verb not in ("screen", "dose_response", "publish_private", "publish_public")
        ),
        ("proposals", {"mispriced_most": 4}, "proposals.mispriced_most: got 4; allowed: 0 to 3"),
        ("proposals", {"share_low": 0.95}, "proposals.share_low: got 0.95; allowed: at most share_high 0.9"),
        (
            "proposals",
            {"mispriced_low": 3.0},
            "proposals.mispriced_low: got 3; allowed: at most mispriced_high 2.5",
        ),
        ("proposals", {"mispriced_least": 4}, "proposals.mispriced_least: got 4; allowed: 0 to 3"),
        ("proposals", {"mispriceable": ["screen"]}, "proposals.mispriced_most: got 3; allowed: 0 to 1"),
        (
            "proposals",
            {"mispriceable": ["screen", "screen"]},
            "proposals.mispriceable: got ('screen', 'screen'); allowed: distinct verbs",
        ),
        (
            "proposals",
            {"enabled": True},
            "proposals.enabled: got true; allowed: only where energy.enabled is true",
        ),
        ("gate", {"rough": 0.9}, "gate.rough: got 0.9; allowed: at most good 0.75"),
        ("gate", {"good": 0.96}, "gate.good: got 0.96; allowed: at most precise 0.95"),
        ("gate", {"plain_from": 0.91}, "gate.plain_from: got 0.91; allowed: at most definitive_from 0.9"),
    ],
)
def test_settings_that_do_not_fit_together_are_named_in_one_line(group, mapping, message):
    with pytest.raises(ParamError) as caught:
        LabParams.from_mapping({group: mapping}, base=LabParams())
    assert str(caught.value) == message


def test_a_verb_that_there_is_not_is_an_error_that_lists_the_verbs():
    for path, verbs in (
        (
            "energy.chat_only",
            "dmso, baseline, calibration, screen, dose_response, publish_private, publish_public",
        ),
        ("proposals.mispriceable", "screen, dose_response, publish_private, publish_public"),
    ):
        error = refused(nested(path, ["sing"]), f"got 'sing'; allowed: one of {verbs}$")
        assert error.path == path


@pytest.mark.parametrize("verb", VERB_NAMES)
def test_every_verb_has_five_ratings_and_may_have_a_price(verb):
    refused({"energy": {"ratings": {verb: [0.0] * 4}}}, f"energy.ratings.{verb}: .*five ratings")
    refused({"energy": {"ratings": {verb: [0.0] * 6}}}, f"energy.ratings.{verb}: .*five ratings")
    refused({"energy": {"prices": {verb: 14.0}}}, f"energy.prices.{verb}: got a cost of 14; allowed: ")
    energy = LabParams().energy
    same = LabParams.from_mapping(
        {"energy": {"prices": {verb: energy.base_cost(verb)}}}, base=LabParams()
    ).energy
    assert same.base_cost(verb) == energy.base_cost(verb)


def test_what_fits_just_so_is_allowed():
    for mapping in (
        {"energy": {"cap": 19.5, "start": 19.5}},
        {"energy": {"prices": {"publish_public": 6.0, "publish_private": 3.0, "dmso": 13.0}}},
        {"energy": {"ceiling": 7.0}},
        {"energy": {"floor_public": 6.0, "floor_private": 3.0}},
        {"energy": {"present_from": 24, "present_until": 0}},
        {"energy": {"present_from": 22, "present_until": 21}},
        {"energy": {"chat_only": ["publish_public", "publish_private"]}},
        {
            "energy": {
                "chat_only": [
                    *("dmso", "baseline", "calibration", "screen", "dose_response"),
                    *("publish_private", "publish_public"),
                ]
            }
        },
        {"proposals": {"share_high": 0.99}},
        {"energy": {"prices": {"dmso": 0.0}}},
        {"proposals": {"share_low": 0.9, "mispriced_low": 2.5, "mispriced_most": 3, "mispriced_least": 3}},
    ):
        assert LabParams.from_mapping(mapping, base=LabParams())


def test_the_environment_says_it_too():
    with pytest.raises(ParamError, match=r"debt\.threshold: got nan"):
        LabEnv({"debt": {"threshold": float("nan")}})
    with pytest.raises(ParamError, match="unknown preset 'sauce'; did you mean 'source'"):
        preset("sauce")


@pytest.mark.parametrize(
    "make",
    [
        lambda: DebtParams(threshold="2"),
        lambda: DebtParams(threshold=True),
        lambda: DebtParams(threshold=float("nan")),
        lambda: DebtParams(enforced=1),
        lambda: BudgetParams(wells=100.5),
        lambda: BudgetParams(wells=-1),
        lambda: DoseTemplate(doses=()),
        lambda: LabParams(debt={"threshold": 1.0}),
        lambda: PlateParams(dmso=DoseTemplate()),
    ],
)
def test_built_in_python_they_are_checked_as_well(make):
    with pytest.raises(ParamError, match=r"got .*; allowed: |empty list"):
        make()


def test_an_error_survives_a_process_pool():
    error = refused({"debt": {"treshold": 1}}, "treshold")
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.path, twin.problem) == (str(error), error.path, error.problem)


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_goes_through_a_mapping_and_through_yaml_unchanged(name):
    params = preset(name)
    assert LabParams.from_mapping(params.to_mapping(), base=LabParams()) == params
    assert LabParams.from_mapping(params.to_mapping()) == params
    assert LabParams.from_mapping(yaml.safe_load(yaml.safe_dump(params.to_mapping()))) == params


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "debt": st.fixed_dictionaries(
                {"interest_cap": st.just(1000.0)},  # at least any threshold
                optional={
                    "threshold": st.floats(0, 1000),
                    "enforced": st.booleans(),
                    "calibration_cap": st.none() | st.floats(1, 1000),
                    "inflation": st.sampled_from(["linear", "two_tier"]),
                },
            ),
            "budget": st.fixed_dictionaries({"wells": st.integers(1, 10**6)}),
            "vocabulary": st.fixed_dictionaries(
                {"claims": st.sets(st.floats(0, 16), min_size=1, max_size=5).map(sorted)}
            ),
        },
    )
)
def test_any_valid_differences_survive_the_round_trip_and_touch_nothing_else(mapping):
    params = LabParams.from_mapping(mapping, base=LabParams())
    assert LabParams.from_mapping(params.to_mapping()) == params
    for group in ("assay", "plates", "publishing"):
        assert getattr(params, group) == getattr(LabParams(), group)
    for group, changes in mapping.items():
        for name, value in changes.items():
            found = getattr(getattr(params, group), name)
            assert found == (tuple(value) if isinstance(value, list) else value)


def test_a_mapping_is_of_plain_lists_and_values():
    def check(value):
        if isinstance(value, dict):
            return all(type(key) is str and check(item) for key, item in value.items())
        if isinstance(value, list):
            return all(check(item) for item in value)
        return value is None or type(value) in (int, float, bool, str)

    assert check(LabParams().to_mapping())


def test_parameters_are_frozen_hashable_and_equal_by_value():
    assert hash(LabParams()) == hash(LabParams())
    assert LabParams() == LabParams()
    with pytest.raises(dataclasses.FrozenInstanceError):
        LabParams().debt.threshold = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        LabParams().debt = DebtParams()
    with pytest.raises(TypeError):
        PRESETS["default"] = LabParams()


def test_a_list_given_in_python_is_frozen_too():
    assay = AssayParams(compounds=["a", "b"], gains=[1])
    assert assay.compounds == ("a", "b")
    assert assay.gains == (1.0,)
    assert hash(assay) == hash(AssayParams(compounds=("a", "b"), gains=(1.0,)))


def test_whole_numbers_may_be_written_with_a_point_and_reals_without():
    params = LabParams.from_mapping({"budget": {"wells": 96.0}, "debt": {"threshold": 1}}, base=LabParams())
    assert type(params.budget.wells) is int
    assert type(params.debt.threshold) is float


def test_differences_are_from_the_preset():
    env = LabEnv({"debt": {"threshold": 1.0}}, preset="source")
    assert env.params.debt.threshold == 1.0
    assert env.params.debt.reserve is False
    assert LabEnv(preset("two_tier")).params == preset("two_tier")


# -- the numbers of the document and of the world ------------------------------------------------


def test_the_documents_numbers_are_the_defaults():
    params = LabParams()
    assert (params.debt.sensitivity, params.debt.threshold) == (0.15, 2.0)
    assert params.debt.decay_per_heartbeat == 0.0
    assert params.debt.carry_debt is False
    assert params.budget.wells == 384
    assert params.plates.baseline.wells == 12
    assert params.plates.dose_response.wells == 48


def test_the_documents_multipliers_and_floors_are_the_defaults():
    energy = LabParams().energy
    assert (energy.first_use, energy.error_rate, energy.late_social, energy.similar) == (1.5, 1.5, 2.0, 1.2)
    assert (energy.floor_public, energy.floor_private) == (6.0, 3.0)
    assert energy.chat_only == ("publish_private", "publish_public")
    assert (energy.late_from, energy.late_until) == (22, 7)
    assert (energy.present_from, energy.present_until) == (8, 24)
    assert preset("energy").budget.start_hour == 6


def test_slots_and_steps_are_those_of_the_level():
    level, debt = preset("energy"), LabParams()
    assert (level.slots, level.most_steps) == (6, 6 * level.budget.heartbeats)
    assert (debt.slots, debt.most_steps) == (1, 40)


def test_the_energy_level_is_the_lab_with_energy_and_a_voice():
    level, default = preset("energy"), LabParams()
    assert level.energy == dataclasses.replace(default.energy, enabled=True, error_rate=1.0, similar=1.0)
    assert level.proposals == dataclasses.replace(default.proposals, enabled=True)
    for group in ("assay", "plates", "vocabulary", "debt", "publishing", "observation"):
        assert getattr(level, group) == getattr(default, group)


def test_presets_differ_from_the_default_where_they_say_and_nowhere_else():
    default, hand = LabParams(), by_hand()
    document = dataclasses.replace(hand.debt, calibration_cap=None, reserve=False)
    assert preset("default") == default
    assert preset("source") == dataclasses.replace(hand, debt=document)
    assert preset("two_tier") == dataclasses.replace(default, debt=DebtParams(inflation="two_tier"))


@pytest.mark.parametrize("level", ["default", "energy", "gate", "lab", "tiny", "two_tier"])
def test_levels_leave_optional_rules_out(level):
    params = preset(level)
    assert params.vocabulary.extra == ()
    assert not params.gate.governance
    assert not params.gate.numbers


def test_what_is_derived_follows_what_it_is_derived_from():
    changed = LabParams.from_mapping(
        {
            "assay": {"compounds": ["a", "b"], "gains": [1.0, 2.0]},
            "plates": {"screen": {"doses": [1e-7, 1e-6, 1e-5], "replicates": 2}},
        },
        base=LabParams(),
    )
    assert changed.ceiling == 6.0
    assert changed.assay.instrument_states == 6
    assert changed.plates.screen.wells == 6
    env = LabEnv(changed)
    assert (env.actions["verb"] == Verb.SCREEN).sum() == 2 * 8


def test_every_setting_is_used_where_the_lab_is_built():
    """A setting that nothing reads is a promise broken: its name occurs outside of params.py."""
    sources = [p for p in (ROOT / "envs" / "solvent").rglob("*.py") if p.name != "params.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    derived = {"replicates", "doses", "readouts", "potency_classes", "prior"}
    # Read by name, of a verb: EnergyParams.base_cost and .floor.
    derived |= {"floor_public", "floor_private", *VERB_NAMES}
    unread = [
        path for path in PATHS if path.split(".")[-1] not in derived and f".{path.split('.')[-1]}" not in text
    ]
    assert not unread


# -- the page ------------------------------------------------------------------------------------


def test_the_page_of_settings_is_what_its_command_writes():
    program = [sys.executable, "-W", "error", str(ROOT / "docs" / "parameters.py")]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert page == done.stdout, "renew it: python docs/parameters.py > docs/parameters.md"
    assert sum(line.startswith("| `") for line in page.splitlines()) == len(SETTINGS)
