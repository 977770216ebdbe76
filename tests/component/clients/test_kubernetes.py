"""The official Python client: the subjects of its own end-to-end tests that need no node."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client as official
from kubernetes import dynamic, utils, watch
from kubernetes.dynamic import exceptions as dynamic_errors
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer

from tests import harness

DEADLINE_SECONDS = 15.0


def until(check: Callable[[], Any], what: str) -> Any:
    """What `check` returns, once that is true."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := check()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.03)
    return found


def container(image: str = "nginx") -> official.V1Container:
    ports = [official.V1ContainerPort(container_port=80)]
    return official.V1Container(name="main", image=image, ports=ports)


def template(**labels: str) -> official.V1PodTemplateSpec:
    metadata = official.V1ObjectMeta(labels=labels)
    return official.V1PodTemplateSpec(metadata=metadata, spec=official.V1PodSpec(containers=[container()]))


# --- typed APIs


def test_a_service_is_created_patched_listed_and_deleted(api: official.ApiClient, namespace: str) -> None:
    core = official.CoreV1Api(api)
    ports = [official.V1ServicePort(port=80, name="web", target_port="http")]
    metadata = official.V1ObjectMeta(name="front", labels={"app": "front"})
    body = official.V1Service(metadata=metadata, spec=official.V1ServiceSpec(ports=ports, selector={"app": "front"}))
    made = core.create_namespaced_service(namespace, body)
    assert (made.spec.type, made.spec.session_affinity, made.spec.ports[0].protocol) == ("ClusterIP", "None", "TCP")
    assert made.spec.cluster_ip == made.spec.cluster_ips[0] != "None"
    again = core.patch_namespaced_service("front", namespace, {"spec": {"ports": [{"port": 443, "name": "tls"}]}})
    assert sorted(port.name for port in again.spec.ports) == ["tls", "web"]
    assert [item.metadata.name for item in core.list_namespaced_service(namespace, label_selector="app").items] == [
        "front"
    ]
    core.delete_namespaced_service("front", namespace)
    with pytest.raises(official.ApiException) as gone:
        core.read_namespaced_service("front", namespace)
    assert gone.value.status == 404


def test_a_replication_controller_has_a_scale(api: official.ApiClient, namespace: str) -> None:
    core = official.CoreV1Api(api)
    spec = official.V1ReplicationControllerSpec(replicas=2, selector={"a": "b"}, template=template(a="b"))
    body = official.V1ReplicationController(metadata=official.V1ObjectMeta(name="rc"), spec=spec)
    core.create_namespaced_replication_controller(namespace, body)
    scale = core.read_namespaced_replication_controller_scale("rc", namespace)
    assert (scale.spec.replicas, scale.status.selector) == (2, "a=b")
    scale.spec.replicas = 3
    core.replace_namespaced_replication_controller_scale("rc", namespace, scale)
    assert core.read_namespaced_replication_controller("rc", namespace).spec.replicas == 3
    core.delete_namespaced_replication_controller("rc", namespace, propagation_policy="Background")


def test_a_config_map_is_replaced_only_at_the_version_that_was_read(api: official.ApiClient, namespace: str) -> None:
    core = official.CoreV1Api(api)
    read = core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    core.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
    read.data = {"k": "3"}
    with pytest.raises(official.ApiException) as conflict:
        core.replace_namespaced_config_map("a", namespace, read)
    assert (conflict.value.status, conflict.value.reason) == (409, "Conflict")
    assert "the object has been modified" in conflict.value.body


def test_a_deployment_and_a_daemon_set_get_their_defaults(api: official.ApiClient, namespace: str) -> None:
    apps = official.AppsV1Api(api)
    selector = official.V1LabelSelector(match_labels={"app": "web"})
    spec = official.V1DeploymentSpec(selector=selector, template=template(app="web"))
    deployment = apps.create_namespaced_deployment(
        namespace, official.V1Deployment(metadata=official.V1ObjectMeta(name="web"), spec=spec)
    )
    assert (deployment.spec.replicas, deployment.spec.revision_history_limit) == (1, 10)
    assert deployment.spec.strategy.rolling_update.max_surge == "25%"
    daemons = official.V1DaemonSetSpec(selector=selector, template=template(app="web"))
    made = apps.create_namespaced_daemon_set(
        namespace, official.V1DaemonSet(metadata=official.V1ObjectMeta(name="d"), spec=daemons)
    )
    assert made.spec.update_strategy.type == "RollingUpdate"
    changed = apps.patch_namespaced_daemon_set("d", namespace, {"spec": {"minReadySeconds": 5}})
    assert (changed.spec.min_ready_seconds, changed.metadata.generation) == (5, 2)


