"""How one wrong field is told: the `field.Error` forms of upstream, as `Cause`s."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from apimachinery.errors import Cause

IMMUTABLE = "field is immutable"


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", "Required value" + (f": {detail}" if detail else ""), field)


def invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {render(value)}: {detail}", field)


def immutable(field: str, value: Any) -> Cause:
    return invalid(field, value, IMMUTABLE)


def unsupported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    listed = ", ".join(render(item) for item in sorted(supported))
    return Cause("FieldValueNotSupported", f"Unsupported value: {render(value)}: supported values: {listed}", field)


def forbidden(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {render(value)}", field)


def not_found(field: str, value: Any) -> Cause:
    return Cause("FieldValueNotFound", f"Not found: {render(value)}", field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def too_many(field: str, count: int, limit: int) -> Cause:
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items", field)


def render(value: Any) -> str:
    """A value within a message: strings quoted, the rest as JSON."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
