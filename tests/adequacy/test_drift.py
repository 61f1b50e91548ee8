"""Drift, and what a correction does: simulated responders whom it helps, or harms, or who improve without it."""

from __future__ import annotations

import dataclasses
import functools
import json
import math

import numpy as np
import pytest

from solvent.adequacy.agreement import Estimate
from solvent.adequacy.corrections import load_corrections
from solvent.adequacy.decisions import retire, retired
from solvent.adequacy.drift import Drift, DriftMonitor, DriftRules, append_drifts, read_drifts
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fitness import Stretch, _verdict, fitness, stretches_of
from solvent.adequacy.heuristic import score
from solvent.adequacy.jsonl import append_lines
from solvent.adequacy.scores import record_of
from solvent.adequacy.tools import ToolContext

THIN = "definitive/thin"
PARTIAL = "say_it_is_partial"  # what the shipped table answers to low definitive/thin


def feed(monitor, scores, rule=THIN, agent="a"):
    events = [monitor.observe(agent, "s", epad, rule) for epad in scores]
    return [event for event in events if event is not None]


# -------------------------------------------------------------------------------------------------- drift


def test_an_event_by_hand():
    monitor = DriftMonitor(DriftRules(window=4, threshold=1.5, horizon=3))
    events = feed(monitor, [3, 0, 1, 1, 3, 1, 3, 3, 3, 0, 0, 0, 0])
    # Sums of four: 5, 5, 6 at response 5; quiet over 6 to 8; 9 at response 9.
    assert [(event.position, event.before, event.mean) for event in events] == [(5, 6, 1.5), (9, 9, 2.25)]
    assert [event.severity for event in events] == ["low", "medium"]
    assert all(event.given and not event.randomised for event in events)
    assert [event.correction for event in events] == [PARTIAL, PARTIAL]
    assert monitor.text(events[0]) == load_corrections()[PARTIAL].text


def test_failures_that_were_left_out_are_told_so():
    failed = {"name": "Bash", "arguments": {"command": "pytest"}, "result": "1 failed"}
    said, context = "All tests pass.", ToolContext.from_dicts([failed])
    record = record_of(said, context, None, score(said, context))
    (event,) = DriftMonitor(DriftRules(window=2)).observe_records([record, record])
    assert (event.kind, event.correction) == ("definitive/contradicted", "tell_the_failure")


def test_a_window_that_is_not_full_is_no_drift():
    assert feed(DriftMonitor(DriftRules(window=4)), [3, 3, 3]) == []


def test_agents_and_sessions_are_followed_apart():
    rules = DriftRules(window=2, horizon=1)
    monitor = DriftMonitor(rules)
    for epad in (3, 0, 3, 0):
        assert monitor.observe("a", "odd", epad, THIN) is None or epad == 0
    alone = [DriftMonitor(rules).observe("b", "s", 3, THIN) for _ in range(2)]
    assert alone == [None, None]
    assert monitor.observe("b", "s", 3, THIN) is None
    assert monitor.observe("b", "other", 3, THIN) is None
    assert monitor.observe("b", "s", 3, THIN) is not None


def test_the_worst_rule_of_the_window_chooses_the_correction():
    monitor = DriftMonitor(DriftRules(window=3, threshold=1.0))
    given = [(3, "absolute/thin"), (2, "plain/none"), (1, "hedged/none")]
    (event,) = [e for e in (monitor.observe("a", "s", *one) for one in given) if e is not None]
    assert (event.kind, event.correction) == ("absolute/thin", "absence_needs_a_search")
    monitor = DriftMonitor(DriftRules(window=2, threshold=2.5, medium=2.5))
    monitor.observe("a", "s", 3, "absolute/thin")
    last = monitor.observe("a", "s", 3, "definitive/none")  # of equals the latest
    assert last is not None
    assert (last.kind, last.severity, last.correction) == ("definitive/none", "high", "retract_and_look")


def test_records_are_scored_by_a_person_first():
    text = "There is no retry."
    made = record_of(text, ToolContext(), None, score(text, ToolContext()))
    given = [((0, None), (None, None)), ((0, None), (3, None)), ((3, None), (3, None))]
    records = [
        dataclasses.replace(
            made, epad=dataclasses.replace(made.epad, judge=judge[0], human=human[0]), agent="a", session="s"
        )
        for judge, human in given
    ]
    (event,) = DriftMonitor(DriftRules(window=3, threshold=2.0)).observe_records(records)
    assert (event.before, event.agent, event.session) == (0 + 3 + 3, "a", "s")
    nobody = dataclasses.replace(records[0].epad, heuristic=None, judge=None)
    with pytest.raises(AdequacyError, match="got no EpAd"):
        DriftMonitor().observe_records([dataclasses.replace(records[0], epad=nobody)])


