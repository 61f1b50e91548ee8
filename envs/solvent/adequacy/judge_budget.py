"""A budget of calls and tokens that is not exceeded, whoever spends it at the same time.

    a call is taken before it is sent; tokens are set aside before it is sent and settled when the answer says how many

A retry is a call. What is set aside is an upper bound: the bytes of the prompt (a token stands for at least one byte)
and the most tokens that the answer may have. Source: "Epistemic Adequacy Design", LLM-as-judge approach, which asks
for no budget; an endpoint that is paid by the call does.

Known approximation: the bound on tokens is as good as the server's word: one that ignores the limit of the answer, or
counts a template of its own, can use more. A call without an answer, or whose
answer does not say how many, keeps what it set aside; one that was refused gives it back.
"""

from __future__ import annotations

import threading
from typing import Any

from solvent.adequacy.judge_errors import BudgetError, JudgeError

__all__ = ["Budget"]


class Budget:
    """Calls, and optionally tokens, that one or more judges may spend; safe between threads.

    Args:
        calls: requests that may be sent, retries included.
        tokens: tokens of prompts and answers together; None: not limited.

    Raises:
        JudgeError: a limit that is no whole number from 0.
    """

    def __init__(self, calls: int, tokens: int | None = None) -> None:
        _check("calls", calls)
        _check("tokens", 0 if tokens is None else tokens)
        self.calls, self.tokens = calls, tokens
        self._lock = threading.Lock()
        self._called = self._used = 0

    def __repr__(self) -> str:
        return f"Budget(calls={self.calls}, tokens={self.tokens}, called={self.called}, used={self.used})"

    @property
    def called(self) -> int:
        """Requests taken so far."""
        return self._called

    @property
    def used(self) -> int:
        """Tokens used or set aside so far."""
        return self._used

    def take(self, tokens: int) -> None:
        """Take one call and set ``tokens`` aside.

        Raises:
            BudgetError: one of the two is spent; nothing was taken.
        """
        with self._lock:
            if self._called >= self.calls:
                raise BudgetError(f"judge: the budget is spent; allowed: {self.calls:,} calls")
            if self.tokens is not None and self._used + tokens > self.tokens:
                raise BudgetError(
                    f"judge: the budget is spent: {self._used:,} tokens used, {tokens:,} needed;"
                    f" allowed: {self.tokens:,} tokens"
                )
            self._called += 1
            self._used += tokens

    def settle(self, aside: int, used: int) -> None:
        """Give back what was set ``aside``, and count what was used in its place."""
        with self._lock:
            self._used += used - aside


def _check(name: str, limit: Any) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise JudgeError(f"budget, {name}: got {limit!r:.80}; allowed: a whole number from 0")
