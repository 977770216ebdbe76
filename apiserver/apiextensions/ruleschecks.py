"""What is wrong with the rules of a schema, said when a definition is written: words, types and cost. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from apimachinery.errors import Cause
from apiserver.apiextensions import fieldpaths
from apiserver.apiextensions.structural import EMBEDDED, LIST_TYPE, VALIDATIONS, Schema
from apiserver.cel import rules, schematypes
from apiserver.cel.issues import CompileError
from apiserver.cel.programs import Program
from apiserver.cel.types import BOOL, STRING, UNBOUNDED, Type
from apiserver.registry.validation import causes

EXPRESSION_LIMIT, SCHEMA_LIMIT = 10_000_000, 100_000_000
"""Upstream's bounds of the estimate of one expression, and of a whole schema's together."""
_NAMED = 5  # how many of the dearest expressions are named when all together are too dear
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength"
    " where arrays, maps, and strings are declared)"
)


def problems(schema: Schema, path: str, stored: frozenset[str] = frozenset()) -> list[Cause]:
    """`path` is where the schema stands. The costs of rules in `stored` are not held against a definition: they were
    let in before."""
    walk = _Walk(stored)
    walk.visit(schema, path, schematypes.declared(schema, is_resource=True), _Place())
    return walk.found + walk.total(path)


@dataclass(frozen=True, slots=True)
class _Place:
    """`count` is how often a rule here may run at most; `uncorrelated` is the list whose elements have no old value."""

    count: int = 1
    uncorrelated: str = ""


@dataclass(slots=True)
class _Walk:
    stored: frozenset[str]
    found: list[Cause] = field(default_factory=list)
    costs: list[tuple[int, str]] = field(default_factory=list)

    def visit(self, schema: Schema, path: str, declared: Type | None, place: _Place) -> None:
        for index, spec in enumerate(schema.get(VALIDATIONS) or ()):
            self._rule(spec, schema, f"{path}.{VALIDATIONS}[{index}]", declared, place)
        for name, below in (schema.get("properties") or {}).items():
            self.visit(below, f"{path}.properties[{name}]", _field(declared, name, below), place)
        items, additional = schema.get("items"), schema.get("additionalProperties")
        if isinstance(additional, dict):
            below = _within(declared, place)
            self.visit(additional, f"{path}.additionalProperties", _element(declared, additional), below)
        if isinstance(items, dict):
            below = _within(declared, place)
            if schema.get(LIST_TYPE) != "map" and not place.uncorrelated:
                below = _Place(below.count, f"{path}.items")
            self.visit(items, f"{path}.items", _element(declared, items), below)
        for index, part in enumerate(schema.get("allOf") or ()):
            merged = {**schema, VALIDATIONS: part.get(VALIDATIONS) or [], "allOf": []}
            for inner, spec in enumerate(merged[VALIDATIONS]):
                self._rule(spec, schema, f"{path}.allOf[{index}].{VALIDATIONS}[{inner}]", declared, place)

    def total(self, path: str) -> list[Cause]:
        cost = min(sum(cost for cost, _ in self.costs), UNBOUNDED)
        if cost <= SCHEMA_LIMIT:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        dearest = sorted(self.costs, key=lambda each: -each[0])[:_NAMED]
        whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        named = [causes.forbidden(where, text) for _, where in dearest]
        return [*named, causes.forbidden(path, exceeds(whole, cost, SCHEMA_LIMIT))]

    def _rule(self, spec: dict[str, Any], schema: Schema, path: str, declared: Type | None, place: _Place) -> None:
        self.found += _words(spec, path)
        self.found += _field_path(spec, schema, path)
        if not (spec.get("rule") or "").strip():
            return
        if declared is None:
            preserves = json.dumps(bool(schema.get("x-kubernetes-preserve-unknown-fields")))
            text = f"rule declared on schema that does not support validation rules type: '{schema.get('type') or ''}'"
            text += f" x-kubernetes-preserve-unknown-fields: '{preserves}'"
            self.found.append(Cause("InternalError", f"Internal error: {text}", path))
            return
        program = self._compiled(spec, "rule", path, declared, place)
        if (spec.get("messageExpression") or "").strip():
            self._compiled(spec, "messageExpression", path, declared, place)
        if program is not None:
            self.found += _transition(spec, program, path, place)

    def _compiled(self, spec: dict[str, Any], key: str, path: str, declared: Type, place: _Place) -> Program | None:
        where, text = f"{path}.{key}", spec[key]
        prefix = "messageExpression " if key == "messageExpression" else ""
        try:
            program = rules.compile_expression(text, declared, optional_old=bool(spec.get("optionalOldSelf")))
        except CompileError as error:
            self.found.append(_refused(where, spec, f"{prefix}compilation failed: {error}"))
            return None
        wanted = STRING if prefix else BOOL
        if program.type != wanted:
            refusal = (
                "messageExpression must evaluate to a string" if prefix else "cel expression must evaluate to a bool"
            )
            self.found.append(_refused(where, spec, refusal))
            return None
        cost = min(rules.most_cost(program, declared) * place.count, UNBOUNDED)
        if text not in self.stored:
            self.costs.append((cost, where))
            if cost > EXPRESSION_LIMIT:
                what = f"estimated {'messageExpression' if prefix else 'rule'} cost"
                self.found.append(causes.forbidden(where, exceeds(what, cost, EXPRESSION_LIMIT)))
        return program


def exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"


def _words(spec: dict[str, Any], path: str) -> list[Cause]:
    rule, message = spec.get("rule") or "", spec.get("message") or ""
    found = []
    if not rule.strip():
        found.append(causes.required(f"{path}.rule", "rule is not specified"))
    if message and not message.strip():
        found.append(causes.invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        found.append(causes.invalid(f"{path}.message", message, "message must not contain line breaks"))
    elif "\n" in rule.strip() and not message.strip():
        found.append(causes.required(f"{path}.message", "message must be specified if rule contains line breaks"))
    expression = spec.get("messageExpression") or ""
    if expression and not expression.strip():
        text = "messageExpression must be non-empty if specified"
        found.append(causes.required(f"{path}.messageExpression", text))
    if spec.get("reason") is not None and spec["reason"] not in _REASONS:
        found.append(causes.unsupported(f"{path}.reason", spec["reason"], _REASONS))
    return found


def _field_path(spec: dict[str, Any], schema: Schema, path: str) -> list[Cause]:
    wanted = spec.get("fieldPath") or ""
    if not wanted:
        return []
    where = f"{path}.fieldPath"
    if not wanted.strip():
        return [causes.invalid(where, wanted, "fieldPath must be non-empty if specified")]
    if "\n" in wanted:
        return [causes.invalid(where, wanted, "fieldPath must not contain line breaks")]
    if not fieldpaths.exists(wanted, schema):
        return [causes.invalid(where, wanted, "fieldPath must be a valid path")]
    return []


def _transition(spec: dict[str, Any], program: Program, path: str, place: _Place) -> list[Cause]:
    if program.uses("oldSelf"):
        if not place.uncorrelated:
            return []
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
        return [causes.invalid(f"{path}.rule", spec["rule"], text)]
    if spec.get("optionalOldSelf") is None:
        return []
    text = "may not be set if oldSelf is not used in rule"
    return [causes.invalid(f"{path}.optionalOldSelf", spec["optionalOldSelf"], text)]


def _refused(path: str, spec: dict[str, Any], text: str) -> Cause:
    """The value is shown as upstream shows it: the whole rule, in Go's words."""
    names = ("Rule", "Message", "MessageExpression")
    shown = [f"{name}:{causes.render(spec.get(name[0].lower() + name[1:]) or '')}" for name in names]
    reason, old = spec.get("reason"), spec.get("optionalOldSelf")
    shown += [f"Reason:(*apiextensions.FieldValueErrorReason)({causes.render(reason) if reason else 'nil'})"]
    shown += [f"FieldPath:{causes.render(spec.get('fieldPath') or '')}"]
    shown += [f"OptionalOldSelf:(*bool)({causes.render(old) if old is not None else 'nil'})"]
    value = f"apiextensions.ValidationRule{{{', '.join(shown)}}}"
    return Cause("FieldValueInvalid", f"Invalid value: {value}: {text}", path)


def _field(declared: Type | None, name: str, schema: Schema) -> Type | None:
    found = declared.fields.get(schematypes.escaped(name) or "") if declared is not None else None
    return found.type if found else schematypes.declared(schema, is_resource=bool(schema.get(EMBEDDED)))


def _element(declared: Type | None, schema: Schema) -> Type | None:
    if declared is not None and declared.kind in ("list", "map"):
        return declared.params[-1]
    return schematypes.declared(schema, is_resource=bool(schema.get(EMBEDDED)))


def _within(declared: Type | None, place: _Place) -> _Place:
    count = declared.max_size if declared is not None and declared.kind in ("list", "map") else UNBOUNDED
    return _Place(min(place.count * count, UNBOUNDED), place.uncorrelated)