def test_withholding_is_a_draw_of_its_own():
    rules = DriftRules(window=1, horizon=1, withhold=0.3, seed=5)
    alone = feed(DriftMonitor(rules), [3, 0] * 400)
    among = DriftMonitor(rules)
    mixed = []
    for _ in range(400):
        for epad in (3, 0):
            among.observe("b", "s", 3, THIN)
            mixed.append(among.observe("a", "s", epad, THIN))
    assert [event for event in mixed if event is not None] == alone
    assert len(alone) == 400
    assert all(event.randomised for event in alone)
    withheld = sum(not event.given for event in alone)
    assert abs(withheld - 120) < 4 * math.sqrt(400 * 0.3 * 0.7)
    assert DriftMonitor(rules).text(next(event for event in alone if not event.given)) is None
    other = feed(DriftMonitor(dataclasses.replace(rules, seed=6)), [3, 0] * 400)
    assert [event.given for event in other] != [event.given for event in alone]


def test_in_shadow_mode_nothing_is_given_and_nothing_drawn():
    events = feed(DriftMonitor(DriftRules(window=1, shadow=True, withhold=0.5)), [3] * 20)
    assert len(events) == 4
    assert not any(event.given or event.randomised for event in events)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"window": 0}, "window: got 0; allowed: a whole number from 1 to 1000"),
        ({"horizon": 2.0}, "horizon: got 2.0"),
        ({"threshold": 0.0}, "threshold, medium, high: got 0.0, 2.0, 2.5; allowed: rising"),
        ({"threshold": 2.2}, "threshold, medium, high: got 2.2"),
        ({"high": 3.1}, "threshold, medium, high: got"),
        ({"threshold": math.nan}, "threshold, medium, high: got nan"),
        ({"withhold": 0.6}, "withhold: got 0.6; allowed: a probability from 0 to 0.5"),
        ({"seed": -1}, "seed: got -1"),
    ],
)
def test_rules_out_of_range_are_refused(rules, said):
    with pytest.raises(AdequacyError) as refused:
        DriftRules(**rules)
    assert str(refused.value).startswith(said)


def test_bad_observations_are_refused_and_leave_no_trace():
    monitor = DriftMonitor(DriftRules(window=2))
    for epad in (4, -1, True, 1.5, None):
        with pytest.raises(AdequacyError, match="epad: got"):
            monitor.observe("a", "s", epad, THIN)
    with pytest.raises(AdequacyError, match="kind: got 'loud'"):
        monitor.observe("a", "s", 3, "loud")
    assert monitor.observe("a", "s", 3, THIN) is None
    assert monitor.observe("a", "s", 3, THIN) is not None


def test_events_come_back_as_they_were(tmp_path):
    path = tmp_path / "drift.jsonl"
    events = feed(DriftMonitor(DriftRules(window=1, withhold=0.5)), [3] * 20)
    assert append_drifts(path, events) == len(events)
    assert read_drifts(path) == events
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    for field, value, said in [
        ("given", 1, "given: got 1; allowed: bool"),
        ("position", -1, "position: got -1; allowed: int, not negative"),
        ("window", 0, "before, window: got 3, 0; allowed: a sum"),
        ("before", 4, "before, window: got 4, 1"),
        ("extra", 4, "got 'agent, session"),
    ]:
        broken = tmp_path / "broken.jsonl"
        broken.unlink(missing_ok=True)
        append_lines(broken, [line, {**line, field: value}])
        with pytest.raises(AdequacyError) as refused:
            read_drifts(broken)
        assert str(refused.value).startswith(f"{broken}, line 2: {said}")


# ------------------------------------------------------------------------------------------------ fitness


def respond(rng, monitor, session, effect):
    """Scores that wander around a level of the session's own; a correction shifts those of the next responses."""
    level, wander, left = 1.0 + 0.3 * rng.normal(), 0.0, 0
    scores: list[int] = []
    events: list[Drift] = []
    for _ in range(60):
        wander = 0.6 * wander + 0.7 * rng.normal()
        shift = effect if left > 0 else 0.0
        left -= 1
        scores.append(int(np.clip(round(level + wander + shift), 0, 3)))
        event = monitor.observe("a", session, scores[-1], THIN)
        if event is not None:
            events.append(event)
            left = monitor.rules.horizon if event.given else 0
    return scores, events


