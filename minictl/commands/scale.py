"""Set a new size for a Deployment, ReplicaSet, StatefulSet, or whatever else has a `scale`."""

from __future__ import annotations

import argparse

from apimachinery import errors
from minictl import failures, flags, targets, validation
from minictl.context import Context
from minictl.discovery import ApiResource

EXAMPLES = """\
  minictl scale deploy/nginx --replicas=5
  minictl scale deploy nginx web --replicas=0
  minictl scale --current-replicas=2 --replicas=3 deploy/nginx   # only if it has two now
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TYPE/NAME", nargs="*", help="what to scale")
    parser.add_argument("--replicas", metavar="N", type=int, required=True, help="the new size")
    parser.add_argument("--current-replicas", metavar="N", type=int, default=-1, help="only from this size")
    parser.add_argument("--resource-version", metavar="VERSION", default="", help="only at this version")
    flags.add_dry_run(parser)


async def run(context: Context, args: argparse.Namespace) -> int:
    validation.replicas(args.replicas)
    found = await targets.resolve(await context.mapper(), args.targets, verb="scale")
    failed: list[Exception] = []
    for target in found:
        if not target.names:
            raise failures.Refused("a name is needed, as deploy/nginx")
        for name in target.names:
            try:
                await _scale(context, args, target.resource, name)
            except (errors.APIError, failures.Refused) as error:
                failed.append(error)
    if failed:
        raise failures.Several(failed)
    return 0


async def _scale(context: Context, args: argparse.Namespace, resource: ApiResource, name: str) -> None:
    namespace = context.namespace if resource.namespaced else None
    if args.current_replicas >= 0 or args.resource_version:
        scale = await context.client.get(resource.gvr, name, namespace, subresource="scale")
        _check(args, scale)
        scale["spec"]["replicas"] = args.replicas
        if args.dry_run != "client":
            # the version that was read makes the precondition hold up to the write
            await context.client.update(resource.gvr, scale, subresource="scale", dry_run=args.dry_run == "server")
    elif args.dry_run != "client":
        await context.client.patch(
            resource.gvr,
            name,
            {"spec": {"replicas": args.replicas}},
            namespace,
            subresource="scale",
            dry_run=args.dry_run == "server",
        )
    context.write(f"{resource.noun}/{name} scaled{flags.dry_run_suffix(args)}")


def _check(args: argparse.Namespace, scale: dict[str, object]) -> None:
    spec, metadata = scale["spec"], scale["metadata"]
    assert isinstance(spec, dict)
    assert isinstance(metadata, dict)
    current = spec.get("replicas") or 0
    if args.current_replicas not in (-1, current):
        raise failures.Refused(f"Expected replicas to be {args.current_replicas}, was {current}")
    version = metadata.get("resourceVersion")
    if args.resource_version and args.resource_version != version:
        raise failures.Refused(f"Expected resource version to be {args.resource_version}, was {version}")
