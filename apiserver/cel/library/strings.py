"""Texts, by characters."""

from __future__ import annotations

from typing import Any

from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs

_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_LOWER = {ord(upper): ord(upper) + 32 for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_UPPER = {lower: upper for upper, lower in _LOWER.items()}


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, wanted: str, offset: int = 0) -> int:
    if not 0 <= offset <= len(text) and wanted:
        raise EvaluationError(f"index out of range: {offset}")
    return text.find(wanted, offset) if wanted else offset


def _last_index_of(text: str, wanted: str, offset: int | None = None) -> int:
    if offset is not None and not 0 <= offset <= len(text):
        raise EvaluationError(f"index out of range: {offset}")
    return text.rfind(wanted) if offset is None else text.rfind(wanted, 0, offset + len(wanted))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(limit, text.count(old))
    if len(text) + count * (len(new) - len(old)) > MAX_REPLACED:
        raise EvaluationError("result of replace is too long")
    return text.replace(old, new, limit if limit >= 0 else -1)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    if end is None:
        return text[start:]
    if not 0 <= end <= len(text):
        raise EvaluationError(f"index out of range: {end}")
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _join(items: list[Any], separator: str = "") -> str:
    if not all(isinstance(item, str) for item in items):
        raise EvaluationError("no such overload")
    return separator.join(items)


_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


MAX_REPLACED = 10_000_000
"""Characters that `replace` may make. Its cost, upstream's, says nothing of what is put in: a request could otherwise
ask for a terabyte."""

LIBRARY = Library()
LIBRARY.method("contains(string, string) -> bool", lambda text, part: part in text, costs.substring)
LIBRARY.method("startsWith(string, string) -> bool", str.startswith, costs.second)
LIBRARY.method("endsWith(string, string) -> bool", str.endswith, costs.second)
LIBRARY.method("charAt(string, int) -> string", _char_at)
LIBRARY.method("indexOf(string, string) -> int", _index_of, costs.traversal())
LIBRARY.method("indexOf(string, string, int) -> int", _index_of, costs.traversal())
LIBRARY.method("lastIndexOf(string, string) -> int", _last_index_of, costs.traversal())
LIBRARY.method("lastIndexOf(string, string, int) -> int", _last_index_of, costs.traversal())
LIBRARY.method("join(list(string)) -> string", _join, costs.made)
LIBRARY.method("join(list(string), string) -> string", _join, costs.made)
LIBRARY.method("lowerAscii(string) -> string", lambda text: text.translate(_LOWER), costs.traversal())
LIBRARY.method("upperAscii(string) -> string", lambda text: text.translate(_UPPER), costs.traversal())
LIBRARY.method("replace(string, string, string) -> string", _replace, costs.traversal(2))
LIBRARY.method("replace(string, string, string, int) -> string", _replace, costs.traversal(2))
LIBRARY.method("split(string, string) -> list(string)", _split, costs.traversal(2))
LIBRARY.method("split(string, string, int) -> list(string)", _split, costs.traversal(2))
LIBRARY.method("substring(string, int) -> string", _substring, costs.traversal())
LIBRARY.method("substring(string, int, int) -> string", _substring, costs.traversal())
LIBRARY.method("trim(string) -> string", lambda text: text.strip(_WHITE), costs.traversal())
LIBRARY.method("reverse(string) -> string", lambda text: text[::-1])
LIBRARY.function("strings.quote(string) -> string", quoted)
