"""The final evaluation: the held-out labels and the report half of the search traces, scored once and written down.

    python -m solvent.adequacy.final_evaluation --seekbench seekbench_data.jsonl docs/results/adequacy_heuristic.json

The result holds the date, the command and the SHA-256 of every file it depends on, and an existing one is never
replaced: a half that has been looked at twice is a tuning set. The dev half and the tune half stand beside them, so
that a reader sees what tuning has won there that does not carry over. Source: "Epistemic Adequacy Design", phase 3.
Known approximation: "once" is held by this file's refusal and the commit, not by anything stronger. The halves of our
own data have been scored: a result written from here on is of data that has been looked at, and only other data can say
how good a changed heuristic is.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.evaluation import Scorer, evaluate_examples, evaluate_seekbench
from solvent.adequacy.labelled import DEV, HELD_OUT, load_examples
from solvent.adequacy.seekbench import FORM, Form, halves, load_traces

__all__ = ["final_results", "main", "write_once"]

_HERE = Path(__file__).parent
_PACKAGE = "solvent.adequacy"
_EVALUATION = (
    "agreement",
    "baselines",
    "evaluation",
    "final_evaluation",
    "labelled",
    "seekbench",
    "separation",
)


def final_results(
    seekbench: Path | None = None,
    *,
    held_out: Path = HELD_OUT,
    scorer: Scorer | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Both evaluations as JSON can hold them; without ``seekbench`` only that of the labelled responses.

    Raises:
        AdequacyError: a file that can't be read or evaluated.
    """
    files = [DEV, held_out, *_scorer_files(), *([seekbench] if seekbench else [])]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "sha256": {path.name: _sha256(path) for path in files},
        "labelled": {
            "held_out": evaluate_examples(load_examples(held_out), scorer).to_dict(),
            "dev": evaluate_examples(load_examples(DEV), scorer).to_dict(),
        },
        "seekbench": None if seekbench is None else _seekbench(seekbench, scorer),
    }


def write_once(path: str | os.PathLike[str], results: dict[str, Any]) -> None:
    """Write the results; the folder is made where there is none.

    Raises:
        AdequacyError: the file is there, or can't be written.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(results, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        os.link(beside, target)  # a rename would replace what is there
    except FileExistsError:
        raise AdequacyError(f"{target}: is there; allowed: a new file, the half is scored once") from None
    except OSError as error:
        raise AdequacyError(f"{target}: not written, {error.strerror}; allowed: a file in a folder") from None
    finally:
        beside.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of the module; 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m solvent.adequacy.final_evaluation")
    parser.add_argument("out", type=Path, help="the file of results, which must not be there yet")
    parser.add_argument("--seekbench", type=Path, help="seekbench_data.jsonl; left out without it")
    given = parser.parse_args(arguments)
    try:
        if given.out.exists():  # before the half is looked at
            raise AdequacyError(f"{given.out}: is there; allowed: a new file, the half is scored once")
        command = "python -m solvent.adequacy.final_evaluation " + " ".join(_told(given))
        write_once(given.out, final_results(given.seekbench, command=command))
    except AdequacyError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _told(given: argparse.Namespace) -> Iterable[str]:
    if given.seekbench:
        yield f"--seekbench {given.seekbench.name}"
    yield str(given.out)


def _seekbench(path: Path, scorer: Scorer | None) -> dict[str, Any]:
    """The report half in the chosen form, and the tune half in all of them."""
    tuned: dict[str, Any] = {}
    for form in get_args(Form):
        tune, _ = halves(_answered(path, form))
        tuned[form] = evaluate_seekbench(tune, scorer).to_dict()
    _, report = halves(_answered(path, FORM))
    return {"form": FORM, "report": evaluate_seekbench(report, scorer).to_dict(), "tune": tuned}


def _answered(path: Path, form: Form) -> list[Any]:
    return [trace for trace in load_traces(path, form) if trace.answer is not None]


def _scorer_files() -> list[Path]:
    """What the heuristic is made of: the modules of this package that it loads, and its lexicon."""
    importlib.import_module("solvent.adequacy.heuristic")
    loaded = sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith(f"{_PACKAGE}."))
    own = [name for name in loaded if name not in _EVALUATION]
    return [_HERE / "lexicon.toml", *(path for name in own if (path := _HERE / f"{name}.py").is_file())]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise AdequacyError(f"{path}: not read, {error.strerror}; allowed: a file") from None


if __name__ == "__main__":
    sys.exit(main())
