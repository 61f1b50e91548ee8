r"""What is sent to the judge: a fixed instruction, and the material as one line of JSON that nothing in it can leave.

The text that is judged is data. It is written as ASCII JSON in which every control character, every character outside
of ASCII and the four signs ``< > [ ]`` are ``\uXXXX``: a line break, a null byte, a bidirectional mark, a look-alike
of a delimiter, ``<|im_end|>`` or ``[INST]`` does not occur in the request except as an escape within a string. The
delimiter around the line is derived from the material's own SHA-256, so the same material is always sent as the same
bytes (the cache stays valid), and material that contains its own delimiter can't be made. Source: "Epistemic Adequacy
Design", LLM-as-judge approach; the wording is data (``judge_prompt.toml``).

Known approximation: this decides what is data and what is not. Whether a model keeps to it is the model's matter.
Escapes take up to six characters for one, so text in other scripts costs more tokens.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from solvent.adequacy.judge_errors import JudgeError

__all__ = ["LONGEST", "PROMPT", "SCHEMA", "Material", "Prompt", "load_prompt"]

PROMPT = Path(__file__).with_name("judge_prompt.toml")
"""What the judge is told."""

LONGEST = 400_000
"""Characters of encoded material; a longer response can't be judged."""

SCHEMA: Mapping[str, Any] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "epad": {"type": "integer", "enum": [0, 1, 2, 3]},
            "sya": {"type": "integer", "enum": [0, 1, 2, 3]},
        },
        "required": ["reason", "epad", "sya"],
        "additionalProperties": False,
    }
)
"""The answer's JSON schema. The reason comes first, so that it is written before the grades are."""

_DELIMITER = "{delimiter}"
_MARKUP = re.compile(r"[<>\[\]]")


@dataclass(frozen=True)
class Material:
    """What is judged. ``tools`` is a summary, one line for each call."""

    query: str
    tools: str
    response: str

    @functools.cached_property
    def encoded(self) -> str:
        """One line of ASCII JSON.

        Raises:
            JudgeError: longer than ``LONGEST``.
        """
        fields: dict[str, str | list[str]] = {
            "query": self.query,
            "tools": self.tools.split("\n"),
            "response": self.response,
        }
        if (length := sum(map(len, (self.query, self.tools, self.response)))) > LONGEST:
            raise JudgeError(f"judge: got {length:,} characters of material; allowed: {LONGEST:,}")
        # Keys and brackets of our own must stay: the markup is replaced within the strings alone.
        text = ", ".join(f'"{name}": {_value(value)}' for name, value in fields.items())
        if len(text) > LONGEST:
            raise JudgeError(f"judge: got {len(text):,} characters of encoded material; allowed: {LONGEST:,}")
        return "{" + text + "}"

    @property
    def delimiter(self) -> str:
        """A mark that the material does not contain: it holds the hash of the material."""
        return f"MATERIAL-{hashlib.sha256(self.encoded.encode('ascii')).hexdigest()[:32]}"


def _value(value: str | list[str]) -> str:
    if isinstance(value, str):
        return _MARKUP.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(value, ensure_ascii=True))
    return "[" + ", ".join(map(_value, value)) + "]"


@dataclass(frozen=True)
class Prompt:
    """The instruction, and its version: the name in the file and the hash of its words."""

    name: str
    system: str
    reminder: str

    @property
    def version(self) -> str:
        """``name-`` and twelve digits of the SHA-256 of instruction, reminder and schema."""
        text = json.dumps([self.system, self.reminder, dict(SCHEMA)], sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def messages(self, material: Material) -> list[dict[str, str]]:
        """The conversation: the instruction, then the material between two lines with its delimiter.

        Raises:
            JudgeError: the material is too long.
        """
        mark = material.delimiter
        block = f"{mark}\n{material.encoded}\n{mark}\n{self.reminder}"
        return [
            {"role": "system", "content": self.system.replace(_DELIMITER, mark)},
            {"role": "user", "content": block},
        ]


def load_prompt(path: Path = PROMPT) -> Prompt:
    """Read the instruction.

    Raises:
        JudgeError: no such file, not TOML, a field that is missing or none of the three, no ``{delimiter}``.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise JudgeError(f"{path}: can't be read ({error}); allowed: a prompt in TOML") from None
    names = tuple(Prompt.__dataclass_fields__)
    if set(fields) != set(names) or not all(
        isinstance(fields[name], str) and fields[name].strip() for name in names
    ):
        raise JudgeError(f"{path}: got {', '.join(fields)!r:.80}; allowed: texts {', '.join(names)}")
    if _DELIMITER not in fields["system"]:
        raise JudgeError(f"{path}, system: got no {_DELIMITER}; allowed: a text that names it")
    return Prompt(**{name: fields[name].strip() for name in names})
