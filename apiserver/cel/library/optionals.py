"""Values that may be missing: `optional.of`, `.orValue` and what goes with them."""

from __future__ import annotations

from typing import Any

from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.values import NONE, Duration, Optional, some


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _is_zero(value: Any) -> bool:
    return (
        value is None
        or value == Duration(0)
        or (isinstance(value, bool | int | float | str | bytes | list | dict) and not value)
    )


LIBRARY = Library()
LIBRARY.function("optional.of(A) -> optional_type(A)", some)
LIBRARY.function("optional.none() -> optional_type(A)", lambda: NONE)
LIBRARY.function("optional.ofNonZeroValue(A) -> optional_type(A)", lambda v: NONE if _is_zero(v) else some(v))
LIBRARY.method("hasValue(optional_type(A)) -> bool", lambda optional: optional.present)
LIBRARY.method("value(optional_type(A)) -> A", _value)
LIBRARY.method("orValue(optional_type(A), A) -> A", lambda o, other: o.value if o.present else other)
LIBRARY.method("or(optional_type(A), optional_type(A)) -> optional_type(A)", lambda o, other: o if o.present else other)
