"""JSON patch and merge patch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import patch

_keys = st.sampled_from(["a", "b", "c"])
_objects = st.recursive(
    st.dictionaries(_keys, st.integers(0, 3) | st.none(), max_size=3),
    lambda inner: st.dictionaries(_keys, inner | st.lists(st.integers(0, 3), max_size=2), max_size=3),
    max_leaves=8,
)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


@given(_objects, _objects)
def test_a_merge_patch_twice_is_a_merge_patch_once(document: Any, change: Any) -> None:
    once = patch.merge_patch(document, change)
    assert patch.merge_patch(once, change) == once


@given(_objects)
def test_a_merge_patch_of_nothing_is_the_patch_without_its_nulls(change: Any) -> None:
    assert patch.merge_patch({}, change) == _without_nulls(change)


@pytest.mark.parametrize(
    ("document", "change", "result"),
    [  # the table of RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_merges_of_the_standard(document: Any, change: Any, result: Any) -> None:
    assert patch.merge_patch(document, change) == result


def test_json_patch_operations() -> None:
    document = {"a": [1, 2], "b": {"c": 1}}
    operations = [
        {"op": "test", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/-", "value": 3},
        {"op": "remove", "path": "/a/0"},
        {"op": "move", "from": "/b/c", "path": "/d"},
        {"op": "copy", "from": "/a", "path": "/b/a"},
        {"op": "replace", "path": "/d", "value": 9},
    ]
    assert patch.json_patch(document, operations) == {"a": [2, 3], "b": {"a": [2, 3]}, "d": 9}
    assert document == {"a": [1, 2], "b": {"c": 1}}, "the argument stays as it was"


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/missing"},
        {"op": "replace", "path": "/a/7", "value": 1},
        {"op": "test", "path": "/a", "value": 1},
        {"op": "copy", "from": "/x", "path": "/y"},
        {"op": "add", "path": "/a/b/c", "value": 1},
    ],
)
def test_a_patch_that_does_not_fit_is_refused(operation: Any) -> None:
    with pytest.raises(patch.PatchRefused) as caught:
        patch.json_patch({"a": ["secret"]}, [operation])
    assert "secret" not in str(caught.value), "an error does not repeat the document"


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        ({}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([1], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            [{"op": "add", "path": 5}],
            "json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
    ],
)
def test_what_is_no_patch_is_told(operations: Any, why: str) -> None:
    with pytest.raises(patch.PatchError) as caught:
        patch.json_patch({}, operations)
    assert (type(caught.value), str(caught.value)) == (patch.PatchError, why)


@pytest.mark.parametrize("operation", [{"path": "/a"}, {"op": "jump", "path": "/a"}, {"op": "add"}])
def test_an_operation_that_says_nothing_is_refused_only_when_it_is_run(operation: Any) -> None:
    with pytest.raises(patch.PatchRefused):
        patch.json_patch({}, [operation])


def test_an_operation_without_a_value_has_null() -> None:
    assert patch.json_patch({}, [{"op": "add", "path": "/a"}]) == {"a": None}


def test_fields_that_no_operation_has_are_found() -> None:
    assert patch.unknown_in_operations([{"op": "add"}, {"op": "add", "vlaue": 1}]) == ["[1].vlaue"]


def test_copies_that_double_are_stopped() -> None:
    operations = [{"op": "copy", "from": "/a", "path": f"/a/{index}"} for index in range(40)]
    with pytest.raises(patch.PatchRefused, match="accumulated size"):
        patch.json_patch({"a": {"x": "y" * 100}}, operations)


def test_too_many_operations_are_refused() -> None:
    with pytest.raises(patch.PatchTooLarge, match="10000, got 10001"):
        patch.json_patch({}, [{"op": "test", "path": "", "value": {}}] * 10_001)
