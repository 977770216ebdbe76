"""The formats of strings that upstream checks; any other format is a note for readers.

Source: the format table of https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

from apimachinery import clock, names

Check = Callable[[str], bool]

_HEX = "[0-9a-fA-F]"
_UUID = re.compile(rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}")
_HOSTNAME = re.compile(
    r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)
_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_DURATION = re.compile(r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)\s*(?:ns|us|µs|μs|ms|s|m|h|d|w))+|0", re.IGNORECASE)
_COLOUR = re.compile(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_RGB = re.compile(r"rgb\(\s*(?:(?:\d{1,2}|1\d\d|2[0-4]\d|25[0-5])\s*,\s*){2}(?:\d{1,2}|1\d\d|2[0-4]\d|25[0-5])\s*\)")
_MAC = re.compile(rf"{_HEX}{{2}}(?:([:-]){_HEX}{{2}})(?:\1{_HEX}{{2}}){{4}}|(?:{_HEX}{{4}}\.){{2}}{_HEX}{{4}}")


def is_valid(format_name: str, value: str) -> bool:
    """Whether the string has the format; True for formats that nobody checks."""
    check = _CHECKS.get(format_name.replace("-", "") if format_name == "date-time" else format_name)
    return check is None or check(value)


def _parses(parse: Callable[[str], object]) -> Check:
    def check(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return check


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: pattern.fullmatch(value) is not None


def _uri(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme or value.startswith("/")) and " " not in value


def _network(value: str) -> bool:
    return "/" in value and _parses(lambda text: ipaddress.ip_network(text, strict=False))(value)


def _hostname(value: str) -> bool:
    return 0 < len(value) <= 253 and _HOSTNAME.fullmatch(value) is not None


def _uuid(version: int | None = None) -> Check:
    def check(value: str) -> bool:
        if _UUID.fullmatch(value) is None:
            return False
        return version is None or value.replace("-", "")[12] == str(version)

    return check


def _base64(value: str) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _isbn(*lengths: int) -> Check:
    def check(value: str) -> bool:
        digits = value.replace("-", "").replace(" ", "").upper()
        if len(digits) == 10 and 10 in lengths and re.fullmatch(r"\d{9}[\dX]", digits):
            total = sum((10 - at) * (10 if char == "X" else int(char)) for at, char in enumerate(digits))
            return total % 11 == 0
        if len(digits) == 13 and 13 in lengths and digits.isdigit():
            return sum(int(char) * (3 if at % 2 else 1) for at, char in enumerate(digits)) % 10 == 0
        return False

    return check


def _credit_card(value: str) -> bool:
    """Luhn's sum."""
    digits = re.sub(r"[ -]", "", value)
    if not re.fullmatch(r"\d{12,19}", digits):
        return False
    doubled = [int(char) * (2 if at % 2 else 1) for at, char in enumerate(reversed(digits))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


_CHECKS: dict[str, Check] = {
    "bsonobjectid": _matches(re.compile(rf"{_HEX}{{24}}")),
    "uri": _uri,
    "email": _matches(_EMAIL),
    "hostname": _hostname,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _network,
    "mac": _matches(_MAC),
    "uuid": _uuid(),
    "uuid3": _uuid(3),
    "uuid4": _uuid(4),
    "uuid5": _uuid(5),
    "isbn": _isbn(10, 13),
    "isbn10": _isbn(10),
    "isbn13": _isbn(13),
    "creditcard": _credit_card,
    "ssn": _matches(re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}")),
    "hexcolor": _matches(_COLOUR),
    "rgbcolor": _matches(_RGB),
    "byte": _base64,
    "date": _parses(date.fromisoformat),
    "duration": _matches(_DURATION),
    "datetime": _parses(clock.parse_rfc3339),
    "k8s-short-name": lambda value: not names.dns_label(value),
    "k8s-long-name": lambda value: not names.dns_subdomain(value),
}
