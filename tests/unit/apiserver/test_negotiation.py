"""Which form a response takes and a body may have."""

from __future__ import annotations

import pytest

from apimachinery import errors
from apiserver import negotiation
from apiserver.negotiation import Representation


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", Representation()),
        ("*/*", Representation()),
        ("application/json", Representation()),
        ("application/vnd.kubernetes.protobuf,application/json", Representation()),
        ("application/yaml", Representation("application/yaml")),
        ("application/json;q=0.5,application/yaml", Representation("application/yaml")),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Representation(transform="Table")),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Representation()),
        ("application/json;as=Chart;v=v1;g=meta.k8s.io,*/*", Representation()),
        ("application/json;stream=watch", Representation(stream=True)),
    ],
)
def test_the_clients_first_choice_that_is_served_wins(header: str, expected: Representation) -> None:
    assert negotiation.accept(header) == expected


@pytest.mark.parametrize("header", ["text/html", "application/vnd.kubernetes.protobuf", "application/json;q=0"])
def test_a_client_that_takes_nothing_of_ours_is_told_what_there_is(header: str) -> None:
    with pytest.raises(errors.NotAcceptable, match="only the following media types are accepted"):
        negotiation.accept(header)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"),
    ],
)
def test_body_types_are_known_with_and_without_parameters(header: str, expected: str) -> None:
    assert negotiation.body_type(header) == expected


def test_an_unknown_body_type_is_unsupported() -> None:
    with pytest.raises(errors.UnsupportedMediaType, match="unknown format"):
        negotiation.body_type("text/plain")
