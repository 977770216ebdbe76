"""Whether a schema is structural, and uses only what custom resources may: with upstream's words.

Structural means: every field that is reasoned about anywhere is described, with its type, outside of `allOf`, `anyOf`,
`oneOf` and `not`; in those stand nothing but checks of values.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

import copy

from apimachinery.errors import Cause
from apiserver.apiextensions import defaulting, listtypes, patterns, pruning, validation
from apiserver.apiextensions.structural import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_MAP_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    VALIDATIONS,
    Schema,
    Structural,
)
from apiserver.registry.validation import causes

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]
_ROOT, _ITEM, _FIELD = "root", "item", "field"
_NO_TYPE = {
    _ROOT: "must not be empty at the root",
    _ITEM: "must not be empty for specified array items",
    _FIELD: "must not be empty for specified object fields",
}
_NEVER_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("externalDocs", "must be undefined to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    (LIST_MAP_KEYS, "must be empty to be structural"),
    (LIST_TYPE, "must be undefined to be structural"),
    (MAP_TYPE, "must be undefined to be structural"),
    (VALIDATIONS, "must be empty to be structural"),
)


def problems(schema: Schema, path: str) -> list[Cause]:
    """All that is wrong with a version's schema; its defaults are judged once it is structural."""
    found = _keywords(schema, path)
    structural = _invariants(schema, path, _ROOT) + _completeness(schema, schema, path)
    found += sorted(structural, key=lambda cause: (cause.field, cause.message))
    if found:
        return found
    return _defaults(schema, path, is_root=True)


# --- what any node of the schema may have


