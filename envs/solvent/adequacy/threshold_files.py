"""Discovered thresholds as data: a JSON file that people can read, and that says when it has been changed.

    {"format": "solvent.adequacy.thresholds.v1", "discovery": {...}, "sha256": "..."}

``sha256`` is over the discovery in canonical form (sorted keys, no spaces). The discovery holds the SHA-256 of the
labels and of the lexicon that it was found with. Source: "Epistemic Adequacy Design", "Threshold discovery".

Known approximation: the hash finds a slip of the hand and a broken copy; it is no signature.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solvent.adequacy.agreement import Agreement, Estimate, Rate
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.thresholds import CutPoints, Discovery

__all__ = ["discovery_dict", "load_discovery", "save_discovery"]

_FORMAT = "solvent.adequacy.thresholds.v1"


def save_discovery(path: str | os.PathLike[str], discovery: Discovery) -> None:
    """Write a discovery to ``path``: whole or not at all.

    Raises:
        AdequacyError: a file that can't be written.
    """
    fields = discovery_dict(discovery)
    document = {"format": _FORMAT, "discovery": fields, "sha256": _digest(fields)}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise AdequacyError(f"{target}: not written, {error.strerror}; allowed: a file in a folder") from None
    finally:
        temporary.unlink(missing_ok=True)


def load_discovery(path: str | os.PathLike[str]) -> Discovery:
    """The discovery in a file.

    Raises:
        AdequacyError: no such file, not this format, or changed since it was written.
    """
    source = Path(path)
    try:
        document = json.loads(source.read_bytes().decode("utf-8"))
    except OSError as error:
        raise AdequacyError(f"{source}: not read, {error.strerror}; allowed: discovered thresholds") from None
    except (ValueError, RecursionError):
        raise AdequacyError(f"{source}: no JSON in UTF-8; allowed: what save_discovery writes") from None
    known = isinstance(document, dict) and set(document) == {"format", "discovery", "sha256"}
    if not known or document["format"] != _FORMAT:
        raise AdequacyError(f"{source}: no thresholds; allowed: what save_discovery writes ({_FORMAT})")
    if document["sha256"] != _digest(document["discovery"]):
        raise AdequacyError(
            f"{source}: changed since it was written (its SHA-256 differs); allowed: unchanged"
        )
    try:
        return _discovery(document["discovery"])
    except (KeyError, TypeError, ValueError) as error:
        raise AdequacyError(f"{source}: {error!s:.80}; allowed: what save_discovery writes") from None


def discovery_dict(discovery: Discovery) -> dict[str, Any]:
    """All fields with the verdict, values that JSON can hold; None for NaN."""
    fields = {field.name: getattr(discovery, field.name) for field in dataclasses.fields(discovery)}
    cuts = {name: _listed(dataclasses.asdict(fields[name])) for name in ("shipped", "chosen")}
    agreed = {name: fields[name].to_dict() for name in ("shipped_agreement", "chosen_agreement", "overall")}
    agreed = {name: {**one, "matrix": [list(row) for row in one["matrix"]]} for name, one in agreed.items()}
    rho = {name: estimate.to_dict() for name, estimate in discovery.correlations.items()}
    rest = {"correlations": rho, "difference": discovery.difference.to_dict()}
    said = {"better": discovery.better, "verdict": discovery.verdict}
    return {**fields, **cuts, **agreed, **rest, **said, "learnt_kappa": _known(discovery.learnt_kappa)}


def _listed(cut: dict[str, Any]) -> dict[str, Any]:
    return {**cut, "matrix": [list(row) for row in cut["matrix"]]}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _discovery(fields: Mapping[str, Any]) -> Discovery:
    rho = {name: _estimate(one) for name, one in fields["correlations"].items()}
    own: dict[str, Any] = {
        "correlations": rho,
        "difference": _estimate(fields["difference"]),
        "learnt_kappa": _number(fields["learnt_kappa"]),
        **{name: _agreement(fields[name]) for name in ("shipped_agreement", "chosen_agreement", "overall")},
        **{name: _cut(fields[name]) for name in ("shipped", "chosen")},
    }
    rest = {name: value for name, value in fields.items() if name not in (*own, "better", "verdict")}
    return Discovery(**own, **rest)


def _cut(fields: Mapping[str, Any]) -> CutPoints:
    return CutPoints(**{**fields, "matrix": tuple(tuple(row) for row in fields["matrix"])})


def _agreement(fields: Mapping[str, Any]) -> Agreement:
    return Agreement(
        count=fields["count"],
        kappa=_estimate(fields["kappa"]),
        exact=Rate(**fields["exact"]),
        within_one=Rate(**fields["within_one"]),
        rho=_estimate(fields["rho"]),
        matrix=tuple(tuple(row) for row in fields["matrix"]),
    )


def _estimate(fields: Mapping[str, Any]) -> Estimate:
    return Estimate(*(_number(fields[name]) for name in ("value", "low", "high")))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _digest(fields: Any) -> str:
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
