"""Rules of schemas: which old value they see, what is let pass, what is refused before it ever runs."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.apiextensions import rules

_RULES = "x-kubernetes-validations"
Schema = dict[str, Any]


def _root(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties}


def _messages(schema: Schema, new: Any, old: Any = None) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in rules.Rules(schema).check(new, old)]


_ITEM = {
    "type": "object",
    "properties": {"key": {"type": "string"}, "size": {"type": "integer"}},
    _RULES: [{"rule": "self.size >= oldSelf.size", "message": "may not shrink"}],
}
_BY_KEY = {
    "type": "array",
    "maxItems": 5,
    "items": _ITEM,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["key"],
}


def test_elements_of_a_list_of_keys_are_compared_with_those_of_their_key() -> None:
    schema = _root(list=_BY_KEY)
    old = {"list": [{"key": "a", "size": 5}, {"key": "b", "size": 1}]}
    moved = {"list": [{"key": "b", "size": 1}, {"key": "a", "size": 4}, {"key": "c", "size": 0}]}
    assert _messages(schema, moved, old) == ['list[1]: Invalid value: "object": may not shrink']
    assert _messages(schema, moved) == []


def test_what_an_update_leaves_alone_is_only_warned_of() -> None:
    spec = {"type": "object", "properties": {"n": {"type": "integer"}}, _RULES: [{"rule": "self.n > 0"}]}
    schema = _root(spec=spec, other={"type": "integer"})
    broken = {"spec": {"n": 0}, "other": 1}
    warnings: list[str] = []
    assert rules.Rules(schema).check(broken | {"other": 2}, broken, warnings) == []
    assert warnings == ['spec: Invalid value: "object": failed rule: self.n > 0']
    assert _messages(schema, {"spec": {"n": -1}}, broken) == ['spec: Invalid value: "object": failed rule: self.n > 0']


def test_an_optional_old_value_is_there_on_create_too() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": True, "message": "starts at 1"}
    schema = _root(n={"type": "integer", _RULES: [rule]})
    assert rules.problems(schema, "schema") == []
    assert _messages(schema, {"n": 2}) == ['n: Invalid value: "integer": starts at 1']
    assert _messages(schema, {"n": 2}, {"n": 1}) == []


def test_rules_of_map_values_name_their_key_and_the_root_has_no_name() -> None:
    value = {"type": "integer", _RULES: [{"rule": "self < 10"}]}
    schema = _root(sizes={"type": "object", "additionalProperties": value})
    schema[_RULES] = [{"rule": "has(self.sizes)"}]
    assert _messages(schema, {"sizes": {"a": 10}}) == ['sizes[a]: Invalid value: "integer": failed rule: self < 10']
    assert _messages(schema, {}) == ['<nil>: Invalid value: "object": failed rule: has(self.sizes)']


def test_rules_of_an_all_of_hold_too() -> None:
    schema = _root(n={"type": "integer", "allOf": [{_RULES: [{"rule": "self > 1"}]}]})
    assert _messages(schema, {"n": 1}) == ['n: Invalid value: "integer": failed rule: self > 1']


def test_a_rule_that_cannot_be_evaluated_breaks() -> None:
    schema = _root(
        m={"type": "object", "additionalProperties": {"type": "string"}, _RULES: [{"rule": "self.a == 'x'"}]}
    )
    expected = """m: Invalid value: "object": no such key: a evaluating rule: self.a == 'x'"""
    assert _messages(schema, {"m": {}}) == [expected]
    dynamic = _root(d={"x-kubernetes-int-or-string": True, _RULES: [{"rule": "self > 1"}]})
    (told,) = _messages(dynamic, {"d": "a"})
    assert told.endswith(
        "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: "
        "self > 1"
    )


def test_a_rule_that_costs_too_much_ends_all_rules() -> None:
    rule = {"rule": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}
    numbers = {"type": "array", "items": {"type": "integer"}, _RULES: [rule, {"rule": "false"}]}
    (told,) = _messages(_root(n=numbers), {"n": list(range(200))})
    assert "actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit" in told


def test_a_message_expression_that_fails_is_as_if_it_were_not_there() -> None:
    rule = {"rule": "false", "messageExpression": "self.m['gone']", "message": "said"}
    schema = _root(m={"type": "object", "additionalProperties": {"type": "string"}})
    assert _messages(schema | {_RULES: [rule]}, {"m": {}}) == ['<nil>: Invalid value: "object": said']


# The largest lists that upstream (1.36) was measured to accept for this rule
@pytest.mark.parametrize(("most", "length"), [(909_090, 16), (333_333, 63), (94_339, 253), (24_154, 1024)])
def test_the_estimate_is_upstreams_to_the_element(most: int, length: int) -> None:
    def told(items: int) -> list[str]:
        rule = {"rule": "self.all(x, x.contains('gpu'))"}
        item = {"type": "string", "maxLength": length}
        listed = {"type": "array", "maxItems": items, "items": item, _RULES: [rule]}
        return [cause.message for cause in rules.problems(_root(tags=listed), "schema")]

    assert told(most) == []
    (refused,) = told(most + 1)
    assert refused.startswith("Forbidden: estimated rule cost exceeds budget by factor of 1.0000")


def test_a_schema_without_bounds_is_refused_for_the_rule_and_for_the_whole() -> None:
    rule = {"rule": "self.all(x, x.contains('gpu'))"}
    told = rules.problems(_root(tags={"type": "array", "items": {"type": "string"}, _RULES: [rule]}), "schema")
    advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, "
    advice += "and strings are declared)"
    at = f"schema.properties[tags].{_RULES}[0].rule"
    assert [(cause.field, cause.message) for cause in told] == [
        (at, f"Forbidden: estimated rule cost exceeds budget by factor of more than 100x {advice}"),
        (at, "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"),
        (
            "schema",
            "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget "
            f"by factor of more than 100x {advice}",
        ),
    ]
    assert (
        rules.problems(
            _root(tags={"type": "array", "items": {"type": "string"}, _RULES: [rule]}),
            "schema",
            frozenset({rule["rule"]}),
        )
        == []
    )


@pytest.mark.parametrize(
    ("rule", "field", "message"),
    [
        ({"rule": " "}, "rule", "Required value: rule is not specified"),
        ({"rule": "true", "message": " "}, "message", 'Invalid value: " ": message must be non-empty if specified'),
        (
            {"rule": "true ||\nfalse"},
            "message",
            "Required value: message must be specified if rule contains line breaks",
        ),
        ({"rule": "true", "reason": "Bad"}, "reason", 'Unsupported value: "Bad"'),
        ({"rule": "true", "fieldPath": ".nope"}, "fieldPath", 'Invalid value: ".nope": fieldPath must be a valid path'),
        (
            {"rule": "true", "optionalOldSelf": True},
            "optionalOldSelf",
            "Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ],
)
def test_the_words_of_a_rule_are_checked(rule: dict[str, Any], field: str, message: str) -> None:
    (cause,) = rules.problems(_root(n={"type": "integer"}) | {_RULES: [rule]}, "schema")
    assert cause.field == f"schema.{_RULES}[0].{field}"
    assert cause.message.startswith(message)
