"""Containers and volumes as pods and pod templates describe them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apimachinery.objects import Object
from minictl.describe import layout


def section(title: str, containers: Sequence[Object], statuses: Sequence[Object] | None, level: int) -> list[str]:
    """All containers under a title. `statuses` is None in a template, where nothing runs."""
    if not containers:
        return []
    known = {status["name"]: status for status in statuses or []}
    space = "  " * level
    lines = [f"{space}{title}:"]
    for container in containers:
        lines.append(f"{space}{' ' if level else '  '}{container['name']}:")
        status = known.get(container["name"])
        lines += [f"    {line}" for line in _container(container, status, running=statuses is not None)]
    return lines


def _container(container: Object, status: Object | None, *, running: bool) -> list[str]:
    lines = []
    if running:
        lines.append(f"Container ID:\t{(status or {}).get('containerID') or ''}")
    lines.append(f"Image:\t{container.get('image') or ''}")
    if running:
        lines.append(f"Image ID:\t{(status or {}).get('imageID') or ''}")
    lines += _ports(container.get("ports") or [])
    lines += _words("Command", container.get("command")) + _words("Args", container.get("args"))
    if status is not None:
        lines += _state("State", status.get("state") or {})
        if status.get("lastState"):
            lines += _state("Last State", status["lastState"])
        lines.append(f"Ready:\t{bool(status.get('ready'))}")
        lines.append(f"Restart Count:\t{status.get('restartCount') or 0}")
    resources = container.get("resources") or {}
    for title in ("Limits", "Requests"):
        lines += _resources(title, resources.get(title.lower()) or {})
    for title in ("Liveness", "Readiness", "Startup"):
        probe = container.get(f"{title.lower()}Probe")
        if probe:
            lines.append(f"{title}:\t{_probe(probe)}")
    return lines + _environment(container) + _mounts(container.get("volumeMounts") or [])


def _ports(ports: Sequence[Object]) -> list[str]:
    if not ports:
        return ["Port:\t<none>", "Host Port:\t<none>"]
    plural = "s" if len(ports) > 1 else ""
    inside = ", ".join(f"{port['containerPort']}/{port.get('protocol') or 'TCP'}{_name_of(port)}" for port in ports)
    outside = ", ".join(
        f"{port.get('hostPort') or 0}/{port.get('protocol') or 'TCP'}{_name_of(port)}" for port in ports
    )
    return [f"Port{plural}:\t{inside}", f"Host Port{plural}:\t{outside}"]


def _name_of(port: Object) -> str:
    return f" ({port['name']})" if port.get("name") else ""


def _words(title: str, words: Sequence[str] | None) -> list[str]:
    """A command, one word a line; the lines of a script stay under one another."""
    if not words:
        return []
    return [f"{title}:", *(f"  {line}" for word in words for line in word.split("\n"))]


def _state(title: str, state: Object) -> list[str]:
    if "running" in state:
        return [f"{title}:\tRunning", f"  Started:\t{layout.when(state['running'].get('startedAt'))}"]
    if "terminated" in state:
        ended = state["terminated"]
        lines = [f"{title}:\tTerminated"]
        lines += [f"  {name.title()}:\t{ended[name]}" for name in ("reason", "message") if ended.get(name)]
        lines.append(f"  Exit Code:\t{ended.get('exitCode', 0)}")
        if ended.get("signal"):
            lines.append(f"  Signal:\t{ended['signal']}")
        lines.append(f"  Started:\t{layout.when(ended.get('startedAt'))}")
        return [*lines, f"  Finished:\t{layout.when(ended.get('finishedAt'))}"]
    waiting = state.get("waiting") or {}
    lines = [f"{title}:\tWaiting"]
    return [*lines, *([f"  Reason:\t{waiting['reason']}"] if waiting.get("reason") else [])]


def _resources(title: str, amounts: Object) -> list[str]:
    return [f"{title}:", *(f"  {name}:\t{amount}" for name, amount in sorted(amounts.items()))] if amounts else []


def _probe(probe: Object) -> str:
    timings = (
        f"delay={probe.get('initialDelaySeconds') or 0}s timeout={probe.get('timeoutSeconds') or 1}s "
        f"period={probe.get('periodSeconds') or 10}s successThreshold={probe.get('successThreshold') or 1} "
        f"failureThreshold={probe.get('failureThreshold') or 3}"
    )
    if "exec" in probe:
        return f"exec [{' '.join(probe['exec'].get('command') or [])}] {timings}"
    if "httpGet" in probe:
        get = probe["httpGet"]
        scheme = str(get.get("scheme") or "HTTP").lower()
        return f"http-get {scheme}://{get.get('host') or ''}:{get['port']}{get.get('path') or ''} {timings}"
    if "tcpSocket" in probe:
        return f"tcp-socket {probe['tcpSocket'].get('host') or ''}:{probe['tcpSocket']['port']} {timings}"
    if "grpc" in probe:
        return f"grpc <pod>:{probe['grpc']['port']} {probe['grpc'].get('service') or ''} {timings}"
    return f"unknown {timings}"


def _environment(container: Object) -> list[str]:
    lines: list[str] = []
    if container.get("envFrom"):
        lines.append("Environment Variables from:")
        for source in container["envFrom"]:
            kind = "ConfigMap" if "configMapRef" in source else "Secret"
            ref = source.get("configMapRef") or source.get("secretRef") or {}
            lines.append(f"  {ref.get('name')}\t{kind}\tOptional: {_bool(ref.get('optional'))}")
    if not container.get("env"):
        return [*lines, "Environment:\t<none>"]
    lines.append("Environment:")
    return lines + [f"  {entry['name']}:\t{_value(entry)}" for entry in container["env"]]


def _value(entry: Object) -> str:
    source = entry.get("valueFrom") or {}
    if "fieldRef" in source:
        ref = source["fieldRef"]
        return f" ({ref.get('apiVersion') or 'v1'}:{ref['fieldPath']})"
    if "resourceFieldRef" in source:
        return f"{source['resourceFieldRef']['resource']} ({source['resourceFieldRef'].get('containerName', '')})"
    for name, kind in (("secretKeyRef", "secret"), ("configMapKeyRef", "config map")):
        if name in source:
            ref = source[name]
            return (
                f"<set to the key '{ref['key']}' {'in' if kind == 'secret' else 'of'} {kind} '{ref.get('name')}'>"
                f"\tOptional: {_bool(ref.get('optional'))}"
            )
    return str(entry.get("value") or "")


def _mounts(mounts: Sequence[Object]) -> list[str]:
    if not mounts:
        return ["Mounts:\t<none>"]
    lines = ["Mounts:"]
    for mount in sorted(mounts, key=lambda mount: str(mount["mountPath"])):
        options = "ro" if mount.get("readOnly") else "rw"
        if mount.get("subPath"):
            options += f',path="{mount["subPath"]}"'
        lines.append(f"  {mount['mountPath']} from {mount['name']} ({options})")
    return lines


def volumes(found: Sequence[Object], level: int) -> list[str]:
    """The volumes of a pod or template."""
    space = "  " * level
    if not found:
        return [f"{space}Volumes:\t<none>"]
    lines = [f"{space}Volumes:"]
    for volume in found:
        lines.append(f"{space}{' ' if level else '  '}{volume['name']}:")
        lines += [f"    {line}" for line in _volume(volume)]
    return lines


_TYPES = {
    "emptyDir": "EmptyDir (a temporary directory that shares a pod's lifetime)",
    "hostPath": "HostPath (bare host directory volume)",
    "secret": "Secret (a volume populated by a Secret)",
    "configMap": "ConfigMap (a volume populated by a ConfigMap)",
    "persistentVolumeClaim": "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
    "projected": "Projected (a volume that contains injected data from multiple sources)",
    "downwardAPI": "DownwardAPI (a volume populated by information about the pod)",
}


def _volume(volume: Object) -> list[str]:
    kind = next((name for name in volume if name != "name"), "")
    source = volume.get(kind) or {}
    lines = [f"Type:\t{_TYPES.get(kind, kind)}"]
    match kind:
        case "emptyDir":
            lines += [f"Medium:\t{source.get('medium') or ''}", f"SizeLimit:\t{source.get('sizeLimit') or '<unset>'}"]
        case "hostPath":
            lines += [f"Path:\t{source.get('path')}", f"HostPathType:\t{source.get('type') or ''}"]
        case "secret":
            lines += [f"SecretName:\t{source.get('secretName')}", f"Optional:\t{_bool(source.get('optional'))}"]
        case "configMap":
            lines += [f"Name:\t{source.get('name')}", f"Optional:\t{_bool(source.get('optional'))}"]
        case "persistentVolumeClaim":
            lines += [f"ClaimName:\t{source.get('claimName')}", f"ReadOnly:\t{_bool(source.get('readOnly'))}"]
        case "projected":
            lines += [line for part in source.get("sources") or [] for line in _projected(part)]
    return lines


def _projected(part: Object) -> list[str]:
    if "secret" in part:
        ref = part["secret"]
        return [f"SecretName:\t{ref.get('name')}", f"Optional:\t{_bool(ref.get('optional'))}"]
    if "configMap" in part:
        ref = part["configMap"]
        return [f"ConfigMapName:\t{ref.get('name')}", f"Optional:\t{_bool(ref.get('optional'))}"]
    if "downwardAPI" in part:
        return ["DownwardAPI:\ttrue"]
    token = part.get("serviceAccountToken") or {}
    return [f"TokenExpirationSeconds:\t{token.get('expirationSeconds') or 3600}"]


def _bool(value: Any) -> str:
    return "true" if value else "false"
