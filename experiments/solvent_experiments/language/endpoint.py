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
from typing import Any

from solvent.chat import BudgetError, ChatClient, ChatError, EndpointError, Usage, usage_of
from solvent.inputs import strict_json
from solvent_agents.language.conversation import LONGEST_TEXT, Message, NoAnswer

__all__ = ["AnswerCache", "EndpointModel"]

IN_TEXT = """

These are the tools, as JSON schemas:
{schemas}
To call one, end your answer with one JSON object and nothing after it: {{"tool": NAME, "arguments": {{...}}}}"""


class AnswerCache:
    """Bodies of answers by key, in an SQLite database. Thread-safe; several processes may share it."""

    def __init__(self, path: Path) -> None:
        """Open the database, or make it.

        Raises:
            OSError: it can't be used.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._lock = path, threading.Lock()
        with self._naming():
            self._connection = sqlite3.connect(
                path, timeout=30.0, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, body TEXT NOT NULL)"
            )

    def get(self, key: bytes) -> str | None:
        """Return the body of a key, if it is there."""
        with self._naming(), self._lock:
            row = self._connection.execute("SELECT body FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: bytes, body: str) -> None:
        """Keep a body."""
        with self._naming(), self._lock:
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, body))

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(None, f"not usable as the cache of answers ({error})", str(self._path)) from None


class EndpointModel:
    """One episode's model. ``usage`` counts its tokens, ``served`` names the models that answered.

    Attributes:
        usage: tokens of the episode, those of answers from the cache included.
        served: models by which the server says it answered, in order.
        problem: why there was no answer; empty if there were all.
    """

    def __init__(self, client: ChatClient, cache: AnswerCache, seed: int, *, in_text: bool) -> None:
        self._client, self._cache, self._seed, self._in_text = client, cache, seed, in_text
        self.usage, self.served, self.problem = Usage(0, 0), list[str](), ""

    def answer(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the model's next message.

        Raises:
            NoAnswer: there is none to this conversation.
            EndpointError: there would be none to another one either.
            BudgetError: the budget is spent.
        """
        if self._in_text:
            request = self._client.request(_in_text(messages, tools))
        else:
            request = self._client.request(messages, tools=list(tools))
        place = f"{self._client.base_url} {self._seed} ".encode()
        key = hashlib.sha256(place + request).digest()
        body = self._cache.get(key)
        known = body is not None
        try:
            if body is None:
                body = self._client.ask(request)
            message = self._read(body)
        except (BudgetError, EndpointError):
            raise
        except ChatError as error:
            self.problem = str(error)
            raise NoAnswer from error
        if known:
            self._client.budget.count(usage_of(body) or Usage(0, 0))
        else:
            self._cache.put(key, body)
        return _call_in_text(message, len(messages)) if self._in_text else message

    def _read(self, body: str) -> Mapping[str, Any]:
        used = usage_of(body) or Usage(0, 0)
        self.usage = Usage(self.usage.prompt + used.prompt, self.usage.answer + used.answer)
        try:
            answer = strict_json(body)
            message = answer["choices"][0]["message"]
            if not isinstance(message, dict):
                raise TypeError("no message")
        except (ValueError, LookupError, TypeError):
            shown = self._client.scrub(body)
            raise ChatError(
                f"endpoint: got {shown!r:.80}; allowed: a chat completion with a message"
            ) from None
        served = str(answer.get("model", ""))[:200]
        if served not in self.served:
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
