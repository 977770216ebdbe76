"""What is written in the protobuf form is read back as it was."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from apimachinery import protobuf
from tests.unit.apimachinery.test_protobuf import entry, envelope, field

META = {"name": "a", "namespace": "ns", "labels": {"x": "1", "y": ""}}


@pytest.mark.parametrize(
    "obj",
    [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"k": "v"}, "binaryData": {"b": "AAE="}},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **META,
                "creationTimestamp": "2024-01-02T03:04:05Z",
                "deletionGracePeriodSeconds": 0,
                "managedFields": [{"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:a": {}}}}],
                "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": False}],
            },
            "spec": {
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/"}}],
                "containers": [
                    {
                        "name": "c",
                        "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
                        "livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": 3},
                        "readinessProbe": {"tcpSocket": {"port": 80}},
                    }
                ],
                "tolerations": [{"key": "k", "tolerationSeconds": -7}],
                "hostNetwork": True,
            },
        },
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": META,
            "spec": {"renewTime": "2024-01-02T03:04:05.123456Z", "leaseDurationSeconds": 15},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMapList",
            "metadata": {"resourceVersion": "7", "remainingItemCount": 3},
            "items": [{"metadata": {"name": "a"}, "data": {"a": "b"}}, {"metadata": {"name": "b"}}],
        },
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": {"user": "u", "extra": {"scopes": ["a", "b"]}},
            "status": {"allowed": True},
        },
        {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404},
        {
            "apiVersion": "meta.k8s.io/v1",
            "kind": "PartialObjectMetadataList",
            "metadata": {"resourceVersion": "7"},
            "items": [{"metadata": {"name": "a"}}],
        },
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "a"},
            "spec": {
                "group": "g",
                "names": {"plural": "as", "kind": "A", "shortNames": ["x"]},
                "scope": "Cluster",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": False,
                        "subresources": {"status": {}, "scale": {"specReplicasPath": ".a", "statusReplicasPath": ".b"}},
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {
                                    "a": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
                                    "b": {
                                        "type": "object",
                                        "additionalProperties": {"type": "integer", "minimum": 0.5},
                                    },
                                    "c": {"additionalProperties": False, "items": [{"type": "string"}]},
                                    "d": {"default": {"x": [1, "2", None]}, "enum": [1, "two"], "nullable": True},
                                    "e": {"dependencies": {"f": ["g", "h"], "i": {"type": "string"}}},
                                },
                                "x-kubernetes-validations": [{"rule": "self.a", "optionalOldSelf": False}],
                                "x-kubernetes-list-map-keys": ["k"],
                            }
                        },
                    }
                ],
            },
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1.g"},
            "spec": {
                "group": "g",
                "version": "v1",
                "service": {"namespace": "n", "name": "s", "port": 443},
                "caBundle": "AAE=",
                "groupPriorityMinimum": 0,
                "versionPriority": 5,
            },
        },
    ],
    ids=lambda obj: str(obj["kind"]),
)
def test_objects_come_back_as_they_went(obj: dict[str, Any]) -> None:
    assert protobuf.decode(protobuf.encode(obj)) == obj


def test_an_object_is_written_byte_by_byte_as_others_write_it() -> None:
    body = field(1, field(1, "a")) + field(2, entry("k", "v"))
    written = protobuf.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}})
    assert written == envelope("v1", "ConfigMap", body)


def test_what_the_message_does_not_know_is_left_out_and_null_is_nothing() -> None:
    written = protobuf.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": None, "odd": 1, "data": {"k": "v"}})
    assert protobuf.decode(written) == {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}}


def test_an_event_is_a_bare_message_behind_its_length_that_holds_an_object_with_its_envelope() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    frame = protobuf.event("ADDED", obj)
    (length,) = struct.unpack(">I", frame[:4])
    assert length == len(frame) - 4
    assert frame[4:] == field(1, "ADDED") + field(2, field(1, protobuf.encode(obj)))


def test_kinds_without_a_message_are_known_as_such() -> None:
    assert not protobuf.message_of("example.com/v1", "Widget")
    assert not protobuf.message_of("example.com/v1", "WidgetList")
    assert protobuf.message_of("apps/v1", "DeploymentList")
