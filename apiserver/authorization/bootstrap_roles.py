"""The roles and bindings that every cluster has, as upstream 1.37 defines them (`bootstrappolicy`), as a table.

A rule is a line: `VERBS on RESOURCES [in GROUPS] [named NAMES]` or `VERBS at PATHS`, lists joined by commas, the core
group written as `core` and assumed when no group is given.
"""

from __future__ import annotations

from apimachinery.objects import Object

READ = "get,list,watch"
WRITE = "create,delete,deletecollection,patch,update"
READ_WRITE = f"{WRITE},{READ}"
EVENTS = "create,patch,update on events in core,events.k8s.io"
_SHARE = "rbac.authorization.k8s.io/aggregate-to-"
_RBAC = "rbac.authorization.k8s.io"
_APPS = "apps,extensions"

CLUSTER_ROLES: dict[str, tuple[str, ...]] = {
    "cluster-admin": ("* on * in *", "* at *"),
    "system:discovery": (
        "get at /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/",
    ),
    "system:public-info-viewer": ("get at /healthz,/livez,/readyz,/version,/version/",),
    "system:monitoring": ("get at /healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*",),
    "system:service-account-issuer-discovery": ("get at /.well-known/openid-configuration,/openid/v1/jwks",),
    "system:basic-user": (
        "create on selfsubjectaccessreviews,selfsubjectrulesreviews in authorization.k8s.io",
        "create on selfsubjectreviews in authentication.k8s.io",
    ),
    "system:aggregate-to-admin": (
        "create on localsubjectaccessreviews in authorization.k8s.io",
        f"{READ_WRITE} on rolebindings,roles in {_RBAC}",
    ),
    "system:aggregate-to-edit": (
        f"{READ} on pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy",
        "impersonate on serviceaccounts",
        f"{WRITE} on pods,pods/attach,pods/exec,pods/portforward,pods/proxy",
        "create on pods/eviction,serviceaccounts/token",
        f"{WRITE} on configmaps,events,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,"
        "secrets,serviceaccounts,services,services/proxy",
        f"{WRITE} on daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,"
        "statefulsets,statefulsets/scale in apps",
        f"{WRITE} on horizontalpodautoscalers in autoscaling",
        f"{WRITE} on cronjobs,jobs in batch",
        f"{WRITE} on daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,"
        "replicasets,replicasets/scale,replicationcontrollers/scale in extensions",
        f"{WRITE} on poddisruptionbudgets in policy",
        f"{WRITE} on ingresses,networkpolicies in networking.k8s.io",
        f"{READ_WRITE} on leases in coordination.k8s.io",
    ),
    "system:aggregate-to-view": (
        f"{READ} on configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,"
        "replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status",
        f"{READ} on bindings,events,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,"
        "resourcequotas,resourcequotas/status,namespaces",
        f"{READ} on endpointslices in discovery.k8s.io",
        f"{READ} on controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,"
        "replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,statefulsets/status in apps",
        f"{READ} on horizontalpodautoscalers,horizontalpodautoscalers/status in autoscaling",
        f"{READ} on cronjobs,cronjobs/status,jobs,jobs/status in batch",
        f"{READ} on daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,ingresses,"
        "ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,"
        "replicationcontrollers/scale in extensions",
        f"{READ} on poddisruptionbudgets,poddisruptionbudgets/status in policy",
        f"{READ} on ingresses,ingresses/status,networkpolicies in networking.k8s.io",
    ),
    "system:auth-delegator": (
        "create on tokenreviews in authentication.k8s.io",
        "create on subjectaccessreviews in authorization.k8s.io",
    ),
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient": (
        "create on certificatesigningrequests/nodeclient in certificates.k8s.io",
    ),
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient": (
        "create on certificatesigningrequests/selfnodeclient in certificates.k8s.io",
    ),
    "system:certificates.k8s.io:kube-apiserver-client-approver": (
        "approve on signers in certificates.k8s.io named kubernetes.io/kube-apiserver-client",
    ),
    "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver": (
        "approve on signers in certificates.k8s.io named kubernetes.io/kube-apiserver-client-kubelet",
    ),
    "system:certificates.k8s.io:kubelet-serving-approver": (
        "approve on signers in certificates.k8s.io named kubernetes.io/kubelet-serving",
    ),
    "system:certificates.k8s.io:legacy-unknown-approver": (
        "approve on signers in certificates.k8s.io named kubernetes.io/legacy-unknown",
    ),
    "system:kube-aggregator": (f"{READ} on endpoints,services",),
    "system:kube-controller-manager": (
        EVENTS,
        "create on leases in coordination.k8s.io",
        "get,update on leases in coordination.k8s.io named kube-controller-manager",
        "create,update on secrets,serviceaccounts",
        "delete on secrets",
        "get on configmaps,namespaces,secrets,serviceaccounts",
        "create on tokenreviews in authentication.k8s.io",
        "create on subjectaccessreviews in authorization.k8s.io",
        "list,watch on * in *",
        "create on serviceaccounts/token",
    ),
    "system:kube-dns": ("list,watch on endpoints,services",),
    "system:kube-scheduler": (
        EVENTS,
        "create on leases in coordination.k8s.io",
        "get,update on leases in coordination.k8s.io named kube-scheduler",
        f"{READ} on nodes,replicationcontrollers,services,persistentvolumeclaims,persistentvolumes,namespaces",
        f"delete,{READ} on pods",
        "create on bindings,pods/binding",
        "patch,update on pods/status",
        f"{READ} on replicasets in {_APPS}",
        f"{READ} on statefulsets in apps",
        f"{READ} on poddisruptionbudgets in policy",
        "create on tokenreviews in authentication.k8s.io",
        "create on subjectaccessreviews in authorization.k8s.io",
        f"{READ} on csidrivers,csinodes,csistoragecapacities in storage.k8s.io",
        f"{READ} on deviceclasses,resourceclaims,resourceslices in resource.k8s.io",
        "patch,update on resourceclaims/status in resource.k8s.io",
    ),
    "system:kubelet-api-admin": (
        f"{READ},proxy on nodes",
        "* on nodes/log,nodes/metrics,nodes/proxy,nodes/stats",
    ),
    "system:node": (
        "create on tokenreviews in authentication.k8s.io",
        "create on localsubjectaccessreviews,subjectaccessreviews in authorization.k8s.io",
        f"{READ} on services",
        f"create,{READ},patch,update on nodes",
        "patch,update on nodes/status",
        "create,patch,update on events",
        f"{READ},create,delete on pods",
        "patch,update on pods/status",
        "create on pods/eviction",
        f"{READ} on configmaps,secrets",
        "get on persistentvolumeclaims,persistentvolumes,endpoints",
        f"create,{READ} on certificatesigningrequests in certificates.k8s.io",
        "create,delete,get,patch,update on leases in coordination.k8s.io",
        "get on volumeattachments in storage.k8s.io",
        "create on serviceaccounts/token",
        "get,patch,update on persistentvolumeclaims/status",
        f"{READ} on csidrivers in storage.k8s.io",
        "create,delete,get,patch,update on csinodes in storage.k8s.io",
        f"{READ} on runtimeclasses in node.k8s.io",
        "get on resourceclaims in resource.k8s.io",
        f"{READ_WRITE} on resourceslices in resource.k8s.io",
    ),
    "system:node-bootstrapper": (f"create,{READ} on certificatesigningrequests in certificates.k8s.io",),
    "system:node-problem-detector": ("get on nodes", "patch on nodes/status", EVENTS),
    "system:node-proxier": (
        "list,watch on endpoints,services",
        f"{READ} on nodes",
        EVENTS,
        "list,watch on endpointslices in discovery.k8s.io",
        "list,watch on servicecidrs in networking.k8s.io",
    ),
    "system:persistent-volume-provisioner": (
        f"create,delete,{READ} on persistentvolumes",
        f"{READ},update on persistentvolumeclaims",
        f"{READ} on storageclasses in storage.k8s.io",
        "watch on events",
        EVENTS,
    ),
    "system:volume-scheduler": (
        f"{READ},patch,update on persistentvolumes,persistentvolumeclaims",
        f"{READ} on storageclasses in storage.k8s.io",
    ),
}

