"""Keeps the resource table of a worker as the stored definitions say (step A3).

Every worker follows the definitions in its own cache: one that is established is served at once, one that changed is
served anew and its watches end, one that is gone takes its rows along.
"""

from __future__ import annotations

import asyncio
from typing import Any

from apimachinery.objects import Object
from apiserver.apiextensions import rows
from apiserver.apiextensions.conversion import Converter
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme
from apiserver.storage import types
from apiserver.storage.store import Store

PREFIX = "/registry/apiextensions.k8s.io/customresourcedefinitions/"


class Follower:
    def __init__(self, scheme: Scheme, converter: Converter) -> None:
        self._scheme = scheme
        self._converter = converter
        self._serving: dict[str, tuple[Any, list[Resource]]] = {}  # by name: what the rows came of, and the rows

    def follow(self, store: Store) -> None:
        """Serves what is there, and what comes."""
        revision = store.revision
        for stored in store.cached_list(PREFIX):
            self._serve(stored.object)
        store.subscribe(PREFIX, revision, self._on_event)

    def _on_event(self, event: types.Event) -> None:
        """At the loop's next turn, since making rows takes longer than the cache may be held up."""
        change = self._forget if event.deleted else self._serve
        asyncio.get_running_loop().call_soon(change, event.stored.object)

    def _serve(self, definition: Object) -> None:
        name = definition["metadata"]["name"]
        basis = _basis(definition)
        before, old = self._serving.get(name, (None, []))
        if basis == before:
            return
        new = rows.served(definition, self._scheme.schemas, self._converter)
        self._serving[name] = (basis, new)
        self._drop(old)
        for row in new:
            self._scheme.add(row)

    def _forget(self, definition: Object) -> None:
        _, old = self._serving.pop(definition["metadata"]["name"], (None, []))
        self._drop(old)

    def _drop(self, old: list[Resource]) -> None:
        for row in old:
            assert row.custom is not None
            self._scheme.remove(row)
            row.custom.conversion.retire()


def _basis(definition: Object) -> Any:
    """All of a definition that its rows depend on: other changes serve nothing anew and end no watch."""
    status = definition.get("status") or {}
    conditions = [(item.get("type"), item.get("status")) for item in status.get("conditions") or ()]
    told = [kind for kind, state in conditions if state == "True" and kind in ("Established", "Terminating")]
    return (definition["spec"], status.get("acceptedNames"), sorted(told))
