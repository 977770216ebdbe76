"""Show the resources that the server has, with their short names, versions and kinds."""

from __future__ import annotations

import argparse

from minictl import tables
from minictl.context import Context
from minictl.discovery import ApiResource
from minictl.failures import Refused

EXAMPLES = """\
  minictl api-resources
  minictl api-resources --api-group=apps -o wide
  minictl api-resources --namespaced=false -o name
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--api-group", metavar="GROUP", help="only of this group; '' is the core group")
    parser.add_argument("--namespaced", choices=("true", "false"), help="only those in namespaces, or only the others")
    parser.add_argument("--verbs", metavar="VERB,…", default="", help="only those with all these verbs")
    parser.add_argument("--no-headers", action="store_true", help="without the first line")
    parser.add_argument("-o", "--output", metavar="FORMAT", help="output format, one of: wide, name")
    parser.add_argument("--cached", action="store_true", help="what the disk has, without asking the server")


async def run(context: Context, args: argparse.Namespace) -> int:
    if args.output not in (None, "wide", "name"):
        raise Refused(f"--output {args.output} is not available")
    mapper = await context.mapper()
    if not args.cached:
        await mapper.refresh()
    chosen = sorted(
        (resource for resource in await mapper.resources() if _is_wanted(resource, args)),
        key=lambda resource: (resource.gvr.group, resource.gvr.resource),
    )
    if args.output == "name":
        context.out.write("".join(f"{resource.qualified}\n" for resource in chosen))
        return 0
    wide = args.output == "wide"
    head = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", *(["VERBS", "CATEGORIES"] if wide else [])]
    rows = [_row(resource, wide) for resource in chosen]
    context.out.write(tables.Columns().render(rows if args.no_headers else [head, *rows]))
    return 0


def _is_wanted(resource: ApiResource, args: argparse.Namespace) -> bool:
    if not resource.preferred or not resource.verbs:
        return False
    if args.api_group is not None and resource.gvr.group != args.api_group:
        return False
    if args.namespaced and resource.namespaced is not (args.namespaced == "true"):
        return False
    return {verb for verb in args.verbs.split(",") if verb} <= set(resource.verbs)


def _row(resource: ApiResource, wide: bool) -> list[str]:
    cells = [
        resource.gvr.resource,
        ",".join(resource.short_names),
        resource.gvr.api_version,
        "true" if resource.namespaced else "false",
        resource.kind,
    ]
    return [*cells, ",".join(resource.verbs), ",".join(resource.categories)] if wide else cells
