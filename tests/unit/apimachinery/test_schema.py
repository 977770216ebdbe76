"""Types of fields: what passes, what is refused and in which words, what is dropped."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery import schema, schemas
from apimachinery.gvr import GVK
from apimachinery.schema import List, Struct

_REFUSED = "json: cannot unmarshal "
DEPLOYMENT = GVK("apps", "v1", "Deployment")
POD = GVK("", "v1", "Pod")


@pytest.fixture(scope="module")
def known() -> schemas.Schemas:
    return schemas.Schemas.load()


def checked(known: schemas.Schemas, gvk: GVK, value: Any) -> tuple[Any, list[str]]:
    node, walk = known.of(gvk), schema.Walk()
    assert node is not None
    return node.check(value, walk), walk.unknown


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"spec": {"replicas": "3"}},
            _REFUSED + "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"spec": {"replicas": 2**40}},
            _REFUSED + "number 1099511627776 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"spec": {"replicas": 1.5}},
            _REFUSED + "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ({"spec": []}, _REFUSED + "array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        (
            {"metadata": {"labels": {"a": 1}}},
            _REFUSED + "number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            {"spec": {"template": {"spec": {"containers": [{"env": [{"name": "a", "value": True}]}]}}}},
            _REFUSED + "bool into Go struct field EnvVar.spec.template.spec.containers.env.value of type string",
        ),
        (
            {"spec": {"template": {"spec": {"containers": {}}}}},
            _REFUSED + "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        ([], _REFUSED + "array into Go value of type v1.Deployment"),
        (
            {"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "1 core"}}}]}}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            {"metadata": {"creationTimestamp": "yesterday"}},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
    ],
)
def test_a_wrong_type_is_told_as_upstreams_decoder_tells_it(known: schemas.Schemas, value: Any, message: str) -> None:
    with pytest.raises(schema.TypeMismatch) as caught:
        checked(known, DEPLOYMENT, value)
    assert str(caught.value) == message


def test_unknown_fields_go_and_are_noted_with_their_paths(known: schemas.Schemas) -> None:
    value = {"spec": {"foo": 1, "containers": [{"name": "a"}, {"bar": {}, "name": "b"}]}, "x": 1}
    kept, unknown = checked(known, POD, value)
    assert kept == {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    assert sorted(unknown) == ["spec.containers[1].bar", "spec.foo", "x"]


def test_null_means_absent_and_within_lists_and_maps_nothing_at_all(known: schemas.Schemas) -> None:
    value = {"metadata": {"labels": {"a": None}}, "spec": {"containers": [{"args": [None, "x"], "env": None}]}}
    kept, _ = checked(known, POD, value | {"status": None})
    assert kept == {"metadata": {"labels": {"a": ""}}, "spec": {"containers": [{"args": ["", "x"]}]}}


def test_quantities_and_times_become_canonical(known: schemas.Schemas) -> None:
    requests = {"cpu": 0.5, "memory": "1024Mi", "example.com/gpu": 2}
    value = {
        "metadata": {"creationTimestamp": "2026-01-01T02:00:00.5+02:00"},
        "spec": {"containers": [{"resources": {"requests": requests}}]},
    }
    kept, _ = checked(known, POD, value)
    assert kept["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert kept["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "500m",
        "memory": "1Gi",
        "example.com/gpu": "2",
    }


def test_micro_times_have_six_digits(known: schemas.Schemas) -> None:
    lease = GVK("coordination.k8s.io", "v1", "Lease")
    kept, _ = checked(known, lease, {"spec": {"renewTime": "2026-01-01T00:00:00Z"}})
    assert kept["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("text", ["%%%", "YQ", "YWJj=", "Y W J j"])
def test_data_that_is_no_base64_is_refused(known: schemas.Schemas, text: str) -> None:
    with pytest.raises(schema.TypeMismatch, match="illegal base64 data at input byte"):
        checked(known, GVK("", "v1", "Secret"), {"data": {"k": text}})


def test_ports_are_numbers_or_names(known: schemas.Schemas) -> None:
    service = GVK("", "v1", "Service")
    for value in (80, "http"):
        kept, _ = checked(known, service, {"spec": {"ports": [{"targetPort": value}]}})
        assert kept["spec"]["ports"][0]["targetPort"] == value
    with pytest.raises(schema.TypeMismatch):
        checked(known, service, {"spec": {"ports": [{"targetPort": 2**40}]}})


def test_types_that_hold_themselves_are_compiled(known: schemas.Schemas) -> None:
    definition = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    inner = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "nonsense": 1}}}
    _, unknown = checked(known, definition, {"spec": {"versions": [{"schema": {"openAPIV3Schema": inner}}]}})
    assert unknown == ["spec.versions[0].schema.openAPIV3Schema.properties.nonsense"]


def test_merge_keys_and_list_types_come_from_the_definitions(known: schemas.Schemas) -> None:
    spec = known.named("io.k8s.api.core.v1.PodSpec")
    assert isinstance(spec, Struct)
    containers = spec.fields["containers"]
    assert (containers.strategies, containers.merge_key) == (("merge",), "name")
    assert isinstance(containers.node, List)
    assert (containers.node.list_type, containers.node.keys) == ("map", ("name",))
    assert spec.fields["volumes"].strategies == ("merge", "retainKeys")


def test_definitions_are_upstream_shaped(known: schemas.Schemas) -> None:
    definitions = known.definitions(["io.k8s.api.core.v1.ConfigMap"])
    config_map = definitions["io.k8s.api.core.v1.ConfigMap"]
    assert config_map["type"] == "object"
    assert "enum" not in config_map["properties"]["kind"]
    assert (
        config_map["properties"]["metadata"]["$ref"] == "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    )
    assert config_map["description"]
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.Time" in definitions, "what it uses comes along"
    everything = known.definitions()
    assert everything["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"
    assert everything["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["format"] == "int-or-string"
