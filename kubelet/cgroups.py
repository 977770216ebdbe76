"""L5: which cgroup a pod belongs to and what its containers may use.

The tree is upstream's, under `--cgroup-root`: `kubepods/podUID` (Guaranteed), `kubepods/burstable/podUID`,
`kubepods/besteffort/podUID`. The runtime creates it when it makes the sandbox; the kubelet sets the weights of the QoS
classes and of the pod, and removes the pod's cgroup after the pod. Both cgroup versions are understood.
With `--cgroups off` (no rights, or the hollow runtime) nothing is named and nothing is touched.
Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/ and KEP-2254 (cgroup v2)
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cri_api.v1 import api_pb2 as pb

from apimachinery import objects, pods, quantity
from apimachinery.objects import Object

log = logging.getLogger(__name__)
CPU_PERIOD_MICROSECONDS = 100_000
MIN_SHARES, MAX_SHARES = 2, 262_144
MIN_QUOTA_MICROSECONDS = 1000
_OOM_GUARANTEED, _OOM_BEST_EFFORT = -997, 1000
_MOUNTS = Path("/proc/mounts")


class Cgroups:
    """Names and removes the cgroups of pods. `root` None: off."""

    def __init__(self, root: str | None, *, memory_bytes: int, mounts: Path = _MOUNTS) -> None:
        self._root = root
        self._memory_bytes = memory_bytes
        self._hierarchies = hierarchies(mounts) if root is not None else []

    def parent_of(self, pod: Object) -> str:
        """The `cgroup_parent` of the pod's sandbox; "" leaves it to the runtime."""
        if self._root is None:
            return ""
        qos = pods.qos_class(pod).lower()
        between = "" if qos == "guaranteed" else f"{qos}/"
        return f"{self._root.rstrip('/')}/kubepods/{between}pod{objects.uid_of(pod)}"

    def resources(self, pod: Object, container: Object) -> pb.LinuxContainerResources:
        """What one container may use: weight by request, ceiling by limit, and its place in line when memory is out."""
        resources = container.get("resources") or {}
        asked, limits = resources.get("requests") or {}, resources.get("limits") or {}
        cpu = quantity.milli(asked.get("cpu", limits.get("cpu", 0)))
        result = pb.LinuxContainerResources(
            cpu_shares=shares(cpu),
            oom_score_adj=oom_score(pod, quantity.integer(asked.get("memory", 0)), self._memory_bytes),
        )
        if "cpu" in limits:
            result.cpu_period = CPU_PERIOD_MICROSECONDS
            result.cpu_quota = quota(quantity.milli(limits["cpu"]))
        if "memory" in limits:
            result.memory_limit_in_bytes = quantity.integer(limits["memory"])
        return result

    def apply(self, pod: Object, others: Iterable[Object]) -> None:
        """Set what the pod as a whole may use, and the weights of the QoS classes among all pods of the node.

        Once the sandbox exists, for then the runtime has made the folders. What cannot be written is said and left.
        """
        if self._root is None:
            return
        everyone = {objects.uid_of(one): one for one in [*others, pod]}.values()
        asked = sum(_milli(one) for one in everyone if pods.qos_class(one) == "Burstable")
        base = self.parent_of(pod).rpartition("/kubepods/")[0] + "/kubepods"
        values = {
            f"{base}/burstable": Values(shares(asked)),
            f"{base}/besteffort": Values(MIN_SHARES),
            self.parent_of(pod): pod_values(pod),
        }
        for path, wanted in values.items():
            for hierarchy in self._hierarchies:
                _write(hierarchy / path.strip("/"), wanted)

    def remove(self, uid: str) -> None:
        """Removes what is left of a pod's cgroup, in every hierarchy. The processes in it are gone."""
        if self._root is None:
            return
        for hierarchy in self._hierarchies:
            base = hierarchy / self._root.strip("/") / "kubepods"
            for folder in (base, base / "burstable", base / "besteffort"):
                _remove_tree(folder / f"pod{uid}")

    def pod_uids(self) -> set[str]:
        """Pods that have a cgroup, for finding orphans."""
        found: set[str] = set()
        for hierarchy in self._hierarchies:
            base = hierarchy / (self._root or "").strip("/") / "kubepods"
            for folder in (base, base / "burstable", base / "besteffort"):
                with contextlib.suppress(OSError):
                    found |= {entry.name[3:] for entry in folder.iterdir() if entry.name.startswith("pod")}
        return found


