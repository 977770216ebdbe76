"""Selecting by bytes first never loses what selecting by fields would find."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import errors
from apiserver.registry import selection
from apiserver.registry.options import ListOptions
from apiserver.scheme import table
from apiserver.scheme.resources import Resource
from apiserver.storage.types import Stored


def row(resource: str, group: str = "") -> Resource:
    [found] = [row for row in table.BUILTIN if (row.group, row.resource) == (group, resource)]
    return found


def pod(labels: dict[str, str], node: str | None) -> Stored:
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": labels}, "spec": {"nodeName": node}}
    return Stored("/registry/pods/d/p", orjson.dumps(obj), 1)


_labels = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", ""]), max_size=2)
_label_terms = st.sampled_from(["a=x", "a!=x", "a in (x,y)", "a notin (x)", "b", "!b", "a="])
_field_terms = st.sampled_from(["spec.nodeName=n1", "spec.nodeName!=n1", "spec.nodeName=", "metadata.name=p"])


@given(
    st.lists(_label_terms, max_size=2), st.lists(_field_terms, max_size=2), _labels, st.sampled_from([None, "n1", "n2"])
)
def test_bytes_and_fields_agree(
    label_terms: list[str], terms: list[str], labels: dict[str, str], node: str | None
) -> None:
    options = ListOptions.from_query({"labelSelector": ",".join(label_terms), "fieldSelector": ",".join(terms)})
    matches = selection.matcher(row("pods"), options)
    by_fields = {"spec.nodeName": node or "", "metadata.name": "p"}
    expected = options.label_selector.matches(labels) and all(
        (by_fields[item.field] == item.value) is item.equal for item in options.field_selector
    )
    assert (True if matches is None else matches(pod(labels, node))) is expected


def test_nothing_asked_is_no_test_at_all() -> None:
    assert selection.matcher(row("pods"), ListOptions()) is None


@pytest.mark.parametrize(
    ("resource", "group", "field", "obj", "value"),
    [
        ("nodes", "", "spec.unschedulable", {"spec": {}}, "false"),
        ("nodes", "", "spec.unschedulable", {"spec": {"unschedulable": True}}, "true"),
        ("pods", "", "spec.hostNetwork", {}, "false"),
        ("replicasets", "apps", "status.replicas", {}, "0"),
        ("jobs", "batch", "status.successful", {"status": {"succeeded": 2}}, "2"),
        ("events", "", "source", {"source": {"component": "kubelet"}}, "kubelet"),
        ("secrets", "", "type", {"type": "Opaque"}, "Opaque"),
        ("events", "", "involvedObject.name", {"involvedObject": {"name": "p"}}, "p"),
    ],
)
def test_fields_are_read_as_upstream_reads_them(
    resource: str, group: str, field: str, obj: dict[str, object], value: str
) -> None:
    item = Stored("k", orjson.dumps({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}} | obj), 1)
    for asked, expected in ((value, True), ("another", False)):
        matches = selection.matcher(row(resource, group), ListOptions.from_query({"fieldSelector": f"{field}={asked}"}))
        assert matches is not None
        assert matches(item) is expected


@pytest.mark.parametrize("query", [{"labelSelector": "a in"}, {"fieldSelector": "x"}, {"limit": "many"}])
def test_malformed_queries_are_bad_requests(query: dict[str, str]) -> None:
    with pytest.raises(errors.BadRequest):
        ListOptions.from_query(query)
