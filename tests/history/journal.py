"""What etcd itself says happened: its watch, by the JSON gateway it has beside gRPC.

On purpose none of the apiserver's own code is in it, and it goes to etcd directly, not through the proxy that faults
are made with: the judge must not share the mistakes of the judged.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson

from tests.history import entries as e
from tests.history import objects

_RETRY_SECONDS = 0.1


class Journal:
    """Follows all changes of the objects; `rv` is the last one that has been written down."""

    def __init__(self, url: str, recorder: e.Recorder) -> None:
        self._client = httpx.AsyncClient(base_url=url, timeout=httpx.Timeout(10, read=None), trust_env=False)
        self._recorder = recorder
        self._next = 1
        self.rv = 0

    async def run(self) -> None:
        """Until cancelled. etcd may be killed meanwhile."""
        try:
            while True:
                try:
                    async for message in self._messages():
                        self._take(message)
                except httpx.TransportError:
                    pass
                await asyncio.sleep(_RETRY_SECONDS)
        finally:
            await self._client.aclose()

    async def current_rv(self) -> int:
        answer = await self._client.post("/v3/kv/range", json={"key": _encoded(b"\0")}, timeout=10)
        return int(answer.json()["header"]["revision"])

    async def compact(self, rv: int) -> None:
        """Forgets what was before `rv`, as etcd does in a busy cluster after five minutes."""
        await self._client.post("/v3/kv/compaction", json={"revision": str(rv), "physical": True}, timeout=10)

    async def _messages(self) -> AsyncIterator[dict[str, Any]]:
        first = objects.PREFIX.encode()
        key, end = _encoded(first), _encoded(first[:-1] + bytes([first[-1] + 1]))
        create = {"key": key, "range_end": end, "start_revision": str(self._next)}
        async with self._client.stream("POST", "/v3/watch", json={"create_request": create}) as answer:
            async for line in answer.aiter_lines():
                message = orjson.loads(line)
                if "result" not in message:  # etcd is going down
                    return
                yield message["result"]

    def _take(self, message: dict[str, Any]) -> None:
        assert "compact_revision" not in message, f"the journal was not followed fast enough: {message}"
        for event in message.get("events", []):
            self._recorder.add(_change(event))
            self.rv = int(event["kv"]["mod_revision"])
            self._next = self.rv + 1


def _change(event: dict[str, Any]) -> e.Change:
    kv = event["kv"]
    rv = int(kv["mod_revision"])
    name = base64.b64decode(kv["key"]).decode().removeprefix(objects.PREFIX)
    if event.get("type") == "DELETE":
        return e.Change(rv, name, None)
    return e.Change(rv, name, objects.version(orjson.loads(base64.b64decode(kv["value"])), rv))


def _encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()
