"""Literals: their types, and those that would be refused at every evaluation, refused once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from apiserver.cel import regexes, times, types
from apiserver.cel.issues import EvaluationError, Issue
from apiserver.cel.syntax import Call, Literal, Node
from apiserver.cel.types import Type
from apiserver.cel.values import Uint

_TYPES = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}
_READ: dict[str, Callable[[str], Any]] = {
    "duration": times.duration,
    "timestamp": times.timestamp,
    "matches": regexes.compiled,
    "find": regexes.compiled,
    "findAll": regexes.compiled,
}


def type_of(value: Any) -> Type:
    return _TYPES[type(value)]


def issues(nodes: Iterable[Node]) -> list[Issue]:
    found = []
    for node in nodes:
        if isinstance(node, Call) and node.function in _READ and node.args:
            argument = node.args[1] if node.function == "matches" and node.target is None else node.args[0]
            if isinstance(argument, Literal) and type(argument.value) is str:
                found += _refused(node.function, argument)
    return found


def _refused(function: str, argument: Literal) -> list[Issue]:
    try:
        _READ[function](argument.value)
    except EvaluationError:
        return [Issue(argument.position, f"invalid {function} argument")]
    return []
