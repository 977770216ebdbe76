"""Regular expressions as Go writes them (RE2), for Python's `re`."""

from __future__ import annotations

import re
from functools import lru_cache

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# What only Python's engine has: a pattern with them is none in Go
_FOREIGN = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?(?:=|!|<=|<!|\()|\(\?P=|\\[1-9])")


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Raises ValueError for what Go would not compile."""
    foreign = _FOREIGN.search(pattern)
    if foreign is not None:
        text = foreign.group().lstrip("\\") if "(" in foreign.group() else foreign.group()
        what = "invalid escape sequence" if text.startswith("\\") else "invalid or unsupported Perl syntax"
        raise ValueError(f"error parsing regexp: {what}: `{text}`")
    text = re.sub(r"\[:(\w+):\]", lambda match: _CLASSES.get(match.group(1), match.group()), pattern)
    text = text.replace(r"\z", r"\Z")
    text = re.sub(r"(?<!\\)((?:\\\\)*)\$", r"\1\\Z", text)  # Go's $ is the end, Python's also before a last newline
    try:
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"error parsing regexp: {error}") from error
