"""Delete resources by file, name or selector, and wait until they are gone.

A pod gets its grace period to end; --now makes it a second, --force does not wait for the node at all.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from apimachinery import errors, objects
from minictl import durations, failures, flags, targets, validation
from minictl.context import Context
from minictl.discovery import ApiResource

EXAMPLES = """\
  minictl delete pod nginx
  minictl delete deploy/nginx svc/nginx
  minictl delete -f app.yaml --ignore-not-found
  minictl delete pods -l run=nginx --now
  minictl delete pods --all --wait=false
"""
# As kubectl: without --timeout it waits a week, which is "until it is gone"
WAIT_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Doomed:
    """One object to delete. `source`: the file that named it."""

    resource: ApiResource
    name: str
    namespace: str | None
    source: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TYPE[/NAME] [NAME]", nargs="*", help="what to delete")
    flags.add_filename(parser)
    flags.add_selector(parser)
    flags.add_field_selector(parser)
    flags.add_all_namespaces(parser)
    parser.add_argument("--all", action="store_true", help="every object of the type, in the namespace")
    parser.add_argument("--grace-period", metavar="SECONDS", type=int, default=-1, help="time to end; -1: its own")
    parser.add_argument("--now", action="store_true", help="the same as --grace-period=1")
    parser.add_argument("--force", action="store_true", help="remove at once, without waiting for the node")
    parser.add_argument(
        "--cascade",
        choices=("background", "orphan", "foreground"),
        nargs="?",
        const="background",
        default="background",
        help="what happens to what it owns (default %(default)s)",
    )
    parser.add_argument(
        "--wait", choices=("true", "false"), nargs="?", const="true", default="true", help="until it is gone"
    )
    parser.add_argument("--timeout", metavar="DURATION", default="0s", help="how long to wait; 0 is for ever")
    parser.add_argument("--ignore-not-found", action="store_true", help="what does not exist is no error")
    parser.add_argument("-o", "--output", metavar="FORMAT", choices=("name",), help="name: only TYPE/NAME")
    flags.add_dry_run(parser)


async def run(context: Context, args: argparse.Namespace) -> int:
    grace = grace_period(context, args)
    timeout = durations.parse(args.timeout, "--timeout") or WAIT_SECONDS
    doomed = await _find(context, args)
    if not doomed:
        context.write("No resources found")
        return 0
    failed: list[Exception] = []
    leaving: list[tuple[Doomed, str]] = []
    for item in doomed:
        try:
            uid = await _delete(context, args, item, grace)
        except errors.NotFound as error:
            if not args.ignore_not_found and not args.all:
                failed.append(_named(error, item))
        except errors.APIError as error:
            failed.append(_named(error, item))
        else:
            leaving.append((item, uid))
    if args.wait == "true" and args.dry_run == "none":
        await _wait(context, leaving, timeout)
    if failed:
        raise failures.Several(failed)
    return 0


def grace_period(context: Context, args: argparse.Namespace) -> int | None:
    """The grace period to ask for; None: the object's own. Raises Refused for flags that contradict each other."""
    if args.now:
        if args.grace_period not in (-1, 1):
            raise failures.Refused("--now and --grace-period cannot be specified together")
        return 1
    if args.force:
        if args.grace_period > 0:
            raise failures.Refused("--force and --grace-period greater than 0 cannot be specified together")
        context.warn(
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been "
            "terminated. The resource may continue to run on the cluster indefinitely."
        )
        return 0
    if args.grace_period == 0:
        return 1  # without --force nobody loses data by a slip of the finger
    return args.grace_period if args.grace_period > 0 else None


async def _find(context: Context, args: argparse.Namespace) -> list[Doomed]:
    validation.label_selector(args.selector)
    validation.field_selector(args.field_selector)
    mapper = await context.mapper()
    if args.filename:
        found = []
        for manifest in context.manifests(args):
            resource = await mapper.by_kind(manifest.gvk)
            namespace = targets.namespace_for(context, args, manifest) if resource.namespaced else None
            found.append(Doomed(resource, objects.name_of(manifest.obj), namespace, manifest.source))
        return found
    named = await targets.resolve(mapper, args.targets, verb="delete")
    if any(not target.names for target in named) and not (args.all or args.selector or args.field_selector):
        raise failures.Refused("resource(s) were provided, but no name was specified")
    if any(target.names for target in named) and (args.all or args.selector or args.field_selector):
        raise failures.Refused("name cannot be provided when a selector or --all is specified")
    return [doomed for target in named for doomed in await _of_target(context, args, target)]


async def _of_target(context: Context, args: argparse.Namespace, target: targets.Target) -> list[Doomed]:
    resource = target.resource
    namespace = context.namespace if resource.namespaced and not args.all_namespaces else None
    if target.names:
        return [Doomed(resource, name, namespace) for name in target.names]
    listed = await context.client.list(
        resource.gvr, namespace, label_selector=args.selector, field_selector=args.field_selector
    )
    return [
        Doomed(resource, objects.name_of(item), objects.namespace_of(item) or None) for item in listed["items"] or []
    ]


async def _delete(context: Context, args: argparse.Namespace, item: Doomed, grace: int | None) -> str:
    """Ask for the deletion, say so; the uid of what is going."""
    answer: objects.Object = {}
    if args.dry_run != "client":
        answer = await context.client.delete(
            item.resource.gvr,
            item.name,
            item.namespace,
            grace_period_seconds=grace,
            propagation_policy=args.cascade.title(),
            dry_run=args.dry_run == "server",
        )
    if args.output == "name":
        context.write(f"{item.resource.noun}/{item.name}")
    else:
        verb = "force deleted" if grace == 0 else "deleted"
        where = f" from {item.namespace} namespace" if item.namespace else ""
        context.write(f'{item.resource.noun} "{item.name}" {verb}{where}{flags.dry_run_suffix(args)}')
    context.out.flush()
    if answer.get("kind") == "Status":
        return str((answer.get("details") or {}).get("uid") or "")
    return objects.uid_of(answer) if answer else ""


async def _wait(context: Context, leaving: Sequence[tuple[Doomed, str]], timeout_seconds: float) -> None:
    try:
        async with asyncio.timeout(timeout_seconds):
            for item, uid in leaving:
                await _gone(context, item, uid)
    except TimeoutError as error:
        raise failures.Refused("timed out waiting for the condition on the deleted objects") from error


async def _gone(context: Context, item: Doomed, uid: str) -> None:
    """Until no object with this uid has the name any more; another one under it does not count."""
    gvr = item.resource.gvr
    while True:
        try:
            current = await context.client.get(gvr, item.name, item.namespace)
        except errors.NotFound:
            return
        except errors.Forbidden:
            return  # who may delete but not look cannot wait
        if uid and objects.uid_of(current) != uid:
            return
        events = context.client.watch(
            gvr,
            item.namespace,
            resource_version=objects.resource_version_of(current),
            field_selector=f"metadata.name={item.name}",
        )
        with contextlib.suppress(errors.Gone):  # look again
            async with contextlib.aclosing(events):
                async for kind, _ in events:
                    if kind == "DELETED":
                        break


def _named(error: errors.APIError, item: Doomed) -> errors.APIError:
    return failures.naming(error, f'error when deleting "{item.source}"') if item.source else error
