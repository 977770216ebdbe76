"""Sets of field paths: the laws of sets, and the form they are stored in."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apimachinery import fieldset
from apimachinery.fieldset import FieldSet

_paths = st.lists(st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"']), min_size=1, max_size=3)


def _set_of(paths: list[list[str]]) -> FieldSet:
    result: FieldSet = {}
    for path in paths:
        one: FieldSet = fieldset.MEMBER
        for step in reversed(path):
            one = {step: one}
        result = fieldset.union(result, one)
    return result


_sets = st.lists(_paths, max_size=5).map(_set_of)


def members(fields: FieldSet) -> set[str]:
    return set(fieldset.paths(fields))


@given(_sets, _sets)
def test_sets_obey_the_laws_of_sets(one: FieldSet, other: FieldSet) -> None:
    assert members(fieldset.union(one, other)) == members(one) | members(other)
    assert members(fieldset.intersection(one, other)) == members(one) & members(other)
    assert members(fieldset.difference(one, other)) == members(one) - members(other)


@given(_sets)
def test_what_is_stored_comes_back(fields: FieldSet) -> None:
    stored: dict[str, Any] = fieldset.to_json(fields)
    assert fieldset.from_json(stored) == fields


def test_the_stored_form_is_kubernetes() -> None:
    stored = {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}}, "f:replicas": {}}}
    fields = fieldset.from_json(stored)
    assert fieldset.to_json(fields) == stored
    assert sorted(fieldset.paths(fields)) == [
        '.spec.containers[name="a"]',
        '.spec.containers[name="a"].image',
        '.spec.containers[name="a"].name',
        ".spec.replicas",
    ]
