"""Data sets of claims with evidence, read into one form: ``Sample(id, claim, evidence, label, group)``.

Five forms are known, and told apart by their first record:

- ``jsonl``: ``{"claim", "evidence": [text], "label"}``, a line each; ``id`` and ``page`` (or ``group``) are optional;
- ``feverous``: the official FEVEROUS lines, whose evidence is ids (``Page_sentence_0``) that a database resolves;
- ``programfc``: FEVEROUS with the text of the evidence, ``Page<TAB>sentence`` to a line, as ProgramFC published it;
- ``fever_symmetric``: claims with one sentence of evidence each;
- ``begin``: BEGIN's tab-separated table of dialogue responses and the knowledge they answer from.

Two samples that share a page, a span or a claim belong to one *group*: splits and mismatched controls go by groups, so
what one half has learnt from can't stand in the other, and a control never borrows the claim's own evidence.
Known approximation: BEGIN's knowledge is cut into sentences by punctuation, and spans are compared as text.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from solvent.gate.errors import GateError
from solvent.gate.pairs import derange, split_by_group
from solvent.gate.records import READERS, BrokenRecordError, Record, form_of
from solvent.gate.wikipages import WikiPages

__all__ = ["FORMATS", "LONGEST_LINE", "Dataset", "Sample", "deranged", "halves", "load_dataset"]

FORMATS = tuple(sorted(READERS))
"""The forms a file may have."""

LONGEST_LINE = 2**24
"""Bytes; a longer line is no record but a file of another kind."""


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

    def of(self, *labels: str) -> tuple[Sample, ...]:
        """The samples with one of the labels."""
        return tuple(sample for sample in self.samples if sample.label in labels)

    def drawn(self, n: int | None, seed: int) -> Dataset:
        """``n`` samples without replacement, in the file's order; all of them for None or where there are fewer."""
        if n is None or n >= len(self.samples):
            return self
        places = np.sort(np.random.default_rng(seed).permutation(len(self.samples))[:n])
        return replace(self, samples=tuple(self.samples[i] for i in places))


