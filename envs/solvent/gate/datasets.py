"""Data sets of claims with evidence, read from files of JSON lines into ``Sample(id, claim, evidence, label, group)``.

The first record determines which of two formats a file has:

- ``jsonl``: one ``{"claim", "evidence": [text], "label"}`` per line; ``id`` and ``page`` (or ``group``) are optional.
- ``feverous``: the official FEVEROUS lines. Their evidence is ids (``Page_sentence_0``) that a database resolves.

Samples that share a page, a span or a claim form one *group*. Splits and mismatched controls keep groups together, so
no text is on both sides of a split and no control contains the claim's own evidence. Known approximation: spans are
compared as text.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from solvent.files import LONGEST_LINE, open_input, strict_json
from solvent.gate.claim_records import BrokenRecordError, Record, fields_of, folded, plain_record
from solvent.gate.errors import GateError
from solvent.gate.feverous import WikiPages, feverous_record, is_feverous
from solvent.gate.pairs import derange

__all__ = ["FORMATS", "LONGEST_LINE", "Dataset", "Sample", "deranged", "load_dataset", "same_page"]

FORMATS = ("feverous", "jsonl")
"""The formats of a file."""

_MOST = 2**32  # bytes


@dataclass(frozen=True)
class Sample:
    """A claim with its evidence. Samples with a common page, span or claim share a ``group``.

    ``pages`` are the sources of the evidence as the record names them.
    """

    id: str
    claim: str
    evidence: tuple[str, ...]
    label: str | None
    group: str
    pages: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of claim and evidence."""
        text = json.dumps([self.claim, *self.evidence], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Dataset:
    """The samples of a file in order. ``skipped`` lists the lines left out, with the reasons."""

    name: str
    format: str
    samples: tuple[Sample, ...]
    skipped: tuple[str, ...]
    sha256: str

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples by label, with ``unlabelled`` for None."""
        return dict(sorted(Counter(sample.label or "unlabelled" for sample in self.samples).items()))

    def drawn(self, n: int | None, seed: int) -> Dataset:
        """Return ``n`` samples drawn without replacement, in the file's order; all of them if ``n`` is None."""
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
        wiki_db: FEVEROUS's SQLite database of pages, for evidence given as ids.
        skip_broken: list broken lines and leave them out, instead of refusing the file.

    Raises:
        GateError: the file is missing or has no sample, or a line is broken (the message has its number).
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
    """Return the format, the records with their line numbers, and the skipped lines."""
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
    """Yield numbered non-blank lines without their ends; a line that is too long is truncated."""
    with open_input(file, _MOST) as opened:
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
        return strict_json(line)
    except UnicodeDecodeError as error:
        raise BrokenRecordError(f"byte {error.start + 1} is not UTF-8; allowed: text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise BrokenRecordError(f"not JSON ({error.msg}, column {error.colno})") from None
    except ValueError as error:
        raise BrokenRecordError(f"not JSON ({error})") from None


def _samples(records: Sequence[tuple[int, Record]]) -> tuple[Sample, ...]:
    """Make ids unique and find groups."""
    seen: Counter[str] = Counter()
    samples = []
    groups = _groups([record.keys() for _, record in records])
    for (number, record), group in zip(records, groups, strict=True):
        name = record.id or f"line-{number}"
        seen[name] += 1
        unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
        samples.append(Sample(unique, record.claim, record.evidence, record.label, group, record.pages))
    return tuple(samples)


def _groups(keys: Sequence[Iterable[str]]) -> list[str]:
    """Return each sample's group: the first sample connected to it through shared keys."""
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
    """Return the same claims, each with the evidence of another group's sample; each sample's evidence is used once.

    Lists of evidence stay whole, so the distribution of their lengths is unchanged. The label is ``shuffled``.
    """
    groups = [sample.group for sample in samples]
    donors = derange(len(samples), groups, np.random.default_rng(seed))
    return tuple(
        replace(sample, id=f"{sample.id}~{samples[j].id}", evidence=samples[j].evidence, label="shuffled")
        for sample, j in zip(samples, donors, strict=True)
    )


def same_page(samples: Sequence[Sample], seed: int) -> tuple[Sample | None, ...]:
    """Return the same claims, each with other evidence of a page that it has evidence of; None where there is none.

    The evidence is that of another sample with another claim. The two have no span in common, and no sample pairs the
    claim with any of that evidence. The label is ``same_page``.
    """
    rng = np.random.default_rng(seed)
    on_page: defaultdict[str, list[int]] = defaultdict(list)
    own_spans: defaultdict[str, set[str]] = defaultdict(set)
    for i, sample in enumerate(samples):
        own_spans[folded(sample.claim)].update(map(folded, sample.evidence))
        for page in sample.pages:
            on_page[folded(page)].append(i)
    found: list[Sample | None] = []
    for i, sample in enumerate(samples):
        known = own_spans[folded(sample.claim)]
        near = sorted({j for page in sample.pages for j in on_page[folded(page)]} - {i})
        for other in (samples[j] for j in rng.permutation(near)):
            spans = set(map(folded, other.evidence))
            if spans and known.isdisjoint(spans) and folded(other.claim) != folded(sample.claim):
                name = f"{sample.id}~{other.id}"
                found.append(replace(sample, id=name, evidence=other.evidence, label="same_page"))
                break
        else:
            found.append(None)
    return tuple(found)
