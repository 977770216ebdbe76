from __future__ import annotations

from apimachinery.objects import Key, Object
from scheduler import podinfo
from scheduler.cache import Cache
from scheduler.framework import Event
from tests.unit.scheduler.build import node, pod, taint

P = Key("default", "p")


def make(*nodes: Object) -> Cache:
    cache = Cache(lambda _: {})
    for one in nodes:
        cache.update_node(one)
    return cache


def used(cache: Cache, name: str = "a") -> int:
    return cache.snapshot().by_name[name].requested.get("cpu", 0)


def test_an_assumed_pod_counts_at_once_and_is_counted_once_when_it_is_confirmed() -> None:
    cache = make(node("a"))
    cache.assume(podinfo.of(pod(cpu="1")), "a")
    assert used(cache) == 1000
    assert cache.update_pod(podinfo.of(pod(cpu="1", node="a"))) == [Event.POD_ADDED]
    assert used(cache) == 1000
    assert not cache.is_assumed(P)


def test_a_forgotten_pod_gives_back_what_it_was_assumed_to_use() -> None:
    cache = make(node("a"))
    cache.assume(podinfo.of(pod(cpu="1", host_port=80)), "a")
    cache.forget(P)
    assert used(cache) == 0
    assert cache.snapshot().by_name["a"].host_ports == ()


def test_forgetting_a_confirmed_pod_changes_nothing() -> None:
    cache = make(node("a"))
    cache.assume(podinfo.of(pod(cpu="1")), "a")
    cache.update_pod(podinfo.of(pod(cpu="1", node="a")))
    cache.forget(P)
    assert used(cache) == 1000


def test_a_pod_that_another_scheduler_bound_elsewhere_moves() -> None:
    cache = make(node("a"), node("b"))
    cache.assume(podinfo.of(pod(cpu="1")), "a")
    cache.update_pod(podinfo.of(pod(cpu="1", node="b")))
    assert (used(cache, "a"), used(cache, "b")) == (0, 1000)


def test_a_pod_known_before_its_node_is_counted_when_the_node_comes() -> None:
    cache = make()
    cache.update_pod(podinfo.of(pod(cpu="1", node="a")))
    cache.update_node(node("a"))
    assert used(cache) == 1000


def test_a_node_that_goes_and_comes_back_keeps_its_pods() -> None:
    cache = make(node("a"))
    cache.update_pod(podinfo.of(pod(cpu="1", node="a")))
    cache.remove_node("a")
    assert list(cache.snapshot().nodes) == []
    assert cache.update_node(node("a")) == [Event.NODE_ADDED]
    assert used(cache) == 1000
    cache.remove_pod(P)
    assert used(cache) == 0


def test_changes_of_a_node_are_told_as_events() -> None:
    cache = make(node("a"))
    assert cache.update_node(node("a")) == []
    assert cache.update_node(node("a", cpu="8")) == [Event.NODE_ALLOCATABLE]
    assert cache.update_node(node("a", cpu="8", labels={"x": "y"})) == [Event.NODE_LABELS]
    assert cache.update_node(node("a", cpu="8", labels={"x": "y"}, unschedulable=True)) == [Event.NODE_TAINTS]
    assert cache.update_node(node("a", cpu="8", labels={"x": "y"}, taints=[taint("t")])) == [Event.NODE_TAINTS]


def test_a_snapshot_stays_as_it_was() -> None:
    cache = make(node("a"))
    before = cache.snapshot()
    cache.assume(podinfo.of(pod(cpu="1")), "a")
    assert before.by_name["a"].requested == {}
    assert cache.snapshot() is not before
    assert cache.snapshot() is cache.snapshot()


def test_a_removed_pod_frees_room_and_an_unknown_one_does_not() -> None:
    cache = make(node("a"))
    cache.update_pod(podinfo.of(pod(cpu="1", node="a")))
    assert cache.remove_pod(P) == [Event.POD_DELETED]
    assert cache.remove_pod(P) == []


def test_a_pod_that_shrinks_frees_room() -> None:
    cache = make(node("a"))
    cache.update_pod(podinfo.of(pod(cpu="2", node="a")))
    assert cache.update_pod(podinfo.of(pod(cpu="1", node="a"))) == [Event.POD_DELETED]
    assert used(cache) == 1000
