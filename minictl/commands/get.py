"""Show one or many resources, as a table or as objects, once or as they change."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence

from apimachinery import errors, objects
from apimachinery.objects import Object
from minictl import flags, output, tables, targets
from minictl.context import Context
from minictl.discovery import ApiResource
from minictl.failures import Refused, Several
from minictl.targets import Target

_FORMATS = ("custom-columns", "custom-columns-file", "json", "jsonpath", "name", "wide", "yaml")
EXAMPLES = """\
  minictl get pods                       # a table
  minictl get pods -o wide -A            # more columns, every namespace
  minictl get deploy,rs,pods -l run=nginx
  minictl get pod nginx -o yaml
  minictl get pods -w                    # and every change
  minictl get nodes -o jsonpath='{.items[*].metadata.name}'
  minictl get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TYPE[/NAME] [NAME]", nargs="*", help="pods, deploy/nginx, nodes,services …")
    flags.add_output(parser)
    flags.add_all_namespaces(parser)
    flags.add_selector(parser)
    flags.add_field_selector(parser)
    flags.add_filename(parser)
    parser.add_argument("-w", "--watch", action="store_true", help="after the list, every change")
    parser.add_argument("--watch-only", action="store_true", help="changes only, without the list first")
    parser.add_argument("-L", "--label-columns", metavar="KEY,…", action="append", default=[], help="labels as columns")
    parser.add_argument("--show-labels", action="store_true", help="all labels as the last column")
    parser.add_argument("--show-kind", action="store_true", help="names as kind/name")
    parser.add_argument("--show-managed-fields", action="store_true", help="objects with who manages which field")
    parser.add_argument("--no-headers", action="store_true", help="without the first line")
    parser.add_argument("--sort-by", metavar="PATH", help="sort by a field, as .metadata.name")
    parser.add_argument("--ignore-not-found", action="store_true", help="a name that does not exist is no error")
    parser.add_argument("--chunk-size", metavar="N", type=int, default=500, help="page of a long list (%(default)s)")
    parser.add_argument("--raw", metavar="PATH", help="GET this path of the server and print the answer")


async def run(context: Context, args: argparse.Namespace) -> int:
    output.check(args.output, _FORMATS)
    as_objects = args.output and args.output != "wide"
    printer = None
    if as_objects:
        printer = output.Printer(args.output, headers=not args.no_headers, managed_fields=args.show_managed_fields)
    if args.selector or args.field_selector:
        from minictl import validation  # late: most calls have neither

        validation.label_selector(args.selector)
        validation.field_selector(args.field_selector)
    if args.raw:
        response = await context.client.raw("GET", args.raw)
        context.write(response.content.decode(errors="replace"))
        return 0
    found = await _targets(context, args)
    if args.watch or args.watch_only:
        await _watch_for_a_while(context, args, found, printer)
    elif printer is not None:
        await _print_objects(context, args, found, printer)
    else:
        await _print_tables(context, args, found)
    return 0


async def _targets(context: Context, args: argparse.Namespace) -> list[Target]:
    mapper = await context.mapper()
    if not args.filename:
        found = await targets.resolve(mapper, args.targets, verb="get")
        if args.all_namespaces and any(target.names for target in found):
            raise Refused("a resource cannot be retrieved by name across all namespaces")
        if (args.selector or args.field_selector) and any(target.names for target in found):
            raise Refused("name cannot be provided when a selector is specified")
        return found
    return await targets.of_manifests(context, args)


# -- objects ----------------------------------------------------------------------------------------------------


async def _print_objects(
    context: Context, args: argparse.Namespace, found: Sequence[Target], printer: output.Printer
) -> None:
    items, failures = await _fetch(context, args, found)
    single = len(found) == 1 and len(found[0].names) == 1
    if args.output == "name" or single or args.watch:  # a watch's objects come one by one from the start
        if items:
            context.out.write(printer.each([(obj, resource.noun) for resource, obj in items]))
    else:
        context.out.write(printer.text(output.as_list([obj for _, obj in items])))
    if failures:
        raise Several(failures)


