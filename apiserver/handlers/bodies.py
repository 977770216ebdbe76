"""Reading request bodies, with a bound (A7)."""

from __future__ import annotations

from apimachinery import codec, errors, protobuf
from apimachinery.objects import Object
from apiserver import negotiation
from apiserver.asgi import Receive
from apiserver.request import Request

# As upstream: twice the largest value that etcd takes by default
MAX_BODY_BYTES = 3 * 1024 * 1024


async def read(request: Request, receive: Receive) -> bytes:
    """The whole body. Raises RequestEntityTooLarge, as early as the length is known."""
    announced = request.headers.get(b"content-length", b"")
    if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
        raise _too_large()
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise errors.BadRequest("unexpected EOF")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise _too_large()
    return b"".join(parts)


async def read_encoded(request: Request, receive: Receive) -> tuple[bytes, bool]:
    """The body as JSON or YAML (the flag), whatever it came as. Raises BadRequest, UnsupportedMediaType."""
    media_type = negotiation.body_type(request.header(b"content-type"))
    body = await read(request, receive)
    if media_type == negotiation.PROTOBUF and body:
        try:
            return codec.encode(protobuf.decode(body)), False
        except codec.CodecError as error:
            raise errors.BadRequest(str(error)) from error
    return body, media_type == negotiation.YAML


async def read_object(request: Request, receive: Receive) -> Object:
    """The body as an object of any kind, unchecked: options and reviews. {} for an empty body. Raises BadRequest."""
    body, is_yaml = await read_encoded(request, receive)
    if not body:
        return {}
    try:
        value = codec.decode_yaml(body) if is_yaml else codec.decode_json(body)
    except codec.CodecError as error:
        raise errors.BadRequest(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(value, dict):
        raise errors.BadRequest("couldn't get version/kind; json parse error: not an object")
    return value


def _too_large() -> errors.RequestEntityTooLarge:
    return errors.RequestEntityTooLarge(f"Request entity too large: limit is {MAX_BODY_BYTES}")
