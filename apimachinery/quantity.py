"""Quantities: fixed-point numbers with a suffix, as `100m`, `1.5Gi`, `2e3`.

Values are exact (`fractions.Fraction` would be slow; `decimal.Decimal` holds every legal quantity exactly).
Guarantees: `canonical(x)` is the text that upstream keeps of `x`: no fraction digits, the largest suffix that loses
nothing, the form (binary, decimal, exponent) of the input. What upstream takes for canonical already, it leaves as it
is written, and so do we: `+5`, `1.500`. Exponents are bounded by three digits, where upstream has 31 bits.
Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache

# Digits may be missing altogether: upstream reads `Ki` and `.` as nothing of it, zero
_GRAMMAR = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[+-]?\d*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?)0*(\d{1,3})", re.ASCII)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES = {power: name for name, power in _DECIMAL.items()}
REFUSED = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_REFUSED_SUFFIX = "unable to parse quantity's suffix"
_BINARY_MAX = Decimal(2**63 - 1)
_NANO = Decimal("1e-9")
# More digits than a body has bytes: nothing is rounded but what is meant to be
_EXACT = Context(prec=10_000_000)


class QuantityError(ValueError):
    """The text is not a quantity. The message is upstream's."""


@lru_cache(maxsize=8192)
def parse(text: str | int | float) -> Decimal:
    """The exact value of a quantity. Numbers stand for themselves. Raises QuantityError.

    As upstream: below a nano is rounded up, in the binary form beyond 2^63-1 is capped.
    """
    return _value(_Parts(str(text)))


def is_valid(text: str | int | float) -> bool:
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def milli(text: str | int | float) -> int:
    """The value in thousandths, rounded up: CPU in millicores."""
    return int(parse(text).scaleb(3, _EXACT).to_integral_value(ROUND_CEILING))


def integer(text: str | int | float) -> int:
    """The value as a whole number, rounded up: memory in bytes, counts."""
    return int(parse(text).to_integral_value(ROUND_CEILING))


@lru_cache(maxsize=8192)
def canonical(text: str | int | float) -> str:
    """The canonical text of a quantity, in the form (binary, decimal or exponent) that it was written in."""
    parts = _Parts(str(text))
    return parts.text if parts.is_kept else render(_value(parts), parts.form)


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
    number = int(value.scaleb(9, _EXACT).to_integral_value(ROUND_CEILING))
    exponent = -9
    while number % 1000 == 0:
        number //= 1000
        exponent += 3
    if form == "exponent" or exponent not in _SUFFIXES:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_SUFFIXES[exponent]}"


def _render_binary(value: int) -> str:
    suffix = ""
    for name in _BINARY:
        if value % 1024:
            break
        value //= 1024
        suffix = name
    return f"{value}{suffix}"


class _Parts:
    """A quantity's text taken apart. Raises QuantityError."""

    __slots__ = ("digits", "exponent", "form", "fraction", "is_negative", "text")

    def __init__(self, text: str) -> None:
        match = _GRAMMAR.fullmatch(text) if text else None
        if match is None:
            raise QuantityError(REFUSED)
        sign, whole, fraction, suffix = match.groups()
        self.text = text
        self.is_negative = sign == "-"
        self.digits = whole.lstrip("0") or "0"
        self.fraction = fraction or ""
        self.form, self.exponent = _interpreted(suffix)

    @property
    def is_kept(self) -> bool:
        """Whether upstream takes the text for canonical: where its short way of parsing sees no need to change it."""
        shifted = self.digits + self.fraction
        if self.form == "binary":
            bits = 10 * self.exponent
            is_short = not self.fraction and 15 - len(self.digits) - bits * 3 // 10 - 1 >= 0
            number = int(self.digits) if is_short else 0
            return is_short and number & 7 != 0 and number << bits < 2**63
        scale = self.exponent - len(self.fraction)
        is_short = len(shifted) <= 18 and scale >= -9
        return is_short and scale % 3 == 0 and shifted[0] != "0" and not shifted.endswith("000")


def _interpreted(suffix: str) -> tuple[str, int]:
    """The form that a suffix says, and its exponent: of 1024 in the binary form, else of 10."""
    if suffix in _DECIMAL:
        return "decimal", _DECIMAL[suffix]
    if suffix in _BINARY:
        return "binary", _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise QuantityError(_REFUSED_SUFFIX)
    return "exponent", int(match[1] + match[2])


def _value(parts: _Parts) -> Decimal:
    value = Decimal(f"{parts.digits}.{parts.fraction}")
    if parts.form == "binary":
        value = min(_rounded(_EXACT.multiply(value, 1024**parts.exponent)), _BINARY_MAX)
    else:
        value = _rounded(value.scaleb(parts.exponent, _EXACT))
    return value.copy_negate() if parts.is_negative else value


def _rounded(value: Decimal) -> Decimal:
    """Up to a nano, away from zero once the sign is there: who asks for too little gets the least."""
    return value if value == value.to_integral_value() else value.quantize(_NANO, ROUND_CEILING, _EXACT)
