"""A cluster's settings and facts as values, for tests of what is made from them."""

from __future__ import annotations

from pathlib import Path

from minictl.cluster import choose, containerd, plan, planning
from minictl.cluster.settings import CONTAINERD, HOLLOW, Ports, Settings

FOLDER = Path("/srv/demo/.cluster")


def settings(runtime: str = CONTAINERD, nodes: int = 2, folder: Path = FOLDER) -> Settings:
    fabric = "172.30.4.0/24" if runtime == CONTAINERD else ""
    return Settings(
        name="demo",
        token="0123456789abcdef",
        folder=folder,
        runtime=runtime,
        ports=Ports(6443, 2379, 2380, 10257, 10259, 5000),
        nodes=choose.make_nodes(nodes, fabric, [] if fabric else range(20000, 20000 + nodes)),
        fabric=fabric,
        root_address="172.30.4.254" if fabric else "127.0.0.1",
        pod_cidr="10.244.0.0/16",
        service_cidr="10.96.0.0/16",
        sockets=folder / "run",
    )


def facts(cores: int = 2) -> planning.Facts:
    return planning.Facts(
        programs=planning.Programs("/venv/bin/python", "/tools/etcd", "/tools/containerd", "/tools/runc", "/tools/cni"),
        environment={"PATH": "/usr/bin", "HOME": "/root"},
        cores=cores,
        traits=containerd.Traits(may_lower_oom_score=True, overlay=True),
        sandbox_image="localhost/pause:1",
        proxies={"HTTPS_PROXY": "http://proxy:3128"},
        registry=("/tools/docker-registry", "serve", "/srv/demo/.cluster/registry.yml"),
    )


def containerd_plan(nodes: int = 2) -> plan.ClusterPlan:
    return planning.plan_cluster(settings(CONTAINERD, nodes), facts())


def hollow_plan(nodes: int = 2) -> plan.ClusterPlan:
    return planning.plan_cluster(settings(HOLLOW, nodes), facts())
