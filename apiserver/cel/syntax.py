"""The tree of an expression. A node knows where its text stands; the checker adds its type and what it calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apiserver.cel.declarations import Overload
    from apiserver.cel.types import Type


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    position: int
    type: Type = None  # type: ignore[assignment]  # the checker sets it on every node, before anybody reads it


@dataclass(slots=True, eq=False)
class Literal(Node):
    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.name`; `operand.?name` when optional; `has(operand.name)` when it only tests.

    The checker sets `key`, the name that the data have for it, and makes an Ident of a qualified name.
    """

    operand: Node
    name: str
    optional: bool = False
    tests: bool = False
    key: str = ""


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function, method or operator (`_+_`). `target` is what a method is called on."""

    function: str
    target: Node | None
    args: list[Node]
    overloads: list[Overload] = field(default_factory=list)

    @property
    def operands(self) -> list[Node]:
        return [self.target, *self.args] if self.target is not None else self.args


@dataclass(slots=True, eq=False)
class Logic(Node):
    """`a && b && …` or `a || b || …`: one node for a chain, so that long ones do not nest."""

    function: str
    terms: list[Node]


@dataclass(slots=True, eq=False)
class Conditional(Node):
    test: Node
    then: Node
    otherwise: Node


@dataclass(slots=True, eq=False)
class ListLiteral(Node):
    items: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapLiteral(Node):
    entries: list[tuple[Node, Node, bool]]


@dataclass(slots=True, eq=False)
class ObjectLiteral(Node):
    name: str
    fields: list[tuple[str, Node, bool]]


@dataclass(slots=True, eq=False)
class Fold(Node):
    """A macro over a list or a map: `all`, `exists`, `exists_one`, `map`, `filter`, `transformList` …"""

    kind: str
    range: Node
    variables: tuple[str, ...]
    condition: Node | None
    transform: Node | None


@dataclass(slots=True, eq=False)
class Bind(Node):
    """`operand.optMap(variable, body)`; `flat` for optFlatMap."""

    operand: Node
    variable: str
    body: Node
    flat: bool
