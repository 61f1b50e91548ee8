"""A strict client for chat completions (``POST /chat/completions``), with time limits, retries and a limit of requests.

    wait before try n + 1 = Retry-After + a random time of up to min(20 s, 0.5 s * 2^(n - 1))

An answer is HTTP 200 with one complete choice in JSON. What may pass is tried again: 408, 429, 5xx, a lost connection,
a time-out, and an error or no choice in an HTTP 200. Redirects are not followed, because the key would go to any host
that they name. No message contains the key. Source: *Epistemic Adequacy Design*, "LLM-as-judge approach".

Known approximation: the system's name resolution has a time limit that is not ours.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from solvent.extras import install
from solvent.files import strict_json

__all__ = ["ChatClient", "ChatError", "ChatSettings", "EndpointError"]

LONGEST_ANSWER = 2**20
"""Maximum length of an answer, bytes."""
LONGEST_WAIT = 60.0
"""Maximum ``Retry-After`` that is waited for, seconds."""


class ChatError(ValueError):
    """There is no answer to this request; another one may have one."""


class EndpointError(ChatError):
    """The next request would fail too: the endpoint refuses, can't be reached, or the requests are used up."""


class _PassingError(Exception):
    def __init__(self, said: str, after: float = 0.0, final: type[ChatError] = ChatError) -> None:
        super().__init__(said)
        self.after, self.final = (
            after,
            final,
        )  # the wait that the server asks for; what it becomes after the last try


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
        with suppress(httpx.InvalidURL, TypeError):
            url = httpx.URL(settings.base_url)
            # Messages show the address, so it holds no secret.
            secret = url.userinfo or url.query or url.fragment
            self.base_url = (
                str(url).rstrip("/") if url.host and url.scheme in ("http", "https") and not secret else ""
            )
        if not getattr(self, "base_url", ""):
            raise ChatError("endpoint, base_url: got no plain address; allowed: http(s)://HOST[:PORT][/PATH]")
        self.settings, self.asked, self._lock = settings, 0, threading.Lock()
        limit = {} if "max_completion_tokens" in settings.options else {"max_tokens": 1000}
        options = {"temperature": 0, **limit, **settings.options}
        self.options = {name: value for name, value in options.items() if value is not None}

    def ask(self, messages: Sequence[Mapping[str, Any]], **fields: Any) -> str:
        """Return what the model says in a conversation; ``fields`` are further ones of the request.

        Raises:
            ChatError: there is no answer. ``EndpointError``: the next request would fail too.
        """
        request = {"model": self.settings.model, "messages": messages, **fields, **self.options}
        with ThreadPoolExecutor(1) as thread:  # this one may have an event loop
            return thread.submit(asyncio.run, self._retried(json.dumps(request).encode())).result()

    async def _retried(self, body: bytes) -> str:
        tries = self.settings.retries + 1
        for attempt in range(1, tries + 1):
            with self._lock:
                if self.asked >= self.settings.requests:
                    raise EndpointError(
                        f"endpoint: the requests are used up; allowed: {self.settings.requests:,}"
                    )
                self.asked += 1
            try:
                return await self._try(body)
            except _PassingError as error:
                if attempt == tries or error.after > LONGEST_WAIT:
                    raise error.final(
                        f"endpoint: {error}; gave up after {attempt} of {tries} tries"
                    ) from None
                await asyncio.sleep(error.after + random.uniform(0.0, min(20.0, 0.5 * 2.0 ** (attempt - 1))))
        raise AssertionError

    async def _try(self, body: bytes) -> str:
        import httpx

        try:
            async with asyncio.timeout(
                self.settings.timeout
            ):  # of the whole: a server that trickles can't prolong it
                return self._read(await self._post(body))
        except TimeoutError:
            raise _PassingError(f"no answer within {self.settings.timeout:g} s") from None
        except httpx.HTTPError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise EndpointError("endpoint: this machine doesn't trust its certificate") from None
            final = EndpointError if isinstance(error, httpx.ConnectError) else ChatError
            raise _PassingError(
                f"no answer ({self._shown(error) or type(error).__name__})", final=final
            ) from None

    async def _post(self, body: bytes) -> bytes:
        import httpx

        # A compressed body could expand without bound.
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if self.settings.api_key:
            headers["authorization"] = f"Bearer {self.settings.api_key}"
        url, found = f"{self.base_url}/chat/completions", bytearray()
        async with (
            httpx.AsyncClient(timeout=None, follow_redirects=False) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            async for chunk in response.aiter_raw():
                found += chunk
                if len(found) > LONGEST_ANSWER:
                    raise ChatError(
                        f"endpoint: the answer is longer than {LONGEST_ANSWER:,} bytes; allowed: so many"
                    )
        status, said = response.status_code, f"HTTP {response.status_code}, {self._shown(found)}"
        if status in (408, 429) or status >= 500:
            raise _PassingError(said, _seconds(response.headers.get("retry-after", "")))
        if status != 200:
            kind = ChatError if status in (400, 413, 422) else EndpointError  # of this request, or of all
            raise kind(f"endpoint: got {said}; allowed: HTTP 200")
        return bytes(found)

    def _read(self, body: bytes) -> str:
        said = self._shown(body)
        try:
            document = strict_json(body)
        except ValueError:
            raise EndpointError(f"endpoint: got {said}; allowed: a chat completion in JSON") from None
        if not isinstance(document, dict) or not document.get("choices"):  # an error with a polite status
            raise _PassingError(f"HTTP 200 without a choice, {said}")
        try:
            choice = document["choices"][0]
            content, refusal = choice["message"].get("content"), choice["message"].get("refusal")
            reason = "refusal" if refusal else choice.get("finish_reason")
        except (TypeError, KeyError, AttributeError, IndexError):
            raise ChatError(f"endpoint: got {said}; allowed: a chat completion") from None
        if reason in ("refusal", "length", "content_filter") or not isinstance(content, str):
            raise ChatError(f"endpoint: got {said} ({reason}); allowed: a whole answer")
        return content

    def _shown(self, said: object) -> str:
        text = said.decode("utf-8", "replace") if isinstance(said, bytes | bytearray) else str(said)
        return " ".join(text.replace(self.settings.api_key or "\0", "[API key]").split())[:160]


def _seconds(retry_after: str) -> float:
    """Return the seconds of a ``Retry-After``, a number or a date; 0 if unreadable."""
    with suppress(ValueError, OverflowError):
        if retry_after.strip().isdigit():
            return float(retry_after)
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    return 0.0
