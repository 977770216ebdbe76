"""Containers: image, ports, environment, resources, mounts, probes, hooks."""

from __future__ import annotations

import re
from typing import Any

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, resources, scalars, volumes

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("FallbackToLogsOnError", "File")
_ENV_NAME = re.compile(r"[ -<>-~]+")
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_KEYED_FIELD = re.compile(r"metadata\.(?:labels|annotations)\['[^']+'\]")


def app_containers(listed: list[Object], spec: Object, field: str) -> list[Cause]:
    if not listed:
        return [causes.required(field)]
    return _containers(listed, spec, field, set())


def init_containers(listed: list[Object], spec: Object, field: str) -> list[Cause]:
    """Their names may not be an app container's either."""
    taken = {container.get("name") or "" for container in spec.get("containers") or ()}
    found = _containers(listed, spec, field, taken)
    for index, container in enumerate(listed):
        sidecar = container.get("restartPolicy") == "Always"
        here = f"{field}[{index}]"
        if not sidecar:
            found += [
                causes.forbidden(f"{here}.{kind}", "may not be set for init containers without restartPolicy=Always")
                for kind in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
                if container.get(kind)
            ]
    return found


def _containers(listed: list[Object], spec: Object, field: str, taken: set[str]) -> list[Cause]:
    found: list[Cause] = []
    known = {volume.get("name") or "" for volume in spec.get("volumes") or ()}
    host_network = bool(spec.get("hostNetwork"))
    for index, container in enumerate(listed):
        here = f"{field}[{index}]"
        name = container.get("name") or ""
        if not name:
            found.append(causes.required(f"{here}.name"))
        elif name in taken:
            found.append(causes.duplicate(f"{here}.name", name))
        else:
            found += scalars.dns_label(name, f"{here}.name")
        taken.add(name)
        found += _container(container, known, host_network, here)
    found += _host_port_conflicts(listed, field)
    return found


def _container(container: Object, known: set[str], host_network: bool, here: str) -> list[Cause]:
    found: list[Cause] = []
    image = container.get("image") or ""
    if not image:
        found.append(causes.required(f"{here}.image"))
    elif image.strip() != image:
        found.append(causes.invalid(f"{here}.image", image, "must not have leading or trailing whitespace"))
    found += scalars.one_of(container.get("imagePullPolicy"), _PULL_POLICIES, f"{here}.imagePullPolicy")
    found += scalars.one_of(
        container.get("terminationMessagePolicy"), _MESSAGE_POLICIES, f"{here}.terminationMessagePolicy"
    )
    if container.get("ports"):
        found += _ports(container["ports"], host_network, f"{here}.ports")
    if container.get("env"):
        found += _environment(container["env"], f"{here}.env")
    if container.get("resources"):
        found += resources.requirements(container["resources"], f"{here}.resources")
    if container.get("volumeMounts"):
        found += volumes.mounts(container["volumeMounts"], known, f"{here}.volumeMounts")
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(kind) is not None:
            found += _probe(container[kind], kind, f"{here}.{kind}")
    for hook, handler in (container.get("lifecycle") or {}).items():
        if isinstance(handler, dict):
            found += _handler(handler, _HOOK_HANDLERS, f"{here}.lifecycle.{hook}")
    return found


def _ports(ports: list[Object], host_network: bool, field: str) -> list[Cause]:
    found: list[Cause] = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        here = f"{field}[{index}]"
        name = port.get("name")
        if name:
            found += scalars.port_name(name, f"{here}.name")
            if name in seen:
                found.append(causes.duplicate(f"{here}.name", name))
            seen.add(name)
        if not port.get("containerPort"):
            found.append(causes.required(f"{here}.containerPort"))
        else:
            found += scalars.port_number(port["containerPort"], f"{here}.containerPort")
        if port.get("hostPort"):
            found += scalars.port_number(port["hostPort"], f"{here}.hostPort")
            if host_network and port["hostPort"] != port.get("containerPort"):
                why = "must match `hostPort` when `hostNetwork` is true"
                found.append(causes.invalid(f"{here}.containerPort", port.get("containerPort"), why))
        found += scalars.one_of(port.get("protocol"), scalars.PROTOCOLS, f"{here}.protocol")
    return found


def _host_port_conflicts(listed: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    seen: set[str] = set()
    for at, container in enumerate(listed):
        for index, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if text in seen:
                found.append(causes.duplicate(f"{field}[{at}].ports[{index}].hostPort", text))
            seen.add(text)
    return found


def _environment(variables: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    for index, variable in enumerate(variables):
        here = f"{field}[{index}]"
        name = variable.get("name") or ""
        if not name:
            found.append(causes.required(f"{here}.name"))
        elif not _ENV_NAME.fullmatch(name):
            why = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            found.append(causes.invalid(f"{here}.name", name, why))
        source = variable.get("valueFrom")
        if source is not None:
            found += _env_source(source, bool(variable.get("value")), f"{here}.valueFrom")
    return found


def _env_source(source: Object, has_value: bool, here: str) -> list[Cause]:
    kinds = [kind for kind in _ENV_SOURCES if source.get(kind) is not None]
    if not kinds:
        why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        return [causes.invalid(here, "", why)]
    found = []
    if has_value:
        found.append(causes.invalid(here, "", "may not be specified when `value` is not empty"))
    if len(kinds) > 1:
        found.append(causes.invalid(here, "", "may not have more than one field specified at a time"))
    reference = source.get("fieldRef")
    if reference is not None:
        path = reference.get("fieldPath") or ""
        if not path:
            found.append(causes.required(f"{here}.fieldRef.fieldPath"))
        elif path not in _ENV_FIELDS and not _KEYED_FIELD.fullmatch(path):
            found.append(causes.unsupported(f"{here}.fieldRef.fieldPath", path, _ENV_FIELDS))
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if source.get(kind) is not None and not source[kind].get("key"):
            found.append(causes.required(f"{here}.{kind}.key"))
    return found


def _probe(probe: Object, kind: str, here: str) -> list[Cause]:
    found = _handler(probe, _PROBE_HANDLERS, here)
    for name in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        found += scalars.not_negative(probe.get(name), f"{here}.{name}")
    if kind != "readinessProbe" and probe.get("successThreshold") not in (None, 1):
        found.append(causes.invalid(f"{here}.successThreshold", probe["successThreshold"], "must be 1"))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None:
        if kind == "readinessProbe":
            found.append(
                causes.invalid(f"{here}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
            )
        elif grace <= 0:
            found.append(causes.invalid(f"{here}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return found


def _handler(action: Object, kinds: tuple[str, ...], here: str) -> list[Cause]:
    given = [kind for kind in kinds if action.get(kind) is not None]
    if not given:
        return [causes.required(here, "must specify a handler type")]
    found = [causes.forbidden(f"{here}.{kind}", "may not specify more than 1 handler type") for kind in given[1:]]
    for kind in given[:1]:
        found += _action(action[kind], kind, f"{here}.{kind}")
    return found


def _action(action: Any, kind: str, here: str) -> list[Cause]:
    match kind:
        case "exec":
            return [] if action.get("command") else [causes.required(f"{here}.command")]
        case "httpGet":
            found = scalars.port(action.get("port"), f"{here}.port")
            return found + scalars.one_of(action.get("scheme"), ("HTTP", "HTTPS"), f"{here}.scheme")
        case "tcpSocket":
            return scalars.port(action.get("port"), f"{here}.port")
        case "grpc":
            return scalars.port_number(action.get("port") or 0, f"{here}.port")
    return []
