"""Keeps a copy of a collection current: list, then watch, for ever (step C1).

The protocol is data: three states, and one pure function, `step`, that says what follows what.

            ┌──────────────────────── Expired, or an error of the watch ─────────────────┐
            ▼                                                                            │
        Listing ── listed ─────────────▶ Watching ── ended, unreachable, 429, 5xx ──▶ Watching
            │  ▲                                                                     (after a wait
            └──┘ failed (after a wait);                                               if it failed)
                 Expired: again, from the newest;
                 a streamed list that is refused: again, in pages

Guarantees: the sink sees a whole list first, then every change in order; after trouble either the watch goes on where
it was, or a new whole list comes; the version never goes back (a list asks for "not older than what I saw") unless that
version is gone from the server. Faults wait with exponential, jittered back-off; the loop ends only by cancellation.
Does not keep the objects: the sink does.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from apimachinery import errors, objects
from apimachinery.clock import Clock, SystemClock
from apimachinery.gvr import GVR
from apimachinery.objects import Object
from client import backoff, rest

log = logging.getLogger(__name__)

# client-go: a watch lasts a random time between these, so that watches do not all end at once
MIN_WATCH_SECONDS, MAX_WATCH_SECONDS = 300.0, 600.0
# A server that ends a fresh watch at once, with nothing in it, is in trouble: do not ask again without a pause
VERY_SHORT_WATCH_SECONDS = 1.0
PAGE_SIZE = 500
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Sink(Protocol):
    """Where a reflector delivers; synchronous, so that order needs no thought."""

    def replace(self, items: Sequence[Object]) -> None:
        """The whole collection, as one moment had it."""

    def apply(self, obj: Object) -> None:
        """Added or changed."""

    def delete(self, obj: Object) -> None:
        """Gone; `obj` is its last state."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The whole collection is wanted. `version` "0": whatever the server's cache has; "": the newest."""

    version: str
    streaming: bool


@dataclass(frozen=True, slots=True)
class Watching:
    """The copy is as of `version`, and changes are wanted."""

    version: str


