"""A client for chat completions (``POST /chat/completions``) with a time limit and retries.

    wait before try n + 1 = Retry-After + a random time of up to 0.5 s * 2^(n - 1)

An answer is HTTP 200 with one complete choice in JSON. Transient failures are retried: 408, 429, 5xx, a lost
connection, a time-out, and an error or no choice in an HTTP 200. Redirects are not followed, because the key would go
to any host that they name. No message contains the key. Source: *Epistemic Adequacy Design*, "LLM-as-judge approach".

Known approximation: the time limit is checked as parts of an answer arrive, so a try may take twice as long.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from solvent.errors import SolventError
from solvent.extras import install
from solvent.files import strict_json

__all__ = ["ChatClient", "ChatError", "ChatSettings", "EndpointError"]

LONGEST_ANSWER = 2**20
"""Maximum length of an answer, bytes."""
LONGEST_WAIT = 60.0
"""Maximum ``Retry-After`` that is waited for, seconds."""


class ChatError(SolventError, ValueError):
    """There is no answer to this request; another one may have one."""


class EndpointError(ChatError):
    """The next request would fail too: the endpoint refuses or can't be reached."""


class _TransientError(SolventError):
    """A failure that may pass; ``after``: seconds that the server asks to wait, ``final``: raised in the end."""

    def __init__(self, message: str, after: float = 0.0, final: type[ChatError] = ChatError) -> None:
        super().__init__(message)
        self.after, self.final = after, final


@dataclass(frozen=True)
class ChatSettings:
    """An endpoint and the limits of its use.

    Attributes:
        base_url: address before ``/chat/completions``, such as ``http://127.0.0.1:8000/v1``.
        model: the model's name there.
        api_key: sent as a bearer token and shown nowhere.
        timeout: time limit of one request, seconds.
        retries: maximum number of retries.
        options: further fields of a request, such as ``{"max_completion_tokens": 4000}``; None removes one.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    retries: int = 4
    options: Mapping[str, Any] = field(default_factory=dict)


class ChatClient:
    """Asks one model at one endpoint; ``asked`` counts the requests, retries included.

    Raises:
        ChatError: the address, the key or the number of retries can't be used, or httpx is not installed.
    """

    def __init__(self, settings: ChatSettings) -> None:
        try:
            import httpx
        except ImportError:
            raise ChatError(f"endpoint: httpx is not installed; allowed: {install('judge')}") from None
        try:
            url = httpx.URL(settings.base_url)
        except httpx.InvalidURL:
            url = httpx.URL("")
        further = url.userinfo or url.query or url.fragment
        if url.scheme not in ("http", "https") or not url.host or further:
            raise ChatError("endpoint, base_url: got no plain address; allowed: http(s)://HOST[:PORT][/PATH]")
        if settings.api_key and not re.fullmatch("[!-~]+", settings.api_key):  # httpx would quote it
            raise ChatError(
                "endpoint, api_key: got one with a blank, a line end or a letter like ü; allowed: printable ASCII"
            )
        if settings.retries < 0:
            raise ChatError(f"endpoint, retries: got {settings.retries}; allowed: at least 0")
        self.settings, self.asked = settings, 0
        limit = {} if "max_completion_tokens" in settings.options else {"max_tokens": 1000}
        options = {"temperature": 0, **limit, **settings.options}
        self.options = {name: value for name, value in options.items() if value is not None}

    def ask(self, messages: Sequence[Mapping[str, Any]], **fields: Any) -> str:
        """Return what the model says in a conversation; ``fields`` are further ones of the request.

        Raises:
            ChatError: there is no answer. ``EndpointError``: the next request would fail too.
        """
        request = {"model": self.settings.model, "messages": messages, **fields, **self.options}
        body = json.dumps(request).encode()
        tries = self.settings.retries + 1
        for attempt in range(1, tries + 1):
            self.asked += 1
            try:
                return self._read(self._post(body))
            except _TransientError as error:
                if attempt == tries or error.after > LONGEST_WAIT:
                    raise error.final(
                        f"endpoint: {error}; gave up after {attempt} of {tries} tries"
                    ) from None
                time.sleep(error.after + random.uniform(0.0, 0.5 * 2.0 ** (attempt - 1)))
        raise AssertionError

    def _post(self, body: bytes) -> bytes:
        import httpx

        settings, answer = self.settings, bytearray()
        # A compressed answer could expand without bound.
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if settings.api_key:
            headers["authorization"] = f"Bearer {settings.api_key}"
        url = f"{settings.base_url.rstrip('/')}/chat/completions"
        deadline = time.monotonic() + settings.timeout
        try:
            with httpx.stream(
                "POST", url, content=body, headers=headers, timeout=settings.timeout
            ) as response:
                for chunk in response.iter_raw():
                    answer += chunk
                    if len(answer) > LONGEST_ANSWER:
                        raise ChatError(f"endpoint: answer too long; allowed: {LONGEST_ANSWER:,} bytes")
                    if time.monotonic() > deadline:  # a server that trickles
                        raise _TransientError(f"no answer within {settings.timeout:g} s")
        except httpx.HTTPError as error:
            final = EndpointError if isinstance(error, httpx.ConnectError) else ChatError
            reason = self._excerpt(error) or type(error).__name__
            raise _TransientError(f"no answer ({reason})", final=final) from None
        status, summary = response.status_code, f"HTTP {response.status_code}, {self._excerpt(answer)}"
        if status in (408, 429) or status >= 500:
            after = response.headers.get("retry-after", "")
            raise _TransientError(summary, float(after) if after.isdecimal() else 0.0)
        if status != 200:
            kind = ChatError if status in (400, 413, 422) else EndpointError  # of this request, or of all
            raise kind(f"endpoint: got {summary}; allowed: HTTP 200")
        return bytes(answer)

    def _read(self, body: bytes) -> str:
        excerpt = self._excerpt(body)
        try:
            document = strict_json(body)
        except ValueError:
            raise EndpointError(f"endpoint: got {excerpt}; allowed: a chat completion in JSON") from None
        if not isinstance(document, dict) or not document.get("choices"):  # an error with a polite status
            raise _TransientError(f"HTTP 200 without a choice, {excerpt}")
        try:
            choice = document["choices"][0]
            content, refusal = choice["message"].get("content"), choice["message"].get("refusal")
            reason = "refusal" if refusal else choice.get("finish_reason")
        except (TypeError, KeyError, AttributeError, IndexError):
            raise ChatError(f"endpoint: got {excerpt}; allowed: a chat completion") from None
        if reason in ("refusal", "length", "content_filter") or not isinstance(content, str):
            raise ChatError(f"endpoint: got {excerpt} ({reason}); allowed: a whole answer")
        return content

    def _excerpt(self, value: object) -> str:
        text = value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value)
        return " ".join(text.replace(self.settings.api_key or "\0", "[API key]").split())[:160]
