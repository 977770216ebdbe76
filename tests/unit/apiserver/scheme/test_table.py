"""The resource table: complete, consistent, and the same as upstream where it is odd."""

from __future__ import annotations

import pytest

from apimachinery import schemas
from apimachinery.gvr import GVK
from apiserver.scheme import defaults, table
from apiserver.scheme.resources import ALL_VERBS, Resource
from apiserver.scheme.scheme import Scheme


@pytest.fixture(scope="module")
def known() -> schemas.Schemas:
    return schemas.Schemas.load()


@pytest.mark.parametrize("row", table.BUILTIN, ids=lambda row: f"{row.group}/{row.resource}")
def test_every_row_has_a_schema_and_sound_verbs(known: schemas.Schemas, row: Resource) -> None:
    assert known.of(row.gvk) is not None
    assert set(row.verbs) <= set(ALL_VERBS)
    assert list(row.verbs) == sorted(row.verbs)
    for sub in row.subresources:
        assert list(sub.verbs) == sorted(sub.verbs)
        assert sub.kind is None or known.of(sub.kind) is not None or sub.kind.kind.endswith("Options")


def test_every_default_belongs_to_a_row() -> None:
    assert set(defaults.TABLE) <= {row.gvk for row in table.BUILTIN}


def test_no_two_rows_have_one_name_and_short_names_are_told_apart_by_group() -> None:
    assert len({row.gvr for row in table.BUILTIN}) == len(table.BUILTIN)
    shared = {("ev",), ("hpa",)}  # one kind in two versions or groups
    names = [row.short_names for row in table.BUILTIN if row.short_names and row.short_names not in shared]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("group", "resource", "key"),
    [
        ("", "pods", "/registry/pods/ns/x"),
        ("", "nodes", "/registry/minions/x"),
        ("", "services", "/registry/services/specs/ns/x"),
        ("", "endpoints", "/registry/services/endpoints/ns/x"),
        ("", "replicationcontrollers", "/registry/controllers/ns/x"),
        ("", "events", "/registry/events/ns/x"),
        ("events.k8s.io", "events", "/registry/events/ns/x"),
        ("apps", "deployments", "/registry/deployments/ns/x"),
        ("networking.k8s.io", "ingresses", "/registry/ingress/ns/x"),
        ("coordination.k8s.io", "leases", "/registry/leases/ns/x"),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "/registry/apiextensions.k8s.io/customresourcedefinitions/x",
        ),
    ],
)
def test_keys_in_etcd_are_upstreams(group: str, resource: str, key: str) -> None:
    [row] = [row for row in table.BUILTIN if (row.group, row.resource) == (group, resource)]
    assert row.key("ns", "x") == key
    assert key.startswith(row.range("ns" if row.namespaced else ""))


def test_rows_come_and_go_and_each_change_is_a_new_generation() -> None:
    scheme = Scheme.builtin()
    before = scheme.generation
    row = Resource("example.com", "v1", "widgets", "Widget", "widget", True, "/registry/example.com/widgets")
    scheme.add(row)
    assert scheme.find("example.com", "v1", "widgets") is row
    assert scheme.by_kind(GVK("example.com", "v1", "Widget")) is row
    assert scheme.groups()["example.com"] == {"v1": [row]}
    scheme.remove(row)
    assert scheme.find("example.com", "v1", "widgets") is None
    assert "example.com" not in scheme.groups()
    assert scheme.generation == before + 2


def test_reviews_are_not_stored() -> None:
    scheme = Scheme.builtin()
    review = scheme.find("authorization.k8s.io", "v1", "subjectaccessreviews")
    pods = scheme.find("", "v1", "pods")
    assert review is not None and not scheme.is_stored(review)
    assert pods is not None and scheme.is_stored(pods)
