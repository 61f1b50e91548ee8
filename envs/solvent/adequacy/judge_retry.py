"""When the judge's endpoint is asked again, and how long it is waited for.

    wait before try n + 1 = what Retry-After asks + a random time of up to min(20 s, backoff * 2^(n - 1))

The random part spreads the tries of callers that failed together. Asked again is only what can pass, at most
``retries`` times, never after more than ``total`` seconds, and not at all where the server asks to wait for more than
a minute: a shorter wait would not be what it asked for. Source: exponential back-off with full jitter, as in tenacity.

Known approximation: the random time comes from Python's global generator.
"""

from __future__ import annotations

import logging

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    stop_any,
    stop_before_delay,
    wait_combine,
    wait_random_exponential,
)
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from solvent.adequacy.judge_http import PassingError

__all__ = ["LONGEST_BACKOFF", "LONGEST_WAIT", "tries"]

LONGEST_WAIT = 60.0
"""Seconds: a server that asks for more is not waited for."""

LONGEST_BACKOFF = 20.0
"""Seconds: the bound of the random wait grows up to here."""

_log = logging.getLogger(__name__)


class _Asked(wait_base):
    def __call__(self, retry_state: RetryCallState) -> float:
        return _asked(retry_state)


class _AskedTooMuch(stop_base):
    def __call__(self, retry_state: RetryCallState) -> bool:
        return _asked(retry_state) > LONGEST_WAIT


def tries(retries: int, total: float, backoff: float) -> AsyncRetrying:
    """What calls a coroutine function until it succeeds, and raises its last error where it does not."""
    return AsyncRetrying(
        retry=retry_if_exception_type(PassingError),
        stop=stop_any(stop_after_attempt(retries + 1), stop_before_delay(total), _AskedTooMuch()),
        wait=wait_combine(_Asked(), wait_random_exponential(multiplier=backoff, max=LONGEST_BACKOFF)),
        before_sleep=_tell,
        reraise=True,
    )


def _asked(state: RetryCallState) -> float:
    error = _error(state)
    return (error.after or 0.0) if isinstance(error, PassingError) else 0.0


def _tell(state: RetryCallState) -> None:
    _log.info("judge: %s; try %d after %.2f s", _error(state), state.attempt_number + 1, state.upcoming_sleep)


def _error(state: RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()
