"""The patch forms that need no schema: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386).

Both return the patched document and leave their arguments as they were, except that parts may be shared with them.
Strategic merge patches, which need a kind's schema, are in `strategic`.
"""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
import orjson

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

OPERATIONS_MAX = 10_000  # of one JSON patch; upstream's bound
COPIED_BYTES_MAX = 3 * 1024 * 1024  # by all `copy` operations together, or a few of them could fill the memory
_OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})


class PatchError(ValueError):
    """The patch itself is malformed."""


class PatchTooLarge(PatchError):
    """The patch asks for more than the bounds allow."""


class PatchRefused(PatchError):
    """The patch is well-formed, but does not fit the document: a path is missing, a test failed."""


def json_patch(document: Any, operations: Any) -> Any:
    """RFC 6902, all or nothing. Raises PatchError, PatchTooLarge, PatchRefused."""
    _check_operations(operations)
    result = orjson.loads(orjson.dumps(document))
    copied = 0
    for operation in operations:
        try:
            if operation["op"] == "copy":
                copied += len(orjson.dumps(jsonpointer.resolve_pointer(result, operation.get("from", ""))))
                if copied > COPIED_BYTES_MAX:
                    raise PatchTooLarge(f"copy operations of a JSON patch may copy at most {COPIED_BYTES_MAX} bytes")
            result = jsonpatch.JsonPatch([operation]).apply(result, in_place=True)
        except jsonpatch.JsonPatchTestFailed as error:
            raise PatchRefused(f"testing value {operation['path']} failed") from error
        except (jsonpatch.InvalidJsonPatch, TypeError) as error:
            raise PatchError(f"invalid operation: {operation['op']} {operation['path']}") from error
        # The messages of these hold the whole document, so they are not repeated
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, KeyError, IndexError) as error:
            what = f"{operation['op']} operation does not apply: doc is missing path: {operation['path']}"
            raise PatchRefused(what) from error
    return result


def _check_operations(operations: Any) -> None:
    if not isinstance(operations, list):
        raise PatchError("a JSON patch must be an array of operations")
    if len(operations) > OPERATIONS_MAX:
        raise PatchTooLarge(
            f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        )
    for operation in operations:
        if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
            raise PatchError("Unexpected kind: each operation of a JSON patch has an op")
        if not isinstance(operation.get("path"), str) or not isinstance(operation.get("from", ""), str):
            raise PatchError("each operation of a JSON patch has a path")


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
