"""Which group-versions are served elsewhere: the APIServices with a Service, followed in the watch cache.

Guarantees: `find` is a look-up, and `any` tells without one that there are none, which is what most clusters have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from apimachinery.objects import Object
from apiserver.storage import types
from apiserver.storage.store import Store

PREFIX = "/registry/apiregistration.k8s.io/apiservices/"
AVAILABLE = "Available"
_HTTPS = 443


class ServicePort(NamedTuple):
    namespace: str
    name: str
    port: int


class Remote(NamedTuple):
    """One group-version of an extension server. `ca_bundle` is base64, as in the object."""

    group: str
    version: str
    service: ServicePort
    ca_bundle: str
    insecure: bool
    available: bool
    group_priority: int
    version_priority: int

    @property
    def path(self) -> str:
        """Where discovery of it is."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


class Remotes:
    """All of them. `on_change` is called within the cache's update and must only hand over."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Remote] = {}
        self._listeners: list[Callable[[], None]] = []
        self.generation = 0

    def follow(self, store: Store) -> None:
        """Takes what the cache has, then every change."""
        revision = store.revision
        for stored in store.cached_list(PREFIX):
            self.apply(types.Event(False, stored, None))
        store.subscribe(PREFIX, revision, self.apply)

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def apply(self, event: types.Event) -> None:
        """One change of an APIService."""
        obj = event.stored.object
        spec = obj.get("spec") or {}
        key = (spec.get("group") or "", spec.get("version") or "")
        remote = None if event.deleted else of(obj)
        if self._found.get(key) == remote:
            return
        if remote is None:
            del self._found[key]
        else:
            self._found[key] = remote
        self.generation += 1
        for listener in self._listeners:
            listener()

    def __bool__(self) -> bool:
        return bool(self._found)

    def __iter__(self) -> Iterator[Remote]:
        return iter(list(self._found.values()))

    def find(self, group: str, version: str) -> Remote | None:
        return self._found.get((group, version))


def of(obj: Object) -> Remote | None:
    """What an APIService leads to; None for one that is served here."""
    spec: dict[str, Any] = obj.get("spec") or {}
    service = spec.get("service")
    if not service:
        return None
    return Remote(
        spec.get("group") or "",
        spec.get("version") or "",
        ServicePort(service.get("namespace") or "", service.get("name") or "", service.get("port") or _HTTPS),
        spec.get("caBundle") or "",
        bool(spec.get("insecureSkipTLSVerify")),
        is_available(obj),
        spec.get("groupPriorityMinimum") or 0,
        spec.get("versionPriority") or 0,
    )


def is_available(obj: Object) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == AVAILABLE and item.get("status") == "True" for item in conditions)
