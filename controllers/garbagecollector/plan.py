"""What to do with one object, given how its owners fare: keep it, cut references to owners that are gone, delete it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from apimachinery import objects
from apimachinery.objects import Object
from controllers.garbagecollector import graph


class Owner(enum.Enum):
    """How an owner fares, by a read from the apiserver."""

    SOLID = "exists"
    WAITING = "is deleted in the foreground, and waits for its dependents"
    GONE = "does not exist"


@dataclass(frozen=True, slots=True)
class Keep:
    pass


@dataclass(frozen=True, slots=True)
class Detach:
    """Remove the references to these owners: others still hold the object."""

    owner_uids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Delete:
    """`unblock`: first let go of the owners, since its own dependents wait in turn, and would wait for ever."""

    propagation_policy: str
    unblock: bool = False


Action = Keep | Detach | Delete


def plan_item(item: Object, owners: Mapping[str, Owner], *, has_dependents: bool, dependents_wait: bool) -> Action:
    """`owners` by uid, for every owner reference of `item`; `dependents_wait`: one of its dependents is deleted in the
    foreground, and waits for its own."""
    if not owners:
        return Keep()
    leaving = frozenset(uid for uid, fares in owners.items() if fares is not Owner.SOLID)
    if len(leaving) < len(owners):
        return Detach(leaving) if leaving else Keep()
    if has_dependents and Owner.WAITING in owners.values():
        return Delete("Foreground", unblock=dependents_wait)
    return Delete(_policy(item))


def _policy(item: Object) -> str:
    """What a finalizer on the object already asks for; else its dependents go after it, in the background."""
    finalizers = graph.finalizers_of(item)
    if graph.ORPHAN_FINALIZER in finalizers:
        return "Orphan"
    return "Foreground" if graph.FOREGROUND_FINALIZER in finalizers else "Background"


def owner_fares(owner: Object | None, uid: str) -> Owner:
    """From a read of the owner's name: another uid there is another object."""
    if owner is None or objects.uid_of(owner) != uid:
        return Owner.GONE
    if objects.is_deleting(owner) and graph.FOREGROUND_FINALIZER in graph.finalizers_of(owner):
        return Owner.WAITING
    return Owner.SOLID
