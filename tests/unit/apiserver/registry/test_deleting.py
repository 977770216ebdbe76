"""What a deletion makes of an object: gone, waiting, or held."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from apimachinery.clock import FixedClock
from apimachinery.objects import Object
from apiserver.registry import deleting, strategies
from apiserver.registry.strategies.base import Strategy

CLOCK = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
PODS = strategies.TABLE[("", "pods")]
GENERIC = strategies.GENERIC


def obj(*finalizers: str, **metadata: Any) -> Object:
    made: Object = {
        "metadata": {"name": "x"} | metadata,
        "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30},
    }
    if finalizers:
        made["metadata"]["finalizers"] = list(finalizers)
    return made


@pytest.mark.parametrize(
    ("strategy", "before", "options", "stays", "finalizers"),
    [
        (GENERIC, obj(), {}, False, None),
        (GENERIC, obj("a"), {}, True, ["a"]),
        (GENERIC, obj(), {"propagationPolicy": "Foreground"}, True, ["foregroundDeletion"]),
        (GENERIC, obj("orphan"), {"propagationPolicy": "Background"}, False, None),
        (GENERIC, obj("a", "orphan"), {"propagationPolicy": "Foreground"}, True, ["a", "foregroundDeletion"]),
        (GENERIC, obj("orphan"), {}, True, ["orphan"]),
        (GENERIC, obj(), {"orphanDependents": False}, False, None),
        (strategies.TABLE[("batch", "jobs")], obj(), {}, True, ["orphan"]),
        (strategies.TABLE[("", "events")], obj(), {"propagationPolicy": "Foreground"}, False, None),
        (PODS, obj(), {"gracePeriodSeconds": 0}, False, None),
        (PODS, obj("a"), {"gracePeriodSeconds": 0}, True, ["a"]),
        (PODS, obj(), {"gracePeriodSeconds": -3}, True, None),
    ],
)
def test_what_keeps_a_deleted_object(
    strategy: Strategy, before: Object, options: Object, stays: bool, finalizers: list[str] | None
) -> None:
    assert deleting.plan(before, strategy, options, CLOCK).stays is stays
    assert before["metadata"].get("finalizers") == finalizers
    assert ("deletionTimestamp" in before["metadata"]) is stays


def test_grace_is_counted_from_now() -> None:
    pod = obj(generation=4)
    assert deleting.plan(pod, PODS, {}, CLOCK).stays
    metadata = pod["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (30, 5)


def test_a_grace_beyond_all_dates_is_cut_and_can_be_shortened() -> None:
    pod = obj() | {"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 2**62}}
    assert deleting.plan(pod, PODS, {}, CLOCK).stays
    assert pod["metadata"]["deletionTimestamp"].startswith("2126-")
    assert deleting.plan(pod, PODS, {"gracePeriodSeconds": 30}, CLOCK).stays
    assert pod["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"


def test_grace_is_shortened_from_its_beginning_and_never_lengthened() -> None:
    pod = obj(deletionTimestamp="2026-01-01T00:00:20Z", deletionGracePeriodSeconds=30)
    assert deleting.plan(pod, PODS, {"gracePeriodSeconds": 10}, CLOCK).stays
    assert pod["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert deleting.plan(pod, PODS, {"gracePeriodSeconds": 99}, CLOCK).stays
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 10
    assert not deleting.plan(pod, PODS, {"gracePeriodSeconds": 0}, CLOCK).stays


def test_a_running_grace_period_is_not_disturbed() -> None:
    pod = obj("a", deletionTimestamp="2026-01-01T00:00:20Z", deletionGracePeriodSeconds=30)
    before = deepcopy(pod)
    for options in ({}, {"gracePeriodSeconds": 30}, {"gracePeriodSeconds": 31}, {"propagationPolicy": "Foreground"}):
        assert deleting.plan(pod, PODS, options, CLOCK).stays
        assert pod == before, "not even the finalizers change"
    assert deleting.plan(pod, PODS, {"gracePeriodSeconds": -5}, CLOCK).stays
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 1, "a negative period is one second"


def test_a_namespace_is_held_by_its_spec_and_becomes_terminating() -> None:
    namespace = {"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    assert deleting.plan(namespace, strategies.TABLE[("", "namespaces")], {}, CLOCK).stays
    assert namespace["status"] == {"phase": "Terminating"}
