"""Pods and what goes on inside them: on real containers."""

from __future__ import annotations

import contextlib
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest

from tests.cluster.kubectl.conftest import Kubectl
from tests.cluster.local import LocalCluster, eventually

pytestmark = pytest.mark.usefixtures("real_containers")


@pytest.fixture
def box(kubectl: Kubectl, real_containers: LocalCluster) -> Kubectl:
    """A busybox pod `box`, running, that has said hello."""
    script = "echo hello; trap exit TERM; while true; do sleep 1; done"
    made = kubectl("run", "box", "--image=busybox", "--restart=Never", "--", "sh", "-c", script)
    assert made == "pod/box created\n"
    assert kubectl("wait", "--for=condition=Ready", "pod/box", "--timeout=60s") == "pod/box condition met\n"
    eventually(lambda: kubectl("logs", "box") == "hello\n", 20)
    return kubectl


def test_commands_run_in_a_container(box: Kubectl) -> None:
    assert box("exec", "box", "--", "echo", "hi") == "hi\n"
    assert box("exec", "-i", "box", "--", "cat", stdin="some text") == "some text"
    failed = box.ran("exec", "box", "--", "sh", "-c", "exit 3")
    assert (failed.code, failed.err) == (3, "command terminated with exit code 3\n")


def test_files_are_copied_both_ways(box: Kubectl) -> None:
    box.write("there.txt", "some text\n")
    box("cp", str(box.folder / "there.txt"), f"{box.namespace}/box:/tmp/there.txt")
    box("cp", f"{box.namespace}/box:/tmp/there.txt", str(box.folder / "back.txt"))
    assert (box.folder / "back.txt").read_text() == "some text\n"


def test_logs_have_their_options(box: Kubectl) -> None:
    assert box("logs", "box", "--tail=1") == "hello\n"
    assert box("logs", "box", "--timestamps").endswith("Z hello\n")
    assert box("logs", "-l", "run=box", "--prefix") == "[pod/box/box] hello\n"


def test_input_reaches_a_pod_that_is_run_for_one_command(kubectl: Kubectl) -> None:
    said = kubectl(
        "run", "once", "--image=busybox", "--restart=Never", "--rm", "-i", "--quiet", "--", "cat", stdin="from here\n"
    )
    assert "from here\n" in said


def test_a_running_container_is_attached_to(kubectl: Kubectl) -> None:
    script = "while true; do echo tick; sleep 0.2; done"
    kubectl("run", "clock", "--image=busybox", "--restart=Never", "--", "sh", "-c", script)
    kubectl("wait", "--for=condition=Ready", "pod/clock", "--timeout=60s")
    with _running(kubectl.command("attach", "clock")) as process:
        assert process.stdout is not None
        assert any(line == "tick\n" for line in process.stdout)
    kubectl("delete", "pod", "clock", "--now")


def test_a_port_is_forwarded(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    with _running(kubectl.command("port-forward", "deploy/web", ":80", "--address=127.0.0.1")) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("Forwarding from 127.0.0.1:")
        port = said.split(" -> ")[0].rpartition(":")[2]
        for _ in range(2):  # the same stream of connections serves several
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as page:
                assert b"Welcome to nginx!" in page.read()


def test_the_api_is_served_by_a_proxy(kubectl: Kubectl) -> None:
    with _running(kubectl.command("proxy", "--port=0")) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"http://{address}/api/v1/namespaces/{kubectl.namespace}", timeout=10) as answer:
            assert b'"kind":"Namespace"' in answer.read().replace(b" ", b"")


def test_a_debugging_container_joins_a_pod(new_kubectl: Kubectl) -> None:
    new_kubectl("run", "box", "--image=nginx", "--restart=Never")
    new_kubectl("wait", "--for=condition=Ready", "pod/box", "--timeout=60s")
    new_kubectl("debug", "box", "--image=busybox", "-c", "dbg", "--", "sleep", "60")
    running = "jsonpath={.status.ephemeralContainerStatuses[0].state.running.startedAt}"
    eventually(lambda: new_kubectl("get", "pod", "box", "-o", running) != "", 30)
    assert "nginx" in new_kubectl("exec", "box", "-c", "dbg", "--", "wget", "-qO-", "127.0.0.1")
    new_kubectl("delete", "pod", "box", "--now")


@contextlib.contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()
