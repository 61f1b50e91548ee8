"""Find phrases that plain English words differently: ``python tests/english.py``.

It reads documentation and sources. A space in a pattern also stands for the marks where a string or comment wraps.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("docs", "envs", "agents", "experiments", "benchmarks", "examples", "tools", "notebooks")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff")
MEASURE = (
    "bits|wells|actions|plates?|labs|rows?|lines?|uniforms?|findings|refusals|steps|seeds|sentences|threads?"
)
UNIT = (
    "episode|run|step|seed|heartbeat|lab|compound|level|page|row|hour|process|file|claim|readout|runner|group"
)

PATTERNS = {
    "per, not a": rf"(\b({MEASURE}|once|twice|one|one [a-z]+|\d)|\}}) an? ({UNIT})\b",
    "is not a": r"(?<!\bthere\s)\b(is|are|was|were|or is) no (?!longer|more|less)[`\w]+",
    "who without antecedent": r"([.;]|, and|, or)\s+who\s+[a-z]+s\b",
    "regardless of": r"\bwhatever ((becomes|became|comes|came) of|it came to)\b",
    "compared with": r"\b(held|hold|holds) against\b",
    "for lack of": r"\bfor want of\b",
    "its own": r"\bof (its|their|one's|his|her) own\b",
    "continues": r"\b(goes|went) on\b",
    "as long as it": r"\bas far as (it|they)\b",
    "than is needed": r"\bthan (it|they) may be\b",
    "worthwhile, supported": r"\bworth (its|their) while\b|\b(borne|bears?) out\b",
    "too expensive": r"\btoo dear\b",
    "8 wells, charged 9": r"\bcharged as\b",
    "x % of it; limit y %": r"\ballowed are\b",
    "instead of that": r"\bin place of\b",
    "from scratch": r"\b(learns?|trains?|trained|starts?|both) from nothing\b",
    "pending": r"\b(decides?|decided|what) waits\b(?! for)",
    "provides information about": r"\bteach(es)? about\b",
    "in the lab": r"\bat the bench\b",
    "again, or a verb with re-": r"\banew\b",
    "minus": r"\b(bits|truth|return|findings) less (?!than)\w+|\bless the honest\b",
    "what is blocking you": r"\bwhat blocks\b",
    "missing": r"\bnot there yet\b",
    "instead of": r"\bthere, [^.;:]{1,20} here\b",
    "provide information about": r"\bteach(es)? them\b",
    "more expensive": r"\bdearer\b|\b(is|are|be) dear\b",
    "taken off the return": r"\bdebt (is|was) settled|\bsettles? (its|the) debt",
}
# The file and the words of a hit that stays, and why.
EXCEPTIONS = {
    ("envs/solvent/adequacy/words.toml", "of their own"): "a heading of data",
}


NAMES = {"found", "said", "told", "mine", "shown", "held", "plain", "whole", "beside", "spread"}
"""Participles and adjectives that are no names; a name is the noun that it is."""
KEPT = {("envs/solvent/gate/checks.py", "found")}  # a key of the verdicts that users have


def main() -> str | None:
    """Return a line ``file:line: what to write instead: the words`` for each hit."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.*"))]
    hits = []
    for path in (*(ROOT / name for name in PAGES), *files):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in {".md", ".py", ".toml", ".html", ".ipynb", ".cff"}:
            continue
        text = path.read_text(encoding="utf-8")
        for instead, pattern in PATTERNS.items():
            for hit in re.finditer(pattern.replace(" ", r"[\s#\"]+"), text, re.IGNORECASE):
                line, words = text.count("\n", 0, hit.start()) + 1, " ".join(hit[0].split())
                if (name, words) not in EXCEPTIONS:
                    hits.append(f"{name}:{line}: {instead}: {words}")
    for path in [*files, *sorted((ROOT / "tests").rglob("*.py"))]:
        if path.suffix == ".py":
            name, given = path.relative_to(ROOT).as_posix(), names(path.read_text(encoding="utf-8"))
            hits += [f"{name}:{line}: a noun: {word}" for line, word in given if (name, word) not in KEPT]
    return "\n".join(hits) or None


def names(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines where one of ``NAMES`` is given to a variable, a parameter, a field or a function."""
    for node in ast.walk(ast.parse(source)):
        word = ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            word = node.id
        elif isinstance(node, ast.arg):
            word = node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            word = node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            word = node.attr
        if word.strip("_") in NAMES:
            yield node.lineno, word


if __name__ == "__main__":
    sys.exit(main())
