"""Gives every namespace the ServiceAccount `default`, which pods run as unless they say otherwise (step C5)."""

from __future__ import annotations

from apimachinery import gvr, objects
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done
from controllers import writes
from controllers.context import Context

NAME = "serviceaccount-controller"
DEFAULT = "default"


class ServiceAccountController:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._queue = context.queue(NAME)
        self._namespaces = context.informers.informer(gvr.NAMESPACES)
        self._accounts = context.informers.informer(gvr.SERVICE_ACCOUNTS)
        self._namespaces.add_handler(on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new))
        self._accounts.add_handler(on_delete=self._account_deleted)

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        """`key` names the namespace."""
        namespace = self._namespaces.store.get(key)
        if namespace is None or objects.is_deleting(namespace):
            return Done()
        if self._accounts.store.get(Key(key.name, DEFAULT)) is None:
            await self._create(key.name)
        return Done()

    async def _create(self, namespace: str) -> None:
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": DEFAULT, "namespace": namespace},
        }
        await writes.create_once(self._client, gvr.SERVICE_ACCOUNTS, account)

    def _enqueue(self, namespace: Object) -> None:
        self._queue.add(objects.key_of(namespace))

    def _account_deleted(self, account: Object) -> None:
        if objects.name_of(account) == DEFAULT:
            self._queue.add(Key("", objects.namespace_of(account)))
