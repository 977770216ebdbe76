"""What a cluster is made of, from its settings and this machine's facts. Pure: equal inputs give equal plans.

So a second `up` finds nothing to do, and a change restarts those processes that it concerns and no others.

    etcd → apiserver → controllers, scheduler, node-1-kubelet, node-2-kubelet …
    node-1 (its namespaces) → node-1-containerd → node-1-kubelet      --runtime containerd
    node-1-hollow → node-1-kubelet                                    --runtime hollow
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from certs.layout import ClusterPki
from minictl.cluster import containerd
from minictl.cluster.plan import HERE, TOKEN_VARIABLE, Check, ClusterPlan, File, Namespaces, Process, digest
from minictl.cluster.settings import HOLLOW, Node, Settings

# etcd refuses writes beyond it, so that a runaway client fills neither disk nor memory; its default is 2 GiB
ETCD_QUOTA_BYTES = 4 << 30
NODES_OF_24_BITS = 256  # as many ranges as a /16 has


@dataclass(frozen=True)
class Programs:
    """What the processes run: the Python that has this project, and the tools. Empty where a runtime needs none."""

    python: str
    etcd: str
    containerd: str = ""
    runc: str = ""
    cni: str = ""


@dataclass(frozen=True)
class Facts:
    """What the plan depends on besides the settings."""

    programs: Programs
    environment: Mapping[str, str]  # of every process: PATH, HOME and what Python needs to find this project
    cores: int
    traits: containerd.Traits
    sandbox_image: str
    proxies: Mapping[str, str]  # HTTP_PROXY and its kin, for pulls
    registry: tuple[str, ...] = ()  # the command of the local image registry; empty where none is needed
    resolv_conf: str = ""  # the nodes' /etc/resolv.conf
    pki: Mapping[str, str] = field(default_factory=dict)  # file name → digest, of what is in the folder of keys

    def digests(self, *names: str) -> tuple[str, ...]:
        return tuple(self.pki.get(name, "") for name in names)


def plan_cluster(settings: Settings, facts: Facts) -> ClusterPlan:
    """The whole cluster."""
    plan_node = _hollow_node if settings.runtime == HOLLOW else _containerd_node
    processes = [_etcd(settings, facts), _apiserver(settings, facts)]
    processes += [_controllers(settings, facts), _scheduler(settings, facts)]
    made_files: list[File] = []
    folders = [settings.logs, settings.folder / "etcd", settings.sockets]
    if facts.registry:
        processes.append(_registry(settings, facts, facts.registry))
    for node in settings.nodes:
        node_processes, node_files, node_folders = plan_node(settings, facts, node)
        processes += node_processes
        made_files += node_files
        folders += node_folders
    return ClusterPlan(settings.folder, settings.token, tuple(processes), tuple(made_files), tuple(folders))


def _module(facts: Facts, module: str) -> tuple[str, ...]:
    return (facts.programs.python, "-m", module)


def _etcd(settings: Settings, facts: Facts) -> Process:
    pki = ClusterPki(settings.pki)
    client = f"https://127.0.0.1:{settings.ports.etcd}"
    # A member needs a peer address even when it is alone; nobody is let in without a certificate.
    peer = f"https://127.0.0.1:{settings.ports.etcd_peer}"
    argv = [facts.programs.etcd, "--name=default", f"--data-dir={settings.folder / 'etcd'}"]
    argv += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
    argv += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"]
    for kind in ("", "peer-"):
        argv += [f"--{kind}cert-file={pki.cert('etcd-server')}", f"--{kind}key-file={pki.key('etcd-server')}"]
        argv += [f"--{kind}trusted-ca-file={pki.etcd_ca}", f"--{kind}client-cert-auth=true"]
    argv += [f"--quota-backend-bytes={ETCD_QUOTA_BYTES}", "--logger=zap", "--log-outputs=stderr"]
    check = _https(f"{client}/health", pki.etcd_ca, pki, "apiserver-etcd-client")
    inputs = facts.digests("etcd-ca.crt", "etcd-server.crt")
    return _process(settings, facts, "etcd", argv, check, address=client, inputs=inputs)


def _apiserver(settings: Settings, facts: Facts) -> Process:
    pki, port = ClusterPki(settings.pki), settings.ports.apiserver
    flags = {
        "bind-address": bind_address(settings),
        "advertise-address": settings.root_address,
        "secure-port": port,
        "workers": min(2, facts.cores),
        "etcd-servers": f"https://127.0.0.1:{settings.ports.etcd}",
        "etcd-cafile": pki.etcd_ca,
        "etcd-certfile": pki.cert("apiserver-etcd-client"),
        "etcd-keyfile": pki.key("apiserver-etcd-client"),
        "tls-cert-file": pki.cert("apiserver"),
        "tls-private-key-file": pki.key("apiserver"),
        "client-ca-file": pki.ca,
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": pki.sa_pub,
        "service-account-signing-key-file": pki.sa_key,
        "service-cluster-ip-range": settings.service_cidr,
        "kubelet-client-certificate": pki.cert("apiserver-kubelet-client"),
        "kubelet-client-key": pki.key("apiserver-kubelet-client"),
        "kubelet-certificate-authority": pki.ca,
        "proxy-client-cert-file": pki.cert("front-proxy-client"),
        "proxy-client-key-file": pki.key("front-proxy-client"),
        "requestheader-client-ca-file": pki.cert("front-proxy-ca"),
        "requestheader-allowed-names": "front-proxy-client",
        # It stands outside the nodes, where no service proxy leads cluster addresses to endpoints
        "enable-aggregator-routing": "true",
    }
    check = _https(f"{settings.server}/readyz", pki.ca, pki, "admin")
    argv = [*_module(facts, "apiserver"), *_flags(flags)]
    stems = (
        "ca",
        "apiserver",
        "apiserver-etcd-client",
        "apiserver-kubelet-client",
        "etcd-ca",
        "front-proxy-ca",
        "front-proxy-client",
    )
    inputs = facts.digests(*(f"{stem}.crt" for stem in stems), "sa.pub")
    return _process(settings, facts, "apiserver", argv, check, address=settings.server, after=("etcd",), inputs=inputs)


def bind_address(settings: Settings) -> str:
    """Loopback for the person, the fabric for the nodes, and nothing of this machine's real networks."""
    return "127.0.0.1" if settings.root_address == "127.0.0.1" else f"127.0.0.1,{settings.root_address}"


