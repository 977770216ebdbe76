"""Counters of several workers, added up; torn snapshots, bounded labels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest

from apiserver import metrics
from apiserver.request import Request, RequestInfo


def request(verb: str = "get", resource: str = "pods", *, routed: bool = True, status: int = 200) -> Request:
    info = RequestInfo("/x", verb, True, "api", "", "v1", "default", resource, "", "p")
    made = Request({}, "GET", {}, {}, info, None)
    made.status, made.routed = status, routed
    return made


@pytest.fixture
def slots() -> Iterator[metrics.Slots]:
    with tempfile.TemporaryFile() as file:
        yield metrics.Slots(file.fileno(), 2)


def total(text: str, code: int = 200) -> int:
    lines = [line for line in text.splitlines() if line.startswith(f'apiserver_request_total{{code="{code}"')]
    return sum(int(line.rpartition(" ")[2]) for line in lines)


def test_a_scrape_adds_up_what_all_workers_have_counted(slots: metrics.Slots) -> None:
    first, second = metrics.Metrics(slots, 0), metrics.Metrics(slots, 1)
    first.observe(request(), 0.01)
    second.observe(request(), 0.2)
    second.observe(request(), 7.0)
    second.flush()
    text = first.render()
    assert total(text) == 3
    assert 'le="0.025"} 1' in text
    assert 'le="0.2"} 2' in text
    assert 'le="+Inf"} 3' in text


def test_a_new_worker_goes_on_where_the_old_one_ended(slots: metrics.Slots) -> None:
    old = metrics.Metrics(slots, 0)
    old.observe(request(), 0.01)
    old.flush()
    new = metrics.Metrics(slots, 0)
    new.observe(request(), 0.01)
    assert total(new.render()) == 2


def test_a_torn_snapshot_is_left_out(slots: metrics.Slots) -> None:
    whole = metrics.Metrics(slots, 1)
    whole.observe(request(), 0.01)
    whole.flush()
    slots.write(1, b"[{},{},{}]")
    data = slots.read(1)
    assert data == b"[{},{},{}]"
    import os

    os.pwrite(slots._descriptor, b"X", 1 << 20 | 9)
    assert slots.read(1) is None
    assert total(metrics.Metrics(slots, 0).render()) == 0


def test_a_resource_that_nobody_serves_is_no_label() -> None:
    counted = metrics.Metrics()
    counted.observe(request(resource="made-up", routed=False, status=404), 0.01)
    assert "made-up" not in counted.render()
    assert total(counted.render(), 404) == 1


def test_a_watch_counts_but_has_no_duration() -> None:
    counted = metrics.Metrics()
    counted.observe(request("watch"), 100.0)
    assert total(counted.render()) == 1
    assert "duration_seconds_bucket" not in counted.render()
