from __future__ import annotations

from typing import Any

import pytest

from apimachinery.clock import FixedClock
from apimachinery.objects import Key
from scheduler import podinfo
from scheduler.framework import Event
from scheduler.queue import Queue, Queued
from tests.unit.scheduler import build

WAKES = {"NodeResourcesFit": frozenset({Event.POD_DELETED}), "TaintToleration": frozenset({Event.NODE_TAINTS})}


class Scene:
    def __init__(self) -> None:
        self.clock = FixedClock()
        self.queue = Queue(self.clock, WAKES.__getitem__)

    def add(self, name: str, **spec: Any) -> None:
        self.queue.add(podinfo.of(build.pod(name, **spec)))
        self.clock.advance(0.001)

    def pop(self) -> Queued:
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def names(self) -> list[str]:
        """Pops all that is ready."""
        found = []
        while (queued := self.queue.pop()) is not None:
            found.append(queued.pod.key.name)
        return found


def test_pods_go_by_priority_then_by_age() -> None:
    scene = Scene()
    scene.add("first")
    scene.add("second")
    scene.add("urgent", priority=1000)
    assert scene.names() == ["urgent", "first", "second"]


def test_a_rejected_pod_sleeps_until_an_event_that_can_help() -> None:
    scene = Scene()
    scene.add("p")
    scene.queue.unschedulable(scene.pop(), frozenset({"TaintToleration"}))
    assert scene.queue.wake(Event.POD_DELETED) == 0
    scene.clock.advance(60)
    assert scene.names() == []
    assert scene.queue.wake(Event.NODE_TAINTS) == 1
    assert scene.names() == ["p"]


def test_a_woken_pod_still_waits_for_its_back_off() -> None:
    scene = Scene()
    scene.add("p")
    scene.queue.unschedulable(scene.pop(), frozenset({"NodeResourcesFit"}))
    scene.queue.wake(Event.POD_DELETED)
    assert scene.names() == []
    assert scene.queue.next_ready_in() == pytest.approx(1.0)
    scene.clock.advance(1)
    assert scene.names() == ["p"]


def test_back_off_doubles_up_to_ten_seconds() -> None:
    scene = Scene()
    scene.add("p")
    waits = []
    for _ in range(6):
        scene.queue.retry(scene.pop())
        wait = scene.queue.next_ready_in()
        assert wait is not None
        waits.append(round(wait, 3))
        scene.clock.advance(wait)
    assert waits == [1, 2, 4, 8, 10, 10]


def test_nobody_sleeps_longer_than_five_minutes() -> None:
    scene = Scene()
    scene.add("p")
    scene.queue.unschedulable(scene.pop(), frozenset({"TaintToleration"}))
    assert scene.queue.next_ready_in() == pytest.approx(300.0)
    scene.clock.advance(300)
    assert scene.names() == ["p"]


def test_a_deleted_pod_is_never_popped() -> None:
    scene = Scene()
    for name in ("active", "backoff", "asleep"):
        scene.add(name)
    first, second, third = scene.pop(), scene.pop(), scene.pop()
    scene.queue.add(first.pod)
    scene.queue.retry(second)
    scene.queue.unschedulable(third, frozenset())
    for name in ("active", "backoff", "asleep"):
        scene.queue.remove(Key("default", name))
    scene.clock.advance(1000)
    assert scene.names() == []
    assert scene.queue.sizes() == {"active": 0, "backoff": 0, "unschedulable": 0}


def test_a_changed_spec_is_tried_at_once_a_changed_status_is_not() -> None:
    scene = Scene()
    scene.add("p", cpu="9")
    scene.queue.unschedulable(scene.pop(), frozenset({"NodeResourcesFit"}))
    with_status = build.pod("p", cpu="9")
    with_status["status"] = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    scene.queue.update(podinfo.of(with_status))
    assert scene.names() == []
    scene.queue.update(podinfo.of(build.pod("p", cpu="1")))
    popped = scene.pop()
    assert popped.pod.requests == {"cpu": 1000}
    assert popped.attempts == 2


def test_a_status_that_changes_does_not_undo_a_wake() -> None:
    scene = Scene()
    scene.add("p")
    scene.queue.unschedulable(scene.pop(), frozenset({"NodeResourcesFit"}))
    scene.queue.wake(Event.POD_DELETED)
    with_status = build.pod("p")
    with_status["status"] = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    scene.queue.update(podinfo.of(with_status))
    assert scene.queue.sizes() == {"active": 0, "backoff": 1, "unschedulable": 0}
    scene.clock.advance(1)
    assert scene.names() == ["p"]


def test_a_pod_that_found_no_nodes_at_all_sleeps_until_anything_happens() -> None:
    scene = Scene()
    scene.add("p")
    scene.queue.unschedulable(scene.pop(), frozenset())
    scene.queue.update(podinfo.of(build.pod("p")))
    scene.clock.advance(60)
    assert scene.names() == []
    assert scene.queue.wake(Event.NODE_ADDED) == 1
    assert scene.names() == ["p"]


def test_a_pod_is_popped_once_however_often_it_was_added() -> None:
    scene = Scene()
    for _ in range(3):
        scene.add("p")
    assert scene.names() == ["p"]
