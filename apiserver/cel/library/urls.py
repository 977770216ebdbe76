"""URLs: absolute ones, and absolute paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, urlsplit

from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs

TYPE = "kubernetes.URL"
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BAD = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class URL:
    parts: SplitResult
    cel_type = TYPE


def _read(text: str) -> URL:
    refused = EvaluationError(f"URL parse error during conversion from string: {_problem(text)}")
    if _BAD.search(text) or _BAD_ESCAPE.search(text):
        raise refused
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  # says whether it is a number
    except ValueError as error:
        raise refused from error
    if not parts.scheme and not text.startswith("/"):
        raise refused
    return URL(parts)


def _problem(text: str) -> str:
    return f'parse "{text}": invalid URI for request'


def _is_url(text: str) -> bool:
    try:
        _read(text)
    except EvaluationError:
        return False
    return True


def _host(url: URL) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: URL) -> str:
    host = _host(url)
    return host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]


def _port(url: URL) -> str:
    return "" if url.parts.port is None else str(url.parts.port)


def _query(url: URL) -> dict[str, list[str]]:
    return parse_qs(url.parts.query, keep_blank_values=True)


LIBRARY = Library()
LIBRARY.function(f"url(string) -> {TYPE}", _read, costs.traversal())
LIBRARY.function("isURL(string) -> bool", _is_url, costs.traversal())
LIBRARY.method(f"getScheme({TYPE}) -> string", lambda url: url.parts.scheme)
LIBRARY.method(f"getHost({TYPE}) -> string", _host)
LIBRARY.method(f"getHostname({TYPE}) -> string", _hostname)
LIBRARY.method(f"getPort({TYPE}) -> string", _port)
LIBRARY.method(f"getEscapedPath({TYPE}) -> string", lambda url: url.parts.path)
LIBRARY.method(f"getQuery({TYPE}) -> map(string, list(string))", _query)
