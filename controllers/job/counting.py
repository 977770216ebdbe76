"""Counting each pod that ended exactly once, though pods vanish and writes fail (`uncountedTerminatedPods`).

A pod's end is counted in three writes: its uid goes into the status; the finalizer that holds the pod is removed; the
uid leaves the status and the count rises. Whatever is interrupted is continued from what the objects say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apimachinery import objects
from apimachinery.objects import Object
from controllers.job import members, policy

UIDS_MAX = 500  # in one status, as upstream: an object has a size limit


@dataclass(frozen=True, slots=True)
class Tally:
    """`succeeded` and `failed` are final counts; the uncounted are uids on their way there."""

    succeeded: int
    failed: int
    uncounted_succeeded: tuple[str, ...]
    uncounted_failed: tuple[str, ...]
    completed_indexes: frozenset[int]
    release: tuple[Object, ...]  # pods whose finalizer may go once this tally is written

    @property
    def all_succeeded(self) -> int:
        return self.succeeded + len(self.uncounted_succeeded)

    @property
    def all_failed(self) -> int:
        return self.failed + len(self.uncounted_failed)

    @property
    def settled(self) -> bool:
        return not (self.uncounted_succeeded or self.uncounted_failed)


def tally(job: Object, owned: Sequence[Object]) -> Tally:
    """The tally after the pods as the cache has them."""
    status = job.get("status") or {}
    uncounted = status.get("uncountedTerminatedPods") or {}
    tracked = {objects.uid_of(pod) for pod in owned if members.is_tracked(pod)}
    waiting = {kind: [uid for uid in uncounted.get(kind) or [] if uid in tracked] for kind in ("succeeded", "failed")}
    counted = {
        kind: int(status.get(kind) or 0) + len(uncounted.get(kind) or []) - len(waiting[kind]) for kind in waiting
    }
    indexes = members.parse_intervals(status.get("completedIndexes"))
    known = {*waiting["succeeded"], *waiting["failed"]}
    release = [pod for pod in owned if members.is_tracked(pod) and objects.uid_of(pod) in known]
    for pod in _newly_ended(job, owned, known):
        if members.has_succeeded(pod):
            if not _count_success(job, pod, waiting["succeeded"], indexes):
                release.append(pod)  # its index is done already
                continue
        elif policy.judge(job, pod).action != "Ignore":
            waiting["failed"].append(objects.uid_of(pod))
        release.append(pod)
        if len(waiting["succeeded"]) + len(waiting["failed"]) >= UIDS_MAX:
            break
    return Tally(
        counted["succeeded"],
        counted["failed"],
        tuple(waiting["succeeded"]),
        tuple(waiting["failed"]),
        frozenset(indexes),
        tuple(release),
    )


def _newly_ended(job: Object, owned: Iterable[Object], known: set[str]) -> list[Object]:
    return [
        pod
        for pod in owned
        if members.is_tracked(pod)
        and objects.uid_of(pod) not in known
        and (members.has_succeeded(pod) or members.has_failed(job, pod))
    ]


def _count_success(job: Object, pod: Object, succeeded: list[str], indexes: set[int]) -> bool:
    if members.is_indexed(job):
        index = members.index_of(pod)
        if index is None or index in indexes or index >= int(job["spec"].get("completions") or 0):
            return False
        indexes.add(index)
    succeeded.append(objects.uid_of(pod))
    return True