def test_a_job_gets_a_selector_of_its_own(api: official.ApiClient, namespace: str) -> None:
    batch = official.BatchV1Api(api)
    pods = template(app="pi")
    pods.spec.restart_policy = "Never"
    body = official.V1Job(metadata=official.V1ObjectMeta(name="pi"), spec=official.V1JobSpec(template=pods))
    made = batch.create_namespaced_job(namespace, body)
    assert made.spec.selector.match_labels == {"batch.kubernetes.io/controller-uid": made.metadata.uid}
    assert (made.spec.completions, made.spec.backoff_limit) == (1, 6)
    batch.delete_namespaced_job("pi", namespace, propagation_policy="Background")


# --- watches and informers


def test_a_watch_tells_everything_after_the_list(api: official.ApiClient, namespace: str) -> None:
    core = official.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "a"}})
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "b"}})
    core.patch_namespaced_config_map("b", namespace, {"data": {"k": "v"}})
    core.delete_collection_namespaced_config_map(namespace)
    watcher, seen = watch.Watch(), []
    arguments = {"namespace": namespace, "resource_version": version, "timeout_seconds": 5}
    for event in watcher.stream(core.list_namespaced_config_map, **arguments):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 4:
            watcher.stop()
    assert seen[:2] == [("ADDED", "b"), ("MODIFIED", "b")]
    assert sorted(seen[2:]) == [("DELETED", "a"), ("DELETED", "b")]


def test_a_shared_informer_follows_its_collection(api: official.ApiClient, namespace: str) -> None:
    core = official.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, {"metadata": {"name": "before", "labels": {"i": "1"}}})
    told: dict[str, threading.Event] = {kind: threading.Event() for kind in (ADDED, MODIFIED, DELETED)}
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace, label_selector="i=1")
    for kind, event in told.items():
        informer.add_event_handler(kind, lambda item, event=event: name_of(item) == "a" and event.set())
    informer.start()
    try:
        until(lambda: informer.cache.get_by_key(f"{namespace}/before"), "what was there is in the cache")
        core.create_namespaced_config_map(namespace, {"metadata": {"name": "a", "labels": {"i": "1"}}})
        assert told[ADDED].wait(DEADLINE_SECONDS)
        core.patch_namespaced_config_map("a", namespace, {"data": {"k": "v"}})
        assert told[MODIFIED].wait(DEADLINE_SECONDS)
        core.delete_namespaced_config_map("a", namespace)
        assert told[DELETED].wait(DEADLINE_SECONDS)
        assert informer.cache.get_by_key(f"{namespace}/a") is None
    finally:
        informer.stop()


def name_of(item: Any) -> str:
    return str(item.metadata.name if hasattr(item, "metadata") else item["metadata"]["name"])


# --- create_from_yaml

APP = """
apiVersion: v1
kind: Service
metadata: {name: app}
spec: {ports: [{port: 80}], selector: {app: app}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template: {metadata: {labels: {app: app}}, spec: {containers: [{name: c, image: nginx}]}}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
"""  # noqa: E501 - a line of YAML


def test_a_file_of_several_objects_and_lists_is_created(
    api: official.ApiClient, namespace: str, tmp_path: Path
) -> None:
    file = tmp_path / "app.yaml"
    file.write_text(APP)
    utils.create_from_yaml(api, str(file), namespace=namespace)
    assert official.AppsV1Api(api).read_namespaced_deployment("app", namespace).spec.replicas == 1
    assert official.RbacAuthorizationV1Api(api).read_namespaced_role("reader", namespace).rules[0].verbs == ["get"]
    with pytest.raises(utils.FailToCreateError) as failed:
        utils.create_from_yaml(api, str(file), namespace=namespace)
    assert {error.reason for error in failed.value.api_exceptions} == {"Conflict"}


def test_a_file_with_a_mistake_is_refused_with_its_field(api: official.ApiClient, namespace: str) -> None:
    bad = yaml.safe_load(APP.split("---")[0]) | {"spec": {"ports": [{"port": 123456}]}}
    with pytest.raises(utils.FailToCreateError) as failed:
        utils.create_from_dict(api, bad, namespace=namespace)
    [error] = failed.value.api_exceptions
    assert error.status == 422
    assert "spec.ports[0].port: Invalid value: 123456: must be between 1 and 65535, inclusive" in error.body


