"""ConfigMaps, Secrets and ServiceAccounts in words.

A Secret's values are not shown, only how long they are; but for a ServiceAccount's token, which is made to be read.
"""

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
    is_token = obj.get("type") == "kubernetes.io/service-account-token"
    for name, value in sorted((obj.get("data") or {}).items()):
        shown = _text(value) if is_token and name == "token" else f"{_size(value)} bytes"
        lines.append(f"{name}:\t{shown}")
    return lines


def service_account(obj: Object, events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of a ServiceAccount's description."""
    names = [str(ref.get("name") or "") for ref in obj.get("imagePullSecrets") or []] or ["<none>"]
    lines = [*layout.head(obj), f"Image pull secrets:\t{names[0]}", *(f"\t{name}" for name in names[1:])]
    return [*lines, *layout.events(events, now)]


def _text(value: str) -> str:
    try:
        return base64.b64decode(value).decode(errors="replace")
    except (binascii.Error, ValueError):
        return value


def _size(value: str) -> int:
    try:
        return len(base64.b64decode(value))
    except (binascii.Error, ValueError):
        return len(value)