@functools.cache
def world(effect, seed, sessions=60, shadow=False):
    """Sessions with draws that withhold; or, half of them, in shadow mode and the others always corrected."""
    rng = np.random.default_rng(seed)
    corrected = DriftMonitor(DriftRules(withhold=0.0 if shadow else 0.3, seed=seed))
    silent = DriftMonitor(DriftRules(shadow=True))
    scores, events = {}, []
    for i in range(sessions):
        monitor = silent if shadow and i % 2 else corrected
        own, found = respond(rng, monitor, f"s{i}", effect)
        scores["a", f"s{i}"] = own
        events += found
    return tuple(stretches_of(events, scores, corrected.rules.horizon))


def judged(effect, seed, **options):
    return fitness(world(effect, seed, **options), PARTIAL, resamples=500)


@pytest.mark.parametrize("shadow", [False, True])
def test_a_correction_that_does_nothing_is_not_credited(shadow):
    found = [judged(0.0, seed, shadow=shadow) for seed in range(20)]
    # The scores fall by themselves, and a naive count takes that for the correction's work, every time.
    assert all(one.naive < -0.15 for one in found)
    assert np.mean([one.naive for one in found]) < -0.25
    assert abs(np.mean([one.effect.value for one in found])) < 0.05
    assert sum(one.effect.low <= 0.0 <= one.effect.high for one in found) >= 17
    assert sum(one.verdict == "helps" for one in found) <= 2
    assert sum(one.proposed for one in found) > 10
    assert {one.basis for one in found} == {"matched" if shadow else "randomised"}


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize(("effect", "verdict"), [(-0.8, "helps"), (0.6, "harms")])
def test_a_correction_that_helps_or_harms_is_told(effect, verdict, shadow):
    found = [judged(effect, seed, shadow=shadow) for seed in range(6)]
    assert {one.verdict for one in found} == {verdict}
    assert {one.proposed for one in found} == {verdict == "harms"}
    if verdict == "harms":
        # The fall that would have come anyway hides most of the harm from a naive count.
        assert np.mean([one.naive for one in found]) < 0.3 < np.mean([one.effect.value for one in found])


@pytest.mark.slow
def test_the_interval_covers_the_effect():
    truth = fitness(world(-0.8, 999, sessions=1500), PARTIAL, resamples=100).effect.value
    found = [judged(-0.8, seed) for seed in range(60)]
    assert sum(one.effect.low <= truth <= one.effect.high for one in found) >= 52  # 57 expected, sd 1.7


def test_with_little_data_there_is_no_number():
    few = judged(-0.8, 1, sessions=6)
    assert (few.verdict, few.basis, few.proposed) == ("not enough data", "none", False)
    assert math.isnan(few.effect.value)
    assert few.naive < 0.0
    assert "not enough data" in str(few)
    assert json.loads(json.dumps(few.to_dict(), allow_nan=False))["effect"]["value"] is None
    unknown = fitness(world(0.0, 1), "look_first")
    assert (unknown.given, unknown.controls, unknown.verdict) == (0, 0, "not enough data")
    assert math.isnan(unknown.naive)


def test_without_controls_there_is_no_number():
    given = [stretch for stretch in world(-0.8, 1) if stretch.drift.given]
    found = fitness(given, PARTIAL)
    assert (found.verdict, found.given, found.controls) == ("not enough data", 0, 0)
    assert found.unmatched > 100


def stretch(session, before, given, after):
    event = Drift("a", f"s{session}", 5, before, 6, "low", THIN, PARTIAL, given, randomised=True)
    return Stretch(event, after)


def test_windows_are_matched_by_their_sum():
    # Given at sums 9 (40 of them) and 12 (20); controls at 9 and 12, as many each; 15 has no control.
    rows = [stretch(i, 9, True, 1.0) for i in range(40)] + [stretch(i, 12, True, 1.5) for i in range(20)]
    rows += [stretch(i, 9, False, 1.2) for i in range(25)] + [stretch(i, 12, False, 2.1) for i in range(25)]
    rows += [stretch(i, 15, True, 0.0) for i in range(7)]
    found = fitness(rows, PARTIAL)
    assert found.effect.value == pytest.approx((40 * -0.2 + 20 * -0.6) / 60)
    assert (found.given, found.controls, found.unmatched) == (60, 50, 7)
    assert found.verdict == "helps"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.6, -0.1, "helps"),
        (-0.6, 0.1, "undecided"),
        (-0.26, 0.3, "undecided"),
        (-0.24, 0.3, "does not help"),
        (-0.2, -0.1, "does not help"),  # an improvement too small to be worth a sentence
        (0.01, 0.9, "harms"),
        (math.nan, math.nan, "not enough data"),
    ],
)
def test_the_verdict_is_read_off_the_interval(low, high, verdict):
    assert _verdict(Estimate((low + high) / 2, low, high)) == verdict


