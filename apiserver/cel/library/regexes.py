"""Regular expressions."""

from __future__ import annotations

from apiserver.cel import regexes
from apiserver.cel.declarations import Library
from apiserver.cel.library import costs

LIBRARY = Library()
LIBRARY.method("matches(string, string) -> bool", regexes.matches, costs.regex)
LIBRARY.function("matches(string, string) -> bool", regexes.matches, costs.regex)
LIBRARY.method("find(string, string) -> string", regexes.find, costs.regex)
LIBRARY.method("findAll(string, string) -> list(string)", regexes.find_all, costs.regex)
LIBRARY.method("findAll(string, string, int) -> list(string)", regexes.find_all, costs.regex)
