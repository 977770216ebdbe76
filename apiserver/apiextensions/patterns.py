"""Patterns of schemas, by the engine (RE2) whose syntax Go's is: linear in time, whatever a user writes."""

from __future__ import annotations

from apiserver.cel import regexes
from apiserver.cel.issues import EvaluationError


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text."""
    return regexes.matches(text, pattern)


def problem(pattern: str) -> str:
    """Why Go would not compile the pattern; "" when it would."""
    try:
        regexes.compiled(pattern)
    except EvaluationError as error:
        return str(error)
    return ""
