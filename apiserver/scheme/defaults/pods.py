"""What a pod's fields default to, in a pod and in every template of one (step A7).

Source: upstream's `pkg/apis/core/v1/defaults.go`. Two defaults hold for pods only, not for templates: requests follow
limits, and service links are on.
"""

from __future__ import annotations

from collections.abc import Iterator

from apimachinery.objects import Object

FILE_MODE = 0o644


def pod(obj: Object) -> None:
    """A Pod."""
    spec = obj.setdefault("spec", {})
    for container in containers(spec):
        _requests_from_limits(container.get("resources") or {})
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
    _requests_from_limits(spec.get("resources") or {})
    spec.setdefault("enableServiceLinks", True)
    pod_spec(spec)


def template(obj: Object) -> None:
    """The `spec` of a PodTemplateSpec."""
    pod_spec(obj.setdefault("spec", {}))


def pod_spec(spec: Object) -> None:
    for volume in spec.get("volumes") or ():
        _volume(volume)
    for container in containers(spec):
        _container(container)
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")


def containers(spec: Object) -> Iterator[Object]:
    """Init, app and ephemeral containers."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def pull_policy(image: str) -> str:
    """`Always` for the tag latest, said or implied; a digest alone implies no tag."""
    name, _, digest = image.partition("@")
    last = name.rpartition("/")[2]
    tag = last.partition(":")[2]
    return "Always" if tag == "latest" or (not tag and not digest) else "IfNotPresent"


def _container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        _field_reference((variable.get("valueFrom") or {}).get("fieldRef"))
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if kind in container:
            _probe(container[kind])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _http_get(hook.get("httpGet"))


def _probe(probe: Object) -> None:
    _http_get(probe.get("httpGet"))
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(field):
            probe[field] = value


def _http_get(action: Object | None) -> None:
    if action is not None:
        action["path"] = action.get("path") or "/"
        action["scheme"] = action.get("scheme") or "HTTP"


def _field_reference(reference: Object | None) -> None:
    if reference is not None:
        reference["apiVersion"] = reference.get("apiVersion") or "v1"


def _volume(volume: Object) -> None:
    sources = [field for field in volume if field != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        source = volume.get(kind)
        if source is not None:
            source.setdefault("defaultMode", FILE_MODE)
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        _field_reference(item.get("fieldRef"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            _field_reference(item.get("fieldRef"))
    if volume.get("hostPath") is not None:
        volume["hostPath"].setdefault("type", "")
    claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec")
    if claim is not None:
        claim.setdefault("volumeMode", "Filesystem")


def _requests_from_limits(resources: Object) -> None:
    limits = resources.get("limits")
    if limits:
        requests = resources.setdefault("requests", {})
        for name, value in limits.items():
            requests.setdefault(name, value)
