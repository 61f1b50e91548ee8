"""The whole gate: the source's call and dictionary, bad data that is never accepted, misuse that is an error."""

from __future__ import annotations

import dataclasses
import json
import math
import time
import unicodedata
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from solvent.gate import FIXED, Context, GateError, Policy, evaluate_claim, evaluate_text, measurement
from solvent.gate.calibration import oracle_policy
from solvent.gate.errors import ModelMissingError
from solvent.gate.legibility import illegible
from solvent.gate.measurement import Oracle
from solvent.gate.policy import SEVERITY
from tests.commands import execute_python

Floats = NDArray[np.float64]
KEYS = [
    "verdict",
    "hallucination_energy",
    "energy_gap",
    "policy_applied",
    "reasons",
    "checks",
    "failure_modes",
]
LAB = Policy.learnt("P10", 0.4559, domain="lab", model="words", model_fingerprint="0" * 64)


def unit(rows):
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def example(seed=0, spans=5, near=1.0, width=24):
    """A claim and its spans; the larger ``near``, the better they explain it."""
    rng = np.random.default_rng(seed)
    evidence = unit(rng.normal(size=(spans, width)))
    claim = unit(near * rng.normal(size=spans) @ evidence + rng.normal(size=width))
    return claim, evidence


CLAIM, EVIDENCE = example(near=3.0)


# ----------------------------------------------------------------------------------------- the dictionary


def test_the_source_s_call():
    result = evaluate_claim(CLAIM, EVIDENCE, regime="adaptive", energy_gap=0.48, tau_accept=0.4559)
    assert list(result) == KEYS
    assert result["verdict"] == "review"
    assert result["energy_gap"] == 0.48
    assert result["policy_applied"] == "adaptive(tau=0.4559)"
    assert 0.0 < result["hallucination_energy"] < 1.0
    assert "review band" in result["reasons"][0]
    assert "was given" in " ".join(result["reasons"])
    assert [mode["name"] for mode in result["failure_modes"]] == ["semantic_overreach"]


def test_every_result_is_json():
    for tau in (0.0, 0.5, math.nan):
        result = evaluate_claim(CLAIM, EVIDENCE, tau_accept=tau)
        assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_regimes():
    energy = measurement.hallucination_energy(CLAIM, EVIDENCE).energy
    fixed = evaluate_claim(CLAIM, EVIDENCE, FIXED["editorial"])
    assert fixed["policy_applied"] == "fixed.editorial.v1"
    assert fixed["verdict"] == FIXED["editorial"].decide(energy)
    assert evaluate_claim(CLAIM, EVIDENCE, "fixed")["policy_applied"] == "fixed.strict.v1"
    custom = evaluate_claim(CLAIM, EVIDENCE, "fixed", tau_accept=energy)
    assert (custom["verdict"], custom["policy_applied"]) == ("accept", f"fixed(tau={round(energy, 6):g})")
    adaptive = evaluate_claim(CLAIM, EVIDENCE, LAB, context=Context(domain="lab"))
    assert (adaptive["policy_applied"], adaptive["energy_gap"]) == ("adaptive.P10.v1", round(energy, 6))
    oracle = oracle_policy([0.0, 0.1, 0.2], domain="lab", model="m")
    assert evaluate_claim(CLAIM, EVIDENCE, oracle, context=Context(domain="lab"))["verdict"] == oracle.decide(
        energy
    )


