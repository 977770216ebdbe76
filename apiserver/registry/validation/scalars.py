"""Checks of single values that many kinds share: numbers, ports, percentages, names, selectors, enumerations."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, metadata

PROTOCOLS = ("SCTP", "TCP", "UDP")
BAD_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_PERCENT = re.compile(r"[0-9]+%")
_SERVICE_NAME = re.compile(r"[-a-z0-9]+")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_SELECTOR_OPERATORS = ("DoesNotExist", "Exists", "In", "NotIn")


def one_of(value: Any, supported: Iterable[str], field: str) -> list[Cause]:
    """An enumeration that must be given."""
    if not value:
        return [causes.required(field)]
    return [] if value in supported else [causes.unsupported(field, value, supported)]


def not_negative(value: Any, field: str) -> list[Cause]:
    """A number that may be absent."""
    if value is None or value >= 0:
        return []
    return [causes.invalid(field, value, "must be greater than or equal to 0")]


def within(value: int, low: int, high: int, field: str) -> list[Cause]:
    return (
        [] if low <= value <= high else [causes.invalid(field, value, f"must be between {low} and {high}, inclusive")]
    )


def port_number(value: int, field: str) -> list[Cause]:
    return within(value, 1, 65535, field)


def port(value: Any, field: str) -> list[Cause]:
    """A port by number or by name."""
    if isinstance(value, int):
        return port_number(value, field)
    return port_name(str(value or ""), field)


def port_name(value: str, field: str) -> list[Cause]:
    """An IANA service name."""
    problems = []
    if len(value) > 15:
        problems.append("must be no more than 15 characters")
    if not _SERVICE_NAME.fullmatch(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return [causes.invalid(field, value, problem) for problem in problems]


def count_or_percent(value: Any, field: str) -> list[Cause]:
    """An IntOrString that counts things or is a share of them."""
    if isinstance(value, str):
        if _PERCENT.fullmatch(value):
            return []
        why = (
            "a valid percent string must be a numeric string followed by an ending '%' "
            "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
        return [causes.invalid(field, value, why)]
    return not_negative(value, field)


def is_zero(value: Any) -> bool:
    """Whether a count or share is none at all."""
    return value in (0, "0%", None)


def percent(value: Any) -> int:
    """The number of a percentage; 0 for what is none."""
    return int(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else 0


def dns_label(value: str, field: str) -> list[Cause]:
    return [causes.invalid(field, value, why) for why in names.dns_label(value)]


def dns_subdomain(value: str, field: str) -> list[Cause]:
    return [causes.invalid(field, value, why) for why in names.dns_subdomain(value)]


def ip_address(value: str, field: str) -> list[Cause]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return [causes.invalid(field, value, BAD_IP)]
    return []


def config_key(key: str, field: str) -> list[Cause]:
    """A key of a ConfigMap's or Secret's data."""
    problems = []
    if len(key) > 253:
        problems.append("must be no more than 253 characters")
    if not _CONFIG_KEY.fullmatch(key):
        problems.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    if key == "." or key.startswith(".."):
        problems.append(f"must not be '{key}'" if key in (".", "..") else "must not start with '..'")
    return [causes.invalid(f"{field}[{key}]", key, why) for why in problems]


def label_selector(selector: Object | None, field: str) -> list[Cause]:
    """A `metav1.LabelSelector`."""
    found = metadata.label_map((selector or {}).get("matchLabels") or {}, f"{field}.matchLabels")
    for index, expression in enumerate((selector or {}).get("matchExpressions") or ()):
        here = f"{field}.matchExpressions[{index}]"
        operator, values = expression.get("operator"), expression.get("values") or []
        if operator in ("In", "NotIn") and not values:
            found.append(causes.required(f"{here}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist") and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(causes.forbidden(f"{here}.values", why))
        elif operator not in _SELECTOR_OPERATORS:
            found.append(causes.invalid(f"{here}.operator", operator or "", "not a valid selector operator"))
        found += [causes.invalid(f"{here}.key", expression.get("key"), why) for why in _key(expression.get("key"))]
        for at, value in enumerate(values):
            found += [causes.invalid(f"{here}.values[{at}]", value, why) for why in names.label_value(value)]
    return found


def _key(key: Any) -> list[str]:
    return names.qualified_name(key or "")
