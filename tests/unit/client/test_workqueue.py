"""The work queue against its contract, with virtual time, and against a model of its three sets."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from client.workqueue import ControllerRateLimiter, ItemExponential, ShutDown, WorkQueue

pytestmark = pytest.mark.looptime


async def test_a_key_added_often_comes_out_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(3):
        queue.add("a")
    assert await queue.get() == "a"
    assert len(queue) == 0


async def test_a_key_added_while_processed_comes_out_again_after_done() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    assert len(queue) == 0  # nobody else may have it now
    queue.done(key)
    assert await queue.get() == "a"


async def test_keys_come_out_in_the_order_they_went_in() -> None:
    queue: WorkQueue[int] = WorkQueue()
    for number in (3, 1, 2):
        queue.add(number)
    assert [await queue.get() for _ in range(3)] == [3, 1, 2]


async def test_a_delayed_key_comes_at_its_time(looptime: object) -> None:
    queue: WorkQueue[str] = WorkQueue()
    loop = asyncio.get_running_loop()
    queue.add_after("a", 7)
    await queue.get()
    assert loop.time() == 7


async def test_of_two_delays_for_one_key_the_earlier_counts() -> None:
    queue: WorkQueue[str] = WorkQueue()
    loop = asyncio.get_running_loop()
    queue.add_after("a", 9)
    queue.add_after("a", 4)
    queue.add_after("a", 6)
    queue.done(await queue.get())
    assert loop.time() == 4
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(20):
            await queue.get()


async def test_failures_of_one_key_double_its_delay_until_it_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(rate_limiter=ItemExponential(base=1, cap=5))
    loop = asyncio.get_running_loop()
    times = []
    for _ in range(4):
        queue.add_rate_limited("a")
        queue.done(await queue.get())
        times.append(loop.time())
    assert times == [1, 3, 7, 12]  # 1, 2, 4, then the cap of 5
    assert queue.num_requeues("a") == 4
    queue.forget("a")
    assert queue.num_requeues("a") == 0
    queue.add_rate_limited("a")
    await queue.get()
    assert loop.time() == 13


async def test_many_failing_keys_share_an_overall_rate() -> None:
    from apimachinery.clock import FixedClock

    limiter: ControllerRateLimiter[int] = ControllerRateLimiter(FixedClock())
    delays = [limiter.when(key) for key in range(110)]
    assert delays[:100] == [0.005] * 100
    assert delays[109] == pytest.approx(1.0)  # the tenth beyond the burst, at ten a second


async def test_a_shut_down_queue_is_drained_and_then_says_so() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add_after("late", 5)
    queue.shut_down()
    queue.add("b")
    assert await queue.get() == "a"
    with pytest.raises(ShutDown):
        await queue.get()


async def test_shutting_down_wakes_everybody_who_waits() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await asyncio.sleep(1)
    queue.shut_down()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, ShutDown) for result in results)


async def test_a_worker_cancelled_at_its_turn_passes_it_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first = asyncio.ensure_future(queue.get())
    second = asyncio.ensure_future(queue.get())
    await asyncio.sleep(1)
    queue.add("a")  # wakes the first
    first.cancel()
    async with asyncio.timeout(1):
        assert await second == "a"


class Model(RuleBasedStateMachine):
    """The queue must behave as a list of distinct waiting keys plus a set of taken ones, some of them dirty."""

    keys = st.integers(0, 4)

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.queue: WorkQueue[int] = self.loop.run_until_complete(self._make())
        self.waiting: list[int] = []
        self.taken: set[int] = set()
        self.again: set[int] = set()

    async def _make(self) -> WorkQueue[int]:
        return WorkQueue()

    def call(self, function: object, *args: int) -> None:
        async def inside() -> None:
            function(*args)  # type: ignore[operator]  # a bound method of the queue

        self.loop.run_until_complete(inside())

    @rule(key=keys)
    def add(self, key: int) -> None:
        self.call(self.queue.add, key)
        if key in self.taken:
            self.again.add(key)
        elif key not in self.waiting:
            self.waiting.append(key)

    @precondition(lambda self: self.waiting)
    @rule()
    def get(self) -> None:
        key = self.loop.run_until_complete(self.queue.get())
        assert key == self.waiting.pop(0)
        assert key not in self.taken
        self.taken.add(key)

    @rule(key=keys)
    def done(self, key: int) -> None:
        self.call(self.queue.done, key)
        if key in self.taken:
            self.taken.remove(key)
            if key in self.again:
                self.again.remove(key)
                self.waiting.append(key)

    @invariant()
    def as_many_wait(self) -> None:
        assert len(self.queue) == len(self.waiting)

    def teardown(self) -> None:
        self.loop.close()


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestModel = Model.TestCase
