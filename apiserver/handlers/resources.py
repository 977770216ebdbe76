"""The generic resource path (A3): one endpoint for every collection, by the resource table.

A request's verb picks a method here; the row says whether the collection has that verb. What is not stored (reviews,
logs, connections to nodes) is handed to its own handler.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import lru_cache

from apimachinery import errors, names, protobuf
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver import negotiation, responses
from apiserver import request as requests
from apiserver.asgi import Receive, Scope, Send
from apiserver.handlers import bodies, writeoptions
from apiserver.handlers.discovery import Discovery, not_found
from apiserver.handlers.rendering import Renderer
from apiserver.handlers.watch import Watches
from apiserver.metrics import Metrics
from apiserver.registry.call import Call
from apiserver.registry.options import ListOptions
from apiserver.registry.registry import Registry
from apiserver.request import Request, RequestInfo
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme
from apiserver.storage.types import Stored

PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)

# What has to be decoded (Tables, partial metadata, protobuf) is made off the loop for more objects than this: one takes
# a tenth of a millisecond, and the others should not wait for all of them
_AT_ONCE = 200

# A create is on a collection, the others are on one object
_WRITES = frozenset({"create", "update", "patch"})

Special = Callable[[Request, Call, Receive, Send], Awaitable[None]]
"""A handler of what is not stored; found by (group, resource, subresource)."""


class Resources:
    """Everything under `/api` and `/apis`."""

    def __init__(
        self,
        scheme: Scheme,
        registry: Registry,
        discovery: Discovery,
        watches: Watches,
        special: dict[tuple[str, str, str], Special],
        now: Callable[[], datetime],
        metrics: Metrics,
    ) -> None:
        self._metrics = metrics
        self._scheme = scheme
        self._registry = registry
        self._discovery = discovery
        self._watches = watches
        self._special = special
        self._now = now
        self._verbs: dict[str, Special] = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = requests.of(scope)
        if not request.info.is_resource:
            await self._discover(request, send)
            return
        await self._know(request.info)
        call = self._call(request)
        special = self._special.get((call.resource.group, call.resource.resource, call.subresource))
        handler = special or self._verbs.get(call.verb)
        if handler is None:
            raise not_allowed()
        if request.info.long_running:
            with self._metrics.lasting(request):
                await handler(request, call, receive, send)
        else:
            await handler(request, call, receive, send)

    async def _discover(self, request: Request, send: Send) -> None:
        if request.method not in ("GET", "HEAD"):
            raise not_allowed()
        match [part for part in request.info.path.split("/") if part]:
            case ["api"] | ["apis"]:
                await self._discovery.roots(request, send)
            case ["api", version]:
                await self._discovery.version(request, send, "", version)
            case ["apis", group]:
                await self._discovery.group(request, send, group)
            case ["apis", group, version]:
                await self._discovery.version(request, send, group, version)
            case _:
                raise not_found()

    async def _know(self, info: RequestInfo) -> None:
        """A definition may have been established a moment ago, by another worker: then its row is about to come."""
        if self._scheme.find(info.group, info.version, info.resource) is None:
            await self._registry.catch_up()

    def _call(self, request: Request) -> Call:
        """The request as the registry takes it. Raises NotFound and MethodNotAllowed."""
        info = request.info
        row = self._scheme.find(info.group, info.version, info.resource)
        if row is None:
            raise not_found()
        check_path(row, info)
        request.routed = True
        request.binary = _has_message(row.group, row.version, row.kind)
        if info.subresource:
            request.binary = _subresource_has_message(row, info.subresource)
        namespace = info.namespace if row.namespaced else ""
        call = Call(request.user, row, info.verb, namespace, info.name, info.subresource, warnings=request.warnings)
        call.audit_annotations = request.audit_annotations
        call.traceparent = request.traceparent if request.records_trace else ""
        call.user_agent = request.header(b"user-agent")
        if request.query:
            writeoptions.read(request, call)
        if row.deprecation:
            call.warnings.append(row.deprecation)
        return call

    async def _get(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        renderer = self._renderer(request, call)
        stored = await self._registry.get(call, resource_version=request.option("resourceVersion") or None)
        await self._send(request, send, 200, renderer.object(stored))

    async def _list(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        renderer = self._renderer(request, call)
        result = await self._registry.list(call, ListOptions.from_query(request.first_values()))
        bare = renderer.is_plain and renderer.is_binary
        make = renderer.binary_list if bare else renderer.list
        is_quick = len(result.items) < _AT_ONCE or (renderer.is_plain and not bare)
        body = make(result) if is_quick else await asyncio.to_thread(make, result)
        if bare:
            await responses.send_bytes(request, send, 200, body, negotiation.PROTOBUF)
        else:
            await self._send(request, send, 200, body)

    async def _watch(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        options = ListOptions.from_query(request.first_values())
        if call.name:  # of the path's old form, which may be all that the user has a right to
            options = options.of_one(call.name)
        await self._watches.serve(request, call, options, self._renderer(request, call), send)

    async def _create(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        renderer = self._renderer(request, call)
        obj = await self._decode(request, call, receive)
        stored = await self._registry.create(call, obj)
        await self._send(request, send, 201, renderer.object(stored))

    async def _update(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        renderer = self._renderer(request, call)
        obj = await self._decode(request, call, receive)
        stored, created = await self._registry.update(call, obj)
        await self._send(request, send, 201 if created else 200, renderer.object(stored))

    async def _patch(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        renderer = self._renderer(request, call)
        patch_type = request.header(b"content-type").partition(";")[0].strip()
        if patch_type not in PATCH_TYPES:
            raise negotiation.unsupported(list(PATCH_TYPES))
        body = await bodies.read(request, receive)
        stored = await self._registry.patch(call, patch_type, body)
        await self._send(request, send, 201 if call.created else 200, renderer.object(stored))

    async def _delete(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        renderer = self._renderer(request, call)
        options = await writeoptions.read_deletion(self._scheme, request, call, receive)
        stored, gone = await self._registry.delete(call, options)
        code = 202 if not gone and _cascades(options) else 200
        if stored is not None and (not gone or self._registry.returns_deleted(call.resource)):
            await self._send(request, send, code, renderer.object(stored))
        else:
            await responses.send_object(request, send, code, _deleted(call, stored))

    async def _delete_collection(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        renderer = self._renderer(request, call)
        options = await writeoptions.read_deletion(self._scheme, request, call, receive)
        listed = ListOptions.from_query(request.first_values())
        result = await self._registry.delete_collection(call, options, listed)
        await self._send(request, send, 200, renderer.list(result))

    async def _decode(self, request: Request, call: Call, receive: Receive) -> Object:
        if call.resource.custom is not None and not call.subresource:  # no message has its fields
            negotiation.refuse_binary(request.header(b"content-type"))
        body, is_yaml = await bodies.read_encoded(request, receive)
        sub = call.resource.subresource(call.subresource) if call.subresource else None
        expected = sub.kind if sub is not None else None
        return self._registry.decode(call, body, yaml=is_yaml, expected=expected)

    def _renderer(self, request: Request, call: Call) -> Renderer:
        form = negotiation.accept(request.header(b"accept"), request.binary)
        return Renderer(call.resource, form, request.option("includeObject") if request.query else "", self._now)

    async def _send(self, request: Request, send: Send, code: int, body: bytes) -> None:
        await responses.send_json(request, send, code, body)


@lru_cache(maxsize=1024)
def _has_message(group: str, version: str, kind: str) -> bool:
    """Whether the answer has a protobuf form."""
    return bool(protobuf.message_of(GVK(group, version, kind).api_version, kind))


def _subresource_has_message(row: Resource, name: str) -> bool:
    sub = row.subresource(name)
    return _has_message(*(sub.kind if sub is not None and sub.kind is not None else row.gvk))


def check_path(row: Resource, info: RequestInfo) -> None:
    """Whether the row has what the path and the verb ask for. Raises NotFound and MethodNotAllowed."""
    everywhere = row.namespaced and not info.namespace
    # A namespace stands in itself, so that rights within it reach it; nothing else without a namespace stands in one
    own = info.name if row.resource == "namespaces" and not row.group else ""
    if (not row.namespaced and info.namespace not in ("", own)) or (everywhere and _names_one(info)):
        raise not_found()
    if info.tail and info.subresource != "proxy":
        raise not_found()
    if info.verb not in ("list", "watch") and (problems := names.path_segment(info.name)):
        raise errors.BadRequest(f'Name parameter invalid: "{info.name}": {";".join(problems)}')
    allowed = row.verbs
    if info.subresource:
        sub = row.subresource(info.subresource)
        if sub is None:
            raise not_found()
        allowed = sub.verbs
    elif _misplaced(info, everywhere):
        raise not_allowed()
    if info.verb not in allowed:
        raise not_allowed()


def _misplaced(info: RequestInfo, everywhere: bool) -> bool:
    """A write to a collection that needs an object's path, or the other way round, or that needs a namespace."""
    if everywhere and info.verb in ("create", "deletecollection"):
        return True
    return info.verb in _WRITES and (info.verb == "create") == bool(info.name)


def _names_one(info: RequestInfo) -> bool:
    """Whether the path has a name (a list's name may also come from its field selector)."""
    return bool(info.name) and info.verb not in ("list", "watch")


def not_allowed() -> errors.MethodNotAllowed:
    return errors.MethodNotAllowed("the server does not allow this method on the requested resource")


def _cascades(options: Object) -> bool:
    """Whether a deletion asks for its dependents' too: then one that is not done yet is only accepted."""
    return options.get("propagationPolicy") == "Foreground" or options.get("orphanDependents") is False


def _deleted(call: Call, stored: Stored | None) -> Object:
    """The Status that a deletion answers with."""
    details: Object = {"name": call.name, "kind": call.resource.resource}
    if call.resource.group:
        details["group"] = call.resource.group
    if stored is not None:
        details["uid"] = stored.object["metadata"].get("uid", "")
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
