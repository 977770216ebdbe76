"""Expressions compiled once and evaluated often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver.cel import checking, parsing
from apiserver.cel.compiling import Compiler
from apiserver.cel.declarations import Environment
from apiserver.cel.frames import Frame
from apiserver.cel.issues import CompileError, CostExceeded, EvaluationError, Issue
from apiserver.cel.steps import Deferred
from apiserver.cel.syntax import Node
from apiserver.cel.types import Type

CALL_LIMIT = 1_000_000
"""Units that one evaluation may cost: upstream's PerCallLimit, which it takes for a tenth of a second."""


class Program:
    """An expression that type-checks in its environment. `tree` is for the estimate of its cost."""

    def __init__(self, source: str, environment: Environment) -> None:
        """Raises CompileError."""
        self.source = source
        try:
            self.tree: Node = parsing.parse(source)
            self.type: Type = checking.check(self.tree, source, environment)
            compiler = Compiler(list(environment.variables))
            self._run = compiler.compile(self.tree)
        except RecursionError as error:
            raise CompileError(source, [Issue(0, "expression recursion limit exceeded")]) from error
        self._variables = tuple(environment.variables)
        self._names = compiler.used
        self._size = compiler.size

    def uses(self, variable: str) -> bool:
        return variable in self._names

    def evaluate(self, bindings: Mapping[str, Any], limit: int = CALL_LIMIT) -> tuple[Any, int]:
        """The value, and what it cost. A binding may be `Deferred`. Raises EvaluationError, CostExceeded; both have
        the cost as `cost`."""
        values = [bindings.get(name, _UNBOUND) for name in self._variables]
        values += [None] * (self._size - len(values))
        frame = Frame(values, limit)
        try:
            value = self._run(frame)
            if frame.cost > limit:
                raise CostExceeded
        except EvaluationError as error:
            error.cost = frame.cost
            raise
        except RecursionError as error:
            raise EvaluationError("expression recursion limit exceeded") from error
        except _UNTYPED as error:
            raise EvaluationError("no such overload") from error
        return value, frame.cost


# What functions raise on values that only dynamic typing lets through to them
_UNTYPED = (TypeError, ValueError, AttributeError, ArithmeticError)


def _unbound(frame: Frame) -> Any:
    raise EvaluationError("no such attribute(s)")


_UNBOUND = Deferred(_unbound)


def deferred(compute: Callable[[Frame], Any]) -> Deferred:
    """A variable that is computed, once, when an expression reads it."""
    return Deferred(compute)
