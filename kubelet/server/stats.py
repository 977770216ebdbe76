"""L15: `/stats/summary`: what each pod uses, from the runtime's figures. Pure.

The shape is upstream's `stats/v1alpha1`; only what the runtime measures is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from apimachinery import clock, objects
from apimachinery.objects import Object
from kubelet.pods import identity


def summary(node_name: str, pods: Iterable[Object], containers: Iterable[Any], now: datetime) -> Object:
    """`containers` are CRI ContainerStats."""
    by_uid: dict[str, list[Any]] = {}
    for stats in containers:
        by_uid.setdefault(stats.attributes.labels.get(identity.POD_UID, ""), []).append(stats)
    listed = [_pod(pod, by_uid.get(objects.uid_of(pod), [])) for pod in pods]
    node: Object = {"nodeName": node_name}
    totals = [entry for entry in listed if "cpu" in entry]
    if totals:
        node |= {
            "cpu": {
                "time": clock.rfc3339(now),
                "usageCoreNanoSeconds": sum(t["cpu"]["usageCoreNanoSeconds"] for t in totals),
            },
            "memory": {
                "time": clock.rfc3339(now),
                "workingSetBytes": sum(t["memory"]["workingSetBytes"] for t in totals),
            },
        }
    return {"node": node, "pods": listed}


def _pod(pod: Object, containers: list[Any]) -> Object:
    reference = {"name": objects.name_of(pod), "namespace": objects.namespace_of(pod), "uid": objects.uid_of(pod)}
    result: Object = {"podRef": reference, "startTime": (pod.get("status") or {}).get("startTime")}
    entries = [_container(stats) for stats in containers]
    result["containers"] = entries
    if entries:
        newest = entries[0]["cpu"]["time"]
        cores = sum(entry["cpu"].get("usageNanoCores") or 0 for entry in entries)
        result["cpu"] = {
            "time": newest,
            "usageNanoCores": cores,
            "usageCoreNanoSeconds": sum(entry["cpu"]["usageCoreNanoSeconds"] for entry in entries),
        }
        result["memory"] = {
            "time": newest,
            "workingSetBytes": sum(entry["memory"]["workingSetBytes"] for entry in entries),
        }
    return result


def _container(stats: Any) -> Object:
    time = clock.rfc3339(datetime.fromtimestamp(stats.cpu.timestamp / 1e9, UTC))
    cpu: Object = {"time": time, "usageCoreNanoSeconds": stats.cpu.usage_core_nano_seconds.value}
    if stats.cpu.HasField("usage_nano_cores"):
        cpu["usageNanoCores"] = stats.cpu.usage_nano_cores.value
    return {
        "name": stats.attributes.labels.get(identity.CONTAINER_NAME) or stats.attributes.metadata.name,
        "cpu": cpu,
        "memory": {
            "time": time,
            "workingSetBytes": stats.memory.working_set_bytes.value,
            "usageBytes": stats.memory.usage_bytes.value,
            "rssBytes": stats.memory.rss_bytes.value,
        },
        "rootfs": {"usedBytes": stats.writable_layer.used_bytes.value},
    }