def test_the_oracle_is_the_callers_choice():
    """The source's oracle, the first span, can be had in every call; with a policy it is the policy's."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((13, 20))
    claim, *spans = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    gaps = {}
    for oracle in get_args(Oracle):
        context = Context(oracle=oracle)
        gaps[oracle] = evaluate_claim(claim, spans, tau_accept=0.5, context=context)["energy_gap"]
        assert gaps[oracle] == round(measurement.oracle_gap(claim, spans, oracle=oracle).energy_gap, 6)
    assert len(set(gaps.values())) == 3
    first = dataclasses.replace(LAB, oracle="first")
    assert evaluate_claim(claim, spans, first)["energy_gap"] == gaps["first"]
    assert evaluate_claim(claim, spans, first, context=Context(oracle="first"))["energy_gap"] == gaps["first"]
    with pytest.raises(GateError, match=r"oracle: got medoid, adaptive\.P10\.v1 has first"):
        evaluate_claim(claim, spans, first, context=Context(oracle="medoid"))
    with pytest.raises(GateError, match="oracle: got 'last'; allowed: medoid, first, none"):
        Context(oracle="last")  # type: ignore[arg-type]


def test_a_policy_is_not_used_elsewhere_in_silence():
    uses: list[dict[str, Any]] = [{"domain": "medicine"}, {"model": "other"}, {"top_k": 3}, {"rank_r": 3}]
    for use in uses:
        with pytest.raises(GateError, match="calibrated"):
            evaluate_claim(CLAIM, EVIDENCE, LAB, context=Context(**use))
        result = evaluate_claim(CLAIM, EVIDENCE, LAB, context=Context(override=True, **use))
        assert any("override" in reason for reason in result["reasons"])
    nowhere = evaluate_claim(CLAIM, EVIDENCE, LAB)["reasons"]
    assert [reason for reason in nowhere if "named no" in reason] == [
        "policy adaptive.P10.v1 was learnt on 'lab'; the caller named no domain",
        "policy adaptive.P10.v1 was learnt with 'words'; the caller named no model",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"regime": "lenient"},
        {"regime": None},
        {"regime": "oracle"},
        {"regime": "oracle", "tau_accept": 0.5},
        {"regime": "strict"},
        {"regime": 3},
        {"regime": LAB, "tau_accept": 0.5},
        {"regime": LAB, "domain": "medicine"},
        {"tau_accept": "0.5"},
        {"tau_accept": True},
        {"tau_accept": 0.5, "top_k": "12"},
        {"tau_accept": 0.5, "rank_r": 2.5},
        {"tau_accept": 0.5, "claim_text": "alone"},
        {"tau_accept": 0.5, "evidence_texts": ["alone"]},
    ],
)
def test_misuse_is_one_clear_line(arguments):
    given = {name: value for name, value in arguments.items() if name in ("regime", "tau_accept")}
    with pytest.raises(GateError) as caught:
        evaluate_claim(
            CLAIM,
            EVIDENCE,
            **given,
            context=Context(**{k: v for k, v in arguments.items() if k not in given}),
        )
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------------------ same verdicts


def test_a_hundred_runs_are_one():
    for seed in range(5):
        claim, evidence = example(seed, spans=20, near=2.0)
        texts = [f"span {i} of 20" for i in range(20)]
        runs = {
            json.dumps(
                evaluate_claim(
                    claim.copy(),
                    evidence.copy(),
                    tau_accept=0.4,
                    context=Context("span 3 of 21", texts),
                )
            )
            for _ in range(100)
        }
        assert len(runs) == 1


@given(seed=st.integers(0, 10**6), spans=st.integers(2, 20), tau=st.floats(0.0, 1.0))
def test_the_order_of_spans_does_not_matter(seed, spans, tau):
    claim, evidence = example(seed, spans, near=2.0)
    turned = evidence[np.random.default_rng(seed).permutation(spans)]
    assert evaluate_claim(claim, evidence, tau_accept=tau) == evaluate_claim(claim, turned, tau_accept=tau)


@given(seed=st.integers(0, 10**6), near=st.floats(0.0, 5.0), a=st.floats(-1, 1), b=st.floats(-1, 1))
def test_a_larger_threshold_is_never_more_severe(seed, near, a, b):
    claim, evidence = example(seed, near=near)
    strict, loose = (evaluate_claim(claim, evidence, tau_accept=tau)["verdict"] for tau in sorted((a, b)))
    assert SEVERITY[loose] <= SEVERITY[strict]


# ----------------------------------------------------------------------------------- checks and failures


def test_checks_only_downgrade():
    spans = ["the lamp burned in 1990"] * 5

    def judged(tau, claim):
        return evaluate_claim(CLAIM, EVIDENCE, tau_accept=tau, context=Context(claim, spans))

    plain = evaluate_claim(CLAIM, EVIDENCE, tau_accept=0.9)
    same = judged(0.9, "the lamp burned in 1990")
    assert plain["verdict"] == same["verdict"] == "accept"
    assert plain["checks"] == []
    assert [check["fired"] for check in same["checks"]] == [False] * 4
    year = judged(0.9, "the lamp burned in 1991")
    assert year["verdict"] == "review"
    assert any("1991" in reason for reason in year["reasons"])
    quote = 'he said "the lamp burned like a star"'
    assert judged(0.9, quote)["verdict"] == "reject"
    far = judged(-0.5, "the lamp burned in 1990")
    assert far["verdict"] == "reject"


def test_the_negation_check_looks_at_the_nearest_span():
    evidence = unit(np.eye(3))
    claim = unit(np.array([1.0, 0.2, 0.1]))
    texts = ["the lamp never burned bright", "the lamp burned bright", "the lamp burned bright"]
    for order, fired in (([0, 1, 2], True), ([1, 0, 2], False)):
        result = evaluate_claim(
            claim,
            evidence,
            tau_accept=0.5,
            context=Context("the lamp burned bright", [texts[i] for i in order]),
        )
        assert result["checks"][1]["fired"] == fired


def test_citation_laundering():
    copied = evaluate_claim(EVIDENCE[2], EVIDENCE, FIXED["strict"])
    assert copied["verdict"] == "reject"
    assert [mode["name"] for mode in copied["failure_modes"]] == ["provenance_failure"]
    assert evaluate_claim(EVIDENCE[2], EVIDENCE, FIXED["standard"])["verdict"] == "accept"
    ordinary, spans = example(1, near=5.0)
    good = evaluate_claim(ordinary, spans, FIXED["strict"])
    assert 0.01 < good["hallucination_energy"] < 0.3
    assert good["verdict"] == "accept"


def test_exhausted_evidence_is_flagged_and_no_more():
    claim, evidence = example(2, spans=20, near=3.0)
    result = evaluate_claim(claim, evidence, tau_accept=0.9)
    assert [(mode["name"], mode["response"]) for mode in result["failure_modes"]] == [
        ("evidence_exhaustion", "flag")
    ]
    assert result["verdict"] == "accept"


def test_a_collapsed_embedding_falls_back_to_the_fixed_threshold():
    claim, evidence = example(4, near=0.8)
    collapsed = claim * 1.02
    energy = measurement.hallucination_energy(collapsed, evidence).energy
    assert energy > FIXED["strict"].tau_review
    result = evaluate_claim(collapsed, evidence, tau_accept=1.0)
    assert "embedding_collapse" in [mode["name"] for mode in result["failure_modes"]]
    assert result["policy_applied"] == "fixed.strict.v1"
    assert result["verdict"] == "reject"
    near = evaluate_claim(CLAIM * 1.02, EVIDENCE, tau_accept=-0.5)
    assert near["verdict"] == "reject"  # and the fall-back opens no door that was shut


# ------------------------------------------------------------------------------------------------ bad data


class Hostile:
    """What is read as an array and objects."""

    def __array__(self, *_, **__):
        raise RuntimeError("no")

    def __float__(self):
        raise ZeroDivisionError


BAD: list[Any] = [
    None,
    "",
    "text",
    b"bytes",
    3,
    3.5,
    math.nan,
    [],
    [[]],
    [[], []],
    {},
    {"a": 1},
    [None],
    ["a"],
    [[1.0], [1.0, 2.0]],
    [[1.0, 0.0], "x"],
    object(),
    Hostile(),
    [Hostile()],
    np.array(["a", "b"]),
    np.array([1 + 2j]),
    np.array([True, False]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.full(24, np.nan),
    np.full(24, np.inf),
    np.zeros(24),
    np.full(24, 1e308),
    np.full((5, 24), np.nan),
    np.zeros((5, 24)),
    np.ones((2, 2, 2)),
    EVIDENCE * 2.0,
    CLAIM * 0.5,
    CLAIM[:7],
    EVIDENCE[:, :7],
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_bad_vectors_never_crash_and_are_never_accepted(bad):
    for result in (
        evaluate_claim(bad, EVIDENCE, tau_accept=5.0),
        evaluate_claim(CLAIM, bad, tau_accept=5.0),
        evaluate_claim(bad, bad, tau_accept=5.0, energy_gap=0.0),
        evaluate_claim(bad, bad, FIXED["editorial"]),
    ):
        assert result["verdict"] == "reject"
        assert result["hallucination_energy"] == result["energy_gap"] == 1.0
        assert result["reasons"][0].startswith("bad data: ")
        assert "\n" not in result["reasons"][0]


@pytest.mark.parametrize("place", [(0, 0), (3, 23)])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_one_bad_number_is_enough(place, value):
    evidence = EVIDENCE.copy()
    evidence[place] = value
    assert evaluate_claim(CLAIM, evidence, tau_accept=5.0)["verdict"] == "reject"


@pytest.mark.parametrize("gap", [math.nan, math.inf, -math.inf, "0.1", "", [], object(), Hostile(), True])
def test_a_gap_that_is_no_number_is_rejected(gap):
    result = evaluate_claim(CLAIM, EVIDENCE, tau_accept=5.0, energy_gap=gap)
    assert result["verdict"] == "reject"
    assert math.isfinite(result["energy_gap"])


@pytest.mark.parametrize("gap", [-1e9, -1.00001, 1.00001, 1e308])
def test_a_gap_lies_between_minus_1_and_1(gap):
    far, _ = example(5)
    result = evaluate_claim(far, EVIDENCE, tau_accept=5.0, energy_gap=gap)
    assert (result["verdict"], result["reasons"][0]) == (
        "reject",
        "bad data: the energy gap given is no number from -1 to 1",
    )
    assert (
        evaluate_claim(far, EVIDENCE, tau_accept=5.0, energy_gap=math.copysign(1.0, gap))["verdict"]
        == "accept"
    )


@pytest.mark.parametrize("tau", [math.nan, math.inf, -math.inf])
def test_a_threshold_that_is_not_finite_accepts_nothing(tau):
    assert evaluate_claim(CLAIM, EVIDENCE, tau_accept=tau)["verdict"] == "reject"


GOOD_TEXT = "the lamp burned in the old harbour"
BAD_TEXTS: list[Any] = [
    "",
    " \n\t",
    "...",
    "a\x00b",
    "\x1b[31mred",
    "the lamp \ud800",
    "the \u202elamp",
    "a" * 100_000,
    "the lamp " * 11_200,
    "\x00" * 100_000,
    None,
    3,
    b"the lamp",
    ["the lamp"],
    math.nan,
    "the la\u00admp",
    "the\u200blamp",
    "the lamp\u200e",
    "the lamp \U000e0069\U000e0067",
    "the lamp \ue000",
    "the lamp \u0378",
    "the \u3164lamp",
    "the la\rmp",
    "the lamp\x85",
    "the la" + "\u0301" * 5 + "mp",
    "the la" + "\u0301\u200d" * 300 + "mp",
]


@pytest.mark.parametrize("bad", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_bad_texts_never_crash_and_are_never_accepted(bad, words):
    policy = dataclasses.replace(LAB, tau_accept=5.0, tau_review=6.0)
    wordless = isinstance(bad, str) and not any(map(str.isalnum, bad)) and "\x00" not in bad
    beside = evaluate_text(GOOD_TEXT, [GOOD_TEXT, bad], words, policy, domain="lab")
    assert beside["verdict"] == ("accept" if wordless else "reject")
    results = [
        evaluate_text(bad, [GOOD_TEXT], words, policy, domain="lab"),
        evaluate_text(GOOD_TEXT, [bad], words, policy, domain="lab"),
        evaluate_text(GOOD_TEXT, bad if bad != ["the lamp"] else {}, words, policy, domain="lab"),
    ]
    if bad is not None:
        good = [GOOD_TEXT] * 5
        results += [
            evaluate_claim(CLAIM, EVIDENCE, tau_accept=5.0, context=Context(bad, good)),
            evaluate_claim(CLAIM, EVIDENCE, tau_accept=5.0, context=Context(GOOD_TEXT, [*good[1:], bad])),
        ]
    for result in results:
        assert result["verdict"] == "reject"
        json.dumps(result).encode("utf-8")


def test_a_cell_without_a_word_is_left_out(words):
    policy = dataclasses.replace(LAB, tau_accept=0.3, tau_review=0.375)
    alone = evaluate_text(GOOD_TEXT, [GOOD_TEXT], words, policy, domain="lab")
    beside = evaluate_text(GOOD_TEXT, ["-", GOOD_TEXT, "\u2014", ""], words, policy, domain="lab")
    assert beside["verdict"] == alone["verdict"] == "accept"
    assert beside["hallucination_energy"] == alone["hallucination_energy"]
    assert set(beside["reasons"]) - set(alone["reasons"]) == {"spans without a word: 3 left out"}
    nothing = evaluate_text(GOOD_TEXT, ["-", ""], words, policy, domain="lab")
    assert nothing["reasons"][0] == "bad data: there is no evidence"


SEEN = [
    "a dash \u2014 here",
    "two\r\nlines\tand\na tab",
    "\u0646\u0645\u06cc\u200c\u0634\u0648\u062f",
    "the \U0001f469\u200d\U0001f52c works \u2764\ufe0f",
    "a\u0323\u0302\u0301\u0300 vowel",
    "25 °C, 5 µM, \u03b1-helix, na\u00efve",
]


@pytest.mark.parametrize("text", SEEN)
def test_what_a_reader_sees_can_be_judged(text):
    assert illegible(text) == ""


def test_a_long_text_is_looked_through_in_no_time():
    for text in ("\u0301" * 10**6, "a\u0301" * 10**6, "\u0301\u200d" * 10**6, "ab " * 10**6):
        start = time.process_time()
        illegible(text, 10**7)
        assert time.process_time() - start < 15.0


# ------------------------------------------------------------------------------ what the model can't read

THAI = (
    "\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27",
    "\u0e40\u0e02\u0e32\u0e40\u0e01\u0e25\u0e35\u0e22\u0e14\u0e2a\u0e38\u0e19\u0e31\u0e02",
)
"""I love cats; they hate dogs."""

LENIENT = dataclasses.replace(FIXED["editorial"], name="fixed.any.v1", tau_accept=5.0, tau_review=6.0)


@pytest.mark.parametrize(
    ("claim", "span"),
    [
        THAI,
        (THAI[0], THAI[0]),
        ("\U00013000\U00013001\U00013002", "\U00013050\U00013051"),
        ("\U00012000\U00012001", "\U00012010"),
        ("a \U0001f600\U0001f600", "a \U0001f621\U0001f621"),
        (f"the mill was built by {THAI[0]} in the year of the flood", f"the mill was built by {THAI[1]}"),
        (
            "the oven was heated to 25 \u2103 over the night",
            "the oven was heated to 25 \u2109 over the night",
        ),
        ("[UNK] [UNK]", "[UNK]"),
        ("x" * 200, "y" * 200),
        ("\u4f60\u597d\u4e16\u754c", "\u4f60\u597d\u4e16\u754c"),
    ],
)
def test_what_the_model_does_not_know_is_never_accepted(embedder, claim, span):
    result = evaluate_text(claim, [span, "the mill was built in the year of the flood"], embedder, LENIENT)
    assert result["verdict"] == "reject"
    assert result["reasons"][0].startswith("bad data: claim: ")
    assert "does not know" in result["reasons"][0]
    assert (result["hallucination_energy"], result["energy_gap"]) == (1.0, 1.0)


def test_the_end_of_a_claim_is_read_or_it_is_bad_data(embedder):
    claim = "\u044f \u043b\u044e\u0431\u043b\u044e " * 60
    result = evaluate_text(claim, [claim], embedder, LENIENT)
    assert result["verdict"] == "reject"
    assert "longer than the model reads" in result["reasons"][0]


def test_an_emoji_after_a_sentence_passes(embedder):
    for claim in ("I love cats \U0001f600", "The mill was built in the year of the flood \u2764\ufe0f"):
        assert evaluate_text(claim, [claim], embedder, LENIENT)["verdict"] == "accept"


def test_a_span_that_the_model_does_not_know_is_left_out(embedder):
    claim, span = "The cats slept in the garden.", "Cats slept in the garden."
    alone = evaluate_text(claim, [span], embedder, LENIENT)
    beside = evaluate_text(claim, [THAI[0], span, THAI[1]], embedder, LENIENT)
    assert beside["hallucination_energy"] == alone["hallucination_energy"]
    assert "spans of words that the model does not know: 2 left out" in beside["reasons"]
    name = evaluate_text(
        claim, [f"{span[:-1]} of the house of the old king and of {THAI[0]}."], embedder, LENIENT
    )
    assert name["verdict"] == "accept"
    nothing = evaluate_text(claim, list(THAI), embedder, LENIENT)
    assert nothing["reasons"][0] == "bad data: there is no evidence"


UNREAD_ALPHABET = st.sampled_from(
    "ab \u0e09\u0e31\u4f60\U00013000\U0001f600\u2103\u0301\u00ad\u200b\u200d\ue000\U000e0069"
)


@given(
    claim=st.text(UNREAD_ALPHABET, max_size=12) | st.text(max_size=12),
    evidence=st.lists(st.text(UNREAD_ALPHABET, max_size=12), min_size=1, max_size=3),
)
@settings(max_examples=50)
def test_a_claim_is_only_accepted_by_what_is_read_and_seen(embedder, claim, evidence):
    result = evaluate_text(claim, evidence, embedder, LENIENT)
    assert result["verdict"] in SEVERITY
    if result["verdict"] != "reject":
        (unread,) = embedder.unread([claim])
        assert not any(map(str.isalnum, "".join(unread.words)))
        assert not {unicodedata.category(char) for char in claim if char not in "\t\n\u200c\u200d"} & {
            "Cc",
            "Cf",
            "Co",
            "Cn",
            "Cs",
        }


def test_as_many_texts_as_vectors():
    result = evaluate_claim(CLAIM, EVIDENCE, tau_accept=5.0, context=Context(GOOD_TEXT, [GOOD_TEXT] * 4))
    assert (result["verdict"], result["reasons"][0]) == (
        "reject",
        "bad data: evidence: 4 texts for 5 vectors",
    )


def test_no_evidence_is_never_accepted():
    for gap in (None, 0.0):
        result = evaluate_claim(CLAIM, [], tau_accept=5.0, energy_gap=gap)
        assert (result["verdict"], result["hallucination_energy"]) == ("reject", 1.0)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


@given(claim=ANYTHING, evidence=ANYTHING)
def test_anything_at_all(claim, evidence):
    result = evaluate_claim(claim, evidence, tau_accept=0.5)
    assert result["verdict"] in SEVERITY
    json.dumps(result, allow_nan=False)


# --------------------------------------------------------------------------------------------------- texts


def test_texts(words):
    spans = ["the lamp burned in the old harbour", "a violin was made of copper in 1990"]
    policy = dataclasses.replace(LAB, tau_accept=0.3, tau_review=0.375)
    good = evaluate_text("the old lamp burned in the harbour", spans, words, policy, domain="lab")
    assert (good["verdict"], good["policy_applied"]) == ("accept", "adaptive.P10.v1")
    assert (
        evaluate_text("a violin was made of copper in 1991", spans, words, policy, domain="lab")["verdict"]
        != "accept"
    )
    assert (
        evaluate_text("winter in the forest of stone", spans, words, policy, domain="lab")["verdict"]
        == "reject"
    )
    fixed = evaluate_text("the old lamp burned in the harbour", spans, words, FIXED["editorial"])
    assert fixed["policy_applied"] == "fixed.editorial.v1"


def test_texts_with_another_model(words):
    other = dataclasses.replace(LAB, model_fingerprint="1" * 64)
    with pytest.raises(GateError, match="model"):
        evaluate_text(GOOD_TEXT, [GOOD_TEXT], words, other, domain="lab")
    with pytest.raises(GateError, match="domain"):
        evaluate_text(GOOD_TEXT, [GOOD_TEXT], words, LAB, domain="kitchen")
    with pytest.raises(GateError, match="policy"):
        evaluate_text(GOOD_TEXT, [GOOD_TEXT], words, "strict")


def test_a_missing_model_is_no_verdict():
    class Missing:
        name, dimension, fingerprint = "words", 3, "0" * 64

        def encode(self, texts):
            raise ModelMissingError("not installed")

    with pytest.raises(ModelMissingError):
        evaluate_text(GOOD_TEXT, [GOOD_TEXT], Missing(), LAB, domain="lab")


def test_the_verdict_loads_no_model():
    code = "import sys, solvent.gate as g; print(*g.__all__); print(*sys.modules)"
    exported, loaded = (line.split() for line in execute_python(code).succeeded().splitlines())
    assert exported == sorted(exported, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert not {"torch", "sentence_transformers", "sklearn", "matplotlib", "transformers"} & set(loaded)
