"""The EndpointSlice controller and the Endpoints controller: the same watch, two forms of the same answer (step C5)."""

from __future__ import annotations

from apimachinery import errors, gvr, objects
from apimachinery.gvr import GVR
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done
from controllers import writes
from controllers.context import Context
from controllers.endpoints import backends, slices, subsets
from controllers.endpoints.watching import ServiceWatch
from controllers.expectations import Expectations
from controllers.freshness import Freshness

SLICES_NAME, ENDPOINTS_NAME = "endpointslice-controller", "endpoints-controller"
ENDPOINT_SLICES = GVR("discovery.k8s.io", "v1", "endpointslices")
_BY_SERVICE = "service"


class EndpointSliceController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._queue = context.queue(SLICES_NAME)
        self._watch = ServiceWatch(context, self._queue)
        self._freshness = Freshness(context.clock)
        self._expectations = Expectations(context.clock)
        self._slices = context.informers.informer(ENDPOINT_SLICES, indexers={_BY_SERVICE: _services_of})
        self._slices.add_handler(
            on_add=self._slice_changed, on_update=lambda old, new: self._slice_changed(new), on_delete=self._slice_gone
        )

    async def run(self) -> None:
        await self._context.loop(SLICES_NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        service = self._watch.services.store.get(key)
        if service is None or objects.is_deleting(service) or not backends.has_selector(service):
            return Done()  # slices of a Service that is gone go with it: it owns them
        present = self._slices.store.by_index(_BY_SERVICE, str(key))
        uid, behind = objects.uid_of(service), any(self._freshness.is_behind(entry) for entry in present)
        if behind or not self._expectations.met(uid):
            return Done()  # the event of our own write is on its way
        self._expectations.open(uid)
        families = backends.address_types(service)
        for entry in present:
            if entry["addressType"] not in families:
                await self._delete(entry)
        candidates = self._watch.candidates(service)
        for family in families:
            found = backends.backends(service, candidates, family)
            own = [entry for entry in present if entry["addressType"] == family]
            await self._apply(service, slices.plan_slices(service, found, family, own))
        return Done()

    async def _apply(self, service: Object, plan: slices.Plan) -> None:
        for entry in plan.create:
            await self._create(service, entry)
        for entry in plan.update:
            self._freshness.wrote(await self._client.update(ENDPOINT_SLICES, entry))
        for entry in plan.delete:
            await self._delete(entry)

    async def _create(self, service: Object, entry: Object) -> None:
        try:
            created = await self._client.create(ENDPOINT_SLICES, entry, objects.namespace_of(service))
        except errors.APIError as error:
            if writes.namespace_is_terminating(error):
                return
            raise
        self._expectations.expect_present(objects.uid_of(service), objects.uid_of(created))

    async def _delete(self, entry: Object) -> None:
        try:
            await self._client.delete(
                ENDPOINT_SLICES, objects.name_of(entry), objects.namespace_of(entry), uid=objects.uid_of(entry)
            )
        except errors.NotFound:
            return

    def _slice_changed(self, entry: Object) -> None:
        self._expectations.observe_present(_owner_uid(entry), objects.uid_of(entry))
        self._enqueue_service_of(entry)

    def _slice_gone(self, entry: Object) -> None:
        self._freshness.forget(objects.uid_of(entry))
        self._expectations.observe_gone(_owner_uid(entry), objects.uid_of(entry))
        self._enqueue_service_of(entry)

    def _enqueue_service_of(self, entry: Object) -> None:
        for text in _services_of(entry):
            namespace, _, name = text.partition("/")
            self._queue.add(Key(namespace, name))


class EndpointsController:
    """One Endpoints object a Service, of its first address family."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._queue = context.queue(ENDPOINTS_NAME)
        self._watch = ServiceWatch(context, self._queue)
        self._freshness = Freshness(context.clock)
        self._endpoints = context.informers.informer(gvr.ENDPOINTS)
        self._endpoints.add_handler(
            on_add=self._changed, on_update=lambda old, new: self._changed(new), on_delete=self._changed
        )

    async def run(self) -> None:
        await self._context.loop(ENDPOINTS_NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        service, present = self._watch.services.store.get(key), self._endpoints.store.get(key)
        if service is None or objects.is_deleting(service):
            if present is not None and objects.labels_of(present).get(subsets.MANAGED_BY) == subsets.MANAGER:
                await self._delete(present)
            return Done()
        if not backends.has_selector(service) or (present is not None and self._freshness.is_behind(present)):
            return Done()
        family = backends.address_types(service)[0]
        found = backends.backends(service, self._watch.candidates(service), family)
        wanted = subsets.wanted(service, found, present)
        if present is None:
            await self._create(key, wanted)
        elif wanted != {"subsets": [], **present}:
            self._freshness.wrote(await self._client.update(gvr.ENDPOINTS, wanted))
        return Done()

    async def _create(self, key: Key, wanted: Object) -> None:
        try:
            self._freshness.wrote(await self._client.create(gvr.ENDPOINTS, wanted, key.namespace))
        except errors.AlreadyExists:
            return  # the cache will show it
        except errors.APIError as error:
            if not writes.namespace_is_terminating(error):
                raise

    async def _delete(self, present: Object) -> None:
        try:
            await self._client.delete(
                gvr.ENDPOINTS, objects.name_of(present), objects.namespace_of(present), uid=objects.uid_of(present)
            )
        except errors.NotFound:
            return

    def _changed(self, endpoints: Object) -> None:
        self._queue.add(objects.key_of(endpoints))


def _services_of(entry: Object) -> list[str]:
    """The Service that a slice of ours belongs to, as the text of its key."""
    labels = objects.labels_of(entry)
    name = labels.get(slices.SERVICE_NAME)
    ours = labels.get(slices.MANAGED_BY) == slices.MANAGER
    return [str(Key(objects.namespace_of(entry), name))] if name and ours else []


def _owner_uid(entry: Object) -> str:
    return str((objects.controller_of(entry) or {}).get("uid"))