State = Listing | Watching


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a state's work ended: up to which version we know the collection, and the fault, if it was one."""

    version: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What follows: the next state, and whether to wait for it."""

    state: State
    wait: bool


def step(state: State, outcome: Outcome, *, streaming: bool) -> Step:
    """The whole protocol. `streaming`: what the next fresh list shall be."""
    error = outcome.error
    match state:
        case Listing() if error is None:
            return Step(Watching(outcome.version), wait=False)
        case Listing(version, True) if isinstance(error, errors.Invalid | errors.BadRequest):
            return Step(Listing(version, streaming=False), wait=False)  # an older server, without streaming lists
        case Listing(version, how) if isinstance(error, errors.Gone) or _is_too_large(error):
            # that version is gone, or not there yet (another member, an older backup): take what there is
            return Step(Listing("", how), wait=version == "")
        case Listing():
            return Step(state, wait=True)
        case Watching() if error is None:
            return Step(Watching(outcome.version), wait=False)
        case Watching() if isinstance(error, errors.Gone):
            return Step(Listing(outcome.version, streaming), wait=False)
        case Watching() if _is_passing(error):
            return Step(Watching(outcome.version), wait=True)
        case _:
            return Step(Listing(outcome.version, streaming), wait=True)


class Reflector:
    """The collection `gvr` (of one namespace, of one selection) delivered to `sink`."""

    def __init__(
        self,
        client: rest.Client,
        gvr: GVR,
        sink: Sink,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        streaming: bool = False,
        metadata_only: bool = False,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._client = client
        self._gvr = gvr
        self._sink = sink
        self._namespace = namespace
        self._labels = label_selector
        self._fields = field_selector
        self._streaming = streaming
        self._metadata_only = metadata_only
        self._clock = clock or SystemClock()
        self._random = rng or random.Random()
        self._backoff = backoff.Backoff(backoff.REFLECTOR, self._clock, self._random)
        self.state: State = Listing("0", streaming)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            outcome = await self._perform(self.state)
            following = step(self.state, outcome, streaming=self._streaming)
            if outcome.error is not None:
                self._report(outcome.error, following)
            if isinstance(self.state, Listing) and isinstance(following.state, Listing):
                self._streaming = following.state.streaming
            self.state = following.state
            if following.wait:
                await self._clock.sleep(self._backoff.next())

    async def _perform(self, state: State) -> Outcome:
        """The I/O of one state; expected faults become its outcome."""
        if isinstance(state, Watching):
            return await self._watch(state.version)
        return await (self._stream_list(state.version) if state.streaming else self._list(state.version))

    async def _list(self, version: str) -> Outcome:
        items: list[Object] = []
        token: str | None = None
        # a list "from the cache" comes whole; only one from the newest version is paged (upstream ignores limit else)
        limit = PAGE_SIZE if version == "" else None
        try:
            while True:
                page = await self._client.list(
                    self._gvr,
                    self._namespace,
                    label_selector=self._labels,
                    field_selector=self._fields,
                    resource_version=None if token else version,
                    limit=limit,
                    continue_token=token,
                    metadata_only=self._metadata_only,
                )
                items += _complete(page)
                token = page["metadata"].get("continue")
                if not token:
                    break
        except (errors.APIError, rest.ConnectionFailed) as error:
            return Outcome(version, error)
        self._sink.replace(items)
        return Outcome(page["metadata"].get("resourceVersion") or "")

    async def _stream_list(self, version: str) -> Outcome:
        """The list as the first events of a watch, up to the bookmark that says so; then that watch is left."""
        items: dict[objects.Key, Object] = {}
        try:
            async with contextlib.aclosing(
                self._client.watch(
                    self._gvr,
                    self._namespace,
                    label_selector=self._labels,
                    field_selector=self._fields,
                    resource_version="" if version == "0" else version,
                    timeout_seconds=self._watch_seconds(),
                    metadata_only=self._metadata_only,
                    send_initial_events=True,
                )
            ) as events:
                async for kind, obj in events:
                    if kind == "BOOKMARK" and objects.annotations_of(obj).get(INITIAL_EVENTS_END) == "true":
                        self._sink.replace(list(items.values()))
                        return Outcome(objects.resource_version_of(obj))
                    if kind == "DELETED":
                        items.pop(objects.key_of(obj), None)
                    elif kind != "BOOKMARK":
                        items[objects.key_of(obj)] = obj
        except (errors.APIError, rest.ConnectionFailed) as error:
            return Outcome(version, error)
        return Outcome(version, rest.ConnectionFailed(self._client.config.server, EOFError("the list ended early")))

    async def _watch(self, version: str) -> Outcome:
        started = self._clock.monotonic()
        first = version
        try:
            async with contextlib.aclosing(
                self._client.watch(
                    self._gvr,
                    self._namespace,
                    label_selector=self._labels,
                    field_selector=self._fields,
                    resource_version=version,
                    timeout_seconds=self._watch_seconds(),
                    metadata_only=self._metadata_only,
                )
            ) as events:
                async for kind, obj in events:
                    if kind == "DELETED":
                        self._sink.delete(obj)
                    elif kind != "BOOKMARK":
                        self._sink.apply(obj)
                    version = objects.resource_version_of(obj) or version
        except (errors.APIError, rest.ConnectionFailed) as error:
            return Outcome(version, error)
        if version == first and self._clock.monotonic() - started < VERY_SHORT_WATCH_SECONDS:
            return Outcome(version, rest.ConnectionFailed(self._client.config.server, EOFError("very short watch")))
        return Outcome(version)

    def _watch_seconds(self) -> float:
        return self._random.uniform(MIN_WATCH_SECONDS, MAX_WATCH_SECONDS)

    def _report(self, error: Exception, following: Step) -> None:
        level = logging.WARNING if following.wait else logging.INFO
        log.log(level, "%s: %s; next: %s", self._gvr, error, following.state, extra={"step": "C1"})


def _complete(page: Object) -> list[Object]:
    """The items of a list, each with the apiVersion and kind that lists leave out."""
    kind = str(page.get("kind", "")).removesuffix("List")
    items: list[Object] = page.get("items") or []
    if items and "kind" not in items[0] and kind:
        return [{"apiVersion": page["apiVersion"], "kind": kind, **item} for item in items]
    return items


def _is_passing(error: Exception | None) -> bool:
    """Whether the watch may simply be asked for again from where it was."""
    if isinstance(error, rest.ConnectionFailed | errors.TooManyRequests):
        return True
    return isinstance(error, errors.APIError) and error.status_code >= 500


def _is_too_large(error: Exception | None) -> bool:
    """Upstream's "Too large resource version": the server's cache has not got so far."""
    return isinstance(error, errors.Timeout) and any(
        cause.get("reason") == "ResourceVersionTooLarge" for cause in error.details.get("causes") or []
    )
