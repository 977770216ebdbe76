"""What each kind refuses: the field's path and upstream's words.

Each case is an object as a client would send it; it is typed and defaulted first, as the server does.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apimachinery.objects import Object
from apiserver.registry import decoding, strategies
from apiserver.registry.call import LOOPBACK, Call
from apiserver.registry.validation import metadata
from apiserver.scheme.scheme import Scheme

SCHEME = Scheme.builtin()
_GROUPS = {row.resource: row.group for row in reversed(SCHEME.rows())}


def call_of(resource: str, verb: str = "create") -> Call:
    row = SCHEME.find(_GROUPS[resource], "v2" if resource == "horizontalpodautoscalers" else "v1", resource)
    assert row is not None
    return Call(LOOPBACK, row, verb, "ns" if row.namespaced else "", field_validation="Strict")


def made(resource: str, obj: Object) -> Object:
    """The object as it would be validated on its creation."""
    call = call_of(resource)
    obj = copy.deepcopy(obj)
    obj["metadata"] = {"name": "x", "uid": "u"} | obj.get("metadata", {})
    if call.resource.namespaced:
        obj["metadata"]["namespace"] = "ns"
    obj |= {"apiVersion": call.resource.gvr.api_version, "kind": call.resource.kind}
    obj = decoding.typed(SCHEME, call, obj, call.resource.gvk)
    strategies.of(call.resource).prepare_create(obj, call)
    return obj


def problems(resource: str, obj: Object) -> list[str]:
    call = call_of(resource)
    strategy = strategies.of(call.resource)
    obj = made(resource, obj)
    found = metadata.validate(obj["metadata"], call.resource.namespaced, strategy.name_problems)
    return [f"{cause.field}: {cause.message}" for cause in found + strategy.validate(obj, call)]


def update_problems(resource: str, old: Object, new: Object) -> list[str]:
    call = call_of(resource, "update")
    strategy = strategies.of(call.resource)
    before, after = made(resource, old), made(resource, new)
    strategy.prepare_update(after, before, call)
    found = metadata.validate_update(after["metadata"], before["metadata"])
    return [f"{cause.field}: {cause.message}" for cause in found + strategy.validate_update(after, before, call)]


def meta(**fields: Any) -> Object:
    return {"metadata": fields}


def container(**fields: Any) -> Object:
    return {"name": "c", "image": "nginx"} | fields


def pod(*containers: Object, **spec: Any) -> Object:
    return {"spec": {"containers": list(containers) or [container()]} | spec}


def workload(labels: Object | None = None, **spec: Any) -> Object:
    template = pod() | {"metadata": {"labels": labels if labels is not None else {"a": "b"}}}
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template} | spec}


def job(**spec: Any) -> Object:
    return {"spec": {"template": pod(restartPolicy="Never")} | spec}


def service(**spec: Any) -> Object:
    return {"spec": {"ports": [{"port": 80}]} | spec}


def webhook(**fields: Any) -> Object:
    full = {
        "name": "a.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://x"},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
    }
    return {"webhooks": [{key: value for key, value in (full | fields).items() if value is not None}]}


SOUND = [
    ("configmaps", {"data": {"a.b_c-D": "x"}}),
    ("pods", pod()),
    ("pods", pod(volumes=[{"name": "v"}], initContainers=[container(name="i")], tolerations=[{"operator": "Exists"}])),
    ("deployments", workload()),
    ("replicasets", workload()),
    ("daemonsets", workload()),
    ("statefulsets", workload(serviceName="s")),
    ("jobs", job()),
    ("jobs", job(completionMode="Indexed", completions=3)),
    ("cronjobs", {"spec": {"schedule": "*/5 0-3 1,15 jan-mar MON", "jobTemplate": job(), "timeZone": "Europe/Berlin"}}),
    ("services", service()),
    ("services", service(clusterIP="None", ports=[])),
    ("secrets", {"data": {"a": "eA=="}}),
    ("nodes", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDRs": ["10.0.0.0/24"]}}),
    ("roles", {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}),
    ("clusterroles", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]}),
    ("rolebindings", {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}),
    ("poddisruptionbudgets", {"spec": {"minAvailable": "50%", "selector": {}}}),
    ("validatingwebhookconfigurations", webhook()),
    ("endpointslices", {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]}),
    ("horizontalpodautoscalers", {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}}),
    ("clusterroles", {"metadata": {"name": "system:x:Y"}, "rules": []}),
]


@pytest.mark.parametrize(("resource", "obj"), SOUND, ids=lambda value: value if isinstance(value, str) else "")
def test_sound_objects_pass(resource: str, obj: Object) -> None:
    assert problems(resource, obj) == []


MATCH = "`selector` does not match template `labels`"

REFUSED: list[tuple[str, Object, str]] = [
    # metadata
    ("configmaps", meta(name=""), "metadata.name: Required value: name or generateName is required"),
    ("configmaps", meta(name="A"), 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of'),
    ("namespaces", meta(name="a.b"), 'metadata.name: Invalid value: "a.b": a lowercase RFC 1123 label must consist of'),
    ("services", service() | meta(name="1a"), 'metadata.name: Invalid value: "1a": a DNS-1035 label must consist of'),
    ("clusterroles", meta(name="a/b"), "metadata.name: Invalid value: \"a/b\": may not contain '/'"),
    ("configmaps", meta(labels={"a b": "c"}), 'metadata.labels: Invalid value: "a b": name part must consist of'),
    ("configmaps", meta(labels={"a": "b c"}), 'metadata.labels: Invalid value: "b c": a valid label must be'),
    (
        "configmaps",
        meta(annotations={"/": ""}),
        'metadata.annotations: Invalid value: "/": prefix part must be non-empty',
    ),
    (
        "configmaps",
        meta(annotations={"a": "x" * 262_144}),
        "metadata.annotations: Too long: may not be more than 262144 bytes",
    ),
    ("configmaps", meta(finalizers=["a b"]), 'metadata.finalizers: Invalid value: "a b": name part must consist of'),
    (
        "configmaps",
        meta(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}]),
        'metadata.ownerReferences[0].uid: Invalid value: "": must not be empty',
    ),
    # pods
    ("pods", {"spec": {"containers": []}}, "spec.containers: Required value"),
    ("pods", pod(container(name="")), "spec.containers[0].name: Required value"),
    ("pods", pod(container(name="A")), 'spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label'),
    ("pods", pod(container(), container()), 'spec.containers[1].name: Duplicate value: "c"'),
    ("pods", pod(initContainers=[container()]), 'spec.initContainers[0].name: Duplicate value: "c"'),
    ("pods", pod(container(image="")), "spec.containers[0].image: Required value"),
    (
        "pods",
        pod(container(image=" nginx")),
        'spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace',
    ),
    (
        "pods",
        pod(container(imagePullPolicy="Sometimes")),
        'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": '
        'supported values: "Always", "IfNotPresent", "Never"',
    ),
    ("pods", pod(container(ports=[{}])), "spec.containers[0].ports[0].containerPort: Required value"),
    (
        "pods",
        pod(container(ports=[{"containerPort": 70000}])),
        "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ),
    (
        "pods",
        pod(container(ports=[{"containerPort": 1, "name": "Toolongforaservice"}])),
        'spec.containers[0].ports[0].name: Invalid value: "Toolongforaservice": must be no more than 15 characters',
    ),
    (
        "pods",
        pod(container(ports=[{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}])),
        'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//9"',
    ),
    (
        "pods",
        pod(container(env=[{"name": "a=b"}])),
        'spec.containers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of',
    ),
    (
        "pods",
        pod(container(env=[{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])),
        'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ),
    (
        "pods",
        pod(container(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.foo"}}}])),
        'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "spec.foo"',
    ),
    (
        "pods",
        pod(container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    (
        "pods",
        pod(container(resources={"limits": {"cpu": "-1"}})),
        'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    (
        "pods",
        pod(container(resources={"limits": {"disk": "1"}})),
        'spec.containers[0].resources.limits[disk]: Invalid value: "disk": '
        "must be a standard resource type or fully qualified",
    ),
    (
        "pods",
        pod(container(resources={"requests": {"example.com/gpu": "1"}})),
        "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
    ),
    (
        "pods",
        pod(container(volumeMounts=[{"name": "v", "mountPath": "/x"}])),
        'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ),
    (
        "pods",
        pod(container(volumeMounts=[{"name": "v", "mountPath": "/x"}] * 2), volumes=[{"name": "v"}]),
        'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique',
    ),
    (
        "pods",
        pod(container(volumeMounts=[{"name": "v", "mountPath": "/x", "subPath": "../y"}]), volumes=[{"name": "v"}]),
        "spec.containers[0].volumeMounts[0].subPath: Invalid value: \"../y\": must not contain '..'",
    ),
    (
        "pods",
        pod(container(livenessProbe={})),
        "spec.containers[0].livenessProbe: Required value: must specify a handler type",
    ),
    (
        "pods",
        pod(container(livenessProbe={"tcpSocket": {"port": 1}, "successThreshold": 2})),
        "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ),
    ("pods", pod(restartPolicy="Maybe"), 'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always"'),
    (
        "pods",
        pod(dnsPolicy="None"),
        "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver",
    ),
    (
        "pods",
        pod(activeDeadlineSeconds=0),
        "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
    ),
    (
        "pods",
        pod(tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 3}]),
        "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
    ),
    ("pods", pod(volumes=[{"name": "v"}, {"name": "v"}]), 'spec.volumes[1].name: Duplicate value: "v"'),
    ("pods", pod(volumes=[{"name": "v", "secret": {}}]), "spec.volumes[0].secret.secretName: Required value"),
    (
        "pods",
        pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
        "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
    ),
    (
        "pods",
        pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}}),
        "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: "
        "Required value: can not be empty",
    ),
    (
        "pods",
        pod(initContainers=[container(name="i", readinessProbe={"exec": {"command": ["a"]}})]),
        "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without",
    ),
    # workloads
    ("deployments", workload(selector=None), "spec.selector: Required value"),
    (
        "deployments",
        workload(selector={}),
        "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
    ),
    ("deployments", workload({"a": "c"}), f'spec.template.metadata.labels: Invalid value: {{"a":"c"}}: {MATCH}'),
    ("deployments", workload(replicas=-1), "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
    (
        "deployments",
        workload(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}),
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0',
    ),
    (
        "deployments",
        workload(strategy={"rollingUpdate": {"maxUnavailable": "101%"}}),
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
    ),
    (
        "deployments",
        workload(strategy={"rollingUpdate": {"maxSurge": "a lot"}}),
        'spec.strategy.rollingUpdate.maxSurge: Invalid value: "a lot": a valid percent string must be',
    ),
    (
        "deployments",
        workload(strategy={"type": "Recreate", "rollingUpdate": {}}),
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ),
    (
        "deployments",
        workload(minReadySeconds=600),
        "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
    ),
    (
        "replicasets",
        workload(template=pod(restartPolicy="Never") | {"metadata": {"labels": {"a": "b"}}}),
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ),
    ("daemonsets", workload(selector=None), "spec.selector: Required value"),
    (
        "statefulsets",
        workload(podManagementPolicy="Whenever"),
        'spec.podManagementPolicy: Unsupported value: "Whenever": supported values: "OrderedReady", "Parallel"',
    ),
    (
        "jobs",
        job(template=pod()),
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ),
    (
        "jobs",
        job(selector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
        'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
    ),
    (
        "clusterroles",
        {"aggregationRule": {}},
        "aggregationRule.clusterRoleSelectors: Required value: "
        "at least one clusterRoleSelector required if aggregationRule is non-nil",
    ),
    ("jobs", job(parallelism=-1), "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"),
    (
        "jobs",
        job(completionMode="Indexed", parallelism=2),
        "spec.completions: Required value: when completion mode is Indexed",
    ),
    ("cronjobs", {"spec": {"jobTemplate": job()}}, "spec.schedule: Required value"),
    (
        "cronjobs",
        {"spec": {"schedule": "* * *", "jobTemplate": job()}},
        'spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]',
    ),
    (
        "cronjobs",
        {"spec": {"schedule": "@daily", "jobTemplate": job(), "timeZone": "Moon/Crater"}},
        'spec.timeZone: Invalid value: "Moon/Crater": unknown time zone Moon/Crater',
    ),
    (
        "horizontalpodautoscalers",
        {"spec": {"maxReplicas": 1, "minReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}},
        "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`",
    ),
    # configuration
    ("configmaps", {"data": {"a b": ""}}, 'data[a b]: Invalid value: "a b": a valid config key must consist of'),
    ("configmaps", {"data": {"a": "x" * 1_048_577}}, ": Too long: may not be more than 1048576 bytes"),
    (
        "configmaps",
        {"data": {"a": ""}, "binaryData": {"a": ""}},
        'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ),
    ("secrets", {"type": "kubernetes.io/tls", "data": {"tls.key": "eA=="}}, "data[tls.crt]: Required value"),
    (
        "secrets",
        {"type": "kubernetes.io/service-account-token"},
        "metadata.annotations[kubernetes.io/service-account.name]: Required value",
    ),
    # services and nodes
    ("services", service(ports=[]), "spec.ports: Required value"),
    ("services", service(ports=[{"port": 0}]), "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535"),
    ("services", service(ports=[{"port": 1}, {"port": 2}]), "spec.ports[0].name: Required value"),
    (
        "services",
        service(ports=[{"port": 1, "nodePort": 30000}]),
        "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ),
    ("services", service(type="Magic"), 'spec.type: Unsupported value: "Magic": supported values: "ClusterIP"'),
    ("services", {"spec": {"type": "ExternalName"}}, "spec.externalName: Required value"),
    (
        "services",
        service(clusterIP="10.0.0.300"),
        'spec.clusterIPs[0]: Invalid value: "10.0.0.300": must be a valid IP address, (e.g. 10.9.8.7',
    ),
    (
        "nodes",
        {"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}},
        'spec.taints[0].effect: Unsupported value: "Sometimes"',
    ),
    (
        "endpointslices",
        {"addressType": "IPv4", "endpoints": [{"addresses": ["::1"]}]},
        'endpoints[0].addresses[0]: Invalid value: "::1": must be a valid IPv4 address',
    ),
    (
        "leases",
        {"spec": {"leaseDurationSeconds": 0}},
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
    ),
    (
        "events",
        {"involvedObject": {"namespace": "other"}},
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    ),
    # policy
    ("roles", {"rules": [{"verbs": []}]}, "rules[0].verbs: Required value: verbs must contain at least one value"),
    (
        "roles",
        {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ),
    (
        "clusterrolebindings",
        {"roleRef": {"kind": "Role", "name": "r"}},
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ),
    (
        "clusterrolebindings",
        {"roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "s"}]},
        "subjects[0].namespace: Required value",
    ),
    (
        "poddisruptionbudgets",
        {"spec": {"minAvailable": 1, "maxUnavailable": 1}},
        'spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be',
    ),
    (
        "priorityclasses",
        meta(name="system-mine") | {"value": 1},
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only",
    ),
    (
        "validatingwebhookconfigurations",
        webhook(name="short"),
        'webhooks[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots',
    ),
    (
        "validatingwebhookconfigurations",
        webhook(sideEffects=None),
        "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
    ),
    (
        "validatingwebhookconfigurations",
        webhook(clientConfig={}),
        "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ),
    (
        "mutatingwebhookconfigurations",
        webhook(timeoutSeconds=31),
        "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    ),
]


@pytest.mark.parametrize(
    ("resource", "obj", "problem"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_refused_is_told_with_its_field(resource: str, obj: Object, problem: str) -> None:
    found = problems(resource, obj)
    assert any(item.startswith(problem) for item in found), found


def labelled(**labels: str) -> Object:
    return workload(labels, selector={"matchLabels": labels})


UPDATES: list[tuple[str, Object, Object, str | None]] = [
    ("pods", pod(), pod(container(image="busybox")), None),
    ("pods", pod(), pod(activeDeadlineSeconds=5), None),
    ("pods", pod(), pod(tolerations=[{"key": "a", "operator": "Exists"}]), None),
    ("pods", pod(), pod(hostNetwork=False), None),
    ("pods", pod(), pod(container(name="d")), "spec: Forbidden: pod updates may not change fields other than"),
    ("pods", pod(nodeName="a"), pod(nodeName="b"), "spec: Forbidden: pod updates may not change fields other than"),
    (
        "pods",
        pod(activeDeadlineSeconds=5),
        pod(activeDeadlineSeconds=6),
        "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
    ),
    (
        "pods",
        pod(tolerations=[{"key": "a", "operator": "Exists"}]),
        pod(),
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
    ),
    ("pods", pod(schedulingGates=[{"name": "a"}]), pod(nodeSelector={"a": "b"}), None),
    (
        "pods",
        pod(),
        pod(schedulingGates=[{"name": "a"}]),
        "spec.schedulingGates: Forbidden: only deletion is allowed, but found new scheduling gate 'a'",
    ),
    ("deployments", workload(), workload(replicas=5), None),
    (
        "deployments",
        labelled(a="b"),
        labelled(a="c"),
        'spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable',
    ),
    ("statefulsets", workload(), workload(replicas=2), None),
    (
        "statefulsets",
        workload(),
        workload(serviceName="s"),
        "spec: Forbidden: updates to statefulset spec for fields other",
    ),
    ("jobs", job(), job(suspend=True), None),
    ("jobs", job(), job(completions=2), "spec.completions: Invalid value: 2: field is immutable"),
    ("jobs", job(), job(template=pod(container(image="x"), restartPolicy="Never")), "spec.template: Invalid value"),
    (
        "jobs",
        job(completionMode="Indexed", completions=1),
        job(completionMode="Indexed", completions=2, parallelism=2),
        None,
    ),
    (
        "configmaps",
        {"immutable": True, "data": {"a": "b"}},
        {"immutable": True, "data": {"a": "c"}},
        "data: Forbidden: field is immutable when `immutable` is set",
    ),
    ("configmaps", {"immutable": True}, {}, "immutable: Forbidden: field is immutable when `immutable` is set"),
    ("secrets", {"type": "a"}, {"type": "b"}, 'type: Invalid value: "b": field is immutable'),
    (
        "rolebindings",
        {"roleRef": {"kind": "Role", "name": "a"}},
        {"roleRef": {"kind": "Role", "name": "b"}},
        "roleRef: Invalid value:",
    ),
    (
        "nodes",
        {"spec": {"podCIDRs": ["10.0.0.0/24"]}},
        {"spec": {"podCIDRs": ["10.0.1.0/24"]}},
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    ),
    ("priorityclasses", {"value": 1}, {"value": 2}, "value: Forbidden: may not be changed in an update."),
    (
        "services",
        service(clusterIP="10.0.0.1"),
        service(clusterIP="10.0.0.2"),
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
    ),
    ("services", service(clusterIP="10.0.0.1"), service(), None),
]


@pytest.mark.parametrize(
    ("resource", "old", "new", "problem"), UPDATES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_may_change_and_what_may_not(resource: str, old: Object, new: Object, problem: str | None) -> None:
    found = update_problems(resource, old, new)
    if problem is None:
        assert found == []
    else:
        assert any(item.startswith(problem) for item in found), found
