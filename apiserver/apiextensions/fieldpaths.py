"""`fieldPath` of a rule: `.spec.replicas`, `['odd.name']`."""

from __future__ import annotations

import re

from apiserver.apiextensions.structural import Schema

_PART = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


def exists(path: str, schema: Schema) -> bool:
    """Whether a path leads to a field of the schema, below lists nowhere."""
    position = 0
    while position < len(path):
        match = _PART.match(path, position)
        if match is None:
            return False
        name = match.group(1) or re.sub(r"\\(.)", r"\1", match.group(2) or "")
        below = (schema.get("properties") or {}).get(name)
        if below is None and match.group(2) is not None and not schema.get("properties"):
            below = schema.get("additionalProperties")
        if not isinstance(below, dict):
            return False
        schema, position = below, match.end()
    return bool(path)
