"""The evaluation: against hand-computed cases, scikit-learn and scorers whose quality is known beforehand."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.adequacy import final_evaluation
from solvent.adequacy.baselines import EXAMPLE_BASELINES, LENGTH_LIMITS, TRACE_BASELINES
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.evaluation import Scorer, evaluate_examples, evaluate_seekbench
from solvent.adequacy.final_evaluation import final_results, main, write_once
from solvent.adequacy.labelled import DEV, Example, load_examples
from solvent.adequacy.seekbench import Trace
from solvent.adequacy.separation import auroc_estimate, explained_estimate, mean_estimate
from solvent.adequacy.tools import ToolCall, ToolContext
from tests.adequacy.test_seekbench import STEPS, file_of


@dataclass(frozen=True)
class Given:
    score: int
    sya: int | None = None


def scorer_of(examples: list[Example], ratings: list[int], syas: list[int | None] | None = None) -> Scorer:
    """Gives each response the rating that stands at its place."""
    at = {example.response: i for i, example in enumerate(examples)}

    def score(response: str, context: ToolContext, query: str | None) -> Given:
        i = at[response]
        assert (context, query) == (examples[i].context, examples[i].query)
        return Given(ratings[i], syas[i] if syas else None)

    return score


def example(i: int, epad: int, sya: int | None = None, kind: str = "plain", calls: int = 0) -> Example:
    context = ToolContext(tuple(ToolCall("Read", {"path": f"{n}.py"}, "pass") for n in range(calls)))
    return Example(f"e{i}", "code", f"q{i}", f"r{i}", context, epad, sya, kind, "because")


EXAMPLES = [example(i, epad, sya=None) for i, epad in enumerate([0, 0, 1, 1, 2, 2, 3, 3])]


# ------------------------------------------------------------------------------------- labelled responses


def test_a_perfect_scorer_is_perfect() -> None:
    report = evaluate_examples(EXAMPLES, scorer_of(EXAMPLES, [e.epad for e in EXAMPLES]))
    assert report.count == 8
    assert report.epad.overall.kappa.value == 1.0
    assert report.epad.overall.exact.share == 1.0
    assert report.epad.overall.exact.low == pytest.approx(0.025 ** (1 / 8))  # Clopper-Pearson, all of n
    assert report.epad.overall.matrix == ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 0), (0, 0, 0, 2))
    assert report.epad.gains["always_1"].value == 1.0
    assert report.sya is None
    assert report.premises is None


def test_rows_are_labels_and_columns_are_scores() -> None:
    ratings = [0, 1, 1, 1, 3, 3, 1, 3]
    overall = evaluate_examples(EXAMPLES, scorer_of(EXAMPLES, ratings)).epad.overall
    assert overall.matrix == ((1, 1, 0, 0), (0, 2, 0, 0), (0, 0, 0, 2), (0, 1, 0, 1))
    assert (overall.exact.hits, overall.within_one.hits) == (4, 7)


def test_kinds_and_domains_are_told_apart() -> None:
    examples = [example(i, i % 4, kind="even" if i % 2 == 0 else "odd") for i in range(8)]
    report = evaluate_examples(examples, scorer_of(examples, [0] * 8)).epad
    assert (report.by_kind["even"].exact.hits, report.by_kind["even"].exact.count) == (2, 4)
    assert report.by_kind["odd"].within_one.hits == 2
    assert (report.by_kind["odd"].mean_label, report.by_kind["odd"].mean_score) == (2.0, 0.0)
    assert list(report.by_domain) == ["code"]


def test_sya_counts_where_both_judged_it_and_by_itself_where_there_is_a_premise() -> None:
    labels: list[int | None] = [0, 3, None, 2, 0]
    kinds = ["plain", "premise_adopted", "plain", "premise_adopted", "premise_checked"]
    examples = [example(i, 1, sya, kind) for i, (sya, kind) in enumerate(zip(labels, kinds, strict=True))]
    report = evaluate_examples(examples, scorer_of(examples, [1] * 5, [0, 3, 1, 3, None]))
    assert report.sya is not None
    assert (report.sya.overall.count, report.sya.overall.exact.hits) == (3, 2)
    assert report.premises is not None
    assert (report.premises.overall.count, report.premises.overall.within_one.hits) == (2, 2)


def test_baselines_are_what_they_say() -> None:
    examples = [example(n, 1, calls=n) for n in range(6)]
    labels = [3, 3, 2, 0, 0, 0]
    assert EXAMPLE_BASELINES["always_1"](examples, labels) == [1] * 6
    assert EXAMPLE_BASELINES["majority"](examples, labels) == [0] * 6
    assert EXAMPLE_BASELINES["calls_only"](examples, labels) == [3, 2, 1, 1, 0, 0]
    assert EXAMPLE_BASELINES["length_only"](examples, labels) == [3] * 6


def test_the_limits_of_length_are_the_quartiles_of_the_dev_half() -> None:
    words = [len(example.response.split()) for example in load_examples(DEV)]
    assert tuple(np.quantile(words, [0.25, 0.5, 0.75])) == LENGTH_LIMITS


@pytest.mark.parametrize("examples", [[], EXAMPLES[:1]], ids=["none", "one"])
def test_too_few_examples_are_refused(examples: list[Example]) -> None:
    with pytest.raises(AdequacyError, match="allowed: 2 or more"):
        evaluate_examples(examples, scorer_of(examples, [0]))


def test_a_score_out_of_range_is_refused() -> None:
    with pytest.raises(AdequacyError, match="got the class 4"):
        evaluate_examples(EXAMPLES, scorer_of(EXAMPLES, [4] * 8))


def test_a_report_is_json() -> None:
    report = evaluate_examples(EXAMPLES, scorer_of(EXAMPLES, [0] * 8)).to_dict()
    assert json.loads(json.dumps(report, allow_nan=False)) == json.loads(json.dumps(report))
    assert report["epad"]["overall"]["exact"]["hits"] == 2
    assert report["epad"]["overall"]["rho"]["value"] is None  # a constant has no rank correlation
    assert report["sya"] is None


# ------------------------------------------------------------------------------------------ search traces


def trace(
    i: int, sufficient: bool, correct: bool, *, answer: str | None = "River Thames", calls: int = 1
) -> Trace:
    found = tuple(ToolCall("search", {"query": f"{n}"}, "the Thames at Bray") for n in range(calls))
    said = "" if answer is None else f"{i}"
    return Trace(f"t{i}", "d", "m", f"q{i}", said, answer, ToolContext(found), sufficient, correct)


def by_response(scores: list[int]) -> Scorer:
    def score(response: str, context: ToolContext, query: str | None) -> Given:
        return Given(scores[int(response)])

    return score


def test_a_score_that_follows_sufficiency_tells_all_and_explains_all() -> None:
    sufficient = [True] * 6 + [False] * 4
    correct = [True, True, True, True, True, False, False, False, True, False]
    traces = [trace(i, s, c) for i, (s, c) in enumerate(zip(sufficient, correct, strict=True))]
    scores = [0, 1, 0, 1, 0, 1, 2, 3, 2, 3]
    report = evaluate_seekbench([*traces, trace(99, False, False, answer=None)], by_response(scores))
    assert report.count == 10
    assert report.auroc.value == 1.0
    assert report.sufficient.by_score == (3, 3, 0, 0)
    assert (report.insufficient.mean.value, report.insufficient.correct.hits) == (2.5, 1)
    assert [None if rate is None else rate.hits for rate in report.correct_by_score] == [3, 2, 1, 0]
    assert np.isnan(report.explained.value)  # no score that both groups have: nothing is left to compare
    assert report.to_dict()["explained"]["value"] is None
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_constant_score_tells_and_explains_nothing() -> None:
    traces = [trace(i, i < 6, i < 4) for i in range(10)]
    report = evaluate_seekbench(traces, by_response([2] * 10))
    assert (report.auroc.value, report.auroc_wrong.value) == (0.5, 0.5)
    assert report.auroc.low == report.auroc.high == 0.5
    assert report.explained.value == pytest.approx(0.0)
    assert report.correct_by_score[0] is None


def test_trace_baselines_are_higher_where_there_is_less() -> None:
    few, many = trace(0, False, False, calls=1), trace(0, True, True, calls=3)
    assert TRACE_BASELINES["few_searches"](few) > TRACE_BASELINES["few_searches"](many)
    assert TRACE_BASELINES["answer_not_found"](few) == 0.5  # "thames" is in the results, "river" is not
    assert TRACE_BASELINES["answer_not_found"](trace(0, True, True, answer="yes")) == 0.0
    assert TRACE_BASELINES["short_answer"](few) == -1


@pytest.mark.parametrize(
    "sufficient", [[True] * 4, [False] * 4, [True, True, False]], ids=["all", "none", "1"]
)
def test_one_group_alone_is_refused(sufficient: list[bool]) -> None:
    with pytest.raises(AdequacyError, match="allowed: 2 or more with and without"):
        evaluate_seekbench([trace(i, s, s) for i, s in enumerate(sufficient)], by_response([0] * 4))


# --------------------------------------------------------------------------------------------- separation


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=4, max_size=40))
def test_auroc_is_scikit_learns(rows: list[tuple[int, bool]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    values, positive = np.array([v for v, _ in rows], np.float64), np.array([p for _, p in rows])
    if positive.all() or not positive.any():
        with pytest.raises(AdequacyError, match="allowed: some of either"):
            auroc_estimate(values, positive)
        return
    found = auroc_estimate(values, positive)
    assert found.value == pytest.approx(metrics.roc_auc_score(positive, values))
    assert found.low <= found.high


def test_explained_by_hand() -> None:
    # Score 0: 4 without the gap, 2 of 2 right against 1 of 2; score 1: 0 of 1 against 0 of 3.
    scores = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.float64)
    lacking = np.array([0, 0, 1, 1, 0, 1, 1, 1], np.bool_)
    correct = np.array([1, 1, 1, 0, 0, 0, 0, 0], np.bool_)
    raw = 2 / 3 - 1 / 5
    within = (1.0 * 0.5 + 0.75 * 0.0) / 1.75
    assert explained_estimate(scores, lacking, correct).value == pytest.approx(1 - within / raw)


def test_the_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng, covered = np.random.default_rng(1), 0
    for _ in range(60):
        positive = rng.random(120) < 0.4
        values = rng.normal(size=120) + positive  # P(s+ > s-) of unit normals one apart
        found = auroc_estimate(values, positive)
        covered += found.low <= 0.7602 <= found.high
    assert covered >= 51  # 57 expected; 51 or fewer has a probability under 1 % at 95 %


def test_a_mean_has_its_interval() -> None:
    found = mean_estimate(np.array([0.0, 1.0] * 50))
    assert found.value == 0.5
    assert found.low == pytest.approx(0.4, abs=0.02)
    assert found.high == pytest.approx(0.6, abs=0.02)


def test_clusters_are_drawn_whole() -> None:
    rng = np.random.default_rng(2)
    positive = np.repeat(rng.random(40) < 0.5, 5)
    values = np.repeat(rng.normal(size=40), 5) + positive  # five copies of 40 cases
    clusters = np.repeat(np.arange(40), 5).tolist()
    alone, whole = auroc_estimate(values, positive), auroc_estimate(values, positive, clusters)
    assert alone.value == whole.value
    assert 1.7 < (whole.high - whole.low) / (alone.high - alone.low) < 2.8  # the root of five
    means = mean_estimate(values), mean_estimate(values, clusters)
    assert 1.7 < (means[1].high - means[1].low) / (means[0].high - means[0].low) < 2.8
    once = mean_estimate(values[::5], list(range(40)))
    assert (means[1].low, means[1].high) == pytest.approx((once.low, once.high))
    own = explained_estimate(np.round(values), positive, values < 0, list(range(200)))
    assert own == explained_estimate(np.round(values), positive, values < 0)


def test_traces_of_one_question_are_drawn_together() -> None:
    cases = [trace(i, i % 3 > 0, i % 3 > 0 or i % 4 == 0) for i in range(30)]
    scores = [i * 7 % 4 for i in range(30)]
    apart = evaluate_seekbench(cases, by_response(scores))
    copies = [replace(one, id=f"{one.id}-{n}") for one in cases for n in range(4)]
    together = evaluate_seekbench(copies, by_response(scores))
    assert together.auroc.value == pytest.approx(apart.auroc.value)
    for name in ("auroc", "auroc_wrong", "explained"):
        found, expected = getattr(together, name), getattr(apart, name)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high)), name


def test_lengths_must_agree() -> None:
    with pytest.raises(AdequacyError, match="clusters: got other than 3"):
        mean_estimate(np.zeros(3), ["a", "b"])
    with pytest.raises(AdequacyError, match="got 3 for 2 values"):
        auroc_estimate(np.zeros(2), np.array([True, False, True]))


# ---------------------------------------------------------------------------------- the heuristic, at last


def test_the_heuristic_is_evaluated_on_the_dev_half() -> None:
    report = evaluate_examples(load_examples(DEV))
    best = max(rated.kappa.value for rated in report.epad.baselines.values())
    assert report.epad.overall.kappa.value > best
    assert report.sya is not None  # every example has a query, so the heuristic judges it


@pytest.fixture
def dev_for_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test looks at the held-out half."""
    monkeypatch.setattr(final_evaluation, "HELD_OUT", DEV)
    monkeypatch.setitem(final_results.__kwdefaults__, "held_out", DEV)


