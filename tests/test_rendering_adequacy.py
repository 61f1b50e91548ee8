"""What a person sees of a lab that holds words against evidence: who decided, the scores, what the agent is told."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solvent.lab.batch import resolve_params
from solvent.lab.params import LabParams
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.canvas import Canvas
from solvent.lab.rendering.history import History
from solvent.lab.rendering.panels import adequacy as adequacy_panel
from solvent.lab.rendering.panels import gate as gate_panel
from solvent.lab.rendering.panels.adequacy import correction_in_force, its_words, scored
from solvent.lab.rendering.panels.outcome import judged, tell
from solvent.lab.rendering.sheet import NARROWEST, Sheet
from solvent.lab.rendering.view import View
from solvent.lab.rendering.words import contaminated
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import Verb
from solvent.lab.words.measured import SHIPPED, load_measured, save_measured
from solvent.lab.words.notebook import plural
from solvent.lab.words.rows import WORDINGS
from solvent.lab.words.sentences import corrections_of
from tests.labs import LEFT_OUT, forged, merged, open_lab, put, study, take, uncoloured, unframed

ALL_DAY = {"energy": {"present_from": 0, "present_until": 24}}
SHADOW = {"debt": {"enforced": False}, "gate": {"enforced": False}, "adequacy": {"enforced": False}}
COLUMN = 1292.0
"""Where the gate's column begins in a picture with energy."""


def renamed(folder: Path, names: dict[str, str], text: str) -> Path:
    """The shipped words under other names of compounds, as long as they like; every correction has this text."""
    shipped = load_measured()
    corrections = shipped.about["corrections"]
    about = {
        **shipped.about,
        "compounds": [names.get(name, name) for name in shipped.about["compounds"]],
        "corrections": {**corrections, "texts": dict.fromkeys(corrections["texts"], text)},
    }
    path = folder / SHIPPED.name
    save_measured(path, dataclasses.replace(shipped, about=about))
    return path


@pytest.fixture
def longest(tmp_path: Path) -> LabParams:
    """A lab with long names whose corrections all have the longest text that there may be."""
    long = (
        "Say what was looked at, what was left out, and how likely it is that what was left out matters; " * 3
    )[:199] + "."
    names = {"nocodazole": "tetrahydrouridine-5'-phosphate", "CCCP": "hydroxycamptothecin-20(S)"}
    tables = renamed(tmp_path, names, long)
    compounds = [names.get(name, name) for name in resolve_params({}, "lab").assay.compounds]
    return resolve_params({"assay": {"compounds": compounds}, "gate": {"tables": str(tables)}}, "lab")


@pytest.mark.parametrize("width", [NARROWEST, 80, 96])
def test_the_panel_of_the_gate_does_not_jump(width: int) -> None:
    params, rng = resolve_params({}, "lab"), np.random.default_rng(5)
    for lines in (adequacy_panel.lines, adequacy_panel.brief_lines):
        heights = set()
        for _ in range(30):
            lab, step = forged(params, rng, 9, says=True)
            history = History([])
            heights.add(len(lines(Sheet(width), View(params, lab, step, history))))
            Renderer(params, "ansi").book.judge(history, lab, step)
            assert history.finding is not None
            heights.add(len(lines(Sheet(width), View(params, lab, step, history))))
        assert len(heights) == 1


# -- what decided


def shown(made: Any) -> str:
    """The lab as a text without its frame; of a viewer who has not seen it before."""
    lab, step = made.batch.labs[0], made.batch.steps[0]
    return unframed(Renderer(made.params, "ansi").draw(lab, step))


