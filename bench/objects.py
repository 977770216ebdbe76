"""What the benchmarks write: a ConfigMap of 1 KB, and a pod that is read as 6 KB, as upstream was measured with."""

from __future__ import annotations

import orjson


def config_map(name: str, round_: int = 0) -> bytes:
    """A ConfigMap whose data is 1 KB; `round_` makes each update a change."""
    data = {"payload": "x" * 1000, "round": str(round_)}
    return orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def pod(name: str) -> bytes:
    """A pod with environment, volumes, probes and annotations: 6 KB with its defaults and the owners of its fields."""
    container = {
        "name": "app",
        "image": "nginx",
        "env": [{"name": f"SETTING_{number}", "value": "some value of usual length"} for number in range(12)],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
        "ports": [{"containerPort": 80}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 80}},
        "volumeMounts": [{"name": f"config-{number}", "mountPath": f"/etc/config-{number}"} for number in range(4)],
    }
    volumes = [{"name": f"config-{number}", "configMap": {"name": f"config-{number}"}} for number in range(4)]
    metadata = {
        "name": name,
        "labels": {"app": "bench", "tier": "backend", "release": "stable"},
        "annotations": {f"example.com/note-{number}": "n" * 120 for number in range(9)},
    }
    spec = {"containers": [container], "volumes": volumes}
    return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