def _controllers(settings: Settings, facts: Facts) -> Process:
    pki, port = ClusterPki(settings.pki), settings.ports.controllers
    flags = {
        "kubeconfig": pki.kubeconfig("controller-manager"),
        "leader-elect": "true",
        "allocate-node-cidrs": "true",
        "cluster-cidr": settings.pod_cidr,
        "node-cidr-mask-size": 24 if len(settings.nodes) <= NODES_OF_24_BITS else 26,
        "root-ca-file": pki.ca,
        "healthz-port": port,
    }
    argv = [*_module(facts, "controllers"), *_flags(flags)]
    return _client(settings, facts, "controllers", argv, port, "controller-manager.conf")


def _scheduler(settings: Settings, facts: Facts) -> Process:
    pki, port = ClusterPki(settings.pki), settings.ports.scheduler
    flags = {"kubeconfig": pki.kubeconfig("scheduler"), "leader-elect": "true", "healthz-port": port}
    argv = [*_module(facts, "scheduler"), *_flags(flags)]
    return _client(settings, facts, "scheduler", argv, port, "scheduler.conf")


def _client(settings: Settings, facts: Facts, name: str, argv: list[str], port: int, kubeconfig: str) -> Process:
    address, inputs = f"http://127.0.0.1:{port}", facts.digests(kubeconfig)
    check = Check("http", f"{address}/healthz")
    return _process(settings, facts, name, argv, check, address=address, after=("apiserver",), inputs=inputs)


def _registry(settings: Settings, facts: Facts, argv: tuple[str, ...]) -> Process:
    """It pulls from the world on the nodes' behalf, so it gets this machine's proxies."""
    address = f"http://{settings.registry}"
    check = Check("http", f"{address}/v2/")
    return _process(settings, facts, "registry", list(argv), check, address=address, env=facts.proxies)


_NodeParts = tuple[list[Process], list[File], list[Path]]


