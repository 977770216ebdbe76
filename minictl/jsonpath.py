"""JSONPath on the command line: what `apimachinery.jsonpath` finds, its faults as refusals."""

from __future__ import annotations

from typing import Any

from apimachinery import jsonpath
from minictl.failures import Refused


def render(template: str, obj: Any) -> str:
    """The template's text for `obj`. Raises Refused for a template that cannot be read."""
    try:
        return jsonpath.render(template, obj)
    except jsonpath.JSONPathError as error:
        raise Refused(str(error)) from error


def find(expression: str, obj: Any) -> list[Any]:
    """The values of one expression, without braces or with. Raises Refused."""
    try:
        return jsonpath.find(expression, obj)
    except jsonpath.JSONPathError as error:
        raise Refused(str(error)) from error
