"""What fields default to: upstream's `SetDefaults_*` by hand, one function a kind (step A7).

Each function fills one object in place, touches only fields that are absent, and changes nothing when run twice.
"""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.scheme.defaults import access, core, pods, workloads

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

TABLE: dict[GVK, Callable[[Object], None]] = {
    GVK("", "v1", "Endpoints"): core.endpoints,
    GVK("", "v1", "LimitRange"): core.limit_range,
    GVK("", "v1", "Namespace"): core.namespace,
    GVK("", "v1", "PersistentVolume"): core.persistent_volume,
    GVK("", "v1", "PersistentVolumeClaim"): core.persistent_volume_claim,
    GVK("", "v1", "Pod"): pods.pod,
    GVK("", "v1", "PodTemplate"): workloads.pod_template,
    GVK("", "v1", "ReplicationController"): workloads.replication_controller,
    GVK("", "v1", "Secret"): core.secret,
    GVK("", "v1", "Service"): core.service,
    GVK("apps", "v1", "DaemonSet"): workloads.daemon_set,
    GVK("apps", "v1", "Deployment"): workloads.deployment,
    GVK("apps", "v1", "ReplicaSet"): workloads.replica_set,
    GVK("apps", "v1", "StatefulSet"): workloads.stateful_set,
    GVK("autoscaling", "v1", "HorizontalPodAutoscaler"): workloads.autoscaler_v1,
    GVK("autoscaling", "v2", "HorizontalPodAutoscaler"): workloads.autoscaler,
    GVK("batch", "v1", "CronJob"): workloads.cron_job,
    GVK("batch", "v1", "Job"): workloads.job,
    GVK("networking.k8s.io", "v1", "IngressClass"): core.ingress_class,
    GVK("networking.k8s.io", "v1", "NetworkPolicy"): core.network_policy,
    GVK(_RBAC, "v1", "ClusterRoleBinding"): access.role_binding,
    GVK(_RBAC, "v1", "RoleBinding"): access.role_binding,
    GVK("storage.k8s.io", "v1", "CSIDriver"): core.csi_driver,
    GVK("storage.k8s.io", "v1", "StorageClass"): core.storage_class,
    GVK(_ADMISSION, "v1", "MutatingAdmissionPolicy"): access.admission_policy,
    GVK(_ADMISSION, "v1", "MutatingAdmissionPolicyBinding"): access.admission_policy_binding,
    GVK(_ADMISSION, "v1", "MutatingWebhookConfiguration"): access.mutating_webhooks,
    GVK(_ADMISSION, "v1", "ValidatingAdmissionPolicy"): access.admission_policy,
    GVK(_ADMISSION, "v1", "ValidatingAdmissionPolicyBinding"): access.admission_policy_binding,
    GVK(_ADMISSION, "v1", "ValidatingWebhookConfiguration"): access.validating_webhooks,
    GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): access.resource_definition,
    GVK("apiregistration.k8s.io", "v1", "APIService"): access.api_service,
    GVK("scheduling.k8s.io", "v1", "PriorityClass"): core.priority_class,
    GVK("discovery.k8s.io", "v1", "EndpointSlice"): core.endpoint_slice,
}
