"""A strict client for chat completions (``POST /chat/completions``), with time limits, retries and a limit of requests.

    wait before try n + 1 = Retry-After + a random time of up to min(20 s, 0.5 s * 2^(n - 1))

An answer is HTTP 200 with one complete choice in JSON. What may pass is tried again: 408, 429, 5xx, a lost connection, a
time-out, and an error or no choice in an HTTP 200. Redirects are not followed, because the key would go to any host that
they name. No message contains the key. Source: "Epistemic Adequacy Design", LLM-as-judge approach.

Known approximation: the system's name resolution has a time limit that is not ours.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from solvent.extras import install
from solvent.files import strict_json

if TYPE_CHECKING:
    import httpx

__all__ = ["Answer", "ChatClient", "ChatError", "ChatSettings", "EndpointError"]

LONGEST_ANSWER = 2**20
"""Maximum length of an answer, bytes."""
LONGEST_WAIT = 60.0
"""Maximum ``Retry-After`` that is waited for, seconds."""


class ChatError(ValueError):
    """There is no answer to this request; another one may have one."""


class EndpointError(ChatError):
    """The next request would fail too: the endpoint refuses, can't be reached, or the limit of requests is spent."""


class _Passing(Exception):
    """A failure that may pass; ``after`` is the wait that the server asks for, seconds."""

    def __init__(self, said: str, after: float = 0.0, *, unreachable: bool = False) -> None:
        super().__init__(said)
        self.after, self.unreachable = after, unreachable


@dataclass(frozen=True)
class ChatSettings:
    """An endpoint and the limits of its use.

    Attributes:
        base_url: address before ``/chat/completions``, such as ``http://127.0.0.1:8000/v1``.
        model: the model's name there.
        api_key: sent as a bearer token and shown nowhere.
        timeout: time limit of one request, seconds.
        retries: maximum number of retries.
        requests: maximum number of requests in all, retries included.
        options: further fields of a request, such as ``{"max_completion_tokens": 4000}``; None removes one.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    retries: int = 4
    requests: int = 1000
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a model said, and the tokens that it took (None if the endpoint doesn't say)."""

    content: str
    tokens: int | None


