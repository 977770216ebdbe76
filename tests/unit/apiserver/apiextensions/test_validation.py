"""Values against schemas: what is told, where, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.apiextensions import validation

Schema = dict[str, Any]


def told(schema: Schema, value: Any, old: Any = validation.ABSENT) -> list[str]:
    root = {"type": "object", "properties": {"x": schema}}
    before = old if old is validation.ABSENT else {"x": old}
    return [f"{cause.field}: {cause.message}" for cause in validation.Validator(root).check({"x": value}, "", before)]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "a", 'x: Invalid value: "string": x in body must be of type integer: "string"'),
        ({"type": "integer"}, 1.5, 'x: Invalid value: "number": x in body must be of type integer: "number"'),
        ({"type": "string"}, None, 'x: Invalid value: "null": x in body must be of type string: "null"'),
        ({"type": "boolean"}, 1, 'x: Invalid value: "integer": x in body must be of type boolean: "integer"'),
        ({"type": "string", "minLength": 2}, "a", 'x: Invalid value: "a": x in body should be at least 2 chars long'),
        ({"type": "string", "maxLength": 1}, "ab", "x: Too long: may not be more than 1 bytes"),
        ({"type": "integer", "maximum": 3}, 4, "x: Invalid value: 4: x in body should be less than or equal to 3"),
        (
            {"type": "integer", "maximum": 3, "exclusiveMaximum": True},
            3,
            "x: Invalid value: 3: x in body should be less than 3",
        ),
        (
            {"type": "integer", "minimum": 2147483647},
            4,
            "x: Invalid value: 4: x in body should be greater than or equal to 2.147483647e+09",
        ),
        ({"type": "number", "multipleOf": 0.5}, 0.7, "x: Invalid value: 0.7: x in body should be a multiple of 0.5"),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
            [],
            "x: Invalid value: 0: x in body should have at least 1 items",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["a", "b"],
            "x: Too many: 2: must have at most 1 items",
        ),
        (
            {"type": "object", "minProperties": 1},
            {},
            "x: Invalid value: 0: x in body should have at least 1 properties",
        ),
        ({"type": "object", "required": ["y"]}, {}, "x.y: Required value"),
        ({"type": "string", "enum": ["a", "b"]}, "c", 'x: Unsupported value: "c": supported values: "a", "b"'),
        (
            {"type": "string", "format": "ipv4"},
            "::1",
            'x: Invalid value: "::1": x in body must be of type ipv4: "::1"',
        ),
        (
            {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}},
            [{"a": 1}, {"b": "c"}],
            'x[1].b: Invalid value: "string": x[1].b in body must be of type integer: "string"',
        ),
        (
            {"type": "string", "not": {"enum": ["a"]}},
            "a",
            '<nil>: Invalid value: "": "x" must not validate the schema (not)',
        ),
    ],
)
def test_each_fault_is_told_in_upstreams_words(schema: Schema, value: Any, message: str) -> None:
    assert told(schema, value) == [message]


def test_an_alternative_that_fits_is_enough_for_any_of_and_must_be_the_only_one_for_one_of() -> None:
    choices = [{"required": ["a"]}, {"required": ["b"]}]
    fields = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert told({"type": "object", "properties": fields, "anyOf": choices}, {"a": 1, "b": 1}) == []
    assert told({"type": "object", "properties": fields, "oneOf": choices}, {"a": 1}) == []
    assert told({"type": "object", "properties": fields, "oneOf": choices}, {"a": 1, "b": 1}) == [
        '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]
    assert told({"type": "object", "properties": fields, "oneOf": choices}, {}) == [
        '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
        "x.a: Required value",
    ]


@pytest.mark.parametrize("value", [1, 1.0, 10**18])
def test_a_whole_number_is_an_integer_however_it_is_written(value: float) -> None:
    assert told({"type": "integer"}, value) == []


def test_null_is_a_value_where_the_field_is_nullable() -> None:
    assert told({"type": "string", "nullable": True}, None) == []


def test_what_was_there_before_is_not_judged_again() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}, "b": {"type": "string"}}}
    assert told(schema, {"a": 1, "b": "new"}, {"a": 1, "b": "old"}) == []
    assert len(told(schema, {"a": 2, "b": "old"}, {"a": 1, "b": "old"})) == 1


def test_items_of_a_map_list_are_compared_by_their_keys() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer", "minimum": 5}}}
    schema = {"type": "array", "items": item}
    keyed = schema | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    old = [{"name": "a", "size": 1}]
    new = [{"name": "b", "size": 9}, {"name": "a", "size": 1}]
    assert told(keyed, new, old) == []
    assert len(told(schema, new, old)) == 1


def test_true_is_not_one_for_an_enum() -> None:
    assert told({"enum": [1]}, True) != []
