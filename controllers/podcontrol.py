"""Making and deleting the pods of an owner: each write is expected in the cache and told to users as an event.

What a ReplicaSet and a Job have in common once their plan is made. Raises what the API raises, for the queue to retry.
"""

from __future__ import annotations

from apimachinery import errors, gvr, objects
from apimachinery.objects import Object
from client.events import EventRecorder
from client.rest import Client
from controllers import writes
from controllers.expectations import Expectations


class PodControl:
    """The pods of one controller's owners."""

    def __init__(self, client: Client, events: EventRecorder, expectations: Expectations) -> None:
        self._client = client
        self._events = events
        self._expectations = expectations

    async def create(self, owner: Object, pod: Object) -> None:
        try:
            created = await self._client.create(gvr.PODS, pod, objects.namespace_of(owner))
        except errors.APIError as error:
            if writes.namespace_is_terminating(error):
                return  # the namespace takes the owner too: nothing to retry
            self._events.event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        self._expectations.expect_present(objects.uid_of(owner), objects.uid_of(created))
        self._events.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {objects.name_of(created)}")

    async def delete(self, owner: Object, pod: Object) -> None:
        name, uid = objects.name_of(pod), objects.uid_of(pod)
        try:
            await self._client.delete(gvr.PODS, name, objects.namespace_of(pod), uid=uid)
        except errors.NotFound:
            return
        except errors.APIError as error:
            self._events.event(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            raise
        self._expectations.expect_gone(objects.uid_of(owner), uid)
        self._events.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")
