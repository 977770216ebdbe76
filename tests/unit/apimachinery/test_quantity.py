"""Quantities: exact values, upstream's canonical form."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import quantity

_suffixes = st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "Gi"])
_texts = st.builds(lambda number, suffix: f"{number}{suffix}", st.integers(-(10**6), 10**6), _suffixes)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0Mi", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("100m", "100m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1000Ki", "1000Ki"),
        ("1000k", "1M"),
        ("1500", "1500"),
        ("2e3", "2e3"),
        ("2000e0", "2e3"),
        ("1E", "1E"),
        ("0.1Ki", "102400m"),
        ("123456789", "123456789"),
        ("1e-3", "1e-3"),
        ("-2", "-2"),
        ("+5", "+5"),
        ("+5.0", "5"),
        ("1.500", "1.500"),
        ("1.5000", "1500m"),
        ("007", "007"),
        ("1E3", "1E3"),
        ("+1500Ki", "+1500Ki"),
        ("+8Ki", "8Ki"),
        ("1000E", "1e21"),
        ("1e21", "1e21"),
        ("-0.1n", "-1n"),
        ("Ki", "0"),
        (".", "0"),
        ("16Ei", "9223372036854775807"),
        ("-16Ei", "-9223372036854775807"),
        (".5", "500m"),
        ("5.", "5."),
        ("5.0", "5"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("9223372036854775808", "9223372036854775808"),
    ],
)
def test_the_canonical_form_is_upstreams(text: str, canonical: str) -> None:
    assert quantity.canonical(text) == canonical


@given(_texts)
def test_canonical_keeps_the_value_and_is_its_own_canonical_form(text: str) -> None:
    canonical = quantity.canonical(text)
    assert quantity.parse(canonical) == quantity.parse(text)
    assert quantity.canonical(canonical) == canonical


@given(_texts, _texts)
def test_order_is_that_of_the_numbers(one: str, other: str) -> None:
    assert (quantity.parse(one) < quantity.parse(other)) == (quantity.milli(one) < quantity.milli(other)) or (
        abs(quantity.parse(one) - quantity.parse(other)) < Decimal("0.001")
    )


@given(st.integers(0, 2**62))
def test_numbers_stand_for_themselves(number: int) -> None:
    assert quantity.parse(number) == number
    assert quantity.integer(str(number)) == number


@pytest.mark.parametrize("text", ["", "1 ", " 1", "1KB", "a", "1.2.3", "0x1", "١"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    assert not quantity.is_valid(text)
    with pytest.raises(quantity.QuantityError, match="quantities must match the regular expression"):
        quantity.parse(text)


@pytest.mark.parametrize("text", ["1ki", "1e", "1e-", "1Mi5", "1i", "1kk", "--1", "1-5", "1e1000"])
def test_what_is_no_suffix_is_refused(text: str) -> None:
    with pytest.raises(quantity.QuantityError, match="unable to parse quantity's suffix"):
        quantity.parse(text)


@pytest.mark.parametrize(("text", "milli", "integer"), [("1.0001", 1001, 2), ("250m", 250, 1), ("1Ki", 1024000, 1024)])
def test_counts_are_rounded_up(text: str, milli: int, integer: int) -> None:
    assert quantity.milli(text) == milli
    assert quantity.integer(text) == integer
