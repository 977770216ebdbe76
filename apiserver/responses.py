"""Writing responses: bytes out, one place for headers, Warning headers, gzip and Status objects.

Guarantees: one `send` for the head and one for the body; large bodies are compressed off the loop when the client asks.
"""

from __future__ import annotations

import asyncio
import gzip

import orjson

from apimachinery import errors, protobuf
from apiserver import negotiation
from apiserver.asgi import Send
from apiserver.request import Request

Headers = list[tuple[bytes, bytes]]

# As upstream: smaller bodies cost more to compress than to send
GZIP_FROM_BYTES = 128 * 1024
_GZIP_LEVEL = 1
_SLICE_BYTES = 256 * 1024

_CONTENT_TYPE = b"content-type"
_CONTENT_LENGTH = b"content-length"
_CACHE_CONTROL = b"cache-control"
_NO_STORE = (_CACHE_CONTROL, b"no-cache, private")
_JSON = (_CONTENT_TYPE, b"application/json")
TEXT = "text/plain; charset=utf-8"


async def send_json(request: Request, send: Send, code: int, body: bytes, headers: Headers | None = None) -> None:
    """Sends encoded JSON; as YAML or protobuf, indented or compressed where the client asked for that."""
    representation = negotiation.accept(request.header(b"accept"), request.binary)
    if representation.media_type == negotiation.PROTOBUF:
        body, media_type = await _as_protobuf(body)
        await send_bytes(request, send, code, body, media_type, headers)
        return
    if representation.media_type == negotiation.YAML:
        await send_bytes(request, send, code, _as_yaml(body), negotiation.YAML, headers)
        return
    if request.query and request.flag("pretty"):
        body = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    await send_bytes(request, send, code, body, negotiation.JSON, headers)


async def send_object(request: Request, send: Send, code: int, obj: object, headers: Headers | None = None) -> None:
    await send_json(request, send, code, orjson.dumps(obj), headers)


async def send_text(request: Request, send: Send, code: int, text: str, headers: Headers | None = None) -> None:
    await send_bytes(request, send, code, text.encode(), TEXT, headers)


async def send_bytes(
    request: Request, send: Send, code: int, body: bytes, content_type: str, headers: Headers | None = None
) -> None:
    """Sends a whole body, compressed where it pays and the client takes it."""
    if len(body) >= GZIP_FROM_BYTES and b"gzip" in request.headers.get(b"accept-encoding", b""):
        body = await asyncio.to_thread(gzip.compress, body, _GZIP_LEVEL, mtime=0)
        headers = [*(headers or ()), (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
    await send_raw(request, send, code, body, content_type, headers)


async def send_raw(
    request: Request, send: Send, code: int, body: bytes, content_type: str, headers: Headers | None = None
) -> None:
    """Sends a body as it is, with its length."""
    head: Headers = [(b"audit-id", request.id.encode())]
    if not headers or not any(name == _CACHE_CONTROL for name, _ in headers):
        head.append(_NO_STORE)
    head.append(_JSON if content_type == negotiation.JSON else (_CONTENT_TYPE, content_type.encode()))
    if request.warnings:
        head += warning_headers(request.warnings)
    if headers:
        head += headers
    head.append((_CONTENT_LENGTH, b"%d" % len(body)))
    await send({"type": "http.response.start", "status": code, "headers": head})
    if len(body) > _SLICE_BYTES:
        await _send_slices(send, memoryview(body))
    else:
        await send({"type": "http.response.body", "body": body})


async def _send_slices(send: Send, body: memoryview) -> None:
    """A large body piece by piece: the client reads while we encrypt, and no second copy of all of it is made.

    Between the pieces others have their turn, also when the client takes all at once: a GET must not wait for 30 MB.
    """
    for start in range(0, len(body), _SLICE_BYTES):
        end = start + _SLICE_BYTES
        await send({"type": "http.response.body", "body": body[start:end], "more_body": end < len(body)})
        await asyncio.sleep(0)


async def send_not_modified(send: Send, headers: Headers) -> None:
    """304: what the client has is what there is."""
    await send({"type": "http.response.start", "status": 304, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def send_error(request: Request, send: Send, error: errors.APIError) -> None:
    """Sends an error as its Status: in protobuf to who asked for it, else in JSON, which every client reads."""
    headers: Headers = [(b"x-content-type-options", b"nosniff")]
    if error.retry_after_seconds is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after_seconds))
    body, media_type = orjson.dumps(error.to_status()), negotiation.JSON
    if request.binary and negotiation.prefers_protobuf(request.header(b"accept")):
        body, media_type = await _as_protobuf(body)
    await send_bytes(request, send, error.status_code, body, media_type, headers)


async def begin_stream(request: Request, send: Send, code: int, content_type: str) -> None:
    """Sends the head of a chunked response."""
    headers: Headers = [
        (b"audit-id", request.id.encode()),
        _NO_STORE,
        (_CONTENT_TYPE, content_type.encode()),
        (b"transfer-encoding", b"chunked"),
        *warning_headers(request.warnings),
    ]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    # The head waits for a body (server.Corked); what follows may come late, or past ASGI
    await send({"type": "http.response.body", "body": b"", "more_body": True})


def warning_headers(warnings: list[str]) -> Headers:
    """`Warning: 299 - "text"`, one a distinct warning; control characters and quotes are made safe."""
    headers: Headers = []
    for text in dict.fromkeys(warnings):
        printable = "".join(char if char.isprintable() else " " for char in text)
        escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
        headers.append((b"warning", f'299 - "{escaped}"'.encode()))
    return headers


async def _as_protobuf(body: bytes) -> tuple[bytes, str]:
    """The body in protobuf, if it has such a form, and its media type.

    Big ones are written off the loop, so that other requests go on meanwhile.
    """

    def write() -> tuple[bytes, str]:
        obj = orjson.loads(body)
        if not protobuf.message_of(obj.get("apiVersion") or "", obj.get("kind") or ""):
            return body, negotiation.JSON
        return protobuf.encode(obj), negotiation.PROTOBUF

    return write() if len(body) < GZIP_FROM_BYTES else await asyncio.to_thread(write)


def _as_yaml(body: bytes) -> bytes:
    import yaml  # only the few clients that ask for YAML pay for the import

    return yaml.dump(orjson.loads(body), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True).encode()
