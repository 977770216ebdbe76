"""The least and the most that a checked expression can cost, before any value is known.

As upstream estimates: what the schema bounds counts with its bound, what nothing bounds counts as unbounded. A size is
known for what is reached from a variable by fields, elements and keys, for literals, and for what few functions make.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#resource-use-by-validation-functions
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apiserver.cel.library.authorization import CHECK_COST
from apiserver.cel.library.costs import LIST_COST, MAP_COST, OBJECT_COST, PER_PATTERN, TRAVERSAL
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
from apiserver.cel.types import UNBOUNDED, Type

_SIZED = frozenset({"string", "bytes", "list", "map", "dyn"})


@dataclass(frozen=True, slots=True)
class Range:
    """From `least` to `most`; UNBOUNDED is the most that there is."""

    least: int
    most: int

    def __add__(self, other: Range) -> Range:
        return Range(_cap(self.least + other.least), _cap(self.most + other.most))

    def __mul__(self, other: Range) -> Range:
        return Range(_cap(self.least * other.least), _cap(self.most * other.most))

    def __or__(self, other: Range) -> Range:
        return Range(min(self.least, other.least), max(self.most, other.most))

    def scaled(self, factor: float) -> Range:
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))


def _cap(value: int) -> int:
    return min(value, UNBOUNDED)


def _scaled(value: int, factor: float) -> int:
    return UNBOUNDED if value >= UNBOUNDED else math.ceil(value * factor)


ZERO, ONE = Range(0, 0), Range(1, 1)
_ANY = Range(0, UNBOUNDED)


@dataclass(frozen=True, slots=True)
class _Estimate:
    """`declared` is the type that the schema gives to the value; None for one that was computed."""

    cost: Range
    size: Range | None = None
    declared: Type | None = None


def estimate(tree: Node, variables: dict[str, Type]) -> Range:
    """What evaluating the tree costs. `variables` are those whose types have bounds."""
    return _Estimator(variables).visit(tree).cost


class _Estimator:
    def __init__(self, variables: dict[str, Type]) -> None:
        self._scope = {name: _Estimate(ONE, declared=found) for name, found in variables.items()}
        self._visitors: dict[type[Node], Callable[[Any], _Estimate]] = {
            Literal: lambda node: _Estimate(ZERO, _literal_size(node.value)),
            Ident: lambda node: self._scope.get(node.name, _Estimate(ONE)),
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

    def visit(self, node: Node) -> _Estimate:
        return self._visitors[type(node)](node)

    def size(self, node: Node, found: _Estimate) -> Range:
        if found.size is not None:
            return found.size
        if found.declared is not None and found.declared.kind in _SIZED:
            return Range(0, found.declared.max_size)
        return ONE if node.type.kind not in _SIZED else _ANY

    def _select(self, node: Select) -> _Estimate:
        operand = self.visit(node.operand)
        declared = operand.declared
        if declared is not None:
            field = declared.fields.get(node.name)
            declared = field.type if field is not None else _element(declared)
        return _Estimate(operand.cost + ONE, declared=None if node.tests else declared)

    def _call(self, node: Call) -> _Estimate:
        operands = [self.visit(operand) for operand in node.operands]
        sizes = [self.size(operand, found) for operand, found in zip(node.operands, operands, strict=True)]
        total = sum((found.cost for found in operands), ZERO)
        if node.function in ("_[_]", "_[?_]"):
            return _Estimate(total + ONE, declared=_element(operands[0].declared))
        own, size = _call_cost(node, sizes, operands)
        return _Estimate(total + own, size)

    def _logic(self, node: Logic) -> _Estimate:
        costs = [self.visit(term).cost for term in node.terms]
        return _Estimate(Range(costs[0].least, sum(costs, ZERO).most))

    def _conditional(self, node: Conditional) -> _Estimate:
        test, then, otherwise = self.visit(node.test), self.visit(node.then), self.visit(node.otherwise)
        size = self.size(node.then, then) | self.size(node.otherwise, otherwise)
        return _Estimate(test.cost + (then.cost | otherwise.cost), size)

    def _list(self, node: ListLiteral) -> _Estimate:
        cost = sum((self.visit(item).cost for item in node.items), Range(LIST_COST, LIST_COST))
        return _Estimate(cost, Range(len(node.items), len(node.items)))

    def _map(self, node: MapLiteral) -> _Estimate:
        cost = Range(MAP_COST, MAP_COST)
        for key, value, _ in node.entries:
            cost = cost + self.visit(key).cost + self.visit(value).cost
        return _Estimate(cost, Range(len(node.entries), len(node.entries)))

    def _object(self, node: ObjectLiteral) -> _Estimate:
        values = (self.visit(value).cost for _, value, _ in node.fields)
        return _Estimate(sum(values, Range(OBJECT_COST, OBJECT_COST)))

    def _fold(self, node: Fold) -> _Estimate:
        ranged = self.visit(node.range)
        count = self.size(node.range, ranged)
        before = dict(self._scope)
        self._scope.update(zip(node.variables, self._variables(node, ranged), strict=True))
        condition = self.visit(node.condition).cost if node.condition is not None else ZERO
        transform = self.visit(node.transform).cost if node.transform is not None else ONE
        self._scope = before
        start, step, result = _loop(node.kind, condition, transform)
        size = Range(0, count.most) if node.kind not in ("all", "exists", "exists_one") else None
        same = ranged.declared if node.kind == "filter" else None  # what is left are elements of before
        return _Estimate(ranged.cost + start + count * step + result, size, same)

    def _variables(self, node: Fold, ranged: _Estimate) -> list[_Estimate]:
        declared = ranged.declared
        if declared is None or declared.kind not in ("list", "map"):
            every = [_Estimate(ONE), _Estimate(ONE)]
        elif declared.kind == "list":
            every = [_Estimate(ONE), _Estimate(ONE, declared=declared.params[0])]
        else:
            every = [_Estimate(ONE, declared=param) for param in declared.params]
        if len(node.variables) == 2:
            return every
        return [every[0] if node.range.type.kind == "map" else every[1]]

    def _bind(self, node: Bind) -> _Estimate:
        operand = self.visit(node.operand)
        before = dict(self._scope)
        self._scope[node.variable] = _Estimate(ONE, declared=operand.declared)
        body = self.visit(node.body)
        self._scope = before
        return _Estimate(operand.cost + operand.cost + Range(1, 3) + Range(0, body.cost.most))


def _element(declared: Type | None) -> Type | None:
    if declared is None or declared.kind not in ("list", "map"):
        return None
    return declared.params[-1]


def _literal_size(value: Any) -> Range:
    return Range(len(value), len(value)) if isinstance(value, str | bytes) else ONE


def _loop(kind: str, condition: Range, transform: Range) -> tuple[Range, Range, Range]:
    """What the loop of a macro costs: before it, for each element, after it."""
    append = Range(LIST_COST + 2, LIST_COST + 2)
    if kind == "all":
        return ZERO, Range(2, 2) + Range(1, _cap(1 + condition.most)), ONE
    if kind == "exists":
        return ZERO, Range(3, 3) + Range(1, _cap(1 + condition.most)), ONE
    if kind == "exists_one":
        return ZERO, condition + Range(1, 2), Range(2, 2)
    if kind in ("transformMap", "transformMapEntry"):
        return Range(MAP_COST, MAP_COST), condition + Range(1, _cap(transform.most + 3)), ONE
    added = transform + append
    step = condition + (ONE | added) if condition != ZERO else added
    return Range(LIST_COST, LIST_COST), step, ONE


_LINEAR = {
    **dict.fromkeys(
        ("url", "isURL", "ip", "isIP", "cidr", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), 1
    ),
    **dict.fromkeys(("bytes", "format", "ip.isCanonical"), 1),
}
_RESHAPING = {"lowerAscii": 1, "upperAscii": 1, "substring": 1, "trim": 1, "replace": 2, "split": 2}
_LIST_READERS = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_COMPARISONS = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})


def _call_cost(node: Call, sizes: list[Range], operands: list[_Estimate]) -> tuple[Range, Range | None]:
    """What a call costs beside its operands, and the size of what it gives where that is known."""
    name = node.function
    if name in ("startsWith", "endsWith"):
        return sizes[1].scaled(TRAVERSAL), None
    if name == "contains":
        return sizes[0].scaled(TRAVERSAL) * sizes[1].scaled(TRAVERSAL), None
    if name in ("matches", "find", "findAll"):
        cost = (sizes[0] + ONE).scaled(TRAVERSAL) * sizes[1].scaled(PER_PATTERN)
        return cost, None if name == "matches" else Range(0, sizes[0].most)
    if name == "@in":
        return (sizes[1] if node.args[1].type.kind == "list" else ONE), None
    if name in _COMPARISONS:
        smaller = Range(min(size.least for size in sizes), min(size.most for size in sizes))
        return smaller.scaled(TRAVERSAL), None
    if name == "_+_":
        both = sizes[0] + sizes[1]
        return (both.scaled(TRAVERSAL) if node.type.kind in ("string", "bytes") else ONE), both
    if name in _RESHAPING:
        return sizes[0].scaled(_RESHAPING[name] * TRAVERSAL), _reshaped(name, sizes)
    if name == "join":
        return _joined(sizes, operands[0])
    if name in _LIST_READERS:
        return _reads_list(node, sizes, operands[0]), None
    if name in ("sets.contains", "sets.equivalent", "sets.intersects"):
        return sizes[0] * sizes[1] + ONE, None
    if name == "check":
        return Range(CHECK_COST, CHECK_COST), None
    if name in _LINEAR and node.operands and node.operands[0].type.kind in ("string", "bytes", "dyn"):
        return sizes[0].scaled(TRAVERSAL * _LINEAR[name]), None
    return ONE, None


def _reshaped(name: str, sizes: list[Range]) -> Range:
    if name != "replace":
        return sizes[0] if name != "split" else Range(0, sizes[0].most)
    old, new = sizes[1], sizes[2]
    if old.least == 0:
        return Range(0, _cap((sizes[0].most + 1) * new.most + sizes[0].most))
    if new.most <= old.least:
        return Range(0, sizes[0].most)
    return Range(0, _cap(math.ceil(sizes[0].most / old.least) * new.most))


def _joined(sizes: list[Range], operand: _Estimate) -> tuple[Range, Range]:
    item = _element(operand.declared)
    result = sizes[0] * Range(0, item.max_size) if item is not None else _ANY
    if len(sizes) > 1:
        gaps = Range(max(sizes[0].least - 1, 0), max(sizes[0].most - 1, 0))
        result = result + sizes[1] * gaps
    return result.scaled(TRAVERSAL), result


def _reads_list(node: Call, sizes: list[Range], operand: _Estimate) -> Range:
    type_ = node.operands[0].type
    if type_.kind != "list":
        return sizes[0].scaled(TRAVERSAL)
    item = _element(operand.declared)
    if type_.params[0].kind in ("string", "bytes"):
        each = Range(0, item.max_size if item is not None else UNBOUNDED)
        return sizes[0] * (ONE + each.scaled(TRAVERSAL))
    return sizes[0]
