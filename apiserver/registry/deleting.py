"""Delete: at once, after a grace period, or when the finalizers have gone (step A9).

An object that something waits for gets a deletionTimestamp and stays; the update that removes the last reason removes
the object (`writing`). Propagation policies become the finalizers `orphan` and `foregroundDeletion`, which the garbage
collector works off.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from apimachinery import clock, errors
from apimachinery.clock import Clock
from apimachinery.objects import Object
from apiserver.registry import conversion, faults, strategies
from apiserver.registry.addresses import Addresses
from apiserver.registry.call import Admission, Call
from apiserver.registry.strategies.base import Strategy
from apiserver.registry.validation import causes
from apiserver.registry.writing import RACE_TRIES_MAX
from apiserver.scheme.resources import Resource
from apiserver.storage import types
from apiserver.storage.store import Store
from apiserver.storage.types import Stored

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
GRACE_SECONDS_MAX = 100 * 366 * 86_400  # a longer wait would end where dates do not reach
_POLICIES = ("Foreground", "Background", "Orphan")


class Deleter:
    def __init__(self, store: Store, admission: Admission, clock: Clock, addresses: Addresses) -> None:
        self._store = store
        self._admission = admission
        self._clock = clock
        self._addresses = addresses

    async def delete(self, call: Call, options: dict[str, Any]) -> tuple[Stored, bool]:
        """Asks for the deletion of an object. The flag says whether it is gone. `options` is a DeleteOptions."""
        resource, strategy = call.resource, strategies.of(call.resource)
        _check_options(options)
        key = resource.key(call.namespace, call.name)
        call.dry_run = call.dry_run or bool(options.get("dryRun"))
        try:
            current = self._store.cached(key) or await self._store.get(key)
            admitted = False
            for _ in range(RACE_TRIES_MAX):
                if current is None:
                    raise errors.not_found(resource.group, resource.resource, call.name)
                if not admitted:  # once: what admission judges is the wish, not a revision
                    await self._admit(call, current)
                    admitted = True
                try:
                    return await self._attempt(call, strategy, current, options)
                except errors.Conflict:  # a precondition: decided on the newest object only
                    newest = await self._store.get(key)
                    if newest is None or newest.revision == current.revision:
                        raise
                    current = newest
                except types.RevisionMismatch as error:
                    current = error.current
            raise errors.conflict(resource.group, resource.resource, call.name)
        except types.StorageError as error:
            raise faults.translate(error, resource, call.name) from error

    async def _admit(self, call: Call, current: Stored) -> None:
        old = (await conversion.served(call.resource, current)).object
        await self._admission.mutate(call, "DELETE", None, old)
        await self._admission.validate(call, "DELETE", None, old)

    async def _attempt(
        self, call: Call, strategy: Strategy, current: Stored, options: dict[str, Any]
    ) -> tuple[Stored, bool]:
        obj = current.decode()
        _check_preconditions(call.resource, obj, options.get("preconditions") or {})
        changed = plan(obj, strategy, options, self._clock)
        if not changed.stays:
            return await self._gone(call, current)
        raw = types.encode(obj)
        if raw == current.raw:
            return await conversion.served(call.resource, current), False
        if call.dry_run:
            return await conversion.served(call.resource, Stored(current.key, raw, current.revision)), False
        stored = await self._store.update(current.key, lambda _: raw, expected_revision=current.revision)
        return await conversion.served(call.resource, stored), False

    async def _gone(self, call: Call, current: Stored) -> tuple[Stored, bool]:
        if call.dry_run:
            return await conversion.served(call.resource, current), True
        deleted = await self._store.delete(current.key, expected_revision=current.revision)
        await self._addresses.release(call.resource, current)
        return await conversion.served(call.resource, deleted), True


class Plan:
    """Whether the object stays for now."""

    __slots__ = ("stays",)

    def __init__(self, stays: bool) -> None:
        self.stays = stays


def plan(obj: Object, strategy: Strategy, options: dict[str, Any], now: Clock) -> Plan:
    """What a deletion makes of `obj`, in place."""
    meta = obj["metadata"]
    asked = options.get("gracePeriodSeconds")
    asked = 1 if asked is not None and asked < 0 else asked
    if _is_pending(meta, asked):
        return Plan(True)
    waits = _start_grace(obj, strategy, asked, now)
    if strategy.collects_garbage:
        _set_collector_finalizers(obj, strategy, options)
    if meta.get("finalizers") or strategy.holds(obj):
        if not meta.get("deletionTimestamp"):
            _mark(obj, strategy, 0, now)
        return Plan(True)
    return Plan(waits)


def _is_pending(meta: Object, asked: int | None) -> bool:
    """Whether a grace period runs that this deletion does not shorten: then it changes nothing, not even finalizers."""
    running = meta.get("deletionGracePeriodSeconds") or 0
    return bool(meta.get("deletionTimestamp") and running and (asked is None or asked >= running))


def _start_grace(obj: Object, strategy: Strategy, asked: int | None, now: Clock) -> bool:
    """Begins or shortens the grace period; whether the object is to be waited for."""
    meta = obj["metadata"]
    if meta.get("deletionTimestamp"):
        running = meta.get("deletionGracePeriodSeconds") or 0
        if not running:
            return False
        if asked is not None:
            _shorten(meta, running, asked)
        return bool(meta["deletionGracePeriodSeconds"])
    grace = strategy.grace_seconds(obj, asked)
    if not grace:
        return False
    _mark(obj, strategy, grace, now)
    return True


def _shorten(meta: Object, running: int, asked: int) -> None:
    started = clock.parse_rfc3339(meta["deletionTimestamp"]) - _wait(running)
    meta["deletionTimestamp"] = clock.rfc3339(started + _wait(asked))
    meta["deletionGracePeriodSeconds"] = asked


def _mark(obj: Object, strategy: Strategy, grace: int, now: Clock) -> None:
    meta = obj["metadata"]
    meta["deletionTimestamp"] = clock.rfc3339(now.now() + _wait(grace))
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1
    strategy.mark_deleting(obj)


def _wait(grace: int) -> timedelta:
    return timedelta(seconds=min(grace, GRACE_SECONDS_MAX))


def _set_collector_finalizers(obj: Object, strategy: Strategy, options: dict[str, Any]) -> None:
    """`orphan` or `foregroundDeletion` as the options ask; what stood there counts when they say nothing."""
    before = obj["metadata"].get("finalizers") or []
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if policy is None and orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if policy is None:
        if ORPHAN in before or FOREGROUND in before:
            return
        policy = "Orphan" if strategy.orphans_by_default else "Background"
    wanted = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(policy, [])
    kept = [name for name in before if name not in (ORPHAN, FOREGROUND)]
    after = kept + wanted
    if sorted(after) == sorted(before):
        return
    if after:
        obj["metadata"]["finalizers"] = after
    else:
        obj["metadata"].pop("finalizers", None)


def _check_options(options: dict[str, Any]) -> None:
    found = []
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        found.append(causes.invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        found.append(causes.unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if found:
        raise errors.invalid("meta.k8s.io", "DeleteOptions", "", found)


def _check_preconditions(resource: Resource, obj: Object, wanted: dict[str, Any]) -> None:
    meta = obj["metadata"]
    uid, version = wanted.get("uid"), wanted.get("resourceVersion")
    why = None
    if uid is not None and uid != (meta.get("uid") or ""):
        why = f"the UID in the precondition ({uid}) does not match the UID in record ({meta.get('uid', '')}). "
        why += "The object might have been deleted and then recreated"
    elif version is not None and version != meta["resourceVersion"]:
        why = f"the ResourceVersion in the precondition ({version}) does not match "
        why += f"the ResourceVersion in record ({meta['resourceVersion']}). The object might have been modified"
    if why:  # upstream names the kind here, not the resource
        raise errors.conflict(resource.group, resource.kind, meta["name"], why)
