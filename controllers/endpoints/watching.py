"""Which Services a change of a pod concerns: shared by both controllers of this package."""

from __future__ import annotations

from apimachinery import gvr, objects, selectors
from apimachinery.objects import Key, Object
from client.workqueue import WorkQueue
from controllers.context import Context
from controllers.endpoints import backends


class ServiceWatch:
    """Puts the key of a Service into `queue` when it changes, or a pod behind it."""

    def __init__(self, context: Context, queue: WorkQueue[Key]) -> None:
        self._queue = queue
        self.services = context.informers.informer(gvr.SERVICES)
        self.pods = context.informers.informer(gvr.PODS)
        self.services.add_handler(
            on_add=self.enqueue, on_update=lambda old, new: self.enqueue(new), on_delete=self.enqueue
        )
        self.pods.add_handler(on_add=self._pod_changed, on_update=self._pod_updated, on_delete=self._pod_changed)

    def enqueue(self, service: Object) -> None:
        self._queue.add(objects.key_of(service))

    def candidates(self, service: Object) -> list[Object]:
        """The pods that the Service selects."""
        selector = selectors.from_set(service["spec"]["selector"])
        every = self.pods.store.list(objects.namespace_of(service))
        return [pod for pod in every if selector.matches(objects.labels_of(pod))]

    def _pod_updated(self, old: Object, new: Object) -> None:
        if objects.labels_of(old) != objects.labels_of(new):
            self._pod_changed(old)
        self._pod_changed(new)

    def _pod_changed(self, pod: Object) -> None:
        labels = objects.labels_of(pod)
        for service in self.services.store.list(objects.namespace_of(pod)):
            if backends.has_selector(service) and selectors.from_set(service["spec"]["selector"]).matches(labels):
                self.enqueue(service)
