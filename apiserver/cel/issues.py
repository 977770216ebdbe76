"""What is wrong with an expression, in the words and the layout that users of Kubernetes know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Issue:
    position: int
    message: str


class CompileError(ValueError):
    """The text is no valid expression. `str()` shows each issue with its line and a mark under it."""

    def __init__(self, source: str, issues: Iterable[Issue]) -> None:
        self.issues = sorted(set(issues))
        super().__init__("\n".join(_shown(source, issue) for issue in self.issues))


class EvaluationError(ValueError):
    """The expression has no value for this input. `cost` is what it had cost until then."""

    cost: int = 0


class CostExceeded(EvaluationError):
    """The evaluation was ended because it cost more than it may."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def _shown(source: str, issue: Issue) -> str:
    before = source[: issue.position]
    line, column = before.count("\n") + 1, issue.position - (before.rfind("\n") + 1)
    text = (source.split("\n")[line - 1] if source else "").replace("\t", " ")
    return f"ERROR: <input>:{line}:{column + 1}: {issue.message}\n | {text}\n | {'.' * column}^"
