"""Continue tokens: where the next page of a list starts, and at which revision; upstream's form (`meta.k8s.io/v1`)."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

import orjson

from apimachinery import errors

_VERSION = "meta.k8s.io/v1"
INCONSISTENT = -1
"""The revision of a token that goes on from a key, but at the newest revision."""

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class Continuation(NamedTuple):
    """`start` is relative to the collection's range."""

    start: str
    revision: int


def encode(start: str, revision: int) -> str:
    data = orjson.dumps({"v": _VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(token: str) -> Continuation:
    """Raises BadRequest for whatever `encode` has not made."""
    try:
        fields = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError) as error:
        raise _refused("continue key is not valid: illegal base64 data or JSON") from error
    fields = fields if isinstance(fields, dict) else {}
    revision, start = fields.get("rv"), fields.get("start")
    if fields.get("v") != _VERSION:
        raise _refused("continue key is not valid: server does not recognize this encoded version")
    if type(revision) is not int or not revision:
        raise _refused(f"continue key is not valid: incorrect encoded start resourceVersion (version {_VERSION})")
    if type(start) is not str or not start:
        raise _refused(f"continue key is not valid: encoded start key empty (version {_VERSION})")
    if ".." in start.split("/") or start.startswith("/"):  # never out of the collection's own range
        raise _refused(f"invalid key: {start}")
    return Continuation(start, max(revision, INCONSISTENT))


def _refused(why: str) -> errors.BadRequest:
    return errors.BadRequest(f"invalid continue token: {why}")


def expired(start: str) -> errors.Expired:
    """The answer to a token whose revision is gone; it carries a token that goes on without consistency."""
    error = errors.Expired(EXPIRED)
    error.continue_token = encode(start, INCONSISTENT)
    return error
