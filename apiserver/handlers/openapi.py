"""`/openapi/v2` and `/openapi/v3` (A2): made when first asked for, kept compressed, with ETags.

A version 3 client first reads the index, whose addresses carry hashes, then only the documents that it needs.
Protobuf, which old clients ask for at `/openapi/v2`, is not served (406).
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib

import orjson

from apimachinery import errors
from apiserver import responses
from apiserver.asgi import Send
from apiserver.handlers import discovery
from apiserver.handlers.version import KUBERNETES
from apiserver.openapi import documents
from apiserver.request import Request
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme

_INDEX = "/openapi/v3"
_VERSION = f"v{KUBERNETES}"
_JSON = "application/json"


class OpenAPI:
    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._generation = -1
        self._compressed: dict[str, bytes] = {}
        self._making = asyncio.Lock()

    async def handle(self, request: Request, send: Send) -> None:
        path = request.info.path.rstrip("/")
        if path == "/openapi/v2":
            _require_json(request)
            rows = self._scheme.rows()
            await self._send(request, send, "v2", lambda: documents.v2(rows, self._scheme.schemas, _VERSION))
        elif path == _INDEX:
            await responses.send_json(request, send, 200, orjson.dumps(self._index()))
        else:
            await self._document(request, send, path.removeprefix(f"{_INDEX}/"))

    async def _document(self, request: Request, send: Send, place: str) -> None:
        rows = self._places().get(place)
        if rows is None:
            raise discovery.not_found()
        await self._send(request, send, place, lambda: documents.v3(rows, self._scheme.schemas, _VERSION))

    async def _send(self, request: Request, send: Send, key: str, build: documents.Build) -> None:
        etag = f'"{self._hash(key)}"'.encode()
        headers = [(b"etag", etag), (b"vary", b"Accept")]
        if request.headers.get(b"if-none-match") == etag:
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        body = await self._made(key, build)
        if b"gzip" in request.headers.get(b"accept-encoding", b""):
            headers.append((b"content-encoding", b"gzip"))
            await responses.send_raw(request, send, 200, body, _JSON, headers)
        else:
            await responses.send_raw(request, send, 200, await asyncio.to_thread(gzip.decompress, body), _JSON, headers)

    async def _made(self, key: str, build: documents.Build) -> bytes:
        """The compressed document. Made off the loop, one at a time: a big one takes a third of a second."""
        async with self._making:
            if self._generation != self._scheme.generation:
                self._compressed.clear()
                self._generation = self._scheme.generation
            if key not in self._compressed:
                self._compressed[key] = await asyncio.to_thread(
                    lambda: gzip.compress(orjson.dumps(build()), 6, mtime=0)
                )
            return self._compressed[key]

    def _index(self) -> dict[str, object]:
        paths = {place: {"serverRelativeURL": f"{_INDEX}/{place}?hash={self._hash(place)}"} for place in self._places()}
        return {"paths": paths}

    def _places(self) -> dict[str, list[Resource]]:
        """`api/v1`, `apis/apps/v1` … with their rows."""
        return {
            (f"apis/{group}/{version}" if group else f"api/{version}"): rows
            for group, versions in self._scheme.groups().items()
            for version, rows in versions.items()
        }

    def _hash(self, key: str) -> str:
        """Names a document's content without making it: it depends on the release, the place and the table's state."""
        text = f"{_VERSION} {key} {self._scheme.generation}"
        return hashlib.sha256(text.encode()).hexdigest().upper()


def _require_json(request: Request) -> None:
    accepted = request.header(b"accept")
    if accepted and "json" not in accepted and "*/*" not in accepted:
        raise errors.NotAcceptable(f"only the following media types are accepted: {_JSON}")