async def _fetch(
    context: Context, args: argparse.Namespace, found: Sequence[Target]
) -> tuple[list[tuple[ApiResource, Object]], list[Exception]]:
    """The objects, sorted, and which names are missing."""
    items: list[tuple[ApiResource, Object]] = []
    failures: list[Exception] = []
    for target in found:
        if not target.names:
            items += [(target.resource, item) for item in await _list(context, args, target)]
        namespace = targets.namespace_of(context, args, target)
        for name in target.names:
            try:
                obj = await context.client.get(target.resource.gvr, name, namespace)
            except errors.NotFound as error:
                if not args.ignore_not_found:
                    failures.append(await targets.missing(context, error, namespace))
            else:
                items.append((target.resource, obj))
    if args.sort_by:
        items.sort(key=lambda item: _sort_key(item[1], args.sort_by))
    return items, failures


async def _list(context: Context, args: argparse.Namespace, target: Target) -> list[Object]:
    """The whole collection, page after page, each item with its kind."""
    resource = target.resource
    items: list[Object] = []
    token: str | None = None
    while True:
        page = await context.client.list(
            resource.gvr,
            targets.namespace_of(context, args, target),
            label_selector=args.selector,
            field_selector=args.field_selector,
            limit=args.chunk_size or None,
            continue_token=token,
        )
        named = {"apiVersion": resource.gvr.api_version, "kind": resource.kind}
        items += [named | item for item in page.get("items") or []]
        token = page["metadata"].get("continue")
        if not token:
            return items


def _sort_key(obj: Object, path: str) -> tuple[int, float, str]:
    """Numbers before text, what has no such field first."""
    from minictl import jsonpath

    value = next(iter(jsonpath.find(path, obj)), None)
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (1, float(value), "")
    return (2, 0.0, str(value))


# -- tables -----------------------------------------------------------------------------------------------------


async def _print_tables(context: Context, args: argparse.Namespace, found: Sequence[Target]) -> None:
    failures: list[Exception] = []
    several = len({target.resource.gvr for target in found}) > 1
    printed = False
    for resource in dict.fromkeys(target.resource for target in found):
        table = await _table_of(context, args, [t for t in found if t.resource == resource], failures)
        if table is None or not table.get("rows"):
            continue
        if printed:
            context.out.write("\n")
        printed = True
        layout = _layout(args, resource, several)
        head = [tables.header(table, layout)] if layout.headers else []
        context.out.write(tables.Columns().render([*head, *tables.rows(table, layout)]))
    if failures:
        raise Several(failures)
    if not printed and not args.ignore_not_found:
        namespaced = any(target.resource.namespaced for target in found) and not args.all_namespaces
        context.warn(f"No resources found in {context.namespace} namespace." if namespaced else "No resources found")


async def _table_of(
    context: Context, args: argparse.Namespace, found: Sequence[Target], failures: list[Exception]
) -> Object | None:
    """One table of one resource's objects, whether named or listed."""
    table: Object | None = None
    for target in found:
        for name in target.names or [None]:
            try:
                part = await _fetch_table(context, args, target, name)
            except errors.NotFound as error:
                if name is None or not args.ignore_not_found:
                    failures.append(await targets.missing(context, error, targets.namespace_of(context, args, target)))
                continue
            except errors.APIError as error:  # kubectl shows what it can, and every refusal after it
                failures.append(error)
                continue
            if table is None:
                table = part
            else:
                table["rows"] += part.get("rows") or []
    if table is not None and args.sort_by:
        table["rows"].sort(key=lambda row: _sort_key(row["object"], args.sort_by))
    return table


async def _fetch_table(context: Context, args: argparse.Namespace, target: Target, name: str | None) -> Object:
    """The server's Table of one object or of a collection, all its pages."""
    path = target.resource.gvr.path(targets.namespace_of(context, args, target), name)
    params = {} if name else _list_params(args)
    if args.sort_by:
        params["includeObject"] = "Object"
    table: Object | None = None
    while True:
        response = await context.client.raw("GET", path, params=params, headers={"accept": tables.ACCEPT})
        page = response.json()
        if page.get("kind") != "Table":
            page = tables.generic(page.get("items", [page])) | {"metadata": page["metadata"]}
        if table is None:
            table = page
        else:
            table["rows"] += page.get("rows") or []
            table["metadata"] = page["metadata"]
        token = page["metadata"].get("continue") if not name else None
        if not token:
            return table
        params["continue"] = token


