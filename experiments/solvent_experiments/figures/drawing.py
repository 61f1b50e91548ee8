"""All figures of a run by name, and how they are drawn into its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from solvent_experiments.figures.agents import claims, comparison, honesty
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.energy import energy_curve
from solvent_experiments.figures.episode import episode
from solvent_experiments.figures.findings import verdicts, words
from solvent_experiments.figures.style import head, save, styled
from solvent_experiments.figures.training import learning_curve, refusal_curve
from solvent_experiments.folder import RunFolder

FIGURES: Mapping[str, Callable[[RunData], Figure | None]] = {
    "episode": episode,
    "learning_curve": learning_curve,
    "refusal_curve": refusal_curve,
    "honesty": honesty,
    "comparison": comparison,
    "claims": claims,
    "energy_curve": energy_curve,
    "verdicts": verdicts,
    "words": words,
}
"""File name -> function that draws it, which returns None if the run has no data for it. The first is shown first."""

CAPTIONS: Mapping[str, str] = {
    "episode": "Refusals caused by debt so far, debt, wells, and accepted bits minus debt over an episode, means; a "
    "learner's band is from the 10th to the 90th percentile. "
    "At the bottom: refusals per episode by cause.",
    "learning_curve": "Return of training episodes against training steps, with a 95 % interval over training seeds. "
    "Dots and dashed lines are evaluations.",
    "refusal_curve": "Refusals per training episode by reason against training steps, one panel per learner.",
    "honesty": "Return against overclaimed bits per episode, those claimed and not learned or asserted and not "
    "licensed. Honest and successful agents are at the top left.",
    "comparison": "Return of each agent, its difference from the honest script on the same episodes, and the share of "
    "episodes above each return.",
    "claims": "Mean gain of the experiments with each claim, with the range from the 10th to the 90th percentile; a "
    "dot's area says how often. On the diagonal, gains equal claims. Numbers: claimed \N{RIGHTWARDS ARROW} gained.",
    "energy_curve": "Energy at the start of each heartbeat, and energy spent per episode by intent.",
    "verdicts": "Share of findings by the gate's verdict, wrong findings accepted per episode, and the shares while "
    "learning.",
    "words": "Share of findings by the score of their words, from 0 (no stronger than the evidence) to 3, the mean "
    "score, and the scores while learning.",
}
"""File name -> what a reader of the report needs to know about the figure."""


def draw(folder: RunFolder, names: Iterable[str] = FIGURES, kinds: Sequence[str] = ("png",)) -> list[Path]:
    """Draw figures of a run into its ``figures`` folder; return the images of those that it has data for."""
    run, drawn = load_run(folder), []
    with styled():
        for name in names:
            if (figure := FIGURES[name](run)) is not None:
                head(figure, run.heading, run.experiment.mark)
                drawn.append(save(figure, folder.figures / name, kinds))
    return drawn
