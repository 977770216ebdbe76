"""Leases are shared by time to live, for a minute, and never by too many keys."""

from __future__ import annotations

from apimachinery import clock as clocks
from apiserver.storage import leases


class Granted:
    def __init__(self) -> None:
        self.seconds: list[int] = []

    async def __call__(self, seconds: int) -> int:
        self.seconds.append(seconds)
        return 100 + len(self.seconds)


async def test_keys_of_one_minute_share_a_lease_that_lives_long_enough_for_the_last() -> None:
    granted, clock = Granted(), clocks.FixedClock()
    shared = leases.Leases(granted, clock=clock)
    assert await shared.lease_for(3600) == 101
    clock.advance(leases.REUSE_SECONDS - 1)
    assert await shared.lease_for(3600) == 101
    clock.advance(1)
    assert await shared.lease_for(3600) == 102
    assert granted.seconds == [3600 + leases.REUSE_SECONDS] * 2


async def test_another_time_to_live_needs_another_lease() -> None:
    shared = leases.Leases(Granted(), clock=clocks.FixedClock())
    assert await shared.lease_for(10) != await shared.lease_for(20)


async def test_a_lease_takes_a_bounded_number_of_keys() -> None:
    shared = leases.Leases(Granted(), clock=clocks.FixedClock())
    ids = [await shared.lease_for(10) for _ in range(leases.KEYS_MAX + 1)]
    assert ids == [101] * leases.KEYS_MAX + [102]


async def test_a_lease_that_etcd_has_lost_is_replaced() -> None:
    shared = leases.Leases(Granted(), clock=clocks.FixedClock())
    await shared.lease_for(10)
    shared.forget(10)
    assert await shared.lease_for(10) == 102
