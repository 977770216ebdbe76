"""Create, update and patch: default, admit, prepare, validate, then one compare-and-put (steps A6, A7, A9).

An update is a function of the current object. It starts from the cached one, which is nearly always the newest; when
the write finds a newer one, or the cached one made the function fail, it is run again on what etcd has. Only who gave a
resourceVersion sees a conflict.
Guarantees: nothing is written before all of admission and validation passed; a write that changes nothing is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from apimachinery import clock, errors, gvr, objects
from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.registry import conversion, faults, managedfields, ownerreferences, strategies
from apiserver.registry.addresses import Addresses
from apiserver.registry.answers import Answer
from apiserver.registry.call import LOOPBACK, Admission, Call
from apiserver.registry.identity import NAME_TRIES_MAX, Identity
from apiserver.registry.strategies.base import Strategy
from apiserver.registry.validation import causes, metadata
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme
from apiserver.storage import types
from apiserver.storage.store import Store
from apiserver.storage.types import Stored

# Where an object keeps the context of the request that created it, when that asked for it (B1)
TRACE_ANNOTATION = "armillary.dev/traceparent"
OWN_AGENT = "kube-apiserver"  # owns the fields that the server itself writes, as upstream's
RACE_TRIES_MAX = 100  # rounds of an update that others keep overtaking; each lost one is a write of somebody else

Transform = Callable[[Object], Awaitable[Object]]
"""From the current object (with resourceVersion; shared, not to be changed) to the one to write, with its defaults."""


class Open:
    """Admission of writes that the server itself makes, or that were admitted as something else."""

    async def mutate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> Object | None:
        return obj

    async def validate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> None:
        return None


OPEN = Open()


class Writer:
    def __init__(
        self,
        scheme: Scheme,
        store: Store,
        admission: Admission,
        clock: Clock,
        identity: Identity,
        addresses: Addresses,
    ) -> None:
        self._scheme = scheme
        self._store = store
        self._admission = admission
        self._clock = clock
        self._identity = identity
        self._addresses = addresses

    # --- create

    async def create(self, call: Call, obj: Object, *, tracks: bool = True) -> Stored:
        """Stores a new object. Raises AlreadyExists, Invalid, Forbidden and whatever admission raises.

        With `tracks`, its fields become the caller's.
        """
        resource, strategy = call.resource, strategies.of(call.resource)
        if obj["metadata"].get("resourceVersion"):
            raise errors.BadRequest("resourceVersion should not be set on objects to be created")
        _place(call, obj)
        ownerreferences.deduplicate(call, obj["metadata"], admitted=False)
        if tracks:
            obj = self._tracked(call, None, obj)
        obj = await self._mutate(call, self._admission, "CREATE", obj, None)
        _place(call, obj)
        ownerreferences.deduplicate(call, obj["metadata"], admitted=True)
        self._identity.stamp(obj, self._clock.now())
        if call.traceparent:
            obj["metadata"].setdefault("annotations", {}).setdefault(TRACE_ANNOTATION, call.traceparent)
        strategy.prepare_create(obj, call)
        self._scheme.complete_status(resource.gvk, obj)
        prefix = "" if obj["metadata"].get("name") else obj["metadata"].get("generateName") or ""
        tries = NAME_TRIES_MAX if prefix else 1
        for left in reversed(range(tries)):
            if prefix:
                obj["metadata"]["name"] = self._identity.name(prefix)
            self._validate(call, strategy, obj)
            name = obj["metadata"]["name"]
            try:
                return await self._addressed(call, obj, None, lambda: self._insert(call, strategy, obj))
            except types.KeyExists as error:
                if not left:
                    raise self._exists(call, error, obj["metadata"]) from error
            except types.StorageError as error:
                raise faults.translate(error, resource, name) from error
        raise AssertionError("unreachable: the last try returns or raises")

    def _exists(self, call: Call, error: types.KeyExists, meta: Object) -> errors.APIError:
        """The answer to who creates what is there; it says so when the other one is on its way out."""
        name = meta["name"]
        answer = faults.translate(error, call.resource, name)
        if meta.get("generateName"):  # a client may well try again
            answer.retry_after_seconds = answer.details["retryAfterSeconds"] = 1
            answer.message += ", the server was not able to generate a unique name for the object"
        other = self._store.cached(call.resource.key(call.namespace, name))
        if other is not None and other.object["metadata"].get("deletionTimestamp"):
            answer.message = f"object is being deleted: {answer.message}"
        return answer

    async def _insert(self, call: Call, strategy: Strategy, obj: Object) -> Stored:
        resource = call.resource
        await self._admission.validate(call, "CREATE", obj, None)
        key = resource.key(call.namespace, obj["metadata"]["name"])
        raw = await conversion.written(resource, obj)
        if call.dry_run:
            if await self._store.get(key) is not None:
                raise types.KeyExists
            return Answer(types.encode(obj))
        try:
            stored = await self._store.create(key, raw, ttl_seconds=strategy.ttl_seconds)
        except types.TooLarge:
            small = await conversion.written(resource, _without_owners(obj))
            stored = await self._store.create(key, small, ttl_seconds=strategy.ttl_seconds)
        return await conversion.answered(resource, obj, stored)

    def _validate(self, call: Call, strategy: Strategy, obj: Object) -> None:
        metadata.tidy(obj["metadata"])
        found = metadata.validate(obj["metadata"], call.resource.namespaced, strategy.name_problems)
        found += strategy.validate_create(obj, call)
        _refuse(call.resource, obj, found)

    async def admit(self, call: Call, operation: str, obj: Object, old: Object | None) -> None:
        """Admission of what is not stored itself."""
        await self._mutate(call, self._admission, operation, obj, old)
        await self._admission.validate(call, operation, obj, old)

    async def _mutate(self, call: Call, gate: Admission, operation: str, obj: Object, old: Object | None) -> Object:
        owners = obj["metadata"].get("managedFields")
        mutated = await gate.mutate(call, operation, obj, old)
        assert mutated is not None, "admission of a write returns an object"
        if mutated["metadata"].get("managedFields") != owners:
            _restore_owners(mutated["metadata"], owners)
        if mutated is not obj and not call.subresource:
            self._scheme.default(call.resource.gvk, mutated)
        return mutated

    # --- update

    async def update(self, call: Call, obj: Object) -> tuple[Stored, bool]:
        """Replaces an object; the flag says whether it was created, which a few kinds allow."""
        strategy = strategies.of(call.resource)
        check_name(call, obj)
        given = obj["metadata"]

        async def replace(current: Object) -> Object:
            return objects.copied(obj)

        try:
            stored = await self.rewrite(call, replace, uid=given.get("uid"), version=given.get("resourceVersion"))
        except errors.NotFound:
            if not strategy.create_on_update or call.subresource or given.get("resourceVersion"):
                raise
            return await self.create(call, obj), True
        return stored, False

    async def rewrite(
        self,
        call: Call,
        transform: Transform,
        *,
        uid: str | None = None,
        version: str | None = None,
        gate: Admission | None = None,
        tracks: bool = True,
    ) -> Stored:
        """Writes what `transform` makes of the current object. `uid` and `version` must hold, where given.

        `gate` is who admits the change, the admission chain unless said. With `tracks`, the fields that change become
        the caller's.
        """
        if tracks:
            transform = self._tracking(call, transform)
        gate = gate or self._admission
        resource = call.resource
        key = resource.key(call.namespace, call.name)
        try:
            current, fresh = self._store.cached(key), False
            if current is None or (version and version != str(current.revision)):
                current, fresh = await self._store.get(key), True
            for _ in range(RACE_TRIES_MAX):
                if current is None:
                    raise errors.not_found(resource.group, resource.resource, call.name)
                try:
                    return await self._attempt(call, transform, gate, current, fresh, uid, version)
                except errors.APIError:
                    newest = None if fresh else await self._store.get(key)
                    if newest is None or newest.revision == current.revision:
                        raise
                    current, fresh = newest, True
                except types.RevisionMismatch as error:
                    current, fresh = error.current, True
            raise errors.conflict(resource.group, resource.resource, call.name)
        except types.StorageError as error:
            raise faults.translate(error, resource, call.name) from error

    def _tracking(self, call: Call, transform: Transform) -> Transform:
        """`transform`, and who owns what afterwards."""

        async def tracked(old: Object) -> Object:
            return self._tracked(call, old, await transform(old))

        return tracked

    def _tracked(self, call: Call, old: Object | None, new: Object) -> Object:
        scope = self.scope(call, managedfields.UPDATE)
        return new if scope is None else managedfields.updated(old, new, scope)

    def scope(self, call: Call, operation: str) -> managedfields.Scope | None:
        """The call as the owners of fields see it; None for kinds without a type."""
        row = call.resource
        node = self._scheme.schemas.of(row.gvk)
        if node is None:
            return None
        agent = OWN_AGENT if call.user is LOOPBACK else call.user_agent
        manager = managedfields.manager_of(call.field_manager, agent, operation, call.subresource, row.gvr.api_version)
        strategy, now = strategies.of(row), clock.rfc3339(self._clock.now())
        kept: frozenset[str] = strategy.kept_by_status if call.subresource == "status" else frozenset()
        return managedfields.Scope(node, manager, now, strategy.has_status, kept)

    async def _attempt(
        self,
        call: Call,
        transform: Transform,
        gate: Admission,
        current: Stored,
        fresh: bool,
        uid: str | None,
        version: str | None,
    ) -> Stored:
        """One round of `rewrite`. Raises RevisionMismatch when `current` is not what etcd has."""
        resource, strategy = call.resource, strategies.of(call.resource)
        old = (await conversion.served(resource, current)).decode()
        _check_preconditions(resource, old, uid, version)
        new = await transform(old)
        written = new["metadata"].get("resourceVersion")
        if written and written != str(current.revision):
            raise errors.conflict(resource.group, resource.resource, call.name)
        if not written and not strategy.unconditional_update and call.verb == "update":
            why = causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(resource.group, resource.kind, call.name, [why])
        new = await self._mutate(call, gate, "UPDATE", new, old)
        ownerreferences.deduplicate(call, new["metadata"], admitted=True)
        self._prepare_update(call, strategy, new, old)

        async def write() -> Stored:
            await gate.validate(call, "UPDATE", new, old)
            return await self._replace(call, strategy, new, old, current, fresh)

        return await self._addressed(call, new, old, write)

    async def _replace(
        self, call: Call, strategy: Strategy, new: Object, old: Object, current: Stored, fresh: bool
    ) -> Stored:
        resource = call.resource
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        raw = await conversion.written(resource, new)
        if _is_finished(strategy, new):
            return await self._remove(call, new, raw, current)
        same = new == old
        if conversion.is_current(resource, raw, current) if same else _differs_in_times_only(new, old):
            return await self._unchanged(resource, current, fresh)
        if call.dry_run:
            return await conversion.answered(resource, new, Stored(current.key, raw, current.revision))
        try:
            stored = await self._store.update(current.key, lambda _: raw, expected_revision=current.revision)
        except types.TooLarge:
            small = await conversion.written(resource, _without_owners(new))
            stored = await self._store.update(current.key, lambda _: small, expected_revision=current.revision)
        return await conversion.answered(resource, new, stored)

    def _prepare_update(self, call: Call, strategy: Strategy, new: Object, old: Object) -> None:
        meta, before = new["metadata"], old["metadata"]
        meta.pop("generation", None)  # the server's count, never the client's
        for field in ("uid", "creationTimestamp", "generation", "namespace", "generateName"):
            if field in before and not meta.get(field):
                meta[field] = before[field]
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            if field in before:
                meta.setdefault(field, before[field])
            else:
                meta.pop(field, None)
        meta.pop("selfLink", None)
        match call.subresource:
            case "status":
                strategy.prepare_status(new, old, call)
                self._scheme.complete_status(call.resource.gvk, new)
                found = strategy.validate_status(new, old, call)
            case "" | "scale":
                strategy.prepare_update(new, old, call)
                found = strategy.validate(new, call) + strategy.validate_update(new, old, call)
            case _:
                strategy.prepare_subresource(new, old, call)
                found = strategy.validate_subresource(new, old, call)
        meta = new["metadata"]
        metadata.tidy(meta)
        own = metadata.validate(meta, call.resource.namespaced, strategy.name_problems)
        _refuse(call.resource, new, own + metadata.validate_update(meta, before) + found)

    async def _addressed(
        self, call: Call, new: Object, old: Object | None, write: Callable[[], Awaitable[Stored]]
    ) -> Stored:
        """`write`, with a service's addresses claimed before and settled after."""
        if call.resource.gvr != gvr.SERVICES or call.subresource:
            return await write()
        claim = await self._addresses.claim(new, old, dry_run=call.dry_run)
        try:
            stored = await write()
        except (asyncio.CancelledError, types.Unavailable):
            raise  # nobody knows whether the service was written, so the claim stays
        except BaseException:
            await self._addresses.settle(claim, written=False)
            raise
        if not call.dry_run:
            await self._addresses.settle(claim, written=True)
        return stored

    async def _unchanged(self, resource: Resource, current: Stored, fresh: bool) -> Stored:
        """The current object, once it is known to be the newest. Raises RevisionMismatch, KeyMissing."""
        if not fresh:
            newest = await self._store.get(current.key)
            if newest is None:
                raise types.KeyMissing
            if newest.revision != current.revision:
                raise types.RevisionMismatch(newest)
        return await conversion.served(resource, current)

    async def _remove(self, call: Call, obj: Object, raw: bytes, current: Stored) -> Stored:
        """The last finalizer went: the object goes with it, and is answered as it was to be written."""
        if not call.dry_run:
            deleted = await self._store.delete(current.key, expected_revision=current.revision)
            await self._addresses.release(call.resource, current)
            gone = Stored(current.key, raw, deleted.revision)
            return await conversion.answered(call.resource, obj, gone)
        return await conversion.answered(call.resource, obj, Stored(current.key, raw, current.revision))


