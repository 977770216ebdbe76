"""ValidatingAdmissionPolicy: expressions that refuse, warn and take parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

_GROUP = "/apis/admissionregistration.k8s.io/v1"
Json = dict[str, Any]


class Policies:
    """Policies for the ConfigMaps of one namespace, gone after the test."""

    def __init__(self, admin: httpx.Client, namespace: str, stack: ExitStack) -> None:
        self.admin = admin
        self.namespace = namespace
        self._stack = stack

    def post(self, path: str, body: Json) -> None:
        created = self.admin.post(path, json=body)
        assert created.status_code == 201, created.text
        self._stack.callback(self.admin.delete, f"{path}/{body['metadata']['name']}")

    def policy(self, **spec: Any) -> None:
        rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}
        constraints = {"matchConstraints": {"resourceRules": [rule]}}
        body = {"metadata": {"name": self.namespace}, "spec": constraints | spec}
        self.post(f"{_GROUP}/validatingadmissionpolicies", body)

    def bind(self, name: str, *actions: str, **spec: Any) -> None:
        selected = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}}
        spec = {"policyName": self.namespace, "validationActions": actions, "matchResources": selected} | spec
        self.post(f"{_GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": spec})

    def create(self, name: str, **data: str) -> httpx.Response:
        self.admin.get("/api/v1/namespaces")  # a consistent read: the cache has all that was written before
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        return self.admin.post(path, json={"metadata": {"name": name}, "data": data})


@pytest.fixture
def policies(admin: httpx.Client, namespace: str) -> Iterator[Policies]:
    with ExitStack() as stack:
        yield Policies(admin, namespace, stack)


def test_a_policy_refuses_with_its_message_and_reason(policies: Policies) -> None:
    policies.policy(
        variables=[
            {"name": "size", "expression": "has(object.data) ? object.data.size() : 0"},
            {"name": "big", "expression": "variables.size > 1"},
        ],
        matchConditions=[{"name": "not-exempt", "expression": "!object.metadata.name.startsWith('exempt')"}],
        validations=[
            {
                "expression": "!variables.big",
                "messageExpression": "'%s has %d keys'.format([object.metadata.name, variables.size])",
                "reason": "Forbidden",
            },
            {"expression": "object.metadata.name != 'bad'"},
        ],
    )
    policies.bind(f"{policies.namespace}-b", "Deny")
    assert policies.create("ok", a="1").status_code == 201
    assert policies.create("exempt", a="1", b="2").status_code == 201
    refused = policies.create("big", a="1", b="2")
    name = policies.namespace
    why = f"ValidatingAdmissionPolicy '{name}' with binding '{name}-b' denied request: big has 2 keys"
    assert refused.status_code == 403
    assert refused.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'configmaps "big" is forbidden: {why}',
        "reason": "Forbidden",
        "details": {"name": "big", "kind": "configmaps", "causes": [{"message": why}]},
        "code": 403,
    }
    bad = policies.create("bad")
    assert bad.status_code == 422
    assert bad.json()["message"].endswith("denied request: failed expression: object.metadata.name != 'bad'")


def test_a_binding_may_only_warn(policies: Policies) -> None:
    policies.policy(validations=[{"expression": "false", "message": "no"}])
    policies.bind(f"{policies.namespace}-w", "Warn", "Audit")
    answer = policies.create("a")
    assert answer.status_code == 201
    name = policies.namespace
    told = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}-w': no"
    assert answer.headers["warning"] == f'299 - "{told}"'


@pytest.mark.parametrize(("failure_policy", "code"), [("Fail", 422), ("Ignore", 201)])
def test_an_expression_that_fails_counts_as_the_failure_policy_says(
    policies: Policies, failure_policy: str, code: int
) -> None:
    policies.policy(failurePolicy=failure_policy, validations=[{"expression": "object.data.missing == 'x'"}])
    policies.bind(f"{policies.namespace}-f", "Deny")
    answer = policies.create("a", other="1")
    assert answer.status_code == code
    if code == 422:
        error = "expression 'object.data.missing == 'x'' resulted in error: no such key: missing"
        assert answer.json()["message"].endswith(f"denied request: {error}")


def test_parameters_come_from_objects_that_the_binding_names(policies: Policies) -> None:
    policies.policy(
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConditions=[{"name": "not-itself", "expression": "object.metadata.name != 'limits'"}],
        validations=[{"expression": "object.data.size() <= int(params.data.most)"}],
    )
    policies.bind(f"{policies.namespace}-p", "Deny", paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
    refused = policies.create("a", x="1")
    assert "no params found for policy binding with `Deny` parameterNotFoundAction" in refused.json()["message"]
    policies.admin.delete(f"{_GROUP}/validatingadmissionpolicybindings/{policies.namespace}-p")
    assert policies.create("limits", most="1").status_code == 201
    policies.bind(f"{policies.namespace}-q", "Deny", paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
    assert policies.create("a", x="1").status_code == 201
    assert policies.create("b", x="1", y="2").status_code == 422


def test_wrong_policies_and_bindings_are_refused_field_by_field(admin: httpx.Client) -> None:
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "a-b", "expression": "1"}, {"name": "x", "expression": "object."}],
        "validations": [{"expression": "variables.nothing > 1"}, {"expression": "1", "messageExpression": "2"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "true"}],
    }
    answer = admin.post(f"{_GROUP}/validatingadmissionpolicies", json={"metadata": {"name": "wrong"}, "spec": spec})
    assert answer.status_code == 422
    told = {cause["field"]: cause["message"] for cause in answer.json()["details"]["causes"]}
    assert set(told) == {
        "spec.variables[0].name",
        "spec.variables[1].expression",
        "spec.validations[0].expression",
        "spec.validations[1].expression",
        "spec.validations[1].messageExpression",
        "spec.auditAnnotations[0].valueExpression",
    }
    assert "undefined field 'nothing'" in told["spec.validations[0].expression"]
    assert told["spec.validations[1].expression"] == 'Invalid value: "1": must evaluate to bool but got int'
    assert told["spec.auditAnnotations[0].valueExpression"].endswith(
        "must evaluate to one of [string null] but got bool"
    )
    binding = {"metadata": {"name": "wrong"}, "spec": {"validationActions": ["Deny", "Warn"]}}
    refused = admin.post(f"{_GROUP}/validatingadmissionpolicybindings", json=binding).json()["details"]["causes"]
    assert [cause["field"] for cause in refused] == ["spec.policyName", "spec.validationActions"]


def test_a_mutating_policy_applies_a_configuration_and_patches(policies: Policies) -> None:
    name, rule = policies.namespace, {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"]}
    policies.post(
        f"{_GROUP}/mutatingadmissionpolicies",
        {
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule | {"resources": ["configmaps"]}]},
                "reinvocationPolicy": "Never",
                "variables": [{"name": "count", "expression": "object.data.size()"}],
                "mutations": [
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {
                            "expression": "Object{metadata: Object.metadata{labels: {'keys': string(variables.count)}}}"
                        },
                    },
                    {
                        "patchType": "JSONPatch",
                        "jsonPatch": {
                            "expression": "[JSONPatch{op: 'add', path: '/data/seen', value: "
                            "object.metadata.labels.keys}]"
                        },
                    },
                ],
            },
        },
    )
    selected = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    binding = {"metadata": {"name": name}, "spec": {"policyName": name, "matchResources": selected}}
    policies.post(f"{_GROUP}/mutatingadmissionpolicybindings", binding)
    created = policies.create("a", x="1", y="2")
    assert created.status_code == 201, created.text
    assert created.json()["metadata"]["labels"] == {"keys": "2"}
    assert created.json()["data"] == {"x": "1", "y": "2", "seen": "2"}


def test_a_mutation_of_another_type_is_refused(admin: httpx.Client) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": "Object{spec: Object.spec{}}"}}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never", "mutations": [mutation]}
    body = {"metadata": {"name": "wrong"}, "spec": spec}
    (cause,) = admin.post(f"{_GROUP}/mutatingadmissionpolicies", json=body).json()["details"]["causes"]
    assert cause["field"] == "spec.mutations[0].jsonPatch.expression"
    assert cause["message"].endswith("must evaluate to list(JSONPatch) but got Object")
