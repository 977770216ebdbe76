"""Make the server's objects as the files say: create what is missing, change what differs, leave the rest alone.

What was applied is kept in an annotation of the object, so that a field taken out of the file later is removed.
"""

from __future__ import annotations

import argparse
import functools
import json
from typing import TYPE_CHECKING, Any

from apimachinery import errors, objects
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from minictl import failures, flags, manifests, output, ownership, targets, threeway
from minictl.context import FIELD_MANAGER, Context
from minictl.discovery import ApiResource
from minictl.manifests import Manifest

if TYPE_CHECKING:
    from apimachinery.schemas import Schemas

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# As kubectl: an object that changes under our hands is read again this often
TRIES = 5
CONFLICT_HELP = """\
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts"""
EXAMPLES = """\
  minictl apply -f app.yaml
  cat app.json | minictl apply -f -
  minictl apply -f folder/ -R --dry-run=server
  minictl apply -f app.yaml --server-side
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_filename(parser, required=True)
    flags.add_dry_run(parser)
    flags.add_validate(parser)
    flags.add_output(parser, "json, yaml, name, jsonpath=TEMPLATE")
    parser.add_argument("--server-side", action="store_true", help="let the server merge, field by field")
    parser.add_argument("--force-conflicts", action="store_true", help="take fields that others manage (--server-side)")
    parser.add_argument("--field-manager", metavar="NAME", default=FIELD_MANAGER, help="who manages the fields")


async def run(context: Context, args: argparse.Namespace) -> int:
    output.check(args.output, ("json", "yaml", "name", "jsonpath"))
    if args.force_conflicts and not args.server_side:
        raise failures.Refused("--force-conflicts only works with --server-side")
    if args.server_side and args.dry_run == "client":
        raise failures.Refused(
            "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)"
        )
    failed: list[Exception] = []
    applied: list[Object] = []
    for manifest in manifests.read(args.filename, context.stdin, recursive=args.recursive):
        try:
            applied.append(await _apply(context, args, manifest))
        except errors.APIError as error:
            failed.append(_explained(error, args, manifest))
        except failures.Refused as error:
            failed.append(error)
    if failed:
        raise failures.Several(failed)
    if applied and args.output not in (None, "name"):
        # several as one list, and only when all went well, as kubectl has it
        shown = applied[0] if len(applied) == 1 else output.as_list(applied) | {"metadata": {}}
        context.out.write(output.render(shown, args.output))
    return 0


def _explained(error: errors.APIError, args: argparse.Namespace, manifest: Manifest) -> Exception:
    """The refusal with what to do about it, or with the file it is about: as kubectl tells either."""
    if not args.server_side:
        return failures.naming(error, f'error when applying "{manifest.source}"')
    if isinstance(error, errors.Conflict):
        return failures.Refused(f"{error.message}\n{CONFLICT_HELP}")
    return error


async def _apply(context: Context, args: argparse.Namespace, manifest: Manifest) -> Object:
    """The object as it is afterwards."""
    if not manifest.obj["metadata"].get("name"):
        where = "" if args.server_side else f"error when applying {manifest.source}: "
        raise failures.Refused(f"{where}resource name may not be empty")
    resource = await (await context.mapper()).by_kind(manifest.gvk)
    namespace = targets.namespace_for(context, args, manifest) if resource.namespaced else None
    if args.server_side:
        obj, verb = await _server_side(context, args, resource, manifest, namespace), "serverside-applied"
    else:
        obj, verb = await _client_side(context, args, resource, manifest, namespace)
    if args.output == "name":
        context.out.write(output.render(obj, "name", resource.noun))
    elif not args.output:
        context.write(f"{resource.noun}/{objects.name_of(obj)} {verb}{flags.dry_run_suffix(args)}")
    return obj


async def _server_side(
    context: Context, args: argparse.Namespace, resource: ApiResource, manifest: Manifest, namespace: str | None
) -> Object:
    if args.dry_run == "none":
        await _upgrade(context, args, resource, manifest, namespace)
    placed = manifest.obj["metadata"] | ({"namespace": namespace} if namespace else {})
    return await context.client.patch(
        resource.gvr,
        objects.name_of(manifest.obj),
        manifest.obj | {"metadata": placed},
        namespace,
        patch_type="apply",
        dry_run=args.dry_run == "server",
        field_manager=args.field_manager,
        field_validation=flags.field_validation(args),
        force=args.force_conflicts,
    )


async def _upgrade(
    context: Context, args: argparse.Namespace, resource: ApiResource, manifest: Manifest, namespace: str | None
) -> None:
    """What was applied without the server becomes what the same manager applies with it (`minictl/ownership.py`)."""
    name = objects.name_of(manifest.obj)
    for left in reversed(range(TRIES)):
        try:
            current = await context.client.get(resource.gvr, name, namespace)
        except errors.NotFound:
            return
        managed = current["metadata"].get("managedFields") or []
        entries = ownership.upgraded(managed, args.field_manager, resource.gvr.api_version)
        if LAST_APPLIED not in objects.annotations_of(current) or entries is None:
            return
        changes = {"managedFields": entries, "resourceVersion": objects.resource_version_of(current)}
        patch = [{"op": "replace", "path": f"/metadata/{key}", "value": value} for key, value in changes.items()]
        try:
            await context.client.patch(
                resource.gvr, name, patch, namespace, patch_type="json", field_manager=args.field_manager
            )
        except errors.Conflict:
            if not left:
                raise
        else:
            return


async def _client_side(
    context: Context, args: argparse.Namespace, resource: ApiResource, manifest: Manifest, namespace: str | None
) -> tuple[Object, str]:
    """The object afterwards, and what happened to it."""
    name = objects.name_of(manifest.obj)
    wanted = annotated(manifest.obj, namespace)
    for left in reversed(range(TRIES)):
        try:
            current = await context.client.get(resource.gvr, name, namespace)
        except errors.NotFound:
            return await _create(context, args, resource, wanted, namespace), "created"
        patch = plan(manifest, wanted, current)
        if not patch:
            return current, "unchanged"
        if LAST_APPLIED not in objects.annotations_of(current):
            context.warn(
                f"Warning: resource {resource.gvr.resource}/{name} is missing the {LAST_APPLIED} annotation which is "
                "required by minictl apply. minictl apply should only be used on resources created declaratively by "
                "minictl apply. The missing annotation will be patched automatically."
            )
        try:
            return await _patch(context, args, resource, patch, current), "configured"
        except errors.Conflict:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")


async def _create(
    context: Context, args: argparse.Namespace, resource: ApiResource, obj: Object, namespace: str | None
) -> Object:
    if args.dry_run == "client":
        return obj
    return await context.client.create(
        resource.gvr,
        obj,
        namespace,
        dry_run=args.dry_run == "server",
        field_manager=args.field_manager,
        field_validation=flags.field_validation(args),
    )


async def _patch(
    context: Context, args: argparse.Namespace, resource: ApiResource, patch: dict[str, Any], current: Object
) -> Object:
    if args.dry_run == "client":
        return current
    return await context.client.patch(
        resource.gvr,
        objects.name_of(current),
        patch,
        objects.namespace_of(current) or None,
        patch_type="strategic" if _node_of(current) is not None else "merge",
        dry_run=args.dry_run == "server",
        field_manager=args.field_manager,
        field_validation=flags.field_validation(args),
    )


def annotated(obj: Object, namespace: str | None) -> Object:
    """The object with itself in the annotation, as it will be compared the next time."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    if namespace:
        metadata["namespace"] = namespace
    annotations = {k: v for k, v in objects.annotations_of(obj).items() if k != LAST_APPLIED}
    plain = obj | {"metadata": metadata | {"annotations": annotations}}
    text = json.dumps(plain, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    return obj | {"metadata": metadata | {"annotations": annotations | {LAST_APPLIED: text}}}


def plan(manifest: Manifest, wanted: Object, current: Object) -> dict[str, Any]:
    """The patch that brings `current` to what is wanted; {} for none."""
    try:
        original = json.loads(objects.annotations_of(current).get(LAST_APPLIED) or "{}")
    except ValueError as error:
        raise failures.Refused(f"the {LAST_APPLIED} annotation of {manifest.source} is not JSON: {error}") from error
    node = _node_of(current)
    if node is None:
        return threeway.merge_patch(original, wanted, current)
    return threeway.strategic_patch(original, wanted, current, node)


def _node_of(obj: Object) -> Any:
    """The type of a built-in kind; None for a custom resource, which the server does not merge strategically."""
    return _schemas().of(GVK.of(obj["apiVersion"], obj["kind"]))


@functools.cache  # read-only data of the package: a quarter of a megabyte that only apply needs
def _schemas() -> Schemas:
    from apimachinery.schemas import Schemas

    return Schemas.load()
