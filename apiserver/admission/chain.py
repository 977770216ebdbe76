"""Admission (A6): plugins that may change a write, then plugins that may refuse it; one refusal fails the request.

The order is upstream's and stands in `plugins.PLUGINS`. A plugin says which operations concern it, so that the many
which concern none of a request's cost nothing. One that both changes and refuses is asked in both rounds.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from apimachinery.objects import Object
from apiserver.registry.call import Call

_log = logging.getLogger("apiserver.admission")


@dataclass(frozen=True, slots=True)
class Review:
    """One write on its way in. `operation` is CREATE, UPDATE, DELETE or CONNECT; `old` is what is there now."""

    call: Call
    operation: str
    obj: Object | None
    old: Object | None

    @property
    def name(self) -> str:
        if self.call.name:
            return self.call.name
        return str((self.obj or {}).get("metadata", {}).get("name", ""))


class Plugin(Protocol):
    name: str

    def handles(self, operation: str) -> bool: ...


@runtime_checkable
class Mutator(Plugin, Protocol):
    async def mutate(self, review: Review) -> Object | None:
        """The object to go on with; changing it in place and returning it is fine. Raises to refuse."""
        ...


@runtime_checkable
class Validator(Plugin, Protocol):
    async def validate(self, review: Review) -> None:
        """Raises to refuse."""
        ...


class Chain:
    """What the registry calls (`registry.call.Admission`)."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        mutators = [plugin for plugin in plugins if isinstance(plugin, Mutator)]
        validators = [plugin for plugin in plugins if isinstance(plugin, Validator)]
        operations = ("CREATE", "UPDATE", "DELETE", "CONNECT")
        self._mutators = {op: [plugin for plugin in mutators if plugin.handles(op)] for op in operations}
        self._validators = {op: [plugin for plugin in validators if plugin.handles(op)] for op in operations}

    async def mutate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> Object | None:
        for plugin in self._mutators[operation]:
            obj = await plugin.mutate(Review(call, operation, obj, old))
        if _log.isEnabledFor(logging.DEBUG):
            names = ", ".join(plugin.name for plugin in self._mutators[operation])
            _log.debug("A6 %s %s went through %s", operation, call.resource.resource, names or "no plugin")
        return obj

    async def validate(self, call: Call, operation: str, obj: Object | None, old: Object | None) -> None:
        for plugin in self._validators[operation]:
            await plugin.validate(Review(call, operation, obj, old))
