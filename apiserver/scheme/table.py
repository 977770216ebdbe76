"""Every built-in collection, one row each, in the order in which discovery lists the groups (step A3).

Facts of upstream: names, verbs, subresources, categories, selectable fields, and the key ranges in etcd, of which a few
are odd for history's sake (`minions`, `services/specs`, `controllers`, `ingress`).
Reviews (`tokenreviews`, `subjectaccessreviews` …), `bindings` and `componentstatuses` have rows but nothing is stored
for them; `STORELESS` names them.
"""

from __future__ import annotations

from apimachinery.gvr import GVK
from apiserver.scheme.columns import admission, cluster, devices, network, pods, policy, storage, workloads
from apiserver.scheme.resources import ALL_VERBS, Column, Resource, Subresource

READ_WRITE = ("get", "patch", "update")
STATUS = Subresource("status", READ_WRITE)
SCALE = Subresource("scale", READ_WRITE, GVK("autoscaling", "v1", "Scale"))
_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")


def _row(
    group: str,
    kind: str,
    resource: str,
    *,
    version: str = "v1",
    namespaced: bool = True,
    prefix: str = "",
    verbs: tuple[str, ...] = ALL_VERBS,
    short: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    sub: tuple[Subresource, ...] = (),
    columns: tuple[Column, ...] = (),
    fields: tuple[str, ...] = (),
) -> Resource:
    return Resource(
        group=group,
        version=version,
        resource=resource,
        kind=kind,
        singular=kind.lower(),
        namespaced=namespaced,
        prefix=f"/registry/{prefix or resource}",
        verbs=verbs,
        short_names=short,
        categories=categories,
        subresources=sub,
        columns=columns,
        selectable_fields=fields,
    )


def _cluster(group: str, kind: str, resource: str, **more: object) -> Resource:
    return _row(group, kind, resource, namespaced=False, **more)  # type: ignore[arg-type]  # the same keywords


def _options(kind: str) -> GVK:
    return GVK("", "v1", kind)


_ALL = ("all",)
_EXTENSIONS = ("api-extensions",)
_CREATE_ONLY = ("create",)

_POD_SUBRESOURCES = (
    Subresource("attach", _CONNECT, _options("PodAttachOptions")),
    Subresource("binding", _CREATE_ONLY, _options("Binding")),
    Subresource("ephemeralcontainers", READ_WRITE),
    Subresource("eviction", _CREATE_ONLY, GVK("policy", "v1", "Eviction")),
    Subresource("exec", _CONNECT, _options("PodExecOptions")),
    Subresource("log", ("get",)),
    Subresource("portforward", _CONNECT, _options("PodPortForwardOptions")),
    Subresource("proxy", _PROXY, _options("PodProxyOptions")),
    Subresource("resize", READ_WRITE),
    STATUS,
)