def _keywords(schema: Schema, path: str) -> list[Cause]:
    """Keywords that are never allowed, and extensions that contradict each other, here and below."""
    found = [causes.forbidden(f"{path}.{name}", f"{name} is not supported") for name in _UNSUPPORTED if name in schema]
    kind = schema.get("type") or ""
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        found.append(causes.forbidden(f"{path}.type", text))
    elif kind and kind not in _TYPES:
        found.append(causes.unsupported(f"{path}.type", kind, _TYPES))
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(causes.forbidden(f"{path}.uniqueItems", text))
    additional = schema.get("additionalProperties")
    if schema.get("properties") and (additional is False or isinstance(additional, dict)):
        text = "additionalProperties and properties are mutual exclusive"
        found.append(causes.forbidden(f"{path}.additionalProperties", text))
    if isinstance(schema.get("items"), list):
        found.append(causes.forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if schema.get(PRESERVE) is False:
        text = "must be true or undefined"
        found.append(causes.invalid(f"{path}.{PRESERVE}", False, text))
    found += _list_type(schema, path) + _map_type(schema, path)
    for below, where, _ in _inner(schema, path):
        found += _keywords(below, where)
    return found


def _inner(schema: Schema, path: str) -> list[tuple[Schema, str, str]]:
    """The schemas within a schema: each, its path, and its level; those of logic have none."""
    found: list[tuple[Schema, str, str]] = []
    if isinstance(schema.get("items"), dict):
        found.append((schema["items"], f"{path}.items", _ITEM))
    for name, field in sorted((schema.get("properties") or {}).items()):
        found.append((field, f"{path}.properties[{name}]", _FIELD))
    if isinstance(schema.get("additionalProperties"), dict):
        found.append((schema["additionalProperties"], f"{path}.additionalProperties", _FIELD))
    return found + [(below, where, "") for below, where in _logic(schema, path)]


def _logic(schema: Schema, path: str) -> list[tuple[Schema, str]]:
    found = [
        (below, f"{path}.{word}[{index}]")
        for word in ("anyOf", "allOf", "oneOf")
        for index, below in enumerate(schema.get(word) or ())
    ]
    return found + ([(schema["not"], f"{path}.not")] if isinstance(schema.get("not"), dict) else [])


def _list_type(schema: Schema, path: str) -> list[Cause]:
    kind, keys = schema.get(LIST_TYPE), schema.get(LIST_MAP_KEYS) or []
    found: list[Cause] = []
    if kind is not None and schema.get("type") != "array":
        what = schema.get("type") or ""
        text = "must be array if x-kubernetes-list-type is specified"
        found.append(causes.invalid(f"{path}.type", what, text) if what else causes.required(f"{path}.type", text))
    if kind is not None and kind not in ("atomic", "set", "map"):
        found.append(causes.unsupported(f"{path}.{LIST_TYPE}", kind, ("atomic", "map", "set")))
    if keys and kind is None:
        found.append(causes.required(f"{path}.{LIST_TYPE}", "must be map if x-kubernetes-list-map-keys is non-empty"))
    elif keys and kind != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        found.append(causes.invalid(f"{path}.{LIST_TYPE}", kind, text))
    if kind == "map":
        found += _map_list(schema, keys, path)
    if kind == "set" and isinstance(schema.get("items"), dict):
        found += _set_item(schema["items"], f"{path}.items")
    return found


def _map_list(schema: Schema, keys: list[str], path: str) -> list[Cause]:
    found: list[Cause] = []
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        found.append(causes.required(f"{path}.{LIST_MAP_KEYS}", text))
    items = schema.get("items")
    if not isinstance(items, dict):
        return [*found, causes.required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")]
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        found.append(causes.invalid(f"{path}.items.type", items.get("type") or "", text))
    for index, key in enumerate(keys):
        field = (items.get("properties") or {}).get(key)
        if field is None:
            text = "entries must all be names of item properties"
            found.append(causes.invalid(f"{path}.{LIST_MAP_KEYS}[{index}]", key, text))
            continue
        where = f"{path}.items.properties[{key}]"
        if field.get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            found.append(causes.invalid(f"{where}.type", field["type"], text))
        if field.get("default") is None and key not in (items.get("required") or ()):
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            found.append(causes.required(f"{where}.default", text))
        if field.get("nullable"):
            text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            found.append(causes.forbidden(f"{where}.nullable", text))
    if len(set(keys)) != len(keys):
        again = next(key for index, key in enumerate(keys) if key in keys[:index])
        text = f"must not contain duplicate entries: {again}"
        found.append(causes.invalid(f"{path}.{LIST_MAP_KEYS}", keys, text))
    return found


def _set_item(items: Schema, path: str) -> list[Cause]:
    if items.get("nullable"):
        text = "cannot be nullable when x-kubernetes-list-type is set"
        return [causes.forbidden(f"{path}.nullable", text)]
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        text = "must be atomic as item of a list with x-kubernetes-list-type=set"
        if items.get(MAP_TYPE) is None:
            return [causes.required(f"{path}.{MAP_TYPE}", text)]
        return [causes.invalid(f"{path}.{MAP_TYPE}", items[MAP_TYPE], text)]
    if items.get("type") == "array" and items.get(LIST_TYPE, "atomic") != "atomic":
        text = "must be atomic as item of a list with x-kubernetes-list-type=set"
        return [causes.invalid(f"{path}.{LIST_TYPE}", items[LIST_TYPE], text)]
    return []


def _map_type(schema: Schema, path: str) -> list[Cause]:
    kind = schema.get(MAP_TYPE)
    if kind is None:
        return []
    found = []
    if schema.get("type") != "object":
        what, text = schema.get("type") or "", "must be object if x-kubernetes-map-type is specified"
        found.append(causes.invalid(f"{path}.type", what, text) if what else causes.required(f"{path}.type", text))
    if kind not in ("atomic", "granular"):
        found.append(causes.unsupported(f"{path}.{MAP_TYPE}", kind, ("atomic", "granular")))
    return found


# --- what makes a schema structural


def _invariants(schema: Schema, path: str, level: str) -> list[Cause]:
    found: list[Cause] = []
    kind = schema.get("type") or ""
    if kind == "array" and not isinstance(schema.get("items"), dict):
        found.append(causes.required(f"{path}.items", "must be specified"))
    for below, where, inner_level in _inner(schema, path):
        if inner_level:
            found += _invariants(below, where, inner_level)
    if level == _ROOT and schema.get("additionalProperties") is not None:
        found.append(causes.forbidden(f"{path}.additionalProperties", "must not be used at the root"))
    found += _extensions(schema, path) + _nested_logic(schema, path) + _type(schema, path, level)
    return found + _resource(schema, path, level)


def _type(schema: Schema, path: str, level: str) -> list[Cause]:
    kind = schema.get("type") or ""
    if schema.get(EMBEDDED) and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        return [causes.invalid(f"{path}.type", kind, text) if kind else causes.required(f"{path}.type", text)]
    if not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        return [causes.required(f"{path}.type", _NO_TYPE[level])]
    if level == _ROOT and kind and kind != "object":
        return [causes.invalid(f"{path}.type", kind, "must be object at the root")]
    return []


def _extensions(schema: Schema, path: str) -> list[Cause]:
    found = []
    if schema.get(INT_OR_STRING):
        for name in (PRESERVE, EMBEDDED):
            if schema.get(name):
                text = "must be false if x-kubernetes-int-or-string is true"
                found.append(causes.invalid(f"{path}.{name}", True, text))
    if schema.get(EMBEDDED):
        if schema.get("additionalProperties") is not None:
            text = "must not be used if x-kubernetes-embedded-resource is set"
            found.append(causes.forbidden(f"{path}.additionalProperties", text))
        if not schema.get(PRESERVE) and not schema.get("properties"):
            text = "must not be empty if x-kubernetes-embedded-resource is true without "
            found.append(causes.required(f"{path}.properties", text + PRESERVE))
    return found


def _resource(schema: Schema, path: str, level: str) -> list[Cause]:
    """apiVersion, kind and metadata, where they are an object's own."""
    properties = schema.get("properties") or {}
    if level != _ROOT and not schema.get(EMBEDDED):
        return []
    found = []
    for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        field = properties.get(name)
        if field is not None and field.get("type") != kind:
            where = f"{path}.properties[{name}].type"
            found.append(causes.invalid(where, field.get("type") or "", f"must be {kind}"))
    if level == _ROOT and not _is_bare(properties.get("metadata") or {}):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        found.append(causes.forbidden(f"{path}.properties[metadata]", text))
    return found


def _is_bare(metadata: Schema) -> bool:
    allowed = metadata.keys() <= {"type", "properties", "description", "default"} and not metadata.get("description")
    return allowed and (metadata.get("properties") or {}).keys() <= {"name", "generateName"}


def _nested_logic(schema: Schema, path: str) -> list[Cause]:
    found: list[Cause] = []
    skip_any = schema.get(INT_OR_STRING) and schema.get("anyOf") == _INT_OR_STRING_TYPES
    for below, where in _logic(schema, path):
        if skip_any and ".anyOf[" in where[len(path) :]:
            continue
        first = schema.get(INT_OR_STRING) and where == f"{path}.allOf[0]"
        found += _nested(below, where, skip_any=bool(first) and below.get("anyOf") == _INT_OR_STRING_TYPES)
    return found + _pattern(schema, path)


def _nested(schema: Schema, path: str, *, skip_any: bool = False) -> list[Cause]:
    """A schema within `anyOf` and its like, or below one."""
    found: list[Cause] = []
    for below, where in _logic(schema, path):
        if not (skip_any and where.startswith(f"{path}.anyOf[")):
            found += _nested(below, where)
    if isinstance(schema.get("items"), dict):
        found += _nested(schema["items"], f"{path}.items")
    for name, field in sorted((schema.get("properties") or {}).items()):
        found += _nested(field, f"{path}.properties[{name}]")
    found += [causes.forbidden(f"{path}.{name}", why) for name, why in _NEVER_NESTED if schema.get(name)]
    if "metadata" in (schema.get("properties") or {}):
        text = "must not be specified in a nested context"
        found.append(causes.forbidden(f"{path}.properties[metadata]", text))
    return found + _pattern(schema, path)


def _pattern(schema: Schema, path: str) -> list[Cause]:
    pattern = schema.get("pattern") or ""
    why = patterns.problem(pattern)
    text = f"must be a valid regular expression, but isn't: {why}"
    return [causes.invalid(f"{path}.pattern", pattern, text)] if why else []


def _completeness(schema: Schema, described: Schema, path: str) -> list[Cause]:
    """Each field that logic reasons about must be described outside of it."""
    found: list[Cause] = []
    for below, _, level in _inner(schema, path):
        if level:
            found += _completeness(below, below, path=_)
    for below, where in _logic(schema, path):
        found += _described(below, described, where, path)
    return found


def _described(nested: Schema, described: Schema | None, where: str, path: str) -> list[Cause]:
    if described is None:
        return [causes.required(path, f"because it is defined in {where}")]
    found: list[Cause] = []
    if isinstance(nested.get("items"), dict):
        items = described.get("items")
        found += _described(nested["items"], items, f"{where}.items", f"{path}.items")
    for name, field in sorted((nested.get("properties") or {}).items()):
        inner = (described.get("properties") or {}).get(name)
        if inner is None and isinstance(described.get("additionalProperties"), dict):
            inner = described["additionalProperties"]
        found += _described(field, inner, f"{where}.properties[{name}]", f"{path}.properties[{name}]")
    for below, inner_where in _logic(nested, where):
        found += _described(below, described, inner_where, path)
    return found


# --- defaults


def _defaults(schema: Schema, path: str, *, is_root: bool = False) -> list[Cause]:
    """A default must fit its own schema, as a value would: pruned, complete, valid."""
    found: list[Cause] = []
    if schema.get("default") is not None:
        where = f"{path}.default"
        if is_root:
            found.append(causes.forbidden(where, "must not be set at the root"))
        else:
            found += _default(schema, where)
    for below, inner, level in _inner(schema, path):
        if level:
            found += _defaults(below, inner)
    return found


def _default(schema: Schema, where: str) -> list[Cause]:
    node, value = Structural(schema), copy.deepcopy(schema["default"])
    unknown: list[str] = []
    pruning.prune(value, node, [], unknown)
    if unknown:
        return [causes.invalid(where, schema["default"], "must not have unknown fields")]
    defaulting.default(value, node)
    found = validation.Validator(schema).check(value, where)
    return found + listtypes.duplicates(value, node, where)
