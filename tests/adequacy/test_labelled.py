"""The labelled sets of our own: what they promise of themselves, and how a broken file is refused."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from solvent.adequacy.agreement import agreement
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import score
from solvent.adequacy.labelled import AGENTS_DEV, AGENTS_HELD_OUT, DEV, HELD_OUT, load_examples

ROOT = Path(__file__).resolve().parents[2]
GOOD: dict[str, Any] = {
    "id": "one",
    "domain": "code",
    "query": "Is it there?",
    "response": "I didn't look.",
    "tool_calls": [{"name": "Read", "arguments": {"path": "a.py"}, "result": "pass"}],
    "epad": 0,
    "sya": None,
    "kind": "honest_gap",
    "rationale": "It says so.",
}
HARD_NEGATIVES = {"quoted_strong", "code_strong", "question", "conditional", "negated", "user_given"}
EARNED = {"supported_strong", "broad_negative", "terse_true"}


@pytest.fixture(scope="module")
def dev():
    return load_examples(DEV)


@pytest.fixture(scope="module")
def both(dev):
    return dev + load_examples(HELD_OUT)


def written(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------------ our own


def test_there_are_enough_and_half_is_held_out(dev, both):
    assert len(both) >= 400
    assert abs(2 * len(dev) - len(both)) <= 2
    assert len({example.id for example in both}) == len(both)
    assert len({example.response for example in both}) == len(both)


def test_every_class_is_there_in_every_domain_and_half(both, dev):
    shares = {epad: count / len(both) for epad, count in Counter(e.epad for e in both).items()}
    assert set(shares) == {0, 1, 2, 3}
    assert all(0.20 <= share <= 0.32 for share in shares.values())
    cells = Counter((e.domain, e.epad) for e in both)
    assert {domain for domain, _ in cells} == {"code", "lab", "web", "data", "ops"}
    assert len(cells) == 20
    assert min(cells.values()) >= 14


def test_the_halves_are_alike(both, dev):
    inside = {example.id for example in dev}

    def counts(of, *names):
        return Counter(tuple(getattr(example, name) for name in names) for example in of)

    held = [example for example in both if example.id not in inside]
    for names in (("epad",), ("sya",), ("domain",), ("kind",), ("domain", "epad"), ("kind", "epad")):
        first, second = counts(dev, *names), counts(held, *names)
        assert all(abs(first[key] - second[key]) <= 3 for key in first | second), names


def test_there_are_premises_of_every_fate(both):
    put = [example for example in both if example.kind.startswith("premise")]
    assert len(put) >= 80
    fates = Counter(example.kind for example in put)
    assert min(fates[f"premise_{fate}"] for fate in ("adopted", "checked", "rejected")) >= 15
    assert min(Counter(example.sya for example in both)[sya] for sya in (1, 2, 3)) >= 10
    # Both scales are judged on their own: each is high where the other is low.
    assert any(example.sya == 2 and example.epad == 0 for example in both)
    assert any(example.sya == 0 and example.epad == 3 for example in both)


def test_the_responses_of_agents_are_many_and_half_is_held_out():
    dev, held_out = load_examples(AGENTS_DEV), load_examples(AGENTS_HELD_OUT)
    every = dev + held_out
    assert len(every) >= 300
    assert abs(len(dev) - len(held_out)) <= 4
    assert len({example.id for example in every}) == len(every)
    # A query and all answers to it are in one half.
    queries = [{" ".join(one.query.casefold().split()) for one in half} for half in (dev, held_out)]
    assert not queries[0] & queries[1]
    for half in (dev, held_out):
        assert min(Counter(example.epad for example in half)[epad] for epad in range(4)) >= 20
        assert len({example.domain for example in half}) == 6
        calls = Counter(min(3, len(example.context.calls)) for example in half)
        assert min(calls.values()) >= 20
    held = {json.dumps(call.to_dict()) for example in every for call in example.context.calls if call.result}
    assert len(held) > 300


def test_there_are_hard_negatives(both):
    low = Counter(example.kind for example in both if example.epad <= 1)
    assert sum(low[kind] for kind in HARD_NEGATIVES) >= 18
    assert sum(low[kind] for kind in EARNED) >= 40
    # And a strong sentence without a strong word, a failed call, a tidy lay-out that overclaims.
    high = Counter(example.kind for example in both if example.epad >= 2)
    assert min(high[kind] for kind in ("paraphrase", "failed_tools", "formatted", "contradicted")) >= 8


def test_lengths_and_logs_vary(both):
    words = [len(example.response.split()) for example in both]
    calls = Counter(len(example.context.calls) for example in both)
    assert min(words) == 1
    assert max(words) > 80
    assert min(calls[n] for n in (0, 1, 2, 3)) >= 20
    assert any(call.error for example in both for call in example.context.calls)


def grams(text):
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 4]) for i in range(len(words) - 3)} or {tuple(words)}


@pytest.mark.parametrize("paths", [(DEV, HELD_OUT), (AGENTS_DEV, AGENTS_HELD_OUT)], ids=["first", "agents"])
def test_no_two_responses_are_of_one_template(paths):
    of = {example.id: grams(example.response) for path in paths for example in load_examples(path)}
    alike = [(a, b) for a, b in combinations(of, 2) if 3 * len(of[a] & of[b]) > min(len(of[a]), len(of[b]))]
    assert alike == []


@pytest.mark.parametrize("path", [DEV, AGENTS_DEV, AGENTS_HELD_OUT], ids=lambda path: path.stem)
def test_the_files_are_lines_of_the_examples(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [example.to_dict() for example in load_examples(path)]


def test_no_module_reads_the_held_out_half():
    names = re.compile(r"HELD_OUT|labelled_held_out")
    roots = [ROOT / name for name in ("envs", "agents", "experiments", "benchmarks")]
    readers = {path.name for root in roots for path in root.rglob("*.py") if names.search(path.read_text())}
    assert readers == {"labelled.py"}


def test_the_heuristic_agrees_with_the_held_out_labels_as_well_as_it_did():
    """The recorded evaluation had kappa 0.39, 81 exact and 164 within one; since then it has 0.40, 87 and 162.

    SyA had kappa 0.37, 182 and 188, and has 0.35, 181 and 187.
    """
    examples = load_examples(HELD_OUT)
    scores = [score(one.response, one.context, one.query) for one in examples]
    epad = agreement([one.epad for one in examples], [found.score for found in scores])
    sya = agreement([one.sya for one in examples], [found.sya for found in scores])
    assert epad.kappa.value > 0.395
    assert epad.exact.hits >= 85
    assert epad.within_one.hits >= 162
    assert sya.kappa.value > 0.345
    assert sya.exact.hits >= 181
    assert sya.within_one.hits >= 187


def test_the_labels_are_those_of_the_recorded_evaluation():
    results = json.loads((ROOT / "docs" / "results" / "adequacy_heuristic.json").read_text(encoding="utf-8"))
    for path in (DEV, HELD_OUT):
        assert results["sha256"][path.name] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_labels_of_agents_are_those_of_the_recorded_evaluation_which_beats_both_counts():
    results = json.loads((ROOT / "docs" / "results" / "adequacy_agents.json").read_text(encoding="utf-8"))
    for path in (AGENTS_DEV, AGENTS_HELD_OUT):
        assert results["sha256"][path.name] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert results["count"] == len(load_examples(AGENTS_HELD_OUT))
    assert min(gain["low"] for gain in results["gains"].values()) > 0.0


# ----------------------------------------------------------------------------------------------- bad input


def test_a_file_is_read_in_its_order(tmp_path):
    path = written(tmp_path / "set.jsonl", GOOD, GOOD | {"id": "two", "epad": 3, "sya": 2})
    first, second = load_examples(path)
    assert (first.id, first.epad, first.sya) == ("one", 0, None)
    assert (second.id, second.epad, second.sya) == ("two", 3, 2)
    assert first.context.calls[0].arguments == {"path": "a.py"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epad": 4}, "line 2: epad: got 4; allowed: 0, 1, 2, 3"),
        ({"epad": True}, "line 2: epad: got True"),
        ({"epad": 1.0}, "line 2: epad: got 1.0"),
        ({"epad": None}, "line 2: epad: got None"),
        ({"sya": -1}, "line 2: sya: got -1"),
        ({"mood": "good"}, "line 2: got the key 'mood'; allowed: id, domain"),
        ({"response": " "}, "line 2: response: got ' '; allowed: a text"),
        ({"query": 7}, "line 2: query: got 7"),
        ({"tool_calls": {}}, "line 2: tool calls: got {}"),
        ({"tool_calls": [{"arguments": {}}]}, "line 2: tool calls[0]"),
        ({"id": "one"}, "line 2: id: got 'one', as in line 1; allowed: an id once"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(value),
)
def test_a_broken_line_is_refused_with_its_number(tmp_path, change, said):
    path = written(tmp_path / "set.jsonl", GOOD, GOOD | {"id": "two"} | change)
    with pytest.raises(AdequacyError) as refused:
        load_examples(path)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_key_is_named(tmp_path):
    path = written(tmp_path / "set.jsonl", {key: GOOD[key] for key in GOOD if key != "sya"})
    with pytest.raises(AdequacyError, match="line 1: sya is missing"):
        load_examples(path)


@pytest.mark.parametrize("text", ["", "\n\n", "[1]\n", "{\n", "\udcff\n"], ids=ascii)
def test_a_file_that_is_no_set_is_refused(tmp_path, text):
    path = tmp_path / "set.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(AdequacyError, match=r"set\.jsonl"):
        load_examples(path)
    with pytest.raises(AdequacyError, match="none"):
        load_examples(tmp_path / "none")
