"""An HTTP client for chat completions (``POST /chat/completions``) with time limits, retries and a budget.

    wait before try n + 1 = Retry-After + a random time of up to min(20 s, backoff * 2^(n - 1))

The answer must be HTTP 200 with JSON. A transient failure (408, 429, 5xx, a lost connection, a time-out) is retried at
most ``retries`` times and never after ``total`` seconds; a server that asks for more than a minute is not waited for. A
permanent failure belongs to the request (400, 413, 422: ``ChatError``) or to the endpoint (``EndpointError``).
No message contains the API key.
Redirects are not followed, because the key would go to any host that they name. Compressed bodies, which can expand
without bound, are neither requested nor read. A call is taken from the budget before it is sent; tokens are reserved
before it and settled once the answer reports its usage.

The client uses httpx. The ``openai`` client's retries can't be counted against a budget, its time limit holds for each
read instead of the whole request, and it reads bodies of any length. Source: "Epistemic Adequacy Design", LLM-as-judge
approach; exponential back-off with full jitter.

Known approximation: name resolution runs in a thread that can't be cancelled and has its own time limit. The bound on
tokens trusts the server: one that ignores the limit of the answer can use more.
"""

from __future__ import annotations

import asyncio
import email.utils
import itertools
import json
import logging
import math
import random
import re
import ssl
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import httpx

__all__ = [
    "LONGEST_ANSWER",
    "OPTIONS",
    "Budget",
    "BudgetError",
    "ChatClient",
    "ChatError",
    "ChatSettings",
    "EndpointError",
    "Usage",
    "usage_of",
]

LONGEST_ANSWER = 2**20
"""Maximum length of an answer, in bytes; a longer one is dropped."""

OPTIONS: Mapping[str, Any] = MappingProxyType({"temperature": 0, "max_tokens": 1000})
"""Default fields of a request, apart from model, messages and schema."""

_RESERVED = {"model", "messages", "response_format", "tools", "stream", "n"}
_LIMITS = {"max_completion_tokens", "max_tokens"}
_TEMPLATE = 200  # tokens that a server may add around the messages
_MOST_TOKENS = 2**40  # of one answer; a larger number is none
_LONGEST_WAIT = 60.0  # seconds
_LONGEST_BACKOFF = 20.0  # seconds
_SHORTEST_SECRET = 6  # local servers take any word as a key; scrubbing a shorter one would damage other words
_OF_THE_REQUEST = (400, 413, 422)
_JSON = re.compile(r"application/([\w.+-]*\+)?json", re.ASCII | re.IGNORECASE)
_KEY = re.compile(r"[!-~]+", re.ASCII)
_ADDRESS = re.compile(r"https?://[!-~]+", re.IGNORECASE)

_log = logging.getLogger(__name__)

T = TypeVar("T")


class ChatError(ValueError):
    """There is no answer to this request; another one may have one.

    ``refused``: the server refused the request, which therefore used no tokens.
    """

    refused = False


class EndpointError(ChatError):
    """The endpoint refuses such requests or can't be reached, so the next request would fail too."""


class BudgetError(ChatError):
    """The budget of calls, tokens or money is spent; nothing was sent."""


class Usage(NamedTuple):
    """Tokens of requests and of their answers."""

    prompt: int
    answer: int

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt + self.answer


