"""One strategy a kind that differs: `TABLE` says which. The rest take `GENERIC` or, with a status, `WITH_STATUS`."""

from __future__ import annotations

from apiserver.registry.strategies import apiservices, core, definitions, pods, policies, policy, services, workloads
from apiserver.registry.strategies.base import Strategy, WithStatus
from apiserver.scheme.resources import Resource

GENERIC = Strategy()
WITH_STATUS = WithStatus()
STATUS_ONLY = core.StatusOnly()
WITH_GENERATION = policy.WithGeneration()

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

TABLE: dict[tuple[str, str], Strategy] = {
    ("", "configmaps"): core.ConfigMaps(),
    ("", "endpoints"): core.EndpointsObjects(),
    ("", "events"): core.Events(),
    ("", "limitranges"): core.LimitRanges(),
    ("", "namespaces"): core.Namespaces(),
    ("", "nodes"): core.Nodes(),
    ("", "persistentvolumeclaims"): core.Volumes(),
    ("", "persistentvolumes"): core.Volumes(),
    ("", "pods"): pods.Pods(),
    ("", "podtemplates"): workloads.PodTemplates(),
    ("", "replicationcontrollers"): workloads.ReplicationControllers(),
    ("", "resourcequotas"): core.ResourceQuotas(),
    ("", "secrets"): core.Secrets(),
    ("", "serviceaccounts"): core.ServiceAccounts(),
    ("", "services"): services.Services(),
    ("apiregistration.k8s.io", "apiservices"): apiservices.APIServices(),
    ("apiextensions.k8s.io", "customresourcedefinitions"): definitions.Definitions(),
    ("apps", "controllerrevisions"): workloads.ControllerRevisions(),
    ("apps", "daemonsets"): workloads.DaemonSets(),
    ("apps", "deployments"): workloads.Deployments(),
    ("apps", "replicasets"): workloads.ReplicaSets(),
    ("apps", "statefulsets"): workloads.StatefulSets(),
    ("events.k8s.io", "events"): core.Events(),
    ("autoscaling", "horizontalpodautoscalers"): workloads.Autoscalers(),
    ("batch", "cronjobs"): workloads.CronJobs(),
    ("batch", "jobs"): workloads.Jobs(),
    ("certificates.k8s.io", "certificatesigningrequests"): policy.SigningRequests(),
    ("networking.k8s.io", "ingressclasses"): WITH_GENERATION,
    ("networking.k8s.io", "networkpolicies"): WITH_GENERATION,
    ("policy", "poddisruptionbudgets"): policy.DisruptionBudgets(),
    (_RBAC, "clusterrolebindings"): policy.RoleBindings(),
    (_RBAC, "clusterroles"): policy.Roles(),
    (_RBAC, "rolebindings"): policy.RoleBindings(),
    (_RBAC, "roles"): policy.Roles(),
    ("storage.k8s.io", "volumeattachments"): STATUS_ONLY,
    (_ADMISSION, "mutatingadmissionpolicies"): policies.MutatingPolicies(),
    (_ADMISSION, "mutatingadmissionpolicybindings"): policies.MutatingPolicyBindings(),
    (_ADMISSION, "mutatingwebhookconfigurations"): policy.Webhooks(mutating=True),
    (_ADMISSION, "validatingadmissionpolicies"): policies.AdmissionPolicies(),
    (_ADMISSION, "validatingadmissionpolicybindings"): policies.AdmissionPolicyBindings(),
    (_ADMISSION, "validatingwebhookconfigurations"): policy.Webhooks(mutating=False),
    ("scheduling.k8s.io", "priorityclasses"): policy.PriorityClasses(),
    ("coordination.k8s.io", "leases"): core.Leases(),
    ("discovery.k8s.io", "endpointslices"): core.EndpointSlices(),
}


def of(resource: Resource) -> Strategy:
    """The strategy of a collection, whatever its version."""
    if resource.custom is not None:
        own: Strategy = resource.custom.strategy
        return own
    found = TABLE.get((resource.group, resource.resource))
    if found is not None:
        return found
    return WITH_STATUS if resource.subresource("status") else GENERIC
