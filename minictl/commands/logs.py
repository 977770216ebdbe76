"""Print the logs of a container: of a pod by name, or of the pods of a workload or selector."""

from __future__ import annotations

import argparse
import asyncio
import codecs

from apimachinery import errors, objects, selectors
from apimachinery.gvr import PODS
from apimachinery.objects import Object
from minictl import durations, failures, flags, targets, validation
from minictl.context import Context
from minictl.discovery import ApiResource

EXAMPLES = """\
  minictl logs nginx
  minictl logs -f deploy/nginx
  minictl logs nginx -c sidecar --tail=20 --timestamps
  minictl logs nginx --previous                # of the container before its last restart
  minictl logs -l run=nginx --prefix --since=5m
"""
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
# kubectl's: with a selector only the last lines of each, and not of too many at once
SELECTOR_TAIL = 10
MAX_FOLLOWED = 5
# The kinds whose selector leads to pods
WITH_PODS = frozenset(
    {
        "services",
        "replicationcontrollers",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "jobs.batch",
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="POD | TYPE/NAME", nargs="*", help="a pod, or what has pods")
    parser.add_argument("-c", "--container", metavar="NAME", default="", help="the container (default: the first)")
    parser.add_argument("--all-containers", action="store_true", help="of all containers of the pod")
    parser.add_argument("-f", "--follow", action="store_true", help="and what comes")
    parser.add_argument("-p", "--previous", action="store_true", help="of the container before its last restart")
    parser.add_argument("--tail", metavar="N", type=int, default=-1, help="the last N lines only")
    parser.add_argument("--since", metavar="DURATION", default="", help="no older than this, as 5m")
    parser.add_argument("--since-time", metavar="TIME", default="", help="not from before this RFC 3339 time")
    parser.add_argument("--timestamps", action="store_true", help="each line with its time")
    parser.add_argument("--limit-bytes", metavar="N", type=int, default=0, help="no more than N bytes")
    parser.add_argument("--prefix", action="store_true", help="each line with its pod and container")
    flags.add_selector(parser)


async def run(context: Context, args: argparse.Namespace) -> int:
    params = parameters(args)
    pods = await _pods(context, args)
    sources = [(pod, container) for pod in pods for container in containers(context, args, pod)]
    if args.follow and len(sources) > MAX_FOLLOWED:
        raise failures.Refused(
            f"you are attempting to follow {len(sources)} log streams, "
            f"but maximum allowed concurrency is {MAX_FOLLOWED}"
        )
    if args.follow and len(sources) > 1:
        async with asyncio.TaskGroup() as group:
            for pod, container in sources:
                group.create_task(_stream(context, args, pod, container, params))
    else:
        for pod, container in sources:
            await _stream(context, args, pod, container, params)
    return 0


def parameters(args: argparse.Namespace) -> dict[str, str]:
    """The query that the flags ask for. Raises Refused for flags that contradict each other."""
    if args.since and args.since_time:
        raise failures.Refused("at most one of `sinceTime` or `sinceSeconds` may be specified")
    if args.tail < -1:
        raise failures.Refused("--tail must be greater than or equal to -1")
    params: dict[str, str] = {}
    if args.follow:
        params["follow"] = "true"
    if args.previous:
        params["previous"] = "true"
    if args.timestamps:
        params["timestamps"] = "true"
    if args.since:
        params["sinceSeconds"] = str(max(1, round(durations.parse(args.since, "--since"))))
    if args.since_time:
        params["sinceTime"] = args.since_time
    tail = SELECTOR_TAIL if args.tail < 0 and args.selector else args.tail
    if tail >= 0:
        params["tailLines"] = str(tail)
    if args.limit_bytes:
        params["limitBytes"] = str(args.limit_bytes)
    return params


def containers(context: Context, args: argparse.Namespace, pod: Object) -> list[str]:
    """The containers of `pod` to read. Raises Refused for one that it does not have."""
    spec = pod["spec"]
    main = _names(spec, "containers")
    every = [*_names(spec, "initContainers"), *main, *_names(spec, "ephemeralContainers")]
    if args.all_containers:
        return every
    if args.container:
        if args.container not in every:
            raise failures.Refused(
                f"container {args.container} is not valid for pod {objects.name_of(pod)} out of: {_listed(spec)}"
            )
        return [args.container]
    chosen = objects.annotations_of(pod).get(DEFAULT_CONTAINER)
    if chosen in every:
        return [str(chosen)]
    if len(every) > 1:
        context.warn(f'Defaulted container "{main[0]}" out of: {_listed(spec)}')
    return main[:1]


def _listed(spec: Object) -> str:
    """All containers, for messages."""
    others = [f"{name} (init)" for name in _names(spec, "initContainers")]
    others += [f"{name} (ephem)" for name in _names(spec, "ephemeralContainers")]
    return ", ".join(_names(spec, "containers") + others)


def _names(spec: Object, field: str) -> list[str]:
    return [container["name"] for container in spec.get(field) or []]


async def _pods(context: Context, args: argparse.Namespace) -> list[Object]:
    client = context.client
    if args.selector:
        validation.label_selector(args.selector)
        if args.targets:
            raise failures.Refused("only a selector (-l) or a POD name is allowed")
        found = (await client.list(PODS, context.namespace, label_selector=args.selector))["items"] or []
        if not found:
            context.warn(f"No resources found in {context.namespace} namespace.")
        return list(found)
    if not args.targets:
        raise failures.Refused("'logs (POD | TYPE/NAME) [-c CONTAINER]': POD or TYPE/NAME is a required argument")
    words = args.targets
    if len(words) == 2 and "/" not in words[0] and not args.container:
        args.container, words = words[1], words[:1]  # `logs POD CONTAINER`, kubectl's old form
    try:
        return [await pod_of(context, words, what="get the logs from")]
    except errors.NotFound as error:
        where = f'in namespace "{context.namespace}"'
        raise failures.Refused(f"error from server (NotFound): {error.message} {where}") from error


async def pod_of(context: Context, words: list[str], *, what: str, tell: bool = True) -> Object:
    """The pod that is named, or the first ready one of the workload that is (`tell` which). Raises Refused.

    `what` the pod is wanted for: `cannot WHAT …`.
    """
    if len(words) == 1 and "/" not in words[0]:
        return await context.client.get(PODS, words[0], context.namespace)
    resource, name = await targets.one(await context.mapper(), words, verb="logs")
    obj = await context.client.get(resource.gvr, name, context.namespace if resource.namespaced else None)
    if resource.gvr == PODS:
        return obj
    query = _pods_of(resource, name, obj, what)
    pods = (await context.client.list(PODS, context.namespace, label_selector=query))["items"] or []
    if not pods:
        raise failures.Refused(f"timed out waiting for the condition: {resource.noun}/{name} has no pods")
    pods.sort(key=lambda pod: (not objects.is_condition_true(pod, "Ready"), objects.name_of(pod)))
    if tell and len(pods) > 1:
        context.warn(f"Found {len(pods)} pods, using pod/{objects.name_of(pods[0])}")
    return dict(pods[0])


def _pods_of(resource: ApiResource, name: str, obj: Object, what: str) -> str:
    """The selector of what has pods. Raises Refused, in kubectl's words, for what has none."""
    kind = f"*{resource.gvr.version}.{resource.kind}"
    if resource.qualified not in WITH_PODS:
        raise failures.Refused(f"cannot {what} {kind}: selector for {kind} not implemented")
    selector = (obj.get("spec") or {}).get("selector") or {}
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(selectors.from_label_selector(selector))
    query = str(selectors.from_set(selector))
    if not query:
        why = f"invalid service '{name}': Service is defined without a selector"
        raise failures.Refused(f"cannot {what} {kind}: {why}")
    return query


async def _stream(
    context: Context, args: argparse.Namespace, pod: Object, container: str, params: dict[str, str]
) -> None:
    name = objects.name_of(pod)
    path = PODS.path(objects.namespace_of(pod), name, "log")
    writer = _Writer(context, f"[pod/{name}/{container}] " if args.prefix else "")
    silence = None if args.follow else 60.0  # a container may say nothing for as long as it likes
    try:
        async with context.client.stream(
            "GET", path, params={"container": container, **params}, timeout_seconds=silence
        ) as chunks:
            async for chunk in chunks:
                writer.write(chunk)
    except errors.BadRequest as error:
        raise failures.Several([error]) from error
    finally:
        writer.close()


class _Writer:
    """Bytes to text, whole characters only; with a prefix, whole lines only."""

    def __init__(self, context: Context, prefix: str) -> None:
        self._out = context.out
        self._prefix = prefix
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def write(self, chunk: bytes) -> None:
        text = self._decoder.decode(chunk)
        if self._prefix:
            *lines, self._rest = (self._rest + text).split("\n")
            text = "".join(f"{self._prefix}{line}\n" for line in lines)
        self._out.write(text)
        self._out.flush()

    def close(self) -> None:
        if self._rest:
            self._out.write(f"{self._prefix}{self._rest}\n")
            self._rest = ""
