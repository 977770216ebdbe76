"""Label and field selectors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import selectors

_names = st.sampled_from(["a", "b", "example.com/c"])
_values = st.sampled_from(["", "x", "y", "1", "20"])
_labels = st.dictionaries(_names, _values, max_size=3)
_terms = st.one_of(
    st.builds("{}={}".format, _names, _values),
    st.builds("{}!={}".format, _names, _values),
    st.builds("{} in (x,{})".format, _names, _values),
    st.builds("{} notin ({},y)".format, _names, _values),
    st.builds("!{}".format, _names),
    _names,
    st.builds("{}>{}".format, _names, st.integers(0, 30)),
)


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a=b", {"a": "c"}, False),
        ("a==b", {"a": "b"}, True),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (b,c)", {"a": "c"}, True),
        ("a in (b)", {}, False),
        ("a notin (b)", {}, True),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a=", {"a": ""}, True),
        ("a>1", {"a": "2"}, True),
        ("a<1", {"a": "2"}, False),
        ("a>1", {"a": "x"}, False),
        ("a=b,c", {"a": "b"}, False),
        (" a = b , c ", {"a": "b", "c": "d"}, True),
        ("x in (,a)", {"x": ""}, True),
    ],
)
def test_the_query_form_selects(text: str, labels: dict[str, str], matches: bool) -> None:
    assert selectors.parse_labels(text).matches(labels) is matches


@given(st.lists(_terms, max_size=3), _labels)
def test_a_selectors_text_selects_the_same(terms: list[str], labels: dict[str, str]) -> None:
    selector = selectors.parse_labels(",".join(terms))
    assert selectors.parse_labels(str(selector)).matches(labels) == selector.matches(labels)


@given(_terms, _terms, _labels)
def test_all_requirements_must_hold(one: str, other: str, labels: dict[str, str]) -> None:
    both = selectors.parse_labels(f"{one},{other}").matches(labels)
    assert both == (selectors.parse_labels(one).matches(labels) and selectors.parse_labels(other).matches(labels))


@pytest.mark.parametrize(
    "text", ["a=b,", ",", "=b", "a in b", "a in (b", "a b", "a~b", "-a=b", "a=b c", "a>x", "!", "a=" + "x" * 64]
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(selectors.SelectorError):
        selectors.parse_labels(text)


def test_the_object_form_selects() -> None:
    selector = selectors.from_label_selector(
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}]}
    )
    assert selector.matches({"a": "b", "c": "e"})
    assert not selector.matches({"a": "b"})
    assert selectors.from_label_selector({}).matches({})
    assert not selectors.from_label_selector(None).matches({})
    with pytest.raises(selectors.SelectorError, match='"Near" is not a valid label selector operator'):
        selectors.from_label_selector({"matchExpressions": [{"key": "a", "operator": "Near"}]})


@pytest.mark.parametrize(
    ("text", "value", "matches"),
    [
        ("f=a", "a", True),
        ("f==a", "b", False),
        ("f!=a", "b", True),
        ("f=", "", True),
        (r"f=a\,b", "a,b", True),
        (r"f=a\=b", "a=b", True),
    ],
)
def test_field_selectors(text: str, value: str, matches: bool) -> None:
    parsed = selectors.parse_fields(text)
    assert selectors.fields_match(parsed, lambda field: value if field == "f" else "") is matches


@pytest.mark.parametrize("text", ["f", "f>1", "=a"])
def test_what_is_no_field_selector_is_refused(text: str) -> None:
    with pytest.raises(selectors.SelectorError):
        selectors.parse_fields(text)


def test_a_selector_of_a_map_is_equality() -> None:
    selector = selectors.from_set({"a": "b"})
    assert selector.matches({"a": "b", "c": "d"})
    assert not selector.matches({"c": "d"})
