"""The rules of a schema run on an object.

Old values are found by the same path; elements of lists only in those of keys, since others cannot be told. A rule
that an unchanged value breaks does not stand in the way of an update (upstream's ratcheting), but is warned of. All
rules of an object share one budget, as upstream's do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.apiextensions.rules import has_rules
from apiserver.apiextensions.structural import EMBEDDED, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, VALIDATIONS, Schema
from apiserver.cel import rules, schematypes
from apiserver.cel.issues import CompileError, CostExceeded, EvaluationError
from apiserver.cel.programs import CALL_LIMIT
from apiserver.cel.rules import ABSENT, Rule
from apiserver.cel.types import Type
from apiserver.cel.values import equal
from apiserver.registry.validation import causes

OBJECT_BUDGET = 10_000_000
"""Units that all rules of one object may cost together: upstream's RuntimeCELCostBudget, about a second there."""


class Runner:
    """The rules of one version of a definition, compiled."""

    def __init__(self, schema: Schema) -> None:
        self._root = _Node(schema, schema, schematypes.declared(schema, is_resource=True))

    def check(self, new: Object, old: Object | None, warnings: list[str] | None = None) -> list[Cause]:
        """What rules say against `new`; `old` is what it was before. What is said of unchanged parts goes to
        `warnings`."""
        run = _Run(warnings if warnings is not None else [])
        before = ABSENT if old is None else old
        with contextlib.suppress(_Exhausted):
            run.visit(self._root, "", new, before, unchanged=_Unchanged(new, before))
        return run.found


class _Node:
    """Where the schema has rules, here or below. `rules_of` holds them: the node's own schema, or an `allOf`."""

    def __init__(self, rules_of: Schema, schema: Schema, declared: Type | None) -> None:
        self.type: str = schema.get("type") or ""
        self.keys = tuple(schema.get(LIST_MAP_KEYS) or ()) if schema.get(LIST_TYPE) == "map" else ()
        self.correlates = schema.get(MAP_TYPE) != "atomic"
        self.convert = schematypes.converter(declared) if declared is not None else None
        self.failure = ""
        self.rules = self._compiled(rules_of, declared)
        self.properties = dict(_properties(rules_of, schema, declared))
        self.items = _below(rules_of, schema, "items", declared)
        self.additional = _below(rules_of, schema, "additionalProperties", declared)
        self.all_of = [_Node(part, schema, declared) for part in rules_of.get("allOf") or () if has_rules(part)]

    def _compiled(self, rules_of: Schema, declared: Type | None) -> list[Rule]:
        if declared is None:
            return []
        try:
            return [rules.compile_rule(spec, declared) for spec in rules_of.get(VALIDATIONS) or ()]
        except CompileError as error:  # refused at the definition's write; what is stored may be older than the check
            self.failure = f"rule compile error: compilation failed: {error}"
            return []


def _properties(rules_of: Schema, schema: Schema, declared: Type | None) -> Iterator[tuple[str, _Node]]:
    for name, part in (rules_of.get("properties") or {}).items():
        field = (schema.get("properties") or {}).get(name)
        if field is not None and has_rules(part):
            found = declared.fields.get(schematypes.escaped(name) or "") if declared is not None else None
            type_ = (
                found.type if found is not None else schematypes.declared(field, is_resource=bool(field.get(EMBEDDED)))
            )
            yield name, _Node(part, field, type_)


def _below(rules_of: Schema, schema: Schema, key: str, declared: Type | None) -> _Node | None:
    part, field = rules_of.get(key), schema.get(key)
    if not isinstance(part, dict) or not isinstance(field, dict) or not has_rules(part):
        return None
    of_elements = declared is not None and declared.kind in ("list", "map")
    type_ = declared.params[-1] if declared is not None and of_elements else schematypes.declared(field)
    return _Node(part, field, type_)


class _Exhausted(Exception):
    """No further rules are run."""


class _Unchanged:
    """Whether the nearest part that has an old value is as it was; compared when it is first asked."""

    def __init__(self, new: Any, old: Any) -> None:
        self._pair = (new, old)

    @cached_property
    def yes(self) -> bool:
        new, old = self._pair
        return old is not ABSENT and equal(new, old)


