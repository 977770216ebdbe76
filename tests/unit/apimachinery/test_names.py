"""Names, labels, image references: what is allowed, and what is said about what is not."""

from __future__ import annotations

import pytest

from apimachinery import names


@pytest.mark.parametrize("name", ["a", "a-b", "0", "a" * 63])
def test_labels_that_hold(name: str) -> None:
    assert names.dns_label(name) == []


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a.b", "a\n", "ä"])
def test_labels_that_do_not(name: str) -> None:
    [problem] = names.dns_label(name)
    assert problem.startswith("a lowercase RFC 1123 label must consist of")


def test_long_labels_are_told_so() -> None:
    assert names.dns_label("a" * 64) == ["must be no more than 63 characters"]


@pytest.mark.parametrize(("name", "fits"), [("a", True), ("a-1", True), ("1a", False), ("a.b", False)])
def test_services_names_begin_with_a_letter(name: str, fits: bool) -> None:
    assert (names.dns_1035_label(name) == []) is fits


@pytest.mark.parametrize(
    ("name", "fits"), [("a.b", True), ("a..b", False), (".a", False), ("a." * 126 + "a", True), ("a" * 254, False)]
)
def test_subdomains(name: str, fits: bool) -> None:
    assert (names.dns_subdomain(name) == []) is fits


@pytest.mark.parametrize(("name", "fits"), [("system:node", True), ("a/b", False), ("..", False), ("a%b", False)])
def test_path_segments(name: str, fits: bool) -> None:
    assert (names.path_segment(name) == []) is fits


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("app", None),
        ("example.com/App_1.x", None),
        ("/app", "prefix part must be non-empty"),
        ("example.com/", "name part must be non-empty"),
        ("a/b/c", "a qualified name must consist of"),
        ("-a", "name part must consist of"),
        ("UP.com/a", "prefix part a lowercase RFC 1123 subdomain"),
        ("a" * 64, "name part must be no more than 63 characters"),
    ],
)
def test_label_keys(key: str, problem: str | None) -> None:
    found = names.qualified_name(key)
    assert found == [] if problem is None else found[0].startswith(problem)


@pytest.mark.parametrize(
    ("value", "fits"), [("", True), ("a.B-c_1", True), ("a b", False), ("-a", False), ("a" * 64, False)]
)
def test_label_values(value: str, fits: bool) -> None:
    assert (names.label_value(value) == []) is fits


@pytest.mark.parametrize(
    ("image", "fits"),
    [
        ("nginx", True),
        ("nginx:1.27", True),
        ("docker.io/library/nginx:latest", True),
        ("localhost:5000/a/b@sha256:" + "a" * 64, True),
        ("[::1]:5000/a", True),
        ("Nginx", False),
        ("nginx:", False),
        ("a b", False),
        ("", False),
        ("nginx@sha256:short", False),
        ("http://x/y", False),
    ],
)
def test_image_references(image: str, fits: bool) -> None:
    assert (names.image_reference(image) == []) is fits
