from __future__ import annotations

from apimachinery.objects import Object
from controllers.garbagecollector.graph import FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Graph, Work
from tests.unit.controllers.builders import ago, owned_by


def thing(uid: str, *owners: str, block: bool = False, finalizers: list[str] | None = None) -> Object:
    """`finalizers` given: it is being deleted."""
    metadata: Object = {"name": uid, "namespace": "default", "uid": uid}
    if finalizers is not None:
        metadata |= {"deletionTimestamp": ago(1), "finalizers": finalizers}
    return owned_by({"metadata": metadata}, *owners, kind="Thing", block=block)


def observe(graph: Graph, obj: Object) -> list[Work]:
    return graph.observe(obj, "v1", "Thing")


def attempts(*uids: str) -> list[Work]:
    return [Work("attempt", uid) for uid in uids]


def test_an_owner_that_goes_leaves_its_dependents_to_be_looked_at() -> None:
    graph = Graph()
    assert observe(graph, thing("owner")) == []
    assert observe(graph, thing("child", "owner")) == []
    assert graph.forget("owner") == attempts("child")


def test_an_owner_nobody_has_seen_is_looked_up() -> None:
    graph = Graph()
    assert observe(graph, thing("child", "owner")) == attempts("owner")
    node = graph.get("owner")
    assert node is not None and node.virtual and node.identity.namespace == "default"
    assert graph.forget("owner") == attempts("child")


def test_a_virtual_owner_becomes_real_when_it_is_seen() -> None:
    graph = Graph()
    observe(graph, thing("child", "owner"))
    observe(graph, thing("owner"))
    node = graph.get("owner")
    assert node is not None and not node.virtual and node.dependents == {"child"}


def test_a_virtual_owner_without_dependents_is_forgotten() -> None:
    graph = Graph()
    observe(graph, thing("child", "owner"))
    observe(graph, thing("child"))
    assert graph.get("owner") is None


def test_foreground_deletion_looks_at_all_dependents_then_at_the_owner() -> None:
    graph = Graph()
    observe(graph, thing("owner"))
    for child in ("a", "b"):
        observe(graph, thing(child, "owner"))
    assert observe(graph, thing("owner", finalizers=[FOREGROUND_FINALIZER])) == attempts("a", "b", "owner")


def test_the_waiting_owner_is_looked_at_whenever_a_dependent_goes_or_stops_blocking() -> None:
    graph = Graph()
    observe(graph, thing("owner", finalizers=[FOREGROUND_FINALIZER]))
    for child in ("a", "b", "c"):
        assert observe(graph, thing(child, "owner", block=True)) == attempts(child)
    assert graph.forget("a") == attempts("owner")
    assert observe(graph, thing("b", "owner", block=False)) == attempts("owner")
    assert observe(graph, thing("c")) == attempts("owner")


def test_a_child_that_appears_while_its_owner_waits_is_looked_at() -> None:
    graph = Graph()
    observe(graph, thing("owner", finalizers=[FOREGROUND_FINALIZER]))
    assert observe(graph, thing("late", "owner", block=True)) == attempts("late")


def test_an_orphaning_owner_releases_its_dependents() -> None:
    graph = Graph()
    observe(graph, thing("child", "owner"))
    assert observe(graph, thing("owner", finalizers=[ORPHAN_FINALIZER])) == [Work("orphan", "owner")]


def test_a_deletion_that_only_others_hold_is_no_work() -> None:
    graph = Graph()
    assert observe(graph, thing("owner", finalizers=["example.com/mine"])) == []


def test_forgetting_what_was_never_seen_is_no_work() -> None:
    assert Graph().forget("nobody") == []
