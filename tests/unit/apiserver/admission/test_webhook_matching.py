"""Which writes a webhook hears of."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver.admission.chain import Review
from apiserver.admission.webhooks import calling, configuration, matching
from apiserver.admission.webhooks.configuration import Webhook
from apiserver.registry.call import Call, User
from apiserver.scheme.resources import Resource
from apiserver.storage.types import Event, Stored

PODS = Resource("", "v1", "pods", "Pod", "pod", True, "/registry/pods")
NODES = Resource("", "v1", "nodes", "Node", "node", False, "/registry/minions")


def webhook(**fields: Any) -> Webhook:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["pods"]}
    spec = {"name": "w.example.com", "rules": [rule], **fields}
    registered = configuration.Webhooks(configuration.VALIDATING)
    body = {"metadata": {"name": "c"}, "webhooks": [spec]}
    registered.apply(Event(False, Stored(f"{configuration.VALIDATING}c", orjson.dumps(body), 1), None))
    return next(iter(registered))


def review(resource: Resource = PODS, operation: str = "CREATE", sub: str = "", **labels: str) -> Review:
    namespace = "ns" if resource.namespaced else ""
    call = Call(User("u"), resource, "create", namespace, "", sub)
    return Review(call, operation, {"metadata": {"name": "x", "labels": labels}}, None)


@pytest.mark.parametrize(
    ("rule", "sub", "operation", "covered"),
    [
        ({}, "", "CREATE", True),
        ({"operations": ["UPDATE"]}, "", "CREATE", False),
        ({"apiGroups": ["apps"]}, "", "CREATE", False),
        ({"apiVersions": ["v2"]}, "", "CREATE", False),
        ({"resources": ["*"]}, "", "CREATE", True),
        ({"resources": ["*"]}, "status", "UPDATE", False),
        ({"resources": ["pods/status"]}, "status", "UPDATE", True),
        ({"resources": ["pods/*"]}, "status", "UPDATE", True),
        ({"resources": ["*/*"]}, "exec", "CONNECT", True),
        ({"scope": "Cluster"}, "", "CREATE", False),
        ({"scope": "Namespaced"}, "", "CREATE", True),
    ],
)
def test_a_rule_names_operations_and_resources(rule: dict[str, Any], sub: str, operation: str, covered: bool) -> None:
    whole = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], **rule}
    assert matching.covers(whole, review(sub=sub, operation=operation)) is covered


def test_a_namespace_selector_looks_at_the_namespaces_labels() -> None:
    selecting = webhook(namespaceSelector={"matchLabels": {"team": "a"}})
    assert matching.wants(selecting, review(), {"metadata": {"labels": {"team": "a"}}})
    assert not matching.wants(selecting, review(), {"metadata": {}})
    everything = webhook(rules=[{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}])
    assert matching.wants(everything, review(NODES), None)


def test_an_object_selector_looks_at_the_new_and_the_old_object() -> None:
    selecting = webhook(objectSelector={"matchLabels": {"on": "yes"}})
    assert matching.wants(selecting, review(on="yes"), None)
    assert not matching.wants(selecting, review(), None)
    changed = Review(review().call, "UPDATE", {"metadata": {}}, {"metadata": {"labels": {"on": "yes"}}})
    assert matching.wants(selecting, changed, None)


def test_webhooks_are_not_asked_about_webhooks() -> None:
    own = Resource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "X", "x", False, "/r")
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    assert not matching.wants(webhook(rules=[rule]), review(own), None)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"no json", "invalid response"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "invalid response"),
        (b'{"kind":"X","apiVersion":"v1","response":{"uid":"1"}}', "expected webhook response"),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"2"}}',
            "expected response.uid",
        ),
    ],
)
def test_a_response_that_is_no_review_is_a_failed_call(body: bytes, problem: str) -> None:
    with pytest.raises(calling.CallFailed, match=problem):
        calling.parse(body, "1")


def test_a_patch_of_an_unknown_type_is_a_failed_call() -> None:
    response = {"uid": "1", "allowed": True, "patch": "W10=", "patchType": "Magic"}
    body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
    with pytest.raises(calling.CallFailed, match="patchType"):
        calling.parse(orjson.dumps(body), "1")
