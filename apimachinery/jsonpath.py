"""kubectl's JSONPath templates: `{.items[*].metadata.name}`, `{range .items[*]}{.kind}{"\\n"}{end}`.

A template is text and `{…}` parts. Within: `.field`, `['field']`, `[n]`, `[a:b]`, `[a,b]`, `[*]`, `..field`,
`[?(@.x=="y")]` (== != < <= > >=, or existence), quoted text, `range … end`. `$` is the object, `@` the current item.
Source: https://kubernetes.io/docs/reference/kubectl/jsonpath/
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


class JSONPathError(ValueError):
    """A template that cannot be read, or an index that is not there; the message is kubectl's."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Either text, or the inside of one `{…}`."""

    text: str
    is_code: bool


def render(template: str, obj: Any) -> str:
    """The template's text for `obj`. Raises JSONPathError for a template that cannot be read."""
    parts = _parts(template)
    out: list[str] = []
    end = _run(parts, 0, obj, obj, out)
    if end != len(parts):
        raise JSONPathError(f"error parsing jsonpath {template}, not in range, nothing to end")
    return "".join(out)


def find(expression: str, obj: Any) -> list[Any]:
    """The values of one expression, without braces or with."""
    text = expression.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    if text and text[0] not in ".[$@":
        text = f".{text}"
    return _evaluate(text, obj, obj)


def _run(parts: list[_Part], index: int, root: Any, current: Any, out: list[str]) -> int:
    """Render from `index` to the end or to the matching `end`, whose index is returned."""
    while index < len(parts):
        part = parts[index]
        code = part.text.strip()
        if not part.is_code:
            out.append(part.text)
        elif code == "end":
            return index
        elif code.startswith("range"):
            index = _range(parts, index, root, current, out)
        else:
            out.append(_text(code, root, current))
        index += 1
    return index


def _range(parts: list[_Part], index: int, root: Any, current: Any, out: list[str]) -> int:
    items = _evaluate(parts[index].text.strip().removeprefix("range").strip(), root, current)
    end = _run(parts, index + 1, root, None, [])  # where it ends, also when there is nothing to repeat
    if end == len(parts):
        raise JSONPathError("error parsing jsonpath: unexpected end of template, expecting {end}")
    for item in items:
        _run(parts, index + 1, root, item, out)
    return end


def _text(code: str, root: Any, current: Any) -> str:
    if code[:1] in "\"'":
        return _unquote(code)
    return " ".join(plain(value) for value in _evaluate(code, root, current))


def plain(value: Any) -> str:
    """A found value as text: strings as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


_STEP = re.compile(
    r"""\.\.(?P<deep>[^.\[\]\s]+|\*)
      | \.(?P<field>(?:\\.|[^.\[\]\s\\])+)
      | \[\?\((?P<filter>.*?)\)\]
      | \[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]
      | \[(?P<index>[-\d:,*\s]*)\]""",
    re.VERBOSE,
)


def _evaluate(text: str, root: Any, current: Any) -> list[Any]:
    values = [root if text.startswith("$") else current]
    text = text[1:] if text[:1] in ("$", "@") else text
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            if text[position:] in (".", ""):  # `{.}` is the object itself
                break
            raise JSONPathError(f"error parsing jsonpath: unrecognized character in {text[position:]!r}")
        values = [found for value in values for found in _step(match, value, root)]
        position = match.end()
    return values


def _step(match: re.Match[str], value: Any, root: Any) -> Iterator[Any]:
    groups = match.groupdict()
    if groups["deep"] is not None:
        yield from _deep(groups["deep"], value)
    elif groups["field"] is not None:
        yield from _field(re.sub(r"\\(.)", r"\1", groups["field"]), value)
    elif groups["filter"] is not None:
        holds = _filter(groups["filter"], root)
        yield from (item for item in (value if isinstance(value, list) else []) if holds(item))
    elif groups["quoted"] is not None:
        yield from _field(_unquote(groups["quoted"]), value)
    else:
        yield from _index(groups["index"].strip(), value)


def _field(name: str, value: Any) -> Iterator[Any]:
    if name == "*":
        yield from value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    elif isinstance(value, dict) and name in value:
        yield value[name]


def _deep(name: str, value: Any) -> Iterator[Any]:
    yield from _field(name, value)
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _deep(name, child)


def _index(text: str, value: Any) -> Iterator[Any]:
    if text == "*":
        yield from _field("*", value)
        return
    if not isinstance(value, list):
        return
    for part in text.split(","):
        try:
            bounds = [int(bound) if bound.strip() else None for bound in part.split(":")]
        except ValueError as error:
            raise JSONPathError(f"error parsing jsonpath: invalid array index {text}") from error
        if len(bounds) > 1:
            yield from value[slice(*bounds)]
        elif bounds[0] is not None:
            if not -len(value) <= bounds[0] < len(value):
                raise JSONPathError(f"array index out of bounds: index {bounds[0]}, length {len(value)}")
            yield value[bounds[0]]


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def _filter(text: str, root: Any) -> Callable[[Any], bool]:
    match = re.fullmatch(r"\s*(.+?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?)\s*)?", text)
    if match is None:
        raise JSONPathError(f"error parsing jsonpath: empty filter {text!r}")
    left, comparison, right = match.groups()

    def holds(item: Any) -> bool:
        found = _evaluate(left, root, item)
        if comparison is None:
            return bool(found)
        wanted = _literal(right, root, item)
        try:
            return bool(found) and _COMPARE[comparison](found[0], wanted)
        except TypeError:
            return False  # values of different types compare as unequal

    return holds


def _literal(text: str, root: Any, item: Any) -> Any:
    if text[:1] in "\"'":
        return _unquote(text)
    if text[:1] in "@$":
        return next(iter(_evaluate(text, root, item)), None)
    try:
        return json.loads(text)
    except ValueError as error:
        raise JSONPathError(f"error parsing jsonpath: unrecognized value {text!r}") from error


def _unquote(text: str) -> str:
    if len(text) < 2 or text[0] != text[-1]:
        raise JSONPathError(f"error parsing jsonpath: unterminated quoted string {text}")
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match.group(1), match.group(1)), text[1:-1])


def _parts(template: str) -> list[_Part]:
    """Text and code in turn; braces within quotes belong to the code."""
    parts: list[_Part] = []
    position = 0
    pattern = re.compile(r"""\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*)\}""")
    while position < len(template):
        start = template.find("{", position)
        if start < 0:
            parts.append(_Part(template[position:], is_code=False))
            break
        if start > position:
            parts.append(_Part(template[position:start], is_code=False))
        match = pattern.match(template, start)
        if match is None:
            raise JSONPathError(f"error parsing jsonpath {template}, unclosed action")
        parts.append(_Part(match.group(1), is_code=True))
        position = match.end()
    return parts
