"""Semantic versions. Source: https://semver.org/spec/v2.0.0.html"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs

TYPE = "kubernetes.Semver"
_NUMBER = r"(0|[1-9]\d*)"
_LABEL = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_STRICT = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_LABEL}(?:\.{_LABEL})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_LOOSE = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?((?:[-+].*)?)", re.ASCII)


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    numbers: tuple[int, int, int]
    labels: tuple[str, ...]
    cel_type = TYPE

    @property
    def _key(self) -> tuple[Any, ...]:
        # A release is after its pre-releases; numbers are before words
        labels = tuple((0, int(label), "") if label.isdecimal() else (1, 0, label) for label in self.labels)
        return (self.numbers, not labels, labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._key == other._key

    def __lt__(self, other: Semver) -> bool:
        return bool(self._key < other._key)

    def __hash__(self) -> int:
        return hash(self._key)


def _read(text: str, normalize: bool = False) -> Semver:
    match = _STRICT.fullmatch(_normalized(text) if normalize else text)
    if match is None:
        raise EvaluationError(f"failed to convert string to semver: {_reason(text)}")
    major, minor, patch, labels, _ = match.groups()
    return Semver((int(major), int(minor), int(patch)), tuple(labels.split(".")) if labels else ())


def _normalized(text: str) -> str:
    match = _LOOSE.fullmatch(text)
    if match is None:
        return text
    major, minor, patch, rest = match.groups()
    return f"{int(major)}.{int(minor or 0)}.{int(patch or 0)}{rest}"


def _reason(text: str) -> str:
    if not text:
        return "Version string empty"
    if text.count(".") < 2:
        return "No Major.Minor.Patch elements found"
    return f'Invalid character(s) found in version "{text}"'


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _read(text, normalize)
    except EvaluationError:
        return False
    return True


LIBRARY = Library()
for params in ("string", "string, bool"):
    LIBRARY.function(f"semver({params}) -> {TYPE}", _read, costs.traversal())
    LIBRARY.function(f"isSemver({params}) -> bool", _is_semver, costs.traversal())
for index, name in enumerate(("major", "minor", "patch")):
    LIBRARY.method(f"{name}({TYPE}) -> int", lambda version, index=index: version.numbers[index])
LIBRARY.method(f"isGreaterThan({TYPE}, {TYPE}) -> bool", lambda one, other: one > other)
LIBRARY.method(f"isLessThan({TYPE}, {TYPE}) -> bool", lambda one, other: one < other)
LIBRARY.method(f"compareTo({TYPE}, {TYPE}) -> int", lambda one, other: (one > other) - (one < other))
