"""Gives every node its type and every call its overloads, or says what is wrong with them in upstream's words.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#type-checking
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.cel import literals, types
from apiserver.cel.declarations import Environment, Overload
from apiserver.cel.issues import CompileError, Issue
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
from apiserver.cel.types import BOOL, DYN, ERROR, INT, Substitution, Type

TYPE_NAMES = {
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "list": Type("list", "", (DYN,)),
    "map": Type("map", "", (DYN, DYN)),
    "type": types.TYPE,
    "null_type": types.NULL,
    "optional_type": Type("optional", "", (DYN,)),
    "google.protobuf.Duration": types.DURATION,
    "google.protobuf.Timestamp": types.TIMESTAMP,
}


def check(root: Node, source: str, environment: Environment) -> Type:
    """The type of the whole. Raises CompileError."""
    checker = _Checker(environment)
    checker.visit(root)
    checker.settle(root)
    if not checker.issues:
        checker.issues += literals.issues(checker.nodes)
    if checker.issues:
        raise CompileError(source, checker.issues)
    return root.type


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._scope: list[tuple[str, Type]] = []
        self._types = Substitution()
        self._mixed = False  # whether literals may hold values of several types: only in what `format` is given
        self.issues: list[Issue] = []
        self.nodes: list[Node] = []
        self._visitors: dict[type[Node], Callable[[Any], Type]] = {
            Literal: lambda node: literals.type_of(node.value),
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

    def visit(self, node: Node) -> Type:
        node.type = self._visitors[type(node)](node)
        self.nodes.append(node)
        return node.type

    def settle(self, root: Node) -> None:
        """Puts into every type what became known after it was given."""
        for node in self.nodes:
            node.type = self._types.resolve(node.type)

    def _wrong(self, node: Node, message: str) -> Type:
        self.issues.append(Issue(node.position, message))
        return ERROR

    # Names

    def _ident(self, node: Ident) -> Type:
        found = self._named(node.name)
        return found or self._wrong(node, f"undeclared reference to '{node.name.lstrip('.')}' (in container '')")

    def _named(self, name: str) -> Type | None:
        for local, found in reversed(self._scope):
            if local == name:
                return found
        name = name.lstrip(".")
        if name in self._environment.variables:
            return self._environment.variables[name]
        if name in TYPE_NAMES:
            return Type("type", "", (TYPE_NAMES[name],))
        return None

    def _is_local(self, name: str) -> bool:
        return any(local == name for local, _ in self._scope)

    def _select(self, node: Select) -> Type:
        name = qualified(node)
        if name and not node.tests and not self._is_local(name.partition(".")[0]):
            if (variable := self._environment.variables.get(name)) is not None:
                return variable
            if name in TYPE_NAMES:
                return Type("type", "", (TYPE_NAMES[name],))
        operand = self._types.resolve(self.visit(node.operand), free=True)
        inner = operand.params[0] if operand.kind == "optional" else operand
        found = self._field(node, inner)
        if found is ERROR:
            return ERROR
        if node.tests:
            return BOOL
        if node.optional or operand.kind == "optional":
            return found if found.kind == "optional" else types.optional_of(found)
        return found

    def _field(self, node: Select, operand: Type) -> Type:
        node.key = node.name
        if operand.kind == "map":
            return operand.params[1]
        if operand.kind in ("dyn", "param", "error"):
            return DYN if operand.kind != "error" else ERROR
        if operand.kind != "object":
            return self._wrong(node, f"type '{self._types.resolve(operand)}' does not support field selection")
        field = operand.fields.get(node.name)
        if field is None:
            return self._wrong(node, f"undefined field '{node.name}'")
        node.key = field.key
        return field.type

    # Calls

    def _call(self, node: Call) -> Type:
        name = qualified(node.target) if node.target is not None else ""
        if name and not self._is_local(name) and f"{name}.{node.function}" in self._environment.library.functions:
            node.function, node.target = f"{name}.{node.function}", None
        mixed, self._mixed = self._mixed, self._mixed or node.function == "format"
        operands = [self.visit(operand) for operand in node.operands]
        self._mixed = mixed
        if ERROR in operands:
            return ERROR
        candidates = self._environment.library.functions.get(node.function)
        if candidates is None:
            return self._wrong(node, f"undeclared reference to '{node.function}' (in container '')")
        member = node.target is not None
        results = []
        for overload in candidates:
            if overload.member == member and len(overload.params) == len(operands):
                result = self._applied(overload, operands)
                if result is not None:
                    node.overloads.append(overload)
                    results.append(result)
        if not results:
            return self._mismatch(node, node.function, operands, member=member)
        first = self._types.resolve(results[0], free=True)
        return first if all(self._types.resolve(result, free=True) == first for result in results) else DYN

    def _applied(self, overload: Overload, operands: list[Type]) -> Type | None:
        *params, result = self._types.renamed((*overload.params, overload.result))
        if not self._types.assignable(list(zip(operands, params, strict=True))):
            return None
        return self._types.resolve(result, free=True)

    def _mismatch(self, node: Node, function: str, operands: list[Type], *, member: bool = False) -> Type:
        shown = [str(self._types.resolve(operand)) for operand in operands]
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
        return self._wrong(node, f"found no matching overload for '{function}' applied to '{applied}'")

    def _logic(self, node: Logic) -> Type:
        for index, term in enumerate(node.terms):
            found = self.visit(term)
            if not self._types.assignable([(found, BOOL)]):
                pair = [found, BOOL] if index == 0 else [BOOL, found]
                self._mismatch(node, node.function, pair)
        return BOOL

    def _conditional(self, node: Conditional) -> Type:
        test, then, otherwise = self.visit(node.test), self.visit(node.then), self.visit(node.otherwise)
        if not self._types.assignable([(test, BOOL), (otherwise, then)]):
            return self._mismatch(node, "_?_:_", [test, then, otherwise])
        return otherwise if then.kind == "null" else then

    # Literals

    def _list(self, node: ListLiteral) -> Type:
        item: Type | None = None
        for index, child in enumerate(node.items):
            found = self._element(child, index in node.optional)
            item = found if item is None else self._same(child, item, found)
        return types.list_of(item or self._types.fresh())

    def _map(self, node: MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        for key_node, value_node, optional in node.entries:
            found_key, found = self.visit(key_node), self._element(value_node, optional)
            key = found_key if key is None else self._same(key_node, key, found_key)
            value = found if value is None else self._same(value_node, value, found)
        return types.map_of(key or self._types.fresh(), value or self._types.fresh())

    def _element(self, node: Node, optional: bool) -> Type:
        found = self.visit(node)
        if not optional:
            return found
        resolved = self._types.resolve(found, free=True)
        if resolved.kind == "optional":
            return resolved.params[0]
        if resolved.kind != "dyn":
            self._wrong(node, f"expected type 'optional_type(dyn)' but found '{resolved}'")
        return DYN

    def _same(self, node: Node, wanted: Type, found: Type) -> Type:
        """Literals hold values of one type."""
        if DYN in (wanted, found):
            return DYN
        if not self._types.assignable([(found, wanted)]):
            if self._mixed:
                return DYN
            expected, actual = self._types.resolve(wanted), self._types.resolve(found)
            self._wrong(node, f"expected type '{expected}' but found '{actual}'")
        return found if wanted.kind == "null" else wanted

    def _object(self, node: ObjectLiteral) -> Type:
        declared = self._environment.object_type(node.name)
        if declared is None:
            return self._wrong(node, f"undeclared reference to '{node.name}' (in container '')")
        for name, value, optional in node.fields:
            found = self._element(value, optional)
            field = declared.fields.get(name) or declared.fields.get("*")
            if field is None:
                self._wrong(value, f"undefined field '{name}'")
            elif not self._types.assignable([(found, field.type)]):
                self._wrong(value, f"expected type of field '{name}' is '{field.type}' but provided type is '{found}'")
        return declared

    # Macros

    def _fold(self, node: Fold) -> Type:
        ranged = self._types.resolve(self.visit(node.range), free=True)
        variables = self._variables(node, ranged)
        self._scope += zip(node.variables, variables, strict=True)
        if node.condition is not None:
            self._condition(node, self.visit(node.condition))
        transformed = self.visit(node.transform) if node.transform is not None else DYN
        del self._scope[-len(variables) :]
        if node.kind == "filter":
            return types.list_of(variables[0])
        if node.kind in ("map", "transformList"):
            return types.list_of(transformed)
        if node.kind == "transformMap":
            return types.map_of(variables[0], transformed)
        return transformed if node.kind == "transformMapEntry" else BOOL

    def _variables(self, node: Fold, ranged: Type) -> list[Type]:
        if ranged.kind == "list":
            every = [INT, ranged.params[0]]
        elif ranged.kind == "map":
            every = list(ranged.params)
        elif ranged.kind in ("dyn", "param", "error"):
            every = [DYN, DYN]
        else:
            message = (
                f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
            )
            self._wrong(node.range, message)
            every = [ERROR, ERROR]
        if len(node.variables) == 2:
            return every
        return [every[0] if ranged.kind == "map" else every[1]]

    def _condition(self, node: Fold, found: Type) -> None:
        if self._types.assignable([(found, BOOL)]):
            return
        function = {"all": "_&&_", "exists": "_||_"}.get(node.kind)
        if function is not None:
            self._mismatch(node, function, [BOOL, found])
            return
        result = INT if node.kind == "exists_one" else types.list_of(DYN)
        self._mismatch(node, "_?_:_", [found, result, result])

    def _bind(self, node: Bind) -> Type:
        operand = self._types.resolve(self.visit(node.operand), free=True)
        if operand.kind not in ("optional", "dyn", "error"):
            self._mismatch(node, "hasValue", [operand], member=True)
        self._scope.append((node.variable, operand.params[0] if operand.kind == "optional" else DYN))
        body = self.visit(node.body)
        self._scope.pop()
        if not node.flat:
            return types.optional_of(body)
        return body if body.kind == "optional" else DYN


def qualified(node: Node | None) -> str:
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.optional and not node.tests and (before := qualified(node.operand)):
        return f"{before}.{node.name}"
    return ""
