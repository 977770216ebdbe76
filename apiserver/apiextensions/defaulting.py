"""Fills in a schema's defaults, and drops nulls that a field cannot hold (a default takes their place). Pure.

As upstream: an object that is itself absent gets no defaults for what would be within it, unless it has one.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting
"""

from __future__ import annotations

import copy
from typing import Any

from apiserver.apiextensions.structural import Structural


def default(value: Any, node: Structural) -> None:
    """In place; twice is once. What the schema does not describe is left alone."""
    if type(value) is dict:
        for name, field in node.properties.items():
            if name in value or field.has_default:
                _default_field(value, name, field)
        if isinstance(node.additional, Structural):
            for name in [name for name in value if name not in node.properties]:
                _default_field(value, name, node.additional)
    elif type(value) is list and node.items is not None:
        for item in value:
            default(item, node.items)


def _default_field(value: dict[str, Any], name: str, field: Structural) -> None:
    if name not in value or (value[name] is None and not field.nullable):
        if not field.has_default:
            del value[name]
            return
        value[name] = copy.deepcopy(field.default)
    default(value[name], field)
