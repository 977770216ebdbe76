"""The registered webhooks, from the watch cache, in the order in which they are asked.

Configurations by name, the webhooks of each as written, as upstream orders them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apimachinery import selectors
from apimachinery.objects import Object
from apiserver.admission.conditions import Conditions
from apiserver.storage.store import Store
from apiserver.storage.types import Event

MUTATING = "/registry/mutatingwebhookconfigurations/"
VALIDATING = "/registry/validatingwebhookconfigurations/"
DEFAULT_TIMEOUT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook. `spec` is it as stored; the rest was read from it once."""

    configuration: str
    spec: Object
    namespaces: selectors.Selector
    objects: selectors.Selector
    conditions: Conditions

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def fails_open(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def timeout_seconds(self) -> int:
        return int(self.spec.get("timeoutSeconds") or DEFAULT_TIMEOUT_SECONDS)

    @property
    def has_side_effects(self) -> bool:
        """Whether it must not be asked about a dry run."""
        return self.spec.get("sideEffects") not in ("None", "NoneOnDryRun")


class Webhooks:
    """All webhooks of one kind of configuration; follows the cache."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._configurations: dict[str, list[Webhook]] = {}

    def follow(self, store: Store) -> None:
        revision = store.revision
        for stored in store.cached_list(self._prefix):
            self.apply(Event(False, stored, None))
        store.subscribe(self._prefix, revision, self.apply)

    def apply(self, event: Event) -> None:
        self._configurations.pop(event.stored.key, None)
        if not event.deleted:
            self._configurations[event.stored.key] = list(_webhooks(event.stored.object))
            self._configurations = dict(sorted(self._configurations.items()))

    def __iter__(self) -> Iterator[Webhook]:
        for webhooks in self._configurations.values():
            yield from webhooks

    def __bool__(self) -> bool:
        return bool(self._configurations)


def _webhooks(configuration: Object) -> Iterator[Webhook]:
    for spec in configuration.get("webhooks") or ():
        namespaces = selectors.from_label_selector(spec.get("namespaceSelector") or {})
        objects = selectors.from_label_selector(spec.get("objectSelector") or {})
        conditions = Conditions(spec.get("matchConditions") or ())
        yield Webhook(configuration["metadata"]["name"], spec, namespaces, objects, conditions)