class ChatClient:
    """Asks one model at one endpoint. Thread-safe, and callable inside a running event loop.

    Raises:
        ChatError: the address can't be used, or httpx is not installed.
    """

    def __init__(self, settings: ChatSettings) -> None:
        try:
            import httpx
        except ImportError:
            raise ChatError(f"endpoint: httpx is not installed; allowed: {install('judge')}") from None
        try:
            url = httpx.URL(settings.base_url)
        except (httpx.InvalidURL, TypeError):
            url = httpx.URL("")
        # Messages show the address, so it holds no secret.
        if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
            raise ChatError("endpoint, base_url: got no plain address; allowed: http(s)://HOST[:PORT][/PATH]")
        self.settings = settings
        self.base_url = str(url).rstrip("/")
        self.asked = 0
        given = {"temperature": 0, "max_tokens": 1000} | dict(settings.options)
        if "max_completion_tokens" in given:
            del given["max_tokens"]
        self.options = {name: value for name, value in given.items() if value is not None}
        self._lock = threading.Lock()

    def ask(self, messages: Sequence[Mapping[str, Any]], **fields: Any) -> Answer:
        """Return the model's answer to a conversation; ``fields`` are further ones of the request.

        Raises:
            ChatError: there is no answer. ``EndpointError``: the next request would fail too.
        """
        body = json.dumps(
            {"model": self.settings.model, "messages": messages, **fields, **self.options}
        ).encode()
        with ThreadPoolExecutor(1) as thread:  # this one may have an event loop
            return thread.submit(asyncio.run, self._retried(body)).result()

    async def _retried(self, body: bytes) -> Answer:
        tries = self.settings.retries + 1
        for attempt in range(1, tries + 1):
            self._count()
            try:
                return await self._try(body)
            except _Passing as error:
                if attempt == tries or error.after > LONGEST_WAIT:
                    kind = EndpointError if error.unreachable else ChatError
                    raise kind(f"endpoint: {error}; gave up after {attempt} of {tries} tries") from None
                await asyncio.sleep(error.after + random.uniform(0.0, min(20.0, 0.5 * 2.0 ** (attempt - 1))))
        raise AssertionError

    def _count(self) -> None:
        with self._lock:
            if self.asked >= self.settings.requests:
                raise EndpointError(
                    f"endpoint: {self.asked:,} requests were made; allowed: {self.settings.requests:,}"
                )
            self.asked += 1

    async def _try(self, body: bytes) -> Answer:
        import httpx

        try:
            async with asyncio.timeout(
                self.settings.timeout
            ):  # of the whole: a server that trickles can't prolong it
                return self._read(await self._post(body))
        except TimeoutError:
            raise _Passing(f"no answer within {self.settings.timeout:g} s") from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol) as error:
            raise EndpointError(f"endpoint: the request can't be sent ({self._shown(error)})") from None
        except httpx.HTTPError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise EndpointError("endpoint: its certificate is not trusted by this machine") from None
            unreachable = isinstance(error, httpx.ConnectError)
            raise _Passing(
                f"no answer ({self._shown(error) or type(error).__name__})", unreachable=unreachable
            ) from None

    async def _post(self, body: bytes) -> bytes:
        import httpx

        # A compressed body could expand without bound.
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if self.settings.api_key:
            headers["authorization"] = f"Bearer {self.settings.api_key}"
        url = f"{self.base_url}/chat/completions"
        async with (
            httpx.AsyncClient(timeout=None, follow_redirects=False) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            found = bytearray()
            async for chunk in response.aiter_raw():
                found += chunk
                if len(found) > LONGEST_ANSWER:
                    raise ChatError(f"endpoint: the answer is longer than {LONGEST_ANSWER:,} bytes")
            status, said = response.status_code, self._shown(found.decode("utf-8", "replace"))
            if status in (408, 429) or status >= 500:
                raise _Passing(f"HTTP {status}, {said}", _retry_after(response.headers))
            if status != 200:
                kind = ChatError if status in (400, 413, 422) else EndpointError  # of this request, or of all
                raise kind(f"endpoint: got HTTP {status}, {said}; allowed: HTTP 200")
            return bytes(found)

    def _read(self, body: bytes) -> Answer:
        said = self._shown(body.decode("utf-8", "replace"))
        try:
            document = strict_json(body)
        except ValueError:
            raise EndpointError(f"endpoint: got {said}; allowed: a chat completion in JSON") from None
        choices = document.get("choices") if isinstance(document, dict) else None
        if not choices or not isinstance(
            choices, list
        ):  # an error with a polite status; some proxies send them
            raise _Passing(f"HTTP 200 without a choice, {said}")
        try:
            message, reason = choices[0]["message"], choices[0].get("finish_reason")
            content, refusal = message.get("content"), message.get("refusal")
        except (TypeError, KeyError, AttributeError):
            raise ChatError(f"endpoint: got {said}; allowed: a chat completion") from None
        if refusal or reason in ("length", "content_filter") or not isinstance(content, str):
            why = "it refused" if refusal else f"cut off, {reason}" if reason != "stop" else "no text"
            raise ChatError(f"endpoint: {why}: {said}; allowed: a whole answer")
        usage = document.get("usage")
        tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
        return Answer(content, tokens if isinstance(tokens, int) else None)

    def _shown(self, said: object) -> str:
        text = " ".join(str(said).split())
        return text.replace(self.settings.api_key or "\0", "[API key]")[:160]


def _retry_after(headers: httpx.Headers) -> float:
    """Return the seconds in ``Retry-After``, a number or a date; 0 if unreadable."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text) if text.replace(".", "").isdigit() else _until(text))
    except (ValueError, OverflowError):
        return 0.0


def _until(date: str) -> float:
    return email.utils.parsedate_to_datetime(date).timestamp() - time.time()
