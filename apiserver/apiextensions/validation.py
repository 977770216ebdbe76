"""Values against a schema, in the words of upstream's validator, which people search for.

A `Validator` is compiled once from each node of the schema. What an update leaves as it was is not judged again: a
schema may become stricter than the objects that are there (upstream calls it ratcheting).
Guarantees: all faults are told, in the order of fields' names; nothing is changed.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
"""

from __future__ import annotations

from typing import Any

from apimachinery import gotext
from apimachinery.errors import Cause
from apiserver.apiextensions import formats, patterns
from apiserver.apiextensions.structural import EMBEDDED, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, Schema
from apiserver.registry.validation import causes

NOWHERE = "<nil>"
"""How Go prints the path of what has none."""
ABSENT: Any = object()
"""There is no old value that stands in the same place."""

_BLOCKING = frozenset(
    {"FieldValueTypeInvalid", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueNotSupported"}
)
UNCHECKED = Cause(
    "FieldValueInvalid",
    'Invalid value: "null": some validation rules were not checked because the object was invalid; '
    "correct the existing errors to complete validation",
    NOWHERE,
)


def blocks_rules(found: list[Cause]) -> bool:
    """Whether an object is so wrong that rules on it would make no sense."""
    return any(cause.reason in _BLOCKING for cause in found)


class Validator:
    """One node of a schema. `is_resource` leaves apiVersion, kind and metadata to those who know them."""

    def __init__(self, schema: Schema, *, is_resource: bool = False) -> None:
        self._schema = schema
        self._types = _types(schema)
        self._nullable = bool(schema.get("nullable"))
        self._enum: list[Any] | None = schema.get("enum") or None
        self._format: str = schema.get("format") or ""
        self._pattern: str = schema.get("pattern") or ""
        own = is_resource or bool(schema.get(EMBEDDED))
        self._properties = {
            name: Validator(field)
            for name, field in sorted((schema.get("properties") or {}).items())
            if not (own and name == "metadata")
        }
        additional, items = schema.get("additionalProperties"), schema.get("items")
        self._additional = Validator(additional) if isinstance(additional, dict) else None
        self._items = Validator(items) if isinstance(items, dict) else None
        self._keys: tuple[str, ...] | None = None
        if schema.get(LIST_TYPE) == "map":
            self._keys = tuple(schema.get(LIST_MAP_KEYS) or ())
        self._all = [Validator(inner) for inner in schema.get("allOf") or ()]
        self._any = [Validator(inner) for inner in schema.get("anyOf") or ()]
        self._one = [Validator(inner) for inner in schema.get("oneOf") or ()]
        self._not = Validator(schema["not"]) if schema.get("not") else None
        self._limits = {key for key in _LIMITS if schema.get(key) is not None}
        # The Python type whose every value is right, which most fields have
        self._plain = _PLAIN.get(schema.get("type")) if schema.keys() <= _WITHOUT_CHECKS else None

    def check(self, value: Any, path: str = "", old: Any = ABSENT) -> list[Cause]:
        """What is wrong with `value`. `old` is what stood in its place before, if anything did."""
        if type(value) is self._plain or (old is not ABSENT and type(old) is type(value) and old == value):
            return []
        found = self._check_type(value, path)
        if value is None:
            return found + self._check_enum(value, path)
        if self._all or self._any or self._one or self._not is not None:
            found += self._check_composite(value, path, old)
        kind = type(value)
        if kind is str:
            found += self._check_string(value, path)
        elif kind is int or kind is float:
            found += self._check_number(value, path)
        elif kind is list:
            found += self._check_list(value, path, old)
        found += self._check_enum(value, path)
        if kind is dict:
            found += self._check_object(value, path, old)
        return found

    def _check_type(self, value: Any, path: str) -> list[Cause]:
        if not self._types or (value is None and self._nullable):
            return []
        kind = _kind(value)
        if kind in self._types:
            return []
        if kind == "integer" and "number" in self._types:
            return []
        if kind == "number" and "integer" in self._types and value.is_integer():
            return []
        return [_type_invalid(path, kind, ",".join(self._types), kind)]

    def _check_enum(self, value: Any, path: str) -> list[Cause]:
        if self._enum is None or any(value == item and _same_type(value, item) for item in self._enum):
            return []
        listed = ", ".join(causes.render(item if isinstance(item, str) else causes.render(item)) for item in self._enum)
        text = f"Unsupported value: {causes.render(value)}: supported values: {listed}"
        return [Cause("FieldValueNotSupported", text, path or NOWHERE)]

    def _check_string(self, value: str, path: str) -> list[Cause]:
        found = []
        if self._limits:
            limit = self._schema.get("maxLength")
            if limit is not None and len(value) > limit:
                found.append(causes.too_long(path, limit))
            limit = self._schema.get("minLength")
            if limit is not None and len(value) < limit:
                found.append(_invalid(path, value, f"should be at least {limit} chars long"))
        if self._pattern and not patterns.matches(self._pattern, value):
            found.append(_invalid(path, value, f"should match '{self._pattern}'"))
        if self._format and not formats.is_valid(self._format, value):
            found.append(_type_invalid(path, value, self._format, value))
        return found

    def _check_number(self, value: float, path: str) -> list[Cause]:
        if not self._limits:
            return []
        found, schema = [], self._schema
        factor, most, least = schema.get("multipleOf"), schema.get("maximum"), schema.get("minimum")
        if factor and not _is_multiple(value, factor):
            found.append(_invalid(path, value, f"should be a multiple of {gotext.number(factor)}"))
        if most is not None:
            strict = schema.get("exclusiveMaximum")
            if value > most or (strict and value == most):
                bound = "less than" if strict else "less than or equal to"
                found.append(_invalid(path, value, f"should be {bound} {gotext.number(most)}"))
        if least is not None:
            strict = schema.get("exclusiveMinimum")
            if value < least or (strict and value == least):
                bound = "greater than" if strict else "greater than or equal to"
                found.append(_invalid(path, value, f"should be {bound} {gotext.number(least)}"))
        return found

    def _check_list(self, value: list[Any], path: str, old: Any) -> list[Cause]:
        found: list[Cause] = []
        if self._items is not None:
            before = self._old_items(old)
            for index, item in enumerate(value):
                then = before.get(self._identity(item), ABSENT) if before else ABSENT
                found += self._items.check(item, f"{path}[{index}]", then)
        least, most = self._schema.get("minItems"), self._schema.get("maxItems")
        if least is not None and len(value) < least:
            found.append(_invalid(path, len(value), f"should have at least {least} items"))
        if most is not None and len(value) > most:
            found.append(causes.too_many(path, len(value), most))
        return found

    def _old_items(self, old: Any) -> dict[Any, Any]:
        """The items of the old list by their keys; only those of a map list stand in a place of their own."""
        if self._keys is None or not isinstance(old, list):
            return {}
        return {self._identity(item): item for item in old if isinstance(item, dict)}

    def _identity(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return None
        return tuple(causes.render(item.get(key)) for key in self._keys or ())

    def _check_object(self, value: dict[str, Any], path: str, old: Any) -> list[Cause]:
        found, schema = [], self._schema
        least, most = schema.get("minProperties"), schema.get("maxProperties")
        if least is not None and len(value) < least:
            found.append(_invalid(path, len(value), f"should have at least {least} properties"))
        if most is not None and len(value) > most:
            found.append(causes.too_many(path or NOWHERE, len(value), most))
        found += [causes.required(_child(path, name)) for name in schema.get("required") or () if name not in value]
        before = old if type(old) is dict else {}
        for name, field in self._properties.items():
            if name in value:
                found += field.check(value[name], _child(path, name), before.get(name, ABSENT))
        if self._additional is not None:
            for name in sorted(value):
                if name not in self._properties:
                    found += self._additional.check(value[name], _child(path, name), before.get(name, ABSENT))
        return found

    def _check_composite(self, value: Any, path: str, old: Any) -> list[Cause]:
        found: list[Cause] = []
        if self._any:
            tries = [inner.check(value, path, old) for inner in self._any]
            if all(tries):
                found += [_composite(path, "must validate at least one schema (anyOf)"), *_best(tries)]
        if self._one:
            tries = [inner.check(value, path, old) for inner in self._one]
            valid = sum(1 for faults in tries if not faults)
            if valid != 1:
                what = f"Found {valid} valid alternatives" if valid else "Found none valid"
                found.append(_composite(path, f"must validate one and only one schema (oneOf). {what}"))
                found += [] if valid else _best(tries)
        if self._all:
            tries = [inner.check(value, path, old) for inner in self._all]
            valid = sum(1 for faults in tries if not faults)
            if valid != len(tries):
                what = "" if valid else ". None validated"
                found.append(_composite(path, f"must validate all the schemas (allOf){what}"))
                found += [cause for faults in tries for cause in faults]
        if self._not is not None and not self._not.check(value, path):
            found.append(_composite(path, "must not validate the schema (not)"))
        return found


def _best(tries: list[list[Cause]]) -> list[Cause]:
    """The faults of the alternative that came closest."""
    return min(tries, key=_count)


def _count(faults: list[Cause]) -> int:
    return len(faults)


_LIMITS = ("maxLength", "minLength", "maximum", "minimum", "multipleOf")


_WITHOUT_CHECKS = frozenset({"type", "description", "default", "title", "example", "externalDocs", "nullable"})
_PLAIN: dict[Any, type] = {"string": str, "boolean": bool, "integer": int}


def _types(schema: Schema) -> tuple[str, ...]:
    if schema.get(INT_OR_STRING):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _kind(value: Any) -> str:
    return _KINDS[type(value)]


_KINDS = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _same_type(one: Any, other: Any) -> bool:
    """JSON's numbers are of one type, and booleans are none."""
    return isinstance(one, bool) == isinstance(other, bool)


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    return (value / factor).is_integer()


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _invalid(path: str, value: Any, why: str) -> Cause:
    return causes.invalid(path or NOWHERE, value, f"{path} in body {why}")


def _type_invalid(path: str, value: Any, wanted: str, got: str) -> Cause:
    text = f"{path} in body must be of type {wanted}: {causes.render(got)}"
    return Cause("FieldValueTypeInvalid", f"Invalid value: {causes.render(value)}: {text}", path or NOWHERE)


def _composite(path: str, why: str) -> Cause:
    return causes.invalid(NOWHERE, "", f"{causes.render(path)} {why}")
