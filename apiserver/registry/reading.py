"""Get, list and watch (steps A9, A10): from the cache where the asked revision allows it, from etcd where not.

resourceVersion means what upstream's documentation says: absent is the newest (one revision probe serves all who wait),
"0" whatever the cache has, N not older than N; a continued or exact list is read at its revision from etcd.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
"""

from __future__ import annotations

from collections.abc import Callable

from apimachinery import errors
from apiserver.registry import continuation, conversion, converting, faults, options, selection
from apiserver.registry.call import Call
from apiserver.registry.conversion import TABLE as CONVERTERS
from apiserver.registry.options import ListOptions, ListResult
from apiserver.registry.watching import Deliver, OnClose, Watch
from apiserver.scheme.resources import Resource
from apiserver.storage import types
from apiserver.storage.store import Store
from apiserver.storage.types import Listing, Stored

EXPIRED = "The resourceVersion for the provided list is too old."
FRESH_SECONDS = 3.0  # how long a read waits for a revision that the cache has not seen, as upstream


Items = list[Stored]


class Reader:
    """Stateless but for the open watches that want bookmarks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bookmarked: dict[Watch, converting.Pump] = {}

    async def get(self, call: Call, resource_version: str | None) -> Stored:
        """One object. Raises NotFound."""
        resource = call.resource
        key = resource.key(call.namespace, call.name)
        revision = options.parse_revision(resource_version or "")
        try:
            if revision is None:
                stored = await self._store.get(key)
            else:
                if revision:
                    await self._store.wait_for(revision, FRESH_SECONDS)
                stored = self._store.cached(key)
        except types.StorageError as error:
            raise faults.translate(error, resource, call.name) from error
        if stored is None:
            raise errors.not_found(resource.group, resource.resource, call.name)
        return await conversion.served(resource, stored)

    async def list(self, call: Call, asked: ListOptions) -> ListResult:
        """One page of a collection, or all of it."""
        options.check_list(asked)
        resource = call.resource
        matches = selection.matcher(resource, asked)
        try:
            if call.namespace or not resource.namespaced:
                name = selection.single_name(asked.field_selector)
                if name is not None and not asked.continue_token:
                    return _out(resource, await self._list_one(call, asked, name, matches))
            return _out(resource, await self._pages(call, asked, matches))
        except types.Compacted as error:
            if asked.continue_token:
                raise continuation.expired(continuation.decode(asked.continue_token).start) from error
            raise errors.Expired(EXPIRED) from error
        except types.StorageError as error:
            raise faults.translate(error, resource) from error

    async def watch(self, call: Call, asked: ListOptions, deliver: Deliver, on_close: OnClose) -> Watch:
        """Opens a watch; events come by `deliver` from within this call on. Raises Expired when it starts too far back.

        Without a revision, with "0", or with sendInitialEvents, the state comes first, as ADDED events, and after it a
        bookmark for those who want any.
        """
        options.check_watch(asked)
        resource = call.resource
        name = selection.single_name(asked.field_selector)
        one = name is not None and bool(call.namespace or not resource.namespaced)
        # Of one object only its own key is watched, and keys that begin with it, which the selector leaves out
        reach = resource.key(call.namespace, name) if one and name else resource.range(call.namespace)
        revision = options.parse_watch_revision(resource.group, resource.resource, asked.resource_version)
        matches = selection.matcher(resource, asked)
        watch = Watch(resource, matches, CONVERTERS.get(resource.gvk), deliver, on_close)
        try:
            if asked.wants_state:
                listing = await self._store.list(reach, revision=revision)
                items = await converting.read(resource, listing.items)
                watch.initial(items if matches is None else [item for item in items if matches(item)])
                if asked.allow_watch_bookmarks:
                    watch.bookmark(listing.revision, initial_events_end=True)
                start = listing.revision
            else:
                start = revision or await self._current_revision(reach)
            pump = converting.pump(resource, watch)
            watch.on_release = self._releaser(watch, pump)
            watch.attach(self._store.subscribe(reach, start, pump.offer, on_close=watch.on_storage_closed))
        except types.StorageError as error:
            watch.close()
            raise faults.translate(error, resource) from error
        if asked.allow_watch_bookmarks:
            self._bookmarked[watch] = pump
        return watch

    def send_bookmarks(self) -> None:
        """A bookmark to every watcher that wants them: all they wait for has been delivered up to this revision."""
        for watch, pump in list(self._bookmarked.items()):
            if not pump.is_behind:
                watch.bookmark(self._store.revision)

    def _releaser(self, watch: Watch, pump: converting.Pump) -> Callable[[], None]:
        def release() -> None:
            self._bookmarked.pop(watch, None)
            pump.close()

        return release

    async def _current_revision(self, reach: str) -> int:
        """The newest revision, known to be in the cache."""
        return (await self._store.list(reach, limit=1)).revision

    async def _list_one(
        self, call: Call, asked: ListOptions, name: str, matches: selection.Matcher | None
    ) -> ListResult:
        revision = options.parse_revision(asked.resource_version)
        prefix = call.resource.key(call.namespace, name)
        exact = asked.resource_version_match == "Exact"
        listing = await self._store.list(prefix, revision=revision, exact=exact)
        found = await converting.read(call.resource, [item for item in listing.items if item.key == prefix])
        return ListResult([item for item in found if matches is None or matches(item)], listing.revision)

    async def _pages(self, call: Call, asked: ListOptions, matches: selection.Matcher | None) -> ListResult:
        """Reads on until `limit` objects match or the collection ends."""
        reach = call.resource.range(call.namespace)
        position = _Position.of(reach, asked)
        items: list[Stored] = []
        while True:
            page = await self._store.list(
                reach, limit=asked.limit, start_key=position.start, revision=position.revision, exact=position.exact
            )
            found = await converting.read(call.resource, page.items)
            items += found if matches is None else [item for item in found if matches(item)]
            last = page.next_key is None
            if last or not asked.limit or len(items) >= asked.limit:
                return self._page(reach, asked, page, items)
            position = _Position(page.next_key, page.revision, exact=True)

    def _page(self, reach: str, asked: ListOptions, page: Listing, items: Items) -> ListResult:
        """The result. What matched beyond the limit is left for the next page, which starts after the last item."""
        start = page.next_key
        if asked.limit and len(items) > asked.limit:
            items = items[: asked.limit]
            start = items[-1].key + "\0"
        if start is None:
            return ListResult(items, page.revision)
        token = continuation.encode(start.removeprefix(reach), page.revision)
        remaining = None if asked.selects else page.remaining
        return ListResult(items, page.revision, token, remaining)


class _Position:
    """Where a page starts, and at which revision."""

    __slots__ = ("exact", "revision", "start")

    def __init__(self, start: str | None, revision: int | None, *, exact: bool) -> None:
        self.start = start
        self.revision = revision
        self.exact = exact

    @classmethod
    def of(cls, reach: str, asked: ListOptions) -> _Position:
        revision = options.parse_revision(asked.resource_version)
        if not asked.continue_token:
            return cls(None, revision, exact=asked.is_exact)
        if revision:
            raise errors.BadRequest("specifying resource version is not allowed when using continue")
        token = continuation.decode(asked.continue_token)
        if token.revision == continuation.INCONSISTENT:
            return cls(reach + token.start, None, exact=False)
        return cls(reach + token.start, token.revision, exact=True)


def _out(resource: Resource, result: ListResult) -> ListResult:
    converter = CONVERTERS.get(resource.gvk)
    if converter is None:
        return result
    items = [converter.out(item) for item in result.items]
    return ListResult(items, result.revision, result.continue_token, result.remaining)
