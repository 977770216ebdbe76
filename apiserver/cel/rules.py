"""`x-kubernetes-validations`: one rule of a schema node, compiled.

`self` has the node's type, `oldSelf` too, or an optional of it with `optionalOldSelf`. A rule that reads `oldSelf` is a
transition rule.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver.cel import estimating, library, types
from apiserver.cel.declarations import Environment
from apiserver.cel.issues import CostExceeded, EvaluationError
from apiserver.cel.programs import Program
from apiserver.cel.types import Type
from apiserver.cel.values import NONE, some

MAX_MESSAGE_BYTES = 5 * 1024  # upstream's, for what a messageExpression gives
ABSENT: Any = object()
"""The old value where there is none."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule whose expressions compiled."""

    declared: Type
    program: Program
    message: str
    message_program: Program | None
    reason: str
    field_path: str
    optional_old: bool

    @property
    def uses_old(self) -> bool:
        return self.program.uses("oldSelf")

    @property
    def shown(self) -> str:
        """How errors name the rule."""
        return self.message or self.program.source.strip()

    def bindings(self, new: Any, old: Any) -> dict[str, Any]:
        if self.optional_old:
            return {"self": new, "oldSelf": NONE if old is ABSENT else some(old)}
        return {"self": new} if old is ABSENT else {"self": new, "oldSelf": old}

    def applies(self, old: Any) -> bool:
        """A transition rule needs something that it was before."""
        return old is not ABSENT or self.optional_old or not self.uses_old


def compile_rule(spec: dict[str, Any], declared: Type) -> Rule:
    """A rule as written in a schema. Raises CompileError."""
    optional_old = bool(spec.get("optionalOldSelf"))
    message = (spec.get("messageExpression") or "").strip()
    return Rule(
        declared,
        compile_expression(spec["rule"], declared, optional_old=optional_old),
        (spec.get("message") or "").strip(),
        compile_expression(message, declared, optional_old=optional_old) if message else None,
        spec.get("reason") or "",
        spec.get("fieldPath") or "",
        optional_old,
    )


def compile_expression(text: str, declared: Type, *, optional_old: bool = False) -> Program:
    """Raises CompileError."""
    variables = {"self": declared, "oldSelf": types.optional_of(declared) if optional_old else declared}
    return Program(text, Environment(library.kubernetes(), variables))


def most_cost(program: Program, declared: Type) -> int:
    """What an evaluation may cost at most, as upstream estimates it."""
    return estimating.estimate(program.tree, {"self": declared, "oldSelf": declared}).most


def message(rule: Rule, bindings: dict[str, Any], limit: int) -> tuple[str, int]:
    """What to say of a broken rule, and what saying it cost. Raises CostExceeded; other failures of the
    messageExpression are as if it were not there."""
    default = rule.message or f"failed rule: {rule.program.source.strip()}"
    if rule.message_program is None:
        return default, 0
    try:
        value, cost = rule.message_program.evaluate(bindings, limit)
    except CostExceeded:
        raise
    except EvaluationError as error:
        return default, error.cost
    text = value.strip() if isinstance(value, str) else ""
    usable = bool(text) and "\n" not in text and len(text.encode()) <= MAX_MESSAGE_BYTES
    return (text if usable else default), cost
