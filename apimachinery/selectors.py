"""Label and field selectors: parsed once, matched often.

`parse_labels` takes the query form (`a=b,c in (d,e),!f`), `from_label_selector` the object form
(`matchLabels`, `matchExpressions`). Both give a `Selector`, a tuple of requirements that all must hold.
Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
        if len(self.values) == 1:
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

_TOKEN = re.compile(r"\s*(?:(==|=|!=|!|>|<|\(|\)|,)|([^\s=!<>(),]+))")


def parse_labels(text: str | None) -> Selector:
    """A selector from its query form. Raises SelectorError; "" selects everything."""
    if not text or not text.strip():
        return EVERYTHING
    tokens = _tokens(text)
    requirements: list[Requirement] = []
    while tokens:
        requirements.append(_requirement(tokens, text))
        if not tokens:
            break
        if tokens.pop(0) != ",":
            raise SelectorError(f"unable to parse requirement: found '{text}', expected: ',' or 'end of string'")
        if not tokens:
            raise SelectorError("unable to parse requirement: found '', expected: identifier after ','")
    return Selector(tuple(requirements))


def from_label_selector(selector: Mapping[str, Any] | None) -> Selector:
    """A selector from a `metav1.LabelSelector`: null selects nothing, {} everything. Raises SelectorError."""
    if selector is None:
        return NOTHING
    requirements = [
        Requirement(key, "in", frozenset([value])) for key, value in (selector.get("matchLabels") or {}).items()
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
    return Selector(tuple(Requirement(key, "in", frozenset([value])) for key, value in labels.items()))


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
    try:
        left, right = int(value), int(next(iter(values)))
    except ValueError:
        return False
    return left > right if operator == "gt" else left < right


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise SelectorError(f"unable to parse requirement: unexpected text in '{text}'")
        tokens.append(match.group(1) or match.group(2))
        position = match.end()
    return tokens


def _requirement(tokens: list[str], text: str) -> Requirement:
    token = tokens.pop(0)
    if token == "!":
        return Requirement(_key(tokens.pop(0) if tokens else "", text), "!")
    key = _key(token, text)
    if not tokens or tokens[0] == ",":
        return Requirement(key, "exists")
    operator = tokens.pop(0)
    if operator in ("=", "==", "!="):
        value = tokens.pop(0) if tokens and tokens[0] != "," else ""
        return Requirement(key, "notin" if operator == "!=" else "in", frozenset([_value(value, text)]))
    if operator in (">", "<"):
        value = tokens.pop(0) if tokens else ""
        if not re.fullmatch(r"[+-]?\d+", value):
            raise SelectorError(
                f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            )
        return Requirement(key, "gt" if operator == ">" else "lt", frozenset([value]))
    if operator in ("in", "notin"):
        return Requirement(key, operator, _value_set(tokens, text))
    raise SelectorError(f"unable to parse requirement: found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _value_set(tokens: list[str], text: str) -> frozenset[str]:
    if not tokens or tokens.pop(0) != "(":
        raise SelectorError(f"unable to parse requirement: found '{text}', expected: '('")
    values: set[str] = set()
    current = ""
    while tokens:
        token = tokens.pop(0)
        if token == ")":
            values.add(_value(current, text))
            return frozenset(values)
        if token == ",":
            values.add(_value(current, text))
            current = ""
        elif current:
            break
        else:
            current = token
    raise SelectorError(f"unable to parse requirement: found '{text}', expected: ',' or ')'")


def _key(key: str, text: str) -> str:
    problems = names.qualified_name(key)
    if problems:
        raise SelectorError(f'unable to parse requirement: <nil>: Invalid value: "{key}": {"; ".join(problems)}')
    return key


def _value(value: str, text: str) -> str:
    problems = names.label_value(value)
    if problems:
        raise SelectorError(f'unable to parse requirement: <nil>: Invalid value: "{value}": {"; ".join(problems)}')
    return value
