"""The functions of an expression: those of the language, and those that Kubernetes adds to it.

Source: https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries
"""

from __future__ import annotations

from functools import cache

from apiserver.cel.declarations import Library
from apiserver.cel.library import (
    addresses,
    authorization,
    conversions,
    formats,
    formatting,
    lists,
    operators,
    optionals,
    quantities,
    regexes,
    semvers,
    sets,
    strings,
    times,
    urls,
)

_PARTS = (
    operators,
    conversions,
    times,
    strings,
    formatting,
    regexes,
    lists,
    sets,
    optionals,
    quantities,
    urls,
    addresses,
    semvers,
    formats,
    authorization,
)


@cache
def kubernetes() -> Library:
    """All of them."""
    return Library(*(part.LIBRARY for part in _PARTS))
