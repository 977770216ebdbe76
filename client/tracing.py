"""W3C trace context: the one value that travels with the work of a request, across tasks and processes.

Off unless somebody sets `current`: then every API call made in that context carries it as the `traceparent` header,
and asks, as a member of `tracestate`, that what it creates keeps the context in an annotation. Whoever works on that
object, a controller or a kubelet, goes on from there, so that one request can be followed across processes.
Source: https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import os
import re
from contextvars import ContextVar

current: ContextVar[str] = ContextVar("traceparent", default="")

ANNOTATION = "armillary.dev/traceparent"  # where an object keeps the context of the request that created it
STATE = "armillary=record"
_FORM = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def start() -> str:
    """A new sampled trace."""
    return f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-01"


def is_valid(value: str) -> bool:
    return _FORM.fullmatch(value) is not None and not value.startswith("ff")