AGGREGATED = {
    "admin": ({}, "admin"),
    "edit": ({f"{_SHARE}admin": "true"}, "edit"),
    "view": ({f"{_SHARE}edit": "true"}, "view"),
}
"""Name → (labels, what it gathers)."""

LABELS = {f"system:aggregate-to-{name}": {f"{_SHARE}{name}": "true"} for name in AGGREGATED}

CONTROLLER_ROLES: dict[str, tuple[str, ...]] = {
    "attachdetach-controller": (
        "list,watch on persistentvolumeclaims,persistentvolumes,pods",
        f"{READ} on nodes",
        "patch,update on nodes/status",
        EVENTS,
        f"create,delete,{READ} on volumeattachments in storage.k8s.io",
        f"{READ} on csidrivers,csinodes in storage.k8s.io",
    ),
    "certificate-controller": (
        f"delete,{READ} on certificatesigningrequests in certificates.k8s.io",
        "update on certificatesigningrequests/approval,certificatesigningrequests/status in certificates.k8s.io",
        "approve on signers in certificates.k8s.io named kubernetes.io/kube-apiserver-client-kubelet",
        "sign on signers in certificates.k8s.io named kubernetes.io/kube-apiserver-client,"
        "kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,kubernetes.io/legacy-unknown",
        "create on subjectaccessreviews in authorization.k8s.io",
        EVENTS,
    ),
    "clusterrole-aggregation-controller": (f"escalate,{READ},patch,update on clusterroles in {_RBAC}",),
    "cronjob-controller": (
        f"{READ},update on cronjobs in batch",
        f"create,delete,{READ},patch,update on jobs in batch",
        "update on cronjobs/status,cronjobs/finalizers in batch",
        "delete,list,watch on pods",
        EVENTS,
    ),
    "daemon-set-controller": (
        f"{READ} on daemonsets in {_APPS}",
        f"update on daemonsets/status,daemonsets/finalizers in {_APPS}",
        "list,watch on nodes",
        "create,delete,list,patch,watch on pods",
        "create on pods/binding",
        f"create,delete,{READ},patch,update on controllerrevisions in apps",
        EVENTS,
    ),
    "deployment-controller": (
        f"{READ},update on deployments in {_APPS}",
        f"update on deployments/status,deployments/finalizers in {_APPS}",
        f"create,delete,{READ},patch,update on replicasets in {_APPS}",
        f"{READ},update on pods",
        EVENTS,
    ),
    "disruption-controller": (
        f"{READ} on deployments,replicasets in {_APPS}",
        f"{READ} on replicationcontrollers",
        f"{READ} on poddisruptionbudgets in policy",
        f"{READ} on statefulsets in apps",
        "update on poddisruptionbudgets/status in policy",
        "patch,update on pods/status",
        "get on */scale in *",
        EVENTS,
    ),
    "endpoint-controller": (
        f"{READ} on pods,services",
        f"create,delete,{READ},update on endpoints",
        "create on endpoints/restricted",
        EVENTS,
    ),
    "endpointslice-controller": (
        f"{READ} on nodes,pods,services",
        "update on services/finalizers",
        f"create,delete,{READ},update on endpointslices in discovery.k8s.io",
        EVENTS,
    ),
    "endpointslicemirroring-controller": (
        f"{READ} on endpoints,services",
        "update on services/finalizers,endpoints/finalizers",
        f"create,delete,{READ},update on endpointslices in discovery.k8s.io",
        EVENTS,
    ),
    "ephemeral-volume-controller": (
        f"{READ} on pods",
        "update on pods/finalizers",
        f"create,{READ} on persistentvolumeclaims",
        EVENTS,
    ),
    "expand-controller": (
        f"{READ},patch,update on persistentvolumes",
        "patch,update on persistentvolumeclaims/status",
        f"{READ} on persistentvolumeclaims",
        EVENTS,
    ),
    "generic-garbage-collector": (f"delete,{READ},patch,update on * in *", EVENTS),
    "horizontal-pod-autoscaler": (
        f"{READ} on horizontalpodautoscalers in autoscaling",
        "update on horizontalpodautoscalers/status in autoscaling",
        "get,update on */scale in *",
        "list,watch on pods",
        "list,watch on pods in metrics.k8s.io",
        f"{READ} on * in custom.metrics.k8s.io,external.metrics.k8s.io",
        EVENTS,
    ),
    "job-controller": (
        f"{READ},patch,update on jobs in batch",
        "update on jobs/status,jobs/finalizers in batch",
        "create,delete,list,patch,watch on pods",
        EVENTS,
    ),
    "namespace-controller": (
        f"delete,{READ} on namespaces",
        "update on namespaces/finalize,namespaces/status",
        f"delete,deletecollection,{READ} on * in *",
    ),
    "node-controller": (
        f"delete,{READ},patch,update on nodes",
        "patch,update on nodes/status,pods/status",
        f"delete,{READ} on pods",
        EVENTS,
    ),
    "persistent-volume-binder": (
        f"create,delete,{READ},update on persistentvolumes",
        "update on persistentvolumes/status,persistentvolumeclaims/status",
        f"{READ},update on persistentvolumeclaims",
        f"create,delete,{READ} on pods",
        f"{READ} on storageclasses in storage.k8s.io",
        "list,watch on nodes",
        EVENTS,
        "watch on events",
    ),
    "pod-garbage-collector": ("delete,list,watch on pods", f"{READ} on nodes", "patch on pods/status"),
    "pv-protection-controller": (f"{READ},update on persistentvolumes", EVENTS),
    "pvc-protection-controller": (
        f"{READ},update on persistentvolumeclaims",
        "update on persistentvolumeclaims/status",
        f"{READ} on pods",
        EVENTS,
    ),
    "replicaset-controller": (
        f"{READ},update on replicasets in {_APPS}",
        f"update on replicasets/status,replicasets/finalizers in {_APPS}",
        "create,delete,list,patch,watch on pods",
        EVENTS,
    ),
    "replication-controller": (
        f"{READ},update on replicationcontrollers",
        "update on replicationcontrollers/status,replicationcontrollers/finalizers",
        "create,delete,list,patch,watch on pods",
        EVENTS,
    ),
    "resourcequota-controller": ("list,watch on * in *", "update on resourcequotas/status", EVENTS),
    "root-ca-cert-publisher": ("create,update on configmaps", EVENTS),
    "route-controller": ("list,watch on nodes", "patch on nodes/status", EVENTS),
    "service-account-controller": ("create on serviceaccounts", EVENTS),
    "service-cidrs-controller": (
        f"{READ},patch,update on servicecidrs in networking.k8s.io",
        "patch,update on servicecidrs/finalizers,servicecidrs/status in networking.k8s.io",
        f"{READ} on ipaddresses in networking.k8s.io",
        EVENTS,
    ),
    "service-controller": (
        f"{READ} on services",
        "patch,update on services/status",
        "list,watch on nodes",
        EVENTS,
    ),
    "statefulset-controller": (
        f"create,delete,{READ},patch,update on pods",
        f"{READ} on statefulsets in apps",
        "update on statefulsets/status,statefulsets/finalizers in apps",
        f"create,delete,{READ},patch,update on controllerrevisions in apps",
        f"create,delete,{READ},update on persistentvolumeclaims",
        "update on pods/finalizers",
        EVENTS,
    ),
    "ttl-after-finished-controller": (f"delete,{READ} on jobs in batch", EVENTS),
    "ttl-controller": ("list,patch,update,watch on nodes", EVENTS),
    "validatingadmissionpolicy-status-controller": (
        f"{READ} on validatingadmissionpolicies in admissionregistration.k8s.io",
        "get,patch,update on validatingadmissionpolicies/status in admissionregistration.k8s.io",
        EVENTS,
    ),
}
"""By the name of the controller's service account in kube-system; the role is `system:controller:NAME`."""

