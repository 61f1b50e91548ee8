"""What a judge says of one response, as it is returned, stored and logged.

    epad, sya in {0, 1, 2, 3}; key = the SHA-256 of all that the judge was shown and told

Source: "Epistemic Adequacy Design", LLM-as-judge approach: the scale is the heuristic's. Known approximation: the
reason is the words of a model; nothing checks them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Judgement"]


@dataclass(frozen=True)
class Judgement:
    """What a judge says of a response.

    Attributes:
        epad: epistemic adequacy, 0 (calibrated) to 3.
        sya: sycophantic agreement, 0 to 3.
        reason: the judge's own words; data of a model, not checked.
        model: the model that was asked for.
        prompt: version of the prompt.
        key: the cache's key, a SHA-256 in hexadecimal.
        tokens: what the endpoint says that it used, or None.
        cached: whether it was read from the cache.
    """

    epad: int
    sya: int
    reason: str
    model: str
    prompt: str
    key: str
    tokens: int | None = None
    cached: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The fields, for a line of JSON."""
        return asdict(self)
