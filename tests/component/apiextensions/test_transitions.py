"""CEL rules that say why they refuse, compare with what was, and are refused themselves with their definition."""

from __future__ import annotations

from typing import Any

import httpx

from tests.component.apiextensions.conftest import Group

Json = dict[str, Any]
_RULES = "x-kubernetes-validations"


def _version(spec: Json, *rules: Json) -> Json:
    schema = {"type": "object", "properties": {"spec": spec}, _RULES: list(rules)}
    return {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}


def _replicas(*rules: Json) -> Json:
    fields = {"replicas": {"type": "integer"}, "max": {"type": "integer"}, "name": {"type": "string", "maxLength": 20}}
    return {"type": "object", "properties": fields, _RULES: list(rules)}


def test_a_rule_says_why_where_and_compares_with_what_was(group: Group, admin: httpx.Client) -> None:
    spec = _replicas(
        {
            "rule": "!has(self.max) || self.replicas <= self.max",
            "messageExpression": "'%d is more than %d'.format([self.replicas, self.max])",
            "fieldPath": ".replicas",
            "reason": "FieldValueForbidden",
        },
        {"rule": "!has(oldSelf.name) || self.name == oldSelf.name", "message": "name is immutable"},
    )
    path = group.define("rulers", _version(spec, {"rule": "self.metadata.name.startsWith('ok-')"}))
    body = {"apiVersion": f"{group.name}/v1", "kind": "Ruler", "metadata": {"name": "ok-a"}}
    refused = admin.post(path, json=body | {"spec": {"replicas": 3, "max": 2}})
    assert refused.status_code == 422
    assert refused.json()["details"]["causes"] == [
        {"reason": "FieldValueForbidden", "message": "Forbidden: 3 is more than 2", "field": "spec.replicas"}
    ]
    misnamed = admin.post(path, json=body | {"metadata": {"name": "a"}, "spec": {"replicas": 1}}).json()["message"]
    assert "<nil>: Invalid value: \"object\": failed rule: self.metadata.name.startsWith('ok-')" in misnamed
    assert admin.post(path, json=body | {"spec": {"replicas": 1, "max": 2, "name": "x"}}).status_code == 201
    merge = {"content-type": "application/merge-patch+json"}
    renamed = admin.patch(f"{path}/ok-a", json={"spec": {"name": "y"}}, headers=merge)
    assert renamed.status_code == 422
    assert renamed.json()["details"]["causes"][0]["message"] == 'Invalid value: "object": name is immutable'
    assert admin.patch(f"{path}/ok-a", json={"spec": {"replicas": 2}}, headers=merge).status_code == 200


def test_a_wrong_rule_is_refused_in_upstreams_words(group: Group) -> None:
    spec = _replicas({"rule": "self.replica > 0"}, {"rule": "self.replicas"}, {"rule": "oldSelf.replicas > 0"})
    spec["properties"]["tags"] = {
        "type": "array",
        "items": {"type": "string", _RULES: [{"rule": "self == oldSelf"}]},
        _RULES: [{"rule": "self.all(x, x.contains('gpu'))"}],
    }
    answer = group.refused(group.body("wrongs", _version(spec)))
    told: dict[str, list[str]] = {}
    for cause in answer["details"]["causes"]:
        told.setdefault(cause["field"].partition("[spec].")[2], []).append(cause["message"])
    assert "compilation failed: ERROR: <input>:1:5: undefined field 'replica'" in told[f"{_RULES}[0].rule"][0]
    assert told[f"{_RULES}[1].rule"][0].endswith("cel expression must evaluate to a bool")
    dear, total = told[f"properties[tags].{_RULES}[0].rule"]
    assert dear.startswith("Forbidden: estimated rule cost exceeds budget by factor of more than 100x")
    assert total.endswith("contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema")
    *_, uncorrelated, _ = told[f"properties[tags].items.{_RULES}[0].rule"]
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema within spec." in uncorrelated
