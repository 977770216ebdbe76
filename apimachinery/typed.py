"""Whether an apply configuration fits its type, in the words of upstream's server-side apply.

Stricter than `schema`: unknown fields, scalars of another type, and list items that cannot be told apart are problems,
since nobody could own them. What no schema describes fits.
"""

from __future__ import annotations

from typing import Any

from apimachinery import fieldset, gotext, ownership, schema
from apimachinery.schema import List, Map, Node, Struct

Problems = list[str]


def problems(config: Any, node: Node, path: str = "") -> Problems:
    """What does not fit, each as `.path: why`; null fits everywhere."""
    if config is None or isinstance(node, schema.Anything):
        return []
    match node:
        case Struct():
            return _struct_problems(config, node, path)
        case Map():
            if not isinstance(config, dict):
                return [f"{path}: expected map, got &{{{gotext.text(config)}}}"]
            return [text for name, value in config.items() for text in problems(value, node.value, f"{path}.{name}")]
        case List():
            return _list_problems(config, node, path)
    why = _scalar_problem(config, node)
    return [f"{path}: {why}"] if why else []


def text(found: Problems) -> str:
    """Several problems in one message."""
    return found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])


def _struct_problems(config: Any, node: Struct, path: str) -> Problems:
    if not isinstance(config, dict):
        return [f"{path}: expected map, got &{{{gotext.text(config)}}}"]
    found: Problems = []
    for name, value in config.items():
        field = node.fields.get(name)
        if field is not None:
            found += problems(value, field.node, f"{path}.{name}")
        elif not node.open:
            found.append(f"{path}.{name}: field not declared in schema")
    return found


def _list_problems(config: Any, node: List, path: str) -> Problems:
    if not isinstance(config, list):
        return [f"{path}: expected list, got &{{{gotext.text(config)}}}"]
    if node.list_type == "atomic":
        return [text for at, item in enumerate(config) for text in problems(item, node.item, f"{path}[{at}]")]
    found: Problems = []
    seen: set[str] = set()
    for at, item in enumerate(config):
        why = _set_item_problem(item) if node.list_type == "set" else _map_item_problem(item, node)
        if why:
            found.append(f"{path}: element {at}: {why}")
            continue
        step = ownership.identity(node)(item)
        if step in seen:
            found.append(f"{path}: duplicate entries for key {fieldset.step_text(step)}")
        seen.add(step)
        found += problems(item, node.item, path + fieldset.step_text(step))
    return found


def _map_item_problem(item: Any, node: List) -> str:
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    missing = next((key for key in node.keys if key not in item and node.key_defaults.get(key) is None), None)
    if missing is None:
        return ""
    return (
        f'associative list with keys has an element that omits key field "{missing}" (and doesn\'t have default value)'
    )


def _set_item_problem(item: Any) -> str:
    if item is None:
        return "associative list without keys has an element that's an explicit null"
    if isinstance(item, dict):
        return "associative list without keys has an element that's a map type"
    return "not supported: associative list with lists as elements" if isinstance(item, list) else ""


def _scalar_problem(value: Any, node: Node) -> str:
    match node:
        case schema.String() | schema.Bytes():
            return (
                ""
                if isinstance(value, str)
                else f"expected string, got &value.valueUnstructured{{Value:{gotext.text(value)}}}"
            )
        case schema.Integer() | schema.Number():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return "" if is_number else f"expected numeric (int or float), got {gotext.type_name(value)}"
        case schema.Boolean():
            return "" if isinstance(value, bool) else f"expected boolean, got &{{{gotext.text(value)}}}"
    return f"expected any scalar, got &{{{gotext.text(value)}}}" if isinstance(value, dict | list) else ""
