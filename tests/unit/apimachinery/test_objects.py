"""Reading and changing objects without surprises; times; paths."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from apimachinery import clock, gvr, objects


def test_conditions_keep_their_transition_time_while_the_status_stays() -> None:
    old = [{"type": "Ready", "status": "True", "lastTransitionTime": "t0"}, {"type": "X", "status": "False"}]
    same = objects.set_condition(old, {"type": "Ready", "status": "True", "reason": "r", "lastTransitionTime": "t1"})
    assert same[0] == {"type": "Ready", "status": "True", "reason": "r", "lastTransitionTime": "t0"}
    turned = objects.set_condition(old, {"type": "Ready", "status": "False", "lastTransitionTime": "t1"})
    assert turned[0]["lastTransitionTime"] == "t1"
    added = objects.set_condition(old, {"type": "New", "status": "True"})
    assert [item["type"] for item in added] == ["Ready", "X", "New"]
    assert old[0] == {"type": "Ready", "status": "True", "lastTransitionTime": "t0"}


def test_owners() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "rs", "uid": "u"}}
    reference = objects.controller_reference(owner)
    obj = {"metadata": {"name": "p", "ownerReferences": [{"uid": "other"}, reference]}}
    assert objects.controller_of(obj) == reference
    assert objects.controller_of({"metadata": {"name": "p"}}) is None


def test_walk_goes_through_lists() -> None:
    pod = {"spec": {"containers": [{"image": "a"}, {"image": "b"}, {}]}}
    assert list(objects.walk(pod, "spec.containers.image")) == ["a", "b"]
    assert list(objects.walk(pod, "spec.volumes.name")) == []


def test_keys_print_as_kubernetes_writes_them() -> None:
    assert str(objects.key_of({"metadata": {"name": "a", "namespace": "n"}})) == "n/a"
    assert str(objects.key_of({"metadata": {"name": "a"}})) == "a"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, microsecond=123456, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_times_are_read(text: str, moment: datetime) -> None:
    assert clock.parse_rfc3339(text) == moment


@pytest.mark.parametrize("text", ["", "2026-01-01", "2026-01-01T00:00:00", "now"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        clock.parse_rfc3339(text)


def test_times_are_written_in_utc() -> None:
    moment = datetime(2026, 1, 1, 2, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert clock.rfc3339(moment) == "2026-01-01T00:00:00Z"
    assert clock.rfc3339_micro(moment) == "2026-01-01T00:00:00.000005Z"


def test_paths_of_resources() -> None:
    assert gvr.PODS.path("n", "p", "log") == "/api/v1/namespaces/n/pods/p/log"
    assert gvr.DEPLOYMENTS.path() == "/apis/apps/v1/deployments"
    assert gvr.NODES.path(name="a/b") == "/api/v1/nodes/a%2Fb"
    assert gvr.GVK.of("apps/v1", "Deployment") == ("apps", "v1", "Deployment")
    assert gvr.GVK.of("v1", "Pod").api_version == "v1"
