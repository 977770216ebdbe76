"""A Deployment with its ReplicaSets in memory, and the commands of the scenario files that act on it.

It applies plans as the apiserver would (generations, uids, creation times) and plays the ReplicaSet controller's part
by command. It decides nothing about rollouts: those decisions are the plan's, under test.
"""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Any

from apimachinery import clock, objects
from apimachinery.objects import Object
from controllers.deployment import plan as planning
from controllers.deployment import revisions, sizes

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


class World:
    def __init__(self) -> None:
        self.now = START
        self.deployment: Object = {}
        self.replicasets: list[Object] = []
        self.old_pods_run = False
        self._uids = 0

    def run(self, line: str) -> list[str]:
        """The output of one command."""
        command, *words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        output = getattr(self, f"do_{command}")(*(word for word in words if "=" not in word), **options)
        return output or []

    def do_new(self, **options: str) -> None:
        self.deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "uid": "d", "generation": 0},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}},
                "strategy": {"type": "RollingUpdate"},
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
        }
        self.do_set(**options)

    def do_set(self, **options: str) -> None:
        spec = self.deployment["spec"]
        for name, value in options.items():
            match name:
                case "image":
                    spec["template"]["spec"]["containers"] = [{"name": "c", "image": value}]
                case "surge" | "unavailable":
                    rolling = spec["strategy"].setdefault("rollingUpdate", {})
                    rolling[f"max{name.title()}"] = int(value) if value.isdecimal() else value
                case "strategy":
                    spec["strategy"] = {"type": value}
                case "paused":
                    spec["paused"] = value == "true"
                case "history":
                    spec["revisionHistoryLimit"] = int(value)
                case "deadline":
                    spec["progressDeadlineSeconds"] = int(value)
                case "replicas":
                    spec["replicas"] = int(value)
                case _:
                    raise AssertionError(f"no option {name}")
        self.deployment["metadata"]["generation"] += 1

    def do_ready(self, *_: str, **counts: str) -> None:
        """`ready v1=2`: the ReplicaSet has made all its pods, and two of them are available."""
        for image, count in counts.items():
            self._report(self._of(image), int(count))

    def do_pods(self, which: str, answer: str) -> None:
        """`pods old run` / `pods old gone`."""
        assert which == "old"
        self.old_pods_run = answer == "run"

    def do_wait(self, seconds: str) -> None:
        self.now += timedelta(seconds=int(seconds))

    def do_plan(self) -> list[str]:
        plan = planning.plan_rollout(self.deployment, self.replicasets, old_pods_run=self.old_pods_run, now=self.now)
        output = [self._named(str(entry)) for entry in plan.scaled]
        output += [f"Deleted {self._named(objects.name_of(rs))}" for rs in plan.deletes]
        output += [f"Revision {plan.revision}"] if plan.revision is not None else []
        before = self.deployment.get("status") or {}
        self._apply(plan)
        if plan.status != before:
            output.append(self._condition_line(plan.status))
        return output or ["nothing to do"]

    def do_settle(self) -> list[str]:
        """Plans, with every pod available at once, until nothing is left to do. One line of sizes a step."""
        output = []
        for step in range(50):
            for replicaset in self.replicasets:
                self._report(replicaset, sizes.replicas(replicaset))
            before = self._sizes()
            if step > 0:
                self._check_limits()
            if self.do_plan() == ["nothing to do"]:
                return output
            if self._sizes() != before:
                output.append(self._sizes())
        raise AssertionError("the rollout does not end")

    def do_status(self) -> list[str]:
        status = self.deployment["status"]
        names = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"]
        counts = " ".join(f"{name}={status.get(name, 0)}" for name in names)
        return [counts, *(f"{c['type']}: {self._named(c['message'])}" for c in status["conditions"])]

    def do_history(self) -> list[str]:
        lines = []
        for replicaset in sorted(self.replicasets, key=revisions.number):
            past = objects.annotations_of(replicaset).get(revisions.REVISION_HISTORY, "")
            lines.append(f"{revisions.number(replicaset)} {self._image(replicaset)}" + (f" was {past}" if past else ""))
        return lines

    def _apply(self, plan: planning.Plan) -> None:
        self.now += timedelta(seconds=1)
        for changed in plan.updates:
            old = next(rs for rs in self.replicasets if objects.uid_of(rs) == objects.uid_of(changed))
            stored = copy.deepcopy(changed)
            if stored["spec"] != old["spec"]:
                stored["metadata"]["generation"] += 1
            self.replicasets[self.replicasets.index(old)] = stored
        if plan.create is not None:
            self._uids += 1
            stamp = clock.rfc3339(self.now)
            created = copy.deepcopy(plan.create)
            created["metadata"] |= {"uid": f"rs{self._uids}", "generation": 1, "creationTimestamp": stamp}
            self.replicasets.append(created)
        gone = {objects.uid_of(rs) for rs in plan.deletes}
        self.replicasets = [rs for rs in self.replicasets if objects.uid_of(rs) not in gone]
        if plan.revision is not None:
            self.deployment["metadata"].setdefault("annotations", {})[revisions.REVISION] = str(plan.revision)
        self.deployment = {**self.deployment, "status": plan.status}

    def _report(self, replicaset: Object, available: int) -> None:
        size = sizes.replicas(replicaset)
        ready = min(available, size)
        generation = replicaset["metadata"]["generation"]
        counts = {"replicas": size, "readyReplicas": ready, "availableReplicas": ready}
        replicaset["status"] = {**counts, "observedGeneration": generation}

    def _check_limits(self) -> None:
        """What a rolling update promises its users at every moment."""
        if not sizes.is_rolling(self.deployment):
            return
        wanted = sizes.replicas(self.deployment)
        total = sizes.total_replicas(self.replicasets)
        assert total <= max(wanted + sizes.max_surge(self.deployment), self.deployment["status"].get("replicas", 0))
        assert total >= wanted - sizes.max_unavailable(self.deployment)

    def _of(self, image: str) -> Object:
        return next(rs for rs in self.replicasets if self._image(rs) == image)

    def _image(self, replicaset: Object) -> str:
        return str(replicaset["spec"]["template"]["spec"]["containers"][0]["image"])

    def _named(self, text: str) -> str:
        for replicaset in self.replicasets:
            text = text.replace(objects.name_of(replicaset), self._image(replicaset))
        new: Any = planning.new_replicaset(self.deployment, 0, {})
        return text.replace(objects.name_of(new), self._image(new))

    def _sizes(self) -> str:
        return " ".join(f"{self._image(rs)}={sizes.replicas(rs)}" for rs in revisions.by_age(self.replicasets))

    def _condition_line(self, status: Object) -> str:
        return ", ".join(f"{c['type']}={c['status']} {c['reason']}" for c in status["conditions"])
