"""Label and field selectors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import names, selectors

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
    ("text", "why"),
    [
        ("a=b,", "found '', expected: identifier after ','"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a==,,b", "found ',', expected: identifier after ','"),
        ("a=>b", "unable to parse requirement: found '>', expected: identifier"),
        (
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("-a=b", f'unable to parse requirement: <nil>: Invalid value: "-a": {"; ".join(names.qualified_name("-a"))}'),
        (
            "a=" + "x" * 64,
            f'unable to parse requirement: values[0][a]: Invalid value: "{"x" * 64}": '
            f"{'; '.join(names.label_value('x' * 64))}",
        ),
    ],
)
def test_what_is_no_selector_is_refused_in_upstreams_words(text: str, why: str) -> None:
    with pytest.raises(selectors.SelectorError) as caught:
        selectors.parse_labels(text)
    assert str(caught.value) == why


@given(st.text(alphabet="ab=!<>(), in", max_size=12))
def test_any_text_is_a_selector_or_refused(text: str) -> None:
    with contextlib.suppress(selectors.SelectorError):
        selector = selectors.parse_labels(text)
        assert str(selectors.parse_labels(str(selector))) == str(selector)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("in in (in)", {"in": "in"}),
        ("notin notin (in)", {}),
        ("a in ()", {"a": ""}),
        ("a in (b,)", {"a": ""}),
        ("a in (,,b)", {"a": "b"}),
        ("a\tin\n(b , c)", {"a": "c"}),
        ("a=,b", {"a": "", "b": "x"}),
        ("a<9223372036854775807", {"a": "1"}),
    ],
)
def test_odd_selectors_that_are_legal(text: str, labels: dict[str, str]) -> None:
    assert selectors.parse_labels(text).matches(labels)


def test_a_selector_is_written_as_it_was_meant() -> None:
    for text in ("a=b", "a in (b)", "a in (b,c)", "a notin (b)", "a!=b", "a", "!a", "a>1"):
        assert str(selectors.parse_labels(text)) == text


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
