"""Content negotiation: which form a response takes, and which forms a body may have (A7).

The answer to an `Accept` header depends on nothing else, so it is worked out once a distinct header and kept.
Bodies may be JSON, YAML or protobuf, and so may responses, the last only where the kind has a message: not custom
resources, and never a Table, as upstream.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from apimachinery import errors, protobuf

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = protobuf.MEDIA_TYPE
_SERVED = {JSON: JSON, "text/json": JSON, YAML: YAML, "text/yaml": YAML, "application/*": JSON, "*/*": JSON}
_META_GROUP = "meta.k8s.io"
_PARTIAL = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})
_TRANSFORMS = _PARTIAL | {"Table"}


@dataclass(frozen=True, slots=True)
class Representation:
    """How a response is written. `transform` is "" for the object itself, or a kind of meta.k8s.io at `version`."""

    media_type: str = JSON
    transform: str = ""
    version: str = "v1"
    stream: bool = False


AS_JSON = Representation()


@lru_cache(maxsize=512)
def accept(header: str, binary: bool = False) -> Representation:
    """The best form that the client takes. Raises NotAcceptable when it takes none.

    Protobuf only with `binary`, but for partial metadata, which every kind has in it.
    """
    if not header:
        return AS_JSON
    for media_type, parameters in _by_preference(header):
        transform = parameters.get("as", "")
        is_binary = media_type == PROTOBUF and (binary or transform in _PARTIAL)
        served = PROTOBUF if is_binary else _SERVED.get(media_type)
        if served is None or (served == PROTOBUF and transform == "Table"):
            continue
        if not transform:
            return Representation(served, stream=parameters.get("stream") == "watch")
        version = parameters.get("v", "v1")
        if transform in _TRANSFORMS and parameters.get("g") == _META_GROUP and version in ("v1", "v1beta1"):
            return Representation(served, transform, version, parameters.get("stream") == "watch")
    accepted = (JSON, YAML, PROTOBUF) if binary else (JSON, YAML)
    raise errors.NotAcceptable(f"only the following media types are accepted: {', '.join(accepted)}")


def prefers_protobuf(header: str) -> bool:
    """Whether an error may go out in protobuf. What the client takes instead of it is not asked: that is JSON."""
    try:
        return accept(header, True).media_type == PROTOBUF
    except errors.NotAcceptable:
        return False


def body_type(header: str) -> str:
    """JSON, YAML or protobuf, by a request's Content-Type; no header means JSON. Raises UnsupportedMediaType."""
    media_type = header.partition(";")[0].strip().lower()
    if media_type in ("", JSON, "text/json"):
        return JSON
    if media_type in (YAML, "text/yaml", "application/x-yaml"):
        return YAML
    if media_type == PROTOBUF:
        return PROTOBUF
    raise unsupported([JSON, YAML, PROTOBUF])


def refuse_binary(content_type: str) -> None:
    """For bodies that have no protobuf form. Raises UnsupportedMediaType."""
    if body_type(content_type) == PROTOBUF:
        raise unsupported([JSON, YAML])


def unsupported(accepted: list[str]) -> errors.UnsupportedMediaType:
    return errors.UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    )


def _by_preference(header: str) -> list[tuple[str, dict[str, str]]]:
    """The media ranges of an Accept header with their parameters, by falling `q`, then as written."""
    ranges: list[tuple[float, str, dict[str, str]]] = []
    for part in header.split(","):
        media_type, *parameters = (piece.strip() for piece in part.split(";"))
        values = dict(parameter.partition("=")[::2] for parameter in parameters)
        try:
            quality = float(values.pop("q", "1"))
        except ValueError:
            quality = 1.0
        if quality > 0:
            ranges.append((quality, media_type.lower(), values))
    ranges.sort(key=lambda item: -item[0])
    return [(media_type, values) for _, media_type, values in ranges]
