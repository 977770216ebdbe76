"""Label and field selectors: parsed once, matched often.

`parse_labels` takes the query form (`a=b,c in (d,e),!f`), `from_label_selector` the object form
(`matchLabels`, `matchExpressions`). Both give a `Selector`, a tuple of requirements that all must hold.
Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apimachinery import names


class SelectorError(ValueError):
    """The text or object is not a selector; the message says where."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. `values` is empty for `exists` and `!`."""

    key: str
    operator: str  # "in", "notin", "exists", "!", "gt", "lt"
    values: frozenset[str] = frozenset()
    exact: bool = field(default=False, compare=False)  # written `a=b` or `a!=b`

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value is not None and value in self.values
            case "notin":  # a missing label satisfies "not in", as upstream has it
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        return value is not None and _compares(value, self.operator, self.values)

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "gt" | "lt":
                return f"{self.key}{'>' if self.operator == 'gt' else '<'}{next(iter(self.values))}"
        if self.exact:
            return f"{self.key}{'=' if self.operator == 'in' else '!='}{next(iter(self.values))}"
        return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold. The empty selector matches everything; `NOTHING` matches nothing."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        labels = labels or {}
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __bool__(self) -> bool:
        """Whether it selects at all (False: it matches everything)."""
        return self.nothing or bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def parse_labels(text: str | None) -> Selector:
    """A selector from its query form. Raises SelectorError; "" selects everything."""
    return _Parser(text).selector() if text else EVERYTHING


def from_label_selector(selector: Mapping[str, Any] | None) -> Selector:
    """A selector from a `metav1.LabelSelector`: null selects nothing, {} everything. Raises SelectorError."""
    if selector is None:
        return NOTHING
    requirements = [
        Requirement(key, "in", frozenset([value]), exact=True)
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    for expression in selector.get("matchExpressions") or []:
        operator = operators.get(expression.get("operator", ""))
        if operator is None:
            raise SelectorError(f'"{expression.get("operator")}" is not a valid label selector operator')
        requirements.append(Requirement(expression["key"], operator, frozenset(expression.get("values") or ())))
    return Selector(tuple(requirements))


def from_set(labels: Mapping[str, str]) -> Selector:
    """The selector of equality with every one of `labels` (a Service's or ReplicationController's map form)."""
    return Selector(tuple(Requirement(key, "in", frozenset([value]), exact=True) for key, value in labels.items()))


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    field: str  # "metadata.name", "spec.nodeName", ...
    value: str
    equal: bool


FieldSelector = tuple[FieldRequirement, ...]


def parse_fields(text: str | None) -> FieldSelector:
    """A field selector: `a=b`, `a==b` and `a!=b`, joined by commas; `\\,` and `\\=` escape. Raises SelectorError."""
    result = []
    for term in re.split(r"(?<!\\),", text) if text else []:
        if not term:
            continue
        match = re.fullmatch(r"((?:[^=!\\]|\\.)+)(!=|==|=)((?:[^=\\]|\\.)*)", term)
        if match is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        field, operator, value = match.groups()
        result.append(FieldRequirement(field.strip(), re.sub(r"\\([\\,=])", r"\1", value), operator != "!="))
    return tuple(result)


def fields_match(selector: FieldSelector, value_of: Callable[[str], str]) -> bool:
    """Whether every requirement holds; `value_of` gives a field's value as text, "" where it is not set."""
    return all((value_of(item.field) == item.value) is item.equal for item in selector)


def _compares(value: str, operator: str, values: frozenset[str]) -> bool:
    wanted = next(iter(values))
    if not _is_int64(value) or not _is_int64(wanted):
        return False
    return int(value) > int(wanted) if operator == "gt" else int(value) < int(wanted)


_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!<>(),]|[^=!<>(), \t\r\n]+)")
_SYMBOLS = frozenset("=!<>(),") | {"==", "!="}
_OPERATORS = {"in": "in", "notin": "notin", "=": "in", "==": "in", "!=": "notin", ">": "gt", "<": "lt"}
_END = ""


class _Parser:
    """Recursive descent over the grammar of upstream's labels package; refusals are its words.

    A name where an operator could stand, as in `in in (in)`, is told from it by where it is read.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text.rstrip(" \t\r\n")), _END]
        self._position = 0

    def selector(self) -> Selector:
        requirements: list[Requirement] = []
        if self._next == _END:
            return EVERYTHING
        if not self._is_name and self._next != "!":
            raise SelectorError(f"found '{self._next}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                requirements.append(self._requirement())
            except _Unexpected as error:
                raise SelectorError(f"unable to parse requirement: {error}") from error
            token = self._take()
            if token == _END:
                return Selector(tuple(requirements))
            if token != ",":
                raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
            if not self._is_name and self._next != "!":
                raise SelectorError(f"found '{self._next}', expected: identifier after ','")

    @property
    def _next(self) -> str:
        return self._tokens[self._position]

    @property
    def _is_name(self) -> bool:
        return self._next not in _SYMBOLS and self._next != _END

    def _take(self) -> str:
        token = self._next
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _requirement(self) -> Requirement:
        absent = self._next == "!"
        if absent:
            self._take()
        key = self._name()
        if problems := names.qualified_name(key):
            raise _Unexpected(f'<nil>: Invalid value: "{key}": {"; ".join(problems)}')
        if absent:
            return Requirement(key, "!")
        if self._next in (_END, ","):
            return Requirement(key, "exists")
        written = self._take()
        operator = _OPERATORS.get(written)
        if operator is None:
            raise _Unexpected(f"found '{written}', expected: in, notin, =, ==, !=, gt, lt")
        if written in ("in", "notin"):
            return _checked(Requirement(key, operator, frozenset(self._values())))
        value = "" if self._next in (_END, ",") else self._name()
        return _checked(Requirement(key, operator, frozenset([value]), exact=True))

    def _name(self) -> str:
        if not self._is_name:
            raise _Unexpected(f"found '{self._next}', expected: identifier")
        return self._take()

    def _values(self) -> set[str]:
        """`(a,b)`; what is left out between commas is the empty value."""
        if (token := self._take()) != "(":
            raise _Unexpected(f"found '{token}' expected: '('")
        if not self._is_name and self._next not in (",", ")"):
            raise _Unexpected(f"found '{self._next}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            values.add(self._take() if self._is_name else "")
            token = self._take()
            if token == ")":
                return values
            if token != ",":
                raise _Unexpected(f"found '{token}', expected: ',' or ')'")
            if not self._is_name and self._next not in (",", ")"):
                raise _Unexpected(f"found '{self._next}', expected: ',', or identifier")


class _Unexpected(SelectorError):
    """Within a requirement."""


def _checked(requirement: Requirement) -> Requirement:
    """Raises _Unexpected for values that no label can have, or that no number is where one is compared."""
    found = []
    for index, value in enumerate(sorted(requirement.values)):
        where = f"values[{index}]"
        if requirement.operator in ("gt", "lt") and not _is_int64(value):
            found.append(f'{where}: Invalid value: "{value}": {_NO_INTEGER}')
        if problems := names.label_value(value):
            found.append(f'{where}[{requirement.key}]: Invalid value: "{value}": {"; ".join(problems)}')
    if found:
        raise _Unexpected(found[0] if len(found) == 1 else f"[{', '.join(found)}]")
    return requirement


_NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


def _is_int64(text: str) -> bool:
    return bool(re.fullmatch(r"[+-]?[0-9]{1,19}", text)) and -(2**63) <= int(text) < 2**63
