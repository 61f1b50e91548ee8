"""A language model as the judge of epistemic adequacy, behind any endpoint that speaks ``POST /chat/completions``.

    key = SHA-256(address, model and options, prompt version, response, tools, query)
    judgement = cache[key], else the checked answer of the endpoint

The judge sees the response, a summary of the tool calls and the user's query, and returns EpAd and SyA (0 to 3) with a
reason. An answer in any other form is refused, never repaired (``judge_prompt``). Source: "Epistemic Adequacy Design",
LLM-as-judge approach.

Known approximation: a judge is a model. Compare its scores with people's before you use them (``agreement``). Calls
with equal summaries have equal keys, because the judge sees only the summary.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.adequacy.errors import JudgeError
from solvent.chat import (
    LONGEST_ANSWER,
    Budget,
    BudgetError,
    ChatClient,
    ChatError,
    ChatSettings,
    EndpointError,
    usage_of,
)
from solvent.extras import install
from solvent.files import strict_json

if TYPE_CHECKING:
    from solvent.adequacy.judge_prompt import Material
    from solvent.adequacy.tools import ToolContext

__all__ = [
    "FORMAT",
    "LONGEST_ANSWER",
    "Budget",
    "BudgetError",
    "ChatError",
    "ChatSettings",
    "EndpointError",
    "Judge",
    "JudgeError",
    "Judgement",
    "JudgementCache",
]

FORMAT = "solvent.adequacy.judgement.v1"

_LONGEST_ENTRY = 65_536  # bytes; an entry holds a reason of at most 4,000 characters and some hashes

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Judgement:
    """A judge's scores of one response.

    Attributes:
        epad: epistemic adequacy, 0 (calibrated) to 3.
        sya: sycophantic agreement, 0 to 3.
        reason: the judge's own words, unchecked.
        model: the model that was asked.
        prompt: version of the prompt.
        key: the cache's key, a SHA-256 in hexadecimal.
        tokens: tokens used according to the endpoint, or None.
        cached: the judgement was read from the cache.

    Raises:
        JudgeError: a field has a wrong type, or a score is not an integer from 0 to 3.
    """

    epad: int
    sya: int
    reason: str
    model: str
    prompt: str
    key: str
    tokens: int | None = None
    cached: bool = False

    def __post_init__(self) -> None:
        texts = (self.reason, self.model, self.prompt, self.key)
        numbers = (self.epad, self.sya, 0 if self.tokens is None else self.tokens)
        whole = all(type(number) is int and number >= 0 for number in numbers)
        if not whole or max(numbers[:2]) > 3 or not all(isinstance(text, str) for text in texts):
            got = (self.epad, self.sya, self.tokens)
            raise JudgeError(f"judgement: got {got!r:.80}; allowed: epad and sya as integers 0 to 3, texts")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for a line of JSON."""
        return dataclasses.asdict(self)


class Judge:
    """Asks a model for judgements. Thread-safe, and callable inside a running event loop.

    Args:
        settings: endpoint, model, time limits and budget.
        cache: folder of earlier judgements; None: no cache.

    Raises:
        ChatError: the settings can't be used, or a package is not installed.
    """

    def __init__(self, settings: ChatSettings, cache: str | PathLike[str] | None = None) -> None:
        try:
            from solvent.adequacy.judge_prompt import load_prompt

            self.client = ChatClient(settings)
        except ImportError as error:
            raise JudgeError(
                f"judge: the package {error.name} is not installed; allowed: {install('judge')}"
            ) from None
        self.prompt = load_prompt()
        self._cache = None if cache is None else JudgementCache(cache)

    def __repr__(self) -> str:
        model, prompt = self.client.settings.model, self.prompt.version
        return f"Judge(base_url={self.client.base_url!r}, model={model!r}, prompt={prompt!r})"

    @property
    def budget(self) -> Budget:
        """Calls and tokens, allowed and spent."""
        return self.client.budget

    def judge(self, response: str, tool_context: ToolContext, query: str) -> Judgement:
        """Return EpAd and SyA of a response.

        Raises:
            JudgeError: the answer is no judgement. ``ChatError``: there is no answer.
        """
        from solvent.adequacy.judge_prompt import RESPONSE_FORMAT, Material, read_answer

        for name, text in (("response", response), ("query", query)):
            if not isinstance(text, str):
                raise JudgeError(f"judge, {name}: got {text!r:.80}; allowed: a text")
        material = Material(query, tool_context.summary(), response)
        key = self.key(material)
        if self._cache is not None and (known := self._cache.get(key)) is not None:
            return known
        request = self.client.request(self.prompt.messages(material), response_format=dict(RESPONSE_FORMAT))
        answer = self.client.ask(request)
        grades = read_answer(answer, self.client.scrub)
        model, version = self.client.settings.model, self.prompt.version
        usage = usage_of(answer)
        tokens = None if usage is None else usage.total
        judgement = Judgement(**grades.model_dump(), model=model, prompt=version, key=key, tokens=tokens)
        if self._cache is not None:
            self._cache.put(judgement)
        return judgement

    def key(self, material: Material) -> str:
        """Return the cache's key of some material: a SHA-256 in hexadecimal."""
        client = self.client
        asked = [client.base_url, client.settings.model, dict(client.options), self.prompt.version]
        parts = [*asked, material.response, material.tools, material.query]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


class JudgementCache:
    """Judgements by key (64 hexadecimal digits), a JSON file each: ``folder / first two digits / key.json``.

    An entry is written whole or not at all. An unreadable entry, or one with a wrong field or another key than its
    name, is logged as a warning, counts as absent and is replaced by the next judgement. If the folder can't be
    written, a warning is logged once. An entry holds hashes and the judge's answer, not the response, the tools, the
    query or the API key.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        self._warned = False

    def path(self, key: str) -> Path:
        """Return the file of a key."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Judgement | None:
        """Return the judgement of ``key``, or None without a valid one."""
        path = self.path(key)
        try:
            with path.open("rb") as file:
                data = file.read(_LONGEST_ENTRY + 1)
            if len(data) > _LONGEST_ENTRY:
                raise ValueError(f"more than {_LONGEST_ENTRY} bytes")
            entry = strict_json(data)
            if not isinstance(entry, dict) or entry.pop("format", None) != FORMAT:
                raise ValueError("another format")
            judgement = Judgement(**entry, cached=True)
            if judgement.key != key:
                raise ValueError("the entry of another key")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            _log.warning("%s is not used: %s; it is judged anew", path, error)
            return None
        return judgement

    def put(self, judgement: Judgement) -> None:
        """Write a judgement and replace any entry of its key."""
        entry = {"format": FORMAT, **judgement.to_dict()}
        del entry["cached"]
        path = self.path(judgement.key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, json.dumps(entry, ensure_ascii=True, indent=1) + "\n")
        except OSError as error:
            if not self._warned:
                self._warned = True
                _log.warning("judgements are not kept in %s: %s", self.folder, error)


def _write(path: Path, text: str) -> None:
    # Each writer has its own file: threads and processes may write the same entry at once.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem[:16]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
