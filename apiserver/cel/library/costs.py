"""What calls cost that read or make long values: upstream's formulas."""

from __future__ import annotations

import math
from typing import Any

from apiserver.cel import values
from apiserver.cel.declarations import Cost

TRAVERSAL, PER_PATTERN = 0.1, 0.25
# Building one
LIST_COST, MAP_COST, OBJECT_COST = 10, 30, 40
"""Units for a character that is read, and for a character of a regular expression."""


def traversal(factor: float = 1.0) -> Cost:
    """The first argument is read, `factor` times."""
    return lambda args, result: math.ceil(values.size(args[0]) * factor * TRAVERSAL)


def second(args: tuple[Any, ...], result: Any) -> int:
    return math.ceil(values.size(args[1]) * TRAVERSAL)


def smaller(args: tuple[Any, ...], result: Any) -> int:
    return math.ceil(min(values.size(args[0]), values.size(args[1])) * TRAVERSAL)


def both(args: tuple[Any, ...], result: Any) -> int:
    return math.ceil((values.size(args[0]) + values.size(args[1])) * TRAVERSAL)


def substring(args: tuple[Any, ...], result: Any) -> int:
    return math.ceil(values.size(args[0]) * TRAVERSAL) * math.ceil(values.size(args[1]) * TRAVERSAL)


def regex(args: tuple[Any, ...], result: Any) -> int:
    return math.ceil((1 + values.size(args[0])) * TRAVERSAL) * math.ceil(values.size(args[1]) * PER_PATTERN)


def elements_of_second(args: tuple[Any, ...], result: Any) -> int:
    return values.size(args[1])


def made(args: tuple[Any, ...], result: Any) -> int:
    return math.ceil(values.size(result) * 2 * TRAVERSAL)


def of_list(args: tuple[Any, ...], result: Any) -> int:
    """A list is read once, and each text in it."""
    items = args[0]
    if not isinstance(items, list):
        return math.ceil(values.size(items) * TRAVERSAL)
    return sum(1 + (math.ceil(len(item) * TRAVERSAL) if isinstance(item, str | bytes) else 0) for item in items)


def product(args: tuple[Any, ...], result: Any) -> int:
    return values.size(args[0]) * values.size(args[1]) + 1