class _Run:
    """One check of one object."""

    def __init__(self, warnings: list[str]) -> None:
        self.found: list[Cause] = []
        self._warnings = warnings
        self._budget = OBJECT_BUDGET

    def visit(self, node: _Node, path: str, new: Any, old: Any, *, unchanged: _Unchanged) -> None:
        if new is None:
            return
        old = ABSENT if old is None else old
        self._rules(node, path, new, old, unchanged)
        for part in node.all_of:
            self.visit(part, path, new, old, unchanged=unchanged)
        if isinstance(new, dict):
            self._map(node, path, new, old, unchanged)
        elif isinstance(new, list) and node.items is not None:
            self._list(node, node.items, path, new, old, unchanged)

    def _map(self, node: _Node, path: str, new: Object, old: Any, unchanged: _Unchanged) -> None:
        before = old if isinstance(old, dict) and node.correlates else {}
        for name, value in new.items():
            below = node.properties.get(name)
            where = f"{path}.{name}" if path else name
            if below is None:
                below, where = node.additional, f"{path}[{name}]"
            if below is not None:
                self._child(below, where, value, before.get(name), unchanged)

    def _list(self, node: _Node, items: _Node, path: str, new: list[Any], old: Any, unchanged: _Unchanged) -> None:
        before = {_key(node, item): item for item in old} if node.keys and isinstance(old, list) else {}
        for index, item in enumerate(new):
            self._child(items, f"{path}[{index}]", item, before.get(_key(node, item)), unchanged)

    def _child(self, node: _Node, path: str, new: Any, old: Any, unchanged: _Unchanged) -> None:
        old = ABSENT if old is None else old
        self.visit(node, path, new, old, unchanged=unchanged if old is ABSENT else _Unchanged(new, old))

    def _rules(self, node: _Node, path: str, new: Any, old: Any, unchanged: _Unchanged) -> None:
        if node.failure:
            self._wrong(node, path, node.failure)
        if not node.rules:
            return
        try:
            value = node.convert(new) if node.convert else new
            before = node.convert(old) if node.convert and old is not ABSENT else old
        except EvaluationError as error:
            self._wrong(node, path, f"{error} evaluating rule: {node.rules[0].shown}")
            return
        for rule in node.rules:
            if rule.applies(before):
                self._rule(node, rule, path, rule.bindings(value, before), unchanged)

    def _rule(self, node: _Node, rule: Rule, path: str, bindings: dict[str, Any], unchanged: _Unchanged) -> None:
        try:
            verdict, cost = rule.program.evaluate(bindings)
        except CostExceeded as error:
            self._spend(node, path, error.cost)
            text = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._wrong(node, path, f"'{error}': {text}: {rule.shown}")
            raise _Exhausted from error
        except EvaluationError as error:
            self._spend(node, path, error.cost)
            self._wrong(node, path, _failed(rule, error))
            return
        self._spend(node, path, cost)
        if verdict is not True:
            self._broken(node, rule, path, bindings, unchanged)

    def _spend(self, node: _Node, path: str, cost: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            text = "validation failed due to running out of cost budget, no further validation rules will be run"
            self._wrong(node, path, text)
            raise _Exhausted

    def _broken(self, node: _Node, rule: Rule, path: str, bindings: dict[str, Any], unchanged: _Unchanged) -> None:
        where = path + (rule.field_path if path else rule.field_path.removeprefix("."))
        try:
            detail, cost = rules.message(rule, bindings, min(self._budget, CALL_LIMIT))
        except CostExceeded as error:
            text = "messageExpression evaluation failed due to running out of cost budget"
            self._wrong(node, where, f"{text}, no further validation rules will be run")
            raise _Exhausted from error
        self._budget -= cost
        cause = _cause(rule.reason, where or "<nil>", node.type, detail)
        if unchanged.yes and not rule.uses_old:
            self._warnings.append(f"{cause.field}: {cause.message}")
        else:
            self.found.append(cause)

    def _wrong(self, node: _Node, path: str, text: str) -> None:
        self.found.append(causes.invalid(path or "<nil>", node.type, text))


def _failed(rule: Rule, error: EvaluationError) -> str:
    if str(error).startswith("no such overload"):
        text = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {text}: {rule.shown}"
    return f"{error} evaluating rule: {rule.shown}"


def _cause(reason: str, path: str, value: str, detail: str) -> Cause:
    if reason == "FieldValueForbidden":
        return causes.forbidden(path, detail)
    if reason == "FieldValueRequired":
        return causes.required(path, detail)
    if reason == "FieldValueDuplicate":
        return causes.duplicate(path, value)
    return causes.invalid(path, value, detail)


def _key(node: _Node, item: Any) -> tuple[Any, ...]:
    return tuple(item.get(key) for key in node.keys) if isinstance(item, dict) else ()
