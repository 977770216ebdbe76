"""minictl against the real apiserver: it must do, print and return what the real kubectl does."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import harness
from tests.component.tools import MINICTL, Tool, environment, outcome, without_age

BEFORE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {keep: "1", drop: "1"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: a, image: nginx, env: [{name: A, value: "1"}, {name: B, value: "2"}]}
      - {name: b, image: busybox}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {a: "1", b: "2"}
"""
AFTER = (
    BEFORE.replace(', drop: "1"', "")
    .replace("replicas: 1", "replicas: 2")
    .replace(', {name: B, value: "2"}', "")
    .replace("      - {name: b, image: busybox}\n", "")
    .replace(', b: "2"', "")
)


def test_run_makes_a_deployment(minictl: Tool, kubectl: Tool) -> None:
    assert outcome(minictl("run", "nginx", "--replicas=3")) == (0, "deployment.apps/nginx created\n", "")
    path = "{.spec.replicas} {.spec.template.spec.containers[0].image} {.spec.selector.matchLabels}"
    assert kubectl("get", "deploy", "nginx", "-o", f"jsonpath={path}").stdout == '3 nginx {"run":"nginx"}'


def test_run_makes_a_job_or_a_pod_by_restart(minictl: Tool) -> None:
    assert minictl("run", "j", "--image=busybox", "--restart=OnFailure", "--", "true").stdout == "job.batch/j created\n"
    assert minictl("run", "p", "--image=busybox", "--restart=Never").stdout == "pod/p created\n"


def test_a_server_dry_run_keeps_nothing(minictl: Tool) -> None:
    done = minictl("run", "nginx", "--dry-run=server")
    assert outcome(done) == (0, "deployment.apps/nginx created (server dry run)\n", "")
    assert minictl("get", "deploy", "nginx").returncode == 1


READS = (
    "get deploy,cm",
    "get deploy -o wide",
    "get deploy --no-headers -L keep --show-labels",
    "get deploy web -o yaml",
    "get cm,deploy -o json",
    "get cm conf -o yaml --show-managed-fields",
    "get deploy/web cm/conf -o name",
    "get deploy -o jsonpath={range.items[*]}{.metadata.name}{end}",
    "get deploy web nope",
    "get deploy nope --ignore-not-found",
    "get cm nope -n nowhere",
    "describe cm nope -n nowhere",
    "get a/b/c",
    "get deploy/",
    "logs nope",
    "logs cm/conf",
    "exec nope -- ls",
    "exec cm/conf -- ls",
    "exec deploy/nope -- ls",
    "exec deploy/web",
    "get deploy -l keep=2",
    "get poods",
    "get deploy --field-selector=metadata.name=web",
    "get deploy --sort-by=.metadata.name",
    "get deploy,cm -o custom-columns=NAME:metadata.name,IMAGES:{.spec.template.spec.containers[*].image},X:.data",
    "get deploy nope -o custom-columns=A:.kind",
    "get cm -o custom-columns=NAME:.metadata.name,DATA --no-headers",
    "get deploy -w -o custom-columns=NAME:.metadata.name,KIND:.kind --request-timeout=1s",
    "get deploy,cm -w",
    "get ns default",
    "get clusterroles view",
    "describe deploy web",
    "describe cm conf",
    "describe deploy nope",
    "api-resources",
    "api-resources -o name",
)


def test_reads_print_what_kubectl_prints(minictl: Tool, kubectl: Tool) -> None:
    assert minictl("create", "-f", "-", stdin=BEFORE).returncode == 0
    for line in READS:
        words = line.split(" ")
        ours, theirs = outcome(minictl(*words)), outcome(kubectl(*words))
        assert (line, without_age(ours)) == (line, without_age(theirs))


CHANGES = (
    "apply -f {before}",
    "apply -f {before}",
    "apply -f {after} --dry-run=server",
    "apply -f {after}",
    "get deploy web -o jsonpath={{.metadata.labels}}{{.spec.replicas}}{{.spec.template.spec.containers[*].env}}",
    "get cm conf -o jsonpath={{.data}}",
    "create -f {after}",
    "create -f {after} -o yaml --dry-run=client",
    "apply -f {before} -o name --dry-run=client",
    "scale deploy/web --replicas=4",
    "scale deploy web --current-replicas=2 --replicas=3",
    "scale deploy/nope --replicas=1",
    "delete pod nope",
    "delete pods",
    "delete pods -l a=b",
    "delete -f {after} --dry-run=client",
    "delete -f {after}",
    "delete -f {after} --ignore-not-found",
)


