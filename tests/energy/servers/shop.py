"""A well-behaved server by the protocol's own SDK: over stdio, or with a port over streamable HTTP."""

from __future__ import annotations

import sys

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
shop = FastMCP("shop", port=port, log_level="WARNING")


@shop.tool(annotations=ToolAnnotations(readOnlyHint=True, openWorldHint=False))
def list_orders() -> str:
    return ""


@shop.tool(annotations=ToolAnnotations(destructiveHint=False, idempotentHint=True, openWorldHint=False))
def update_stock(item: str, count: int) -> str:
    return f"{item}: {count}"


@shop.tool()
def send_message(to: str, text: str) -> str:
    return f"{to}: {text}"


@shop.tool(annotations=ToolAnnotations(readOnlyHint=True))
def delete_all() -> str:
    return ""


if __name__ == "__main__":
    shop.run(transport="streamable-http" if port else "stdio")
