"""The folder of a cluster's keys: complete, private, and kept when it is still good."""

from __future__ import annotations

import base64
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from certs import __main__ as command
from certs import cluster

NODES = {"node-1": ["172.30.0.11"]}


def names_of(cert: x509.Certificate) -> tuple[str, list[str]]:
    groups = [str(a.value) for a in cert.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    return str(cert.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value), groups


def load(pki: cluster.ClusterPki, stem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pki.cert(stem).read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("stem", "user", "groups"),
    [
        ("admin", "kubernetes-admin", ["system:masters"]),
        ("controller-manager", "system:kube-controller-manager", []),
        ("scheduler", "system:kube-scheduler", []),
        ("kubelet-node-1-client", "system:node:node-1", ["system:nodes"]),
        ("apiserver-kubelet-client", "kube-apiserver-kubelet-client", ["system:masters"]),
        ("front-proxy-client", "front-proxy-client", []),
    ],
)
def test_each_component_has_upstreams_identity(tmp_path: Path, stem: str, user: str, groups: list[str]) -> None:
    pki = cluster.make_cluster_pki(tmp_path, nodes=NODES)
    assert names_of(load(pki, stem)) == (user, groups)


def test_the_apiserver_serves_under_every_name_clients_use(tmp_path: Path) -> None:
    pki = cluster.make_cluster_pki(tmp_path, api_hosts=["172.30.0.254", "api.example.com"], nodes=NODES)
    assert cluster.hosts_of(load(pki, "apiserver")) == {
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
        "127.0.0.1",
        "10.96.0.1",
        "172.30.0.254",
        "api.example.com",
    }
    assert cluster.hosts_of(load(pki, "kubelet-node-1")) == {"node-1", "172.30.0.11"}


def test_every_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    cluster.make_cluster_pki(tmp_path / "pki", nodes=NODES)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "pki").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    cluster.make_cluster_pki(tmp_path, nodes=NODES)
    before = contents(tmp_path)
    cluster.make_cluster_pki(tmp_path, nodes=NODES)
    assert contents(tmp_path) == before


def test_only_what_is_missing_or_damaged_is_made_again(tmp_path: Path) -> None:
    pki = cluster.make_cluster_pki(tmp_path, nodes=NODES)
    before = contents(tmp_path)
    pki.cert("scheduler").unlink()
    pki.key("admin").write_bytes(b"half a k")
    cluster.make_cluster_pki(tmp_path, nodes=NODES)
    changed = {name for name, content in contents(tmp_path).items() if content != before[name]}
    assert changed == {"scheduler.crt", "scheduler.key", "scheduler.conf", "admin.crt", "admin.key", "admin.conf"}


def test_a_new_host_renews_the_serving_certificate_only(tmp_path: Path) -> None:
    cluster.make_cluster_pki(tmp_path, nodes=NODES)
    before = contents(tmp_path)
    cluster.make_cluster_pki(tmp_path, api_hosts=["api.example.com"], nodes=NODES, server="https://127.0.0.1:6443")
    changed = {name for name, content in contents(tmp_path).items() if content != before[name]}
    assert changed == {"apiserver.crt", "apiserver.key"}


def test_certificates_about_to_expire_are_renewed_and_the_authority_is_kept(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    pki = cluster.make_cluster_pki(tmp_path, nodes=NODES, now=start)
    authority = pki.ca.read_bytes()
    cluster.make_cluster_pki(tmp_path, nodes=NODES, now=start + timedelta(days=340))
    assert load(pki, "admin").not_valid_after_utc > start + timedelta(days=700)
    assert pki.ca.read_bytes() == authority


def test_a_lost_authority_renews_all_it_had_issued(tmp_path: Path) -> None:
    pki = cluster.make_cluster_pki(tmp_path, nodes=NODES)
    pki.ca.unlink()
    cluster.make_cluster_pki(tmp_path, nodes=NODES)
    for stem in ("apiserver", "admin", "kubelet-node-1", "kubelet-node-1-client"):
        load(pki, stem).verify_directly_issued_by(load(pki, "ca"))


def test_etcd_has_an_authority_of_its_own(tmp_path: Path) -> None:
    pki = cluster.make_cluster_pki(tmp_path, nodes=NODES, etcd_hosts=["etcd"])
    load(pki, "apiserver-etcd-client").verify_directly_issued_by(load(pki, "etcd-ca"))
    assert "etcd" in cluster.hosts_of(load(pki, "etcd-server"))
    with pytest.raises(ValueError):
        load(pki, "admin").verify_directly_issued_by(load(pki, "etcd-ca"))


def test_a_kubeconfig_carries_server_authority_and_client_certificate(tmp_path: Path) -> None:
    pki = cluster.make_cluster_pki(
        tmp_path, nodes=NODES, server="https://127.0.0.1:7443", node_server="https://172.30.0.254:7443"
    )
    admin = yaml.safe_load(pki.kubeconfig("admin").read_bytes())
    kubelet = yaml.safe_load(pki.kubeconfig("kubelet-node-1").read_bytes())
    assert admin["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:7443"
    assert kubelet["clusters"][0]["cluster"]["server"] == "https://172.30.0.254:7443"
    assert base64.b64decode(admin["clusters"][0]["cluster"]["certificate-authority-data"]) == pki.ca.read_bytes()
    assert base64.b64decode(admin["users"][0]["user"]["client-key-data"]) == pki.key("admin").read_bytes()
    assert admin["current-context"] == admin["contexts"][0]["name"]


def test_the_command_fills_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "--dir",
        str(tmp_path),
        "--api-host",
        "apiserver",
        "--node",
        "node-1=10.0.0.2,node-1.lan",
        "--node",
        "n2",
    ]
    assert command.main(arguments) == 0
    pki = cluster.ClusterPki(tmp_path)
    assert cluster.hosts_of(load(pki, "kubelet-node-1")) == {"node-1", "10.0.0.2", "node-1.lan"}
    server = yaml.safe_load(pki.kubeconfig("admin").read_bytes())["clusters"][0]["cluster"]["server"]
    assert server == "https://apiserver:6443"
    assert str(tmp_path) in capsys.readouterr().out


def test_the_command_says_what_is_wrong_with_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--dir", str(tmp_path), "--node", "=10.0.0.2"]) == 1
    assert "a name is needed" in capsys.readouterr().err
