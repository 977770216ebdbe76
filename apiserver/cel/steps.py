"""The pieces of compiled expressions that read fields, call functions and build literals, and variables that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.cel import values
from apiserver.cel.declarations import Overload
from apiserver.cel.frames import Frame, Run
from apiserver.cel.issues import CostExceeded, EvaluationError
from apiserver.cel.values import NONE, Optional, some


def no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")


class Deferred:
    """A variable that is computed when it is first asked for."""

    __slots__ = ("_compute", "_failed", "_value")

    def __init__(self, compute: Callable[[Frame], Any]) -> None:
        self._compute: Callable[[Frame], Any] | None = compute
        self._value: Any = None
        self._failed: EvaluationError | None = None

    def get(self, frame: Frame) -> Any:
        if self._compute is not None:
            compute, self._compute = self._compute, None
            try:
                self._value = compute(frame)
            except EvaluationError as error:
                self._failed = error
        if self._failed is not None:
            # A new one each time: an exception that is raised again and again keeps every frame it went through
            raise CostExceeded if isinstance(self._failed, CostExceeded) else EvaluationError(str(self._failed))
        return self._value


def missing(value: Any, key: str) -> EvaluationError:
    if isinstance(value, dict):
        return EvaluationError(f"no such key: {key}")
    return no_such_overload()


def presence(operand: Run, key: str, *, nulls: bool) -> Run:
    """`nulls`: whether a null is there. In a field of a schema it is as absent."""

    def run(frame: Frame) -> bool:
        value = operand(frame)
        frame.cost += 1
        if type(value) is Optional:
            if not value.present:
                return False
            value = value.value
        if type(value) is not dict:
            raise no_such_overload()
        return key in value and (nulls or value[key] is not None)

    return run


def optional_field(operand: Run, key: str, *, wraps: bool) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        frame.cost += 1
        optional = type(value) is Optional
        if optional:
            if not value.present:
                return NONE
            value = value.value
        if type(value) is dict and key in value:
            return some(value[key]) if wraps or optional else value[key]
        if type(value) is dict and (wraps or optional):
            return NONE
        raise missing(value, key)

    return run


def append(built: list[Any], value: Any, optional: bool) -> None:
    if not optional:
        built.append(value)
    elif value.present:
        built.append(value.value)


def put(built: dict[Any, Any], name: Any, value: Any, optional: bool) -> None:
    if not optional:
        built[name] = value
    elif value.present:
        built[name] = value.value


def apply(call: Callable[..., Any], cost: Any, operands: list[Run]) -> Run:
    if cost is None and len(operands) == 2:
        return apply_two(call, *operands)

    def run(frame: Frame) -> Any:
        args = tuple(operand(frame) for operand in operands)
        result = call(*args)
        frame.spend(1 if cost is None else cost(args, result))
        return result

    return run


def apply_two(call: Callable[..., Any], left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Any:
        one = left(frame)
        other = right(frame)
        frame.cost += 1
        return call(one, other)

    return run


def dispatched(overloads: list[Overload], operands: list[Run]) -> Run:
    """Chooses by the values, where types could not decide."""
    choices = [
        (tuple(values.fits(param.kind, param.name) for param in overload.params), overload.call, overload.cost)
        for overload in overloads
    ]

    def run(frame: Frame) -> Any:
        args = tuple(operand(frame) for operand in operands)
        for tests, call, cost in choices:
            if all(test(arg) for test, arg in zip(tests, args, strict=True)):
                result = call(*args)
                frame.spend(1 if cost is None else cost(args, result))
                return result
        raise no_such_overload()

    return run
