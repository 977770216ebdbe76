"""The official Python client and real containers: exec over its WebSocket, port-forward, logs, as its own tests do."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator

import pytest
from kubernetes import client as official
from kubernetes import config, watch
from kubernetes.stream import portforward, stream

from tests.cluster.local import LocalCluster, eventually

READY_SECONDS = 60.0

# It leaves sockets to the garbage collector, which warns: the warnings are its own, and come while its tests run
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
def core(real_containers: LocalCluster) -> Iterator[official.CoreV1Api]:
    with config.new_client_from_config(str(real_containers.kubeconfig)) as api:
        yield official.CoreV1Api(api)


@pytest.fixture(scope="module")
def namespace(core: official.CoreV1Api) -> Iterator[str]:
    name = f"official-{uuid.uuid4().hex[:6]}"
    core.create_namespace({"metadata": {"name": name}})
    yield name
    core.delete_namespace(name)


@pytest.fixture(scope="module")
def pod(core: official.CoreV1Api, namespace: str) -> str:
    """A pod with a web server and a shell, running."""
    containers = [
        {"name": "web", "image": "nginx"},
        {"name": "box", "image": "busybox", "command": ["sh", "-c", "echo hello; while true; do sleep 1; done"]},
    ]
    spec = {"containers": containers, "terminationGracePeriodSeconds": 1}
    account = core.read_namespaced_service_account
    eventually(lambda: _exists(lambda: account("default", namespace)), READY_SECONDS)
    core.create_namespaced_pod(namespace, {"metadata": {"name": "both"}, "spec": spec})
    events = watch.Watch().stream(core.list_namespaced_pod, namespace, timeout_seconds=int(READY_SECONDS))
    for event in events:
        statuses = event["object"].status.container_statuses or []
        if len(statuses) == 2 and all(item.ready for item in statuses):
            return "both"
    raise AssertionError("the pod did not become ready")


def _exists(read: object) -> bool:
    try:
        read()  # type: ignore[operator]  # a call of the untyped client
    except official.ApiException:
        return False
    return True


def test_a_command_runs_and_its_output_comes_back(core: official.CoreV1Api, namespace: str, pod: str) -> None:
    said = stream(
        core.connect_get_namespaced_pod_exec,
        pod,
        namespace,
        container="box",
        command=["sh", "-c", "for i in 1 2 3; do echo $i; done"],
        stdout=True,
        stderr=True,
        stdin=False,
        tty=False,
    )
    assert said == "1\n2\n3\n"


def test_a_shell_takes_lines_and_tells_its_exit_code(core: official.CoreV1Api, namespace: str, pod: str) -> None:
    shell = stream(
        core.connect_get_namespaced_pod_exec,
        pod,
        namespace,
        container="box",
        command=["sh"],
        stdout=True,
        stderr=True,
        stdin=True,
        tty=False,
        _preload_content=False,
    )
    shell.write_stdin("echo one\n")
    assert shell.readline_stdout(timeout=10) == "one"
    shell.write_stdin("echo two >&2\n")
    assert shell.readline_stderr(timeout=10) == "two"
    shell.write_stdin("exit 3\n")
    shell.run_forever(timeout=10)
    assert shell.returncode == 3
    shell.close()


def test_a_port_is_forwarded_as_a_socket(core: official.CoreV1Api, namespace: str, pod: str) -> None:
    forward = portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports="80")
    web = forward.socket(80)
    web.setblocking(True)
    web.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    page = b""
    while part := web.recv(4096):
        page += part
    web.close()
    assert page.startswith(b"HTTP/1.1 200 OK") and b"Welcome to nginx!" in page
    assert forward.error(80) is None


def test_a_closed_port_is_an_error_of_its_own_stream(core: official.CoreV1Api, namespace: str, pod: str) -> None:
    forward = portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports="81")
    closed = forward.socket(81)
    closed.setblocking(True)
    assert closed.recv(10) == b""
    closed.close()
    assert "failed to connect" in str(forward.error(81)) or "onnection refused" in str(forward.error(81))


def test_logs_are_read_whole_and_by_line(core: official.CoreV1Api, namespace: str, pod: str) -> None:
    assert core.read_namespaced_pod_log(pod, namespace, container="box") == "hello\n"
    lines = watch.Watch().stream(core.read_namespaced_pod_log, pod, namespace, container="box", follow=True)
    assert next(iter(lines)) == "hello"