def load_dataset(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the name of the option
    wiki_db: str | PathLike[str] | None = None,
    skip_broken: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Dataset:
    """Read a data set.

    Args:
        path: the file.
        format: one of ``FORMATS``; None finds it out.
        wiki_db: FEVEROUS's SQLite database of pages, for evidence that is given as ids.
        skip_broken: leave broken lines out and list them, instead of refusing the file.
        on_progress: called with the samples read so far.

    Raises:
        GateError: no such file, an unknown form, nothing in it, or a broken line (with its number).
    """
    file = Path(path)
    if not file.is_file():
        what = "is a folder" if file.is_dir() else "no such file"
        raise GateError(f"{file}: {what}; allowed: a data set ({', '.join(FORMATS)})")
    if format is not None and format not in READERS:
        raise GateError(f"format: got {format!r}; allowed: {', '.join(FORMATS)}")
    with ExitStack() as stack:
        pages = None if wiki_db is None else stack.enter_context(WikiPages(wiki_db))
        form, records, skipped = _read(file, format, pages, skip_broken, on_progress or (lambda _: None))
    if not records:
        raise GateError(
            f"{file}: holds no sample{_and_skipped(skipped)}; allowed: at least one claim with evidence"
        )
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return Dataset(file.stem, form, _samples(records), tuple(skipped), digest)


def _read(
    file: Path,
    form: str | None,
    pages: WikiPages | None,
    skip_broken: bool,
    on_progress: Callable[[int], None],
) -> tuple[str, list[tuple[str, Record]], list[str]]:
    """The form, the records with their places, and what was skipped."""
    found: list[tuple[str, Record]] = []
    skipped: list[str] = []
    for place, entry in _entries(file, form):
        try:
            value = entry()
            form = form or form_of(value)
            record = READERS[form](value, pages)
        except BrokenRecordError as error:
            if not skip_broken:
                raise GateError(f"{file}, {place}: {error} (--skip-broken leaves such lines out)") from None
            skipped.append(f"{place}: {error}")
            continue
        except GateError as error:
            raise GateError(f"{file}, {place}: {error}") from None
        if record is not None:
            found.append((place, record))
            on_progress(len(found))
    return form or "jsonl", found, skipped


def _entries(file: Path, form: str | None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each entry's place, and how to get it: a broken one is an error only when it is asked for."""
    start = _beginning(file)
    if start[:1] == b"[":
        yield from _array(file)
    elif form == "begin" or (form is None and b"begin_label" in start.split(b"\n", 1)[0]):
        yield from _table(file)
    else:
        for number, line in _lines(file):
            yield f"line {number}", lambda line=line: _json(_text(line))  # type: ignore[misc]


def _beginning(file: Path) -> bytes:
    with file.open("rb") as opened:
        start = opened.read(4096)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise GateError(f"{file}: is UTF-16; allowed: text in UTF-8")
    return start.removeprefix(codecs.BOM_UTF8).lstrip()


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that aren't blank, without their ends; one that is too long comes cut."""
    with file.open("rb") as opened:
        number = 0
        while line := opened.readline(LONGEST_LINE + 1):
            number += 1
            rest = line
            while len(rest) > LONGEST_LINE and not rest.endswith(b"\n"):
                rest = opened.readline(LONGEST_LINE + 1)
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            line = line.rstrip(b"\r\n")
            if line.strip():
                yield number, line


def _text(line: bytes) -> str:
    if len(line) > LONGEST_LINE:
        raise BrokenRecordError(f"longer than {LONGEST_LINE:,} bytes; allowed: one record a line")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenRecordError(f"byte {error.start + 1} is not UTF-8; allowed: text in UTF-8") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BrokenRecordError(f"not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise BrokenRecordError(f"not JSON ({error})") from None


def _array(file: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    try:
        values = json.loads(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise GateError(f"{file}: byte {error.start + 1} is not UTF-8; allowed: text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise GateError(
            f"{file}, line {error.lineno}: not JSON ({error.msg}, column {error.colno})"
        ) from None
    except (ValueError, RecursionError) as error:
        raise GateError(f"{file}: not JSON ({error})") from None
    for number, value in enumerate(values, start=1):
        yield f"item {number}", lambda value=value: value  # type: ignore[misc]


def _table(file: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Rows of a tab-separated table as mappings from its first line; quotes mean nothing in it."""
    header: list[str] | None = None
    for number, line in _lines(file):
        if header is None:
            header = _text(line).split("\t")
            continue
        yield f"line {number}", lambda line=line, names=header: _row(_text(line), names)  # type: ignore[misc]


def _row(line: str, names: Sequence[str]) -> dict[str, str]:
    cells = line.split("\t")
    if len(cells) != len(names):
        raise BrokenRecordError(f"{len(cells)} cells; allowed: {len(names)}, as in the first line")
    return dict(zip(names, cells, strict=True))


def _and_skipped(skipped: Sequence[str]) -> str:
    return f" ({len(skipped)} broken lines skipped)" if skipped else ""


def _samples(records: Sequence[tuple[str, Record]]) -> tuple[Sample, ...]:
    """Ids made unique and groups found."""
    seen: Counter[str] = Counter()
    samples = []
    groups = _groups([record.keys() for _, record in records])
    for (place, record), group in zip(records, groups, strict=True):
        name = record.id or place.replace(" ", "-")
        seen[name] += 1
        unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
        samples.append(Sample(unique, record.claim, record.evidence, record.label, group))
    return tuple(samples)


def _groups(keys: Sequence[Iterable[str]]) -> list[str]:
    """For each sample the first sample that it hangs together with, through shared keys."""
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


def halves(
    samples: Sequence[Sample], seed: int, share: float = 0.5
) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """Two parts that share no group, the first with about ``share`` of the samples.

    Raises:
        GateError: fewer than two groups, or a share that is not between 0 and 1.
    """
    groups = [sample.group for sample in samples]
    first, second = split_by_group(groups, np.random.default_rng(seed), share)
    return tuple(samples[i] for i in first), tuple(samples[i] for i in second)


def deranged(samples: Sequence[Sample], seed: int) -> tuple[Sample, ...]:
    """The same claims, each with the evidence of a sample of another group; evidence is used once each.

    Lists of evidence stay whole, so their lengths are distributed as before. The label is ``shuffled``.

    Raises:
        GateError: fewer than two samples, or one group holds more than half of them, so that there is no such pairing.
    """
    groups = [sample.group for sample in samples]
    if len(samples) < 2:
        raise GateError(f"got {len(samples)} samples; allowed: 2 or more, to mismatch claims and evidence")
    donors = derange(len(samples), groups, np.random.default_rng(seed))
    return tuple(
        replace(sample, id=f"{sample.id}~{samples[j].id}", evidence=samples[j].evidence, label="shuffled")
        for sample, j in zip(samples, donors, strict=True)
    )
