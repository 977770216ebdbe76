"""Formats of strings, and patterns as Go reads them."""

from __future__ import annotations

import pytest

from apiserver.apiextensions import formats, patterns


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T10:00:00Z", "2026-02-28"),
        ("duration", "1h30m", "soon"),
        ("email", "a@example.com", "a"),
        ("hostname", "a.example.com", "a_b"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "fe80::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("mac", "01:23:45:67:89:ab", "01:23"),
        ("uri", "https://example.com/x", "example com"),
        ("uuid", "123e4567-e89b-42d3-a456-426614174000", "123"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("byte", "aGVsbG8=", "%"),
        ("isbn10", "0-306-40615-2", "0-306-40615-3"),
        ("isbn13", "978-0-306-40615-7", "978-0-306-40615-8"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("hexcolor", "#ff0000", "red"),
        ("rgbcolor", "rgb(1, 2, 255)", "rgb(1, 2, 256)"),
        ("k8s-short-name", "a-b", "a.b"),
    ],
)
def test_a_format_tells_good_from_bad(name: str, good: str, bad: str) -> None:
    assert formats.is_valid(name, good)
    assert not formats.is_valid(name, bad)


def test_an_unknown_format_is_only_a_note() -> None:
    assert formats.is_valid("whatever", "anything")


def test_patterns_mean_what_they_mean_in_go() -> None:
    assert patterns.matches("^[[:alpha:]]+$", "abc")
    assert not patterns.matches("^a$", "a\n")
    assert not patterns.matches(r"^\d$", "٣")
    assert patterns.problem("^[a-z]+$") == ""
    assert patterns.problem("(?=a)") == "error parsing regexp: invalid perl operator: `(?=`"


def test_no_pattern_takes_for_ever() -> None:
    assert not patterns.matches("^(a+)+$", "a" * 40 + "!")
