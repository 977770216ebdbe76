"""L7, L13: the ConfigMaps and Secrets that pods here refer to, and the pods to look at again when one changes.

The first `get` of an object reads it from the API, so that a pod starts with what is true now; from then on one watch
on that object keeps it, for as long as a pod on this node is interested. What does not exist is asked for each time.
Guarantees: nothing is read that no pod here refers to (the API server may allow a node no more than that).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from apimachinery import errors as api_errors
from apimachinery import objects
from apimachinery.clock import Clock
from apimachinery.gvr import CONFIGMAPS, SECRETS
from apimachinery.objects import Object
from client.rest import Client, ConnectionFailed
from kubelet.containers.env import Reference

log = logging.getLogger(__name__)
RETRY_SECONDS = 1.0
_COLLECTIONS = {"configmap": CONFIGMAPS, "secret": SECRETS}
_Key = tuple[str, Reference]


@dataclass(slots=True)
class _Followed:
    """`latest` is None once the object was deleted; `task` keeps it up to date."""

    latest: Object | None
    task: asyncio.Task[None]
    interested: set[str] = field(default_factory=set)  # pod uids


class References:
    """Use as a task group's child: `run` owns the watches."""

    def __init__(self, client: Client, clock: Clock, on_change: Callable[[str], None]) -> None:
        self._client = client
        self._clock = clock
        self._on_change = on_change
        self._followed: dict[_Key, _Followed] = {}

    async def get(self, uid: str, namespace: str, references: Iterable[Reference]) -> Mapping[Reference, Object | None]:
        """Everything that `references` name, for the pod `uid`; None for what does not exist."""
        return {reference: await self._one(uid, namespace, reference) for reference in dict.fromkeys(references)}

    def release(self, uid: str) -> None:
        """The pod is gone: what only it referred to is no longer followed."""
        for key, followed in list(self._followed.items()):
            followed.interested.discard(uid)
            if not followed.interested:
                followed.task.cancel()
                del self._followed[key]

    async def close(self) -> None:
        tasks = [followed.task for followed in self._followed.values()]
        self._followed.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, uid: str, namespace: str, reference: Reference) -> Object | None:
        key = (namespace, reference)
        followed = self._followed.get(key)
        if followed is None:
            try:
                latest = await self._client.get(_COLLECTIONS[reference.kind], reference.name, namespace)
            except api_errors.NotFound:
                return None
            followed = self._followed.get(key)  # another pod may have asked meanwhile
            if followed is None:
                task = asyncio.create_task(self._follow(key, objects.resource_version_of(latest)))
                followed = self._followed[key] = _Followed(latest, task)
        followed.interested.add(uid)
        return followed.latest

    async def _follow(self, key: _Key, version: str) -> None:
        while True:
            try:
                version = await self._watch(key, version)
            except api_errors.Gone:
                version = await self._read_again(key, version)
            except (ConnectionFailed, api_errors.APIError) as error:
                log.debug("watch of %s %s/%s: %s", key[1].kind, key[0], key[1].name, error, extra={"step": "L7"})
                await self._clock.sleep(RETRY_SECONDS)

    async def _watch(self, key: _Key, version: str) -> str:
        """Until the server ends the watch; returns the version to go on from."""
        namespace, reference = key
        watch = self._client.watch(
            _COLLECTIONS[reference.kind],
            namespace,
            resource_version=version,
            field_selector=f"metadata.name={reference.name}",
        )
        async with contextlib.aclosing(watch) as events:
            async for event in events:
                version = objects.resource_version_of(event.object) or version
                if event.type != "BOOKMARK":
                    self._changed(key, None if event.type == "DELETED" else event.object)
        return version

    async def _read_again(self, key: _Key, version: str) -> str:
        try:
            latest = await self._client.get(_COLLECTIONS[key[1].kind], key[1].name, key[0])
        except api_errors.NotFound:
            self._changed(key, None)
            await self._clock.sleep(RETRY_SECONDS)
            return ""
        except (ConnectionFailed, api_errors.APIError):
            await self._clock.sleep(RETRY_SECONDS)
            return version
        self._changed(key, latest)
        return objects.resource_version_of(latest)

    def _changed(self, key: _Key, latest: Object | None) -> None:
        followed = self._followed.get(key)
        if followed is None:
            return
        followed.latest = latest
        name, count = f"{key[1].kind} {key[0]}/{key[1].name}", len(followed.interested)
        log.info("%s changed: %d pods look again", name, count, extra={"step": "L7"})
        for uid in list(followed.interested):
            self._on_change(uid)
