"""Adequacy on labelled sets, and the hook on a long session: ``python -m benchmarks.adequacy``.

It writes ``docs/results/adequacy.json``: for each labelled set the agreement of the heuristic, of its marks alone and
of the number of calls with people, and the difference from version 0.3.0, paired; the time and the memory of a hook on
a session of 20 MB. With ``--judge URL --model NAME`` a language model is measured beside them; its answers are cached.
With ``--seekbench FILE`` (SeekBench, traces of search agents) the score is compared with experts' labels: whether the
last search result sufficed for the answer. Nothing was tuned to that set.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from solvent.adequacy import Call, calls_of, score
from solvent.adequacy.agreement import Labelled, agreement, baseline, kappa, kappa_difference, ratings_of
from solvent.adequacy.heuristic import WORST
from solvent.adequacy.judge import Judge
from solvent.chat import ChatError, ChatSettings
from solvent.files import cache_folder, read_records
from solvent_experiments.console import Progress, new_console, say
from solvent_experiments.provenance import write_result

LABELLED = Path("tests/adequacy/labelled")
SETS = ("agents_dev", "agents_held_out", "dev", "held_out")
JUDGED = SETS[:2]
"""Sets in the form of agents' turns; a judge on a processor takes some seconds for each response."""
RESULT = Path("docs/results/adequacy.json")
SESSION_BYTES = 20 * 2**20
HOOKS = 5


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adequacy", description="Measure adequacy.")
    parser.add_argument("--judge", default="", metavar="URL", help="Measure the model at this endpoint.")
    parser.add_argument("--model", default="", help="Its name.")
    parser.add_argument("--seekbench", type=Path, help="The file of SeekBench's traces.")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    examples = {name: list(read_records(LABELLED / f"{name}.jsonl", Labelled)) for name in SETS}
    earlier = json.loads((LABELLED / "version_0_3_0.json").read_text(encoding="utf-8"))
    measured: dict[str, Any] = {
        "sets": {name: _agreement(rows, earlier[name]) for name, rows in examples.items()}
    }
    # What needs a model or a file that is not in the repository stays as it was measured.
    before = json.loads(arguments.out.read_text(encoding="utf-8")) if arguments.out.exists() else {}
    judged = _judged(examples, arguments.judge, arguments.model) if arguments.judge else before.get("judge")
    traces = _traces(arguments.seekbench) if arguments.seekbench else before.get("search agents")
    measured |= {"judge": judged, "search agents": traces}
    measured["hook"] = _hook()
    write_result(arguments.out, measured, ["python", "-m", "benchmarks.adequacy", *sys.argv[1:]])
    say(f"written: {arguments.out}")


def _agreement(examples: list[Labelled], earlier: str) -> dict[str, Any]:
    """Return the agreement of each rater of a set, and the heuristic's difference from version 0.3.0."""
    ratings, labels = ratings_of(examples)
    rows = {
        row.rater: {"kappa": row.kappa._asdict(), "gain": row.gain._asdict()}
        for row in agreement(ratings, labels)
    }
    before = [int(score) for score in earlier]
    heuristic = [score or 0 for score in ratings["heuristic"]]
    stopped = [label for label, marks in zip(labels, ratings["marks alone"], strict=True) if marks]
    return {
        "responses": len(labels),
        "raters": rows,
        "less 0.3.0": kappa_difference(heuristic, before, labels)._asdict(),
        "stopped by label": [stopped.count(label) for label in range(4)],
    }


def _judged(examples: dict[str, list[Labelled]], url: str, model: str) -> dict[str, Any]:
    """Return how well a model agrees with the labels of agents' turns, and how much better than the heuristic."""
    judge = Judge(ChatSettings(url, model, timeout=600.0), cache_folder() / "judgements")
    rows = [row for name in JUDGED for row in examples[name]]
    ratings, labels = ratings_of(rows)
    with Progress(new_console(stderr=True)) as progress:
        for place, row in enumerate(rows):
            try:
                ratings["judge"][place] = judge.judge(
                    row.response, calls_of(row.tool_calls), row.query or ""
                ).epad
            except ChatError as error:
                say(str(error)[:200], stderr=True)
            progress.update(
                model, (place + 1) / len(rows), f"{place + 1:,} of {len(rows):,} responses judged"
            )
    answered = [place for place, score in enumerate(ratings["judge"]) if score is not None]
    scores = [ratings["judge"][place] or 0 for place in answered]
    own = [ratings["heuristic"][place] or 0 for place in answered]
    truth = [labels[place] for place in answered]
    by_rater = {row.rater: row for row in agreement(ratings, labels)}
    return {
        "model": model,
        "responses": len(rows),
        "answers": len(answered),
        "answers by score": {str(score): scores.count(score) for score in range(4)},
        "kappa": by_rater["judge"].kappa._asdict(),
        "judge less heuristic": kappa_difference(scores, own, truth)._asdict(),
        "judge less calls": by_rater["judge"].gain._asdict(),
    }


