"""One question serves all who asked before it was sent, and nobody who came later."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage import probe, types


class Etcd:
    """Answers when told to."""

    def __init__(self) -> None:
        self.questions: list[asyncio.Future[int]] = []

    async def ask(self) -> int:
        self.questions.append(asyncio.get_running_loop().create_future())
        return await self.questions[-1]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_wait_share_one_question_and_latecomers_need_the_next() -> None:
    etcd = Etcd()
    shared = probe.RevisionProbe(etcd.ask)
    early = [asyncio.create_task(shared.revision()) for _ in range(10)]
    await settle()
    late = [asyncio.create_task(shared.revision()) for _ in range(10)]
    await settle()
    assert len(etcd.questions) == 1
    etcd.questions[0].set_result(5)
    assert await asyncio.gather(*early) == [5] * 10
    await settle()
    assert len(etcd.questions) == 2
    etcd.questions[1].set_result(7)
    assert await asyncio.gather(*late) == [7] * 10


async def test_a_caller_that_is_cancelled_takes_nobody_along() -> None:
    etcd = Etcd()
    shared = probe.RevisionProbe(etcd.ask)
    first, second = asyncio.create_task(shared.revision()), asyncio.create_task(shared.revision())
    await settle()
    first.cancel()
    await settle()
    etcd.questions[0].set_result(5)
    assert await second == 5
    assert first.cancelled()


async def test_a_failure_reaches_all_who_shared_it_and_the_next_question_is_asked() -> None:
    etcd = Etcd()
    shared = probe.RevisionProbe(etcd.ask)
    early = [asyncio.create_task(shared.revision()) for _ in range(2)]
    await settle()
    late = asyncio.create_task(shared.revision())
    await settle()
    etcd.questions[0].set_exception(types.Unavailable("gone"))
    results = await asyncio.gather(*early, return_exceptions=True)
    assert [type(result) for result in results] == [types.Unavailable] * 2
    await settle()
    etcd.questions[1].set_result(9)
    assert await late == 9


async def test_closing_cancels_who_still_waits() -> None:
    etcd = Etcd()
    shared = probe.RevisionProbe(etcd.ask)
    waiting = asyncio.create_task(shared.revision())
    await settle()
    await shared.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
