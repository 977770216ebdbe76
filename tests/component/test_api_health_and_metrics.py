"""Health endpoints as upstream prints them, and metrics under upstream's names, added up over workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import httpx
import pytest

from tests import harness


@pytest.fixture(scope="module")
def pair() -> Iterator[harness.Server]:
    """A server of two workers."""
    with harness.Server("--shutdown-delay-duration=2s", workers=2) as server:
        yield server


def test_each_check_can_be_read_left_out_and_asked_alone(admin: httpx.Client) -> None:
    for endpoint in ("livez", "readyz", "healthz"):
        assert admin.get(f"/{endpoint}").text == "ok"
        lines = admin.get(f"/{endpoint}?verbose").text.splitlines()
        assert lines[0] == "[+]ping ok"
        assert "[+]etcd ok" in lines
        assert "[+]poststarthook/rbac/bootstrap-roles ok" in lines
        assert lines[-1] == f"{endpoint} check passed"
    assert "[+]informer-sync ok" in admin.get("/readyz?verbose").text
    assert "[+]shutdown ok" in admin.get("/readyz?verbose").text
    left_out = admin.get("/readyz?verbose&exclude=etcd&exclude=nothing").text.splitlines()
    assert "[+]etcd excluded: ok" in left_out
    assert left_out[-2] == 'warn: some health checks cannot be excluded: no matches for "nothing"'
    assert admin.get("/livez/etcd").text == "ok"
    assert admin.get("/readyz/poststarthook/rbac/bootstrap-roles").text == "ok"
    assert admin.get("/livez/nothing").status_code == 404


def test_a_check_that_fails_is_named_and_its_reason_withheld(pair: harness.Server) -> None:
    (member,) = pair.etcd.members
    with pair.admin() as admin:
        member.signal(signal.SIGSTOP)
        try:
            failed = admin.get("/livez", timeout=20)
            excluded = admin.get("/livez?exclude=etcd")
            alone = admin.get("/livez/etcd", timeout=20)
        finally:
            member.signal(signal.SIGCONT)
    assert failed.status_code == 500
    assert "[-]etcd failed: reason withheld\n" in failed.text
    assert failed.text.endswith("livez check failed\n")
    assert excluded.status_code == 200
    assert alone.text.startswith("internal server error: etcd")


def sample(text: str, start: str) -> float:
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(start))


def test_metrics_are_the_whole_servers(pair: harness.Server) -> None:
    label = 'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="secrets"'
    for _ in range(12):  # each connection of its own, so that both workers have some
        with pair.admin() as client:
            assert client.get("/api/v1/namespaces/default/secrets").status_code == 200
    deadline = time.monotonic() + 5
    with pair.admin() as admin:
        while sample(text := admin.get("/metrics").text, label) < 12:
            assert time.monotonic() < deadline, text
            time.sleep(0.1)
        assert sample(admin.get("/metrics").text, label) == 12
    for name in (
        "apiserver_request_duration_seconds_bucket{",
        'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
        'apiserver_storage_objects{resource="clusterroles.rbac.authorization.k8s.io"} ',
        'etcd_request_duration_seconds_count{operation="create",type="clusterroles"} ',
        'aggregator_unavailable_apiservice{name="v1.apps"} 0',
        "process_resident_memory_bytes ",
        'authentication_attempts{result="success"} ',
        'authorization_attempts_total{result="allowed"} ',
        "process_start_time_seconds ",
        'kubernetes_build_info{git_version="v1.37.0",major="1",minor="37"} 1',
    ):
        assert name in text, name
    assert sample(text, 'apiserver_storage_objects{resource="namespaces"}') == 4
    assert sample(text, "process_cpu_seconds_total") > 0.1


def test_the_events_of_watches_are_counted(admin: httpx.Client, namespace: str) -> None:
    start = 'apiserver_watch_events_total{group="",resource="configmaps",version="v1"}'
    before = sample(admin.get("/metrics").text, start)
    for name in ("a", "b"):
        admin.post(f"/api/v1/namespaces/{namespace}/configmaps", json={"metadata": {"name": name}})
    path = f"/api/v1/namespaces/{namespace}/configmaps?watch=true&resourceVersion=0&timeoutSeconds=1"
    assert admin.get(path).text.count("ADDED") == 2
    assert sample(admin.get("/metrics").text, start) == before + 2


def test_a_server_that_is_to_stop_says_that_it_is_not_ready_and_serves_on(pair: harness.Server) -> None:
    """The last test of this file's server: it is stopped."""
    with pair.admin() as admin:
        assert admin.get("/readyz").status_code == 200
        for pid in pair.worker_pids():
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 1.5
        while (ready := admin.get("/readyz")).status_code == 200:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert "[-]shutdown failed: reason withheld" in ready.text
        assert admin.get("/livez").status_code == 200
        assert admin.get("/api/v1/namespaces").status_code == 200
