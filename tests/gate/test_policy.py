"""The policy layer: plain numbers in, a verdict out; saved as data and refused where it doesn't belong."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.gate import (
    FIXED,
    GateError,
    Policy,
    apply_adaptive_policy_gap,
    load_policies,
    measurement,
    save_policies,
)
from solvent.gate.failures import failure_modes
from solvent.gate.policy import DECIMALS, SEVERITY, review_limit, rounded, severest
from solvent.gate.policy_files import Item, load_checklist

NUMBERS = st.floats(-2.0, 2.0)
P10 = Policy.learnt("P10", 0.4559, domain="wikipedia", model="all-MiniLM-L6-v2", calibration_count=100)

ITEMS = (
    Item("stability", False, "variance 0.0890", "below 0.05", ""),
    Item("monotonicity", True, "", "", ""),
)


def source_rule(energy_gap, tau_accept):
    if energy_gap <= tau_accept:
        return "accept"
    return "review" if energy_gap <= tau_accept * 1.25 else "reject"


def test_the_decimals_are_those_of_the_measurement():
    assert DECIMALS == measurement.ENERGY_DECIMALS


@pytest.mark.parametrize(
    ("gap", "tau", "verdict"),
    [
        (0.4559, 0.4559, "accept"),
        (0.48, 0.4559, "review"),
        (0.569875, 0.4559, "review"),
        (0.569877, 0.4559, "reject"),
        (0.15, 0.12, "review"),  # in floats 1.25 * 0.12 is 0.15 or just below: not to be left to chance
        (0.0, 0.0, "accept"),
        (0.000001, 0.0, "reject"),
        (-0.2, -0.2, "accept"),
        (-0.16, -0.2, "review"),
        (-0.15, -0.2, "review"),
        (-0.149, -0.2, "reject"),
    ],
)
def test_the_rule(gap, tau, verdict):
    assert apply_adaptive_policy_gap(gap, tau) == verdict


@given(tau=st.floats(0.0, 2.0, allow_subnormal=False))
def test_the_band_ends_where_the_source_ends_it(tau):
    assert review_limit(tau) == 1.25 * tau


@given(tau=st.floats(0.0, 2.0), gap=NUMBERS)
def test_the_source_s_verdict_but_within_half_a_millionth(tau, gap):
    ours, source = apply_adaptive_policy_gap(gap, tau), source_rule(gap, tau)
    near = min(abs(gap - tau), abs(gap - 1.25 * tau)) <= 1e-6
    assert ours == source or (near and SEVERITY[ours] < SEVERITY[source])


@given(tau=NUMBERS)
def test_the_band_is_a_band_for_every_sign(tau):
    assert review_limit(tau) >= tau
    if abs(tau) > 1e-5:
        assert apply_adaptive_policy_gap(tau + 0.2 * abs(tau), tau) == "review"


@given(a=NUMBERS, b=NUMBERS, tau=NUMBERS)
def test_monotone_in_the_gap(a, b, tau):
    low, high = sorted((a, b))
    assert SEVERITY[apply_adaptive_policy_gap(low, tau)] <= SEVERITY[apply_adaptive_policy_gap(high, tau)]


@given(gap=NUMBERS, a=NUMBERS, b=NUMBERS)
def test_monotone_in_the_threshold(gap, a, b):
    strict, loose = sorted((a, b))
    assert SEVERITY[apply_adaptive_policy_gap(gap, loose)] <= SEVERITY[apply_adaptive_policy_gap(gap, strict)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, "0.1", b"0", True, [], 10**400])
def test_what_is_no_finite_number_is_rejected(bad):
    assert apply_adaptive_policy_gap(bad, 0.5) == "reject"
    assert apply_adaptive_policy_gap(0.1, bad) == "reject"
    assert P10.decide(bad) == "reject"


def test_values_are_rounded_before_they_are_compared():
    assert apply_adaptive_policy_gap(0.4559 + 1.4e-7, 0.4559) == "accept"
    assert apply_adaptive_policy_gap(0.4559, 0.4559 + 1.4e-7) == "accept"
    assert math.copysign(1.0, rounded(-1e-9)) == 1.0


def test_the_fixed_policies_take_turns():
    strict, standard, editorial = (FIXED[name] for name in ("strict", "standard", "editorial"))
    assert strict.tau_accept == 0.30
    assert strict.tau_review <= standard.tau_accept < standard.tau_review <= editorial.tau_accept
    assert [policy.strict for policy in (strict, standard, editorial)] == [True, False, False]
    assert strict.name == "fixed.strict.v1"


@given(gap=NUMBERS)
def test_a_learnt_policy_is_the_rule(gap):
    assert P10.decide(gap) == apply_adaptive_policy_gap(gap, 0.4559)


def test_severest():
    assert severest("accept", "review") == "review"
    assert severest() == "accept"
    with pytest.raises(GateError, match="verdict"):
        severest("fine")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "P10"),
        ("name", "adaptive.P10"),
        ("name", "adaptive.P10.v0"),
        ("name", "fixed.P10.v1"),
        ("name", "adaptive.P10.v1\n"),
        ("kind", "oracle"),
        ("kind", "guess"),
        ("tau_accept", math.nan),
        ("tau_accept", True),
        ("tau_accept", "0.4"),
        ("tau_review", 0.1),
        ("tau_review", math.inf),
        ("measure", "confidence"),
        ("domain", " "),
        ("domain", "any"),
        ("domain", 3),
        ("model", ""),
        ("model_fingerprint", "abc"),
        ("calibration_sha256", "G" * 64),
        ("oracle", "last"),
        ("top_k", 0),
        ("top_k", 1.0),
        ("rank_r", -1),
        ("calibration_count", True),
        ("strict", 1),
    ],
)
def test_a_wrong_field_is_one_clear_line(field, value):
    with pytest.raises(GateError) as caught:
        dataclasses.replace(P10, **{field: value})
    assert "\n" not in str(caught.value)
    assert "allowed" in str(caught.value)


# ------------------------------------------------------------------------------------- where it is used


def test_a_policy_refuses_what_it_was_not_learnt_on():
    policy = dataclasses.replace(P10, model_fingerprint="a" * 64)
    for use in ({"domain": "medicine"}, {"model": "other"}, {"top_k": 5}, {"rank_r": 3}):
        right = {"domain": "wikipedia", "model": "all-MiniLM-L6-v2"} | use
        with pytest.raises(GateError, match="calibrated"):
            policy.usable(**right)
        (reason,) = policy.usable(**right, override=True)
        assert "override" in reason
    for model in ("all-MiniLM-L6-v2", "a" * 64):
        assert policy.usable(domain="wikipedia", model=model, top_k=12, rank_r=8) == ()
    no_domain, no_model = policy.usable()
    assert "named no domain" in no_domain
    assert "named no model" in no_model
    assert policy.usable(domain="wikipedia") == (no_model,)
    assert policy.usable(model="a" * 64) == (no_domain,)
    assert FIXED["strict"].usable() == ()
    assert FIXED["strict"].usable(domain="medicine", model="other", top_k=3) == ()


# ------------------------------------------------------------------------------------------- as data

POLICIES = st.builds(
    Policy.learnt,
    st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True),
    NUMBERS,
    domain=st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=30).filter(
        lambda text: text != "any"
    ),
    model=st.just("all-MiniLM-L6-v2"),
    calibration_count=st.integers(0, 10**9),
    version=st.integers(1, 99),
    strict=st.booleans(),
)


@given(policies=st.lists(POLICIES, min_size=1, max_size=5, unique_by=lambda policy: policy.name))
def test_round_trip(policies, tmp_path_factory):
    path = tmp_path_factory.mktemp("policies") / "policies.json"
    save_policies(path, policies, ITEMS)
    assert list(load_policies(path).values()) == policies
    assert [entry.name for entry in path.parent.iterdir()] == ["policies.json"]


def test_a_tampered_file_is_refused(tmp_path):
    path = tmp_path / "policies.json"
    save_policies(path, [P10, FIXED["strict"]], ITEMS)
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ("0.4559", "0.9"),
        ("wikipedia", "medicine"),
        ('"strict": true', '"strict": false'),
        ("policies.v2", "policies.v9"),
        ('"calibration_count": 100', '"calibration_count": 1000'),
    ):
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(GateError, match=r"policies\.json"):
            load_policies(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"{",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b"1" * 10_000,
        b'{"format": "solvent.gate.policies.v2", "policies": {}, "sha256": ""}',
        b'{"format": [], "policies": [], "sha256": {}}',
    ],
)
def test_a_broken_file_is_one_clear_line(content, tmp_path):
    path = tmp_path / "policies.json"
    path.write_bytes(content)
    with pytest.raises(GateError) as caught:
        load_policies(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(GateError, match="not read"):
        load_policies(tmp_path / "none.json")
    with pytest.raises(GateError, match="not written"):
        save_policies(tmp_path / "none" / "policies.json", [P10], ITEMS)
    with pytest.raises(GateError, match="twice"):
        save_policies(tmp_path / "policies.json", [P10, P10], ITEMS)
    with pytest.raises(GateError, match="none"):
        save_policies(tmp_path / "policies.json", [], ITEMS)


def test_policies_are_written_only_with_their_checklist(tmp_path):
    path = tmp_path / "policies.json"
    with pytest.raises(GateError, match="checklist: got no item"):
        save_policies(path, [P10], ())
    save_policies(path, [P10], ITEMS)
    assert load_checklist(path) == ITEMS
    path.write_text(path.read_text().replace('"passed": false', '"passed": true'))
    with pytest.raises(GateError, match="changed since it was written"):
        load_checklist(path)


@pytest.mark.parametrize("fields", [3, {}, {"name": "x"}, P10.to_dict() | {"extra": 1}, {1: 2}])
def test_fields_must_be_exact(fields):
    with pytest.raises(GateError, match="policy"):
        Policy.from_dict(fields)


def test_a_right_hash_does_not_excuse_a_wrong_policy(tmp_path):
    from solvent.gate.policy_files import _digest

    entries = [P10.to_dict() | {"tau_review": -1.0}]
    document = {
        "format": "solvent.gate.policies.v2",
        "checklist": [],
        "policies": entries,
        "sha256": _digest([[], entries]),
    }
    path = tmp_path / "policies.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(GateError, match="tau_review"):
        load_policies(path)


# -------------------------------------------------------------------------------------- failure modes


def names_of(
    *, energy=0.2, measured=0.2, oracle_energy=0.0, identity_error=0.0, best_cosine=0.0, strict=False
):
    claim = measurement.EnergyResult(energy, 1.0 - energy, identity_error, 1, (1.0,), (best_cosine,), (0,), 1)
    result = measurement.GapResult(claim, oracle_energy, energy - oracle_energy, 0, False, False)
    decided = apply_adaptive_policy_gap(measured, 0.3)
    modes = failure_modes(result, measured, 0.3, decided, strict=strict)
    return [(mode.name, mode.response) for mode in modes]


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ({}, []),
        ({"measured": 0.9}, [("semantic_overreach", "reject")]),
        ({"measured": 0.35}, [("semantic_overreach", "review")]),
        ({"oracle_energy": 0.01}, []),
        ({"oracle_energy": 0.011}, [("evidence_exhaustion", "flag")]),
        ({"identity_error": 0.01}, []),
        ({"identity_error": 0.011}, [("embedding_collapse", "fallback")]),
        ({"identity_error": math.nan}, [("embedding_collapse", "fallback")]),
        ({"energy": 0.0, "best_cosine": 1.0, "strict": True}, [("provenance_failure", "reject")]),
        ({"energy": 0.0, "best_cosine": 1.0}, []),  # no strict policy
        ({"energy": 0.005, "best_cosine": 0.95, "strict": True}, []),  # low, and no copy
        ({"energy": 0.2, "best_cosine": 0.89, "strict": True}, []),  # an ordinary good claim
        (
            {"energy": 0.005, "best_cosine": 0.95, "oracle_energy": 0.05, "strict": True},
            [("provenance_failure", "reject"), ("evidence_exhaustion", "flag")],
        ),
    ],
)
def test_the_table_of_failure_modes(signals, expected):
    assert names_of(**signals) == expected
