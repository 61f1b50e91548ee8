"""Serve a model file on the loopback: ``python -m tools.local_model MODEL.gguf --port 8123``.

The endpoint speaks ``POST /v1/chat/completions`` with a JSON schema, as ``solvent adequacy judge`` and ``thresholds
--judge`` ask it, so that a judge can be measured without a network. It needs ``pip install llama-cpp-python``. One
request is answered at a time, on one thread.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

__all__ = ["application"]

CONTEXT = 4096
"""Tokens of a conversation, question and answer."""


def application(model: Any, name: str) -> Starlette:
    """Return the server of a ``llama_cpp.Llama``."""

    async def complete(request: Request) -> Response:
        asked = await request.json()
        wanted = asked.get("response_format", {}).get("json_schema", {}).get("schema")
        form = {"type": "json_object", "schema": wanted} if wanted else None
        limits = {"temperature": asked.get("temperature", 0.0), "max_tokens": asked.get("max_tokens", 400)}
        try:
            answer = await run_in_threadpool(
                model.create_chat_completion, asked["messages"], response_format=form, **limits
            )
        except ValueError as error:  # a conversation longer than the context
            return JSONResponse({"error": {"message": str(error)}}, status_code=400)
        return JSONResponse(answer | {"model": name})

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tools.local_model", description="Serve a model file.")
    parser.add_argument("model", type=Path, help="A GGUF file.")
    parser.add_argument("--port", type=int, default=8123)
    arguments = parser.parse_args()
    try:
        from llama_cpp import Llama
    except ImportError:
        parser.error("llama-cpp-python is not installed; allowed: pip install llama-cpp-python")
    if not arguments.model.is_file():
        parser.error(f"{arguments.model}: no such file; allowed: a GGUF file")
    model = Llama(str(arguments.model), n_ctx=CONTEXT, n_threads=1, n_threads_batch=1, verbose=False, seed=0)
    uvicorn.run(
        application(model, arguments.model.stem), host="127.0.0.1", port=arguments.port, log_level="warning"
    )


if __name__ == "__main__":
    main()
