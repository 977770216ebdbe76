"""Deployments from their creation over their rollouts to what stands in front of them."""

from __future__ import annotations

import pytest

from tests.cluster.kubectl.conftest import Kubectl

WAIT = "--timeout=60s"


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """A Deployment `web` of two, rolled out."""
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("scale", "deploy", "web", "--replicas=2")
    kubectl("rollout", "status", "deploy/web", WAIT)
    return kubectl


def test_a_deployment_is_scaled_changed_and_rolled_back(web: Kubectl) -> None:
    assert web("scale", "deploy", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    assert web("set", "image", "deploy/web", "nginx=nginx:1.22") == "deployment.apps/web image updated\n"
    assert web("rollout", "status", "deploy/web", WAIT).endswith('deployment "web" successfully rolled out\n')
    history = web("rollout", "history", "deploy/web").splitlines()
    assert [line.split()[:1] for line in history if line[:1].isdigit()] == [["1"], ["2"]]
    assert web("rollout", "undo", "deploy/web") == "deployment.apps/web rolled back\n"
    assert web("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}") == "nginx"
    assert web("rollout", "pause", "deploy/web") == "deployment.apps/web paused\n"
    assert web("rollout", "resume", "deploy/web") == "deployment.apps/web resumed\n"
    assert web("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    web("rollout", "status", "deploy/web", WAIT)
    assert web("wait", "--for=condition=Available", "deploy/web", WAIT) == "deployment.apps/web condition met\n"


def test_set_changes_parts_of_a_template(web: Kubectl) -> None:
    for words, answer in (
        ("env deploy/web A=b", "deployment.apps/web env updated"),
        ("resources deploy/web --requests=cpu=10m", "deployment.apps/web resource requirements updated"),
        ("serviceaccount deploy/web default", "deployment.apps/web serviceaccount updated"),
    ):
        assert web("set", *words.split()) == f"{answer}\n"
    container = "{.spec.template.spec.containers[0].%s}"
    assert web("get", "deploy", "web", "-o", "jsonpath=" + container % "env[0].value") == "b"
    assert web("get", "deploy", "web", "-o", "jsonpath=" + container % "resources.requests.cpu") == "10m"


def test_a_deployment_is_exposed_and_autoscaled(web: Kubectl) -> None:
    assert web("expose", "deploy", "web", "--port=80") == "service/web exposed\n"
    assert web("set", "selector", "svc/web", "app=other") == "service/web selector updated\n"
    assert web("get", "svc", "web", "-o", "jsonpath={.spec.selector.app}") == "other"
    scaled = web("autoscale", "deploy", "web", "--min=1", "--max=5", "--cpu-percent=50")
    assert scaled == "horizontalpodautoscaler.autoscaling/web autoscaled\n"
    head, row = web("get", "hpa", "web").splitlines()
    assert head.split() == ["NAME", "REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE"]
    assert row.split()[:6] == ["web", "Deployment/web", "cpu:", "<unknown>/50%", "1", "5"]


def test_everything_of_a_deployment_is_shown(web: Kubectl) -> None:
    shown = web("get", "all")
    for part in ("pod/web-", "deployment.apps/web", "replicaset.apps/web-"):
        assert part in shown
    described = web("describe", "deploy", "web")
    assert "Scaled up replica set web-" in described
    assert "2 desired | 2 updated | 2 total | 2 available | 0 unavailable" in described
    assert "ScalingReplicaSet" in web("get", "events")


def test_events_are_shown_about_one_object(new_kubectl: Kubectl) -> None:
    new_kubectl("create", "deployment", "web", "--image=nginx")
    new_kubectl("rollout", "status", "deploy/web", WAIT)
    shown = new_kubectl("events", "--for", "deployment/web")
    assert "Scaled up replica set" in shown
    assert "Pulled" not in shown


def test_a_node_is_tainted_cordoned_and_drained(web: Kubectl) -> None:
    node = web("get", "pods", "-o", "jsonpath={.items[0].spec.nodeName}")
    try:
        assert web("taint", "nodes", node, "k=v:PreferNoSchedule") == f"node/{node} tainted\n"
        assert web("taint", "nodes", node, "k-") == f"node/{node} untainted\n"
        assert web("cordon", node) == f"node/{node} cordoned\n"
        selector = "--pod-selector=app=web"
        drained = web("drain", node, selector, "--ignore-daemonsets", "--force", "--grace-period=1", WAIT)
        assert "evicted" in drained
        web("rollout", "status", "deploy/web", WAIT)
        assert node not in web("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").split()
    finally:
        assert web("uncordon", node) == f"node/{node} uncordoned\n"
