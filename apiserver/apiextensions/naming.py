"""Which of the names that a definition asks for it gets, and what its conditions say of that. Pure.

Names are unique within a group: a definition that comes later keeps those it has, and waits for the others until who
has them goes or gives them up.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

from apimachinery.objects import Object
from apiserver.apiextensions import conditions

APPROVAL = "api-approved.kubernetes.io"


def accepted(definition: Object, others: Iterable[Object], now: str) -> Object:
    """The definition with the status that it should have. `others` are all definitions of its group."""
    result = copy.deepcopy(definition)
    status = result.setdefault("status", {})
    before = status.get("acceptedNames") or {}
    names, refusals = _claimed(definition, before, list(others))
    status["acceptedNames"] = names
    if refusals:
        reason, message = refusals[-1]
        conditions.put(result, now, conditions.NAMES_ACCEPTED, "False", reason, message)
    else:
        conditions.put(result, now, conditions.NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    if not conditions.is_true(result, conditions.ESTABLISHED):
        if refusals:
            text = "not all names are accepted"
            conditions.put(result, now, conditions.ESTABLISHED, "False", "NotAccepted", text)
        else:
            text = "the initial names have been accepted"
            conditions.put(result, now, conditions.ESTABLISHED, "True", "InitialNamesAccepted", text)
    _tell_approval(result, now)
    return result


def _claimed(definition: Object, before: Object, others: list[Object]) -> tuple[Object, list[tuple[str, str]]]:
    """The names after asking for all, and each refusal as reason and message."""
    wanted = definition["spec"]["names"]
    resources, kinds = _taken(definition, others)
    names = dict(before)
    refusals: list[tuple[str, str]] = []
    for field, taken, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        asked = wanted.get(field) or ""
        if asked != before.get(field) and asked in taken:
            refusals.append((reason, f'"{asked}" is already in use'))
        elif asked:
            names[field] = asked
    short = wanted.get("shortNames") or []
    had = before.get("shortNames") or []
    clashes = [f'"{name}" is already in use' for name in short if name not in had and name in resources]
    if clashes:
        text = clashes[0] if len(clashes) == 1 else f"[{', '.join(clashes)}]"
        refusals.append(("ShortNamesConflict", text))
    else:
        _set(names, "shortNames", short)
    _set(names, "categories", wanted.get("categories"))
    return names, refusals


def _set(names: Object, field: str, value: list[str] | None) -> None:
    if value:
        names[field] = value
    else:
        names.pop(field, None)


def _taken(definition: Object, others: list[Object]) -> tuple[set[str], set[str]]:
    """The names of resources and of kinds that other definitions of the group have."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other["metadata"]["name"] == definition["metadata"]["name"]:
            continue
        if other["spec"]["group"] != definition["spec"]["group"]:
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources - {""}, kinds - {""}


def is_protected(group: str) -> bool:
    """Whether the group is the community's, so that its APIs need an approval."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def _tell_approval(definition: Object, now: str) -> None:
    if not is_protected(definition["spec"]["group"]):
        return
    text = (definition["metadata"].get("annotations") or {}).get(APPROVAL) or ""
    if text.startswith("unapproved"):
        verdict = ("False", "UnapprovedAnnotation", f'not approved: "{text}"')
    elif text.startswith(("https://", "http://")):
        verdict = ("True", "ApprovedAnnotation", f"approved in {text}")
    elif text:
        message = f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a reason'
        message += ' starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
        verdict = ("False", "InvalidAnnotation", message)
    else:
        message = f'protected groups must have approval annotation "{APPROVAL}", see '
        message += "https://github.com/kubernetes/enhancements/pull/1111"
        verdict = ("False", "MissingAnnotation", message)
    conditions.put(definition, now, conditions.APPROVED, *verdict)
