"""What a Deployment's rollout needs now, decided from it and its ReplicaSets alone (step C2).

`plan_rollout` walks upstream's order: paused → only scale; resized → scale, in proportion; else the strategy: grow the
new ReplicaSet as far as the surge allows, or else shrink old ones as far as availability allows. One step a reconcile:
the next follows when the ReplicaSets have reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apimachinery import objects
from apimachinery.objects import Object
from controllers import podtemplate
from controllers.deployment import revisions, sizes, status
from controllers.deployment.status import condition


@dataclass(frozen=True, slots=True)
class Scaled:
    """One change of size, as the event tells it."""

    name: str
    before: int
    after: int

    def __str__(self) -> str:
        direction = "up" if self.after > self.before else "down"
        return f"Scaled {direction} replica set {self.name} from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class Plan:
    """`create` is a ReplicaSet to make, `updates` are ReplicaSets as they shall be, `revision` the Deployment's own."""

    status: Object
    create: Object | None = None
    updates: tuple[Object, ...] = ()
    scaled: tuple[Scaled, ...] = ()
    deletes: tuple[Object, ...] = ()
    revision: int | None = None
    recheck_after_seconds: float | None = None

    def __str__(self) -> str:
        steps = [f"create {objects.name_of(self.create)}"] if self.create else []
        steps += [str(entry) for entry in self.scaled]
        steps += [f"delete {objects.name_of(rs)}" for rs in self.deletes]
        return "; ".join(steps) or "nothing to do"


def plan_rollout(deployment: Object, replicasets: Sequence[Object], *, old_pods_run: bool, now: datetime) -> Plan:
    """`replicasets` are those the Deployment owns; `old_pods_run` whether a pod of an old template still exists."""
    rollout = _Rollout(deployment, list(replicasets), now)
    if objects.is_deleting(deployment):
        return rollout.plan(track_progress=False)
    rollout.note_pause()
    if deployment["spec"].get("paused"):
        rollout.synchronise_new()
        rollout.scale()
        rollout.clean_up()
        return rollout.plan(track_progress=False)
    if sizes.is_scaling(deployment, replicasets):
        rollout.synchronise_new()
        rollout.scale()
        return rollout.plan(track_progress=False)
    if sizes.is_rolling(deployment):
        rollout.roll()
    else:
        rollout.recreate(old_pods_run)
    return rollout.plan(track_progress=True)


