"""Create the objects of files, folders or stdin."""

from __future__ import annotations

import argparse

from apimachinery import errors
from minictl import failures, flags, manifests, output, targets
from minictl.context import FIELD_MANAGER, Context
from minictl.manifests import Manifest

EXAMPLES = """\
  minictl create -f pod.yaml
  cat pod.json | minictl create -f -
  minictl create -f folder/ --dry-run=server
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flags.add_filename(parser, required=True)
    flags.add_dry_run(parser)
    flags.add_validate(parser)
    flags.add_output(parser, "json, yaml, name, jsonpath=TEMPLATE")


async def run(context: Context, args: argparse.Namespace) -> int:
    output.check(args.output, ("json", "yaml", "name", "jsonpath"))
    printer = output.Printer(args.output) if args.output else None
    failed: list[Exception] = []
    for manifest in manifests.read(args.filename, context.stdin, recursive=args.recursive):
        try:
            await _create(context, args, manifest, printer)
        except errors.APIError as error:
            failed.append(failures.naming(error, f'error when creating "{manifest.source}"'))
        except failures.Refused as error:
            failed.append(error)
    if failed:
        raise failures.Several(failed)
    return 0


async def _create(
    context: Context, args: argparse.Namespace, manifest: Manifest, printer: output.Printer | None
) -> None:
    resource = await (await context.mapper()).by_kind(manifest.gvk)
    namespace = targets.namespace_for(context, args, manifest) if resource.namespaced else None
    obj = manifest.obj
    if args.dry_run == "client":
        obj = obj | {"metadata": obj["metadata"] | ({"namespace": namespace} if namespace else {})}
    else:
        obj = await context.client.create(
            resource.gvr,
            obj,
            namespace,
            dry_run=args.dry_run == "server",
            field_manager=FIELD_MANAGER,
            field_validation=flags.field_validation(args),
        )
    if printer is not None:
        context.out.write(printer.text(obj, resource.noun))
    else:
        name = obj["metadata"].get("name") or obj["metadata"].get("generateName")
        context.write(f"{resource.noun}/{name} created{flags.dry_run_suffix(args)}")