def _place(call: Call, obj: Object) -> None:
    """The namespace of the URL is the object's; another one in the object is an error."""
    meta = obj.setdefault("metadata", {})
    if call.resource.namespaced:
        if meta.get("namespace") and meta["namespace"] != call.namespace:
            raise errors.BadRequest(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = call.namespace
    if call.name and not meta.get("name"):
        meta["name"] = call.name


def check_name(call: Call, obj: Object) -> None:
    """As `_place`, for an object at a URL with a name, which must be the object's. Raises BadRequest."""
    name = obj["metadata"].get("name")
    if not name:
        raise errors.BadRequest(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    _place(call, obj)
    if name != call.name:
        raise errors.BadRequest(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def _check_preconditions(resource: Resource, old: Object, uid: str | None, version: str | None) -> None:
    meta = old["metadata"]
    why = None
    if uid and uid != meta.get("uid"):
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta.get('uid', '')}"
        raise errors.conflict(resource.group, resource.resource, meta["name"], why)
    if version and version != meta["resourceVersion"]:
        raise errors.conflict(resource.group, resource.resource, meta["name"])


def _without_owners(obj: Object) -> Object:
    """What is stored when the whole is too large: it can do without managedFields."""
    if "managedFields" not in obj["metadata"]:
        raise types.TooLarge("etcd refuses a value of this size")
    return obj | {"metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}


def _restore_owners(meta: Object, owners: list[Object] | None) -> None:
    """Undoes what admission made of the owners, unless it is well-formed."""
    if managedfields.read(meta.get("managedFields")):
        return
    if owners is None:
        meta.pop("managedFields", None)
    else:
        meta["managedFields"] = owners


def _differs_in_times_only(new: Object, old: Object) -> bool:
    """Whether nothing but the times of the fields' owners would be written, which is no change."""
    if len(new) != len(old) or any(name not in old or old[name] != new[name] for name in new if name != "metadata"):
        return False
    meta, before = new["metadata"], old["metadata"]
    owners = before.get("managedFields")
    if not managedfields.same_but_times(meta.get("managedFields"), owners):
        return False
    return bool(meta | {"managedFields": owners} == before | {"managedFields": owners})


def _is_finished(strategy: Strategy, obj: Object) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    meta: dict[str, Any] = obj["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers") or strategy.holds(obj):
        return False
    return not meta.get("deletionGracePeriodSeconds")


def _refuse(resource: Resource, obj: Object, found: list[errors.Cause]) -> None:
    if found:
        name = obj["metadata"].get("name") or obj["metadata"].get("generateName") or ""
        raise errors.invalid(resource.group, resource.kind, name, found)
