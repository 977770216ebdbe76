"""The patch forms that need no schema: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386).

Both return the patched document and leave their arguments as they were, except that parts may be shared with them.
Strategic merge patches, which need a kind's schema, are in `strategic`.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
import orjson

from apimachinery import gotext

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

OPERATIONS_MAX = 10_000  # of one JSON patch; upstream's bound
COPIED_BYTES_MAX = 3 * 1024 * 1024  # by all `copy` operations together, or a few of them could fill the memory
_TYPE = "handlers.jsonPatchOp"
_PATCH_TYPE = f"[]{_TYPE}"
_FIELDS = ("op", "path", "from", "value")
_OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})


class PatchError(ValueError):
    """The patch itself is malformed."""


class PatchTooLarge(PatchError):
    """The patch asks for more than the bounds allow."""


class PatchRefused(PatchError):
    """The patch is well-formed, but does not fit the document: a path is missing, a test failed."""


def json_patch(document: Any, operations: Any) -> Any:
    """RFC 6902, all or nothing. Raises PatchError, PatchTooLarge, PatchRefused."""
    check_operations(operations)
    result = orjson.loads(orjson.dumps(document))
    copied = 0
    for operation in operations:
        kind, path = operation.get("op"), operation.get("path")
        if kind not in _OPERATIONS:
            raise PatchRefused(f"Unexpected kind: {kind or 'unknown'}")
        if path is None:
            raise PatchRefused(f"{kind} operation failed to decode path: missing value")
        try:
            if kind == "copy":
                copied += len(orjson.dumps(jsonpointer.resolve_pointer(result, operation.get("from", ""))))
                if copied > COPIED_BYTES_MAX:
                    why = f"the accumulated size increase of copy is {copied}, exceeding the limit {COPIED_BYTES_MAX}"
                    raise PatchRefused(f"Unable to complete the copy, {why}")
            # as upstream, an operation without a value has null
            result = jsonpatch.JsonPatch([{"value": None} | operation]).apply(result, in_place=True)
        except jsonpatch.JsonPatchTestFailed as error:
            raise PatchRefused(f"testing value {path} failed: test failed") from error
        # The messages of these hold the whole document, so they are not repeated
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, LookupError, TypeError) as error:
            raise PatchRefused(
                f'{kind} operation does not apply: doc is missing path: "{path}": missing value'
            ) from error
    return result


def check_operations(operations: Any) -> None:
    """Raises PatchError for what is no JSON patch, PatchTooLarge for one that is too long."""
    if not isinstance(operations, list):
        raise PatchError(f"json: cannot unmarshal {gotext.json_type(operations)} into Go value of type {_PATCH_TYPE}")
    if len(operations) > OPERATIONS_MAX:
        raise PatchTooLarge(
            f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        )
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchError(f"json: cannot unmarshal {gotext.json_type(operation)} into Go value of type {_TYPE}")
        for field in ("op", "path", "from"):
            value = operation.get(field)
            if value is not None and not isinstance(value, str):
                where = f"Go struct field jsonPatchOp.{field} of type string"
                raise PatchError(f"json: cannot unmarshal {gotext.json_type(value)} into {where}")


def unknown_in_operations(operations: list[dict[str, Any]]) -> list[str]:
    """The fields that no operation has, by their paths."""
    return [f"[{at}].{name}" for at, item in enumerate(operations) for name in item if name not in _FIELDS]


def merge_patch(document: Any, patch: Any) -> Any:
    """RFC 7386: objects merge, null removes, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merge_patch(result.get(key), value)
        else:
            result[key] = value
    return result
