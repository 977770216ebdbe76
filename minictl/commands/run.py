"""Run an image. --restart chooses what is made: Always a Deployment, OnFailure a Job, Never a Pod.

Without --image, the image is called as the object: `minictl run nginx` runs nginx.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from minictl import flags, generators, output, validation
from minictl.context import FIELD_MANAGER, Context

TAKES_COMMAND = True
EXAMPLES = """\
  minictl run nginx                                    # a Deployment of one nginx pod
  minictl run nginx --replicas=3 --port=80             # of three
  minictl run web --image=nginx:1.27 --env=MODE=test --limits=cpu=200m,memory=64Mi
  minictl run pi --image=busybox --restart=OnFailure -- sh -c 'echo 3.14'
  minictl run shell --image=busybox --restart=Never --command -- sleep 3600
  minictl run nginx --dry-run=client -o yaml           # only show the object
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the object, and of its container")
    parser.add_argument("--image", metavar="IMAGE", help="container image (default: NAME)")
    parser.add_argument(
        "--restart",
        choices=tuple(generators.GENERATORS),
        default="Always",
        help="Always: a Deployment, OnFailure: a Job, Never: a Pod (default %(default)s)",
    )
    parser.add_argument("--replicas", metavar="N", type=int, help="pods of the Deployment (default 1)")
    parser.add_argument("--port", metavar="PORT", help="the port that the container listens on")
    parser.add_argument("--env", metavar="NAME=VALUE", action="append", default=[], help="environment; may be repeated")
    parser.add_argument("--labels", "-l", metavar="K=V,…", default="", help="labels instead of run=NAME")
    parser.add_argument("--annotations", metavar="K=V", action="append", default=[], help="annotation; may be repeated")
    parser.add_argument("--requests", metavar="R=Q,…", default="", help="resource requests, as cpu=100m,memory=64Mi")
    parser.add_argument("--limits", metavar="R=Q,…", default="", help="resource limits")
    parser.add_argument("--command", action="store_true", help="what follows -- is the command, not its arguments")
    parser.add_argument("--image-pull-policy", choices=("Always", "IfNotPresent", "Never"), default="")
    parser.add_argument("--serviceaccount", metavar="NAME", default="", help="service account of the pods")
    parser.add_argument("--record", action="store_true", help="keep this command in the change-cause annotation")
    flags.add_dry_run(parser)
    flags.add_output(parser, "json, yaml, name, jsonpath=TEMPLATE")


async def run(context: Context, args: argparse.Namespace) -> int:
    output.check(args.output, ("json", "yaml", "name", "jsonpath"))
    obj = generators.generate(options_of(args))
    if args.dry_run == "client":
        kind = obj["kind"].lower()
        group = obj["apiVersion"].partition("/")[0] if "/" in obj["apiVersion"] else ""
        _print(context, args, obj, f"{kind}.{group}" if group else kind)
        return 0
    mapper = await context.mapper()
    resource = await mapper.by_kind(validation.kind_of(obj, "run"))
    created = await context.client.create(
        resource.gvr, obj, context.namespace, dry_run=args.dry_run == "server", field_manager=FIELD_MANAGER
    )
    _print(context, args, created, resource.noun)
    return 0


def options_of(args: argparse.Namespace) -> generators.RunOptions:
    """The flags, checked (K1). Raises Refused."""
    return generators.RunOptions(
        name=validation.run_name(args.name),
        image=validation.image(args.name if args.image is None else args.image),
        restart=args.restart,
        replicas=None if args.replicas is None else validation.replicas(args.replicas),
        port=None if args.port is None else validation.port(args.port),
        env=validation.environment(args.env),
        labels=validation.labels(args.labels) or None,
        annotations=validation.annotation_pairs(args.annotations),
        requests=validation.quantities(args.requests, "--requests"),
        limits=validation.quantities(args.limits, "--limits"),
        words=args.command_line,
        as_command=args.command,
        pull_policy=args.image_pull_policy,
        service_account=args.serviceaccount,
        change_cause=shlex.join(["minictl", *sys.argv[1:]]) if args.record else "",
    )


def _print(context: Context, args: argparse.Namespace, obj: dict[str, object], noun: str) -> None:
    if args.output:
        context.write(output.render(obj, args.output, noun))
    else:
        context.write(f"{noun}/{args.name} created{flags.dry_run_suffix(args)}")
