"""CEL expressions within objects of `admissionregistration.k8s.io`: what is wrong with them, as upstream says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes

if TYPE_CHECKING:
    from apiserver.cel.declarations import Environment
    from apiserver.cel.types import Type

MAX_MATCH_CONDITIONS = 64  # upstream's


def match_conditions(conditions: list[Object] | None, path: str, *, params: bool = False) -> list[Cause]:
    """`params` says whether the expressions may use `params`."""
    if not conditions:
        return []
    from apiserver.cel import environments, types  # not before somebody has an expression

    found: list[Cause] = []
    if len(conditions) > MAX_MATCH_CONDITIONS:
        found.append(causes.too_many(path, len(conditions), MAX_MATCH_CONDITIONS))
    environment = environments.admission(params=params)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        where, name = f"{path}[{index}]", condition.get("name") or ""
        text = (condition.get("expression") or "").strip()
        if not text:
            found.append(causes.required(f"{where}.expression"))
        else:
            found += expression(text, f"{where}.expression", environment, types.BOOL)
        found += _name(name, f"{where}.name")
        if name and name in seen:
            found.append(causes.duplicate(f"{where}.name", name))
        seen.add(name)
    return found


def expression(text: str, path: str, environment: Environment, *wanted: Type) -> list[Cause]:
    from apiserver.cel import environments

    try:
        environments.compiled(text, environment, *wanted)
    except ValueError as error:
        return [causes.invalid(path, text, str(error))]
    return []


def _name(name: str, path: str) -> list[Cause]:
    if not name:
        return [causes.required(path)]
    return [causes.invalid(path, name, problem) for problem in names.qualified_name(name)]
