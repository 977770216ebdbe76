"""How many pods a second the scheduler's own work allows: cycle and assume, without the API (S1 to S3).

    python -m bench.scheduler [NODES …]

Each row: a cluster of so many nodes with 20 pods each, then 2,000 pods of one Deployment, or 1,000 with a hard
constraint (evenly over zones; at most one a host).
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

from scheduler import config, cycle, podinfo
from scheduler.cache import Cache

PODS = 2_000
NODES = (100, 1_000, 5_000)
ZONE = "topology.kubernetes.io/zone"


def node(number: int) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": f"node-{number}", ZONE: f"zone-{number % 3}"}
    allocatable = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return {
        "metadata": {"name": f"node-{number}", "labels": labels},
        "spec": {},
        "status": {"allocatable": allocatable},
    }


def pod(name: str, kind: str, node_name: str = "") -> dict[str, Any]:
    owner = {"uid": f"rs-{kind}", "kind": "ReplicaSet", "name": kind, "controller": True}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": kind}, "ownerReferences": [owner]}
    requests = {"cpu": "100m", "memory": "200Mi"}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "nginx", "resources": {"requests": requests}}]}
    selector = {"matchLabels": {"app": kind}}
    if kind == "spread":
        spec["topologySpreadConstraints"] = [
            {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        ]
    if kind == "anti-affinity":
        term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if node_name:
        spec["nodeName"] = node_name
    return {"metadata": metadata, "spec": spec}


def measure(nodes: int, kind: str, pods: int) -> float:
    """Pods a second of CPU."""
    cache, chance = Cache(lambda _: {}), random.Random(1)
    profile = config.default().profiles[0]
    for number in range(nodes):
        cache.update_node(node(number))
        for index in range(20):
            cache.update_pod(podinfo.of(pod(f"old-{number}-{index}", "old", f"node-{number}")))
    waiting = [podinfo.of(pod(f"new-{number}", kind)) for number in range(pods)]
    start = 0
    began = time.process_time()  # its own CPU time: what else the machine does is not the scheduler's
    for one in waiting:
        decision = cycle.schedule(one, cache.snapshot(), profile, chance, start)
        start = decision.next_start
        assert decision.node is not None, decision.message
        cache.assume(one, decision.node)
    return pods / (time.process_time() - began)


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or list(NODES)
    print(f"{'nodes':>6} {'plain':>12} {'spread':>12} {'anti-affinity':>14}   pods a CPU second")
    for nodes in sizes:
        plain = measure(nodes, "plain", PODS)
        spread = measure(nodes, "spread", PODS // 2)
        anti = measure(nodes, "anti-affinity", min(nodes - 1, PODS // 2))
        print(f"{nodes:>6} {plain:>12,.0f} {spread:>12,.0f} {anti:>14,.0f}")


if __name__ == "__main__":
    main()
