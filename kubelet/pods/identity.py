"""Labels and annotations on sandboxes and containers: how a pod is known again after a restart of the kubelet (L15).

They are upstream's, so that tools that read the runtime (crictl, ctr, log collectors) know our pods too. What a pod
that has vanished from the API still needs in order to be stopped well (its grace period, its preStop hooks) is kept
here and nowhere else.
Source: https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/kubelet/pkg/types/labels.go
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from apimachinery import objects
from apimachinery.objects import Object

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

SPEC_HASH = "io.kubernetes.container.hash"
IMAGE = "armillary.dev/image"  # as the spec names it: the runtime reports the digest or another tag of the same image
RESTART_COUNT = "io.kubernetes.container.restartCount"
MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
MESSAGE_FILE = "armillary.dev/termination-message-file"
PRE_STOP = "io.kubernetes.container.preStopHandler"
GRACE_SECONDS = "io.kubernetes.pod.terminationGracePeriod"

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_MIRROR = "kubernetes.io/config.mirror"
CONFIG_HASH = "kubernetes.io/config.hash"


def runtime_uid(pod: Object) -> str:
    """The uid that labels carry: a mirror pod stands for its static pod, whose uid is the hash of its manifest."""
    return objects.annotations_of(pod).get(CONFIG_MIRROR) or objects.uid_of(pod)


def is_mirror(pod: Object) -> bool:
    return CONFIG_MIRROR in objects.annotations_of(pod)


def is_static(pod: Object) -> bool:
    return objects.annotations_of(pod).get(CONFIG_SOURCE, "api") != "api"


def sandbox_labels(pod: Object) -> dict[str, str]:
    """The pod's own labels, then those that say whose sandbox it is."""
    return objects.labels_of(pod) | {
        POD_NAME: objects.name_of(pod),
        POD_NAMESPACE: objects.namespace_of(pod),
        POD_UID: objects.uid_of(pod),
    }


def container_labels(pod: Object, container: Object) -> dict[str, str]:
    return {
        CONTAINER_NAME: container["name"],
        POD_NAME: objects.name_of(pod),
        POD_NAMESPACE: objects.namespace_of(pod),
        POD_UID: objects.uid_of(pod),
    }


def container_annotations(pod: Object, container: Object, attempt: int) -> dict[str, str]:
    result = {
        SPEC_HASH: spec_hash(container),
        IMAGE: container["image"],
        RESTART_COUNT: str(attempt),
        MESSAGE_PATH: container.get("terminationMessagePath") or "/dev/termination-log",
        MESSAGE_POLICY: container.get("terminationMessagePolicy") or "File",
        GRACE_SECONDS: str(pod["spec"].get("terminationGracePeriodSeconds", 30)),
    }
    hook = (container.get("lifecycle") or {}).get("preStop")
    if hook:
        result[PRE_STOP] = orjson.dumps(hook).decode()
    return result


def spec_hash(container: Object) -> str:
    """Changes when a running container no longer is what the spec says: only the image can be changed in place."""
    return digest({"name": container["name"], "image": container["image"]})


def digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def pod_from_labels(labels: dict[str, str], default_grace_seconds: int) -> Object:
    """What can be said of a pod that only the runtime still knows: enough to stop and remove it."""
    grace_seconds = int(labels.get(GRACE_SECONDS) or default_grace_seconds)
    metadata = {
        "name": labels.get(POD_NAME, "unknown"),
        "namespace": labels.get(POD_NAMESPACE, "unknown"),
        "uid": labels[POD_UID],
    }
    spec = {"containers": [], "restartPolicy": "Never", "terminationGracePeriodSeconds": grace_seconds}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def describe(pod: Object) -> str:
    """`name_namespace(uid)`: how upstream's messages name a pod."""
    return f"{objects.name_of(pod)}_{objects.namespace_of(pod)}({objects.uid_of(pod)})"
