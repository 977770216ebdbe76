"""`--config`: a KubeSchedulerConfiguration, read into profiles (S5). Pure.

Understood: leaderElection.leaderElect, percentageOfNodesToScore, podInitialBackoffSeconds, podMaxBackoffSeconds, and of
each profile schedulerName, plugins (multiPoint, filter, score: enabled with weights, disabled, `*`) and pluginConfig.
Upstream's plugins that do not exist here are accepted and named in a warning; unknown names are errors.
Source: https://kubernetes.io/docs/reference/scheduling/config/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apimachinery.objects import Object
from scheduler.cycle import Profile
from scheduler.framework import FilterPlugin, ScorePlugin
from scheduler.plugins import registry
from scheduler.podinfo import DEFAULT_SCHEDULER
from scheduler.queue import BACKOFF_INITIAL_SECONDS, BACKOFF_MAX_SECONDS

_VERSIONS = ("kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3")
# Upstream has these; what they do is built in here, or has no counterpart yet.
_UPSTREAM_ONLY = frozenset(
    {
        *("DefaultBinder", "DefaultPreemption", "DynamicResources", "GangScheduling"),
        *("NodeDeclaredFeatures", "NodeVolumeLimits", "PrioritySort", "SchedulingGates"),
        *("VolumeBinding", "VolumeRestrictions", "VolumeZone"),
    }
)


class ConfigError(Exception):
    """The file is no configuration that can be used; the message names the field."""


@dataclass(frozen=True)
class Settings:
    """What the configuration says, with upstream's defaults where it says nothing."""

    profiles: tuple[Profile, ...]
    leader_elect: bool | None = None  # None: the flag decides
    initial_backoff_seconds: float = BACKOFF_INITIAL_SECONDS
    max_backoff_seconds: float = BACKOFF_MAX_SECONDS
    warnings: tuple[str, ...] = ()


def default() -> Settings:
    return Settings((_profile({}, 0, []),))


def parse(document: Object) -> Settings:
    """Raises ConfigError."""
    if document.get("apiVersion") not in _VERSIONS or document.get("kind") != "KubeSchedulerConfiguration":
        raise ConfigError(f"apiVersion and kind must be {_VERSIONS[0]} and KubeSchedulerConfiguration")
    warnings: list[str] = []
    percentage = _number(document, "percentageOfNodesToScore", 0)
    if not 0 <= percentage <= 100:
        raise ConfigError("percentageOfNodesToScore: must be from 0 to 100")
    profiles = [_profile(item, int(percentage), warnings) for item in document.get("profiles") or [{}]]
    names = [profile.scheduler_name for profile in profiles]
    if len(set(names)) != len(names):
        raise ConfigError(f"profiles: schedulerName is used twice: {', '.join(names)}")
    return Settings(
        tuple(profiles),
        (document.get("leaderElection") or {}).get("leaderElect"),
        _number(document, "podInitialBackoffSeconds", BACKOFF_INITIAL_SECONDS),
        _number(document, "podMaxBackoffSeconds", BACKOFF_MAX_SECONDS),
        tuple(dict.fromkeys(warnings)),
    )


def _profile(item: Object, percentage: int, warnings: list[str]) -> Profile:
    arguments = {one.get("name"): one.get("args") or {} for one in item.get("pluginConfig") or []}
    sets = item.get("plugins") or {}
    for name in {one.get("name", "") for part in sets.values() for one in _both(part)} | set(arguments):
        _check(name, warnings)
    filters: list[FilterPlugin] = []
    scores: list[tuple[ScorePlugin, int]] = []
    for entry in registry.PLUGINS:
        plugin = entry.make(arguments.get(entry.name, {}))
        if isinstance(plugin, FilterPlugin) and _is_enabled(entry.name, "filter", sets):
            filters.append(plugin)
        if isinstance(plugin, ScorePlugin) and _is_enabled(entry.name, "score", sets):
            scores.append((plugin, _weight(entry, sets)))
    percentage = int(item.get("percentageOfNodesToScore") or percentage)
    return Profile(item.get("schedulerName") or DEFAULT_SCHEDULER, tuple(filters), tuple(scores), percentage)


def _is_enabled(name: str, point: str, sets: Mapping[str, Any]) -> bool:
    """What the point itself says comes first, then `multiPoint`; without a word every plugin is on."""
    for part in (sets.get(point) or {}, sets.get("multiPoint") or {}):
        if name in _names(part.get("enabled")):
            return True
        if {name, "*"} & _names(part.get("disabled")):
            return False
    return True


def _weight(entry: registry.Entry, sets: Mapping[str, Any]) -> int:
    for point in ("score", "multiPoint"):
        for one in (sets.get(point) or {}).get("enabled") or []:
            if one.get("name") == entry.name and one.get("weight"):
                return int(one["weight"])
    return entry.weight


def _check(name: str, warnings: list[str]) -> None:
    if name in ("*", *(entry.name for entry in registry.PLUGINS)):
        return
    if name not in _UPSTREAM_ONLY:
        raise ConfigError(f'profiles: plugin "{name}" does not exist')
    warnings.append(f"plugin {name} cannot be configured here")


def _both(part: Mapping[str, Any] | None) -> list[Any]:
    return [*((part or {}).get("enabled") or []), *((part or {}).get("disabled") or [])]


def _names(items: list[Any] | None) -> set[str]:
    return {item.get("name", "") for item in items or []}


def _number(document: Object, field: str, default: float) -> float:
    value = document.get(field)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigError(f"{field}: must be a number")
    return value