@pytest.mark.parametrize(
    ("named", "gap", "plates", "confidence", "said"),
    [
        (
            4,
            0,
            1,
            0.95,
            "Under review for 4 h: its words are definitive, with one plate behind them (score 2)",
        ),
        (0, 0, 1, 0.95, "Rejected: its words are absolute, with one plate behind them (score 3)"),
        (
            0,
            0,
            3,
            0.95,
            "Under review for 4 h: its words are absolute, with three plates behind them (score 2)",
        ),
        (4, 0, 5, 0.95, "Accepted: 0.000 unexplained, at most 0.071 (P20), words score 0; it is right"),
        (4, 300_000, 1, 0.75, "Rejected: 0.300 unexplained, above 0.089 (P20), words score 1"),
        (4, 300_000, 1, 0.95, "Rejected: 0.300 unexplained, above 0.089 (P20), words score 2"),
        (
            0,
            300_000,
            1,
            0.95,
            "Rejected: 0.300 unexplained, above 0.089 (P20), and its words are absolute, with one",
        ),
        (
            4,
            80_000,
            1,
            0.95,
            "Under review for 4 h: 0.080 unexplained, between 0.071 and 0.089 (P20), and its words",
        ),
    ],
)
def test_the_outcome_says_what_decided(
    named: int, gap: int, plates: int, confidence: float, said: str
) -> None:
    made = open_lab(ALL_DAY, "lab")
    put(made, energy=in_thousandths(20.0))
    study(made, 2, dose_responses=plates, named=named, gap=gap)
    before = made.notebook(2)
    info, step, lab = take(made, Verb.PUBLISH_PUBLIC, 2, confidence=confidence)
    text = shown(made)
    assert said in text
    assert judged(made.params, lab, step) in text
    finding = before.findings[
        ("hedged", "plain", "definitive").index({0.5: "hedged", 0.75: "plain"}.get(confidence, "definitive"))
    ]
    by = {"gate": " by the gate", "adequacy": " by its words", "both": " by both", "": ""}[finding.decided_by]
    assert f"verdict {info['verdict']}{by} " in text
    if finding.gate_verdict != finding.verdict:
        assert f" · the gate: {finding.gate_verdict} " in text
    words = scored(info["adequacy_rule"], plates, info["adequacy"]).removeprefix("words ")
    assert f"words   {words} " in text
    counts = [int(score == info["adequacy"]) for score in range(4)]
    assert f"scores 0 to 3: {', '.join(map(str, counts))}" in text
    for wording, now in zip(WORDINGS, made.notebook(2).findings, strict=True):
        who = {"gate": " by the gate", "adequacy": " by its words", "both": " by both", "": ""}[
            now.decided_by
        ]
        assert (
            f"{wording:<11}would be {now.verdict}{who}, score {now.adequacy}, {now.energy:.3f} unexplained"
            in text
        )


def test_half_sentences() -> None:
    assert (
        its_words("definitive/thin", 1, 2) == "its words are definitive, with one plate behind them (score 2)"
    )
    assert its_words("absolute/none", 0, 3) == "its words are absolute, with no plate behind them (score 3)"
    assert its_words("plain/ample", 7, 0) == "its words are plain, with 7 plates behind them (score 0)"
    assert its_words("nothing_asserted", 1, 0) == "it claims nothing (score 0)"
    assert scored("definitive/thin", 1, 2) == "words definitive, 1 plate: score 2"
    assert scored("nothing_asserted", 2, 0) == "words no claim, 2 plates: score 0"
    assert plural(1, "screen") == "1 screen"


# -- corrections


def erred(params: dict[str, Any], **how: Any) -> Any:
    """A lab that has just told all readers something wrong, hedged."""
    made = open_lab({**ALL_DAY, **params}, "lab")
    put(made, energy=in_thousandths(20.0))
    study(made, 2, dose_responses=3, right=False)
    take(made, Verb.PUBLISH_PUBLIC, 2, confidence=0.5, **how)
    return made


@pytest.mark.parametrize("governance", [True, False])
def test_who_erred_in_public_is_told_and_sees_how_long_it_holds(governance: bool) -> None:
    made = erred({"gate": {"calm_heartbeats": 5, "governance": governance}})
    text, correction = shown(made), made.correction
    assert correction
    sentence = "A published error: the gate is at P10." if governance else "A published error."
    assert "it is wrong, −0.81 bits" in text
    assert f"{sentence} You are told: {correction}" in text
    left = []
    while made.correction:
        now = correction_in_force(made.params, made.batch.labs[0])
        assert now is not None
        assert f"told    for {now.hours} h more: {correction}" in shown(made)
        left.append(now.hours)
        take(made, Verb.REST)
        assert "You are told" not in shown(made)
    assert left == [6, 5, 4, 3, 2, 1]  # what is left of this hour, and five
    assert "told    nothing" in shown(made)


def test_a_reader_who_approves_an_error_has_it_told_too() -> None:
    made = open_lab(ALL_DAY, "lab")
    put(made, energy=in_thousandths(20.0))
    study(made, 2, dose_responses=1, right=False)
    take(made, Verb.PUBLISH_PUBLIC, 2, confidence=0.95)
    name = made.params.assay.compounds[2]
    for hours in (4, 3, 2, 1):
        assert f"reviews {name} in {hours} h" in shown(made)
        take(made, Verb.REST)
    text = shown(made)
    assert f"The reader approved {name}, which is wrong. " in text
    assert f"A published error. You are told: {made.correction}" in text
    assert "A definitive claim from one observation was relied upon" in text


