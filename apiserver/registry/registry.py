"""The generic store of objects: every verb of every kind, built-in or custom, on one path (steps A3, A6, A7, A9).

The HTTP side decodes with `decode`, calls one method and encodes what comes back. All methods raise
`apimachinery.errors` only. Kinds differ by their strategy (`strategies/`), subresources by a file in `subresources/`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Any

from apimachinery import errors
from apimachinery import patch as patches
from apimachinery.clock import Clock
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.registry import decoding, strategies, writing
from apiserver.registry.addresses import Addresses
from apiserver.registry.applier import Applier
from apiserver.registry.call import Admission, Call
from apiserver.registry.deleting import Deleter
from apiserver.registry.identity import Identity
from apiserver.registry.options import ListOptions, ListResult
from apiserver.registry.patching import Patch
from apiserver.registry.reading import Reader
from apiserver.registry.subresources import scale
from apiserver.registry.subresources.binding import Bindings
from apiserver.registry.subresources.eviction import Evictions
from apiserver.registry.watching import BOOKMARK_SECONDS, Deliver, OnClose, Watch
from apiserver.registry.writing import Writer
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme
from apiserver.storage import types
from apiserver.storage.store import Store
from apiserver.storage.types import Stored

SERVICE_CIDR = "10.96.0.0/12"
NODE_PORTS = (30000, 32767)
DELETE_WORKERS = 8  # deletions of one deletecollection at a time


class Registry:
    """`source` is the randomness of uids, generated names and addresses."""

    def __init__(
        self,
        scheme: Scheme,
        store: Store,
        admission: Admission,
        clock: Clock,
        *,
        service_cidr: str = SERVICE_CIDR,
        node_ports: tuple[int, int] = NODE_PORTS,
        source: random.Random | None = None,
    ) -> None:
        source = source or random.SystemRandom()
        self.scheme = scheme
        self._clock = clock
        self._store = store
        addresses = Addresses(store, clock, source, service_cidr=service_cidr, node_ports=node_ports)
        self._reader = Reader(store)
        self._writer = Writer(scheme, store, admission, clock, Identity(source), addresses)
        self._deleter = Deleter(store, admission, clock, addresses)
        self._applier = Applier(scheme, self._writer)
        self._bindings = Bindings(self._writer, clock)
        self._evictions = Evictions(scheme, store, self._writer, self._deleter, clock)
        self._scale_gate = scale.ScaleGate(admission)

    async def run(self) -> None:
        """Sends bookmarks to those who watch, until cancelled."""
        while True:
            await self._clock.sleep(BOOKMARK_SECONDS)
            self._reader.send_bookmarks()

    async def catch_up(self) -> None:
        """Returns when this worker has seen, and worked off, every write acknowledged before; or when it cannot."""
        with contextlib.suppress(types.StorageError):
            await self._store.newest_revision()
        await asyncio.sleep(0)  # for what the cache's followers put off to the loop's next turn

    def decode(self, call: Call, body: bytes, *, yaml: bool = False, expected: GVK | None = None) -> Object:
        """A request's body as the object that `create` and `update` take. Raises BadRequest."""
        return decoding.decode(self.scheme, call, body, yaml=yaml, expected=expected)

    def returns_deleted(self, resource: Resource) -> bool:
        """Whether a finished deletion answers with the object; a Status otherwise."""
        return strategies.of(resource).returns_deleted

    # --- reads

    async def get(self, call: Call, *, resource_version: str | None = None) -> Stored:
        stored = await self._reader.get(call, resource_version)
        return scale.stored_view(call.resource, stored) if call.subresource == "scale" else stored

    async def list(self, call: Call, asked: ListOptions) -> ListResult:
        return await self._reader.list(call, asked)

    async def watch(self, call: Call, asked: ListOptions, deliver: Deliver, on_close: OnClose) -> Watch:
        """Events go to `deliver`, from within this call on; `on_close` tells that storage ended the watch."""
        return await self._reader.watch(call, asked, deliver, on_close)

    # --- writes

    async def create(self, call: Call, obj: Object) -> Stored:
        """The object as stored; for a binding or an eviction, a Status."""
        match (call.resource.resource, call.subresource):
            case ("pods", "binding"):
                return await self._bindings.create(call, obj)
            case ("bindings", ""):
                return await self._bindings.create(self._of_legacy_binding(call, obj), obj)
            case ("pods", "eviction"):
                return await self._evictions.create(call, obj)
            case (_, ""):
                return await self._writer.create(call, obj)
        raise errors.MethodNotAllowed("the server does not allow this method on the requested resource")

    async def update(self, call: Call, obj: Object) -> tuple[Stored, bool]:
        """The object as written, and whether it was created."""
        if call.subresource == "scale":
            return await self._scale(call, _constant(obj), obj.get("metadata") or {}), False
        stored, call.created = await self._writer.update(call, obj)
        return stored, call.created

    async def patch(self, call: Call, patch_type: str, body: bytes) -> Stored:
        if patch_type == patches.APPLY:
            if call.subresource == "scale":
                return scale.stored_view(call.resource, await self._applier.apply(call, body, self._scale_gate))
            return await self._applier.apply(call, body)
        if call.subresource == "scale":
            patch = Patch(self.scheme, call, patch_type, body, scale.SCALE)
            return await self._scale(call, patch.apply, {})
        patch = Patch(self.scheme, call, patch_type, body)

        async def transform(current: Object) -> Object:
            patched = patch.apply(current)
            writing.check_name(call, patched)
            return patched

        return await self._writer.rewrite(call, transform)

    async def _scale(self, call: Call, change: Callable[[Object], Object], preconditions: Object) -> Stored:
        """Writes the replicas of the Scale that `change` makes of the current one."""

        where = scale.paths(call.resource)

        async def transform(current: Object) -> Object:
            asked = change(scale.view(current, where))
            scale.check(call, asked)
            return scale.fold(current, asked, where)

        stored = await self._writer.rewrite(
            call,
            transform,
            uid=preconditions.get("uid"),
            version=preconditions.get("resourceVersion"),
            gate=self._scale_gate,
        )
        return scale.stored_view(call.resource, stored)

    def _of_legacy_binding(self, call: Call, binding: Object) -> Call:
        """`POST bindings` names its pod in the body."""
        row = self.scheme.find("", "v1", "pods")
        assert row is not None
        name = (binding.get("metadata") or {}).get("name") or ""
        return Call(call.user, row, "create", call.namespace, name, "binding", dry_run=call.dry_run)

    async def delete(self, call: Call, options: dict[str, Any]) -> tuple[Stored, bool]:
        """The object as it is or was, and whether it is gone."""
        return await self._deleter.delete(call, options)

    async def delete_collection(self, call: Call, options: dict[str, Any], asked: ListOptions) -> ListResult:
        """Deletes all that `asked` selects; what vanished meanwhile is no error. Raises the first other error."""
        listed = await self._reader.list(call, asked)
        queue = list(reversed(listed.items))

        async def work() -> None:
            while queue:
                metadata = queue.pop().object["metadata"]
                one = _one(call, metadata.get("namespace") or "", metadata["name"])
                try:
                    await self._deleter.delete(one, options)
                except errors.NotFound:
                    continue

        results = await asyncio.gather(*(work() for _ in range(DELETE_WORKERS)), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return listed


def _constant(obj: Object) -> Callable[[Object], Object]:
    return lambda _: obj


def _one(call: Call, namespace: str, name: str) -> Call:
    """The same call for one object of the collection; warnings are shared."""
    return Call(
        user=call.user,
        resource=call.resource,
        verb="delete",
        namespace=namespace,
        name=name,
        dry_run=call.dry_run,
        field_manager=call.field_manager,
        field_validation=call.field_validation,
        warnings=call.warnings,
        audit_annotations=call.audit_annotations,
        traceparent=call.traceparent,
    )
