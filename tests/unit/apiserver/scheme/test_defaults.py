"""Defaults: upstream's values, and nothing touched that was given."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.scheme import defaults
from apiserver.scheme.defaults import pods


def defaulted(kind: str, group: str = "", version: str = "v1", **fields: Any) -> Object:
    obj: Object = {"metadata": {"name": "x"}} | fields
    defaults.TABLE[GVK(group, version, kind)](obj)
    return obj


@pytest.mark.parametrize("gvk", list(defaults.TABLE), ids=lambda gvk: gvk.kind)
def test_defaulting_twice_is_defaulting_once(gvk: GVK) -> None:
    obj: Object = {"metadata": {"name": "x"}}
    defaults.TABLE[gvk](obj)
    once = copy.deepcopy(obj)
    defaults.TABLE[gvk](obj)
    assert obj == once


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
        ("nginx:latest@sha256:abc", "Always"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert pods.pull_policy(image) == policy


def test_a_pods_defaults() -> None:
    probe = {"httpGet": {"port": 80}}
    container = {
        "name": "c",
        "image": "nginx:1",
        "ports": [{"containerPort": 80}],
        "livenessProbe": probe,
        "resources": {"limits": {"cpu": "1"}},
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }
    volumes = [{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "hostPath": {"path": "/"}}]
    spec = defaulted("Pod", spec={"containers": [container], "volumes": volumes})["spec"]
    assert {key: value for key, value in spec.items() if key not in ("containers", "volumes")} == {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }
    [made] = spec["containers"]
    assert made["imagePullPolicy"] == "IfNotPresent"
    assert made["terminationMessagePath"] == "/dev/termination-log"
    assert made["terminationMessagePolicy"] == "File"
    assert made["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert made["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert made["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert made["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert spec["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
        {"name": "c", "hostPath": {"path": "/", "type": ""}},
    ]


def test_what_is_given_stays() -> None:
    given = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "dnsPolicy": "Default", "containers": []}
    assert defaulted("Pod", spec=dict(given))["spec"].items() >= given.items()


def test_pods_on_the_hosts_network_take_its_ports() -> None:
    container = {"name": "c", "image": "x", "ports": [{"containerPort": 80}]}
    spec = defaulted("Pod", spec={"hostNetwork": True, "containers": [container]})["spec"]
    assert spec["containers"][0]["ports"][0]["hostPort"] == 80


def test_a_deployments_defaults() -> None:
    spec = defaulted("Deployment", "apps")["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)
    assert "enableServiceLinks" not in spec["template"]["spec"], "only pods have it"
    assert defaulted("Deployment", "apps", spec={"strategy": {"type": "Recreate"}})["spec"]["strategy"] == {
        "type": "Recreate"
    }


def test_a_jobs_completions_follow_its_parallelism() -> None:
    assert defaulted("Job", "batch")["spec"]["completions"] == 1
    spec = defaulted("Job", "batch", spec={"parallelism": 3})["spec"]
    assert "completions" not in spec
    assert spec["backoffLimit"] == 6


def test_a_services_ports_go_to_themselves() -> None:
    spec = defaulted("Service", spec={"ports": [{"port": 80}]})["spec"]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert (spec["type"], spec["sessionAffinity"], spec["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")
    assert defaulted("Service", spec={"type": "NodePort"})["spec"]["externalTrafficPolicy"] == "Cluster"


def test_a_secrets_texts_become_data() -> None:
    made = defaulted("Secret", stringData={"a": "x"}, data={"a": "b2xk", "b": "eQ=="})
    assert made["data"] == {"a": "eA==", "b": "eQ=="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


def test_a_webhooks_defaults() -> None:
    webhook = {"clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": [{}]}
    made = defaulted("MutatingWebhookConfiguration", "admissionregistration.k8s.io", webhooks=[webhook])["webhooks"][0]
    assert made["failurePolicy"] == "Fail"
    assert made["matchPolicy"] == "Equivalent"
    assert made["timeoutSeconds"] == 10
    assert made["reinvocationPolicy"] == "Never"
    assert made["clientConfig"]["service"]["port"] == 443
    assert made["rules"] == [{"scope": "*"}]
