"""Sets of field paths: the laws of sets, and the form they are stored in."""

from __future__ import annotations

from typing import Any

import pytest
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


_sets = st.lists(_paths, max_size=6).map(_set_of)


def members(fields: FieldSet) -> set[str]:
    return set(fieldset.paths(fields))


@given(_sets, _sets)
def test_sets_obey_the_laws_of_sets(one: FieldSet, other: FieldSet) -> None:
    assert members(fieldset.union(one, other)) == members(one) | members(other)
    assert members(fieldset.intersection(one, other)) == members(one) & members(other)
    assert members(fieldset.difference(one, other)) == members(one) - members(other)


@given(st.lists(_paths, max_size=6))
def test_a_set_has_one_form_whatever_made_it(paths: list[list[str]]) -> None:
    made = _set_of(paths)
    assert made == _set_of(list(reversed(paths)))
    assert list(_keys(made)) == list(_keys(_set_of(list(reversed(paths))))), "equal bytes, too"
    assert fieldset.check(made) == made


@given(_sets, _sets)
def test_results_have_the_form_that_building_gives(one: FieldSet, other: FieldSet) -> None:
    for result in (fieldset.difference(one, other), fieldset.intersection(one, other)):
        assert result == _set_of(_step_paths(result))


def _step_paths(fields: FieldSet, prefix: tuple[str, ...] = ()) -> list[list[str]]:
    found: list[list[str]] = []
    for key, below in fields.items():
        if key == fieldset.HERE:
            found.append(list(prefix))
            continue
        if not below:
            found.append([*prefix, key])
        found += _step_paths(below, (*prefix, key))
    return found


def _keys(fields: FieldSet) -> list[str]:
    return [name for key, below in fields.items() for name in (key, *_keys(below))]


def test_the_stored_form_is_kubernetes() -> None:
    stored: FieldSet = {
        "f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}}, "f:replicas": {}}
    }
    assert list(fieldset.paths(fieldset.check(stored))) == [
        '.spec.containers[name="a"]',
        '.spec.containers[name="a"].image',
        '.spec.containers[name="a"].name',
        ".spec.replicas",
    ]


@pytest.mark.parametrize(
    "stored", [5, None, {"f:data": 5}, {"odd": {}}, {"f:a": {"k:[1]": {}}}, {"f:a": {"v:{": {}}}, {"f:a": {"x:1": {}}}]
)
def test_what_is_no_set_is_refused(stored: Any) -> None:
    with pytest.raises(fieldset.FieldSetError):
        fieldset.check(stored)
