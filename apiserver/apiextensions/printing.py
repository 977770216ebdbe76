"""The paths that a definition's version names: of its columns, its replicas, and its selectable fields."""

from __future__ import annotations

from apimachinery import jsonpath
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.apiextensions.structural import Structural
from apiserver.registry.validation import causes

_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SELECTABLE_MAX = 8


def column_problems(version: Object, here: str) -> list[Cause]:
    found: list[Cause] = []
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        field = f"{here}[{index}]"
        if not column.get("name"):
            found.append(causes.required(f"{field}.name"))
        kind = column.get("type") or ""
        if not kind:
            listed = ", ".join(sorted(_TYPES))
            found.append(causes.required(f"{field}.type", f"must be one of {listed}"))
        elif kind not in _TYPES:
            listed = ", ".join(sorted(_TYPES))
            found.append(causes.invalid(f"{field}.type", kind, f"must be one of {listed}"))
        form = column.get("format") or ""
        if form and form not in _FORMATS:
            found.append(causes.invalid(f"{field}.format", form, f"must be one of {', '.join(sorted(_FORMATS))}"))
        path = column.get("jsonPath") or ""
        found += _simple(path, f"{field}.jsonPath") if path else [causes.required(f"{field}.jsonPath")]
    return found


def scale_problems(version: Object, here: str) -> list[Cause]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return []
    found: list[Cause] = []
    for name, root, needed in (
        ("specReplicasPath", ".spec.", True),
        ("statusReplicasPath", ".status.", True),
        ("labelSelectorPath", "", False),
    ):
        path, field = scale.get(name) or "", f"{here}.{name}"
        if not path:
            found += [causes.required(field)] if needed else []
            continue
        faults = _simple(path, field)
        roots = (root,) if root else (".spec.", ".status.")
        if not faults and not path.startswith(roots):
            under = root.rstrip(".") if root else ".spec or .status"
            faults = [causes.invalid(field, path, f"should be a json path under {under}")]
        found += faults
    return found


def selectable_problems(version: Object, here: str) -> list[Cause]:
    listed = version.get("selectableFields") or []
    found: list[Cause] = []
    if len(listed) > SELECTABLE_MAX:
        found.append(causes.too_many(here, len(listed), SELECTABLE_MAX))
    seen: set[str] = set()
    root = Structural((version.get("schema") or {}).get("openAPIV3Schema") or {})
    for index, item in enumerate(listed):
        field, path = f"{here}[{index}].jsonPath", item.get("jsonPath") or ""
        if not path:
            found.append(causes.required(field))
            continue
        if path in seen:
            found.append(causes.duplicate(field, path))
        seen.add(path)
        found += _selectable(root, path, field)
    return found


def _selectable(root: Structural, path: str, field: str) -> list[Cause]:
    if not path.startswith(".") or "[" in path:
        return [causes.invalid(field, path, "is an invalid path: must be a simple json path starting with .")]
    if path.startswith(".metadata"):
        return [causes.invalid(field, path, "must not point to fields in metadata")]
    node: Structural | None = root
    for part in path[1:].split("."):
        node = node.properties.get(part) if node is not None else None
    if node is None:
        return [causes.invalid(field, path, "is an invalid path: does not refer to a valid field")]
    if node.type not in ("string", "boolean", "integer"):
        return [
            causes.invalid(
                field,
                path,
                "must point to a field of type string, boolean or integer. Enum string "
                "fields and strings with formats are allowed.",
            )
        ]
    return []


def _simple(path: str, field: str) -> list[Cause]:
    if not path.startswith("."):
        return [causes.invalid(field, path, "must be a simple json path starting with .")]
    if path == ".":
        return []
    try:
        jsonpath.find(path, {})
    except jsonpath.JSONPathError as error:
        return [causes.invalid(field, path, f"is an invalid path: {error}")]
    return []
