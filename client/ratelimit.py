"""A token bucket: at most `per_second` in the long run, `burst` at once. Pure: the caller waits, not the bucket."""

from __future__ import annotations

from apimachinery.clock import Clock


class TokenBucket:
    """Each `reserve` takes one token, from the future if need be, and tells how long to wait for it."""

    def __init__(self, per_second: float, burst: int, clock: Clock) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError("a token bucket needs a positive rate and a burst of at least one")
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._tokens = float(burst)  # below zero: tokens promised to those who wait
        self._at: float | None = None  # when `_tokens` was right; None before first use

    def reserve(self) -> float:
        """Seconds until the caller may go on; 0 is now."""
        self._refill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._per_second)

    def try_take(self) -> bool:
        """Take a token if there is one now."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _refill(self) -> None:
        now = self._clock.monotonic()
        if self._at is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_second)
        self._at = now