def test_the_final_results_say_what_they_rest_on(dev_for_held_out: None, tmp_path: Path) -> None:
    out = tmp_path / "results" / "r.json"
    assert main([str(out)]) == 0
    results = json.loads(out.read_text())
    assert set(results) == {"date", "command", "sha256", "labelled", "seekbench"}
    assert set(results["sha256"]) >= {"labelled_dev.jsonl", "heuristic.py", "lexicon.toml"}
    assert results["labelled"]["held_out"] == results["labelled"]["dev"]
    assert results["seekbench"] is None


def test_results_are_never_replaced(
    dev_for_held_out: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    write_once(out, {"first": True})
    assert main([str(out)]) == 2
    assert "the half is scored once" in capsys.readouterr().err
    with pytest.raises(AdequacyError, match="is there"):
        write_once(out, {"first": False})
    assert json.loads(out.read_text()) == {"first": True}
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_the_traces_are_scored_in_halves(dev_for_held_out: None, tmp_path: Path) -> None:
    # Made up: no test scores the traces of the report half.
    path = file_of(tmp_path / "s.jsonl", *[STEPS, STEPS[:3] + STEPS[-1:]] * 20)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [
        line | {"question": f"Which river, {i // 4}?", "is_correct": i % 2 == 0}
        for i, line in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def score(response: str, context: ToolContext, query: str | None) -> Given:
        return Given(max(0, 3 - len(context.calls)), 0)

    found: dict[str, Any] = final_results(path, scorer=score)["seekbench"]
    assert found["report"]["count"] == 20
    assert set(found["tune"]) == {"answer", "conclusion", "reasoning"}
    assert found["report"]["insufficient"]["count"] == 10
    assert found["report"]["auroc"]["value"] == 1.0


def test_the_module_is_a_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "solvent.adequacy.final_evaluation",
            "--seekbench",
            str(tmp_path / "none"),
            "",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
