"""How long to wait before trying again: exponential, capped, jittered, forgotten after a time without trouble."""

from __future__ import annotations

import random
from dataclasses import dataclass

from apimachinery.clock import Clock


@dataclass(frozen=True, slots=True)
class Policy:
    """Delays go `first`, `first * factor`, … up to `cap`; each is stretched by up to `jitter` of itself."""

    first: float
    cap: float
    factor: float = 2.0
    jitter: float = 1.0
    reset_after: float = 120.0  # so long without a failure, and the next one counts as the first


# client-go's reflectors
REFLECTOR = Policy(first=0.8, cap=30.0)


class Backoff:
    """The delays of one retried activity."""

    def __init__(self, policy: Policy, clock: Clock, rng: random.Random | None = None) -> None:
        self._policy = policy
        self._clock = clock
        self._random = rng or random.Random()
        self._delay = policy.first
        self._last: float | None = None

    def next(self) -> float:
        """The seconds to wait after the failure that just happened."""
        now = self._clock.monotonic()
        if self._last is not None and now - self._last > self._policy.reset_after:
            self._delay = self._policy.first
        delay = self._delay
        self._delay = min(self._delay * self._policy.factor, self._policy.cap)
        self._last = now
        return delay * (1 + self._random.random() * self._policy.jitter)