ROLES: dict[tuple[str, str], tuple[str, ...]] = {
    ("kube-system", "extension-apiserver-authentication-reader"): (
        f"{READ} on configmaps named extension-apiserver-authentication",
    ),
    ("kube-system", "system:controller:bootstrap-signer"): (f"{READ} on secrets",),
    ("kube-system", "system:controller:cloud-provider"): (f"create,{READ} on configmaps",),
    ("kube-system", "system:controller:token-cleaner"): (f"delete,{READ} on secrets", EVENTS),
    ("kube-system", "system::leader-locking-kube-controller-manager"): (
        "watch on configmaps",
        "get,update on configmaps named kube-controller-manager",
    ),
    ("kube-system", "system::leader-locking-kube-scheduler"): (
        "watch on configmaps",
        "get,update on configmaps named kube-scheduler",
    ),
    ("kube-public", "system:controller:bootstrap-signer"): (
        f"{READ} on configmaps",
        "update on configmaps named cluster-info",
        EVENTS,
    ),
}

CONTROLLER_MANAGER = "User system:kube-controller-manager"
_SCHEDULER = "User system:kube-scheduler"
_EVERYBODY = ("Group system:authenticated", "Group system:unauthenticated")

CLUSTER_BINDINGS: dict[str, tuple[str, ...]] = {
    "cluster-admin": ("Group system:masters",),
    "system:monitoring": ("Group system:monitoring",),
    "system:discovery": ("Group system:authenticated",),
    "system:basic-user": ("Group system:authenticated",),
    "system:public-info-viewer": _EVERYBODY,
    "system:node-proxier": ("User system:kube-proxy",),
    "system:kube-controller-manager": (CONTROLLER_MANAGER,),
    "system:kube-dns": ("ServiceAccount kube-system/kube-dns",),
    "system:kube-scheduler": (_SCHEDULER,),
    "system:volume-scheduler": (_SCHEDULER,),
    "system:service-account-issuer-discovery": ("Group system:serviceaccounts",),
    # Upstream leaves this one without subjects, for the Node authorizer; until there is one, nodes are allowed by role
    "system:node": ("Group system:nodes",),
}
"""Binding → subjects; it binds the ClusterRole of its own name."""