_REFERENCE_FIELDS = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")
_EVENT_FIELDS = (
    *(f"involvedObject.{name}" for name in _REFERENCE_FIELDS),
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_REGARDING_FIELDS = (
    *(f"regarding.{name}" for name in _REFERENCE_FIELDS),
    "reason",
    "reportingController",
    "type",
)

_POD_FIELDS = (
    "spec.hostNetwork",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.nominatedNodeName",
    "status.phase",
    "status.podIP",
    "status.podIPs",
)

CORE = (
    _row("", "Binding", "bindings", verbs=_CREATE_ONLY),
    _cluster("", "ComponentStatus", "componentstatuses", verbs=("get", "list"), short=("cs",)),
    _row("", "ConfigMap", "configmaps", short=("cm",), columns=cluster.CONFIG_MAP),
    _row("", "Endpoints", "endpoints", prefix="services/endpoints", short=("ep",), columns=network.ENDPOINTS),
    _row("", "Event", "events", short=("ev",), columns=cluster.EVENT, fields=_EVENT_FIELDS),
    _row("", "LimitRange", "limitranges", short=("limits",), columns=policy.LIMIT_RANGE),
    _cluster(
        "",
        "Namespace",
        "namespaces",
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
        short=("ns",),
        sub=(Subresource("finalize", ("update",)), STATUS),
        columns=cluster.NAMESPACE,
        fields=("status.phase",),
    ),
    _cluster(
        "",
        "Node",
        "nodes",
        prefix="minions",
        short=("no",),
        sub=(Subresource("proxy", _PROXY, _options("NodeProxyOptions")), STATUS),
        columns=cluster.NODE,
        fields=("spec.unschedulable",),
    ),
    _row("", "PersistentVolumeClaim", "persistentvolumeclaims", short=("pvc",), sub=(STATUS,), columns=storage.CLAIM),
    _cluster("", "PersistentVolume", "persistentvolumes", short=("pv",), sub=(STATUS,), columns=storage.VOLUME),
    _row(
        "",
        "Pod",
        "pods",
        short=("po",),
        categories=_ALL,
        sub=_POD_SUBRESOURCES,
        columns=pods.POD,
        fields=_POD_FIELDS,
    ),
    _row("", "PodTemplate", "podtemplates", columns=workloads.POD_TEMPLATE),
    _row(
        "",
        "ReplicationController",
        "replicationcontrollers",
        prefix="controllers",
        short=("rc",),
        categories=_ALL,
        sub=(SCALE, STATUS),
        columns=workloads.REPLICATION_CONTROLLER,
        fields=("status.replicas",),
    ),
    _row("", "ResourceQuota", "resourcequotas", short=("quota",), sub=(STATUS,), columns=policy.RESOURCE_QUOTA),
    _row("", "Secret", "secrets", columns=cluster.SECRET, fields=("type",)),
    _row(
        "",
        "ServiceAccount",
        "serviceaccounts",
        short=("sa",),
        sub=(Subresource("token", _CREATE_ONLY, GVK("authentication.k8s.io", "v1", "TokenRequest")),),
        columns=cluster.SERVICE_ACCOUNT,
    ),
    _row(
        "",
        "Service",
        "services",
        prefix="services/specs",
        short=("svc",),
        categories=_ALL,
        sub=(Subresource("proxy", _PROXY, _options("ServiceProxyOptions")), STATUS),
        columns=network.SERVICE,
        fields=("spec.clusterIP", "spec.type"),
    ),
)

APISERVICES = (
    _cluster(
        "apiregistration.k8s.io",
        "APIService",
        "apiservices",
        prefix="apiregistration.k8s.io/apiservices",
        categories=_EXTENSIONS,
        sub=(STATUS,),
        columns=admission.API_SERVICE,
    ),
)

APPS = (
    _row("apps", "ControllerRevision", "controllerrevisions", columns=workloads.CONTROLLER_REVISION),
    _row(
        "apps",
        "DaemonSet",
        "daemonsets",
        short=("ds",),
        categories=_ALL,
        sub=(STATUS,),
        columns=workloads.DAEMON_SET,
    ),
    _row(
        "apps",
        "Deployment",
        "deployments",
        short=("deploy",),
        categories=_ALL,
        sub=(SCALE, STATUS),
        columns=workloads.DEPLOYMENT,
    ),
    _row(
        "apps",
        "ReplicaSet",
        "replicasets",
        short=("rs",),
        categories=_ALL,
        sub=(SCALE, STATUS),
        columns=workloads.REPLICA_SET,
        fields=("status.replicas",),
    ),
    _row(
        "apps",
        "StatefulSet",
        "statefulsets",
        short=("sts",),
        categories=_ALL,
        sub=(SCALE, STATUS),
        columns=workloads.STATEFUL_SET,
    ),
)

EVENTS = (_row("events.k8s.io", "Event", "events", short=("ev",), columns=cluster.EVENT_V1, fields=_REGARDING_FIELDS),)

AUTHENTICATION = (
    _cluster("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", verbs=_CREATE_ONLY),
    _cluster("authentication.k8s.io", "TokenReview", "tokenreviews", verbs=_CREATE_ONLY),
)

AUTHORIZATION = (
    _row("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE_ONLY),
    _cluster("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", verbs=_CREATE_ONLY),
    _cluster("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", verbs=_CREATE_ONLY),
    _cluster("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", verbs=_CREATE_ONLY),
)

AUTOSCALING = (
    _row(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        version="v2",
        short=("hpa",),
        categories=_ALL,
        sub=(STATUS,),
        columns=workloads.AUTOSCALER,
    ),
    _row(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        short=("hpa",),
        categories=_ALL,
        sub=(STATUS,),
        columns=workloads.AUTOSCALER_V1,
    ),
)

BATCH = (
    _row("batch", "CronJob", "cronjobs", short=("cj",), categories=_ALL, sub=(STATUS,), columns=workloads.CRON_JOB),
    _row("batch", "Job", "jobs", categories=_ALL, sub=(STATUS,), columns=workloads.JOB, fields=("status.successful",)),
)

CERTIFICATES = (
    _cluster(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        short=("csr",),
        sub=(Subresource("approval", READ_WRITE), STATUS),
        columns=cluster.SIGNING_REQUEST,
        fields=("spec.signerName",),
    ),
    _cluster(
        "certificates.k8s.io",
        "ClusterTrustBundle",
        "clustertrustbundles",
        columns=cluster.TRUST_BUNDLE,
        fields=("spec.signerName",),
    ),
    _row(
        "certificates.k8s.io",
        "PodCertificateRequest",
        "podcertificaterequests",
        sub=(STATUS,),
        columns=cluster.POD_CERTIFICATE,
        fields=("spec.nodeName", "spec.signerName"),
    ),
)

NETWORKING = (
    _cluster("networking.k8s.io", "IngressClass", "ingressclasses", columns=network.INGRESS_CLASS),
    _row(
        "networking.k8s.io",
        "Ingress",
        "ingresses",
        prefix="ingress",
        short=("ing",),
        sub=(STATUS,),
        columns=network.INGRESS,
    ),
    _cluster(
        "networking.k8s.io",
        "IPAddress",
        "ipaddresses",
        short=("ip",),
        columns=network.IP_ADDRESS,
        fields=("spec.parentRef.name", "spec.parentRef.namespace"),
    ),
    _row("networking.k8s.io", "NetworkPolicy", "networkpolicies", short=("netpol",), columns=network.NETWORK_POLICY),
    _cluster("networking.k8s.io", "ServiceCIDR", "servicecidrs", sub=(STATUS,), columns=network.SERVICE_CIDR),
)

POLICY = (
    _row(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        short=("pdb",),
        sub=(STATUS,),
        columns=policy.DISRUPTION_BUDGET,
    ),
)

RBAC = (
    _cluster("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", columns=policy.ROLE_BINDING),
    _cluster("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", columns=policy.ROLE),
    _row("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", columns=policy.ROLE_BINDING),
    _row("rbac.authorization.k8s.io", "Role", "roles", columns=policy.ROLE),
)

STORAGE = (
    _cluster("storage.k8s.io", "CSIDriver", "csidrivers", columns=storage.CSI_DRIVER),
    _cluster("storage.k8s.io", "CSINode", "csinodes", columns=storage.CSI_NODE),
    _row("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities", columns=storage.CAPACITY),
    _cluster("storage.k8s.io", "StorageClass", "storageclasses", short=("sc",), columns=storage.STORAGE_CLASS),
    _cluster("storage.k8s.io", "VolumeAttachment", "volumeattachments", sub=(STATUS,), columns=storage.ATTACHMENT),
    _cluster("storage.k8s.io", "VolumeAttributesClass", "volumeattributesclasses", short=("vac",)),
)

ADMISSION = (
    _cluster(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        categories=_EXTENSIONS,
        columns=admission.MUTATING_POLICY,
    ),
    _cluster(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        categories=_EXTENSIONS,
        columns=admission.POLICY_BINDING,
    ),
    _cluster(
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        categories=_EXTENSIONS,
        columns=admission.WEBHOOKS,
    ),
    _cluster(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        categories=_EXTENSIONS,
        sub=(STATUS,),
        columns=admission.POLICY,
    ),
    _cluster(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        categories=_EXTENSIONS,
        columns=admission.POLICY_BINDING,
    ),
    _cluster(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        categories=_EXTENSIONS,
        columns=admission.WEBHOOKS,
    ),
)

EXTENSIONS = (
    _cluster(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        prefix="apiextensions.k8s.io/customresourcedefinitions",
        short=("crd", "crds"),
        categories=_EXTENSIONS,
        sub=(STATUS,),
        columns=admission.DEFINITION,
    ),
)

SCHEDULING = (
    _cluster("scheduling.k8s.io", "PriorityClass", "priorityclasses", short=("pc",), columns=policy.PRIORITY_CLASS),
)

COORDINATION = (_row("coordination.k8s.io", "Lease", "leases", columns=cluster.LEASE),)

NODE = (_cluster("node.k8s.io", "RuntimeClass", "runtimeclasses", columns=cluster.RUNTIME_CLASS),)

DISCOVERY = (_row("discovery.k8s.io", "EndpointSlice", "endpointslices", columns=network.ENDPOINT_SLICE),)

RESOURCE = (
    _cluster("resource.k8s.io", "DeviceClass", "deviceclasses"),
    _cluster("resource.k8s.io", "DeviceTaintRule", "devicetaintrules", sub=(STATUS,)),
    _row("resource.k8s.io", "ResourceClaim", "resourceclaims", sub=(STATUS,), columns=devices.CLAIM),
    _row("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates"),
    _cluster(
        "resource.k8s.io",
        "ResourceSlice",
        "resourceslices",
        columns=devices.SLICE,
        fields=("spec.driver", "spec.nodeName"),
    ),
)

STORAGE_MIGRATION = (
    _cluster(
        "storagemigration.k8s.io",
        "StorageVersionMigration",
        "storageversionmigrations",
        sub=(STATUS,),
        columns=devices.MIGRATION,
    ),
)

FLOW_CONTROL = (
    _cluster("flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas", sub=(STATUS,), columns=devices.FLOW_SCHEMA),
    _cluster(
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        sub=(STATUS,),
        columns=devices.PRIORITY_LEVEL,
    ),
)

BUILTIN: tuple[Resource, ...] = (
    *CORE,
    *APISERVICES,
    *APPS,
    *EVENTS,
    *AUTHENTICATION,
    *AUTHORIZATION,
    *AUTOSCALING,
    *BATCH,
    *CERTIFICATES,
    *NETWORKING,
    *POLICY,
    *RBAC,
    *STORAGE,
    *ADMISSION,
    *EXTENSIONS,
    *SCHEDULING,
    *COORDINATION,
    *NODE,
    *DISCOVERY,
    *RESOURCE,
    *STORAGE_MIGRATION,
    *FLOW_CONTROL,
)

STORELESS = frozenset(
    {("", "bindings"), ("", "componentstatuses")}
    | {(row.group, row.resource) for row in (*AUTHENTICATION, *AUTHORIZATION)}
)
