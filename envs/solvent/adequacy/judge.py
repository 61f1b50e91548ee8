"""A language model as the judge of epistemic adequacy: any endpoint that speaks ``POST /chat/completions``.

    key = SHA-256(address, model and options, prompt version, response, tools, query)
    judgement = cache[key], else the answer of at most 1 + retries requests within ``total`` seconds

It gets the response, the summary of the tool calls and the user's query, and returns EpAd and SyA (0..3) with a
reason; what it answers in any other form is refused, never mended (``judge_answer``). What is judged is data that can't
leave its place in the request (``judge_prompt``). Source: "Epistemic Adequacy Design", LLM-as-judge approach.

httpx and tenacity, not the ``openai`` client: its retries can be turned off but not counted against a budget, its time
limit is httpx's for each read and none for the whole, and it reads bodies of any length.

Known approximation: a judge is a model. Compare its scores with people's before they are used (``agreement``). Equal
summaries have equal keys, whatever the summary left out: the judge has seen no more.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from solvent.adequacy.judge_arguments import (
    check_model,
    check_retries,
    check_seconds,
    check_text,
    most_tokens,
    options_of,
)
from solvent.adequacy.judge_budget import Budget
from solvent.adequacy.judge_errors import BudgetError, EndpointError, JudgeError
from solvent.adequacy.judge_prompt import SCHEMA, Material, load_prompt
from solvent.adequacy.judgement import Judgement

if TYPE_CHECKING:
    from solvent.adequacy.tools import ToolContext

__all__ = ["LONGEST_ANSWER", "Budget", "BudgetError", "EndpointError", "Judge", "JudgeError", "Judgement"]

LONGEST_ANSWER = 2**20
"""Bytes of an answer; a longer one is dropped."""

_TEMPLATE = 200  # tokens that a server may put around two messages

T = TypeVar("T")


class Judge:
    """Asks one model at one endpoint. Safe between threads; may be called where an event loop runs.

    Args:
        base_url: what ``/chat/completions`` is appended to, such as ``http://127.0.0.1:8000/v1``.
        model: the model's name there.
        api_key: sent as a bearer token in the header; nowhere else.
        timeout: seconds that one request may take.
        retries: further tries after one that failed in a way that can pass.
        budget: requests in all, retries included, or a ``Budget`` that several judges share.
        cache: folder of earlier judgements; None: none are kept.
        total: seconds that one judgement may take, with retries and waits.
        backoff: seconds, the bound of the first wait.
        options: fields of the request in place of ``OPTIONS``, such as ``{"max_completion_tokens": 4000}``.

    Raises:
        JudgeError: an argument that can't be used, or a package that is not installed.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 4,
        budget: int | Budget = 1000,
        cache: str | PathLike[str] | None = None,
        total: float = 120.0,
        backoff: float = 0.5,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            from solvent.adequacy import judge_retry
            from solvent.adequacy.judge_cache import JudgementCache
            from solvent.adequacy.judge_http import Endpoint, base_url_of
        except ImportError as error:
            raise JudgeError(
                f"judge: the package {error.name} is not installed; allowed: pip install 'solvent-gym[judge]'"
            ) from None
        check_model(model)
        check_retries(retries)
        check_seconds("timeout", timeout)
        check_seconds("total", total)
        check_seconds("backoff", backoff, zero=True)
        self.base_url, self.model = base_url_of(base_url), model
        self.timeout, self.retries, self.total, self.backoff = timeout, retries, total, backoff
        self.budget = budget if isinstance(budget, Budget) else Budget(budget)
        self.options = options_of(options)
        self.prompt = load_prompt()
        self._most_tokens = most_tokens(self.options, needed=self.budget.tokens is not None)
        self._cache = None if cache is None else JudgementCache(cache)
        self._endpoint = Endpoint.of(self.base_url, api_key, LONGEST_ANSWER)
        self._tries = judge_retry.tries

    def __repr__(self) -> str:
        return f"Judge(base_url={self.base_url!r}, model={self.model!r}, prompt={self.prompt.version!r})"

    def judge(self, response: str, tool_context: ToolContext, query: str) -> Judgement:
        """EpAd and SyA of a response.

        Raises:
            JudgeError: no judgement, with what came instead. ``EndpointError`` where the next response would fare no
                better, ``BudgetError`` where the budget is spent.
        """
        from solvent.adequacy.judge_answer import read_answer, tokens_of

        check_text("response", response)
        check_text("query", query)
        material = Material(query, tool_context.summary(), response)
        key = self.key(material)
        if self._cache is not None and (known := self._cache.get(key)) is not None:
            return known
        text = _run(self._ask(self._body(material)))
        grades = read_answer(text, self._endpoint.scrub)
        judgement = Judgement(
            **grades.model_dump(),
            model=self.model,
            prompt=self.prompt.version,
            key=key,
            tokens=tokens_of(text),
        )
        if self._cache is not None:
            self._cache.put(judgement)
        return judgement

    def key(self, material: Material) -> str:
        """The cache's key of some material: a SHA-256 in hexadecimal."""
        asked = [self.base_url, self.model, dict(self.options), self.prompt.version]
        parts = [*asked, material.response, material.tools, material.query]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()

    def _body(self, material: Material) -> bytes:
        schema = {"name": "judgement", "strict": True, "schema": dict(SCHEMA)}
        request = {
            "model": self.model,
            "messages": self.prompt.messages(material),
            "response_format": {"type": "json_schema", "json_schema": schema},
            **self.options,
        }
        return json.dumps(request).encode("ascii")

    async def _ask(self, body: bytes) -> str:
        """The body of an answer, after as many tries as it takes and there may be."""
        from solvent.adequacy.judge_http import PassingError

        tries = self._tries(self.retries, self.total, self.backoff)
        try:
            answer: str = await tries(self._try, body, time.monotonic() + self.total)
        except PassingError as error:
            asked = "" if error.after is None else f", asked to wait {error.after:.4g} s"
            raise (EndpointError if error.unreachable else JudgeError)(
                f"judge: {error}{asked}; gave up after {tries.statistics['attempt_number']} of {self.retries + 1}"
                f" tries, {self.total:g} s allowed"
            ) from None
        return answer

    async def _try(self, body: bytes, deadline: float) -> str:
        from solvent.adequacy.judge_answer import tokens_of
        from solvent.adequacy.judge_http import PassingError

        if (left := deadline - time.monotonic()) <= 0.0:
            raise PassingError("no time left")
        aside = len(body) + _TEMPLATE + self._most_tokens
        self.budget.take(aside)
        try:
            text = await self._endpoint.post(body, min(self.timeout, left))
        except (PassingError, JudgeError) as error:
            if error.refused:
                self.budget.settle(aside, 0)
            raise
        if (used := tokens_of(text)) is not None:
            self.budget.settle(aside, used)
        return text


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it to its end, in a thread of its own where this one has an event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
