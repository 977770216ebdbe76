"""Combinations of read options that upstream refuses."""

from __future__ import annotations

import pytest

from apimachinery import errors
from apiserver.registry import continuation, options
from apiserver.registry.options import ListOptions


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Sometimes", "resourceVersion": "1"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1", "continue": "x"},
        {"sendInitialEvents": "true"},
    ],
)
def test_lists_that_make_no_sense_are_invalid(query: dict[str, str]) -> None:
    with pytest.raises(errors.Invalid, match=r'ListOptions.meta.k8s.io "" is invalid'):
        options.check_list(ListOptions.from_query(query))


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "NotOlderThan"},
        {"sendInitialEvents": "true", "allowWatchBookmarks": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
        {"continue": "x"},
    ],
)
def test_watches_that_make_no_sense_are_invalid(query: dict[str, str]) -> None:
    with pytest.raises(errors.Invalid):
        options.check_watch(ListOptions.from_query(query))


@pytest.mark.parametrize(("text", "revision"), [("", None), ("0", 0), ("12", 12)])
def test_versions(text: str, revision: int | None) -> None:
    assert options.parse_revision(text) == revision


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "١", "9" * 30])
def test_versions_that_are_none(text: str) -> None:
    with pytest.raises(errors.BadRequest, match="invalid resource version"):
        options.parse_revision(text)


def test_a_continue_token_comes_back() -> None:
    token = continuation.encode("ns/name\0", 42)
    assert continuation.decode(token) == ("ns/name\0", 42)


def test_a_continue_token_of_no_revision_is_refused() -> None:
    with pytest.raises(errors.BadRequest, match="incorrect encoded start resourceVersion"):
        continuation.decode(continuation.encode("name", 0))


def test_a_continue_token_of_a_negative_revision_goes_on_without_one() -> None:
    assert continuation.decode(continuation.encode("name", -5)).revision == continuation.INCONSISTENT


@pytest.mark.parametrize(("value", "flag"), [("true", True), ("1", True), ("", True), ("false", False), ("0", False)])
def test_flags(value: str, flag: bool) -> None:
    assert options.query_flag({"x": value}, "x") is flag


@pytest.mark.parametrize("text", ["x", " 5", "1_0", "١", "9" * 19, "9" * 5000])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(errors.BadRequest, match=r"strconv\.ParseInt"):
        ListOptions.from_query({"limit": text})


def test_a_negative_limit_is_none() -> None:
    assert ListOptions.from_query({"limit": "-1"}).limit == 0