def test_changes_do_and_say_what_kubectls_do(minictl: Tool, kubectl: Tool, tmp_path: Path) -> None:
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    before.write_text(BEFORE)
    after.write_text(AFTER)
    told = {}
    for tool in (kubectl, minictl):
        lines = [line.format(before=before, after=after) for line in CHANGES]
        told[tool] = [(line, outcome(tool(*line.split(" ")))) for line in lines]
    assert told[minictl] == told[kubectl]


SERVER_SIDE = (
    "apply -f {before} --server-side --field-manager=one",
    "apply -f {before} --server-side --field-manager=one --dry-run=server",
    "apply -f {before} --force-conflicts",
    "apply -f {before} --server-side --dry-run=client",
    "apply -f {after} --server-side --field-manager=two",  # several conflicts
    "apply -f {one} --server-side --field-manager=two",  # one conflict
    "get deploy web -o jsonpath={{.spec.replicas}}",
    "apply -f {after} --server-side --field-manager=two --force-conflicts --dry-run=server",
    "apply -f {after} --server-side --field-manager=two --force-conflicts",
    "get deploy web -o jsonpath={{.spec.replicas}}",
    "apply -f {bad} --server-side --field-manager=two",
    "apply -f {after} --server-side --field-manager=two -o name",
    "delete -f {after}",
)


def test_applying_on_the_server_says_what_kubectl_says(minictl: Tool, kubectl: Tool, tmp_path: Path) -> None:
    conflicting = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: other}\n"
    manifests = {
        "before": BEFORE,
        "after": AFTER.replace('a: "1"', "a: other"),
        "one": conflicting,
        "bad": conflicting.replace("other", "5"),
    }
    for name, text in manifests.items():
        (tmp_path / name).write_text(text)
    files = {name: tmp_path / name for name in manifests}
    told = {}
    for tool in (kubectl, minictl):
        lines = [line.format(**files) for line in SERVER_SIDE]
        told[tool] = [(line, outcome(tool(*line.split(" ")))) for line in lines]
    assert told[minictl] == told[kubectl]
    conflicts = [err for _, (_, _, err) in told[minictl] if "conflict" in err and "--force-conflicts" in err]
    assert len(conflicts) == 3  # the flag alone, one conflict, several


def test_who_turns_to_applying_on_the_server_keeps_the_fields_and_can_drop_them(minictl: Tool) -> None:
    assert minictl("apply", "-f", "-", stdin=BEFORE).returncode == 0
    done = minictl("apply", "--server-side", "-f", "-", stdin=AFTER)
    assert outcome(done) == (0, "deployment.apps/web serverside-applied\nconfigmap/conf serverside-applied\n", "")
    shown = "{.data}{range .metadata.managedFields[*]} {.manager}:{.operation}{end}"
    assert minictl("get", "cm", "conf", "-o", f"jsonpath={shown}").stdout == '{"a":"1"} minictl:Apply'
    # a created object was not applied: its fields stay their creator's
    assert minictl("create", "-f", "-", stdin=BEFORE.replace("conf", "made")).returncode == 1
    done = minictl("apply", "--server-side", "-f", "-", stdin=AFTER.replace("conf", "made"))
    assert minictl("get", "cm", "made", "-o", "jsonpath={.data}").stdout == '{"a":"1","b":"2"}'


def test_what_kubectl_applied_minictl_goes_on_applying(minictl: Tool, kubectl: Tool) -> None:
    assert kubectl("apply", "-f", "-", stdin=BEFORE).returncode == 0
    assert (
        minictl("apply", "-f", "-", stdin=AFTER).stdout == "deployment.apps/web configured\nconfigmap/conf configured\n"
    )
    assert (
        kubectl("apply", "-f", "-", stdin=AFTER).stdout == "deployment.apps/web unchanged\nconfigmap/conf unchanged\n"
    )


def test_an_unknown_field_is_refused_by_name(minictl: Tool) -> None:
    done = minictl("create", "-f", "-", stdin="{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {}}")
    assert done.returncode == 1
    assert 'unknown field "dta"' in done.stderr


