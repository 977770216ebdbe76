"""Calls that are no calls: `has`, and those whose arguments are evaluated once for each element."""

from __future__ import annotations

from apiserver.cel.syntax import Bind, Fold, Ident, Node, Select

_PREDICATES = {"all": "all", "exists": "exists", "exists_one": "exists_one", "existsOne": "exists_one"}
_TRANSFORMS = {"transformList", "transformMap", "transformMapEntry"}
_BINDS = {"optMap": False, "optFlatMap": True}


class MacroError(ValueError):
    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


def expand(name: str, target: Node | None, args: list[Node], position: int) -> Node | None:
    """The node that a call stands for; None when it is an ordinary call. Raises MacroError."""
    if target is None:
        return _has(args, position) if name == "has" and len(args) == 1 else None
    if name in _BINDS and len(args) == 2:
        return Bind(target, _variable(args[0]), args[1], _BINDS[name], position=position)
    if name in _PREDICATES and len(args) in (2, 3):
        return Fold(_PREDICATES[name], target, _variables(args[:-1]), args[-1], None, position=position)
    if name == "filter" and len(args) == 2:
        return Fold("filter", target, _variables(args[:1]), args[1], None, position=position)
    if name == "map" and len(args) in (2, 3):
        condition = args[1] if len(args) == 3 else None
        return Fold("map", target, _variables(args[:1]), condition, args[-1], position=position)
    if name in _TRANSFORMS and len(args) in (3, 4):
        condition = args[2] if len(args) == 4 else None
        return Fold(name, target, _variables(args[:2]), condition, args[-1], position=position)
    return None


def _has(args: list[Node], position: int) -> Node:
    field = args[0]
    if not isinstance(field, Select) or field.optional:
        raise MacroError(field.position, "invalid argument to has() macro")
    return Select(field.operand, field.name, tests=True, position=position)


def _variables(args: list[Node]) -> tuple[str, ...]:
    return tuple(_variable(arg) for arg in args)


def _variable(node: Node) -> str:
    if not isinstance(node, Ident) or node.name.startswith("."):
        raise MacroError(node.position, "argument must be a simple name")
    return node.name