BINDINGS: dict[tuple[str, str, str], tuple[str, ...]] = {
    ("kube-system", "system::extension-apiserver-authentication-reader", "extension-apiserver-authentication-reader"): (
        CONTROLLER_MANAGER,
        _SCHEDULER,
    ),
    (
        "kube-system",
        "system::leader-locking-kube-controller-manager",
        "system::leader-locking-kube-controller-manager",
    ): (CONTROLLER_MANAGER, "ServiceAccount kube-system/kube-controller-manager"),
    ("kube-system", "system::leader-locking-kube-scheduler", "system::leader-locking-kube-scheduler"): (
        _SCHEDULER,
        "ServiceAccount kube-system/kube-scheduler",
    ),
    ("kube-system", "system:controller:bootstrap-signer", "system:controller:bootstrap-signer"): (
        "ServiceAccount kube-system/bootstrap-signer",
    ),
    ("kube-system", "system:controller:cloud-provider", "system:controller:cloud-provider"): (
        "ServiceAccount kube-system/cloud-provider",
    ),
    ("kube-system", "system:controller:token-cleaner", "system:controller:token-cleaner"): (
        "ServiceAccount kube-system/token-cleaner",
    ),
    ("kube-public", "system:controller:bootstrap-signer", "system:controller:bootstrap-signer"): (
        "ServiceAccount kube-system/bootstrap-signer",
    ),
}
"""(namespace, binding, role) → subjects."""


def rule(line: str) -> Object:
    """A line of the table as a PolicyRule."""
    verbs, at, paths = line.partition(" at ")
    if at:
        return {"nonResourceURLs": paths.split(","), "verbs": verbs.split(",")}
    verbs, _, rest = line.partition(" on ")
    rest, _, names = rest.partition(" named ")
    resources, _, groups = rest.partition(" in ")
    found: Object = {
        "apiGroups": ["" if group == "core" else group for group in (groups or "core").split(",")],
        "resources": sorted(resources.split(",")),
        "verbs": sorted(verbs.split(",")),
    }
    if names:
        found["resourceNames"] = names.split(",")
    return found


def subject(text: str) -> Object:
    """`User x`, `Group x` or `ServiceAccount namespace/x`."""
    kind, _, name = text.partition(" ")
    if kind == "ServiceAccount":
        namespace, _, name = name.partition("/")
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"apiGroup": _RBAC, "kind": kind, "name": name}
