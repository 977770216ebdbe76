"""Quantities against a model made of fractions: value, order, canonical text, and what the server keeps."""

from __future__ import annotations

from fractions import Fraction

import orjson
from hypothesis import given
from hypothesis import strategies as st

from apimachinery import quantity
from tests.fuzz.budget import examples
from tests.fuzz.target import Target

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_NANOS = 10**9

_exponents = st.builds(lambda e, n: f"{e}{n}", st.sampled_from("eE"), st.integers(-15, 30))
_suffixes = st.one_of(st.sampled_from([*_DECIMAL, *_BINARY]), _exponents)
_digits = st.text("0123456789", max_size=20)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, Fraction, str]:
    """A quantity's text, its value, and its suffix."""
    sign, whole, fraction = (
        draw(st.sampled_from(("", "", "-", "+"))),
        draw(_digits),
        draw(st.one_of(st.none(), _digits)),
    )
    suffix = draw(_suffixes)
    number = Fraction(int(whole + (fraction or "") or "0"), 10 ** len(fraction or ""))
    if suffix in _BINARY:
        value = min(nanos_up(number * 1024 ** _BINARY[suffix]), Fraction(2**63 - 1))
    else:
        power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        value = nanos_up(number * Fraction(10) ** power)
    text = sign + whole + ("" if fraction is None else f".{fraction}") + suffix
    return text or "0", -value if sign == "-" else value, suffix


def nanos_up(value: Fraction) -> Fraction:
    return Fraction(-(-value * _NANOS // 1), _NANOS)


def canonical(value: Fraction, suffix: str) -> str:
    """By the definition: no fraction, the largest suffix that loses nothing, in the form of `suffix`."""
    if value == 0:
        return "0"
    if suffix in _BINARY and abs(value) >= 1024 and value.denominator == 1:
        names = ["", *_BINARY]
        power = max(power for power in range(len(names)) if value % 1024**power == 0)
        return f"{int(value / 1024**power)}{names[power]}"
    power = -9
    while value / Fraction(10) ** (power + 3) % 1 == 0:
        power += 3
    number = int(value / Fraction(10) ** power)
    if (suffix not in _DECIMAL and suffix not in _BINARY) or power > 18:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{next(name for name, exponent in _DECIMAL.items() if exponent == power)}"


@given(texts())
@examples(500)
def test_a_quantity_has_its_value(made: tuple[str, Fraction, str]) -> None:
    text, value, _ = made
    assert Fraction(quantity.parse(text)) == value


@given(texts(), texts())
@examples(200)
def test_quantities_are_ordered_as_their_values(
    one: tuple[str, Fraction, str], other: tuple[str, Fraction, str]
) -> None:
    assert (quantity.parse(one[0]) < quantity.parse(other[0])) == (one[1] < other[1])


@given(texts())
@examples(500)
def test_the_text_that_is_kept_is_canonical_or_the_one_that_came(made: tuple[str, Fraction, str]) -> None:
    text, value, suffix = made
    kept = quantity.canonical(text)
    assert kept in (canonical(value, suffix), text)
    assert Fraction(quantity.parse(kept)) == value, "nothing is lost"
    assert quantity.canonical(kept) == kept, "and it stays as it is"


@given(st.text("0123456789.+-eEinumkKMGTPx ", max_size=8))
@examples(200)
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    if quantity.is_valid(text):
        assert quantity.canonical(quantity.canonical(text)) == quantity.canonical(text)


@given(texts())
@examples(100)
def test_the_server_keeps_what_is_canonical(target: Target, made: tuple[str, Fraction, str]) -> None:
    text, value, _ = made
    body = {"metadata": {"name": "limits"}, "spec": {"hard": {"requests.memory": text}}}
    answer = target.ask("POST", "/api/v1/namespaces/fuzz/resourcequotas?dryRun=All", orjson.dumps(body))
    if value < 0 or value.denominator != 1:
        assert answer.code in (201, 422), answer
    else:
        assert answer.code == 201, answer
        assert orjson.loads(answer.body)["spec"]["hard"]["requests.memory"] == quantity.canonical(text)
