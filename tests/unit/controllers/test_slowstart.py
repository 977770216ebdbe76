from __future__ import annotations

import asyncio

import pytest

from apimachinery import errors
from controllers import slowstart


@pytest.mark.parametrize(
    ("count", "fails_at", "tried"),
    [
        (0, None, 0),
        (7, None, 7),
        (10, 0, 1),  # the very first fails: nothing else is tried
        (10, 1, 3),  # in the second batch of two
        (10, 5, 7),  # in the third, of four
    ],
)
async def test_batches_double_until_one_fails(count: int, fails_at: int | None, tried: int) -> None:
    seen: list[int] = []

    async def write(index: int) -> None:
        seen.append(index)
        if index == fails_at:
            raise errors.Forbidden("exceeded quota")

    failure = await slowstart.run(count, write)
    assert seen == list(range(tried))
    assert isinstance(failure, errors.Forbidden) == (fails_at is not None)


async def test_every_write_is_tried_whatever_fails() -> None:
    seen: list[int] = []

    async def write(index: int) -> None:
        seen.append(index)
        if index in (1, 3):
            raise errors.Conflict(str(index))

    failure = await slowstart.every(5, write)
    assert seen == [0, 1, 2, 3, 4]
    assert str(failure) == "1"


async def test_only_so_many_are_under_way_at_once() -> None:
    under_way, most = 0, 0

    async def write(index: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    assert await slowstart.every(3 * slowstart.CONCURRENT_MAX, write) is None
    assert most == slowstart.CONCURRENT_MAX


async def test_a_cancellation_is_raised_and_no_failure() -> None:
    async def write(index: int) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await slowstart.every(1, write)
