"""Custom resources in OpenAPI: their own schema with what every object has, and hashes that depend on content alone."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery import schemas
from apiserver.openapi import definitions, documents, places
from apiserver.openapi.definitions import Definitions
from apiserver.scheme import table
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme

WIDGET = Resource("example.com", "v1", "widgets", "Widget", "widget", True, "/registry/example.com/widgets")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "nullable": True, "minimum": 1},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}},
            },
        }
    },
}


@pytest.fixture(scope="module")
def known() -> schemas.Schemas:
    return schemas.Schemas.load()


def scheme_with(known: schemas.Schemas, schema: dict[str, Any]) -> Scheme:
    scheme = Scheme(known, table.BUILTIN)
    scheme.add(WIDGET, published=schema)
    return scheme


def document(scheme: Scheme, version: int) -> dict[str, Any]:
    build = documents.v3 if version == 3 else documents.v2
    return build([WIDGET], [], Definitions([WIDGET], scheme.schemas, scheme.published), "v1")


def test_a_custom_resource_is_described_by_its_schema_and_what_every_object_has(known: schemas.Schemas) -> None:
    found = document(scheme_with(known, SCHEMA), 3)["components"]["schemas"]
    widget = found["com.example.v1.Widget"]
    assert set(widget["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert widget["x-kubernetes-group-version-kind"] == [{"group": "example.com", "kind": "Widget", "version": "v1"}]
    reference = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert widget["properties"]["metadata"]["allOf"] == [{"$ref": reference}]
    assert reference.rpartition("/")[2] in found
    items = found["com.example.v1.WidgetList"]["properties"]["items"]
    assert items["items"] == {"$ref": "#/components/schemas/com.example.v1.Widget"}


def test_custom_resources_have_no_strategic_merge(known: schemas.Schemas) -> None:
    path = document(scheme_with(known, SCHEMA), 3)["paths"][
        "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"
    ]
    assert sorted(path["patch"]["requestBody"]["content"]) == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ]


def test_version_2_leaves_out_what_it_cannot_say(known: schemas.Schemas) -> None:
    spec = document(scheme_with(known, SCHEMA), 2)["definitions"]["com.example.v1.Widget"]["properties"]["spec"]
    assert spec["properties"]["size"] == {"minimum": 1}
    assert spec["properties"]["port"] == {"x-kubernetes-int-or-string": True}
    assert spec["properties"]["free"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_a_schema_of_unknown_fields_names_none() -> None:
    assert definitions.for_v2({"type": "object", "x-kubernetes-preserve-unknown-fields": True}) == {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }


def test_hashes_follow_content_and_nothing_else(known: schemas.Schemas) -> None:
    def hashes(scheme: Scheme) -> dict[str, str]:
        return {name: places.fingerprint(name, place, scheme, "v1") for name, place in places.of(scheme).items()}

    first, again = hashes(scheme_with(known, SCHEMA)), hashes(scheme_with(known, SCHEMA))
    other = hashes(scheme_with(known, {**SCHEMA, "description": "changed"}))
    assert first == again
    assert [name for name in first if first[name] != other[name]] == ["apis/example.com/v1"]


def test_workers_that_learnt_of_custom_resources_in_another_order_give_the_same_hashes(known: schemas.Schemas) -> None:
    gizmo = Resource("example.com", "v1", "gizmos", "Gizmo", "gizmo", True, "/registry/example.com/gizmos")
    found = []
    for rows in ([WIDGET, gizmo], [gizmo, WIDGET]):
        scheme = Scheme(known, table.BUILTIN)
        for row in rows:
            scheme.add(row, published=SCHEMA)
        place = places.of(scheme)["apis/example.com/v1"]
        found.append(places.fingerprint("apis/example.com/v1", place, scheme, "v1"))
    assert found[0] == found[1]
