"""ConfigMaps and Secrets in words. A Secret's values are never shown, only how long they are."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime

from apimachinery.objects import Object
from minictl.describe import layout


def config_map(obj: Object, events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of a ConfigMap's description."""
    lines = [*layout.head(obj), "", "Data", "===="]
    for name, value in sorted((obj.get("data") or {}).items()):
        lines += [f"{name}:", "----", *str(value).split("\n"), ""]
    lines += ["", "BinaryData", "===="]
    for name, value in sorted((obj.get("binaryData") or {}).items()):
        lines.append(f"{name}: {_size(value)} bytes")
    return [*lines, "", *layout.events(events, now)]


def secret(obj: Object, events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of a Secret's description."""
    lines = [*layout.head(obj), "", f"Type:\t{obj.get('type') or ''}", "", "Data", "===="]
    return lines + [f"{name}:\t{_size(value)} bytes" for name, value in sorted((obj.get("data") or {}).items())]


def _size(value: str) -> int:
    try:
        return len(base64.b64decode(value))
    except (binascii.Error, ValueError):
        return len(value)
