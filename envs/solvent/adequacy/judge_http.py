"""One request to the judge's endpoint, within a time and a size, and what its failure means.

The answer must be HTTP 200 with JSON. What can pass raises ``PassingError`` and may be asked again: 408, 429, 5xx, a
lost connection, a time-out. The rest can't: another status is the endpoint's (``EndpointError``) or, where it says
that this one request can't be processed (400, 413, 422), the response's (``JudgeError``). Redirects are not followed:
the key would go to whoever they name. The body is read as it comes and dropped once it is longer than allowed;
compressed bodies, which can grow without end, are neither asked for nor read. The time limit is for the whole request,
so that a server that sends a byte now and then does not hold it up: hence asyncio, whose cancellation reaches every
phase.

Known approximation: the system's name resolution runs in a thread that can't be cancelled; it keeps its own time limit.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr

from solvent.adequacy.judge_errors import EndpointError, JudgeError

__all__ = ["Endpoint", "PassingError", "base_url_of", "retry_after"]

_OF_THE_REQUEST = (400, 413, 422)
_JSON = re.compile(r"application/([\w.+-]*\+)?json", re.ASCII | re.IGNORECASE)
_KEY = re.compile(r"[!-~]+", re.ASCII)
_ADDRESS = re.compile(r"https?://[!-~]+", re.IGNORECASE)
_SHORTEST_SECRET = (
    6  # local servers take any word as a key, and a shorter one would be cut out of other words
)
_LOCAL = (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL)


class PassingError(Exception):
    """The request failed in a way that can pass.

    ``after``: seconds that the server asks to wait, or None. ``refused``: it answered that it won't do it now.
    ``unreachable``: there was no connection, so nobody was asked.
    """

    refused = False

    def __init__(self, text: str, after: float | None = None, *, unreachable: bool = False) -> None:
        super().__init__(text)
        self.after = after
        self.unreachable = unreachable


@dataclass(frozen=True)
class Endpoint:
    """Where to ask. ``longest`` is the most bytes of a body that are read."""

    base_url: str
    api_key: SecretStr | None
    longest: int
    context: ssl.SSLContext

    @classmethod
    def of(cls, base_url: str, api_key: Any, longest: int) -> Endpoint:
        """The endpoint at an address.

        Raises:
            JudgeError: a key that can't stand in a header; it isn't shown.
        """
        if api_key and not (isinstance(api_key, str) and _KEY.fullmatch(api_key)):
            raise JudgeError(
                "judge, api_key: got something else (not shown); allowed: printable ASCII without a space"
            )
        # Made once: reading the certificates takes longer than a request on the loopback.
        return cls(base_url, SecretStr(api_key) if api_key else None, longest, httpx.create_ssl_context())

    def scrub(self, text: str) -> str:
        """``text`` without the API key, before it is shown, logged or stored."""
        key = "" if self.api_key is None else self.api_key.get_secret_value()
        return text.replace(key, "[API key]") if len(key) >= _SHORTEST_SECRET else text

    async def post(self, body: bytes, timeout: float) -> str:
        """The body of the answer to ``POST {base_url}/chat/completions``.

        Raises:
            PassingError: another try may succeed.
            JudgeError, EndpointError: it won't.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._post(body)
        except TimeoutError:
            raise PassingError(f"no answer within {timeout:.3g} s") from None
        except _LOCAL as error:
            raise EndpointError(
                f"judge: the request can't be sent ({self._said(error)}); allowed: HTTP"
            ) from None
        except httpx.HTTPError as error:
            if _is_untrusted(error):
                raise EndpointError(
                    f"judge: {self._said(error)}; allowed: a certificate that this machine trusts"
                ) from None
            lost = isinstance(error, httpx.ConnectError)
            raise PassingError(f"no answer ({self._said(error)})", unreachable=lost) from None

    async def _post(self, body: bytes) -> str:
        # The time limit is that of the whole; httpx's own would only be one for each read.
        async with (
            httpx.AsyncClient(verify=self.context, timeout=None, follow_redirects=False) as client,
            client.stream(
                "POST", f"{self.base_url}/chat/completions", content=body, headers=self._headers()
            ) as response,
        ):
            if response.status_code != 200:
                refusal = self._refusal(response, self.scrub(_decoded(await _start(response))))
                refusal.refused = True
                raise refusal
            self._check(response.headers)
            return _decoded(await self._whole(response))

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self.api_key is not None:
            headers["authorization"] = f"Bearer {self.api_key.get_secret_value()}"
        return {**headers, "accept-encoding": "identity"}

    def _check(self, headers: httpx.Headers) -> None:
        kind, coding = headers.get("content-type", ""), headers.get("content-encoding", "identity")
        if not _JSON.fullmatch(kind.partition(";")[0].strip()):
            raise JudgeError(f"judge, content type: got {self.scrub(kind)!r:.80}; allowed: application/json")
        if coding.strip().lower() not in ("", "identity"):
            raise JudgeError(f"judge, content encoding: got {self.scrub(coding)!r:.80}; allowed: none")

    async def _whole(self, response: httpx.Response) -> bytes:
        found = bytearray()
        async for chunk in response.aiter_raw():
            found += chunk
            if len(found) > self.longest:
                raise JudgeError(f"judge: the answer is longer than {self.longest:,} bytes; allowed: so many")
        return bytes(found)

    def _refusal(self, response: httpx.Response, said: str) -> PassingError | JudgeError:
        status = response.status_code
        text = f"HTTP {status}" + (f", {said!r:.160}" if said else "")
        if status in (408, 429) or status >= 500:
            return PassingError(text, retry_after(response.headers))
        if 300 <= status < 400:
            target = self.scrub(response.headers.get("location", "nowhere"))
            return EndpointError(
                f"judge: got a redirect (HTTP {status}) to {target!r:.80}; allowed: an answer"
            )
        kind = JudgeError if status in _OF_THE_REQUEST else EndpointError
        return kind(f"judge: got {text}; allowed: HTTP 200")

    def _said(self, error: Exception) -> str:
        return self.scrub(" ".join(str(error).split()) or type(error).__name__)[:160]


def _decoded(body: bytes) -> str:
    return body.decode("utf-8", errors="replace")


async def _start(response: httpx.Response) -> bytes:
    """The start of an error's body, if it comes soon: it only explains, and a slow one must not cost the retry."""
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


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that ``Retry-After`` asks for, as a number or a date; None where it says nothing that can be used."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text, re.ASCII):
        return float(text)
    try:
        seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError, OSError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def base_url_of(text: Any) -> str:
    """``text`` as the address that ``/chat/completions`` is appended to.

    Raises:
        JudgeError: no address, or one that holds a user, a query or a fragment: it is shown in messages, and a secret
            does not belong there.
    """
    allowed = "allowed: http(s)://HOST[:PORT][/PATH]"
    if not isinstance(text, str) or not _ADDRESS.fullmatch(text):
        raise JudgeError(f"judge, base_url: got no address of http or https; {allowed}")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise JudgeError(f"judge, base_url: got no address; {allowed}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise JudgeError(f"judge, base_url: got no address of http or https; {allowed}")
    if url.userinfo or url.query or url.fragment or "?" in text or "#" in text:
        raise JudgeError(f"judge, base_url: got a user, a query or a fragment (not shown); {allowed}")
    return str(url).rstrip("/")


def _is_untrusted(error: BaseException) -> bool:
    """Whether it comes from a certificate that isn't trusted: that does not pass."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        if isinstance(inner, ssl.SSLCertVerificationError):
            return True
        seen.add(id(inner))
        inner = inner.__cause__ or inner.__context__
    return False
