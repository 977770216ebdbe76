"""The cluster's nodes as the apiserver has them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from apimachinery import errors, gvr
from apimachinery.objects import Object
from client import kubeconfig
from client.rest import Client, ConnectionFailed


@asynccontextmanager
async def watcher(path: Path) -> AsyncIterator[Callable[[], Awaitable[set[str]]]]:
    """A function that tells which nodes are Ready; none while the apiserver does not answer."""
    async with Client(kubeconfig.load(str(path)), user_agent="minictl") as client:

        async def ready() -> set[str]:
            try:
                found = await client.list(gvr.NODES)
            except (errors.APIError, ConnectionFailed):
                return set()
            return {node["metadata"]["name"] for node in found["items"] if is_ready(node)}

        yield ready


def is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
