"""One patch request: its body parsed once, applied to each version of the object that a retry meets (step A3)."""

from __future__ import annotations

from typing import Any

from apimachinery import codec, errors, patch, strategic
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apimachinery.patch import PatchError, PatchRefused, PatchTooLarge
from apiserver.registry import decoding
from apiserver.registry.call import Call
from apiserver.scheme.scheme import Scheme

REJECTED = "the server rejected our request due to an error in our request"


class Patch:
    """Raises BadRequest at once when the body is no patch of its type, UnsupportedMediaType for an unknown type."""

    def __init__(self, scheme: Scheme, call: Call, patch_type: str, body: bytes, kind: GVK | None = None) -> None:
        self._scheme = scheme
        self._call = call
        self._kind = kind or call.resource.gvk
        self._type = patch_type
        self._node = scheme.schemas.of(self._kind)
        if patch_type not in (patch.JSON, patch.MERGE, patch.STRATEGIC):
            raise errors.UnsupportedMediaType(_unsupported(patch_type, built_in=self._is_built_in()))
        if patch_type == patch.STRATEGIC and not self._is_built_in():
            raise errors.UnsupportedMediaType(_unsupported(patch_type, built_in=False))
        self._duplicates: list[str] = []
        try:
            self._patch: Any = codec.decode_json(body, self._duplicates)
        except codec.CodecError as error:
            raise errors.BadRequest(f"error decoding patch: {error}") from error
        if patch_type != patch.JSON and not isinstance(self._patch, dict):
            raise errors.BadRequest("error decoding patch: json: cannot unmarshal into Go value of type map")

    def apply(self, current: Object) -> Object:
        """The patched object, typed and defaulted. Warnings are noted once, however often it is run."""
        try:
            patched = self._patched(current)
        except PatchTooLarge as error:
            raise errors.RequestEntityTooLarge(str(error)) from error
        except PatchRefused as error:
            cause = errors.Cause("FieldValueInvalid", str(error), "patch")
            raise errors.Invalid(REJECTED, causes=[cause]) from error
        except PatchError as error:
            raise errors.BadRequest(str(error)) from error
        if not isinstance(patched, dict):
            raise errors.BadRequest(f"the patched {self._kind.kind} is no object")
        for field, own in (("apiVersion", self._kind.api_version), ("kind", self._kind.kind)):
            if not patched.get(field):  # a patch that removes it means the one that it was
                patched = patched | {field: own}
        self._check_kind(patched)
        self._call.warnings.clear()
        # what merging shared with the patch must not be changed by typing and defaulting
        own = codec.decode_json(codec.encode(patched))
        return decoding.typed(self._scheme, self._call, own, self._kind, self._duplicates)

    def _patched(self, current: Object) -> Any:
        if self._type == patch.JSON:
            return patch.json_patch(current, self._patch)
        if self._type == patch.MERGE:
            return patch.merge_patch(current, self._patch)
        assert self._node is not None
        return strategic.merge(current, self._patch, self._node)

    def _check_kind(self, patched: Object) -> None:
        if patched.get("kind") != self._kind.kind or patched.get("apiVersion") != self._kind.api_version:
            raise errors.BadRequest(
                f'{patched.get("kind")} in version "{patched.get("apiVersion")}" cannot be handled as a '
                f"{self._kind.kind}: a patch may not change apiVersion or kind"
            )

    def _is_built_in(self) -> bool:
        return self._node is not None and self._scheme.schemas.name_of(self._kind) is not None


def _unsupported(patch_type: str, *, built_in: bool) -> str:
    accepted = [patch.JSON, patch.MERGE, *([patch.STRATEGIC] if built_in else []), patch.APPLY]
    return (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)} (got {patch_type!r})"
    )
