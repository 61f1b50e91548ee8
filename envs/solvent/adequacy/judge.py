"""A language model as the judge of epistemic adequacy, behind any endpoint that speaks ``POST /chat/completions``.

    judgement = cache[SHA-256(address, model, options, prompt, material)], else the checked answer of the endpoint

The judge sees the response, a summary of the calls (name, arguments, abbreviated result) and the query, and answers
with EpAd and SyA (0 to 3) and a reason. An answer in another form is refused, never repaired; only a judgement is kept.
The material is one line of ASCII JSON between two marks that hold its hash, so nothing in it can leave its place. The
instruction is data, ``judge_prompt.toml``. Source: *Epistemic Adequacy Design*, "LLM-as-judge approach".

Known approximation: a judge is a model, and may be swayed by what it reads. Compare it with people (``agreement``).
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from solvent.adequacy.calls import Call, failed
from solvent.chat import ChatClient, ChatError, ChatSettings
from solvent.files import RECORD, first_problem, read_input, strict_json, write_atomically

__all__ = ["Judge", "Judgement", "summary"]

MOST_CALLS, ARGUMENTS, RESULT = 100, 200, 400
"""So many of the last calls are shown, and so many characters of what was asked and answered."""
LONGEST_ENTRY = 2**20


class Judgement(BaseModel):
    """What the judge answers."""

    model_config = RECORD | {"strict": True}

    reason: str
    epad: Annotated[int, Field(ge=0, le=3)]
    sya: Annotated[int, Field(ge=0, le=3)]


def summary(calls: Sequence[Call]) -> list[str]:
    """Return a line for each call: name, arguments, abbreviated result."""
    lines = [f"({len(calls) - MOST_CALLS} earlier calls)"] if len(calls) > MOST_CALLS else []
    for call in calls[-MOST_CALLS:]:
        result = (
            f"{'FAILED: ' * failed(call)}{call.result[:RESULT] or '(empty)'}"
            if call.recorded
            else "(not recorded)"
        )
        lines.append(f"{call.name} {json.dumps(dict(call.arguments), default=str)[:ARGUMENTS]} -> {result}")
    return lines or ["(no call)"]


class Judge:
    """Asks a model for judgements.

    Args:
        settings: endpoint, model and limits.
        cache: folder of judgements, a JSON file each; None: no cache.
        fresh: ask again, and replace what the cache holds.

    Raises:
        ChatError: the settings can't be used.
    """

    def __init__(self, settings: ChatSettings, cache: Path | None = None, *, fresh: bool = False) -> None:
        self.client, self.cache, self.fresh = ChatClient(settings), cache, fresh
        prompt = Path(__file__).with_name("judge_prompt.toml")
        self.prompt: dict[str, str] = tomllib.loads(prompt.read_text(encoding="utf-8"))

    def judge(self, response: str, calls: Sequence[Call], query: str = "") -> Judgement:
        """Return EpAd and SyA of a response.

        Raises:
            ChatError: there is no answer, or it is not a judgement.
        """
        material = json.dumps({"query": query, "tools": summary(calls), "response": response})
        # The signs of which chat templates are made occur only as escapes.
        material = material.replace("<", "\\u003c").replace(">", "\\u003e")
        entry = self._entry(material)
        if entry is not None and not self.fresh and (known := _kept(entry)) is not None:
            return known
        mark = f"MATERIAL-{hashlib.sha256(material.encode()).hexdigest()[:32]}"
        system = self.prompt["system"].replace("{delimiter}", mark).strip()
        user = f"{mark}\n{material}\n{mark}\n{self.prompt['reminder']}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        said = self.client.ask(messages, response_format=_FORMAT)
        try:
            found = Judgement.model_validate(strict_json(said))
        except ValidationError as error:
            raise ChatError(f"judge: {first_problem(error)}") from None
        except ValueError as error:
            raise ChatError(f"judge: got {said!r:.80} ({error!s:.80}); allowed: JSON alone") from None
        if entry is not None:
            write_atomically(entry, found.model_dump_json() + "\n")
        return found

    def _entry(self, material: str) -> Path | None:
        asked = [self.client.base_url, self.client.settings.model, self.client.options, self.prompt, material]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        return self.cache / key[:2] / f"{key}.json" if self.cache else None


def _schema() -> dict[str, Any]:
    grade = {"type": "integer", "enum": [0, 1, 2, 3]}
    properties = {"reason": {"type": "string"}, "epad": grade, "sya": grade}
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


_FORMAT = {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": _schema()}}


def _kept(entry: Path) -> Judgement | None:
    """Return the judgement of a file; None if there is none, or the file holds something else."""
    try:
        return Judgement.model_validate(strict_json(read_input(entry, LONGEST_ENTRY)))
    except (OSError, ValueError):
        return None
