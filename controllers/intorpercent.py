"""Fields that hold a number or a percentage (`maxSurge: 25%`): what they come to of a total."""

from __future__ import annotations

import math


def resolve(value: int | str | None, total: int, *, round_up: bool) -> int:
    """`value` itself, or that percentage of `total`, rounded as asked. None is 0. Raises ValueError on other text."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise ValueError(f"invalid value for IntOrString: {value!r} is neither an integer nor a percentage")
    exact = int(value[:-1]) * total / 100
    return math.ceil(exact) if round_up else math.floor(exact)
