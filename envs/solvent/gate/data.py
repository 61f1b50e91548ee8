"""Data sets of claims with evidence: JSON lines, read into ``Sample``.

A line is ``{"claim", "evidence": [text], "label"}``; a span may be ``{"text": ...}``, the evidence one text. ``id`` and
``page`` are optional.

Samples that share a page, a span or a claim form one *group*. Splits and mismatched evidence keep groups apart, so that
no text is on both sides of a split and no control has the claim's own evidence.

Known approximation: spans are compared as text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from os import PathLike
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from solvent.files import first_problem, input_lines, strict_json
from solvent.gate.energy import GateError
from solvent.gate.numbers import WORDS

__all__ = ["Sample", "load_dataset", "other_page", "split_by_group"]

LONGEST = 100_000
"""Maximum length of a claim or a text of the evidence, characters."""

_LABELS = {word: label for label, words in WORDS["labels"].items() for word in words.split()}


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [] if value is None else [value]


def _texts(value: Any) -> Any:
    parts = [part.get("text", part) if isinstance(part, dict) else part for part in _listed(value)]
    return [part for part in parts if not isinstance(part, str) or part.strip()]


def _label(value: Any) -> Any:
    """Return the label for a published word (``SUPPORTS``, ``not enough info``, ...); an unknown word is ``other``."""
    if not isinstance(value, bool | str) or not (word := re.sub(r"[\W_]+", "", str(value).lower())):
        return value or None
    return _LABELS.get(word, "other")


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)]


@dataclass(frozen=True)
class Sample:
    """A claim with its evidence. ``label`` is ``supported``, ``refuted``, ``nei``, ``other`` or None."""

    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    claim: Text
    evidence: Annotated[tuple[Text, ...], BeforeValidator(_texts)]
    label: Annotated[str | None, BeforeValidator(_label)] = None
    pages: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    group: str = ""


def load_dataset(path: str | PathLike[str], *, skip_broken: bool = False) -> tuple[list[Sample], list[str]]:
    """Return the samples of a file in order, and the broken lines that were left out, with the reasons.

    Args:
        path: the file.
        skip_broken: leave broken lines out, instead of refusing the file.

    Raises:
        GateError: a line can't be read (the message has its number), or there is no sample.
        OSError: the file can't be read.
    """
    samples: list[Sample] = []
    skipped: list[str] = []
    for number, line in input_lines(path):
        if not line.strip():
            continue
        try:
            fields = strict_json(line)
            if not isinstance(fields, dict):
                raise GateError("allowed: an object with claim, evidence and label")
            known = {key: fields[key] for key in ("claim", "evidence", "label") if key in fields}
            name = f"line-{number}" if fields.get("id") in (None, "") else fields["id"]
            known |= {"id": name, "pages": fields.get("page")}
            samples.append(_SAMPLE.validate_python(known))
        except ValueError as error:  # of JSON, of pydantic or our own
            problem = first_problem(error) if isinstance(error, ValidationError) else str(error)
            skipped.append(f"line {number}: {problem:.300}")
            if not skip_broken:
                raise GateError(f"{path}, {skipped[0]} (--skip-broken leaves such lines out)") from None
    if not samples:
        also = f" ({len(skipped)} broken lines skipped)" if skipped else ""
        raise GateError(f"{path}: holds no sample{also}; allowed: at least one claim with evidence")
    return _grouped(samples), skipped


_SAMPLE = TypeAdapter(Sample)


# -- groups and mismatched evidence --------------------------------------------------------------


def _grouped(samples: Sequence[Sample]) -> list[Sample]:
    """Name each sample's group: those connected through pages, spans and claims."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    node: dict[tuple[bool, str], int] = {}
    links = []
    for i, sample in enumerate(samples):
        keys = [(True, page) for page in sample.pages]
        keys += [(False, text) for text in (sample.claim, *sample.evidence)]
        for is_page, key in keys:
            folded = is_page, " ".join(key.casefold().replace("_", " ").split())
            links.append((i, node.setdefault(folded, len(samples) + len(node))))
    size = len(samples) + len(node)
    graph = coo_array((np.ones(len(links)), np.transpose(links)), shape=(size, size))
    groups = connected_components(graph, directed=False)[1]
    return [
        dataclasses.replace(one, group=f"group-{group}") for one, group in zip(samples, groups, strict=False)
    ]


def other_page(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """Return the same claims, each with the evidence of another group's sample; each list of evidence is used once.

    Raises:
        GateError: a group has more than half of the samples.
    """
    rng = np.random.default_rng(seed)
    codes = _codes([sample.group for sample in samples])
    largest, n = int(np.bincount(codes).max()), len(samples)
    if 2 * largest > n:
        raise GateError(
            f"claims: {largest} of {n} share a page or a text; allowed: 2 or more, of which at most half share one"
        )
    # If groups are contiguous, a shift by the largest group's size leaves every group.
    order = np.lexsort((rng.random(n), rng.permutation(codes.max() + 1)[codes]))
    donor = np.empty(n, dtype=np.int64)
    donor[order] = np.roll(order, -largest)
    for i, j in zip(rng.permutation(n), rng.integers(n, size=n), strict=True):  # else groups meet in blocks
        if codes[i] != codes[donor[j]] and codes[j] != codes[donor[i]]:
            donor[i], donor[j] = donor[j], donor[i]
    return [
        dataclasses.replace(one, evidence=samples[int(j)].evidence)
        for one, j in zip(samples, donor, strict=True)
    ]


def split_by_group(
    groups: Sequence[str], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices for learning and those for reporting, about half each; each group is on one side."""
    codes = _codes(groups)
    if codes.max() < 1:
        raise GateError("claims: all share a page or a text; allowed: two groups or more, one for each side")
    shuffled = rng.permutation(codes.max() + 1)
    sizes = np.bincount(codes)[shuffled].cumsum()
    border = int(np.argmin(np.abs(sizes[:-1] - 0.5 * len(codes)))) + 1
    first = np.isin(codes, shuffled[:border])
    return np.flatnonzero(first), np.flatnonzero(~first)


def _codes(groups: Sequence[str]) -> NDArray[np.int64]:
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(group, len(seen)) for group in groups], dtype=np.int64)
