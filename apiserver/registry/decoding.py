"""From a request's body to an object of the expected kind, typed and defaulted (step A7).

Wording is that of upstream's decoder, because people search for it. `fieldValidation` decides what unknown and
duplicate fields are: nothing, a warning each, or an error.
"""

from __future__ import annotations

from apimachinery import codec, errors, schema
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.scheme.scheme import Scheme

_SUMMARY = 30  # bytes of an unreadable body that an error repeats

# Versions that are not served any more, of a body that is: kubectl up to 1.21 evicts with the older one
_SAME_SHAPE = {GVK("policy", "v1", "Eviction"): frozenset({"policy/v1beta1"})}


def decode(scheme: Scheme, call: Call, body: bytes, *, yaml: bool = False, expected: GVK | None = None) -> Object:
    """The object in `body`, with defaults. Raises BadRequest.

    `expected` is the kind to find, by default the resource's own. A body without apiVersion and kind is taken to be
    of that kind; `call.warnings` receives what `fieldValidation=Warn` finds.
    """
    expected = expected or call.resource.gvk
    strict = call.field_validation != "Ignore"
    duplicates: list[str] | None = [] if strict else None  # paths, or lines of YAML
    try:
        value = codec.decode_yaml(body, duplicates) if yaml else codec.decode_json(body, duplicates)
    except codec.CodecError as error:
        raise _unrecognised(expected, f"couldn't get version/kind; json parse error: {error}", body) from error
    if not isinstance(value, dict):
        raise _unrecognised(expected, "couldn't get version/kind; json parse error: not an object", body)
    check_kind(value, expected)
    return typed(scheme, call, value, expected, _duplicate_notes(duplicates or [], yaml=yaml))


def _duplicate_notes(found: list[str], *, yaml: bool) -> list[str]:
    if yaml:
        return ["yaml: unmarshal errors:\n  " + "\n  ".join(found)] if found else []
    return [f'duplicate field "{path}"' for path in found]


def typed(scheme: Scheme, call: Call, value: Object, expected: GVK, notes: list[str] | None = None) -> Object:
    """`value` as its kind's type holds it, with defaults; `notes` says what is strictly wrong. Raises BadRequest."""
    try:
        unknown = fit(scheme, value, expected)
    except schema.TypeMismatch as error:
        raise unfit(expected, str(error)) from error
    report(call, expected, unknown, notes or [])
    scheme.default(expected, value)
    return value


def fit(scheme: Scheme, value: Object, expected: GVK) -> list[str]:
    """Makes `value` what its kind's type can hold, in place; returns the unknown fields. Raises TypeMismatch."""
    node = scheme.schemas.of(expected)
    walk = schema.Walk()
    if node is not None:
        node.check(value, walk)
    metadata = value.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise schema.TypeMismatch(f"metadata is {type(metadata).__name__}")
    return walk.unknown


def check_kind(value: Object, expected: GVK) -> None:
    version = value.get("apiVersion") or expected.api_version
    kind = value.get("kind") or expected.kind
    if not isinstance(version, str) or not isinstance(kind, str):
        raise errors.BadRequest("couldn't get version/kind; json parse error: apiVersion and kind must be strings")
    found = GVK.of(version, kind)
    if kind != expected.kind:
        raise errors.BadRequest(
            f'{kind} in version "{found.version}" cannot be handled as a {expected.kind}: '
            f"converting ({found.version}.{kind}) to ({expected.version}.{expected.kind}): unknown conversion"
        )
    if version in _SAME_SHAPE.get(expected, ()):
        version = expected.api_version
    if version != expected.api_version:
        raise errors.BadRequest(
            f"the API version in the data ({version}) does not match the expected API version ({expected.api_version})"
        )
    value["apiVersion"], value["kind"] = version, kind


def report(call: Call, expected: GVK, unknown: list[str], notes: list[str]) -> None:
    if not unknown and not notes:
        return
    notes = notes + [f'unknown field "{path}"' for path in unknown]
    match call.field_validation:
        case "Strict":
            raise unfit(expected, f"strict decoding error: {', '.join(notes)}")
        case "Warn":
            call.warnings += notes


def report_strict(call: Call, duplicates: list[str]) -> None:
    """As `report`, for an apply configuration, which has no unknown fields. Raises BadRequest."""
    notes = [f"error converting YAML to JSON: {note}" for note in _duplicate_notes(duplicates, yaml=True)]
    if notes and call.field_validation == "Strict":
        raise errors.BadRequest(f"error strict decoding YAML: {', '.join(notes)}")
    if call.field_validation == "Warn":
        call.warnings += notes


def unfit(expected: GVK, why: str) -> errors.BadRequest:
    return errors.BadRequest(
        f'{expected.kind} in version "{expected.version}" cannot be handled as a {expected.kind}: {why}'
    )


def _unrecognised(expected: GVK, why: str, body: bytes) -> errors.BadRequest:
    return errors.BadRequest(
        f"the object provided is unrecognized (must be of type {expected.kind}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    head = body[:_SUMMARY]
    text = head.decode(errors="replace") if body[:1] == b"{" else head.hex()
    return text + (" ..." if len(body) > _SUMMARY else "")
