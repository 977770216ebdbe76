"""What a Job needs now, decided from it and its pods alone: pods to make, pods to delete, its status, its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apimachinery import clock, objects, pods
from apimachinery.objects import Object
from controllers.job import counting, members, policy
from controllers.job.counting import Tally
from controllers.replicaset import ranking

BURST_PODS = 500  # made in one reconcile, as upstream
BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS = 10.0, 600.0  # upstream's: 10 s, 20 s, 40 s … 10 min
_REASON_DONE, _MESSAGE_DONE = "CompletionsReached", "Reached expected number of succeeded pods"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why the Job ends: `kind` is Complete or Failed."""

    kind: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`create` holds an index a pod, None for pods without. `release`: finalizers to remove after the status write."""

    status: Object
    create: tuple[int | None, ...] = ()
    delete: tuple[Object, ...] = ()
    release: tuple[Object, ...] = ()
    look_again_seconds: float | None = None
    event: tuple[str, str, str] | None = None  # type, reason, message

    def __str__(self) -> str:
        return f"create {len(self.create)}, delete {len(self.delete)}, count {len(self.release)}"


def is_finished(job: Object) -> bool:
    return objects.is_condition_true(job, "Complete") or objects.is_condition_true(job, "Failed")


def plan_job(job: Object, owned: Sequence[Object], now: datetime, *, may_create: bool = True) -> Plan:
    """`owned` are all pods of the Job in the cache; `may_create` is False while that cache is known to be behind."""
    tally = counting.tally(job, owned)
    status = _counts(job, owned, tally)
    active = [pod for pod in owned if pods.is_active(pod)]
    suspended = bool(job["spec"].get("suspend"))
    if not status.get("startTime") and not suspended:
        status["startTime"] = clock.rfc3339(now)
    verdict = _verdict_so_far(job) or _judge(job, owned, active, tally, status, now)
    if verdict is not None:
        return _end(job, status, active, tally, verdict, now)
    if suspended:
        return _suspend(job, status, active, tally, now)
    status["conditions"] = _resumed(job, status, now)
    return _run(job, status, owned, active, tally, now, may_create)


def _counts(job: Object, owned: Sequence[Object], tally: Tally) -> Object:
    """The Job's status with new counts; conditions and times as they were."""
    status = {k: v for k, v in (job.get("status") or {}).items() if k not in ("active", "succeeded", "failed")}
    active = [pod for pod in owned if pods.is_active(pod)]
    for name, count in (("active", len(active)), ("succeeded", tally.succeeded), ("failed", tally.failed)):
        if count:
            status[name] = count
    status["ready"] = sum(map(pods.is_ready, active))
    status["terminating"] = sum(map(members.is_terminating, owned))
    uncounted: Object = {}
    if tally.uncounted_succeeded:
        uncounted["succeeded"] = list(tally.uncounted_succeeded)
    if tally.uncounted_failed:
        uncounted["failed"] = list(tally.uncounted_failed)
    status["uncountedTerminatedPods"] = uncounted
    if members.is_indexed(job):
        status["completedIndexes"] = members.render_intervals(tally.completed_indexes)
        if not status["completedIndexes"]:
            del status["completedIndexes"]
    return status


# the end


def _verdict_so_far(job: Object) -> Verdict | None:
    """The verdict that an earlier reconcile wrote down, while pods were still to end."""
    for interim, kind in (("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")):
        found = objects.condition(job, interim)
        if found is not None and found.get("status") == "True":
            return Verdict(kind, found.get("reason") or "", found.get("message") or "")
    return None


