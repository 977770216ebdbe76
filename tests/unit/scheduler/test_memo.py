"""Remembered answers are the answers: a cluster that changes at random, each decision made again from scratch."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apimachinery.objects import Key, Object
from scheduler import cycle, podinfo
from scheduler.cache import Cache
from scheduler.memo import Journal, Memo, Tally
from scheduler.snapshot import Snapshot
from tests.unit.scheduler.build import default_profile, node, pod, taint

ZONE = "topology.kubernetes.io/zone"


def random_node(chance: random.Random, name: str) -> Object:
    taints = [taint("x", chance.choice(["NoSchedule", "PreferNoSchedule"]))] if chance.random() < 0.2 else []
    images = {"nginx": 300 << 20} if chance.random() < 0.5 else {}
    labels = {ZONE: chance.choice("abc"), "disk": chance.choice(["ssd", "hdd"])}
    return node(name, cpu=str(chance.randint(2, 6)), labels=labels, taints=taints, images=images)


def random_pod(chance: random.Random, name: str) -> Object:
    app = chance.choice(["web", "db"])
    selector = {"matchLabels": {"app": app}}
    spec: dict[str, Any] = {"labels": {"app": app}, "owner": app, "cpu": chance.choice(["", "100m", "1"])}
    kind = chance.randrange(5)
    if kind == 0:
        action = chance.choice(["DoNotSchedule", "ScheduleAnyway"])
        constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": action, "labelSelector": selector}
        spec["topologySpreadConstraints"] = [constraint]
    if kind in (1, 2):
        term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        hard = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        soft = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}
        spec["affinity"] = {chance.choice(["podAffinity", "podAntiAffinity"]): chance.choice([hard, soft])}
    if kind == 3:
        spec["nodeSelector"] = {"disk": "ssd"}
    return pod(name, **spec)


def from_scratch(snapshot: Snapshot) -> Snapshot:
    return Snapshot(snapshot.by_name, snapshot.facts, snapshot.namespace_labels)


@pytest.mark.parametrize("seed", range(8))
def test_decisions_with_and_without_memory_are_the_same(seed: int) -> None:
    chance, cache, profile = random.Random(seed), Cache(lambda _: {}), default_profile()
    placed: list[Key] = []
    for step in range(120):
        match chance.randrange(6):
            case 0:
                cache.update_node(random_node(chance, f"n{chance.randrange(8)}"))
            case 1 if placed:
                cache.remove_pod(placed.pop(chance.randrange(len(placed))))
            case 2 if chance.random() < 0.2:
                cache.remove_node(f"n{chance.randrange(8)}")
        info, snapshot = podinfo.of(random_pod(chance, f"p{step}")), cache.snapshot()
        decided = cycle.schedule(info, snapshot, profile, random.Random(step))
        assert decided == cycle.schedule(info, from_scratch(snapshot), profile, random.Random(step))
        if decided.node is not None:
            cache.assume(info, decided.node)
            placed.append(info.key)


def test_an_older_snapshot_still_gets_its_own_answers() -> None:
    cache, profile = Cache(lambda _: {}), default_profile()
    cache.update_node(node("a"))
    cache.update_node(node("b"))
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    candidate = podinfo.of(pod("new", labels={"app": "x"}, affinity=far))
    before = cache.snapshot()
    cache.assume(podinfo.of(pod("old", labels={"app": "x"}, affinity=far)), "a")
    assert cycle.schedule(candidate, cache.snapshot(), profile, random.Random(1)).feasible == ["b"]
    assert cycle.schedule(candidate, before, profile, random.Random(1)).feasible == ["a", "b"]


def test_a_memo_forgets_what_was_not_asked_for_longest() -> None:
    memo, made = Memo(), []

    def make(key: int) -> str:
        made.append(key)
        return str(key)

    for key in [*range(128), 0, 128, 0, 1]:
        memo.get(key, lambda key=key: make(key))  # type: ignore[misc]  # bound now, not later
    assert made == [*range(128), 128, 1]


def test_a_journal_does_not_answer_for_times_it_has_forgotten() -> None:
    journal = Journal()
    journal.note("a")
    journal.note("b")
    assert journal.between(1, 2) == ["b"]
    assert journal.between(0, 1) == ["a"]
    assert journal.between(2, 1) is None
    journal.restart()
    assert journal.between(2, journal.version) is None
    assert journal.between(journal.version, journal.version) == []


def test_a_key_counts_for_as_long_as_a_node_gives_it() -> None:
    cache = Cache(lambda _: {})
    cache.update_node(node("a"))
    tally: Tally[str] = Tally(lambda info: {"x": len(info.pods)} if info.labels.get("in") else {})
    tally.refresh(cache.snapshot())
    assert tally.counts == {}
    cache.update_node(node("a", labels={"in": "1"}))
    tally.refresh(cache.snapshot())
    assert tally.counts == {"x": 0}
    cache.remove_node("a")
    tally.refresh(cache.snapshot())
    assert tally.counts == {}