class Budget:
    """Calls, and optionally tokens and money, that one or more clients may spend. Thread-safe.

    A retry is a call. A call reserves an upper bound of tokens: the bytes of its body, since a token stands for at
    least one byte, plus the limit of its answer. A call whose answer doesn't report its usage keeps the reservation;
    a refused call returns it.

    Args:
        calls: maximum number of requests, retries included.
        tokens: maximum number of tokens, prompts and answers together; None: no limit.
        money: maximum cost; None: no limit.
        prices: money for a million tokens of prompts, and of answers.

    Raises:
        ChatError: a limit is not a whole number from 0, or money or a price is not a number from 0.
    """

    def __init__(
        self,
        calls: int,
        tokens: int | None = None,
        money: float | None = None,
        prices: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        limits: dict[str, Any] = {"calls": calls, "tokens": 0 if tokens is None else tokens}
        for name, limit in limits.items():
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
                raise ChatError(f"budget, {name}: got {limit!r:.80}; allowed: a whole number from 0")
        for name, amount in (("money", money or 0.0), ("price", prices[0]), ("price", prices[1])):
            if not math.isfinite(amount) or amount < 0.0:
                raise ChatError(f"budget, {name}: got {amount!r:.80}; allowed: a number from 0")
        self.calls, self.tokens, self.money, self.prices = calls, tokens, money, prices
        self.called = 0
        self.prompt = self.answer = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        limits = f"calls={self.calls}, tokens={self.tokens}, money={self.money}"
        return f"Budget({limits}, called={self.called}, used={self.used}, spent={self.spent:.6g})"

    @property
    def used(self) -> int:
        """Tokens used and reserved."""
        return self.prompt + self.answer

    @property
    def spent(self) -> float:
        """Money for the tokens used and reserved."""
        return self.cost(Usage(self.prompt, self.answer))

    @property
    def limits_tokens(self) -> bool:
        """True if each call needs an upper bound of its tokens."""
        return self.tokens is not None or self.money is not None

    def cost(self, usage: Usage) -> float:
        """Return the money for so many tokens."""
        return (usage.prompt * self.prices[0] + usage.answer * self.prices[1]) / 1e6

    def take(self, usage: Usage) -> None:
        """Take one call and reserve its tokens.

        Raises:
            BudgetError: calls, tokens or money are spent; nothing was taken.
        """
        with self._lock:
            if self.called >= self.calls:
                raise BudgetError(f"endpoint: the budget is spent; allowed: {self.calls:,} calls")
            if self.tokens is not None and self.used + usage.total > self.tokens:
                raise BudgetError(
                    f"endpoint: the budget is spent: {self.used:,} tokens used, up to {usage.total:,} needed;"
                    f" allowed: {self.tokens:,} tokens"
                )
            if self.money is not None and self.spent + self.cost(usage) > self.money:
                raise BudgetError(
                    f"endpoint: the budget is spent: {self.spent:.4f} used, up to {self.cost(usage):.4f} needed;"
                    f" allowed: {self.money:g}"
                )
            self.called += 1
            self._add(usage)

    def settle(self, aside: Usage, used: Usage) -> None:
        """Return the reservation ``aside`` and count the tokens ``used``."""
        with self._lock:
            self._add(Usage(used.prompt - aside.prompt, used.answer - aside.answer))

    def count(self, used: Usage, calls: int = 0) -> None:
        """Count what was paid for earlier, even beyond the limits."""
        with self._lock:
            self.called += calls
            self._add(used)

    def _add(self, usage: Usage) -> None:
        self.prompt += usage.prompt
        self.answer += usage.answer


@dataclass(frozen=True)
class ChatSettings:
    """An endpoint and the limits of its use.

    Attributes:
        base_url: address before ``/chat/completions``, such as ``http://127.0.0.1:8000/v1``.
        model: the model's name there.
        api_key: sent as a bearer token in the header and shown nowhere.
        timeout: time limit of one request, seconds.
        retries: maximum number of retries after transient failures.
        budget: maximum number of requests, retries included, or a ``Budget`` that several clients share.
        total: time limit of one answer with retries and waits, seconds.
        backoff: bound of the first random wait, seconds.
        options: request fields that replace ``OPTIONS``, such as ``{"max_completion_tokens": 4000}``; None removes a
            field. One limit of the answer's length replaces the other.

    Raises:
        ChatError: a value can't be used.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    retries: int = 4
    budget: int | Budget = 1000
    total: float = 120.0
    backoff: float = 0.5
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: dict[str, Any] = vars(self)  # unvalidated input
        model, key, retries = given["model"], given["api_key"], given["retries"]
        if not isinstance(model, str) or not model.strip() or not model.isprintable() or len(model) > 200:
            raise ChatError(f"endpoint, model: got {model!r:.80}; allowed: its name, 200 characters")
        if key and not (isinstance(key, str) and _KEY.fullmatch(key)):
            raise ChatError(
                "endpoint, api_key: got something else (not shown); allowed: printable ASCII without a space"
            )
        if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= 100:
            raise ChatError(f"endpoint, retries: got {retries!r:.80}; allowed: a whole number from 0 to 100")
        for name, least in (("timeout", "above 0,"), ("total", "above 0,"), ("backoff", "from 0")):
            seconds = given[name]
            number = (
                isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
            )
            if not number or not 0 <= seconds <= 3600 or (seconds == 0 and least != "from 0"):
                raise ChatError(f"endpoint, {name}: got {seconds!r:.80}; allowed: seconds {least} up to 3600")


class PassingError(Exception):
    """The request failed in a way that may pass.

    ``after``: the wait that the server asks for, seconds, or None. ``refused``: the server refused for now.
    ``unreachable``: there was no connection.
    """

    refused = False

    def __init__(self, text: str, after: float | None = None, *, unreachable: bool = False) -> None:
        super().__init__(text)
        self.after = after
        self.unreachable = unreachable


class ChatClient:
    """Asks one model at one endpoint, with httpx. Thread-safe, and callable inside a running event loop.

    Raises:
        ChatError: the settings can't be used.
        ImportError: httpx is not installed.
    """

    def __init__(self, settings: ChatSettings) -> None:
        import httpx

        self.settings = settings
        self.base_url = _base_url(settings.base_url)
        self.budget = settings.budget if isinstance(settings.budget, Budget) else Budget(settings.budget)
        self.options = _options(settings.options)
        self._most_tokens = _most_tokens(self.options, needed=self.budget.limits_tokens)
        # Created once, because reading the certificates takes longer than a local request.
        self._tls = httpx.create_ssl_context()

    def request(self, messages: Sequence[Mapping[str, Any]], **fields: Any) -> bytes:
        """Return the body of a request: a conversation, and fields such as ``response_format`` or ``tools``."""
        body = {"model": self.settings.model, "messages": messages, **fields, **self.options}
        return json.dumps(body).encode("ascii")

    def ask(self, request: bytes) -> str:
        """Return the body of the endpoint's answer to a request.

        Raises:
            ChatError: there is no answer. ``EndpointError``: the next request would fail too. ``BudgetError``: the
                budget is spent.
        """
        return _run(self._retried(request))

    def bound(self, request: bytes) -> Usage:
        """Return the most tokens that a request may use, as the budget reserves them."""
        return Usage(len(request) + _TEMPLATE, self._most_tokens)

    def scrub(self, text: str) -> str:
        """Return ``text`` without the API key, for display, logs and storage."""
        key = self.settings.api_key or ""
        return text.replace(key, "[API key]") if len(key) >= _SHORTEST_SECRET else text

    async def _retried(self, body: bytes) -> str:
        allowed = self.settings
        deadline = time.monotonic() + allowed.total
        for attempt in itertools.count(1):
            try:
                return await self._try(body, deadline)
            except PassingError as error:
                asked = error.after or 0.0
                wait = asked + random.uniform(
                    0.0, min(_LONGEST_BACKOFF, allowed.backoff * 2.0 ** (attempt - 1))
                )
                too_late = time.monotonic() + wait >= deadline
                if attempt > allowed.retries or asked > _LONGEST_WAIT or too_late:
                    raise self._given_up(error, attempt) from None
                _log.info("endpoint: %s; try %d after %.2f s", error, attempt + 1, wait)
            await asyncio.sleep(wait)
        raise AssertionError

    def _given_up(self, error: PassingError, attempt: int) -> ChatError:
        asked = "" if error.after is None else f", asked to wait {error.after:.4g} s"
        return (EndpointError if error.unreachable else ChatError)(
            f"endpoint: {error}{asked}; gave up after {attempt} of {self.settings.retries + 1} tries,"
            f" {self.settings.total:g} s allowed"
        )

    async def _try(self, body: bytes, deadline: float) -> str:
        if (left := deadline - time.monotonic()) <= 0.0:
            raise PassingError("no time left")
        aside = self.bound(body)
        self.budget.take(aside)
        try:
            text = await self._post(body, min(self.settings.timeout, left))
        except (PassingError, ChatError) as error:
            if error.refused:
                self.budget.settle(aside, Usage(0, 0))
            raise
        if (used := usage_of(text)) is not None:
            self.budget.settle(aside, used)
        return text

    async def _post(self, body: bytes, timeout: float) -> str:
        import httpx

        try:
            # The limit holds for the whole request, so a server that trickles bytes can't prolong it.
            async with asyncio.timeout(timeout):
                return await self._exchange(body)
        except TimeoutError:
            raise PassingError(f"no answer within {timeout:.3g} s") from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise EndpointError(
                f"endpoint: the request can't be sent ({self._shown(error)}); allowed: HTTP"
            ) from None
        except httpx.HTTPError as error:
            if _is_untrusted(error):
                allowed = "allowed: a certificate that this machine trusts"
                raise EndpointError(f"endpoint: {self._shown(error)}; {allowed}") from None
            lost = isinstance(error, httpx.ConnectError)
            raise PassingError(f"no answer ({self._shown(error)})", unreachable=lost) from None

    async def _exchange(self, body: bytes) -> str:
        import httpx

        url = f"{self.base_url}/chat/completions"
        async with (
            httpx.AsyncClient(verify=self._tls, timeout=None, follow_redirects=False) as client,
            client.stream("POST", url, content=body, headers=self._headers()) as response,
        ):
            if response.status_code != 200:
                refusal = self._refusal(response, self.scrub(_decoded(await _start(response))))
                refusal.refused = True
                raise refusal
            self._check(response.headers)
            found = bytearray()
            async for chunk in response.aiter_raw():
                found += chunk
                if len(found) > LONGEST_ANSWER:
                    raise ChatError(
                        f"endpoint: the answer is longer than {LONGEST_ANSWER:,} bytes; allowed: so many"
                    )
            return _decoded(found)

    def _headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
        }
        key = self.settings.api_key
        return {**headers, "authorization": f"Bearer {key}"} if key else headers

    def _check(self, headers: httpx.Headers) -> None:
        kind, coding = headers.get("content-type", ""), headers.get("content-encoding", "identity")
        if not _JSON.fullmatch(kind.partition(";")[0].strip()):
            raise ChatError(
                f"endpoint, content type: got {self.scrub(kind)!r:.80}; allowed: application/json"
            )
        if coding.strip().lower() not in ("", "identity"):
            raise ChatError(f"endpoint, content encoding: got {self.scrub(coding)!r:.80}; allowed: none")

    def _refusal(self, response: httpx.Response, explanation: str) -> PassingError | ChatError:
        status = response.status_code
        text = f"HTTP {status}" + (f", {explanation!r:.160}" if explanation else "")
        if status in (408, 429) or status >= 500:
            return PassingError(text, _retry_after(response.headers))
        if 300 <= status < 400:
            target = self.scrub(response.headers.get("location", "nowhere"))
            return EndpointError(
                f"endpoint: got a redirect (HTTP {status}) to {target!r:.80}; allowed: an answer"
            )
        kind = ChatError if status in _OF_THE_REQUEST else EndpointError
        return kind(f"endpoint: got {text}; allowed: HTTP 200")

    def _shown(self, error: Exception) -> str:
        return self.scrub(" ".join(str(error).split()) or type(error).__name__)[:160]


def usage_of(text: str) -> Usage | None:
    """Return the tokens that an answer reports, even if it is otherwise unreadable; None if it reports none.

    Tokens that are in the total alone count as those of the prompt; a missing total is the sum of both.
    """
    try:
        usage = json.loads(text)["usage"]
        answer = usage.get("completion_tokens", 0)
        total = usage["total_tokens"] if "total_tokens" in usage else usage["prompt_tokens"] + answer
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not all(type(number) is int and 0 <= number < _MOST_TOKENS for number in (total, answer)):
        return None
    return Usage(max(0, total - answer), answer)


def _options(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ChatError(f"endpoint, options: got {given!r:.80}; allowed: a mapping of names to values")
    if taken := sorted(_RESERVED & set(given)):
        raise ChatError(f"endpoint, options: got {taken[0]!r}; allowed: other fields of the request")
    dropped = _LIMITS if _LIMITS & set(given) else set()
    defaults = {name: value for name, value in OPTIONS.items() if name not in dropped}
    options = {name: value for name, value in {**defaults, **given}.items() if value is not None}
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ChatError(f"endpoint, options: got {given!r:.80} ({error}); allowed: values of JSON") from None
    return MappingProxyType(options)


def _most_tokens(options: Mapping[str, Any], *, needed: bool) -> int:
    """Return the maximum number of tokens of an answer; 0 for a limit that is missing and not needed."""
    found = [options[name] for name in _LIMITS & set(options)]
    if found and all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in found):
        return int(max(found))
    if needed:
        allowed = "a whole number above 0, as a budget of tokens needs a bound"
        raise ChatError(f"endpoint, options, max_tokens: got {found!r:.80}; allowed: {allowed}")
    return 0


def _base_url(text: Any) -> str:
    """Return the address without its final slash. Messages show it, so a user, a query or a fragment is refused."""
    import httpx

    allowed = "allowed: http(s)://HOST[:PORT][/PATH]"
    if not isinstance(text, str) or not _ADDRESS.fullmatch(text):
        raise ChatError(f"endpoint, base_url: got no address of http or https; {allowed}")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise ChatError(f"endpoint, base_url: got no address; {allowed}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ChatError(f"endpoint, base_url: got no address of http or https; {allowed}")
    if url.userinfo or url.query or url.fragment or "?" in text or "#" in text:
        raise ChatError(f"endpoint, base_url: got a user, a query or a fragment (not shown); {allowed}")
    return str(url).rstrip("/")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in ``Retry-After``, a number or a date; None if unreadable."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text, re.ASCII):
        return float(text)
    try:
        seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError, OSError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


async def _start(response: httpx.Response) -> bytes:
    """Return the start of an error's body, if it comes soon: a slow explanation must not cost the retry."""
    import httpx

    found = bytearray()
    try:
        async with asyncio.timeout(1.0):
            async for chunk in response.aiter_raw():
                found += chunk
                if len(found) >= 4096:
                    break
    except (TimeoutError, httpx.HTTPError):
        pass
    return bytes(found[:4096])


def _decoded(body: bytes | bytearray) -> str:
    return body.decode("utf-8", errors="replace")


def _is_untrusted(error: BaseException) -> bool:
    """Return whether the error is an untrusted certificate, which is permanent."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        if isinstance(inner, ssl.SSLCertVerificationError):
            return True
        seen.add(id(inner))
        inner = inner.__cause__ or inner.__context__
    return False


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in another thread if this one has an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