def test_a_server_side_apply_from_a_file_is_forced_on_request(
    api: official.ApiClient, namespace: str, tmp_path: Path
) -> None:
    file = tmp_path / "map.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: one}\n")
    utils.create_from_yaml(api, str(file), namespace=namespace, apply=True)
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: two}\n")
    utils.create_from_yaml(api, str(file), namespace=namespace, apply=True)
    assert official.CoreV1Api(api).read_namespaced_config_map("m", namespace).data == {"a": "two"}


# --- the dynamic client


@pytest.fixture
def client(api: official.ApiClient, tmp_path: Path) -> dynamic.DynamicClient:
    return dynamic.DynamicClient(api, cache_file=str(tmp_path / "discovery.json"))


def test_the_dynamic_client_discovers_and_caches(
    api: official.ApiClient, client: dynamic.DynamicClient, tmp_path: Path
) -> None:
    found = client.resources.get(api_version="apps/v1", kind="Deployment")
    assert {"scale", "status"} <= set(found.subresources)
    second = dynamic.DynamicClient(api, cache_file=str(tmp_path / "discovery.json"))
    again = second.resources.get(api_version="apps/v1", kind="Deployment")
    assert (again.name, again.verbs, sorted(again.subresources)) == (
        found.name,
        found.verbs,
        sorted(found.subresources),
    )


def test_the_dynamic_client_writes_in_every_way(client: dynamic.DynamicClient, namespace: str) -> None:
    maps = client.resources.get(api_version="v1", kind="ConfigMap")
    made = maps.create(body={"metadata": {"name": "a"}, "data": {"k": "1"}}, namespace=namespace)
    maps.patch(name="a", namespace=namespace, body={"data": {"l": "2"}}, content_type="application/merge-patch+json")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"m": "3"}}
    result = maps.server_side_apply(namespace=namespace, name="a", body=applied, field_manager="tests")
    assert result.data.to_dict() == {"k": "1", "l": "2", "m": "3"}
    assert "tests" in {entry.manager for entry in result.metadata.managedFields}
    with pytest.raises(dynamic_errors.ConflictError):
        maps.replace(body=made.to_dict(), namespace=namespace)
    assert [item.metadata.name for item in maps.get(namespace=namespace, label_selector="!nothing").items] == ["a"]
    maps.delete(name="a", namespace=namespace)
    with pytest.raises(dynamic_errors.NotFoundError):
        maps.get(name="a", namespace=namespace)


def test_the_dynamic_client_reads_metadata_only(client: dynamic.DynamicClient, namespace: str) -> None:
    maps = client.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body={"metadata": {"name": "a"}, "data": {"k": "1"}}, namespace=namespace)
    headers = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    got = maps.get(namespace=namespace, header_params=headers)
    assert (got.kind, got.items[0].metadata.name, got.items[0].data) == ("PartialObjectMetadataList", "a", None)


# --- custom resources


@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
def test_custom_resources_by_the_dynamic_client(
    client: dynamic.DynamicClient, server: harness.Server, namespace: str, scope: str
) -> None:
    kind = f"Kind{uuid.uuid4().hex[:6]}"
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "tests.example.com", "scope": scope, "versions": [version]}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    definitions = client.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    definitions.create(body={"metadata": {"name": f"{plural}.tests.example.com"}, "spec": spec | {"names": names}})

    def served() -> Any:
        client.resources.invalidate_cache()
        try:
            return client.resources.get(api_version="tests.example.com/v1", kind=kind)
        except dynamic_errors.ResourceNotFoundError:
            return None

    where = {"namespace": namespace} if scope == "Namespaced" else {}
    resource = until(served, "the kind is served")
    body = {"apiVersion": "tests.example.com/v1", "kind": kind, "metadata": {"name": "a"}, "spec": {"size": 1}}
    resource.create(body=body, **where)
    merge = {"content_type": "application/merge-patch+json"}
    resource.patch(name="a", body={"spec": {"size": 2}}, **merge, **where)
    with pytest.raises(dynamic_errors.UnprocessibleEntityError):
        resource.patch(name="a", body={"spec": {"size": "big"}}, **merge, **where)
    assert [item.spec.size for item in resource.get(**where).items] == [2]
    resource.delete(name="a", **where)
    definitions.delete(name=f"{plural}.tests.example.com")
