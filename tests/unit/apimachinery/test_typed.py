"""Configurations against their types: the words of upstream's server-side apply."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery import schemas, typed
from apimachinery.gvr import GVK

SCHEMAS = schemas.Schemas.load()


def problems(kind: str, group: str = "", **fields: Any) -> list[str]:
    node = SCHEMAS.of(GVK(group, "v1", kind))
    assert node is not None
    return typed.problems(fields, node)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"foo": 1}, ".spec.foo: field not declared in schema"),
        ({"replicas": "3"}, ".spec.replicas: expected numeric (int or float), got string"),
        ({"replicas": True}, ".spec.replicas: expected numeric (int or float), got bool"),
        ({"paused": "yes"}, ".spec.paused: expected boolean, got &{yes}"),
        ({"template": []}, ".spec.template: expected map, got &{[]}"),
        (
            {"template": {"spec": {"containers": {"a": 1}}}},
            ".spec.template.spec.containers: expected list, got &{map[a:1]}",
        ),
        (
            {"template": {"spec": {"containers": [{"name": "a", "image": 5}]}}},
            '.spec.template.spec.containers[name="a"].image: expected string, got &value.valueUnstructured{Value:5}',
        ),
        (
            {"template": {"spec": {"containers": [{"image": "x"}]}}},
            ".spec.template.spec.containers: element 0: associative list with keys has an element that omits key field "
            '"name" (and doesn\'t have default value)',
        ),
        (
            {"template": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}},
            '.spec.template.spec.containers: duplicate entries for key [name="a"]',
        ),
        (
            {"template": {"spec": {"containers": ["a"]}}},
            ".spec.template.spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
        (
            {"template": {"metadata": {"labels": {"a": True}}}},
            ".spec.template.metadata.labels.a: expected string, got &value.valueUnstructured{Value:true}",
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": {}}}},
            ".spec.strategy.rollingUpdate.maxSurge: expected any scalar, got &{map[]}",
        ),
    ],
)
def test_what_does_not_fit_is_told_in_upstreams_words(spec: dict[str, Any], why: str) -> None:
    assert problems("Deployment", "apps", spec=spec) == [why]


def test_what_may_be_left_out_is_no_problem() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    assert problems("Pod", spec={"containers": [{"name": "a", "ports": ports}], "imagePullSecrets": [{}]}) == []
    assert problems("Pod", spec=None) == []
    assert problems("Service", spec={"ports": [{"port": 80, "targetPort": "http"}]}) == []


def test_protocols_that_are_the_default_are_equal() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]
    [why] = problems("Pod", spec={"containers": [{"name": "a", "ports": ports}]})
    assert why == '.spec.containers[name="a"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]'


def test_sets_hold_scalars() -> None:
    found = problems("Pod", metadata={"finalizers": ["a", "a", {}, None, []]})
    assert found == [
        '.metadata.finalizers: duplicate entries for key [="a"]',
        ".metadata.finalizers: element 2: associative list without keys has an element that's a map type",
        ".metadata.finalizers: element 3: associative list without keys has an element that's an explicit null",
        ".metadata.finalizers: element 4: not supported: associative list with lists as elements",
    ]


def test_several_problems_are_one_message() -> None:
    assert typed.text([".a: b"]) == ".a: b"
    assert typed.text([".a: b", ".c: d"]) == "errors:\n  .a: b\n  .c: d"
