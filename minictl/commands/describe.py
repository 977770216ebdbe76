"""Show the details of one or many resources, with what has happened to them lately."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from apimachinery import errors, objects, pods
from apimachinery.gvr import ENDPOINT_SLICES, EVENTS, LEASES, LIMIT_RANGES, PODS, REPLICA_SETS, RESOURCE_QUOTAS
from apimachinery.objects import Object
from minictl import failures, flags, targets, validation
from minictl.context import Context
from minictl.describe import data, generic, job, layout, limits, namespace, node, pod, service, workload
from minictl.discovery import ApiResource
from minictl.targets import Target

EXAMPLES = """\
  minictl describe pod nginx
  minictl describe nodes
  minictl describe deploy/nginx
  minictl describe pods -l run=nginx
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TYPE[/NAME] [NAME]", nargs="*", help="what to describe; a prefix will do")
    flags.add_all_namespaces(parser)
    flags.add_selector(parser)
    flags.add_filename(parser)
    parser.add_argument(
        "--show-events",
        choices=("true", "false"),
        nargs="?",
        const="true",
        help="with the events (default: where one object is described)",
    )


async def run(context: Context, args: argparse.Namespace) -> int:
    validation.label_selector(args.selector)
    failed: list[Exception] = []
    found = [
        (target.resource, obj)
        for target in await _targets(context, args)
        for obj in await _objects(context, args, target, failed)
    ]
    with_events = args.show_events == "true" if args.show_events else len(found) == 1
    for index, (resource, obj) in enumerate(found):
        text = layout.align(await _describe(context, resource, obj, with_events=with_events))
        context.out.write(f"\n\n{text}" if index else text)
    if failed:
        raise failures.Several(failed)
    if not found:
        context.warn(f"No resources found in {context.namespace} namespace.")
    return 0


async def _targets(context: Context, args: argparse.Namespace) -> list[Target]:
    if args.filename:
        return await targets.of_manifests(context, args)
    return await targets.resolve(await context.mapper(), args.targets, verb="describe")


async def _objects(context: Context, args: argparse.Namespace, target: Target, failed: list[Exception]) -> list[Object]:
    """The objects of one target; a name that does not exist is tried as a prefix, as kubectl does."""
    resource = target.resource
    namespace = targets.namespace_of(context, args, target)
    named = {"apiVersion": resource.gvr.api_version, "kind": resource.kind}
    if not target.names:
        listed = await context.client.list(resource.gvr, namespace, label_selector=args.selector)
        return [named | item for item in listed["items"] or []]
    found: list[Object] = []
    for name in target.names:
        try:
            found.append(await context.client.get(resource.gvr, name, namespace))
        except errors.NotFound as error:
            listed = await context.client.list(resource.gvr, namespace)
            alike = [named | item for item in listed["items"] or [] if objects.name_of(item).startswith(name)]
            if not alike:
                failed.append(await targets.missing(context, error, namespace))
            found += alike
    return found


async def _describe(context: Context, resource: ApiResource, obj: Object, *, with_events: bool) -> list[str]:
    events = await _events(context, obj) if with_events else None
    describer = _DESCRIBERS.get(resource.qualified)
    now = datetime.now(UTC)
    if describer is None:
        return generic.describe(obj, events, now)
    return await describer(context, obj, events, now)


async def _events(context: Context, obj: Object) -> list[Object]:
    """The events about this very object: same name and same uid."""
    selector = f"involvedObject.name={objects.name_of(obj)},involvedObject.uid={objects.uid_of(obj)}"
    if obj.get("kind") == "Node":  # kubelets name their node, not its uid
        selector = f"involvedObject.name={objects.name_of(obj)},involvedObject.kind=Node"
    try:
        listed = await context.client.list(EVENTS, objects.namespace_of(obj) or None, field_selector=selector)
    except errors.Forbidden:
        return []  # who may see the object need not be allowed to see its events
    return list(listed["items"] or [])


async def _pod(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    return pod.describe(obj, events, now)


async def _config_map(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    return data.config_map(obj, events, now)


async def _secret(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    return data.secret(obj, events, now)


async def _service_account(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    return data.service_account(obj, events, now)


async def _job(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    return job.describe(obj, events, now)


async def _service(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    selector = f"kubernetes.io/service-name={objects.name_of(obj)}"
    listed = await context.client.list(ENDPOINT_SLICES, objects.namespace_of(obj), label_selector=selector)
    return service.describe(obj, listed["items"] or [], events, now)


async def _namespace(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    name = objects.name_of(obj)
    quotas = await context.client.list(RESOURCE_QUOTAS, name)
    ranges = await context.client.list(LIMIT_RANGES, name)
    return namespace.describe(obj, quotas["items"] or [], ranges["items"] or [])


async def _quota(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    return limits.quota(obj)


async def _limit_range(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    return limits.limit_range(obj)


async def _deployment(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    listed = await context.client.list(REPLICA_SETS, objects.namespace_of(obj))
    return workload.deployment(obj, _controlled(listed, obj), events, now)


async def _replica_set(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    listed = await context.client.list(PODS, objects.namespace_of(obj))
    return workload.replica_set(obj, _controlled(listed, obj), events, now)


async def _node(context: Context, obj: Object, events: list[Object] | None, now: datetime) -> list[str]:
    name = objects.name_of(obj)
    bound = (await context.client.list(PODS, field_selector=f"spec.nodeName={name}"))["items"] or []
    try:
        lease: Object | None = await context.client.get(LEASES, name, "kube-node-lease")
    except (errors.NotFound, errors.Forbidden):
        lease = None
    return node.describe(obj, [one for one in bound if not pods.is_terminal(one)], lease, events, now)


def _controlled(listed: Object, owner: Object) -> list[Object]:
    uid = objects.uid_of(owner)
    return [one for one in listed["items"] or [] if (objects.controller_of(one) or {}).get("uid") == uid]


_Describer = Callable[[Context, Object, list[Object] | None, datetime], Awaitable[list[str]]]
_DESCRIBERS: dict[str, _Describer] = {
    "pods": _pod,
    "nodes": _node,
    "configmaps": _config_map,
    "secrets": _secret,
    "serviceaccounts": _service_account,
    "services": _service,
    "namespaces": _namespace,
    "jobs.batch": _job,
    "resourcequotas": _quota,
    "limitranges": _limit_range,
    "deployments.apps": _deployment,
    "replicasets.apps": _replica_set,
}