@dataclass
class _Rollout:
    """A rollout in planning: ReplicaSets as they will be after the changes planned so far."""

    deployment: Object
    replicasets: list[Object]
    now: datetime
    create: Object | None = None
    changed: dict[str, Object] = field(default_factory=dict)
    scaled: list[Scaled] = field(default_factory=list)
    deletes: list[Object] = field(default_factory=list)
    revision: int | None = None

    def __post_init__(self) -> None:
        self.old_status: Object = self.deployment.get("status") or {}
        self.conditions: list[Object] = list(self.old_status.get("conditions") or [])
        self.new = revisions.find_new(self.deployment, self.replicasets)

    @property
    def old(self) -> list[Object]:
        new_uid = None if self.new is None else self.new["metadata"].get("uid")
        return [rs for rs in self.replicasets if rs["metadata"].get("uid") != new_uid]

    @property
    def all(self) -> list[Object]:
        return [*self.old, *([] if self.new is None else [self.new])]

    # the strategies

    def roll(self) -> None:
        self.synchronise_new()
        if self.new is None:
            self.create_new()
        elif self._grow_or_shrink_new():
            return
        if self._shrink_old():
            return
        self._clean_up_when_complete()

    def recreate(self, old_pods_run: bool) -> None:
        self.synchronise_new()
        old = sizes.active(self.old)
        if old:
            for replicaset in old:
                self.resize(replicaset, 0)
            return
        if old_pods_run or sizes.total_status(self.old, "replicas") > 0:
            return
        if self.new is None:
            self.create_new()
        elif sizes.replicas(self.new) != sizes.replicas(self.deployment):
            self.resize(self.new, sizes.replicas(self.deployment))
        self._clean_up_when_complete()

    def _grow_or_shrink_new(self) -> bool:
        assert self.new is not None
        size, wanted = sizes.replicas(self.new), sizes.replicas(self.deployment)
        if size == wanted:
            return False
        target = wanted if size > wanted else sizes.new_size(self.deployment, self.all, size)
        return self.resize(self.new, target)

    def _shrink_old(self) -> bool:
        """First the old replicas that are not available: they do not help. Then as many as availability spares."""
        assert self.new is not None
        if sizes.total_replicas(self.old) == 0:
            return False
        minimum = sizes.replicas(self.deployment) - sizes.max_unavailable(self.deployment)
        new_unavailable = sizes.replicas(self.new) - sizes.available(self.new)
        spare = sizes.total_replicas(self.all) - minimum - new_unavailable
        if spare <= 0:
            return False
        unhealthy = self._shrink_unhealthy(spare)
        available = sum(map(sizes.available, self.all))
        healthy = self._shrink_healthy(available - minimum)
        return unhealthy + healthy > 0

    def _shrink_unhealthy(self, most: int) -> int:
        done = 0
        for replicaset in revisions.by_age(sizes.active(self.old)):
            unhealthy = sizes.replicas(replicaset) - sizes.available(replicaset)
            step = min(most - done, unhealthy)
            if step > 0:
                self.resize(replicaset, sizes.replicas(replicaset) - step)
                done += step
        return done

    def _shrink_healthy(self, most: int) -> int:
        done = 0
        for replicaset in revisions.by_age(sizes.active(self.old)):
            step = min(most - done, sizes.replicas(replicaset))
            if step > 0:
                self.resize(replicaset, sizes.replicas(replicaset) - step)
                done += step
        return done

    # a change of size

    def scale(self) -> None:
        """Follows the Deployment's new size without moving the rollout on."""
        wanted = sizes.replicas(self.deployment)
        only = self._only_active_or_newest()
        if only is not None:
            if sizes.replicas(only) != wanted:
                self.resize(only, wanted)
            else:
                self._note_sizes(only, sizes.replicas(only))
            return
        if sizes.is_saturated(self.deployment, self.new):
            for replicaset in sizes.active(self.old):
                self.resize(replicaset, 0)
            return
        if sizes.is_rolling(self.deployment):
            for replicaset, size in sizes.proportional(self.deployment, sizes.active(self.all)):
                self.resize(replicaset, size)
            return
        for replicaset in sizes.active(self.all):
            self._note_sizes(replicaset, sizes.replicas(replicaset))  # seen: the strategy goes on from here

    def _only_active_or_newest(self) -> Object | None:
        running = sizes.active(self.all)
        if len(running) > 1:
            return None
        if running:
            return running[0]
        if self.new is not None:
            return self.new
        return revisions.by_age(self.old)[-1] if self.old else None

    # the ReplicaSets

    def synchronise_new(self) -> None:
        """Revision, annotations and minReadySeconds of the new ReplicaSet follow the Deployment."""
        if self.new is None:
            return
        annotations = revisions.annotations_for(self.deployment, self.new, revisions.newest(self.old) + 1)
        wanted_ready = self.deployment["spec"].get("minReadySeconds") or 0
        if annotations != objects.annotations_of(self.new) or wanted_ready != (
            self.new["spec"].get("minReadySeconds") or 0
        ):
            self._change(self.new, annotations, {"minReadySeconds": wanted_ready})
        self.revision = revisions.number(self.new)
        if status.deadline_seconds(self.deployment) is not None and not self._has_condition("Progressing"):
            self._note("FoundNewReplicaSet", f'Found new replica set "{objects.name_of(self.new)}"')

    def create_new(self) -> None:
        """Plans the ReplicaSet of the template, with as many replicas as there is room for."""
        deployment = self.deployment
        self.revision = revisions.newest(self.old) + 1
        size = sizes.new_size(deployment, self.old, 0)
        annotations = revisions.annotations_for(deployment, None, self.revision) | self._sizes()
        self.create = new_replicaset(deployment, size, annotations)
        name = objects.name_of(self.create)
        if size > 0:
            self.scaled.append(Scaled(name, 0, size))
        if status.deadline_seconds(deployment) is not None:
            self._note("NewReplicaSetCreated", f'Created new replica set "{name}"')
        self.new = self.create
        self.replicasets.append(self.create)

    def resize(self, replicaset: Object, size: int) -> bool:
        """Plans another size, and notes the Deployment's sizes on the ReplicaSet. Whether the size changes."""
        before = sizes.replicas(replicaset)
        self._note_sizes(replicaset, size)
        if size == before:
            return False
        self.scaled.append(Scaled(objects.name_of(replicaset), before, size))
        return True

    def clean_up(self) -> None:
        limit = self.deployment["spec"].get("revisionHistoryLimit")
        if limit is not None and limit != 2**31 - 1:
            self.deletes = revisions.superfluous(self.old, int(limit))

    def _clean_up_when_complete(self) -> None:
        if status.is_complete(self.deployment, self.old_status):
            self.clean_up()

    def _note_sizes(self, replicaset: Object, size: int) -> None:
        annotations = objects.annotations_of(replicaset) | self._sizes()
        if annotations != objects.annotations_of(replicaset) or size != sizes.replicas(replicaset):
            self._change(replicaset, annotations, {"replicas": size})

    def _sizes(self) -> dict[str, str]:
        wanted = sizes.replicas(self.deployment)
        return {
            revisions.DESIRED_REPLICAS: str(wanted),
            revisions.MAX_REPLICAS: str(wanted + sizes.max_surge(self.deployment)),
        }

    def _change(self, replicaset: Object, annotations: dict[str, str], spec: dict[str, Any]) -> None:
        metadata = {**replicaset["metadata"], "annotations": annotations}
        changed = {**replicaset, "metadata": metadata, "spec": {**replicaset["spec"], **spec}}
        uid = objects.uid_of(replicaset)
        self.changed[uid] = changed
        self.replicasets = [changed if objects.uid_of(rs) == uid else rs for rs in self.replicasets]
        if self.new is not None and objects.uid_of(self.new) == uid:
            self.new = changed

    # the status

    def note_pause(self) -> None:
        self.conditions = status.with_paused_condition(self.deployment, self.conditions, self.now)

    def _has_condition(self, kind: str) -> bool:
        return any(entry["type"] == kind for entry in self.conditions)

    def _note(self, reason: str, message: str) -> None:
        entry = condition("Progressing", "True", reason, message, self.now)
        self.conditions = status.with_condition(self.conditions, entry)

    def plan(self, *, track_progress: bool) -> Plan:
        new_status = status.counted(self.deployment, self.all, self.new, self.conditions, self.now)
        if track_progress:
            compared = {**self.old_status, "conditions": self.conditions}
            new_status = status.with_progress(self.deployment, new_status, self.new, compared, self.now)
            new_status = status.with_replica_failure(new_status, self.all, self.new)
        revision = self.revision if self.revision != revisions.number(self.deployment) else None
        return Plan(
            status=new_status,
            create=self.create,
            updates=tuple(self.changed.values()),
            scaled=tuple(self.scaled),
            deletes=tuple(self.deletes),
            revision=revision,
            recheck_after_seconds=(
                status.recheck_seconds(self.deployment, new_status, self.now) if track_progress else None
            ),
        )


def new_replicaset(deployment: Object, size: int, annotations: dict[str, str]) -> Object:
    """The ReplicaSet of the Deployment's template: NAME-HASH, told apart from its siblings by the hash label."""
    spec = deployment["spec"]
    collisions = (deployment.get("status") or {}).get("collisionCount")
    digest = podtemplate.template_hash(spec["template"], collisions)
    template = podtemplate.with_label(spec["template"], podtemplate.POD_TEMPLATE_HASH, digest)
    selector = spec["selector"]
    labels = {**(selector.get("matchLabels") or {}), podtemplate.POD_TEMPLATE_HASH: digest}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{objects.name_of(deployment)}-{digest}",
            "namespace": objects.namespace_of(deployment),
            "labels": dict((template["metadata"]).get("labels") or {}),
            "annotations": annotations,
            "ownerReferences": [objects.controller_reference(deployment)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": spec.get("minReadySeconds") or 0,
            "selector": {**selector, "matchLabels": labels},
            "template": template,
        },
    }
