"""Counters of several workers, added up; torn snapshots, bounded labels."""

from __future__ import annotations

import os
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
    slots.write(1, b"{}")
    data = slots.read(1)
    assert data == b"{}"
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


def test_the_events_of_a_watch_are_counted_by_their_collection() -> None:
    counted = metrics.Metrics()
    cell = counted.watch_events("apps", "v1", "deployments")
    cell[0] += 3
    assert counted.watch_events("apps", "v1", "deployments") is cell
    assert 'apiserver_watch_events_total{group="apps",resource="deployments",version="v1"} 3' in counted.render()


def test_watches_that_are_open_are_shown_until_they_end(slots: metrics.Slots) -> None:
    first, second = metrics.Metrics(slots, 0), metrics.Metrics(slots, 1)
    with first.lasting(request("watch")), second.lasting(request("watch")):
        with second.lasting(request("watch")):
            pass
        second.flush()
        (line,) = [line for line in first.render().splitlines() if line.startswith("apiserver_longrunning_requests{")]
        assert line.endswith(" 2")


def test_gauges_do_not_outlive_their_worker_but_counters_do(slots: metrics.Slots) -> None:
    old = metrics.Metrics(slots, 0)
    attempts = old.outcomes("authentication_attempts", "text")
    attempts.count('result="success"')
    old.observe(request("watch"), 1.0)
    with old.lasting(request("watch")):
        old.flush()
    new = metrics.Metrics(slots, 0)
    new.outcomes("authentication_attempts", "text")
    text = new.render()
    assert "apiserver_longrunning_requests{" not in text
    assert 'authentication_attempts{result="success"} 1' in text
    assert total(text) == 1


def test_the_process_shows_what_it_costs() -> None:
    counted = metrics.Metrics()
    counted.flush()
    lines = dict(line.rsplit(" ", 1) for line in counted.render().splitlines() if line.startswith("process_"))
    assert float(lines["process_cpu_seconds_total"]) > 0
    assert int(lines["process_resident_memory_bytes"]) > 1_000_000
    assert int(lines["process_open_fds"]) > 2


def test_requests_that_were_turned_away_or_ended_are_told_apart() -> None:
    counted = metrics.Metrics()
    counted.observe(request(status=429), 0.01)
    counted.observe(request(status=404), 0.01)
    assert counted.render().count("apiserver_request_terminations_total{") == 1
