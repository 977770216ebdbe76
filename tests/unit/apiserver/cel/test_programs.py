"""The language: what values expressions have, what is said of wrong ones, what they cost."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.cel import library, types
from apiserver.cel.declarations import Environment
from apiserver.cel.issues import CompileError, CostExceeded, EvaluationError
from apiserver.cel.programs import Program

_VARIABLES = {
    "d": types.DYN,
    "i": types.INT,
    "s": types.STRING,
    "l": types.list_of(types.INT),
    "m": types.map_of(types.STRING, types.INT),
}
_BINDINGS = {"d": {"a": 1, "b": [1, 2], "n": None}, "i": 3, "s": "hello", "l": [3, 1, 2], "m": {"x": 1}}


def program(text: str) -> Program:
    return Program(text, Environment(library.kubernetes(), _VARIABLES))


def value(text: str) -> Any:
    return program(text).evaluate(_BINDINGS)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3 - -4", 13),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7u / 2u", 3),
        ("1.0 / 0.0 > 1e308", True),
        ("dyn(1) == dyn(true)", False),
        ("dyn(1) == 1.0", True),
        ("[1, 2] == dyn([1.0, 2.0])", True),
        ("1 < 1.5 && 2u > 1", True),
        ("'a' + \"b\" + '''c'''", "abc"),
        (r"'\u00e9\n\x41' == r'é' + '\nA'", True),
        ("size('é') == 1 && size(b'é') == 2", True),
        ("{'a': 1}.a", 1),
        ("has(d.a) && !has(d.z)", True),
        ("d.z == 1 || true", True),
        ("false && d.z == 1", False),
        ("true ? 'a' : 'b'", "a"),
        ("l.map(x, x * 2)", [6, 2, 4]),
        ("m.exists(k, m[k] == 1)", True),
        ("l.filter(x, x > 1).size()", 2),
        ("[1, 2].exists(x, x / (x - 1) > 1)", True),
        ("[2, 1, 0].all(x, 2 / x > 5)", False),
        ("type(1) == int && type('') == string && type([]) == list", True),
        ("type(null) == null_type", True),
        ("int('42') + int(1.9) + int(3u)", 46),
        ("string(1.0) + string(1e21) + string(0.00001)", "11e+211e-05"),
        ("string(duration('90m')) + string(timestamp('2024-01-01T00:00:00.5Z'))", "5400s2024-01-01T00:00:00.5Z"),
        ("timestamp('2024-03-10T12:00:00Z').getHours('-08:00')", 4),
        ("timestamp('2024-03-10T12:00:00Z').getDayOfWeek()", 0),
        ("duration('1.5s').getMilliseconds()", 1500),
        ("'%s %d %.2f %x %b %s'.format(['a', 3, 1.0, 255, 5, [1, 'b']])", "a 3 1.00 ff 101 [1, b]"),
        ("optional.of(1).or(optional.none()).value()", 1),
        ("[?optional.none(), 2]", [2]),
        ("{?'a': optional.of(1)}", {"a": 1}),
        ("d.?b[?9].hasValue()", False),
        ("strings.quote('a\\n')", '"a\\n"'),
        ("'aébé'.find('b.') + 'é1é2'.findAll('é')[1]", "béé"),
        ("// a comment\n1", 1),
    ],
)
def test_an_expression_has_its_value(text: str, expected: Any) -> None:
    assert value(text) == expected
    assert type(value(text)) is type(expected) or isinstance(value(text), type(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d.z", "no such key: z"),
        ("l[5]", "index out of bounds: 5"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("d.a > 'x'", "no such overload"),
        ("d.a.b", "no such overload"),
        ("[dyn(1), dyn('a')].min()", "no such overload"),
        ("optional.none().value()", "optional.none() dereference"),
        ("quantity(s)", "quantities must match the regular expression"),
        ("l.filter(x, x > 9).min()", "min called on empty list"),
        ("s.substring(9)", "index out of range: 9"),
        ("[1, 2].all(x, 1 / (x - 1) >= 0 || d.z)", "division by zero"),
    ],
)
def test_what_has_no_value_says_why(text: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message.replace("(", r"\(").replace(")", r"\)")):
        value(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "1:1: undeclared reference to 'foo' (in container '')"),
        ("i.foo", "1:2: type 'int' does not support field selection"),
        ("i > 'a'", "1:3: found no matching overload for '_>_' applied to '(int, string)'"),
        ("s.size(1)", "1:7: found no matching overload for 'size' applied to 'string.(int)'"),
        ("i ? 1 : 2", "1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'"),
        ("true && i", "1:6: found no matching overload for '_&&_' applied to '(bool, int)'"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("i.all(x, true)", "1:1: expression of type 'int' cannot be range of a comprehension"),
        ("l.all(1, true)", "1:7: argument must be a simple name"),
        ("this does not", "1:6: Syntax error: mismatched input 'does' expecting <EOF>"),
        ("1 +", "1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '('"),
        ("has(i)", "1:5: invalid argument to has() macro"),
        ("s.matches('[')", "1:11: invalid matches argument"),
        ("duration('x')", "1:10: invalid duration argument"),
        ("s ==\n 1", "1:3: found no matching overload for '_==_' applied to '(string, int)'"),
        ("'a", "1:1: Syntax error: token recognition error at: ''a'"),
    ],
)
def test_what_is_no_expression_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(CompileError) as refused:
        program(text)
    assert f"ERROR: <input>:{message}" in str(refused.value)


def test_an_issue_is_shown_under_its_line() -> None:
    with pytest.raises(CompileError) as refused:
        program("i > 0 &&\n  foo")
    expected = "ERROR: <input>:2:3: undeclared reference to 'foo' (in container '')\n |   foo\n | ..^"
    assert str(refused.value) == expected


# As upstream's tracker counts: a name, a selection and a call are one unit, literals none
@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("1", 0),
        ("i", 1),
        ("i > 1", 2),
        ("d.b[0]", 3),
        ("[i]", 11),
        ("{'a': i}", 31),
        ("s.startsWith('he')", 2),
        ("s.contains('l')", 2),
        ("s.matches('l+')", 2),
        ("l.all(x, true)", 11),
        ("l.exists(x, x == 1)", 17),
        ("l.map(x, x)", 41),
        ("i in [1, 2]", 1),
        ("false && d.z", 0),
    ],
)
def test_an_evaluation_costs_what_it_costs_upstream(text: str, cost: int) -> None:
    assert program(text).evaluate(_BINDINGS)[1] == cost


def test_an_evaluation_ends_at_its_limit() -> None:
    endless = program("l.all(a, l.all(b, l.all(c, a + b + c > 0)))")
    many = {"l": list(range(1, 1000))}
    with pytest.raises(CostExceeded, match="actual cost limit exceeded") as stopped:
        endless.evaluate(many)
    assert 1_000_000 < stopped.value.cost < 1_001_000


def test_an_error_of_the_limit_is_not_swallowed_by_or() -> None:
    with pytest.raises(CostExceeded):
        program("l.all(a, l.all(b, a > b || b > a || a == b)) || true").evaluate({"l": list(range(1000))}, 500)


def test_replacing_cannot_make_what_does_not_fit_into_memory() -> None:
    with pytest.raises(EvaluationError, match="too long"):
        program("s.replace('', s).size() > 0").evaluate({"s": "x" * 100_000})


def test_a_pattern_cannot_explode() -> None:
    assert program("s.matches('^(a+)+$')").evaluate({"s": "a" * 5000 + "b"})[0] is False


_OPERANDS = ["i", "s", "l", "m", "d", "d.a", "1", "-2", "'x'", "1.5", "true", "null", "[1]", "{'a': 1}", "2u", "b'x'"]
_SIGNS = ["(", ")", "[", "]", "+", "-", "*", "/", "%", "==", "<", "&&", "||", "!", "?", ":", ".", ",", "in"]
_CALLS = [".size()", ".all(x, x > 1)", ".map(x, x)", ".?a", "[?0]", "has(d.a)", "int(", "dyn(", ".matches('a')"]
_ATOMS = st.sampled_from([*_OPERANDS, *_SIGNS, *_CALLS])


@settings(max_examples=400, deadline=None)
@given(st.lists(_ATOMS, min_size=1, max_size=9))
def test_any_text_is_refused_or_evaluated_or_has_no_value(parts: list[str]) -> None:
    with contextlib.suppress(CompileError, EvaluationError):
        program(" ".join(parts)).evaluate(_BINDINGS)
