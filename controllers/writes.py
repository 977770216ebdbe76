"""Writes that several controllers share: a status only when it changed, and what an error of a write means."""

from __future__ import annotations

from apimachinery import errors, objects
from apimachinery.gvr import GVR
from apimachinery.objects import Object
from client.rest import Client


async def status(client: Client, gvr: GVR, obj: Object, new: Object) -> Object:
    """Writes `new` as the status of `obj` unless it has it already. An object that is gone is left alone.

    Guarded by the resourceVersion of `obj`: a status computed from an outdated object raises Conflict, and the queue
    has it computed again.
    """
    if (obj.get("status") or {}) == new:
        return obj
    try:
        return await client.update(gvr, {**obj, "status": new}, subresource="status")
    except errors.NotFound:
        return obj


async def create_once(client: Client, gvr: GVR, obj: Object) -> None:
    """Creates what every namespace has. That it is there already, or that its namespace is going, is fine."""
    try:
        await client.create(gvr, obj, objects.namespace_of(obj))
    except errors.AlreadyExists:
        return
    except errors.APIError as error:
        if not namespace_is_terminating(error):
            raise


def namespace_is_terminating(error: errors.APIError) -> bool:
    """Whether a creation was refused because its namespace is being deleted."""
    causes = error.details.get("causes") or []
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
