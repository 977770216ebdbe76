"""Named formats: `format.dns1123Label().validate(text)` gives what is wrong, or nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from urllib.parse import urlsplit

from apimachinery import names
from apiserver.cel import times
from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.values import NONE, Optional, some

TYPE = "kubernetes.NamedFormat"
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    problems: Callable[[str], list[str]]
    cel_type = TYPE


def _prefix(check: Callable[[str], list[str]], text: str) -> list[str]:
    """As the beginning of a generated name: a dash may be its last character."""
    return check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _uri(text: str) -> list[str]:
    try:
        parts = urlsplit(text)
    except ValueError as error:
        return [str(error)]
    return [] if parts.scheme or text.startswith("/") else [f'parse "{text}": invalid URI for request']


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return []


def _date(text: str) -> list[str]:
    try:
        return [] if len(text) == 10 and date.fromisoformat(text) else ["invalid date"]
    except ValueError:
        return ["invalid date"]


def _datetime(text: str) -> list[str]:
    try:
        times.timestamp(text)
    except EvaluationError:
        return ["invalid datetime"]
    return []


_CHECKS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": names.dns_label,
    "dns1123Subdomain": names.dns_subdomain,
    "dns1035Label": names.dns_1035_label,
    "dns1123LabelPrefix": partial(_prefix, names.dns_label),
    "dns1123SubdomainPrefix": partial(_prefix, names.dns_subdomain),
    "dns1035LabelPrefix": partial(_prefix, names.dns_1035_label),
    "qualifiedName": names.qualified_name,
    "labelValue": names.label_value,
    "uri": _uri,
    "uuid": _uuid,
    "byte": _byte,
    "date": _date,
    "datetime": _datetime,
}
_FORMATS = {name: Format(name, check) for name, check in _CHECKS.items()}


def _named(name: str) -> Optional:
    return some(_FORMATS[name]) if name in _FORMATS else NONE


def _validate(chosen: Format, text: str) -> Optional:
    problems = chosen.problems(text)
    return some(problems) if problems else NONE


LIBRARY = Library()
LIBRARY.function(f"format.named(string) -> optional_type({TYPE})", _named)
for format_name, known in _FORMATS.items():
    LIBRARY.function(f"format.{format_name}() -> {TYPE}", lambda known=known: known)
LIBRARY.method(f"validate({TYPE}, string) -> optional_type(list(string))", _validate)
