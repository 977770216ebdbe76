"""One count for all workers, through memory that they share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from apiserver import inflight
from apiserver.inflight import MUTATING, READ_ONLY, Running

OFFSET = 1 << 20


@pytest.fixture
def descriptor() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


def test_each_worker_sees_what_all_have_under_way(descriptor: int) -> None:
    first, second = (Running(descriptor, OFFSET, index, 2) for index in range(2))
    first.add(READ_ONLY, 1)
    second.add(READ_ONLY, 1)
    second.add(MUTATING, 1)
    assert [worker.total(READ_ONLY) for worker in (first, second)] == [2, 2]
    assert [worker.total(MUTATING) for worker in (first, second)] == [1, 1]
    second.add(READ_ONLY, -1)
    assert first.total(READ_ONLY) == 1


def test_a_new_worker_forgets_what_the_dead_one_had_under_way(descriptor: int) -> None:
    first = Running(descriptor, OFFSET, 0, 2)
    Running(descriptor, OFFSET, 1, 2).add(inflight.MUTATING, 5)
    assert first.total(MUTATING) == 5
    Running(descriptor, OFFSET, 1, 2)
    assert first.total(MUTATING) == 0


def test_many_workers_fit(descriptor: int) -> None:
    workers = [Running(descriptor, OFFSET, index, 200) for index in range(200)]
    for worker in workers:
        worker.add(READ_ONLY, 1)
    assert workers[0].total(READ_ONLY) == 200
