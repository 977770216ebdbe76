"""What an expression may call, and the environment it is read in.

An overload is declared by its signature as text (`sets.contains(list(A), list(A)) -> bool`)
beside the function that does it: one line says all that checker, evaluator and cost need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver.cel import types
from apiserver.cel.types import Type

Cost = Callable[[tuple[Any, ...], Any], int]
"""What a call cost, of its arguments and its result."""

_SCALARS = {each.kind: each for each in (
    types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES,
    types.DURATION, types.TIMESTAMP, types.NULL, types.DYN, types.TYPE,
)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Overload:
    function: str
    member: bool
    params: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]
    cost: Cost | None = None  # None: one unit

    def __str__(self) -> str:
        params = ", ".join(map(str, self.params))
        return f"{self.function}({params}) -> {self.result}"


class Library:
    """Functions by name, each with its overloads in the order of their declaration."""

    def __init__(self, *parts: Library) -> None:
        self.functions: dict[str, list[Overload]] = {}
        for part in parts:
            for name, overloads in part.functions.items():
                self.functions.setdefault(name, []).extend(overloads)

    def method(self, signature: str, call: Callable[..., Any], cost: Cost | None = None) -> None:
        """`name(target, …) -> result`, called as `target.name(…)`."""
        self._add(signature, call, cost, member=True)

    def function(self, signature: str, call: Callable[..., Any], cost: Cost | None = None) -> None:
        self._add(signature, call, cost, member=False)

    def _add(self, signature: str, call: Callable[..., Any], cost: Cost | None, *, member: bool) -> None:
        head, result = signature.rsplit(" -> ", 1)
        name, params = head[:-1].split("(", 1)
        overload = Overload(name, member, _types(params), _type(result), call, cost)
        self.functions.setdefault(name, []).append(overload)


@dataclass(frozen=True)
class Environment:
    """The names that an expression may use. `object_type` gives the types that it may build, by name."""

    library: Library
    variables: Mapping[str, Type] = field(default_factory=dict)
    object_type: Callable[[str], Type | None] = lambda name: None


def _types(text: str) -> tuple[Type, ...]:
    """Types with commas between them, at the top level of parentheses."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return tuple(_type(part) for part in [*parts, text[start:]] if part.strip())


def _type(text: str) -> Type:
    text = text.strip()
    if text in _SCALARS:
        return _SCALARS[text]
    if len(text) == 1:
        return Type("param", text)
    head, bracket, rest = text.partition("(")
    if bracket:
        return Type("optional" if head == "optional_type" else head, "", _types(rest[:-1]))
    return types.opaque(text)
