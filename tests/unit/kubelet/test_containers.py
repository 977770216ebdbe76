"""What containers are made from: environment, DNS, resources, security, the two configs."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from cri_api.v1 import api_pb2 as pb
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.objects import Object
from kubelet import cgroups, errors
from kubelet.containers import config, dns, env, security
from kubelet.containers.env import Reference, Sources
from tests.unit.kubelet.builders import pod


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("x$(A)y", "x1y"),
        ("$$(A)", "$(A)"),
        ("$(NO)", "$(NO)"),
        ("$", "$"),
        ("$A", "$A"),
        ("$(", "$("),
        ("$$$(A)", "$1"),
    ],
)
def test_variables_are_expanded(text: str, expanded: str) -> None:
    assert env.expand(text, {"A": "1"}) == expanded


@given(st.text(alphabet="$()AB", max_size=12))
def test_expansion_without_variables_only_undoes_escapes(text: str) -> None:
    assert env.expand(text, {}).count("$") <= text.count("$")
    assert env.expand(text.replace("$", "$$"), {"A": "1", "B": "2"}) == text


SOURCES = Sources(
    found={
        Reference("configmap", "cm"): {"data": {"color": "blue", "n": "1"}},
        Reference("secret", "sec"): {"data": {"pw": base64.b64encode(b"s3").decode()}},
    },
    pod_ips=("10.0.0.9",),
)


def environment(*entries: Object, **fields: object) -> dict[str, str]:
    return env.environment(pod("a"), {"name": "a", "env": list(entries), **fields}, SOURCES)


def test_later_variables_see_earlier_ones() -> None:
    first, second = {"name": "A", "value": "1"}, {"name": "B", "value": "<$(A)$(C)>"}
    assert environment(first, second) == {"A": "1", "B": "<1$(C)>"}


def test_values_come_from_objects_and_fields() -> None:
    assert environment(
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "color"}}},
        {"name": "S", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "pw"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "NONE", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "x", "optional": True}}},
    ) == {"C": "blue", "S": "s3", "IP": "10.0.0.9"}


def test_env_wins_over_env_from() -> None:
    source = {"configMapRef": {"name": "cm"}, "prefix": "P_"}
    assert environment({"name": "P_n", "value": "2"}, envFrom=[source]) == {"P_color": "blue", "P_n": "2"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "gone", "key": "k"}}, 'configmap "gone" not found'),
        ({"secretKeyRef": {"name": "sec", "key": "k"}}, "couldn't find key k in Secret ns/sec"),
    ],
)
def test_a_missing_reference_is_a_config_error_in_upstreams_words(source: Object, message: str) -> None:
    with pytest.raises(errors.StartRefused) as raised:
        environment({"name": "X", "valueFrom": source})
    assert (raised.value.reason, raised.value.message) == ("CreateContainerConfigError", message)


RESOLVER = dns.Resolver(("9.9.9.9",), ("lan",), ("edns0",), cluster_dns=("10.96.0.10",))


@pytest.mark.parametrize(
    ("fields", "servers", "searches"),
    [
        ({}, ["10.96.0.10"], ["ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan"]),
        ({"dnsPolicy": "Default"}, ["9.9.9.9"], ["lan"]),
        ({"hostNetwork": True}, ["9.9.9.9"], ["lan"]),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["x"]}}, ["1.1.1.1"], ["x"]),
    ],
)
def test_dns_follows_the_policy(fields: Object, servers: list[str], searches: list[str]) -> None:
    made = dns.config_for(pod("a", **fields), RESOLVER)
    assert (list(made.servers), list(made.searches)) == (servers, searches)


def test_dns_options_of_the_pod_replace_those_of_the_same_name() -> None:
    a_pod = pod("a", dnsConfig={"options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}]})
    assert list(dns.config_for(a_pod, RESOLVER).options) == ["ndots:2", "rotate"]


def with_resources(requests: Object, limits: Object) -> Object:
    return pod({"name": "a", "resources": {"requests": requests, "limits": limits}})


@pytest.mark.parametrize(
    ("requests", "limits", "parent", "shares", "quota", "memory", "oom"),
    [
        ({}, {}, "/n/kubepods/besteffort/podu1", 2, 0, 0, 1000),
        ({"cpu": "500m", "memory": "1Gi"}, {}, "/n/kubepods/burstable/podu1", 512, 0, 0, 750),
        ({}, {"cpu": "250m", "memory": "64Mi"}, "/n/kubepods/podu1", 256, 25000, 67108864, -997),
        ({"cpu": "1m"}, {"cpu": "1m"}, "/n/kubepods/burstable/podu1", 2, 1000, 0, 999),
    ],
)
def test_resources_become_cgroup_values(
    requests: Object, limits: Object, parent: str, shares: int, quota: int, memory: int, oom: int, tmp_path: Path
) -> None:
    (tmp_path / "mounts").write_text("")
    a_pod = with_resources(requests, limits)
    made = cgroups.Cgroups("/n", memory_bytes=4 << 30, mounts=tmp_path / "mounts")
    values = made.resources(a_pod, a_pod["spec"]["containers"][0])
    assert made.parent_of(a_pod) == parent
    assert (values.cpu_shares, values.cpu_quota, values.memory_limit_in_bytes, values.oom_score_adj) == (
        shares,
        quota,
        memory,
        oom,
    )


def test_a_pods_cgroup_is_removed_with_what_is_in_it_and_its_neighbours_stay(tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text(
        f"cgroup {tmp_path}/cpu cgroup rw,cpu 0 0\ncgroup {tmp_path}/mem cgroup rw,memory 0 0\n"
    )
    for controller in ("cpu", "mem"):
        (tmp_path / controller / "n/kubepods/burstable/podu1/container").mkdir(parents=True)
        (tmp_path / controller / "n/kubepods/burstable/podu2").mkdir(parents=True)
    made = cgroups.Cgroups("/n", memory_bytes=1, mounts=tmp_path / "mounts")
    made.remove("u1")
    assert made.pod_uids() == {"u2"}


def context(container: Object, image: pb.Image | None = None, **fields: Object) -> pb.LinuxContainerSecurityContext:
    a_pod = pod({"name": "a"} | container, **fields)
    return security.container_context(a_pod, a_pod["spec"]["containers"][0], image or pb.Image(id="i"))


def test_processes_are_not_shared_unless_asked() -> None:
    assert context({}).namespace_options.pid == pb.CONTAINER, "CRI's own default would be the pod's"
    assert context({}, shareProcessNamespace=True).namespace_options.pid == pb.POD


def test_the_containers_context_wins_over_the_pods() -> None:
    made = context(
        {"securityContext": {"runAsUser": 5}}, securityContext={"runAsUser": 1, "runAsGroup": 7, "fsGroup": 9}
    )
    assert (made.run_as_user.value, made.run_as_group.value, list(made.supplemental_groups)) == (5, 7, [9])


def test_the_images_user_holds_when_the_spec_names_none() -> None:
    assert context({}, pb.Image(id="i", username="www")).run_as_username == "www"
    assert context({}, pb.Image(id="i", uid=pb.Int64Value(value=33))).run_as_user.value == 33


@pytest.mark.parametrize(
    "image", [pb.Image(id="i"), pb.Image(id="i", uid=pb.Int64Value(value=0)), pb.Image(id="i", username="www")]
)
def test_run_as_non_root_refuses_what_may_be_root(image: pb.Image) -> None:
    with pytest.raises(errors.StartRefused) as raised:
        context({"securityContext": {"runAsNonRoot": True}}, image)
    assert raised.value.reason == "CreateContainerConfigError"


def test_a_sandbox_maps_host_ports_and_names_the_pod(tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text("")
    parts = config.Settings("node", tmp_path, RESOLVER, cgroups.Cgroups(None, memory_bytes=1))
    port = {"containerPort": 80, "hostPort": 8080}
    made = config.sandbox_config(pod({"name": "a", "ports": [port, {"containerPort": 81}]}), 3, parts)
    assert [(m.container_port, m.host_port, m.protocol) for m in made.port_mappings] == [(80, 8080, pb.TCP)]
    assert (made.hostname, made.metadata.attempt, made.linux.cgroup_parent) == ("p", 3, "")
    assert made.labels["io.kubernetes.pod.uid"] == "u1"
    assert made == config.sandbox_config(pod({"name": "a", "ports": [port, {"containerPort": 81}]}), 3, parts)


def test_a_pod_has_the_weight_of_its_requests_and_its_class_that_of_all_its_pods(tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text(f"cgroup {tmp_path}/cpu cgroup rw 0 0\ncgroup2 {tmp_path}/two cgroup2 rw 0 0\n")
    a_pod = with_resources({"cpu": "500m"}, {"cpu": "1", "memory": "64Mi"})
    other = with_resources({"cpu": "250m"}, {}) | {"metadata": {"name": "q", "namespace": "ns", "uid": "u2"}}
    names = {"cpu": ("cpu.shares", "cpu.cfs_quota_us"), "two": ("cpu.weight", "cpu.max", "memory.max")}
    for controller, files in names.items():
        for folder in ("burstable/podu1", "burstable", "besteffort"):
            (tmp_path / controller / "n/kubepods" / folder).mkdir(parents=True, exist_ok=True)
            for name in files:
                (tmp_path / controller / "n/kubepods" / folder / name).write_text("")
    cgroups.Cgroups("/n", memory_bytes=1 << 30, mounts=tmp_path / "mounts").apply(a_pod, [other])
    one, two = tmp_path / "cpu/n/kubepods", tmp_path / "two/n/kubepods"
    assert (one / "burstable/podu1/cpu.shares").read_text() == "512"
    assert (one / "burstable/podu1/cpu.cfs_quota_us").read_text() == "100000"
    assert (one / "burstable/cpu.shares").read_text() == "768"
    assert (one / "besteffort/cpu.shares").read_text() == "2"
    assert (two / "burstable/podu1/cpu.max").read_text() == "100000 100000"
    assert (two / "burstable/podu1/memory.max").read_text() == str(64 << 20)
    assert (two / "besteffort/cpu.weight").read_text() == "1"


def test_an_ephemeral_container_sees_the_processes_of_its_target() -> None:
    a_pod = pod("a", ephemeralContainers=[{"name": "e", "image": "i", "targetContainerName": "a"}])
    made = security.container_context(a_pod, a_pod["spec"]["ephemeralContainers"][0], pb.Image(id="i"), "id-of-a")
    assert (made.namespace_options.pid, made.namespace_options.target_id) == (pb.TARGET, "id-of-a")
