"""The options of a write (A7): in its query (`dryRun`, `fieldManager` …), those of a deletion also in its body."""

from __future__ import annotations

from apimachinery import errors, schema
from apimachinery import patch as patches
from apimachinery.errors import Cause
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.asgi import Receive
from apiserver.handlers import bodies
from apiserver.registry import decoding
from apiserver.registry.call import Call
from apiserver.registry.options import integer, query_flag
from apiserver.registry.validation import causes
from apiserver.request import Request
from apiserver.scheme.scheme import Scheme

_DELETE_OPTIONS = GVK("", "v1", "DeleteOptions")
_KINDS = {"create": "CreateOptions", "patch": "PatchOptions", "delete": "DeleteOptions"}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MANAGER_BYTES_MAX = 128  # as upstream: it is repeated in every object


def read(request: Request, call: Call) -> None:
    """Puts the options into the call. Raises Invalid for values that mean nothing."""
    dry_run = request.query.get("dryRun", [])
    force = query_flag(request.first_values(), "force")
    validation = request.option("fieldValidation")
    call.dry_run = bool(dry_run)
    call.field_manager = request.option("fieldManager")
    call.force = force is True
    call.field_validation = validation or "Warn"
    found = field_manager(call.field_manager, "fieldManager")
    is_apply = request.header(b"content-type").partition(";")[0].strip() == patches.APPLY
    if call.verb == "patch" and force is not None and not is_apply:
        found.append(causes.forbidden("force", "may not be specified for non-apply patch"))
    found += dry_run_problems(dry_run)
    if validation not in _VALIDATIONS:
        found.append(causes.unsupported("fieldValidation", validation, _VALIDATIONS))
    if found:
        raise errors.invalid("meta.k8s.io", _KINDS.get(call.verb, "UpdateOptions"), "", found)


async def read_deletion(scheme: Scheme, request: Request, call: Call, receive: Receive) -> Object:
    """`DeleteOptions` from the body, or from the query when there is none. Raises BadRequest, Invalid."""
    options = await bodies.read_object(request, receive)
    kind = options.get("kind") or _DELETE_OPTIONS.kind
    if kind != _DELETE_OPTIONS.kind:  # of any version: every group has it
        raise errors.BadRequest(
            f"decoded object cannot be converted to DeleteOptions: {options.get('apiVersion', '')}, Kind={kind}"
        )
    node = scheme.schemas.of(_DELETE_OPTIONS)
    assert node is not None, "DeleteOptions is in the published definitions"
    try:
        options = node.check(options, schema.Walk())
    except schema.TypeMismatch as error:
        raise decoding.unfit(_DELETE_OPTIONS, str(error)) from error
    options = options or _of_query(request)
    found = dry_run_problems(options.get("dryRun") or [])
    if found:
        raise errors.invalid("meta.k8s.io", _DELETE_OPTIONS.kind, "", found)
    call.dry_run = call.dry_run or bool(options.get("dryRun"))
    return options


def _of_query(request: Request) -> Object:
    query = request.first_values()
    given = {
        "gracePeriodSeconds": integer(query, "gracePeriodSeconds"),
        "orphanDependents": query_flag(query, "orphanDependents"),
        "propagationPolicy": query.get("propagationPolicy") or None,
        "dryRun": request.query.get("dryRun"),
    }
    return {name: value for name, value in given.items() if value is not None}


def dry_run_problems(values: list[str]) -> list[Cause]:
    return [causes.unsupported("dryRun", values, ("All",))] if set(values) - {"All"} else []


def field_manager(name: str, field: str) -> list[Cause]:
    """What is wrong with the name of a manager of fields."""
    found = []
    if len(name.encode()) > _MANAGER_BYTES_MAX:
        found.append(causes.too_long(field, _MANAGER_BYTES_MAX))
    for position, char in enumerate(name):
        if not char.isprintable():
            why = f"invalid character U+{ord(char):04X} (at position {position})"
            found.append(causes.invalid(field, name, why))
    return found
