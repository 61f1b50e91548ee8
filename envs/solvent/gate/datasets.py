"""Data sets of claims with evidence: ``Sample(id, claim, evidence, label, group)`` from files of JSON lines.

Two forms are read, and told apart by their first record:

- ``jsonl``: ``{"claim", "evidence": [text], "label"}``, a line each; ``id`` and ``page`` (or ``group``) are optional;
- ``feverous``: the official FEVEROUS lines, whose evidence is ids (``Page_sentence_0``) that a database resolves.

Samples that share a page, a span or a claim form one *group*. Splits and mismatched controls go by groups, so that no
text is on both sides of a split and no control borrows the claim's own evidence.
Known approximation: spans are compared as text.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from solvent.gate.claim_records import BrokenRecordError, Record, fields_of, plain_record
from solvent.gate.errors import GateError
from solvent.gate.feverous import WikiPages, feverous_record, is_feverous
from solvent.gate.pairs import derange

__all__ = ["FORMATS", "LONGEST_LINE", "Dataset", "Sample", "deranged", "load_dataset"]

FORMATS = ("feverous", "jsonl")
"""The forms a file may have."""

LONGEST_LINE = 2**24
"""Bytes of the longest line that is read."""


@dataclass(frozen=True)
class Sample:
    """A claim with its evidence. ``group`` is shared by samples with a page, a span or the claim in common."""

    id: str
    claim: str
    evidence: tuple[str, ...]
    label: str | None
    group: str

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits of the claim's and the evidence's SHA-256."""
        text = json.dumps([self.claim, *self.evidence], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Dataset:
    """The samples of a file in its order. ``skipped`` says where and why lines were left out."""

    name: str
    format: str
    samples: tuple[Sample, ...]
    skipped: tuple[str, ...]
    sha256: str

    @property
    def counts(self) -> dict[str, int]:
        """Samples by label; ``unlabelled`` where there is none."""
        return dict(sorted(Counter(sample.label or "unlabelled" for sample in self.samples).items()))

    def drawn(self, n: int | None, seed: int) -> Dataset:
        """``n`` samples without replacement, in the file's order; all of them for None or where there are fewer."""
        if n is None or n >= len(self.samples):
            return self
        places = np.sort(np.random.default_rng(seed).permutation(len(self.samples))[:n])
        return replace(self, samples=tuple(self.samples[i] for i in places))


def load_dataset(
    path: str | PathLike[str], *, wiki_db: str | PathLike[str] | None = None, skip_broken: bool = False
) -> Dataset:
    """Read a data set.

    Args:
        path: the file.
        wiki_db: FEVEROUS's SQLite database of pages, for evidence that is given as ids.
        skip_broken: leave broken lines out and list them, instead of refusing the file.

    Raises:
        GateError: no such file, nothing in it, or a broken line (with its number).
    """
    file = Path(path)
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "no such file"
        raise GateError(f"{file}: {what}; allowed: a data set ({', '.join(FORMATS)})")
    with ExitStack() as stack:
        pages = None if wiki_db is None else stack.enter_context(WikiPages(wiki_db))
        form, records, skipped = _read(file, pages, skip_broken)
    if not records:
        also = f" ({len(skipped)} broken lines skipped)" if skipped else ""
        raise GateError(f"{file}: holds no sample{also}; allowed: at least one claim with evidence")
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return Dataset(file.stem, form, _samples(records), tuple(skipped), digest)


def _read(
    file: Path, pages: WikiPages | None, skip_broken: bool
) -> tuple[str, list[tuple[int, Record]], list[str]]:
    """The form, the records with their line numbers, and the lines that were skipped."""
    form = ""
    found: list[tuple[int, Record]] = []
    skipped: list[str] = []
    for number, line in _lines(file):
        try:
            fields = fields_of(_json(line))
            form = form or ("feverous" if is_feverous(fields) else "jsonl")
            record = plain_record(fields) if form == "jsonl" else feverous_record(fields, pages)
        except BrokenRecordError as error:
            if not skip_broken:
                raise GateError(
                    f"{file}, line {number}: {error} (--skip-broken leaves such lines out)"
                ) from None
            skipped.append(f"line {number}: {error}")
            continue
        except GateError as error:
            raise GateError(f"{file}, line {number}: {error}") from None
        if record is not None:
            found.append((number, record))
    return form, found, skipped


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that aren't blank, without their ends; one that is too long comes cut."""
    with file.open("rb") as opened:
        number = 0
        while line := opened.readline(LONGEST_LINE + 1):
            number += 1
            if number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise GateError(f"{file}: is UTF-16; allowed: text in UTF-8")
            rest = line
            while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
                rest = opened.readline(LONGEST_LINE + 1)
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            line = line.rstrip(b"\r\n")
            if line.strip():
                yield number, line


def _json(line: bytes) -> Any:
    if len(line) > LONGEST_LINE:
        raise BrokenRecordError(f"longer than {LONGEST_LINE:,} bytes; allowed: one record a line")
    try:
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BrokenRecordError(f"byte {error.start + 1} is not UTF-8; allowed: text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise BrokenRecordError(f"not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise BrokenRecordError(f"not JSON ({error})") from None


def _samples(records: Sequence[tuple[int, Record]]) -> tuple[Sample, ...]:
    """Ids made unique and groups found."""
    seen: Counter[str] = Counter()
    samples = []
    groups = _groups([record.keys() for _, record in records])
    for (number, record), group in zip(records, groups, strict=True):
        name = record.id or f"line-{number}"
        seen[name] += 1
        unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
        samples.append(Sample(unique, record.claim, record.evidence, record.label, group))
    return tuple(samples)


def _groups(keys: Sequence[Iterable[str]]) -> list[str]:
    """The group of each sample: the first sample that it is connected to through shared keys."""
    root = list(range(len(keys)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    owner: dict[str, int] = {}
    for i, own in enumerate(keys):
        for key in own:
            a, b = find(owner.setdefault(key, i)), find(i)
            root[max(a, b)] = min(a, b)
    return [f"group-{find(i) + 1}" for i in range(len(keys))]


def deranged(samples: Sequence[Sample], seed: int) -> tuple[Sample, ...]:
    """The same claims, each with the evidence of a sample of another group; evidence is used once each.

    Lists of evidence stay whole, so their lengths are distributed as before. The label is ``shuffled``.
    """
    groups = [sample.group for sample in samples]
    donors = derange(len(samples), groups, np.random.default_rng(seed))
    return tuple(
        replace(sample, id=f"{sample.id}~{samples[j].id}", evidence=samples[j].evidence, label="shuffled")
        for sample, j in zip(samples, donors, strict=True)
    )
