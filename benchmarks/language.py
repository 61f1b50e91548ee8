"""Does enforced debt teach a language model to overclaim less? ``python -m benchmarks.language MODEL``.

MODEL is a folder that ``python -m examples.language.model`` wrote. The model imitates a crowd of scripts that
overclaims. Then GRPO trains it where debt is enforced and where it is only tracked, two seeds each. Before, halfway and
after it plays the same fresh labs with lines drawn from its distribution: its most probable lines alone are nearly
honest as soon as it has imitated. The same command continues an interrupted study.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent.files import write_json
from solvent_agents import PLAYERS, episodes
from solvent_experiments.figures.language import SCRIPTS, language
from solvent_experiments.figures.style import head, save, styled
from solvent_experiments.provenance import provenance
from solvent_experiments.statistics import Interval, Sample, difference, mean_interval, share_interval
from solvent_experiments.studies.results import Measured, Number, StudyResult, show
from solvent_experiments.studies.study import Finding, verdict_on

TITLE = "A language model that is paid for truth"
CLAIM = (
    "Training with enforced debt lowers the overclaimed bits; training where debt is only tracked does not."
)
"""Written before the runs."""
SEEDS = (0, 1)
ARMS = {"enforced": False, "tracked": True}
STEPS, IMITATED, LABS = 60, 320, 500
KEPT = 50
"""Transcripts that are kept of a model's episodes."""
PARTS = {"halfway": STEPS // 2, "after": STEPS}
COLUMNS = ("return", "published_bits", "debt_added", "calibrations", "invalid")
SHARE = ("wrong", "accepted")
CHANGES = {"debt_added": "overclaimed bits", "return": "bits of return", "calibrations": "calibrations"}
OUT = Path(__file__).resolve().parent.parent / "docs" / "results" / "studies"
Columns = Mapping[str, Sequence[float]]
"""What each episode came to."""


# -- training and playing, each in one of two processes


def imitated(source: Path, folder: Path) -> Path:
    """Return the folder of the model that has imitated the crowd."""
    from examples.language.imitate import imitate_crowd

    if not (folder / "model.safetensors").exists():
        imitate_crowd(source, folder, IMITATED)
    return folder


def measured(model: Path, tracked: bool, file: Path, *, greedy: bool = False) -> dict[str, Any]:
    """Return the columns of a model's episodes on fresh labs, and some transcripts; from the file if it is there."""
    from examples.language.evaluate import FIRST_SEED, columns_of, lab, loaded, played

    if not file.exists():
        conversations = played(
            *loaded(model), lab(tracked), range(FIRST_SEED, FIRST_SEED + LABS), greedy=greedy
        )
        rows = [columns_of(one) for one in conversations]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        write_json(file, {"columns": columns, "transcripts": [one.lines for one in conversations[:KEPT]]})
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def before(start: Path, root: Path, arm: str) -> dict[str, Any]:
    """Measure the imitating model under the rules of an arm."""
    return measured(start, ARMS[arm], root / f"before-{arm}.json")


def most_probable(start: Path, root: Path, arm: str) -> dict[str, Any]:
    """Measure the imitating model's most probable lines under the rules of an arm."""
    return measured(start, ARMS[arm], root / f"greedy-{start.name}-{arm}.json", greedy=True)


def trained(start: Path, root: Path, arm: str, seed: int) -> dict[str, Any]:
    """Train one seed of an arm, measure it halfway and after, and return this with what its episodes earned."""
    from examples.language.evaluate import lab
    from examples.language.train import train

    folder, parts = root / f"{arm}-{seed}", {}
    for part, steps in PARTS.items():
        file = root / f"{arm}-{seed}-{part}.json"
        if not file.exists():
            train(start, lab(ARMS[arm]), folder, steps=steps, seed=seed)
        parts[part] = measured(folder, ARMS[arm], file)
    lines = (folder / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    steps_played = {row["step"]: row for row in map(json.loads, lines)}  # of one played twice the later
    return {"training": list(steps_played.values()), **parts}


def scripts() -> dict[str, Columns]:
    """Return the episodes of scripts on the same labs, the crowd that was imitated among them."""
    from examples.language.evaluate import FIRST_SEED, lab
    from examples.language.imitate import CROWD

    seeds = range(FIRST_SEED, FIRST_SEED + LABS)

    def columns(*names: str, tracked: bool = False) -> Columns:
        params = lab(tracked)
        played = [episodes(PLAYERS[name](params, 0), params, seeds) for name in names]
        measures = [name for name in (*COLUMNS, *SHARE) if name != "invalid"]
        joined = {name: np.concatenate([one[name] for one in played]) for name in measures}
        return {**joined, "invalid": np.zeros(len(joined["return"]))}

    return {
        "exact": columns("exact"),
        "honest": columns("honest"),
        "the crowd": columns(*CROWD),
        "honest, debt tracked": columns("honest", tracked=True),
        "max_claimer, debt tracked": columns("max_claimer", tracked=True),
    }


# -- results


def means(columns: Columns) -> dict[str, Number]:
    """Return the mean of each column with its interval, and the share of findings that are wrong."""
    samples = {name: Sample([np.asarray(columns[name], float)]) for name in (*COLUMNS, *SHARE)}
    intervals = {name: mean_interval(samples[name]) for name in COLUMNS}
    intervals["share_wrong"] = share_interval(*(samples[name] for name in SHARE))
    return {name: Number.of(interval) for name, interval in intervals.items()}


def after(arms: Mapping[tuple[str, int], Any], arm: str, column: str) -> Sample:
    """Return a column after an arm's trainings, by seed and lab."""
    plays = [arms[arm, seed]["after"]["columns"] for seed in SEEDS]
    return Sample([np.asarray(columns[column], float) for columns in plays], trained=True)


def change(of_seeds: Sample, start: Sequence[float]) -> Interval:
    """Return a column's mean after training minus before on the same labs, over seeds and labs."""
    before_each = Sample([np.asarray(start, float)] * len(of_seeds.groups))
    return difference(before_each, of_seeds, paired=True)


def findings(first: Mapping[str, Any], arms: Mapping[tuple[str, int], Any]) -> Iterator[Finding]:
    """Yield what training changed; the claim is about the overclaimed bits."""
    expected = {("enforced", "debt_added"): -1, ("tracked", "debt_added"): 1}
    for column, unit in CHANGES.items():
        for arm in ARMS:
            number = change(after(arms, arm, column), first[arm]["columns"][column])
            yield Finding(f"{arm}: {unit}, after minus before", number, unit, expected.get((arm, column), 0))
    enforced, tracked = (after(arms, arm, "debt_added") for arm in ARMS)
    unit = CHANGES["debt_added"]
    yield Finding(
        f"enforced minus tracked: {unit}, after", difference(tracked, enforced, paired=True), unit, 0
    )


def transcripts(first: Mapping[str, Any], arms: Mapping[tuple[str, int], Any]) -> dict[str, list[str]]:
    """Return the first lab in which the imitating model overclaims, before training and after."""
    overclaimed = first["enforced"]["columns"]["debt_added"][:KEPT]
    lab = next((i for i, bits in enumerate(overclaimed) if bits > 0.0), 0)
    plays = {"before": first["enforced"], **{arm: arms[arm, SEEDS[0]]["after"] for arm in ARMS}}
    return {name: play["transcripts"][lab] for name, play in plays.items()}


def result_of(
    first: Mapping[str, Any], arms: Mapping[tuple[str, int], Any], others: Mapping[str, Columns], command: str
) -> StudyResult:
    """Return the result of the study."""
    rows = {f"imitating, debt {arm}": first[arm]["columns"] for arm in ARMS}
    for (arm, seed), of in arms.items():
        rows |= {f"{arm}, seed {seed}, {part}": of[part]["columns"] for part in PARTS}
    measures = list(findings(first, arms))
    return StudyResult(
        **provenance(command),
        title=TITLE,
        claim=CLAIM,
        verdict=verdict_on(measures),
        findings={finding.name: Measured.from_finding(finding) for finding in measures},
        means={label: means(columns) for label, columns in {**rows, **others}.items()},
        seeds={arm: list(SEEDS) for arm in ARMS},
        series={
            "training": {f"{arm}, seed {seed}": of["training"] for (arm, seed), of in arms.items()},
            "transcripts": transcripts(first, arms),
        },
        notes=["Two training seeds for each arm: their intervals are coarse."],
    )


def drawn(result: StudyResult) -> Figure:
    """Draw the result."""
    scripts = {name: {column: mean.value for column, mean in result.means[name].items()} for name in SCRIPTS}
    return language(result.series["training"], scripts)


def main() -> None:
    """Run what is left of the study, print it, and write its result and figure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.language",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, help="a folder that model.py wrote")
    parser.add_argument("--runs", type=Path, default=Path("runs/language"), help="folder of trainings")
    options = parser.parse_args()
    start = imitated(options.model, options.runs / "imitated")
    os.environ["OMP_NUM_THREADS"] = "1"  # of each of the two processes
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        plays = {arm: pool.submit(before, start, options.runs, arm) for arm in ARMS}
        trainings = {
            (arm, seed): pool.submit(trained, start, options.runs, arm, seed)
            for seed in SEEDS
            for arm in ARMS
        }
        first = {arm: play.result() for arm, play in plays.items()}
        arms = {key: training.result() for key, training in trainings.items()}
        greedy = {
            f"imitating, debt {arm}, most probable lines": pool.submit(
                most_probable, start, options.runs, arm
            )
            for arm in ARMS
        }
        others = {label: play.result()["columns"] for label, play in greedy.items()} | scripts()
    result = result_of(first, arms, others, f"python -m benchmarks.language {options.model.name}")
    show(result)
    write_json(OUT / "language.json", result.model_dump())
    with styled():
        figure = drawn(result)
        head(figure, f"language: {TITLE}")
        print("written:", OUT / "language.json", save(figure, OUT / "language"))


if __name__ == "__main__":
    main()
