"""`podFailurePolicy`: what one failed pod means for its Job, by the first rule that matches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from apimachinery import objects
from apimachinery.objects import Object


class Verdict(NamedTuple):
    """`action` is Count, Ignore or FailJob; `message` says which rule made the Job fail."""

    action: str
    message: str = ""


COUNT = Verdict("Count")


def judge(job: Object, pod: Object) -> Verdict:
    """Count where no rule matches."""
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or []
    for number, rule in enumerate(rules):
        why = _exit_code_match(rule, pod) if rule.get("onExitCodes") else _condition_match(rule, pod)
        if why is None:
            continue
        action = rule["action"]
        if action == "FailJob":
            return Verdict(action, f"{why} matching FailJob rule at index {number}")
        return Verdict("Ignore") if action == "Ignore" else COUNT
    return COUNT


def _exit_code_match(rule: Object, pod: Object) -> str | None:
    wanted = rule["onExitCodes"]
    for name, code in _exit_codes(pod):
        if wanted.get("containerName") not in (None, name) or code == 0:
            continue
        if (code in wanted["values"]) == (wanted["operator"] == "In"):
            where = f"{objects.namespace_of(pod)}/{objects.name_of(pod)}"
            return f"Container {name} for pod {where} failed with exit code {code}"
    return None


def _condition_match(rule: Object, pod: Object) -> str | None:
    for pattern in rule.get("onPodConditions") or []:
        found = objects.condition(pod, pattern["type"])
        if found is not None and found.get("status") == pattern.get("status", "True"):
            return f"Pod {objects.namespace_of(pod)}/{objects.name_of(pod)} has condition {pattern['type']}"
    return None


def _exit_codes(pod: Object) -> Iterable[tuple[str, int]]:
    status: Any = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(field) or []:
            ended = (container.get("state") or {}).get("terminated")
            if ended is not None:
                yield container["name"], int(ended.get("exitCode") or 0)
