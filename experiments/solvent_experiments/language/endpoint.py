"""A language model behind an endpoint that speaks ``POST /chat/completions``, and the cache of its answers.

    key = SHA-256(address, body of the request, seed of the episode)

A body holds the whole conversation, so an interrupted episode takes its answers from the cache and goes on where it
was. The seed keeps episodes apart that begin alike.

Servers without tool calls get the tools as JSON schemas in the system prompt. The model then answers with one JSON
object, ``{"tool": NAME, "arguments": {...}}``, alone or as the last in its text.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from solvent.chat import BudgetError, ChatClient, ChatError, EndpointError, Usage, usage_of
from solvent_agents.language.conversation import LONGEST_TEXT, Message, NoAnswer
from solvent_agents.language.desk import Desk

__all__ = ["AnswerCache", "Endpoint", "EndpointModel"]

OPENING = 2
"""Messages of a conversation before the model's first."""

IN_TEXT = """

These are the tools, as JSON schemas:
{schemas}
To call one, end your answer with one JSON object and nothing after it: {{"tool": NAME, "arguments": {{...}}}}"""


class Answer(NamedTuple):
    """The body of an answer, its tokens, and whether this game paid for it."""

    body: str
    usage: Usage
    mine: bool


class AnswerCache:
    """Answers by key, in an SQLite database. Thread-safe; several processes may share it.

    The first answer of a key stays. Each belongs to the game that paid for it, so that a game which goes on knows what
    it has spent.
    """

    def __init__(self, path: Path, game: bytes) -> None:
        """Open the database, or make it.

        Raises:
            OSError: it can't be used.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._game, self._lock = path, game, threading.Lock()
        with self._naming():
            self._connection = sqlite3.connect(
                path, timeout=30.0, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS answers"
                " (key BLOB PRIMARY KEY, game BLOB NOT NULL, prompt INTEGER, answer INTEGER, body TEXT NOT NULL)"
            )

    def paid(self) -> tuple[int, Usage]:
        """Return the number of answers that this game has paid for, and their tokens."""
        sums = "SELECT COUNT(*), TOTAL(prompt), TOTAL(answer) FROM answers WHERE game = ?"
        calls, prompt, answer = self._ask(sums, self._game)
        return calls, Usage(int(prompt), int(answer))

    def get(self, key: bytes) -> Answer | None:
        """Return the answer of a key, if it is there."""
        row = self._ask("SELECT body, prompt, answer, game FROM answers WHERE key = ?", key)
        return None if row is None else Answer(row[0], Usage(*row[1:3]), row[3] == self._game)

    def put(self, key: bytes, body: str, usage: Usage) -> None:
        """Keep an answer that this game has paid for."""
        self._ask("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", key, self._game, *usage, body)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _ask(self, statement: str, *values: Any) -> Any:
        with self._naming(), self._lock:
            return self._connection.execute(statement, values).fetchone()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(None, f"not usable as the cache of answers ({error})", str(self._path)) from None


class Endpoint:
    """Makes the model of each episode of a game. What the game paid for earlier counts towards its budget."""

    def __init__(self, client: ChatClient, cache: AnswerCache, *, in_text: bool) -> None:
        self.client, self.cache, self.in_text = client, cache, in_text
        calls, usage = cache.paid()
        client.budget.count(usage, calls)

    def __call__(self, _: Desk, seed: int) -> EndpointModel:
        return EndpointModel(self, seed)


class EndpointModel:
    """One episode's model.

    Attributes:
        usage: tokens of the episode, those of answers from the cache included; of an answer that reports none, the
            most that it may have used.
        served: models by which the server says it answered, in order.
        problem: why there was no answer; empty if there were all.
    """

    def __init__(self, endpoint: Endpoint, seed: int) -> None:
        self._endpoint, self._client, self._cache = endpoint, endpoint.client, endpoint.cache
        self._seed = seed
        self.usage, self.served, self.problem = Usage(0, 0), list[str](), ""

    def answer(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the model's next message.

        Raises:
            NoAnswer: there is none to this conversation.
            EndpointError: there would be none to another one either.
            BudgetError: the budget is spent.
        """
        if self._endpoint.in_text:
            request = self._client.request(_in_text(messages, tools))
        else:
            request = self._client.request(messages, tools=list(tools))
        try:
            message = self._read(self._body(request))
        except (BudgetError, EndpointError):
            raise
        except ChatError as error:
            if error.refused and len(messages) == OPENING:  # every episode opens like this
                raise EndpointError(str(error)) from error
            self.problem = str(error)
            raise NoAnswer from error
        return _call_in_text(message, len(messages)) if self._endpoint.in_text else message

    def _body(self, request: bytes) -> str:
        """Return the answer to a request: from the cache, or asked for and kept, whatever it says."""
        place = f"{self._client.base_url} {self._seed} ".encode()
        key = hashlib.sha256(place + request).digest()
        known = self._cache.get(key)
        if known is None:
            body = self._client.scrub(self._client.ask(request))
            self._cache.put(key, body, usage_of(body) or self._client.bound(request))
            known = self._cache.get(key)
            assert known is not None
        elif not known.mine:
            self._client.budget.count(known.usage)
        self.usage = Usage(self.usage.prompt + known.usage.prompt, self.usage.answer + known.usage.answer)
        return known.body

    def _read(self, body: str) -> Mapping[str, Any]:
        try:
            answer = json.loads(body)
            # Again, since an escape may have hidden the key in the body.
            answer = json.loads(self._client.scrub(json.dumps(answer)))
            message = answer["choices"][0]["message"]
            if not isinstance(message, dict):
                raise TypeError("no message")
        except (ValueError, LookupError, TypeError, RecursionError):
            raise ChatError(
                f"endpoint: got {body!r:.80}; allowed: a chat completion with a message"
            ) from None
        served = str(answer.get("model", ""))[:200].encode("ascii", "backslashreplace").decode()
        if served and served not in self.served:
            self.served.append(served)
        return message


def _in_text(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the conversation with tools and calls as text; neighbouring messages of a role are one."""
    schemas = json.dumps([tool["function"] for tool in tools])
    plain = [{"role": "system", "content": messages[0]["content"] + IN_TEXT.format(schemas=schemas)}]
    for message in messages[1:]:
        role = "assistant" if message["role"] == "assistant" else "user"
        texts = [message["content"]] if message["content"] else []
        for call in message.get("tool_calls", ()):
            function = call["function"]
            texts.append(f'{{"tool": {json.dumps(function["name"])}, "arguments": {function["arguments"]}}}')
        if role == plain[-1]["role"]:
            texts.insert(0, plain.pop()["content"])
        plain.append({"role": role, "content": "\n".join(texts)})
    return plain


def _call_in_text(message: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return a message with the call that its text ends with, if there is one."""
    content = message.get("content")
    text = content[-LONGEST_TEXT:] if isinstance(content, str) else ""
    found, at, decoder = None, text.find("{"), json.JSONDecoder()
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict) and "tool" in value:
                found = (value, at)
        at = text.find("{", end)
    if found is None:
        return {"content": content}
    (call, start) = found
    function = {"name": call["tool"], "arguments": json.dumps(call.get("arguments", {}))}
    return {
        "content": text[:start].strip() or None,
        "tool_calls": [{"id": f"call-{number}", "type": "function", "function": function}],
    }
