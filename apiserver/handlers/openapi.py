"""`/openapi/v2` and `/openapi/v3` (A2): made when first asked for, kept compressed, with ETags.

A version 3 client first reads the index, whose addresses carry hashes, then only the documents that it needs: an
address with the right hash may be cached for ever, one with a wrong hash is sent on to the right one. Version 2 is one
document, in JSON or, for old kubectls, in protobuf.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Callable

import orjson

from apimachinery import errors
from apiserver import responses
from apiserver.aggregation.documents import Described, Documents
from apiserver.aggregation.remotes import Remotes
from apiserver.asgi import Send
from apiserver.handlers import discovery
from apiserver.handlers.version import KUBERNETES
from apiserver.openapi import binary, documents, places
from apiserver.openapi.definitions import Definitions
from apiserver.openapi.places import Place
from apiserver.request import Request
from apiserver.scheme.scheme import Scheme

_INDEX = "/openapi/v3"
_VERSION = f"v{KUBERNETES}"
_JSON = "application/json"
_V2 = {_JSON: _JSON, binary.ASKED_TYPE: binary.MEDIA_TYPE, binary.MEDIA_TYPE: binary.MEDIA_TYPE}
_FOR_EVER = [(b"cache-control", b"public, immutable"), (b"expires", b"Thu, 31 Dec 2099 23:59:59 GMT")]


class OpenAPI:
    def __init__(self, scheme: Scheme, remotes: Remotes, elsewhere: Documents) -> None:
        self._scheme = scheme
        self._remotes = remotes
        self._elsewhere = elsewhere
        self._generation = (-1, -1, -1)
        self._places: dict[str, Place] = {}
        self._hashes: dict[str, str] = {}
        self._compressed: dict[tuple[str, str], bytes] = {}  # by hash and media type
        self._making = asyncio.Lock()

    async def handle(self, request: Request, send: Send) -> None:
        self._refresh()
        path = request.info.path.rstrip("/")
        if path == "/openapi/v2":
            media_type = _accepted(request.header(b"accept"))
            await self._send(request, send, self._hashes["v2"], media_type, self._whole)
        elif path == _INDEX:
            _require_json(request.header(b"accept"))
            await self._send_index(request, send)
        else:
            _require_json(request.header(b"accept"))
            await self._document(request, send, path.removeprefix(f"{_INDEX}/"))

    def _refresh(self) -> None:
        """Forgets what the table's changes made untrue; what they did not touch stays."""
        generation = (self._scheme.generation, self._remotes.generation, self._elsewhere.generation)
        if self._generation == generation:
            return
        self._generation = generation
        self._places = places.of(self._scheme)
        self._hashes = {
            name: places.fingerprint(name, place, self._scheme, _VERSION) for name, place in self._places.items()
        }
        whole = hashlib.sha512("".join(self._hashes.values()).encode())
        for _, described in self._described():
            whole.update(orjson.dumps([described.openapi_url, described.openapi_v2], option=orjson.OPT_SORT_KEYS))
        self._hashes["v2"] = whole.hexdigest().upper()
        current = set(self._hashes.values())
        self._compressed = {key: body for key, body in self._compressed.items() if key[0] in current}

    def _described(self) -> list[tuple[str, Described]]:
        """What extension servers say of themselves, by place; the same order in each worker."""
        found = [(remote.path.strip("/"), self._elsewhere.of(remote.group, remote.version)) for remote in self._remotes]
        return sorted(found, key=lambda item: item[0])

    async def _send_index(self, request: Request, send: Send) -> None:
        paths = {name: {"serverRelativeURL": f"{_INDEX}/{name}?hash={self._hashes[name]}"} for name in self._places}
        for name, described in self._described():
            paths.pop(name, None)
            if described.openapi_url.startswith(f"{_INDEX}/{name}"):
                paths[name] = {"serverRelativeURL": described.openapi_url}
        body = orjson.dumps({"paths": paths})
        etag = f'"{self._hashes["v2"]}"'.encode()
        if request.headers.get(b"if-none-match") == etag:
            await responses.send_not_modified(send, [(b"etag", etag)])
            return
        await responses.send_json(request, send, 200, body, [(b"etag", etag)])

    async def _document(self, request: Request, send: Send, name: str) -> None:
        place = self._places.get(name)
        if place is None:
            raise discovery.not_found()
        right, asked = self._hashes[name], request.option("hash")
        if asked and asked != right:
            location = f"{_INDEX}/{name}?hash={right}".encode()
            await responses.send_raw(request, send, 301, b"", _JSON, [(b"location", location)])
            return
        known = Definitions(place.rows, self._scheme.schemas, self._scheme.published)
        headers = _FOR_EVER if asked else []

        def build() -> bytes:
            return orjson.dumps(documents.v3(place.rows, place.extra, known, _VERSION))

        await self._send(request, send, right, _JSON, build, headers)

    def _whole(self) -> bytes:
        """Version 2 in JSON."""
        rows = self._scheme.rows()
        known = Definitions(rows, self._scheme.schemas, self._scheme.published)
        extra = [operation for place in self._places.values() for operation in place.extra]
        document = documents.v2(rows, extra, known, _VERSION)
        for _, described in self._described():
            documents.merge_v2(document, described.openapi_v2)
        return orjson.dumps(document)

    async def _send(
        self,
        request: Request,
        send: Send,
        content_hash: str,
        media_type: str,
        build: Callable[[], bytes],
        more: responses.Headers | None = None,
    ) -> None:
        etag = f'"{content_hash}"'.encode()
        headers = [(b"etag", etag), (b"vary", b"Accept"), *(more or ())]
        if request.headers.get(b"if-none-match") == etag:
            await responses.send_not_modified(send, headers)
            return
        body = await self._made((content_hash, media_type), build)
        if b"gzip" in request.headers.get(b"accept-encoding", b""):
            headers.append((b"content-encoding", b"gzip"))
        else:
            body = await asyncio.to_thread(gzip.decompress, body)
        await responses.send_raw(request, send, 200, body, media_type, headers)

    async def _made(self, key: tuple[str, str], build: Callable[[], bytes]) -> bytes:
        """The compressed document. Made off the loop, one at a time: a big one takes a third of a second."""
        async with self._making:
            if key not in self._compressed:
                self._compressed[key] = await asyncio.to_thread(_compressed, build, key[1])
            return self._compressed[key]


def _compressed(build: Callable[[], bytes], media_type: str) -> bytes:
    body = build()
    if media_type != _JSON:
        body = binary.encode(orjson.loads(body))
    return gzip.compress(body, 6, mtime=0)


def _require_json(accept: str) -> None:
    """Version 3 is JSON only. Raises NotAcceptable."""
    if accept and "json" not in accept and "*" not in accept:
        raise errors.NotAcceptable(f"only the following media types are accepted: {_JSON}")


def _accepted(accept: str) -> str:
    """The form of version 2 that the client takes. Raises NotAcceptable."""
    for part in (accept or "*/*").split(","):
        media_type = part.partition(";")[0].strip()
        if media_type in ("*/*", "application/*"):
            return _JSON
        if media_type in _V2:
            return _V2[media_type]
    raise errors.NotAcceptable(f"only the following media types are accepted: {', '.join(_V2)}")
