"""A checked tree to nested Python functions, each of which takes a frame and gives a value.

Costs are counted as upstream counts them at run time: one unit for a name, a selection or a call, more for calls
that read long values; ten for a list that is built and thirty for a map; literals are free. `&&` and `||` are not
disturbed by an error on one side when the other decides.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#resource-use-by-validation-functions
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.cel import checking, folding, steps, values
from apiserver.cel.checking import TYPE_NAMES
from apiserver.cel.frames import Frame, Run
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library.costs import LIST_COST, MAP_COST, OBJECT_COST
from apiserver.cel.syntax import (
    Bind,
    Call,
    Conditional,
    Fold,
    Ident,
    ListLiteral,
    Literal,
    Logic,
    MapLiteral,
    Node,
    ObjectLiteral,
    Select,
)
from apiserver.cel.values import NONE, Optional, TypeValue, some

_SCALARS = frozenset({str, bool, int, values.Uint, float})
_TYPE_VALUES = {name: TypeValue(name) for name in TYPE_NAMES}


class Compiler:
    """Compiles one tree. `slots` says where in a frame each variable stands."""

    def __init__(self, variables: list[str]) -> None:
        self.slots = {name: index for index, name in enumerate(variables)}
        self.size = len(variables)
        self.used: set[str] = set()
        self._globals = set(variables)
        self._compilers: dict[type[Node], Callable[[Any], Run]] = {
            Literal: _literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            Logic: self._logic,
            Conditional: self._conditional,
            ListLiteral: self._list,
            MapLiteral: self._map,
            ObjectLiteral: self._object,
            Fold: self._fold,
            Bind: self._bind,
        }

    def compile(self, node: Node) -> Run:
        return self._compilers[type(node)](node)

    def scoped(self, names: tuple[str, ...]) -> tuple[list[int], dict[str, int]]:
        """New places for local variables; and how the names stood before, to go back to."""
        before = dict(self.slots)
        places = list(range(self.size, self.size + len(names)))
        self.size += len(names)
        self.slots.update(zip(names, places, strict=True))
        return places, before

    def _ident(self, node: Ident) -> Run:
        return self._named(node.name.lstrip("."))

    def _named(self, name: str) -> Run:
        """A variable (whose name may have dots), or a type's name."""
        if name not in self.slots:
            return _constant(_TYPE_VALUES[name])
        slot = self.slots[name]
        if slot < len(self._globals):
            self.used.add(name)

        def run(frame: Frame) -> Any:
            frame.cost += 1
            value = frame.values[slot]
            return value if type(value) is not steps.Deferred else value.get(frame)

        return run

    def _select(self, node: Select) -> Run:
        if not node.key:
            return self._named(checking.qualified(node))
        if node.tests:
            return steps.presence(self.compile(node.operand), node.key, nulls=node.operand.type.kind != "object")
        if node.optional or node.operand.type.kind in ("optional", "dyn"):
            return steps.optional_field(self.compile(node.operand), node.key, wraps=node.optional)
        return self._path(node)

    def _path(self, node: Select) -> Run:
        """A chain of plain selections at once: by far the commonest thing in rules."""
        keys = [node.key]
        operand = node.operand
        while _is_plain(operand):
            keys.insert(0, operand.key)  # type: ignore[attr-defined]  # a plain selection is a Select
            operand = operand.operand  # type: ignore[attr-defined]
        start, cost, path = self.compile(operand), len(keys), tuple(keys)

        def run(frame: Frame) -> Any:
            value = start(frame)
            frame.cost += cost
            for key in path:
                try:
                    value = value[key]
                except (KeyError, TypeError, IndexError):
                    raise steps.missing(value, key) from None
            return value

        return run

    def _call(self, node: Call) -> Run:
        if node.function == "@in" and (wanted := _constants(node.args[1])) is not None:
            return _membership(self.compile(node.args[0]), wanted)
        operands = [self.compile(operand) for operand in node.operands]
        if node.function in ("_[_]", "_[?_]"):
            return steps.apply(node.overloads[0].call, None, operands)
        if len(node.overloads) == 1 and all(operand.type.kind != "dyn" for operand in node.operands):
            return steps.apply(node.overloads[0].call, node.overloads[0].cost, operands)
        return steps.dispatched(node.overloads, operands)

    def _logic(self, node: Logic) -> Run:
        terms = [self.compile(term) for term in node.terms]
        decisive = node.function == "_||_"

        def run(frame: Frame) -> bool:
            error: EvaluationError | None = None
            for term in terms:
                try:
                    value = term(frame)
                except EvaluationError as failed:
                    if frame.exhausted:
                        raise
                    error = error or failed
                    continue
                if value is decisive:
                    return bool(decisive)
                if type(value) is not bool:
                    error = error or steps.no_such_overload()
            if error is not None:
                raise error
            return not decisive

        return run

    def _conditional(self, node: Conditional) -> Run:
        test, then, otherwise = self.compile(node.test), self.compile(node.then), self.compile(node.otherwise)

        def run(frame: Frame) -> Any:
            decided = test(frame)
            if decided is True:
                return then(frame)
            if decided is False:
                return otherwise(frame)
            raise steps.no_such_overload()

        return run

    def _list(self, node: ListLiteral) -> Run:
        constants = _constants(node)
        if constants is not None:
            return _constant(constants)
        items = [(self.compile(item), index in node.optional) for index, item in enumerate(node.items)]

        def run(frame: Frame) -> list[Any]:
            built: list[Any] = []
            for item, optional in items:
                steps.append(built, item(frame), optional)
            frame.cost += LIST_COST
            return built

        return run

    def _map(self, node: MapLiteral) -> Run:
        entries = [(self.compile(key), self.compile(value), optional) for key, value, optional in node.entries]

        def run(frame: Frame) -> dict[Any, Any]:
            built: dict[Any, Any] = {}
            for key, value, optional in entries:
                name = key(frame)
                if name in built:
                    raise EvaluationError(f"insert failed: key {name} already exists")
                steps.put(built, name, value(frame), optional)
            frame.cost += MAP_COST
            return built

        return run

    def _object(self, node: ObjectLiteral) -> Run:
        fields = [(name, self.compile(value), optional) for name, value, optional in node.fields]

        def run(frame: Frame) -> Any:
            built: dict[Any, Any] = {}
            for name, value, optional in fields:
                steps.put(built, name, value(frame), optional)
            frame.cost += OBJECT_COST
            return built

        return run

    def _fold(self, node: Fold) -> Run:
        ranged = self.compile(node.range)
        places, before = self.scoped(node.variables)
        condition = self.compile(node.condition) if node.condition is not None else None
        transform = self.compile(node.transform) if node.transform is not None else None
        self.slots = before
        return folding.fold(node.kind, ranged, places, condition, transform)

    def _bind(self, node: Bind) -> Run:
        operand = self.compile(node.operand)
        (place,), before = self.scoped((node.variable,))
        body = self.compile(node.body)
        self.slots = before
        flat = node.flat

        def run(frame: Frame) -> Any:
            found = operand(frame)
            if type(found) is not Optional:
                raise steps.no_such_overload()
            frame.cost += 1
            if not found.present:
                return NONE
            frame.values[place] = found.value
            value = body(frame)
            return value if flat else some(value)

        return run


def _literal(node: Literal) -> Run:
    return _constant(node.value)


def _constant(value: Any) -> Run:
    return lambda frame: value


def _constants(node: Node) -> list[Any] | None:
    """The values of a list of nothing but scalar literals."""
    if not isinstance(node, ListLiteral) or node.optional:
        return None
    found = [item.value for item in node.items if isinstance(item, Literal) and type(item.value) in _SCALARS]
    return found if len(found) == len(node.items) else None


def _membership(operand: Run, wanted: list[Any]) -> Run:
    texts = frozenset(wanted) if all(type(item) is str for item in wanted) else None

    def run(frame: Frame) -> bool:
        value = operand(frame)
        if texts is not None and type(value) is str:
            return value in texts
        return values.contains(wanted, value)

    return run


def _is_plain(node: Node) -> bool:
    return (
        isinstance(node, Select)
        and not node.optional
        and not node.tests
        and bool(node.key)
        and node.operand.type.kind not in ("optional", "dyn")
    )