def test_delete_waits_until_the_object_is_gone(minictl: Tool, server: harness.Server, namespace: str) -> None:
    obj = "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}"
    assert minictl("create", "-f", "-", stdin=obj).returncode == 0
    assert minictl("delete", "cm", "held", "--timeout=1s").returncode == 1  # a finalizer holds it
    waiting = subprocess.Popen(
        [str(MINICTL), "-n", namespace, "delete", "cm", "held"], stdout=subprocess.PIPE, env=environment(server)
    )
    assert waiting.stdout is not None
    assert b"deleted" in waiting.stdout.readline()
    with server.admin() as client:
        client.patch(
            f"/api/v1/namespaces/{namespace}/configmaps/held",
            json={"metadata": {"finalizers": None}},
            headers={"content-type": "application/merge-patch+json"},
        )
    assert waiting.wait(20) == 0
    waiting.stdout.close()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Children take SIGINT as from a terminal; from tests in the background they inherit that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_watch_prints_changes_as_they_happen(minictl: Tool, server: harness.Server, namespace: str) -> None:
    watching = subprocess.Popen(
        [str(MINICTL), "-n", namespace, "get", "cm", "-l", "w=1", "-w", "-o", "name"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(server),
    )
    assert watching.stdout is not None
    time.sleep(1)
    obj = "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{w: '{value}'}}}}}}"
    for name, value in (("seen", 1), ("other", 2), ("too", 1)):
        assert minictl("create", "-f", "-", stdin=obj.format(name=name, value=value)).returncode == 0
    lines = [watching.stdout.readline() for _ in range(2)]
    watching.send_signal(signal.SIGINT)
    assert watching.wait(10) == 130
    watching.stdout.close()
    assert lines == ["configmap/seen\n", "configmap/too\n"]


@pytest.mark.usefixtures("interruptible")
def test_a_watch_prints_a_table_once_headed(minictl: Tool, server: harness.Server, namespace: str) -> None:
    assert minictl("run", "web", "--replicas=1").returncode == 0
    watching = subprocess.Popen(
        [str(MINICTL), "-n", namespace, "get", "deploy", "-w"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(server),
    )
    assert watching.stdout is not None
    lines = [watching.stdout.readline() for _ in range(2)]
    assert minictl("scale", "deploy/web", "--replicas=2").returncode == 0
    lines.append(watching.stdout.readline())
    watching.send_signal(signal.SIGINT)
    watching.wait(10)
    watching.stdout.close()
    assert [line.split()[:2] for line in lines] == [["NAME", "READY"], ["web", "0/1"], ["web", "0/2"]]


def test_credentials_may_come_from_flags(server: harness.Server, namespace: str) -> None:
    def ask(*flags: str) -> subprocess.CompletedProcess[str]:
        authority = ["--server", server.url, "--certificate-authority", str(server.pki.ca)]
        return subprocess.run(
            [str(MINICTL), *authority, *flags, "get", "cm", "-n", namespace],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={**environment(server), "KUBECONFIG": ""},
        )

    assert ask("--token", "admin-token").returncode == 0
    assert ask("--token", "wrong").stderr == "error: You must be logged in to the server (Unauthorized)\n"
    refused = ask("--token", "admin-token", "--as", "jane", "--as-group", "a", "--as-group", "b")
    assert refused.stderr.startswith(
        'Error from server (Forbidden): configmaps is forbidden: User "jane" cannot list resource "configmaps"'
    )


def test_every_call_can_be_seen(minictl: Tool) -> None:
    said = minictl("get", "ns", "default", "-v=8").stderr
    assert "K4 kubeconfig " in said
    assert "/api/v1/namespaces/default 200 OK in " in said
    assert "Response Body: {" in said


def test_a_server_that_is_away_is_said_in_one_line(minictl: Tool) -> None:
    done = minictl("--server=https://127.0.0.1:1", "get", "pods")
    said = "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n"
    assert outcome(done) == (1, "", said)


def test_a_reader_that_leaves_is_no_error(server: harness.Server, namespace: str) -> None:
    script = f"'{MINICTL}' -n {namespace} api-resources | head -1"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=30, check=False, env=environment(server)
    )
    assert done.stderr == ""
    assert done.stdout.startswith("NAME ")


def test_versions_of_both_sides_are_shown(minictl: Tool, kubectl: Tool) -> None:
    ours = minictl("version").stdout.splitlines()
    theirs = kubectl("version").stdout.splitlines()
    assert ours[0].startswith("Client Version: v")
    assert ours[1] == next(line for line in theirs if line.startswith("Server Version"))
