"""minictl against running containers: exec over both protocols, logs, and descriptions as kubectl gives them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cluster.local import LocalCluster, eventually

READY_SECONDS = 60.0


@pytest.fixture(scope="module")
def shell(real_containers: LocalCluster) -> Iterator[LocalCluster]:
    """A busybox pod `shell`, running, that has said hello."""
    script = "echo hello; echo again; sleep 3600"
    real_containers.client("run", "shell", "--image=busybox", "--restart=Never", "--", "sh", "-c", script)
    eventually(lambda: real_containers.get("pod", "shell")["status"].get("phase") == "Running", READY_SECONDS)
    eventually(lambda: "again" in real_containers.client("logs", "shell").out, READY_SECONDS)
    yield real_containers
    real_containers.client("delete", "pod", "shell", "--now")


def piped(cluster: LocalCluster, data: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "minictl", "--kubeconfig", str(cluster.kubeconfig), *words]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)


def test_a_commands_output_errors_and_exit_code_come_back(shell: LocalCluster) -> None:
    ran = shell.client("exec", "shell", "--", "sh", "-c", "echo out; echo err >&2; exit 7", check=False)
    assert (ran.code, ran.out, ran.err) == (7, "out\n", "err\ncommand terminated with exit code 7\n")


def test_input_reaches_the_command_whole_and_ends(shell: LocalCluster) -> None:
    """A megabyte there and back: where WebSockets are of version 4, this goes over SPDY."""
    data = os.urandom(1 << 20)
    done = piped(shell, data, "exec", "-i", "shell", "--", "cat")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == data


def test_a_command_that_needs_no_input_does_not_wait_for_it(shell: LocalCluster) -> None:
    read, write = os.pipe()  # an input that never ends
    command = [
        sys.executable,
        "-m",
        "minictl",
        "--kubeconfig",
        str(shell.kubeconfig),
        "exec",
        "-i",
        "shell",
        "--",
        "true",
    ]
    try:
        assert subprocess.run(command, stdin=read, timeout=60, check=False).returncode == 0
    finally:
        os.close(read)
        os.close(write)


def test_a_terminal_is_one_in_the_container_too(shell: LocalCluster) -> None:
    inner = f"{sys.executable} -m minictl --kubeconfig {shell.kubeconfig} exec -it shell -- sh -c 'tty; echo done'"
    done = subprocess.run(["script", "-qec", inner, "/dev/null"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert re.search(rb"/dev/pts/\d+\r\ndone", done.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("exec", "shell", "--", "nosuch"), "executable file not found"),
        (("exec", "nopod", "--", "true"), 'pods "nopod" not found'),
        (("exec", "shell", "-c", "nope", "--", "true"), "container nope is not valid for pod shell"),
        (("exec", "shell"), "you must specify at least one command for the container"),
        (("exec", "-i", "shell", "--as=jane", "--", "true"), 'User "jane" cannot'),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(shell: LocalCluster, words: tuple[str, ...], said: str) -> None:
    ran = shell.client(*words, check=False)
    assert ran.code == 1
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_logs_are_cut_as_asked(shell: LocalCluster) -> None:
    assert shell.client("logs", "shell").out == "hello\nagain\n"
    assert shell.client("logs", "shell", "--tail=1").out == "again\n"
    assert (
        shell.client("logs", "-l", "run=shell", "--prefix").out == "[pod/shell/shell] hello\n[pod/shell/shell] again\n"
    )
    assert re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z hello\n", shell.client("logs", "shell", "--timestamps").out)
    assert "previous terminated container" in shell.client("logs", "shell", "--previous", check=False).err


def test_logs_are_followed(shell: LocalCluster) -> None:
    command = [sys.executable, "-m", "minictl", "--kubeconfig", str(shell.kubeconfig), "logs", "-f", "shell"]
    following = subprocess.Popen([*command, "--tail=1"], stdout=subprocess.PIPE)
    assert following.stdout is not None
    assert following.stdout.readline() == b"again\n"
    shell.client("exec", "shell", "--", "sh", "-c", "echo later > /proc/1/fd/1")
    assert following.stdout.readline() == b"later\n"
    following.terminate()
    following.wait(10)
    following.stdout.close()


def test_a_running_pod_and_its_node_are_described_as_kubectl_does(shell: LocalCluster) -> None:
    node = shell.get("pod", "shell")["spec"]["nodeName"]
    for words in (("describe", "pod", "shell"), ("describe", "node", node)):
        ours, theirs = shell.client(*words).out, shell.kubectl(*words).out
        # Events of one second have no order: kubectl's sort is not stable
        assert _head(ours) == _head(theirs)
        assert sorted(_events(ours)) == sorted(_events(theirs))


def _head(text: str) -> str:
    return without_times(text.partition("Events:")[0])


def _events(text: str) -> list[str]:
    return without_times(text.partition("Events:")[2]).splitlines()


def without_times(text: str) -> str:
    """Ages and the node's heartbeat move on between two calls; columns may move with them."""
    text = re.sub(r"\b(\d+[smhd])+\b|\d\d:\d\d:\d\d", "T", text)
    return re.sub(r"[ -]+", " ", text)