def test_nobody_is_told_in_private_or_in_a_shadow() -> None:
    made = open_lab(merged(ALL_DAY, LEFT_OUT), "lab")
    put(made, energy=in_thousandths(20.0))
    study(made, 2, dose_responses=3, right=False)
    take(made, Verb.PUBLISH_PRIVATE, 2, confidence=0.5)
    assert "it is wrong" in shown(made)
    assert "You are told" not in shown(made)
    text = shown(erred({"gate": {"governance": True}, "adequacy": {"enforced": False}}))
    assert "A published error: the gate is at P10." in text
    assert "You are told" not in text
    assert "told    nothing" in text


# -- what has no consequence


def test_what_has_no_consequence_is_said(drawn: list[Text]) -> None:
    made = open_lab({**SHADOW, **ALL_DAY, "gate": {"enforced": False}}, "lab")
    put(made, energy=in_thousandths(20.0))
    study(made, 2, dose_responses=1, named=0, gap=300_000)
    take(made, Verb.PUBLISH_PUBLIC, 2, confidence=0.95)
    params, lab, step = made.params, made.batch.labs[0], made.batch.steps[0]
    mark = "contaminated: debt, gate, adequacy not enforced"
    assert contaminated(params) == mark
    text = uncoloured(Renderer(params, "ansi", sheet=Sheet(NARROWEST)).draw(lab, step))
    assert text.startswith("╭─ contaminated ")
    assert "╭─ Solvent, contaminated " in uncoloured(Renderer(params, "ansi").draw(lab, step))
    assert text.split("\n")[-1].startswith(f"╰─ {mark} ─")
    said = tell(params, lab, step)[1]
    assert said.startswith(
        "Accepted: 0.300 unexplained, above 0.089, not enforced (P20), words score 3, not enforced; it is right"
    )
    assert "accept · not enforced: the gate reject, its words reject " in unframed(text)
    Renderer(params, "rgb_array").draw(lab, step)
    (found,) = [text for text in drawn if text.said == mark]
    assert found.right < min(text.left for text in drawn if text.said == "heartbeat")


def test_without_a_plate_nothing_gets_out_even_where_the_gate_is_not_enforced() -> None:
    made = open_lab({**ALL_DAY, "gate": {"enforced": False}, "adequacy": {"enforced": False}}, "lab")
    put(made, energy=in_thousandths(20.0))
    take(made, Verb.PUBLISH_PUBLIC, 2, confidence=0.5)
    text = shown(made)
    assert "Rejected: no experiment was run on it (P20)" in text
    assert "verdict reject by having no plate" in text


@pytest.mark.parametrize(
    ("off", "mark"),
    [
        ({"debt": {"enforced": False}}, "contaminated: debt is not enforced"),
        ({"adequacy": {"enforced": False}}, "contaminated: adequacy is not enforced"),
        (
            {"debt": {"enforced": False}, "adequacy": {"enforced": False}},
            "contaminated: debt, adequacy not enforced",
        ),
        ({}, ""),
    ],
)
def test_the_mark_names_what_is_not_enforced(off: dict[str, Any], mark: str) -> None:
    assert contaminated(resolve_params(off, "lab")) == mark


# -- the picture


class Text:
    """A text as it was drawn: what, and where."""

    def __init__(self, said: str, left: float, right: float, baseline: float, size: float) -> None:
        self.said, self.left, self.right, self.baseline, self.size = said, left, right, baseline, size

    def overlaps(self, other: Text) -> bool:
        """Whether the letters of both share a place: from the baseline up as high as a capital."""
        above = self.baseline - 0.7 * self.size < other.baseline
        below = other.baseline - 0.7 * other.size < self.baseline
        return above and below and self.left < other.right and other.left < self.right


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    """Every text that is drawn from now on."""
    texts: list[Text] = []
    draw = Canvas.text

    def listen(self: Canvas, text: str, x: float, baseline: float, style: Any, **how: Any) -> float:
        length = draw(self, text, x, baseline, style, **how)
        left = x - how.get("align", 0.0) * length
        if length:
            texts.append(
                Text(
                    self._cut(self.face(style), text, how.get("width") or 1e9),
                    left,
                    left + length,
                    baseline,
                    style.size,
                )
            )
        return length

    monkeypatch.setattr(Canvas, "text", listen)
    return texts


