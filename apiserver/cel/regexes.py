"""Regular expressions, by the engine (RE2) whose syntax Go's is: linear in time, whatever the pattern.

Texts go in as UTF-8: given as `str`, the binding converts offsets both ways, at three times the price.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from apiserver.cel.issues import EvaluationError


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """Raises EvaluationError."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        what, _, where = reason.partition(": ")
        raise EvaluationError(f"error parsing regexp: {what}: `{where}`") from error


def matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text.encode()) is not None


def find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text.encode())
    return found.group().decode() if found is not None else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = []
    for match in compiled(pattern).finditer(text.encode()) if limit else ():
        found.append(match.group().decode())
        if len(found) == limit:
            break
    return found
