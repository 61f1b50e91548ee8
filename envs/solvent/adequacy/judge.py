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
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError, WithJsonSchema

from solvent.adequacy.calls import Call, Outcome, outcome
from solvent.chat import ChatClient, ChatError, ChatSettings
from solvent.files import RECORD, first_problem, strict_json, write_atomically

__all__ = ["Judge", "Judgement", "summary"]

MOST_CALLS, ARGUMENTS, RESULT = 100, 200, 400
"""Number of the last calls that are shown, and of characters of what was asked and answered."""

Grade = Annotated[
    int, Field(ge=0, le=3), WithJsonSchema({"type": "integer", "enum": [0, 1, 2, 3]})
]  # `Literal` would take true for 1


class Judgement(BaseModel):
    """What the judge answers."""

    model_config = RECORD | {"strict": True}

    reason: str
    epad: Grade
    sya: Grade


_SCHEMA = {"name": "judgement", "strict": True, "schema": Judgement.model_json_schema()}


def summary(calls: Sequence[Call]) -> list[str]:
    """Return a line for each call: name, arguments, abbreviated result."""
    lines = [f"({len(calls) - MOST_CALLS} earlier calls)"] if len(calls) > MOST_CALLS else []
    for call in calls[-MOST_CALLS:]:
        result = f"{'FAILED: ' * (outcome(call) is Outcome.FAILED)}{call.result[:RESULT] or '(empty)'}"
        arguments = json.dumps(dict(call.arguments), default=str)[:ARGUMENTS]
        lines.append(f"{call.name} {arguments} -> {result if call.recorded else '(not recorded)'}")
    return lines or ["(no call)"]


class Judge:
    """Asks a model for judgements.

    Args:
        settings: endpoint, model and limits.
        cache: folder of judgements, a JSON file each.
        fresh: ask again, and replace what the cache holds.

    Raises:
        ChatError: the settings can't be used.
    """

    def __init__(self, settings: ChatSettings, cache: Path, *, fresh: bool = False) -> None:
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
        settings = self.client.settings
        asked = [settings.base_url, settings.model, self.client.options, self.prompt, material]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        entry = self.cache / key[:2] / f"{key}.json"
        if entry.exists() and not self.fresh:
            return Judgement.model_validate_json(entry.read_bytes())
        mark = f"MATERIAL-{hashlib.sha256(material.encode()).hexdigest()[:32]}"
        system = self.prompt["system"].replace("{delimiter}", mark).strip()
        user = f"{mark}\n{material}\n{mark}\n{self.prompt['reminder']}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        answer = self.client.ask(messages, response_format={"type": "json_schema", "json_schema": _SCHEMA})
        try:
            judgement = Judgement.model_validate(strict_json(answer))
        except ValidationError as error:
            raise ChatError(f"judge: {first_problem(error)}") from None
        except ValueError as error:
            raise ChatError(f"judge: got {answer!r:.80} ({error!s:.80}); allowed: JSON alone") from None
        write_atomically(entry, judgement.model_dump_json() + "\n")
        return judgement