def test_nothing_in_the_column_overlaps_and_nothing_is_cut_off(longest: LabParams, drawn: list[Text]) -> None:
    drawer, rng = Renderer(longest, "rgb_array"), np.random.default_rng(11)
    assert all(len(known.text) == 200 for known in corrections_of(longest))
    told_lines = 0
    for _ in range(40):
        lab, step = forged(longest, rng, 20, says=True)
        lab["decision_at"] = 0
        for name in ("reviewed", "discomfort", "approved", "declined"):
            step[name] = 0
        drawn.clear()
        drawer.draw(lab, step)
        column = [text for text in drawn if text.left >= COLUMN and 60 < text.baseline < 590]
        assert all(text.right <= 1632.5 for text in column), [t.said for t in column if t.right > 1632.5]
        assert not [text.said for text in column if text.said.endswith("…")]
        pairs = [(a.said, b.said) for i, a in enumerate(column) for b in column[:i] if a.overlaps(b)]
        assert not pairs
        words = " ".join(text.said for text in column)
        said = drawer.book.see(lab).finding
        assert said is not None
        assert f"“{said.sentence}”" in words
        if lab["correction"] >= 0:
            assert corrections_of(longest)[lab["correction"]].text in words
            told_lines += 1
        assert all(str(count) in words for count in lab["scores"])
        assert f"score {step['adequacy']}" in words
        footer = [text for text in drawn if text.baseline > 592]
        assert all(text.baseline < 638 and text.right <= 1632.5 for text in footer)
        assert not [text.said for text in footer if text.said.endswith("…")]
    assert told_lines > 20


def test_pictures_show_who_decided(drawn: list[Text]) -> None:
    made = open_lab(ALL_DAY, "lab")
    put(made, energy=in_thousandths(20.0))
    study(made, 2, dose_responses=1)
    take(made, Verb.PUBLISH_PUBLIC, 2, confidence=0.95)
    Renderer(made.params, "rgb_array").draw(made.batch.labs[0], made.batch.steps[0])
    said = [text.said for text in drawn]
    assert "by its words (0.000 unexplained, at most 0.071)" in said
    assert {
        "definitive",
        "1 plate",
        "score 2",
        "none in force",
        "score 2 (words)",
        "scores",
    } <= set(said)


def test_the_window_shows_the_same_picture() -> None:
    params = resolve_params({}, "lab")
    lab, step = forged(params, np.random.default_rng(4), 9, says=True)
    window, image = Renderer(params, "human", fps=1000), Renderer(params, "rgb_array")
    assert window.draw(lab, step) is None
    assert window._picture is not None
    assert np.array_equal(window._picture.canvas.pixels(), image.draw(lab, step))
    window.close()


# -- on a small screen, and in words


def test_a_low_screen_keeps_what_matters_of_the_gate() -> None:
    made = erred({"gate": {"governance": True}})
    params, lab, step = made.params, made.batch.labs[0], made.batch.steps[0]
    least, brief = (
        uncoloured(Renderer(params, "ansi", sheet=Sheet(80, height)).draw(lab, step)) for height in (23, 30)
    )
    assert "─ gate P10, last accept ─" in least
    assert "─ correction for 13 h more ─" in least
    assert f"You are told: {made.correction}" in unframed(least)
    assert len(least.split("\n")) == 23
    assert "P30  P20 [P10] P5  P1" in brief
    assert "words   hedged, 3 plates: score 0" in brief
    assert f"told    for 13 h more: {made.correction}" in unframed(brief)
    assert len(brief.split("\n")) <= 30


@pytest.mark.parametrize(
    ("adequacy", "said"),
    [
        ({}, "From score 2 a reader decides, from 3 it is rejected. The more severe"),
        ({"review_from": 3}, "From 3 it is rejected. The more severe"),
        ({"reject_from": 4}, "From score 2 a reader decides, none is rejected. The more severe"),
        ({"review_from": 4, "reject_from": 4}, "Every score passes. The more severe"),
        ({"enforced": False}, "Here scores are recorded and have no consequence."),
    ],
)
def test_the_rules_in_a_few_lines_of_a_terminal(adequacy: dict[str, Any], said: str) -> None:
    params = resolve_params({"adequacy": adequacy, "gate": {"enforced": False}}, "lab")
    lines = list(adequacy_panel.rules(params).values())
    assert len(lines) <= 4
    assert any(line.startswith(said) for line in lines)
    measured = "\n".join(gate_panel.rules(params).values()).split("\n")
    assert "Here it only measures: every finding with an experiment behind it is accepted." in measured
    assert max(map(len, lines + measured)) <= 101


def test_without_adequacy_there_is_nothing_of_it(drawn: list[Text]) -> None:
    made = open_lab(base="gate")
    study(made, 2, dose_responses=1, right=False)
    take(made, Verb.PUBLISH_PUBLIC, 2, confidence=0.5)
    Renderer(made.params, "rgb_array").draw(made.batch.labs[0], made.batch.steps[0])
    everything = shown(made) + " ".join(text.said for text in drawn) + str(made.notebook(2))
    for word in (
        "scores 0",
        "score 0",
        "told",
        "orrection",
        "evidence",
        "tool log",
        "by the gate",
        "by its words",
    ):
        assert word not in everything
