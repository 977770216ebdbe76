"""What is read from the machine, and what is to be changed on it: texts and values only."""

from __future__ import annotations

import shlex
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from minictl.cluster import cgroups, checks, firewall, folder, logs, network, traits
from tests.unit.minictl.cluster import fixtures


def test_the_fabric_is_named_after_the_cluster_and_links_every_node() -> None:
    fabric = network.plan_fabric(fixtures.settings())
    assert fabric.namespaces == ("demo-fabric", "demo-node-1", "demo-node-2")
    assert (fabric.root_address, fabric.prefix_length) == ("172.30.4.254", 24)
    assert len(fabric.root_link) <= 15


def test_a_network_that_this_machine_has_a_route_to_is_passed_over() -> None:
    used = [IPv4Network("172.30.0.0/23"), IPv4Network("172.30.2.128/25"), IPv4Network("10.0.0.0/8")]
    assert network.free_network(network.fabric_candidates(), used) == "172.30.3.0/24"


def test_no_network_is_invented_when_all_are_taken() -> None:
    assert (
        network.free_network(network.fabric_candidates(), [IPv4Network("0.0.0.0/1"), IPv4Network("128.0.0.0/1")]) == ""
    )


def test_every_rule_can_be_found_again_by_the_clusters_name() -> None:
    rules = firewall.rules("demo", "arm123456", "172.30.4.0/24")
    listing = "".join(f"-A {rule.chain} {shlex.join(rule.words)}\n" for rule in rules)
    other = '-A FORWARD -i armffffff -m comment --comment "armillary:demo-2" -j ACCEPT\n'
    found = firewall.find(f"-P FORWARD ACCEPT\n{listing}{other}", "demo")
    assert [words[0] for words in found] == ["POSTROUTING", "FORWARD", "FORWARD"]
    assert all("armillary:demo" in words for words in found)


def test_hierarchies_of_both_cgroup_versions_are_found() -> None:
    mounts = (
        "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
        "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
    )
    assert cgroups.hierarchies(mounts) == [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/unified")]


@pytest.mark.parametrize(("mask", "expected"), [("000001fffeffffff", False), ("000001ffffffffff", True), ("0", False)])
def test_a_missing_capability_is_seen(mask: str, expected: bool) -> None:
    held = traits.effective_capabilities(f"Name:\tx\nCapEff:\t{mask}\n")
    assert bool(held >> traits.CAP_SYS_RESOURCE & 1) is expected


def test_the_file_system_of_a_folder_is_that_of_the_mount_that_holds_it() -> None:
    mounts = "overlay / overlay rw 0 0\n/dev/sda /srv ext4 rw 0 0\ntmpfs /srv2 tmpfs rw 0 0\n"
    assert traits.filesystem_of(Path("/srv/demo"), mounts) == "ext4"
    assert traits.filesystem_of(Path("/home"), mounts) == "overlay"
    assert not traits.overlay_works_upon("overlay")
    assert not traits.overlay_works_upon("fuse.sshfs")


def test_name_servers_on_loopback_are_of_no_use_in_a_node(tmp_path: Path) -> None:
    stub, real = tmp_path / "stub", tmp_path / "real"
    stub.write_text("# made by resolved\nnameserver 127.0.0.53\noptions edns0\nsearch lan\n")
    real.write_text("nameserver 192.0.2.53\nsearch lan\n")
    assert traits.reachable_resolv_conf((stub, real)) == "nameserver 192.0.2.53\nsearch lan\n"
    assert traits.reachable_resolv_conf((stub,)) == ""


def test_mounts_in_a_clusters_folder_are_found_deepest_first() -> None:
    mounts = "a /srv/c/x tmpfs rw 0 0\nb /srv/c/x/y\\040z tmpfs rw 0 0\nc /srv/other tmpfs rw 0 0\n"
    assert folder.mounts_below(Path("/srv/c"), mounts) == ["/srv/c/x/y z", "/srv/c/x"]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("HTTP/1.0 200 OK\r\nA: b\r\n\r\nok", ""),
        (
            "HTTP/1.1 500 Internal Server Error\r\n\r\n[-]etcd failed\n",
            "u answers 500 Internal Server Error: [-]etcd failed",
        ),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "u answers 403 Forbidden"),
        ("", "u answers nothing"),
    ],
)
def test_only_200_is_healthy_and_other_answers_are_told(answer: str, verdict: str) -> None:
    assert checks.judge("u", answer) == verdict


def test_a_large_log_is_kept_beside_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "etcd.log"
    log.write_text("x" * 100)
    logs.rotate(log)
    assert log.exists()
    monkeypatch.setattr(logs, "ROTATE_BYTES", 99)
    monkeypatch.setattr(logs, "LIMIT_BYTES", 99)
    logs.bound(log)
    assert log.read_text() == "" and (tmp_path / "etcd.log.1").read_text() == "x" * 100
    log.write_text("y" * 100)
    logs.rotate(log)
    assert not log.exists() and (tmp_path / "etcd.log.1").read_text() == "y" * 100
