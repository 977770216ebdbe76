"""Text to tokens. Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from apiserver.cel.issues import CompileError, Issue
from apiserver.cel.values import INT_MAX, UINT_MAX, Uint

_RESERVED = """as break const continue else for function if import let loop package namespace return var void while"""
RESERVED = frozenset(_RESERVED.split())
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<string>[bB]?[rR]?(?:\"\"\"|'''|\"|')|[rR][bB](?:\"\"\"|'''|\"|'))
    |(?P<ident>[A-Za-z_]\w*)
    |(?P<quoted>`[\w./ -]+`)
    |(?P<operator>==|!=|<=|>=|&&|\|\||[-+*/%!<>=?:.,()\[\]{}])""",
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {c: c for c in "\\'\"`?"}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # ident, quoted, literal, operator, end
    text: str
    position: int
    value: Any = None


def tokens(source: str) -> list[Token]:
    """All tokens, the last of kind `end`. Raises CompileError."""
    found: list[Token] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            text = source[position]
            raise _wrong(source, position, f"Syntax error: token recognition error at: '{text}'")
        kind, text = str(match.lastgroup), match.group()
        if kind == "string":
            token, position = _string(source, position, text)
            found.append(token)
            continue
        if kind != "space":
            found.append(_token(source, kind, text, position))
        position = match.end()
    return [*found, Token("end", "<EOF>", len(source))]


def _token(source: str, kind: str, text: str, position: int) -> Token:
    if kind == "int":
        # One past the largest is let through here, for the sign that may stand before it
        value = int(text, 0) if text.startswith("0x") else int(text)
        if value > INT_MAX + 1:
            raise _wrong(source, position, "Syntax error: invalid int literal")
        return Token("literal", text, position, value)
    if kind == "uint":
        number = text[:-1]
        value = int(number, 0) if number.startswith("0x") else int(number)
        if value > UINT_MAX:
            raise _wrong(source, position, "Syntax error: invalid uint literal")
        return Token("literal", text, position, Uint(value))
    if kind == "float":
        return Token("literal", text, position, float(text))
    if kind == "ident" and text in ("true", "false", "null"):
        return Token("literal", text, position, {"true": True, "false": False, "null": None}[text])
    return Token(kind, text, position)


def _string(source: str, start: int, opening: str) -> tuple[Token, int]:
    quote = opening.lstrip("bBrR")
    prefix = opening[: -len(quote)].lower()
    position = start + len(opening)
    end = position
    while not source.startswith(quote, end):
        if end >= len(source) or (len(quote) == 1 and source[end] in "\r\n"):
            raise _wrong(source, start, f"Syntax error: token recognition error at: '{source[start:end]}'")
        end += 2 if source[end] == "\\" and "r" not in prefix else 1
    text = source[position:end]
    value: str | bytes = text if "r" in prefix else ""
    if "b" in prefix:
        value = text.encode() if "r" in prefix else _unescaped_bytes(source, start, text)
    elif "r" not in prefix:
        value = _ESCAPE.sub(lambda match: _character(source, start, match.group(1)), text)
    end += len(quote)
    return Token("literal", source[start:end], start, value), end


def _character(source: str, start: int, escape: str) -> str:
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    try:
        if escape[0] in "xXuU" and len(escape) > 1:
            return chr(int(escape[1:], 16))
        if len(escape) == 3:
            return chr(int(escape, 8))
    except (ValueError, OverflowError):
        pass
    raise _wrong(source, start, f"Syntax error: token recognition error at: '\\{escape}'")


def _unescaped_bytes(source: str, start: int, text: str) -> bytes:
    """In bytes, `\\x` and octal escapes are bytes, not characters."""
    out, position = b"", 0
    for match in _ESCAPE.finditer(text):
        character = _character(source, start, match.group(1))
        is_byte = match.group(1)[0] in "xX0123" and len(match.group(1)) == 3
        out += text[position : match.start()].encode() + (bytes([ord(character)]) if is_byte else character.encode())
        position = match.end()
    return out + text[position:].encode()


def _wrong(source: str, position: int, message: str) -> CompileError:
    return CompileError(source, [Issue(position, message)])
