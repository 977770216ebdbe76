"""All keys and certificates of one cluster in one folder, under upstream's file names and identities.

    ca                            the cluster's authority: serving and client certificates
    apiserver                     serving, for every name and address clients use
    apiserver-kubelet-client      the apiserver as a client of kubelets           (O system:masters)
    admin                         the person who made the cluster                 (O system:masters)
    controller-manager, scheduler CN system:kube-controller-manager, system:kube-scheduler
    kubelet-NODE-client           CN system:node:NODE, O system:nodes
    kubelet-NODE                  serving
    front-proxy-ca                an authority of its own: who has a certificate of it may name any user
    front-proxy-client            the apiserver as a client of extension servers
    etcd-ca                       an authority of its own: no client of the apiserver is a client of etcd
    etcd-server, apiserver-etcd-client
    sa.key, sa.pub                sign and check service-account tokens

`make_cluster_pki` may be run again at any time: it keeps what is good and makes what is missing, unreadable, about to
expire, issued by another authority, or lacks a name that is asked for now. The authorities themselves are replaced only
when a file of theirs is gone or about to expire, since everything else depends on them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from certs import authority, files, kubeconfig
from certs.authority import Authority, Pair
from certs.layout import ClusterPki

__all__ = ["ClusterPki", "Identity", "hosts_of", "is_good", "make_cluster_pki", "node_identity"]

RENEW_BEFORE = timedelta(days=30)
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
SERVICE_ADDRESS = "10.96.0.1"  # the first address of the default service range
LOOPBACK = ("localhost", "127.0.0.1")
DEFAULT_PORT = 6443


@dataclass(frozen=True)
class Identity:
    """A client of the apiserver: the file names' stem, and what the apiserver will see."""

    stem: str
    user: str
    groups: tuple[str, ...] = ()


ADMIN = Identity("admin", "kubernetes-admin", ("system:masters",))
CONTROLLER_MANAGER = Identity("controller-manager", "system:kube-controller-manager")
SCHEDULER = Identity("scheduler", "system:kube-scheduler")
KUBELET_CLIENT = Identity("apiserver-kubelet-client", "kube-apiserver-kubelet-client", ("system:masters",))
FRONT_PROXY = Identity("front-proxy-client", "front-proxy-client")


def node_identity(node: str) -> Identity:
    return Identity(f"kubelet-{node}-client", f"system:node:{node}", ("system:nodes",))


def make_cluster_pki(
    folder: Path,
    *,
    api_hosts: Iterable[str] = (),
    nodes: dict[str, list[str]],
    etcd_hosts: Iterable[str] = (),
    server: str | None = None,
    component_server: str | None = None,
    node_server: str | None = None,
    name: str = "armillary",
    now: datetime | None = None,
) -> ClusterPki:
    """Make or complete the folder.

    `api_hosts`, `etcd_hosts` and the nodes' lists are DNS names or addresses, beside the ones always there. `server`
    is the URL in the kubeconfigs; `component_server` the one of controllers and scheduler, `node_server` the one of the
    kubelets, where these reach the apiserver elsewhere.
    """
    moment = now or datetime.now(UTC)
    pki = ClusterPki(folder)
    hosts = list(api_hosts)
    server = server or f"https://{_bracketed(hosts[0]) if hosts else '127.0.0.1'}:{DEFAULT_PORT}"
    ca = _authority(pki, "ca", "kubernetes", moment)
    _serving(pki, ca, "apiserver", "kube-apiserver", [*SERVICE_NAMES, *LOOPBACK, SERVICE_ADDRESS, *hosts], moment)
    _client(pki, ca, KUBELET_CLIENT, moment)
    _client(pki, _authority(pki, "front-proxy-ca", "front-proxy-ca", moment), FRONT_PROXY, moment)
    _etcd(pki, list(etcd_hosts), moment)
    _signing_key(pki)
    for identity in (ADMIN, CONTROLLER_MANAGER, SCHEDULER):
        _client(pki, ca, identity, moment)
        url = server if identity is ADMIN else component_server or server
        _kubeconfig(pki, identity, identity.stem, url, name)
    for node, addresses in nodes.items():
        _serving(
            pki, ca, f"kubelet-{node}", f"system:node:{node}", [node, *addresses], moment, groups=("system:nodes",)
        )
        _client(pki, ca, node_identity(node), moment)
        _kubeconfig(pki, node_identity(node), f"kubelet-{node}", node_server or component_server or server, name)
    return pki


