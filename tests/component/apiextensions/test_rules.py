"""CEL rules of schemas, on the whole path: refused, told where and how, compared with what was before."""

from __future__ import annotations

import httpx

from tests.component.apiextensions.conftest import Group, Json, spec, version

MERGE = {"content-type": "application/merge-patch+json"}


def ruled(*rules: Json) -> Json:
    fields = {"low": {"type": "integer"}, "high": {"type": "integer"}, "name": {"type": "string", "maxLength": 20}}
    return version(schema=spec(**fields) | {"x-kubernetes-validations": list(rules)})


def test_a_rule_refuses_in_its_own_words_at_its_own_field(group: Group, admin: httpx.Client) -> None:
    path = group.define(
        "lamps",
        ruled(
            {"rule": "self.low <= self.high", "message": "low must not be above high"},
            {
                "rule": "self.name != 'bad'",
                "messageExpression": "'not ' + self.name",
                "fieldPath": ".name",
                "reason": "FieldValueForbidden",
            },
        ),
    )
    good = group.object("lamps", "a", spec={"low": 1, "high": 2, "name": "x"})
    assert admin.post(path, json=good).status_code == 201
    bad = group.object("lamps", "b", spec={"low": 3, "high": 2, "name": "bad"})
    told = admin.post(path, json=bad).json()["details"]["causes"]
    assert [(cause["field"], cause["reason"]) for cause in told] == [
        ("spec", "FieldValueInvalid"),
        ("spec.name", "FieldValueForbidden"),
    ]
    assert told[0]["message"].endswith("low must not be above high")
    assert told[1]["message"].endswith("not bad")


def test_a_transition_rule_compares_with_what_was_before(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", ruled({"rule": "self.low >= oldSelf.low", "message": "low may only rise"}))
    admin.post(path, json=group.object("lamps", "a", spec={"low": 5}))
    assert admin.patch(f"{path}/a", json={"spec": {"low": 6}}, headers=MERGE).status_code == 200
    refused = admin.patch(f"{path}/a", json={"spec": {"low": 4}}, headers=MERGE)
    assert refused.status_code == 422
    assert "low may only rise" in refused.json()["message"]


def test_rules_wait_until_the_values_are_of_the_right_type(group: Group, admin: httpx.Client) -> None:
    path = group.define("lamps", ruled({"rule": "self.low <= self.high"}))
    told = admin.post(path, json=group.object("lamps", "a", spec={"low": "x", "high": 1})).json()
    assert [cause["field"] for cause in told["details"]["causes"]] == ["spec.low", "<nil>"]
    assert "some validation rules were not checked because the object was invalid" in told["message"]


def test_a_rule_that_does_not_compile_or_costs_too_much_is_refused_with_its_definition(group: Group) -> None:
    told = group.refused(group.body("lamps", ruled({"rule": "self.low +"})))["details"]["causes"]
    here = "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    assert [cause["field"] for cause in told] == [here]
    assert "compilation failed" in told[0]["message"]
    names = {"type": "array", "items": {"type": "string"}}
    rule = {"rule": "self.names.all(x, self.names.all(y, x == y))"}
    schema = spec(names=names) | {"x-kubernetes-validations": [rule]}
    costly = group.refused(group.body("lamps", version(schema=schema)))["message"]
    assert "exceeds budget" in costly
