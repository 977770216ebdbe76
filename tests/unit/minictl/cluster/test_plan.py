"""The plan of a cluster: what runs, with which flags, after what."""

from __future__ import annotations

import dataclasses

import pytest

from minictl.cluster import containerd, plan, planning
from minictl.cluster.settings import CONTAINERD, HOLLOW
from tests.unit.minictl.cluster import fixtures


def flags(process: plan.Process) -> dict[str, str]:
    pairs = (word.removeprefix("--").partition("=") for word in process.argv if word.startswith("--"))
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize("runtime", [CONTAINERD, HOLLOW])
def test_everything_a_process_waits_for_comes_before_it(runtime: str) -> None:
    cluster = planning.plan_cluster(fixtures.settings(runtime), fixtures.facts())
    started: set[str] = set()
    for process in cluster.processes:
        assert set(process.after) <= started, process.name
        assert process.namespaces.inside in ("", *started), process.name
        started.add(process.name)


def test_a_containerd_node_is_namespaces_a_runtime_and_a_kubelet() -> None:
    cluster = fixtures.containerd_plan(1)
    node, daemon, kubelet = (cluster.process(name) for name in ("node-1", "node-1-containerd", "node-1-kubelet"))
    assert node.namespaces == plan.Namespaces(own=True, network="/run/netns/demo-node-1")
    assert daemon.namespaces.inside == kubelet.namespaces.inside == "node-1"
    assert kubelet.after == ("node-1-containerd", "apiserver")
    assert flags(kubelet)["node-ip"] == "172.30.4.11"
    assert flags(kubelet)["cgroup-root"] == "/demo-node-1"


def test_pods_outlive_their_containerd() -> None:
    cluster = fixtures.containerd_plan(1)
    assert not cluster.process("node-1-containerd").ends_group
    assert cluster.process("apiserver").ends_group


def test_a_hollow_cluster_listens_on_loopback_only() -> None:
    cluster = fixtures.hollow_plan(3)
    assert flags(cluster.process("apiserver"))["bind-address"] == "127.0.0.1"
    ports = [flags(cluster.process(f"node-{number}-kubelet"))["port"] for number in (1, 2, 3)]
    assert len(set(ports)) == 3
    assert not any(process.namespaces.own or process.namespaces.inside for process in cluster.processes)


def test_the_apiserver_listens_for_the_person_and_for_the_nodes_and_nowhere_else() -> None:
    apiserver = fixtures.containerd_plan().process("apiserver")
    assert flags(apiserver)["bind-address"] == "127.0.0.1,172.30.4.254"


@pytest.mark.parametrize(("cores", "workers"), [(1, "1"), (2, "2"), (16, "2")])
def test_the_apiserver_has_at_most_two_workers(cores: int, workers: str) -> None:
    cluster = planning.plan_cluster(fixtures.settings(), fixtures.facts(cores))
    assert flags(cluster.process("apiserver"))["workers"] == workers


def test_every_process_carries_the_clusters_mark() -> None:
    for process in (*fixtures.containerd_plan().processes, *fixtures.hollow_plan().processes):
        assert process.env[plan.TOKEN_VARIABLE] == "0123456789abcdef"


def test_only_what_pulls_images_gets_the_proxies() -> None:
    with_proxy = {process.name for process in fixtures.containerd_plan(1).processes if "HTTPS_PROXY" in process.env}
    assert with_proxy == {"registry", "node-1-containerd"}


def test_etcd_lets_nobody_in_without_a_certificate() -> None:
    etcd = flags(fixtures.hollow_plan().process("etcd"))
    assert etcd["client-cert-auth"] == etcd["peer-client-cert-auth"] == "true"
    assert etcd["listen-client-urls"] == "https://127.0.0.1:2379"


def test_equal_settings_give_equal_plans_and_a_plan_survives_its_file() -> None:
    one, other = fixtures.containerd_plan(), fixtures.containerd_plan()
    assert one == other
    read_back = plan.decode(plan.encode(one))
    assert read_back == one
    assert read_back.digest == one.digest
    assert [p.fingerprint for p in read_back.processes] == [p.fingerprint for p in one.processes]


def test_a_new_flag_changes_the_fingerprint_and_a_new_log_does_not() -> None:
    process = fixtures.containerd_plan().process("scheduler")
    assert dataclasses.replace(process, argv=(*process.argv, "--v=2")).fingerprint != process.fingerprint
    assert dataclasses.replace(process, log=process.log.with_suffix(".txt")).fingerprint == process.fingerprint


def test_a_process_whose_keys_or_kubeconfig_were_renewed_is_started_again_and_no_other() -> None:
    before = planning.plan_cluster(
        fixtures.settings(), dataclasses.replace(fixtures.facts(), pki={"kubelet-node-1.conf": "a"})
    )
    after = planning.plan_cluster(
        fixtures.settings(), dataclasses.replace(fixtures.facts(), pki={"kubelet-node-1.conf": "b"})
    )
    changed = {p.name for p in before.processes if after.process(p.name).fingerprint != p.fingerprint}
    assert changed == {"node-1-kubelet"}


def test_adding_a_node_leaves_the_fingerprints_of_the_others() -> None:
    two, three = fixtures.containerd_plan(2), fixtures.containerd_plan(3)
    for process in two.processes:
        assert three.process(process.name).fingerprint == process.fingerprint


def test_more_nodes_than_a_24_bit_range_each_allows_get_smaller_ranges() -> None:
    assert flags(fixtures.hollow_plan(256).process("controllers"))["node-cidr-mask-size"] == "24"
    assert flags(fixtures.hollow_plan(257).process("controllers"))["node-cidr-mask-size"] == "26"


def test_each_containerd_has_places_of_its_own() -> None:
    cluster = fixtures.containerd_plan(2)
    configs = {file.path: file.content for file in cluster.files if file.path.suffix == ".toml"}
    assert len(configs) == 2
    for number, content in enumerate(configs.values(), start=1):
        for own in ("containerd", "cni", "certs.d"):
            assert f'"/srv/demo/.cluster/nodes/node-{number}/{own}"' in content


@pytest.mark.parametrize(
    ("traits", "line"),
    [
        (containerd.Traits(may_lower_oom_score=False, overlay=True), "restrict_oom_score_adj = true"),
        (containerd.Traits(may_lower_oom_score=True, overlay=True), "restrict_oom_score_adj = false"),
        (containerd.Traits(may_lower_oom_score=True, overlay=True), 'snapshotter = "overlayfs"'),
        (containerd.Traits(may_lower_oom_score=True, overlay=False), 'snapshotter = "native"'),
    ],
)
def test_containerd_is_configured_for_the_machine(traits: containerd.Traits, line: str) -> None:
    facts = dataclasses.replace(fixtures.facts(), traits=traits)
    cluster = planning.plan_cluster(fixtures.settings(), facts)
    assert f"  {line}\n" in cluster.files[0].content
