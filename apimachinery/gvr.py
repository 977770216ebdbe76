"""Group, version and resource: the name of a collection, and the URL path it is served at.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
The constants are those that the components themselves use; every other resource is found by discovery.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote


class GroupVersionResource(NamedTuple):
    """A collection, as `apps/v1 deployments`. `group` is "" for the core group; `resource` is the lower-case plural."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        """`v1` or `apps/v1`: the value of an object's `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, of one object, or of an object's subresource; each part is escaped."""
        parts = ["", "apis", self.group, self.version] if self.group else ["", "api", self.version]
        if namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.resource)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.resource}.{self.version}.{self.group}" if self.group else f"{self.resource}.{self.version}"


GVR = GroupVersionResource


class GroupVersionKind(NamedTuple):
    """The name of a schema, as `apps/v1 Deployment`."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupVersionKind:
        """From an object's `apiVersion` and `kind`."""
        group, slash, version = api_version.partition("/")
        return cls(group, version, kind) if slash else cls("", api_version, kind)


GVK = GroupVersionKind

PODS = GVR("", "v1", "pods")
NODES = GVR("", "v1", "nodes")
NAMESPACES = GVR("", "v1", "namespaces")
SERVICES = GVR("", "v1", "services")
ENDPOINTS = GVR("", "v1", "endpoints")
CONFIGMAPS = GVR("", "v1", "configmaps")
SECRETS = GVR("", "v1", "secrets")
SERVICE_ACCOUNTS = GVR("", "v1", "serviceaccounts")
EVENTS = GVR("", "v1", "events")
PERSISTENT_VOLUME_CLAIMS = GVR("", "v1", "persistentvolumeclaims")
RESOURCE_QUOTAS = GVR("", "v1", "resourcequotas")
LIMIT_RANGES = GVR("", "v1", "limitranges")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
REPLICA_SETS = GVR("apps", "v1", "replicasets")
DAEMON_SETS = GVR("apps", "v1", "daemonsets")
STATEFUL_SETS = GVR("apps", "v1", "statefulsets")
JOBS = GVR("batch", "v1", "jobs")
LEASES = GVR("coordination.k8s.io", "v1", "leases")
ENDPOINT_SLICES = GVR("discovery.k8s.io", "v1", "endpointslices")
EVENTS_V1 = GVR("events.k8s.io", "v1", "events")
POD_DISRUPTION_BUDGETS = GVR("policy", "v1", "poddisruptionbudgets")
