"""Which schemas are structural, and which defaults and extensions they may have."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.apiextensions import schemas

Schema = dict[str, Any]


def told(**properties: Schema) -> list[str]:
    root = {"type": "object", "properties": properties}
    return [f"{cause.field}: {cause.message}" for cause in schemas.problems(root, "schema")]


_X = "schema.properties[x]"
_ITEMS = {"type": "object", "properties": {"name": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {
            "x-kubernetes-int-or-string": True,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}],
        },
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}]},
        {"type": "string", "default": "a", "enum": ["a"]},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    ],
)
def test_these_schemas_are_structural(schema: Schema) -> None:
    assert told(x=schema) == []


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, f"{_X}.type: Required value: must not be empty for specified object fields"),
        ({"type": "array"}, f"{_X}.items: Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            f"{_X}.items.type: Required value: must not be empty for specified array items",
        ),
        ({"type": "null"}, f"{_X}.type: Forbidden: type cannot be set to null, use nullable as an alternative"),
        ({"type": "string", "$ref": "#/x"}, f"{_X}.$ref: Forbidden: $ref is not supported"),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            f"{_X}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes "
            "quadratic",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            f"{_X}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"type": "string", "allOf": [{"type": "string"}]},
            f"{_X}.allOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "not": {"properties": {"a": {"pattern": "b"}}}},
            f"{_X}.properties[a]: Required value: because it is defined in {_X}.not.properties[a]",
        ),
        (
            {"type": "string", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            f'{_X}.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
        ),
        (
            {"type": "array", "items": _ITEMS, "x-kubernetes-list-type": "map"},
            f"{_X}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            {
                "type": "array",
                "items": _ITEMS,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            f"{_X}.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, "
            "so it must have a default or be a required property",
        ),
        (
            {"type": "integer", "default": "a"},
            f'{_X}.default: Invalid value: "string": {_X}.default in body must be of type integer: "string"',
        ),
        (
            {"type": "object", "default": {"odd": 1}, "properties": {"a": {"type": "string"}}},
            f'{_X}.default: Invalid value: {{"odd":1}}: must not have unknown fields',
        ),
    ],
)
def test_these_are_not_and_it_is_told_why(schema: Schema, message: str) -> None:
    assert told(x=schema) == [message]


def test_a_pattern_must_be_one_of_gos_and_python_must_not_add_to_it() -> None:
    assert "must be a valid regular expression" in told(x={"type": "string", "pattern": "a("})[0]
    assert "must be a valid regular expression" in told(x={"type": "string", "pattern": "(?=a)b"})[0]


def test_metadata_may_restrict_names_only() -> None:
    name = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    assert told(metadata=name) == []
    labels = {"type": "object", "properties": {"labels": {"type": "object"}}}
    assert told(metadata=labels) == [
        "schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
        "metadata is implicitly specified"
    ]
