"""Which objects a controller owns: kept, released, adopted (steps C3 and C4).

An object belongs to the owner whose uid stands in its one `controller: true` reference. A matching orphan is adopted,
one that no longer matches is released. `claim` decides, purely; `apply` writes, each write guarded by the object's uid.
Before the first adoption the owner is read again from the apiserver: a cache may still show one that was deleted, and
a successor of the same name is another owner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from apimachinery import errors, objects
from apimachinery.gvr import GVR
from apimachinery.objects import Object
from apimachinery.selectors import Selector
from client.rest import Client
from controllers import slowstart


@dataclass(frozen=True, slots=True)
class Claims:
    """`kept` are owned already and match; the others wait for a write."""

    kept: tuple[Object, ...] = ()
    adopt: tuple[Object, ...] = ()
    release: tuple[Object, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.adopt or self.release)


@dataclass(slots=True)
class _Sorting:
    kept: list[Object] = field(default_factory=list)
    adopt: list[Object] = field(default_factory=list)
    release: list[Object] = field(default_factory=list)


def claim(owner: Object, selector: Selector, candidates: Iterable[Object]) -> Claims:
    """Sorts `candidates`, all in the owner's namespace. An owner that is being deleted neither adopts nor releases."""
    result = _Sorting()
    owner_uid, deleting = objects.uid_of(owner), objects.is_deleting(owner)
    for candidate in candidates:
        reference = objects.controller_of(candidate)
        matches = selector.matches(objects.labels_of(candidate))
        if reference is not None:
            if reference.get("uid") != owner_uid:
                continue
            if matches:
                result.kept.append(candidate)
            elif not deleting:
                result.release.append(candidate)
        elif matches and not deleting and not objects.is_deleting(candidate):
            result.adopt.append(candidate)
    return Claims(tuple(result.kept), tuple(result.adopt), tuple(result.release))


async def apply(client: Client, owner: Object, owner_gvr: GVR, claims: Claims, gvr: GVR) -> list[Object]:
    """Writes the claims; gives what the owner owns afterwards. What vanished or changed hands meanwhile is left out."""
    if claims.adopt:
        await _require_alive(client, owner, owner_gvr)
    adopted = await asyncio.gather(
        *(_adopt(client, owner, candidate, gvr) for candidate in claims.adopt), return_exceptions=True
    )
    released = await asyncio.gather(
        *(_release(client, owner, candidate, gvr) for candidate in claims.release), return_exceptions=True
    )
    failure = slowstart.first_failure(
        [result if isinstance(result, BaseException) else None for result in [*adopted, *released]]
    )
    if failure is not None:
        raise failure
    return [*claims.kept, *(result for result in adopted if isinstance(result, dict))]


async def _require_alive(client: Client, owner: Object, owner_gvr: GVR) -> None:
    name = objects.name_of(owner)
    fresh = await client.get(owner_gvr, name, objects.namespace_of(owner) or None)
    if objects.uid_of(fresh) != objects.uid_of(owner):
        raise errors.conflict(owner_gvr.group, owner_gvr.resource, name, "the object was deleted and made again")
    if objects.is_deleting(fresh):
        raise errors.conflict(owner_gvr.group, owner_gvr.resource, name, "the object is being deleted")


async def _adopt(client: Client, owner: Object, candidate: Object, gvr: GVR) -> Object | None:
    reference = objects.controller_reference(owner)
    return await _patch(client, candidate, gvr, [reference])


async def _release(client: Client, owner: Object, candidate: Object, gvr: GVR) -> None:
    await _patch(client, candidate, gvr, [{"$patch": "delete", "uid": objects.uid_of(owner)}])


async def _patch(client: Client, candidate: Object, gvr: GVR, references: list[Object]) -> Object | None:
    body = {"metadata": {"uid": objects.uid_of(candidate), "ownerReferences": references}}
    name, namespace = objects.name_of(candidate), objects.namespace_of(candidate)
    try:
        return await client.patch(gvr, name, body, namespace, patch_type="strategic")
    except errors.NotFound:
        return None
    except (errors.Invalid, errors.Conflict):
        # Another object of that name, or another controller was faster: the cache will tell.
        return None