def _etcd(pki: ClusterPki, hosts: list[str], moment: datetime) -> None:
    ca = _authority(pki, "etcd-ca", "etcd-ca", moment)
    _serving(pki, ca, "etcd-server", "etcd-server", [*LOOPBACK, *hosts], moment, also_client=True)
    _client(pki, ca, Identity("apiserver-etcd-client", "kube-apiserver-etcd-client"), moment)


def _authority(pki: ClusterPki, stem: str, common_name: str, moment: datetime) -> Authority:
    cert_path, key_path = pki.cert(stem), pki.key(stem)
    if cert_path.exists() and key_path.exists():
        known = Authority.load(cert_path, key_path)
        if moment + RENEW_BEFORE < known.cert.not_valid_after_utc:
            return known
    made = Authority.create(common_name, now=moment)
    files.write_pair(cert_path, key_path, made.pair)
    return made


def _serving(
    pki: ClusterPki,
    ca: Authority,
    stem: str,
    common_name: str,
    hosts: list[str],
    moment: datetime,
    *,
    groups: tuple[str, ...] = (),
    also_client: bool = False,
) -> None:
    dns_names = [host for host in dict.fromkeys(hosts) if not _is_address(host)]
    addresses = [host for host in dict.fromkeys(hosts) if _is_address(host)]

    def issue() -> Pair:
        return ca.issue_server(common_name, dns_names, addresses, groups=groups, also_client=also_client, now=moment)

    _keep_or_issue(pki, ca, stem, moment, issue, wanted_hosts=set(dns_names) | set(addresses))


def _client(pki: ClusterPki, ca: Authority, identity: Identity, moment: datetime) -> None:
    def issue() -> Pair:
        return ca.issue_client(identity.user, identity.groups, now=moment)

    _keep_or_issue(pki, ca, identity.stem, moment, issue, wanted_hosts=set())


def _keep_or_issue(
    pki: ClusterPki, ca: Authority, stem: str, moment: datetime, issue: Callable[[], Pair], *, wanted_hosts: set[str]
) -> None:
    if not is_good(pki, stem, ca, wanted_hosts, moment):
        files.write_pair(pki.cert(stem), pki.key(stem), issue())


def is_good(pki: ClusterPki, stem: str, ca: Authority, wanted_hosts: set[str], moment: datetime) -> bool:
    """Whether the pair on disk is whole, ours, long-lived enough and covers the wanted names."""
    try:
        cert = x509.load_pem_x509_certificate(pki.cert(stem).read_bytes())
        key = serialization.load_pem_private_key(pki.key(stem).read_bytes(), password=None)
        cert.verify_directly_issued_by(ca.cert)
    except (OSError, ValueError, TypeError, x509.InvalidVersion, InvalidSignature):
        return False
    in_time = moment + RENEW_BEFORE < cert.not_valid_after_utc
    return in_time and key.public_key() == cert.public_key() and wanted_hosts <= hosts_of(cert)


def hosts_of(cert: x509.Certificate) -> set[str]:
    """The DNS names and addresses a certificate is good for."""
    try:
        names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = names.get_values_for_type(x509.IPAddress)
    return set(names.get_values_for_type(x509.DNSName)) | {str(address) for address in addresses}


def _signing_key(pki: ClusterPki) -> None:
    if pki.sa_key.exists() and pki.sa_pub.exists():
        return
    pair = authority.new_signing_key()
    files.write_pair(pki.sa_pub, pki.sa_key, pair)


def _kubeconfig(pki: ClusterPki, identity: Identity, stem: str, server: str, cluster: str) -> None:
    """Written only when it changes, so that a running component does not see its file touched."""
    content = kubeconfig.render(
        server, pki.ca.read_bytes(), pki.pair(identity.stem), cluster=cluster, user=identity.user
    )
    path = pki.kubeconfig(stem)
    if not path.exists() or path.read_bytes() != content:
        files.write(path, content)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
