"""Quantities: `quantity('1.5Gi')`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from apimachinery import quantity
from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs
from apiserver.cel.values import INT_MAX, INT_MIN

TYPE = "kubernetes.Quantity"


@dataclass(frozen=True, slots=True)
class Quantity:
    amount: Decimal
    cel_type = TYPE


def _read(text: str) -> Quantity:
    try:
        return Quantity(quantity.parse(text))
    except quantity.QuantityError as error:
        raise EvaluationError(str(error)) from error


def _is_integer(value: Quantity) -> bool:
    return value.amount == value.amount.to_integral_value() and INT_MIN <= value.amount <= INT_MAX


def _integer(value: Quantity) -> int:
    if not _is_integer(value):
        raise EvaluationError("cannot convert value to integer")
    return int(value.amount)


def _plus(value: Quantity, other: Any) -> Quantity:
    return Quantity(value.amount + (other.amount if isinstance(other, Quantity) else other))


def _minus(value: Quantity, other: Any) -> Quantity:
    return Quantity(value.amount - (other.amount if isinstance(other, Quantity) else other))


def _sign(value: Decimal) -> int:
    return (value > 0) - (value < 0)


LIBRARY = Library()
LIBRARY.function(f"quantity(string) -> {TYPE}", _read, costs.traversal())
LIBRARY.function("isQuantity(string) -> bool", quantity.is_valid, costs.traversal())
LIBRARY.method(f"isInteger({TYPE}) -> bool", _is_integer)
LIBRARY.method(f"asInteger({TYPE}) -> int", _integer)
LIBRARY.method(f"asApproximateFloat({TYPE}) -> double", lambda value: float(value.amount))
LIBRARY.method(f"sign({TYPE}) -> int", lambda value: _sign(value.amount))
LIBRARY.method(f"isGreaterThan({TYPE}, {TYPE}) -> bool", lambda one, other: one.amount > other.amount)
LIBRARY.method(f"isLessThan({TYPE}, {TYPE}) -> bool", lambda one, other: one.amount < other.amount)
LIBRARY.method(f"compareTo({TYPE}, {TYPE}) -> int", lambda one, other: _sign(one.amount - other.amount))
for addend in (TYPE, "int"):
    LIBRARY.method(f"add({TYPE}, {addend}) -> {TYPE}", _plus)
    LIBRARY.method(f"sub({TYPE}, {addend}) -> {TYPE}", _minus)