def _traces(path: Path) -> dict[str, Any]:
    """Return how the score of the final answers of search agents agrees with whether their last result sufficed."""
    heuristic, calls_alone, labels = [], [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        trace, question = json.loads(line)["trace"], json.loads(line)["question"]
        texts = {step["type"]: step for step in trace}
        answer = texts.get("CorrectAnswer") or texts.get("IncorrectAnswer")
        last = texts.get("search_result", {}).get("annotation", {}).get("attributes", {})
        if answer is None or "information_quality" not in last:
            continue
        queries = [step["query"] for step in trace if step["type"] == "search"]
        results = [step["documents"] for step in trace if step["type"] == "search_result"]
        calls = [
            Call(
                "search", {"query": query}, "\n".join(f"{page['title']}: {page['content']}" for page in pages)
            )
            for query, pages in zip(queries, results, strict=False)
        ]
        reasoning = texts.get("reasoning", {}).get("content", "")
        response = f"{reasoning} The answer is {answer['content']}."
        heuristic.append(score(response, calls, question).score)
        calls_alone.append(baseline(len(calls)))
        labels.append(0 if last["information_quality"] == "Sufficient" else WORST)
    return {
        "answers": len(labels),
        "insufficient": labels.count(WORST),
        "heuristic": kappa(heuristic, labels)._asdict(),
        "baseline": kappa(calls_alone, labels)._asdict(),
        "difference": kappa_difference(heuristic, calls_alone, labels)._asdict(),
    }


def _hook() -> dict[str, Any]:
    """Return the processor time and the peak memory of a hook's process on a session, and on its first turn alone."""
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.jsonl"
        lines = _session(session)
        times, peaks = [], []
        for _ in range(HOOKS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.monotonic()
            payload = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(session)}
            command = [
                sys.executable,
                "-m",
                "solvent_experiments",
                "adequacy",
                "hook",
                "--scores",
                f"{folder}/s.jsonl",
            ]
            subprocess.run(command, input=json.dumps(payload), text=True, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(
                (
                    after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
                    time.monotonic() - began,
                )
            )
            peaks.append(after.ru_maxrss / 1024)
        return {
            "session, MB": round(session.stat().st_size / 2**20, 1),
            "turns": lines // 4,
            "processor seconds": round(min(cpu for cpu, _ in times), 2),
            "seconds": round(min(wall for _, wall in times), 2),
            "peak memory, MB": round(max(peaks)),
            "processors": os.cpu_count(),
        }


def _session(path: Path) -> int:
    """Write a session of Claude Code's of ``SESSION_BYTES`` and return its number of lines."""
    text = "def send(request):\n    return post(request, timeout=30)\n" * 150
    count, before = 0, None
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < SESSION_BYTES:
            call = {
                "type": "tool_use",
                "id": f"t{count}",
                "name": "Read",
                "input": {"file_path": f"src/{count}.py"},
            }
            result = {"type": "tool_result", "tool_use_id": f"t{count}", "content": text}
            contents: list[tuple[str, Any]] = [
                ("user", f"What does src/{count}.py do?"),
                ("assistant", [call]),
                ("user", [result]),
                ("assistant", [{"type": "text", "text": "It posts a request with a timeout of 30."}]),
            ]
            for role, content in contents:
                line = {"type": role, "message": {"role": role, "content": content}, "parentUuid": before}
                before = f"u{count}"
                file.write(json.dumps(line | {"uuid": before, "sessionId": "s"}) + "\n")
                count += 1
    return count


if __name__ == "__main__":
    main()
