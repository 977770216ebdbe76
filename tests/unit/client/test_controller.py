"""The loop around a reconcile: what follows from each of its ends, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from apimachinery import errors
from apimachinery.objects import Key
from client.controller import Controller, Done, Outcome, RequeueAfter, TerminalError
from client.workqueue import ItemExponential, WorkQueue

pytestmark = pytest.mark.looptime
A = Key("default", "a")


async def times(outcomes: list[Outcome | Exception], seconds: float = 100) -> list[float]:
    """When a key is reconciled, if its reconciles end like this; later ones are Done."""
    seen: list[float] = []

    async def reconcile(key: Key) -> Outcome:
        seen.append(asyncio.get_running_loop().time())
        ending = outcomes.pop(0) if outcomes else Done()
        if isinstance(ending, Exception):
            raise ending
        return ending

    await run(reconcile, seconds)
    return seen


async def run(reconcile: Callable[[Key], Awaitable[Outcome]], seconds: float, workers: int = 2) -> None:
    queue: WorkQueue[Key] = WorkQueue(rate_limiter=ItemExponential(base=1, cap=60))
    queue.add(A)
    controller = Controller("test", queue, reconcile, workers=workers)
    task = asyncio.ensure_future(controller.run())
    await asyncio.sleep(seconds)
    queue.shut_down()
    await task


async def test_done_is_done() -> None:
    assert await times([Done()]) == [0]


async def test_requeue_after_looks_again_then() -> None:
    assert await times([RequeueAfter(30), RequeueAfter(5)]) == [0, 30, 35]


async def test_failures_back_off_until_success() -> None:
    failure = errors.InternalError("etcd")
    assert await times([failure, failure, failure, Done()]) == [0, 1, 3, 7]


async def test_success_makes_the_next_failure_the_first() -> None:
    failure = errors.Conflict("changed")
    assert await times([failure, failure, RequeueAfter(10), failure, Done()]) == [0, 1, 3, 13, 14]


async def test_a_terminal_error_is_not_retried(caplog: pytest.LogCaptureFixture) -> None:
    assert await times([TerminalError("spec makes no sense")]) == [0]
    assert "default/a: spec makes no sense (not retried)" in caplog.text


async def test_a_bug_is_logged_with_its_place_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    assert await times([KeyError("spec"), Done()]) == [0, 1]
    assert "Traceback" in caplog.text


async def test_one_key_is_never_reconciled_twice_at_once() -> None:
    running = 0
    runs = 0
    queue: WorkQueue[Key] = WorkQueue()

    async def reconcile(key: Key) -> Outcome:
        nonlocal running, runs
        running += 1
        runs += 1
        assert running == 1
        if runs < 5:
            queue.add(key)  # changed while we work
        await asyncio.sleep(3)
        running -= 1
        return Done()

    queue.add(A)
    task = asyncio.ensure_future(Controller("test", queue, reconcile, workers=4).run())
    await asyncio.sleep(100)
    queue.shut_down()
    await task
    assert runs == 5