def _containerd_node(settings: Settings, facts: Facts, node: Node) -> _NodeParts:
    folder = settings.node_folder(node)
    resolv_conf = folder / "resolv.conf"
    init = Path(__file__).with_name("node_init.py")
    argv = [facts.programs.python, "-I", "-S", str(init), node.name, str(resolv_conf)]
    namespaces = Namespaces(own=True, network=f"/run/netns/{settings.scoped(node)}")
    check = Check("file", "/run/armillary-node", within=node.name)
    host = _process(settings, facts, node.name, argv, check, address=node.address, namespaces=namespaces)
    config, places = folder / "containerd.toml", containerd_places(settings, facts, node)
    files = [File(config, containerd.config(places, facts.traits, facts.sandbox_image))]
    files.append(File(resolv_conf, facts.resolv_conf))
    daemon = _process(
        settings,
        facts,
        f"{node.name}-containerd",
        [facts.programs.containerd, f"--config={config}"],
        Check("socket", str(containerd.SOCKET), within=node.name),
        address=f"unix://{containerd.SOCKET}",
        after=(node.name,),
        namespaces=Namespaces(inside=node.name),
        ends_group=False,
        env=facts.proxies,
        inputs=(digest(files[0].content),),
    )
    kubelet = _kubelet(
        settings,
        facts,
        node,
        f"unix://{containerd.SOCKET}",
        {
            "cgroup-root": f"/{settings.scoped(node)}",
            "cni-conf-dir": places.cni_conf,
            "cni-bin-dir": places.cni_bin,
        },
        after=(daemon.name, "apiserver"),
        namespaces=Namespaces(inside=node.name),
    )
    return [host, daemon, kubelet], files, [folder, places.root, places.cni_conf, places.registries]


def containerd_places(settings: Settings, facts: Facts, node: Node) -> containerd.Places:
    folder = settings.node_folder(node)
    return containerd.Places(
        root=folder / "containerd",
        cni_conf=folder / "cni",
        cni_bin=Path(facts.programs.cni),
        registries=folder / "certs.d",
        runc=Path(facts.programs.runc),
    )


def _hollow_node(settings: Settings, facts: Facts, node: Node) -> _NodeParts:
    listen = hollow_endpoint(settings, node)
    runtime = _process(
        settings,
        facts,
        f"{node.name}-hollow",
        [*_module(facts, "kubelet.hollow"), f"--listen={listen}"],
        Check("socket", listen.removeprefix("unix://")),
        address=listen,
    )
    kubelet = _kubelet(settings, facts, node, listen, {"cgroups": "off"}, after=(runtime.name, "apiserver"))
    return [runtime, kubelet], [], [settings.node_folder(node)]


def hollow_endpoint(settings: Settings, node: Node) -> str:
    return f"unix://{settings.sockets / node.name}.sock"


def _kubelet(
    settings: Settings,
    facts: Facts,
    node: Node,
    endpoint: str,
    flags: Mapping[str, object],
    *,
    after: tuple[str, ...],
    namespaces: Namespaces = HERE,
) -> Process:
    pki = ClusterPki(settings.pki)
    common = {
        "kubeconfig": pki.kubeconfig(f"kubelet-{node.name}"),
        "hostname-override": node.name,
        "container-runtime-endpoint": endpoint,
        "root-dir": settings.node_folder(node) / "kubelet",
        "node-ip": node.address,
        "port": node.kubelet_port,
        "tls-cert-file": pki.cert(f"kubelet-{node.name}"),
        "tls-private-key-file": pki.key(f"kubelet-{node.name}"),
        "client-ca-file": pki.ca,
        "cluster-cidr": settings.pod_cidr,
        "healthz-port": 0,
    }
    address = f"https://{node.address}:{node.kubelet_port}"
    check = _https(f"{address}/healthz", pki.ca, pki, "apiserver-kubelet-client")
    argv = [*_module(facts, "kubelet"), *_flags({**common, **flags})]
    stem = f"kubelet-{node.name}"
    return _process(
        settings,
        facts,
        f"{node.name}-kubelet",
        argv,
        check,
        address=address,
        after=after,
        namespaces=namespaces,
        inputs=facts.digests(f"{stem}.conf", f"{stem}.crt", "ca.crt"),
    )


def _process(
    settings: Settings,
    facts: Facts,
    name: str,
    argv: list[str],
    check: Check,
    *,
    address: str,
    after: tuple[str, ...] = (),
    namespaces: Namespaces = HERE,
    ends_group: bool = True,
    env: Mapping[str, str] | None = None,
    inputs: tuple[str, ...] = (),
) -> Process:
    return Process(
        name=name,
        argv=tuple(argv),
        env={**facts.environment, **(env or {}), TOKEN_VARIABLE: settings.token},
        log=settings.logs / f"{name}.log",
        check=check,
        address=address,
        after=after,
        namespaces=namespaces,
        inputs=inputs,
        ends_group=ends_group,
    )


def _https(url: str, ca: Path, pki: ClusterPki, stem: str) -> Check:
    return Check("https", url, ca=str(ca), cert=str(pki.cert(stem)), key=str(pki.key(stem)))


def _flags(flags: Mapping[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]
