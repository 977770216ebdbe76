"""K1 and K2: what `run` refuses, and what it builds."""

from __future__ import annotations

from typing import Any

import pytest

from minictl import arguments, commands, generators
from minictl.commands import run
from minictl.failures import Refused


def build(line: str, *tail: str) -> dict[str, Any]:
    name, words, _ = arguments.split(["run", *line.split()])
    command = commands.find(name)
    assert command is not None
    args = arguments.parse(arguments.parser_of(command, run), run, words, list(tail))
    return generators.generate(run.options_of(args))


def container(obj: dict[str, Any]) -> dict[str, Any]:
    spec = obj["spec"]
    found: dict[str, Any] = (spec["template"]["spec"] if "template" in spec else spec)["containers"][0]
    return found


def test_a_name_is_enough() -> None:
    assert build("nginx") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx", "labels": {"run": "nginx"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"run": "nginx"}},
            "template": {
                "metadata": {"labels": {"run": "nginx"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
            },
        },
    }


def test_restart_on_failure_is_a_job() -> None:
    job = build("pi --image=perl --restart=OnFailure", "perl", "-e", "1")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert container(job)["args"] == ["perl", "-e", "1"]


def test_restart_never_is_a_pod() -> None:
    pod = build("shell --image=busybox --restart=Never --command", "sleep", "1")
    assert (pod["apiVersion"], pod["kind"], pod["spec"]["restartPolicy"]) == ("v1", "Pod", "Never")
    assert container(pod)["command"] == ["sleep", "1"]
    assert "args" not in container(pod)


def test_every_flag_has_its_place() -> None:
    obj = build(
        "web --image=nginx:1.27 --replicas=3 --port=80 --env=A=1 --env=B= --labels=app=web,tier=front "
        "--requests=cpu=100m --limits=cpu=1,memory=64Mi --image-pull-policy=Always --serviceaccount=bot"
    )
    labels = {"app": "web", "tier": "front"}
    assert obj["spec"]["selector"]["matchLabels"] == labels
    assert obj["spec"]["template"]["metadata"]["labels"] == labels
    assert obj["spec"]["replicas"] == 3
    assert obj["spec"]["template"]["spec"]["serviceAccountName"] == "bot"
    assert container(obj) == {
        "name": "web",
        "image": "nginx:1.27",
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": ""}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "64Mi"}},
        "imagePullPolicy": "Always",
    }


def test_no_replicas_is_not_one() -> None:
    assert build("web --replicas=0")["spec"]["replicas"] == 0


def test_record_keeps_the_command() -> None:
    assert generators.CHANGE_CAUSE in build("web --record")["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Web", 'invalid name "Web": a lowercase RFC 1123 label'),
        ("a.b", 'invalid name "a.b"'),
        (f"{'a' * 64}", "must be no more than 63 characters"),
        ("web --image=Nginx:", 'Invalid image name "Nginx:": invalid reference format'),
        ("web --image=", "must not be empty"),
        ("web --replicas=-1", "The --replicas must be greater than or equal to 0, not -1"),
        ("web --port=0", 'invalid port "0": must be between 1 and 65535, inclusive'),
        ("web --port=http", 'invalid port "http"'),
        ("web --env=A", r"invalid env: A \(expected NAME=value\)"),
        ("web --env=1A=b", "invalid env: 1A=b: a valid environment variable name"),
        ("web --labels=a", "unexpected label spec: a"),
        ("web --labels=a/b/c=d", 'invalid label key "a/b/c"'),
        ("web --labels=a=-", 'invalid label value "-"'),
        ("web --limits=cpu", "Invalid argument syntax cpu, expected --limits <resource>=<value>"),
        ("web --requests=cpu=x", "--requests cpu=x: quantities must match"),
        ("web --restart=Never --replicas=2", "--replicas needs --restart=Always"),
    ],
)
def test_what_would_always_fail_is_refused_in_one_line(line: str, message: str) -> None:
    with pytest.raises(Refused, match=message) as caught:
        build(line)
    assert "\n" not in str(caught.value)
