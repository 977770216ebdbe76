"""Quantities: fixed-point numbers with a suffix, as `100m`, `1.5Gi`, `2e3`.

Values are exact (`fractions.Fraction` would be slow; `decimal.Decimal` holds every legal quantity exactly).
Guarantees: `canonical(parse(x))` is what upstream's `Quantity.String()` gives: no fraction digits, the largest suffix
that loses nothing, the form (binary, decimal, exponent) of the input.
Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache

_GRAMMAR = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,3})|(n|u|m|k|M|G|T|P|E|[KMGTPE]i)?)", re.ASCII)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
REFUSED = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_MAX = Decimal(2**63 - 1)
_NANO = Decimal("1e-9")
_EXACT = Context(prec=60)


class QuantityError(ValueError):
    """The text is not a quantity. The message is upstream's."""


@lru_cache(maxsize=8192)
def parse(text: str | int | float) -> Decimal:
    """The exact value of a quantity. Numbers stand for themselves. Raises QuantityError.

    As upstream: below a nano is rounded up, beyond 2^63-1 is capped.
    """
    value, _ = _parse(str(text))
    return value


def is_valid(text: str | int | float) -> bool:
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def milli(text: str | int | float) -> int:
    """The value in thousandths, rounded up: CPU in millicores."""
    return int((parse(text) * 1000).to_integral_value(ROUND_CEILING))


def integer(text: str | int | float) -> int:
    """The value as a whole number, rounded up: memory in bytes, counts."""
    return int(parse(text).to_integral_value(ROUND_CEILING))


@lru_cache(maxsize=8192)
def canonical(text: str | int | float) -> str:
    """The canonical text of a quantity, in the form (binary, decimal or exponent) that it was written in."""
    value, form = _parse(str(text))
    return render(value, form)


def render(value: Decimal, form: str = "decimal") -> str:
    """The canonical text of `value` in a form: "binary", "decimal" or "exponent"."""
    if value == 0:
        return "0"
    if form == "binary":
        # Upstream leaves the binary form for values under 1024 and for fractions
        if abs(value) < 1024 or value != value.to_integral_value():
            form = "decimal"
        else:
            return _render_binary(int(value))
    nano = int((value / _NANO).to_integral_value(ROUND_CEILING))
    exponent = -9
    while exponent < 18 and nano % 1000 == 0:
        nano //= 1000
        exponent += 3
    if form == "exponent":
        return f"{nano}e{exponent}" if exponent else str(nano)
    suffix = next(name for name, power in _DECIMAL.items() if power == exponent)
    return f"{nano}{suffix}"


def _render_binary(value: int) -> str:
    suffix = ""
    for name in _BINARY:
        if value % 1024:
            break
        value //= 1024
        suffix = name
    return f"{value}{suffix}"


def _parse(text: str) -> tuple[Decimal, str]:
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise QuantityError(REFUSED)
    sign, digits, exponent, suffix = match.groups()
    value = Decimal(digits)
    form = "decimal"
    if exponent:
        value = _EXACT.scaleb(value, int(exponent[1:]))
        form = "exponent"
    elif suffix in _BINARY:
        value = _EXACT.multiply(value, Decimal(1024 ** _BINARY[suffix]))
        form = "binary"
    elif suffix:
        value = _EXACT.scaleb(value, _DECIMAL[suffix])
    if value > _MAX:
        value = _MAX
    else:
        value = value.quantize(_NANO, ROUND_CEILING, _EXACT) if value != value.to_integral_value() else value
    return (-value if sign == "-" else value), form