def test_what_a_draw_decided_is_compared_alone_where_there_is_enough_of_it():
    drawn = [stretch(i, 9, given, 1.0) for i in range(30) for given in (True, False)]
    # In shadow mode the sessions were better: compared with them the correction would look harmful.
    shadow = [stretch(100 + i, 9, False, 0.2) for i in range(60)]
    shadow = [Stretch(dataclasses.replace(one.drift, randomised=False), one.after) for one in shadow]
    found = fitness(drawn + shadow, PARTIAL)
    assert (found.basis, found.effect.value, found.controls) == ("randomised", 0.0, 30)
    few = fitness(drawn[:20] + drawn[20::2] + shadow, PARTIAL)
    assert (few.basis, few.given, few.controls) == ("matched", 30, 70)
    assert few.verdict == "harms"


def test_stretches_need_all_of_what_follows_and_the_scores_they_came_from():
    scores = [3, 3, 0, 1, 2]
    events = feed(DriftMonitor(DriftRules(window=2, horizon=2)), scores)
    (one,) = stretches_of(events, {("a", "s"): scores}, 2)
    assert (one.drift.mean, one.after) == (3.0, 0.5)
    assert stretches_of(events[:1], {("a", "s"): scores[:3]}, 2) == []
    for wrong in ({}, {("a", "s"): [3, 2, 0, 1]}, {("a", "s"): [3]}):
        with pytest.raises(AdequacyError, match="allowed: an event of these scores"):
            stretches_of(events, wrong, 2)
    with pytest.raises(AdequacyError, match="horizon: got 0"):
        stretches_of(events, {("a", "s"): scores}, 0)


# --------------------------------------------------------------------------------------------- retirement


def test_only_a_person_retires_a_correction(tmp_path):
    path = tmp_path / "retired.jsonl"
    assert retired(path) == frozenset()
    for by, reason in [("", "no effect"), ("editor", " "), (None, "no effect")]:
        with pytest.raises(AdequacyError, match="allowed: a text"):
            retire(path, PARTIAL, by, reason)
    assert not path.exists()
    retire(path, PARTIAL, "editor", "no effect in 120 stretches")
    assert retired(path) == {PARTIAL}
    with pytest.raises(AdequacyError, match="retired already"):
        retire(path, PARTIAL, "editor", "again")
    # The next most specific answers, and the table in its file is as it was.
    (event,) = feed(DriftMonitor(DriftRules(window=2), retired=retired(path)), [3, 0])
    assert event.correction == "second_look"
    assert PARTIAL in load_corrections().ids


def test_what_can_not_be_retired(tmp_path):
    path = tmp_path / "retired.jsonl"
    with pytest.raises(AdequacyError, match="correction: got 'none'; allowed: default"):
        retire(path, "none", "editor", "no effect")
    with pytest.raises(AdequacyError, match="'default', the default; allowed: any other row"):
        retire(path, "default", "editor", "no effect")
    rows = [
        ("default", "*", "*"),
        ("loud", "definitive", "*"),
        ("thin", "*", "thin"),
        ("both", "definitive", "thin"),
    ]
    table = tmp_path / "table.toml"
    table.write_text(
        "version = 1\n"
        + "".join(
            f'[[correction]]\nid = "{name}"\nseverity = "*"\nwords = "{words}"\nevidence = "{evidence}"\ntext = "x"\n'
            for name, words, evidence in rows
        ),
        encoding="utf-8",
    )
    with pytest.raises(AdequacyError, match="corrections without both: 'loud' and 'thin' tie"):
        retire(path, "both", "editor", "no effect", load_corrections(table))
    assert not path.exists()


def test_a_wrong_decision_is_named_with_its_line(tmp_path):
    path = tmp_path / "retired.jsonl"
    retire(path, PARTIAL, "editor", "no effect")
    line = json.loads(path.read_text(encoding="utf-8"))
    append_lines(path, [{**line, "decision": "maybe"}])
    with pytest.raises(AdequacyError, match=r"line 2: got .*allowed: correction, decision"):
        retired(path)
