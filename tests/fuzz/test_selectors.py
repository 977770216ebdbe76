"""Selectors against a model: what a list or a watch selects is what their terms say."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.budget import examples
from tests.fuzz.target import Target

NAMESPACE = "fuzz-selectors"
_KEYS = ("app", "tier", "example.com/size", "n")
_VALUES = ("", "a", "b", "a-b.c_d", "1", "10", "007", "x")
_POD_NAMES = ("one", "two", "three", "four")
Labels = dict[str, str]
Term = tuple[str, Callable[[Labels], bool]]


@pytest.fixture(scope="module")
def labelled(running: Target) -> dict[str, Labels]:
    """Config maps with labels drawn once, and a few pods."""
    seed = random.Random(5)
    running.ask("POST", "/api/v1/namespaces", orjson.dumps({"metadata": {"name": NAMESPACE}}))
    made: dict[str, Labels] = {}
    for number in range(24):
        labels = {key: seed.choice(_VALUES) for key in _KEYS if seed.random() < 0.6}
        made[f"map-{number:02d}"] = labels
        body: dict[str, Any] = {"metadata": {"name": f"map-{number:02d}", "labels": labels}}
        assert running.ask("POST", _place("configmaps"), orjson.dumps(body)).code == 201
    for number, name in enumerate(_POD_NAMES):
        spec: dict[str, Any] = {
            "containers": [{"name": "a", "image": "b"}],
            "restartPolicy": "Always" if number % 2 else "Never",
        }
        spec |= {"nodeName": "node-1"} if number == 3 else {}
        body = {"metadata": {"name": name}, "spec": spec}
        assert running.ask("POST", _place("pods"), orjson.dumps(body)).code == 201
    return made


@st.composite
def terms(draw: st.DrawFn) -> Term:
    """One requirement: how it is written, and what it means."""
    key = draw(st.sampled_from(_KEYS))
    value = draw(st.sampled_from(_VALUES))
    values = draw(st.lists(st.sampled_from(_VALUES), min_size=1, max_size=3))
    space = draw(st.sampled_from(("", " ", "  ")))
    listed = f"({space}{f'{space},{space}'.join(values)}{space})"
    number = draw(st.integers(0, 11))
    kinds: dict[str, Term] = {
        "=": (f"{key}{space}={space}{value}", lambda labels: labels.get(key) == value),
        "==": (f"{key}=={value}", lambda labels: labels.get(key) == value),
        "!=": (f"{key}{space}!={value}", lambda labels: labels.get(key) != value),
        "in": (f"{key} in {listed}", lambda labels: labels.get(key) in values),
        "notin": (f"{key} notin {listed}", lambda labels: labels.get(key) not in values),
        "exists": (key, lambda labels: key in labels),
        "!": (f"!{space}{key}", lambda labels: key not in labels),
        ">": (
            f"{key}{space}>{space}{number}",
            lambda labels: (n := _number(labels.get(key))) is not None and n > number,
        ),
        "<": (f"{key}<{number}", lambda labels: (n := _number(labels.get(key))) is not None and n < number),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdigit() else None


@given(st.lists(terms(), min_size=1, max_size=3))
@examples(150)
def test_a_label_selector_selects_what_it_says(target: Target, labelled: dict[str, Labels], wanted: list[Term]) -> None:
    selector = ",".join(text for text, _ in wanted)
    answer = target.ask("GET", f"{_place('configmaps')}?labelSelector={quote(selector)}")
    assert answer.code == 200, (selector, answer)
    expected = [name for name, labels in labelled.items() if all(holds(labels) for _, holds in wanted)]
    assert _names(answer.body) == expected, selector


_FIELDS: dict[str, Callable[[int], str]] = {
    "metadata.name": lambda number: _POD_NAMES[number],
    "metadata.namespace": lambda number: NAMESPACE,
    "spec.nodeName": lambda number: "node-1" if number == 3 else "",
    "spec.restartPolicy": lambda number: "Always" if number % 2 else "Never",
    "status.phase": lambda number: "Pending",
}
_field_terms = st.tuples(
    st.sampled_from(sorted(_FIELDS)),
    st.sampled_from(("=", "==", "!=")),
    st.sampled_from((*_POD_NAMES, NAMESPACE, "node-1", "Always", "Never", "Pending", "Running", "", "x y", "é")),
)


@given(st.lists(_field_terms, min_size=1, max_size=3))
@examples(200)
def test_a_field_selector_selects_what_it_says(
    target: Target, labelled: dict[str, Labels], wanted: list[tuple[str, str, str]]
) -> None:
    selector = ",".join(f"{field}{operator}{value}" for field, operator, value in wanted)
    answer = target.ask("GET", f"{_place('pods')}?fieldSelector={quote(selector)}")
    assert answer.code == 200, (selector, answer)
    expected = sorted(
        name
        for number, name in enumerate(_POD_NAMES)
        if all((_FIELDS[field](number) == value) == (operator != "!=") for field, operator, value in wanted)
    )
    assert _names(answer.body) == expected, selector


@given(st.text("ab=!<>(), in/.-\\", max_size=14), st.sampled_from(("labelSelector", "fieldSelector")))
@examples(150)
def test_any_text_selects_or_is_refused(target: Target, text: str, parameter: str) -> None:
    answer = target.ask("GET", f"{_place('configmaps')}?{parameter}={quote(text)}")
    assert answer.code in (200, 400), (text, answer)


def _place(resource: str) -> str:
    return f"/api/v1/namespaces/{NAMESPACE}/{resource}"


def _names(body: bytes) -> list[str]:
    return [item["metadata"]["name"] for item in orjson.loads(body)["items"]]