def _judge(
    job: Object, owned: Sequence[Object], active: Sequence[Object], tally: Tally, status: Object, now: datetime
) -> Verdict | None:
    failure = _policy_failure(job, owned)
    if failure:
        return Verdict("Failed", "PodFailurePolicy", failure)
    spec, limit = job["spec"], _backoff_limit(job)
    if tally.all_failed > limit or _restarted_too_often(job, active, limit):
        return Verdict("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    end = None if spec.get("suspend") else _deadline(job, status)
    if end is not None and now >= end:
        return Verdict("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
    if _is_complete(job, active, tally):
        return Verdict("Complete", _REASON_DONE, _MESSAGE_DONE)
    return None


def _is_complete(job: Object, active: Sequence[Object], tally: Tally) -> bool:
    completions = job["spec"].get("completions")
    if completions is None:  # a work queue: done when one pod says so, and the others have ended too
        return tally.all_succeeded > 0 and not active
    if members.is_indexed(job):
        return len(tally.completed_indexes) >= int(completions)
    return tally.all_succeeded >= int(completions)


def _end(job: Object, status: Object, active: Sequence[Object], tally: Tally, verdict: Verdict, now: datetime) -> Plan:
    """Everything running goes; the final condition follows when all of it is gone and counted."""
    interim = "SuccessCriteriaMet" if verdict.kind == "Complete" else "FailureTarget"
    conditions = list(status.get("conditions") or [])
    if objects.condition(job, interim) is None:
        conditions.append(_condition(interim, verdict, now))
    event = None
    if tally.settled and not tally.release and not active and not status["terminating"]:
        conditions.append(_condition(verdict.kind, verdict, now))
        if verdict.kind == "Complete":
            status["completionTime"] = clock.rfc3339(now)
            event = ("Normal", "Completed", "Job completed")
        else:
            event = ("Warning", verdict.reason, verdict.message)
    status["conditions"] = conditions
    return Plan(status=status, delete=tuple(active), release=tally.release, event=event)


def _condition(kind: str, verdict: Verdict, now: datetime) -> Object:
    stamp = clock.rfc3339(now)
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": stamp,
        "lastTransitionTime": stamp,
        "reason": verdict.reason,
        "message": verdict.message,
    }


def _policy_failure(job: Object, owned: Sequence[Object]) -> str:
    failed = (pod for pod in owned if pods.phase_of(pod) == "Failed")
    verdicts = (policy.judge(job, pod) for pod in failed)
    return next((verdict.message for verdict in verdicts if verdict.action == "FailJob"), "")


def _backoff_limit(job: Object) -> int:
    limit = job["spec"].get("backoffLimit")
    return 6 if limit is None else int(limit)


def _restarted_too_often(job: Object, active: Sequence[Object], limit: int) -> bool:
    if (job["spec"]["template"]["spec"].get("restartPolicy") or "") != "OnFailure":
        return False
    restarts = members.restarts(active)
    return restarts > 0 if limit == 0 else restarts >= limit


# suspension


def _suspend(job: Object, status: Object, active: Sequence[Object], tally: Tally, now: datetime) -> Plan:
    status.pop("startTime", None)
    event = None
    old = objects.condition(job, "Suspended")
    if old is None or old.get("status") != "True":
        verdict = Verdict("Suspended", "JobSuspended", "Job suspended")
        status["conditions"] = objects.set_condition(
            list(status.get("conditions") or []), _condition("Suspended", verdict, now)
        )
        event = ("Normal", "Suspended", "Job suspended")
    return Plan(status=status, delete=tuple(active), release=tally.release, event=event)


def _resumed(job: Object, status: Object, now: datetime) -> list[Object]:
    conditions = list(status.get("conditions") or [])
    if not objects.is_condition_true(job, "Suspended"):
        return conditions
    status["startTime"] = clock.rfc3339(now)
    entry = _condition("Suspended", Verdict("Suspended", "JobResumed", "Job resumed"), now) | {"status": "False"}
    return objects.set_condition(conditions, entry)


# the run


def _run(
    job: Object,
    status: Object,
    owned: Sequence[Object],
    active: Sequence[Object],
    tally: Tally,
    now: datetime,
    may_create: bool,
) -> Plan:
    if not status["conditions"]:
        del status["conditions"]
    surplus, wanted = _surplus(job, active, tally, now), _wanted_active(job, active, tally)
    waits = [_deadline_wait(job, status, now)]
    create: tuple[int | None, ...] = ()
    occupied = len(active) + (status["terminating"] if members.replaces_only_failed(job) else 0)
    missing = min(wanted - occupied, BURST_PODS)
    if missing > 0 and not surplus:
        wait = _backoff_wait(job, owned, now)
        waits.append(wait)
        if wait is None and may_create:
            create = _new_indexes(job, owned, tally, missing)
    return Plan(
        status=status,
        create=create,
        delete=tuple(surplus),
        release=tally.release,
        look_again_seconds=min((wait for wait in waits if wait is not None), default=None),
    )


def _wanted_active(job: Object, active: Sequence[Object], tally: Tally) -> int:
    parallelism = job["spec"].get("parallelism")
    parallelism = 1 if parallelism is None else int(parallelism)
    completions = job["spec"].get("completions")
    if completions is None:
        return min(len(active), parallelism) if tally.all_succeeded > 0 else parallelism
    done = len(tally.completed_indexes) if members.is_indexed(job) else tally.all_succeeded
    return min(int(completions) - done, parallelism)


def _surplus(job: Object, active: Sequence[Object], tally: Tally, now: datetime) -> list[Object]:
    """Pods beyond what is wanted; of indexes that are done or doubled first."""
    needless: list[Object] = []
    if members.is_indexed(job):
        seen = set(tally.completed_indexes)
        for pod in active:
            index = members.index_of(pod)
            if index is None or index in seen or index >= int(job["spec"].get("completions") or 0):
                needless.append(pod)
            else:
                seen.add(index)
    rest = [pod for pod in active if pod not in needless]
    excess = len(rest) - _wanted_active(job, active, tally)
    return needless + (ranking.victims(rest, rest, excess, now) if excess > 0 else [])


def _new_indexes(job: Object, owned: Sequence[Object], tally: Tally, count: int) -> tuple[int | None, ...]:
    if not members.is_indexed(job):
        return (None,) * count
    blocking = members.is_terminating if members.replaces_only_failed(job) else (lambda pod: False)
    taken = {members.index_of(pod) for pod in owned if pods.is_active(pod) or blocking(pod)} | tally.completed_indexes
    free = (index for index in range(int(job["spec"]["completions"])) if index not in taken)
    return tuple(index for index, _ in zip(free, range(count), strict=False))


def _backoff_wait(job: Object, owned: Sequence[Object], now: datetime) -> float | None:
    """How long until a failed pod may be replaced: twice as long with each failure since the last success."""
    ended = [
        (when, members.has_succeeded(pod))
        for pod in owned
        if (members.has_succeeded(pod) or members.has_failed(job, pod))
        and (when := members.finished_at(pod)) is not None
    ]
    last_success = max((when for when, success in ended if success), default=None)
    failures = [when for when, success in ended if not success and (last_success is None or when > last_success)]
    if not failures:
        return None
    delay = min(BACKOFF_FIRST_SECONDS * 2 ** min(len(failures) - 1, 10), BACKOFF_MAX_SECONDS)
    wait = (max(failures) + timedelta(seconds=delay) - now).total_seconds()
    return wait if wait > 0 else None


def _deadline_wait(job: Object, status: Object, now: datetime) -> float | None:
    end = _deadline(job, status)
    return None if end is None else max(0.0, (end - now).total_seconds()) + 0.1


def _deadline(job: Object, status: Object) -> datetime | None:
    """When `activeDeadlineSeconds` is over."""
    seconds = job["spec"].get("activeDeadlineSeconds")
    if seconds is None or not status.get("startTime"):
        return None
    return clock.parse_rfc3339(status["startTime"]) + timedelta(seconds=int(seconds))
