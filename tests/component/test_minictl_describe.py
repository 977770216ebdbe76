"""`minictl describe` beside the real kubectl: the same words about the same objects."""

from __future__ import annotations

from tests.component.tools import Tool, outcome, without_age

OBJECTS = """\
apiVersion: v1
kind: Service
metadata: {name: two-ports, labels: {a: b}}
spec:
  selector: {app: web, tier: x}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: dns, port: 53, protocol: UDP}]
---
apiVersion: v1
kind: Service
metadata: {name: node-port}
spec: {type: NodePort, sessionAffinity: ClientIP, externalIPs: [192.0.2.1], ports: [{port: 80, targetPort: web}],
  externalTrafficPolicy: Local}
---
apiVersion: v1
kind: Service
metadata: {name: external}
spec: {type: ExternalName, externalName: example.test}
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: balanced}
spec: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8], ports: [{port: 80}],
  trafficDistribution: PreferClose}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: two-ports-x, labels: {kubernetes.io/service-name: two-ports}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.1.0.1]}, {addresses: [10.1.0.2], conditions: {ready: false}}, {addresses: [10.1.0.3]},
  {addresses: [10.1.0.4]}, {addresses: [10.1.0.5]}, {addresses: [10.1.0.6]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: conf, annotations: {note: "two\\nlines"}}
data: {a: "1", b: "two\\nlines\\n", empty: ""}
binaryData: {bin: aGVsbG8=}
---
apiVersion: v1
kind: Secret
metadata: {name: opaque}
stringData: {a: hello, b: ""}
---
apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
stringData: {token: abcdef}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
secrets: [{name: opaque}]
imagePullSecrets: [{name: one}, {name: two}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: plain}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: scoped}
spec: {hard: {pods: "5", requests.cpu: "2"}, scopes: [NotTerminating, BestEffort]}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m}, max: {cpu: "2"}},
  {type: PersistentVolumeClaim, max: {storage: 2Gi}}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: done}
spec:
  completions: 2
  backoffLimit: 3
  activeDeadlineSeconds: 100
  ttlSecondsAfterFinished: 5000
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: busybox, command: [sleep, "3"], volumeMounts: [{name: v, mountPath: /v}]}]
      volumes: [{name: v, emptyDir: {}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: indexed}
spec:
  suspend: true
  completionMode: Indexed
  completions: 40
  template: {spec: {restartPolicy: OnFailure, serviceAccountName: robot, containers: [{name: c, image: busybox}]}}
"""
DONE = """{"status": {"startTime": "2026-01-01T10:00:00Z", "completionTime": "2026-01-01T10:01:40Z", "succeeded": 2,
 "ready": 0,
 "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}}"""
INDEXES = ",".join(str(index) for index in range(0, 40, 2))
STATUSES = (
    ("job", "done", DONE),
    ("job", "indexed", f'{{"status": {{"completedIndexes": "{INDEXES}", "succeeded": 20}}}}'),
    ("quota", "scoped", '{"status": {"hard": {"pods": "5"}, "used": {"pods": "1"}}}'),
    ("service", "balanced", '{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7", "ipMode": "VIP"}]}}}'),
)
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: NAME, labels: {node-role.kubernetes.io/worker: ""}}
spec: {unschedulable: true, podCIDR: 10.2.0.0/24, providerID: own://1, taints: [{key: k, value: v, effect: NoSchedule}]}
"""


def test_descriptions_are_kubectls(minictl: Tool, kubectl: Tool, namespace: str) -> None:
    assert kubectl("create", "-f", "-", stdin=OBJECTS).returncode == 0
    assert kubectl("create", "-f", "-", stdin=NODE.replace("NAME", namespace)).returncode == 0
    for kind, name, patch in STATUSES:
        patched = kubectl("patch", kind, name, "--subresource=status", "--type=merge", "-p", patch)
        assert patched.returncode == 0, patched.stderr
    for words in (
        ("svc",),
        ("svc", "two-ports"),
        ("cm", "conf"),
        ("secrets",),
        ("sa",),
        ("sa", "robot"),
        ("jobs",),
        ("job", "indexed"),
        ("quota",),
        ("limits",),
        ("ns", namespace),
        ("ns", "default", "--show-events=false"),
        ("node", namespace),
    ):
        ours, theirs = (outcome(tool("describe", *words)) for tool in (minictl, kubectl))
        assert (words, *without_age(ours)) == (words, *without_age(theirs))


def test_manifests_are_described_and_shown_in_their_own_namespace(minictl: Tool, kubectl: Tool, namespace: str) -> None:
    manifest = f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: conf, namespace: {namespace}}}}}"
    assert kubectl("create", "-f", "-", stdin=manifest).returncode == 0
    for words in ("describe", "-f", "-"), ("get", "-o", "name", "-f", "-"), ("get", "--no-headers", "-f", "-"):
        ours, theirs = (outcome(tool("-n", "", *words, stdin=manifest)) for tool in (minictl, kubectl))
        assert (words, *without_age(ours)) == (words, *without_age(theirs))
        assert ours[0] == 0
