"""Turns of those who write one key."""

from __future__ import annotations

import asyncio

from apiserver.storage.turns import Turns


async def test_one_at_a_time_and_first_come_first_served() -> None:
    turns, seen = Turns(), list[str]()

    async def write(name: str) -> None:
        async with turns.turn("a"):
            seen.append(f"{name} begins")
            await asyncio.sleep(0)
            seen.append(f"{name} ends")

    await asyncio.gather(write("first"), write("second"))
    assert seen == ["first begins", "first ends", "second begins", "second ends"]


async def test_keys_do_not_wait_for_each_other_and_nothing_is_kept_of_them() -> None:
    turns = Turns()
    async with asyncio.timeout(1), turns.turn("a"), turns.turn("b"):
        pass
    assert not turns._locks
    assert not turns._wanted