@dataclass(frozen=True, slots=True)
class Values:
    """What one cgroup may use; None: no ceiling."""

    shares: int
    quota: int | None = None
    memory_bytes: int | None = None

    def files(self) -> Iterator[tuple[str, str]]:
        """File name and content, for both versions: a hierarchy has the one or the other."""
        yield "cpu.shares", str(self.shares)
        yield "cpu.weight", str(1 + (self.shares - MIN_SHARES) * 9999 // (MAX_SHARES - MIN_SHARES))
        if self.quota is not None:
            yield "cpu.cfs_quota_us", str(self.quota)
            yield "cpu.max", f"{self.quota} {CPU_PERIOD_MICROSECONDS}"
        if self.memory_bytes is not None:
            yield "memory.limit_in_bytes", str(self.memory_bytes)
            yield "memory.max", str(self.memory_bytes)


def pod_values(pod: Object) -> Values:
    """The pod's weight is what its containers ask for together; it has a ceiling where each of them has one."""
    limits = [(c.get("resources") or {}).get("limits") or {} for c in pod["spec"].get("containers") or []]
    cpu = sum(quantity.milli(one["cpu"]) for one in limits) if all("cpu" in one for one in limits) else None
    memory = sum(quantity.integer(one["memory"]) for one in limits) if all("memory" in one for one in limits) else None
    if pod["spec"].get("initContainers"):
        cpu = memory = None  # those may use more than the apps do; each has its own ceiling
    return Values(shares(_milli(pod)), quota(cpu) if cpu else None, memory or None)


def hierarchies(mounts: Path = _MOUNTS) -> list[Path]:
    """Where cgroups are mounted: one folder with version 2, one for each controller with version 1, both when mixed."""
    rows = [line.split() for line in mounts.read_text().splitlines()]
    return [Path(row[1]) for row in rows if row[2] in ("cgroup", "cgroup2")]


def shares(milli_cpu: int) -> int:
    return min(MAX_SHARES, max(MIN_SHARES, milli_cpu * 1024 // 1000))


def quota(milli_cpu: int) -> int:
    return max(MIN_QUOTA_MICROSECONDS, milli_cpu * CPU_PERIOD_MICROSECONDS // 1000)


def oom_score(pod: Object, memory_request: int, capacity: int) -> int:
    """Guaranteed pods die last, best-effort first; between them, who asked for more of the node dies later."""
    qos = pods.qos_class(pod)
    if qos == "Guaranteed":
        return _OOM_GUARANTEED
    if qos == "BestEffort":
        return _OOM_BEST_EFFORT
    score = 1000 - 1000 * memory_request // max(capacity, 1)
    return max(1000 + _OOM_GUARANTEED, min(score, _OOM_BEST_EFFORT - 1))


def _milli(pod: Object) -> int:
    return int(pods.requests(pod).get("cpu", Decimal(0)) * 1000)


def _write(folder: Path, values: Values) -> None:
    for name, content in values.files():
        path = folder / name
        if not path.exists():
            continue
        try:
            path.write_text(content)
        except OSError as error:
            log.warning("cgroup %s: %s", path, error, extra={"step": "L5"})


def _remove_tree(folder: Path) -> None:
    """cgroups are removed folder by folder, leaves first; their files go by themselves."""
    for parent, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # a process still in it, or gone meanwhile: the next sweep looks again
            os.rmdir(parent)