def _list_params(args: argparse.Namespace) -> dict[str, str]:
    params = {"labelSelector": args.selector, "fieldSelector": args.field_selector}
    if args.chunk_size:
        params["limit"] = str(args.chunk_size)
    return {key: value for key, value in params.items() if value}


def _layout(args: argparse.Namespace, resource: ApiResource, several: bool) -> tables.Layout:
    return tables.Layout(
        wide=args.output == "wide",
        headers=not args.no_headers,
        namespace=args.all_namespaces and resource.namespaced,
        kind=resource.noun if several or args.show_kind else "",
        labels=tuple(key for keys in args.label_columns for key in keys.split(",")),
        show_labels=args.show_labels,
    )


# -- watching ---------------------------------------------------------------------------------------------------


async def _watch_for_a_while(
    context: Context, args: argparse.Namespace, found: Sequence[Target], printer: output.Printer | None
) -> None:
    """A watch that `--request-timeout` ends has done what was asked."""
    from client import rest

    try:
        await _watch(context, args, found, printer)
    except rest.ConnectionFailed as failure:
        if context.request_seconds is None or not _is_timeout(failure):
            raise


def _is_timeout(failure: BaseException) -> bool:
    import httpx

    return isinstance(failure.__cause__, httpx.ReadTimeout)


async def _watch(
    context: Context, args: argparse.Namespace, found: Sequence[Target], printer: output.Printer | None
) -> None:
    """Print the list and every change, until interrupted. Without a printer: rows of a table."""
    _check_watched(found)
    target, name = found[0], next(iter(found[0].names), None)
    resource = target.resource
    first = await _fetch_table(context, args, target, name)
    version = first["metadata"].get("resourceVersion") or ""
    table = _WatchPrinter(context, args, resource, first)
    if not args.watch_only:
        if printer is not None:
            await _print_objects(context, args, found, printer)
        else:
            table.rows(first)
    selector = ",".join(part for part in (args.field_selector, f"metadata.name={name}" if name else "") if part)
    while True:
        events = context.client.watch(
            resource.gvr,
            targets.namespace_of(context, args, target),
            resource_version=version,
            label_selector=args.selector,
            field_selector=selector or None,
            accept="" if printer is not None else tables.ACCEPT,
        )
        async with contextlib.aclosing(events):
            async for kind, obj in events:
                version = _version_of(obj) or version
                if kind == "BOOKMARK":
                    continue
                if printer is not None:
                    context.out.write(printer.text(obj, resource.noun))
                else:
                    table.rows(obj)
                context.out.flush()


def _check_watched(found: Sequence[Target]) -> None:
    if len(found) != 1:
        raise Refused("you may only specify a single resource type")
    if len(found[0].names) > 1:
        raise Refused("you may only watch a single resource or type of resource at a time")


def _version_of(obj: Object) -> str:
    """The version an event brings us to: in a Table it is that of its row's object."""
    row: Object = next(iter(obj.get("rows") or []), {})
    return objects.resource_version_of(row.get("object", obj))


class _WatchPrinter:
    """Rows under the header of the first table; later ones come without column definitions."""

    def __init__(self, context: Context, args: argparse.Namespace, resource: ApiResource, first: Object) -> None:
        self._context = context
        self._layout = _layout(args, resource, several=False)
        self._definitions = first["columnDefinitions"]
        self._columns = tables.Columns()
        self._headed = not self._layout.headers

    def rows(self, table: Object) -> None:
        if table.get("kind") not in (None, "Table"):
            table = tables.generic([table])
        shown = table | {"columnDefinitions": table.get("columnDefinitions") or self._definitions}
        head = [] if self._headed or not table.get("rows") else [tables.header(shown, self._layout)]
        self._headed = self._headed or bool(head)
        self._context.out.write(self._columns.render([*head, *tables.rows(shown, self._layout)]))
        self._context.out.flush()
