"""Combinations of read options that upstream refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apimachinery import errors
from apiserver.registry import continuation, options
from apiserver.registry.options import ListOptions

MATCH, INITIAL = "resourceVersionMatch", "sendInitialEvents"
UNLESS = f"{MATCH}: Forbidden: {MATCH} is forbidden unless resourceVersion is provided"
WITH_CONTINUE = f"{MATCH}: Forbidden: {MATCH} is forbidden when continue is provided"
NOT_EXACT_0 = f'{MATCH}: Forbidden: {MATCH} "exact" is forbidden for resourceVersion "0"'
NEEDS_MATCH = f"{MATCH}: Forbidden: {INITIAL} requires setting {MATCH} to NotOlderThan"
UNSUPPORTED = f'{MATCH}: Unsupported value: "Exact": supported values: "NotOlderThan"'


def problems(check: Callable[[ListOptions], None], query: dict[str, str]) -> str:
    """What is wrong with a query, without the head that all have."""
    try:
        check(ListOptions.from_query(query))
    except errors.Invalid as error:
        return error.message.removeprefix('ListOptions.meta.k8s.io "" is invalid: ')
    return ""


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({}, ""),
        ({"resourceVersion": "5", "limit": "2"}, ""),
        ({MATCH: "Exact", "resourceVersion": "5"}, ""),
        ({MATCH: "NotOlderThan", "resourceVersion": "0"}, ""),
        ({"continue": "x", "resourceVersion": "0"}, ""),
        ({MATCH: "Exact"}, UNLESS),
        ({MATCH: "NotOlderThan"}, UNLESS),
        ({MATCH: "NotOlderThan", "continue": "x"}, f"[{UNLESS}, {WITH_CONTINUE}]"),
        ({MATCH: "NotOlderThan", "resourceVersion": "1", "continue": "x"}, WITH_CONTINUE),
        (
            {MATCH: "Sometimes", "resourceVersion": "1"},
            f'{MATCH}: Unsupported value: "Sometimes": supported values: "Exact", "NotOlderThan", ""',
        ),
        ({MATCH: "Exact", "resourceVersion": "0"}, NOT_EXACT_0),
        ({INITIAL: "true"}, f"{INITIAL}: Forbidden: {INITIAL} is forbidden for list"),
        ({INITIAL: "false"}, f"{INITIAL}: Forbidden: {INITIAL} is forbidden for list"),
    ],
)
def test_lists_that_make_no_sense_are_told_so(query: dict[str, str], why: str) -> None:
    assert problems(options.check_list, query) == why


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({}, ""),
        ({"continue": "x"}, ""),
        ({INITIAL: "true", MATCH: "NotOlderThan"}, ""),
        ({INITIAL: "false", MATCH: "NotOlderThan"}, ""),
        ({MATCH: "NotOlderThan"}, f"{MATCH}: Forbidden: {MATCH} is forbidden for watch unless {INITIAL} is provided"),
        ({INITIAL: "true"}, NEEDS_MATCH),
        ({INITIAL: "false"}, NEEDS_MATCH),
        ({INITIAL: "true", MATCH: "Exact"}, f"[{NEEDS_MATCH}, {UNSUPPORTED}]"),
        ({INITIAL: "true", MATCH: "NotOlderThan", "continue": "x"}, WITH_CONTINUE),
    ],
)
def test_watches_that_make_no_sense_are_told_so(query: dict[str, str], why: str) -> None:
    assert problems(options.check_watch, query) == why


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        ({}, False),
        ({"resourceVersion": "5"}, False),
        ({"resourceVersion": "5", "limit": "1"}, True),
        ({"resourceVersion": "0", "limit": "1"}, False),
        ({"resourceVersion": "5", MATCH: "Exact"}, True),
        ({"resourceVersion": "5", "limit": "1", MATCH: "NotOlderThan"}, False),
    ],
)
def test_a_list_of_one_revision(query: dict[str, str], exact: bool) -> None:
    assert ListOptions.from_query(query).is_exact is exact


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ({}, True),
        ({"resourceVersion": "0"}, True),
        ({"resourceVersion": "5"}, False),
        ({"resourceVersion": "5", INITIAL: "true"}, True),
        ({INITIAL: "false"}, False),
    ],
)
def test_a_watch_that_begins_with_what_there_is(query: dict[str, str], state: bool) -> None:
    assert ListOptions.from_query(query).wants_state is state


@pytest.mark.parametrize(("text", "revision"), [("", None), ("0", 0), ("12", 12)])
def test_versions(text: str, revision: int | None) -> None:
    assert options.parse_revision(text) == revision


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "١", "9" * 30])
def test_versions_that_are_none(text: str) -> None:
    why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
    why += "value out of range" if len(text) == 30 else "invalid syntax"
    with pytest.raises(errors.BadRequest) as caught:
        options.parse_revision(text)
    assert caught.value.message == f"invalid resource version: {why}"
    with pytest.raises(errors.Invalid) as told:
        options.parse_watch_revision("apps", "deployments", text)
    assert told.value.message == f'deployments.apps "" is invalid: {why}'


def test_a_continue_token_comes_back() -> None:
    token = continuation.encode("ns/name\0", 42)
    assert continuation.decode(token) == ("ns/name\0", 42)


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (continuation.encode("name", 0), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (continuation.encode("", 5), "encoded start key empty (version meta.k8s.io/v1)"),
        ("e30", "server does not recognize this encoded version"),
        ("?", "illegal base64 data or JSON"),
    ],
)
def test_continue_tokens_that_are_none(token: str, why: str) -> None:
    with pytest.raises(errors.BadRequest) as caught:
        continuation.decode(token)
    assert caught.value.message == f"invalid continue token: continue key is not valid: {why}"


def test_a_continue_token_never_leads_out_of_its_collection() -> None:
    with pytest.raises(errors.BadRequest) as caught:
        continuation.decode(continuation.encode("../secrets/", 5))
    assert caught.value.message == "invalid continue token: invalid key: ../secrets/"


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
