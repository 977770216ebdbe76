"""Workload kinds: their selectors never change, a Job's is made from its uid."""

from __future__ import annotations

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry import autoscaling
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import Strategy, WithStatus, immutable_field
from apiserver.registry.validation import causes
from apiserver.registry.validation import pods as pod_validation
from apiserver.registry.validation import workloads as validation

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
JOB_NAME = "batch.kubernetes.io/job-name"


class Deployments(WithStatus):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.deployment(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return immutable_field(new, old, "spec", "selector")


class ReplicaSets(WithStatus):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.replica_set(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return immutable_field(new, old, "spec", "selector")


class DaemonSets(WithStatus):
    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        obj["spec"].pop("templateGeneration", None)

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.daemon_set(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return immutable_field(new, old, "spec", "selector")


class StatefulSets(WithStatus):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.stateful_set(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.stateful_set_update(new, old)


class ReplicationControllers(WithStatus):
    orphans_by_default = True

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.replication_controller(obj)


class ControllerRevisions(Strategy):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return [] if obj.get("data") is not None else [causes.required("data", "data is mandatory")]

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return immutable_field(new, old, "data")


class Jobs(WithStatus):
    orphans_by_default = True  # of batch/v1, for compatibility with its first days

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.job(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.job_update(new, old)


def _generate_selector(job: Object) -> None:
    """A selector of the job's own uid, and the labels for it, unless the user gave a selector."""
    meta, spec = job["metadata"], job["spec"]
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    name = meta.get("name") or ""
    for key, value in (
        (JOB_NAME, name),
        ("job-name", name),
        (CONTROLLER_UID, meta["uid"]),
        ("controller-uid", meta["uid"]),
    ):
        labels.setdefault(key, value)
    spec.setdefault("selector", {}).setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, meta["uid"])


class CronJobs(WithStatus):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.cron_job(obj)


class PodTemplates(Strategy):
    create_on_update = True
    counts_generations = True

    def intent_differs(self, new: Object, old: Object) -> bool:
        return new.get("template") != old.get("template")

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return pod_validation.template(obj.get("template") or {}, "template")


class Autoscalers(WithStatus):
    counts_generations = False

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.autoscaler(autoscaling.to_storage(obj) if call.resource.version == "v1" else obj)
