"""A queue of keys that never hands one key to two workers, in client-go's three layers: queue, delays, rate limits.

Guarantees
- fair: keys come out in the order they went in;
- stingy: a key added many times before it is taken comes out once;
- exclusive: a key added while it is being processed comes out again only after `done`;
- bounded: it holds at most one entry a distinct key (twice, while processed), so its bound is the number of objects;
- shutdown: `get` raises ShutDown once the queue is shut down and drained; adding is then ignored.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from apimachinery.clock import Clock, SystemClock
from client.ratelimit import TokenBucket

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class ShutDown(Exception):
    """The queue was shut down and holds nothing more."""


class RateLimiter(Protocol[K_contra]):
    """How long a key that failed must wait."""

    def when(self, key: K_contra) -> float: ...

    def forget(self, key: K_contra) -> None: ...

    def num_requeues(self, key: K_contra) -> int: ...


class ItemExponential(Generic[K]):
    """`base * 2^failures` seconds, at most `cap`, counted a key."""

    def __init__(self, base: float = 0.005, cap: float = 1000.0) -> None:
        self._base = base
        self._cap = cap
        self._failures: dict[K, int] = {}

    def when(self, key: K) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # 2^64 * any base is past any cap: keeps the power small for a key that fails for ever
        return float(min(self._base * 2 ** min(failures, 64), self._cap))

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: K) -> int:
        return self._failures.get(key, 0)


class ControllerRateLimiter(ItemExponential[K]):
    """client-go's default: exponential a key, and at most 10 retries a second (100 at once) over all keys."""

    def __init__(self, clock: Clock, base: float = 0.005, cap: float = 1000.0) -> None:
        super().__init__(base, cap)
        self._bucket = TokenBucket(10, 100, clock)

    def when(self, key: K) -> float:
        return max(super().when(key), self._bucket.reserve())


class Metrics(Protocol):
    """Told what happens to the queue; upstream's `workqueue_*` metrics."""

    def added(self, depth: int) -> None: ...

    def taken(self, depth: int, waited_seconds: float) -> None: ...

    def finished(self, worked_seconds: float) -> None: ...

    def retried(self) -> None: ...


class WorkQueue(Generic[K]):
    """See the module. Use from one event loop."""

    def __init__(
        self,
        clock: Clock | None = None,
        rate_limiter: RateLimiter[K] | None = None,
        *,
        metrics: Metrics | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._limiter: RateLimiter[K] = rate_limiter or ControllerRateLimiter(self._clock)
        self._metrics = metrics
        self._queue: deque[K] = deque()  # the order of work; every key here is in `dirty` and not in `processing`
        self._dirty: dict[K, float] = {}  # keys that need processing, and since when
        self._processing: dict[K, float] = {}  # keys taken and not done, and since when; may be dirty again
        self._delayed: dict[K, tuple[float, asyncio.TimerHandle]] = {}  # when each is added, and its timer
        self._getters: deque[asyncio.Future[None]] = deque()
        self._shut_down = False

    def add(self, key: K) -> None:
        """Mark `key` as needing processing."""
        if self._shut_down or key in self._dirty:
            return
        self._dirty[key] = self._clock.monotonic()
        if key not in self._processing:
            self._enqueue(key)
        if self._metrics is not None:
            self._metrics.added(len(self._queue))

    def add_after(self, key: K, seconds: float) -> None:
        """Add later. Of several times for one key the earliest counts."""
        if self._shut_down:
            return
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        waiting = self._delayed.get(key)
        if waiting is not None:
            if waiting[0] <= when:
                return
            waiting[1].cancel()
        self._delayed[key] = (when, loop.call_at(when, self._due, key))

    def add_rate_limited(self, key: K) -> None:
        """Add again after a failure, when the rate limiter says so."""
        if self._metrics is not None:
            self._metrics.retried()
        self.add_after(key, self._limiter.when(key))

    def forget(self, key: K) -> None:
        """It went well: the next failure of `key` is its first."""
        self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        return self._limiter.num_requeues(key)

    async def get(self) -> K:
        """The next key, which is then the caller's until `done`. Raises ShutDown."""
        while not self._queue:
            if self._shut_down:
                raise ShutDown
            await self._wait()
        key = self._queue.popleft()
        now = self._clock.monotonic()
        since = self._dirty.pop(key)
        self._processing[key] = now
        if self._metrics is not None:
            self._metrics.taken(len(self._queue), now - since)
        return key

    def done(self, key: K) -> None:
        """Processing of `key` has ended; if it was added meanwhile it is queued now."""
        since = self._processing.pop(key, None)
        if since is None:
            return
        if self._metrics is not None:
            self._metrics.finished(self._clock.monotonic() - since)
        if key in self._dirty:
            self._enqueue(key)

    def shut_down(self) -> None:
        """Ignore further keys, drop delayed ones, let workers drain what is queued."""
        self._shut_down = True
        for _, timer in self._delayed.values():
            timer.cancel()
        self._delayed.clear()
        while self._getters:
            self._wake_one()

    def __len__(self) -> int:
        """Keys that wait for a worker (not those that wait for their time)."""
        return len(self._queue)

    def _enqueue(self, key: K) -> None:
        self._queue.append(key)
        self._wake_one()

    def _due(self, key: K) -> None:
        del self._delayed[key]
        self.add(key)

    async def _wait(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._getters.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._wake_one()  # the turn was ours and we leave: somebody else must take it
            elif future in self._getters:
                self._getters.remove(future)
            raise

    def _wake_one(self) -> None:
        while self._getters:
            future = self._getters.popleft()
            if not future.done():
                future.set_result(None)
                return
