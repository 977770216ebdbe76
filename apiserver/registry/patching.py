"""One patch request: its body parsed once, applied to each version of the object that a retry meets (step A3)."""

from __future__ import annotations

from typing import Any

from apimachinery import codec, errors, gotext, patch, schema, strategic
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apimachinery.patch import PatchError, PatchRefused, PatchTooLarge
from apiserver.registry import decoding
from apiserver.registry.call import Call
from apiserver.registry.validation import causes
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
        self._strict: list[str] = []  # what `fieldValidation` minds in the patch itself
        self._patch = self._decoded(body)

    def apply(self, current: Object) -> Object:
        """The patched object, typed and defaulted. Warnings are noted once, however often it is run."""
        try:
            patched = self._patched(current)
        except PatchTooLarge as error:
            raise errors.RequestEntityTooLarge(str(error)) from error
        except PatchRefused as error:  # upstream tells no more
            raise errors.Invalid(REJECTED) from error
        except PatchError as error:
            raise errors.BadRequest(str(error)) from error
        if not isinstance(patched, dict):
            raise errors.BadRequest(f"the patched {self._kind.kind} is no object")
        for field, own in (("apiVersion", self._kind.api_version), ("kind", self._kind.kind)):
            if not patched.get(field):  # a patch that removes it means the one that it was
                patched = patched | {field: own}
        # what merging shared with the patch must not be changed by typing and defaulting
        own_copy: Object = codec.decode_json(codec.encode(patched))
        return self._typed(own_copy, patched)

    def _decoded(self, body: bytes) -> Any:
        """The body as a patch. Raises BadRequest, RequestEntityTooLarge."""
        duplicates: list[str] = []
        prefix = "" if self._type == patch.STRATEGIC else "error decoding patch: "
        try:
            value = codec.decode_json(body, duplicates)
            if self._type == patch.JSON:
                patch.check_operations(value)
            elif not isinstance(value, dict):
                what = gotext.json_type(value)
                raise PatchError(f"json: cannot unmarshal {what} into Go value of type map[string]interface {{}}")
        except PatchTooLarge as error:
            raise errors.RequestEntityTooLarge(str(error)) from error
        except (codec.CodecError, PatchError) as error:
            raise errors.BadRequest(f"{prefix}{error}") from error
        prefix = "json patch " if self._type == patch.JSON else ""
        self._strict = [f'{prefix}duplicate field "{path}"' for path in duplicates]
        if self._type == patch.JSON:
            self._strict += [f'{prefix}unknown field "{path}"' for path in patch.unknown_in_operations(value)]
        return value

    def _patched(self, current: Object) -> Any:
        if self._type == patch.JSON:
            return patch.json_patch(current, self._patch)
        if self._type == patch.MERGE:
            return patch.merge_patch(current, self._patch)
        assert self._node is not None
        return strategic.merge(current, self._patch, self._node)

    def _typed(self, value: Object, patched: Object) -> Object:
        """Raises Invalid: what does not fit is the patch's fault."""
        found = GVK.of(str(value["apiVersion"]), str(value["kind"]))
        if found != self._kind:
            text = f"({found.version}.{found.kind}) to ({self._kind.version}.{self._kind.kind})"
            raise self._invalid(patched, f"converting {text}: unknown conversion")
        try:
            unknown = decoding.fit(self._scheme, value, self._kind)
        except schema.TypeMismatch as error:
            why = error.unstructured if self._type == patch.STRATEGIC else str(error)
            raise self._invalid(patched, why) from error
        notes = self._strict + [f'unknown field "{path}"' for path in unknown]
        if notes and self._call.field_validation == "Strict":
            raise self._invalid(patched, f"strict decoding error: {', '.join(notes)}")
        self._call.warnings[:] = notes if self._call.field_validation == "Warn" else []
        self._scheme.default(self._kind, value)
        return value

    def _invalid(self, patched: Object, why: str) -> errors.Invalid:
        shown = gotext.text(self._patch) if self._type == patch.STRATEGIC else codec.encode(patched).decode()
        return errors.invalid("", "", "", [causes.invalid("patch", shown, why)])

    def _is_built_in(self) -> bool:
        return self._node is not None and self._scheme.schemas.name_of(self._kind) is not None


def _unsupported(patch_type: str, *, built_in: bool) -> str:
    accepted = [patch.JSON, patch.MERGE, *([patch.STRATEGIC] if built_in else []), patch.APPLY]
    return (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)} (got {patch_type!r})"
    )
