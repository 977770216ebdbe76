"""Pruning, defaulting, list types and embedded objects, on plain values."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.apiextensions import defaulting, embedded, listtypes, pruning
from apiserver.apiextensions.structural import Structural

_SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "default": 3},
        "inner": {"type": "object", "default": {}, "properties": {"deep": {"type": "string", "default": "x"}}},
        "outer": {"type": "object", "properties": {"deep": {"type": "string", "default": "x"}}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"on": {"default": True}}}},
        "map": {"type": "object", "additionalProperties": {"type": "integer", "default": 7}},
        "maybe": {"type": "string", "nullable": True},
    },
}
_ROOT = Structural({"type": "object", "properties": {"spec": _SPEC}})


def pruned(value: Any, schema: dict[str, Any]) -> tuple[Any, list[str]]:
    unknown: list[str] = []
    pruning.prune(value, Structural(schema), [], unknown, is_resource=True)
    return value, unknown


def defaulted(spec: Any) -> Any:
    value = {"spec": spec}
    defaulting.default(value, _ROOT)
    return value["spec"]


def test_what_no_schema_describes_is_pruned_and_told_where_it_was() -> None:
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}
        },
    }
    value, unknown = pruned({"apiVersion": "v1", "metadata": {"any": 1}, "list": [{"a": 1}, {"b": 2}], "c": 3}, schema)
    assert value == {"apiVersion": "v1", "metadata": {"any": 1}, "list": [{"a": 1}, {}]}
    assert unknown == ["list[1].b", "c"]


def test_preserved_fields_stay_but_described_ones_within_are_pruned() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": inner}}
    value, unknown = pruned({"free": {"a": 1}, "known": {"x": 1, "y": 2}}, schema)
    assert value == {"free": {"a": 1}, "known": {"x": 1}}
    assert unknown == ["known.y"]


def test_defaults_stand_where_nothing_was_and_in_defaults_but_not_in_what_is_absent() -> None:
    assert defaulted({}) == {"size": 3, "inner": {"deep": "x"}}
    assert defaulted({"outer": {}, "items": [{}], "size": 1}) == {
        "outer": {"deep": "x"},
        "items": [{"on": True}],
        "size": 1,
        "inner": {"deep": "x"},
    }


def test_null_gives_way_to_a_default_goes_or_stays() -> None:
    full = {"size": None, "outer": None, "maybe": None, "inner": {"deep": "y"}, "map": {"a": None}}
    assert defaulted(full) == {"size": 3, "maybe": None, "inner": {"deep": "y"}, "map": {"a": 7}}


def test_defaults_are_not_shared_between_objects() -> None:
    defaulted({})["inner"]["deep"] = "changed"
    assert defaulted({})["inner"] == {"deep": "x"}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*sorted(_SPEC["properties"]), "deep", "on", "odd"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_JSON)
def test_tidying_twice_is_tidying_once_whatever_the_value(value: Any) -> None:
    root = {"spec": copy.deepcopy(value)}
    for _ in range(2):
        pruning.prune(root, _ROOT, [], [], is_resource=True)
        defaulting.default(root, _ROOT)
        before = copy.deepcopy(root)
    pruning.prune(root, _ROOT, [], [], is_resource=True)
    defaulting.default(root, _ROOT)
    assert root == before


def test_items_that_are_there_twice_are_told_by_their_keys() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map"}
    node = Structural(keyed | {"x-kubernetes-list-map-keys": ["name"]})
    found = listtypes.duplicates([{"name": "a", "port": 1}, {"name": "b"}, {"name": "a", "port": 2}], node, "spec.x")
    assert [(cause.field, cause.message) for cause in found] == [("spec.x[2]", 'Duplicate value: {"name":"a"}')]
    values = Structural({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})
    assert [cause.field for cause in listtypes.duplicates(["a", "b", "a"], values, "x")] == ["x[2]"]


def test_embedded_objects_need_a_type() -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    node = Structural({"type": "object", "properties": {"list": {"type": "array", "items": inner}}})
    found = embedded.problems({"list": [{"apiVersion": "v1", "kind": "Pod"}, {}]}, node)
    assert [cause.field for cause in found] == ["list[1].apiVersion", "list[1].kind"]
