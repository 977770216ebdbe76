"""Good objects, from which bad ones are made."""

from __future__ import annotations

import json
from typing import Any

_CONTAINER: dict[str, Any] = {
    "name": "app",
    "image": "nginx:1",
    "command": ["sh", "-c"],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}],
    "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": 1}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
    "securityContext": {"runAsUser": 1, "capabilities": {"add": ["NET_ADMIN"]}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "sample",
        "labels": {"app": "sample"},
        "annotations": {"note": "x"},
        "finalizers": ["example.com/wait"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "owner", "uid": "1"}],
    },
    "spec": {
        "containers": [{**_CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
                }
            }
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "z",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {}},
            }
        ],
    },
}
_TEMPLATE = {"metadata": {"labels": {"app": "sample"}}, "spec": {"containers": [_CONTAINER]}}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "sample"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "sample"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        "template": _TEMPLATE,
    },
}
CONFIG_MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "sample", "labels": {"a": "b"}},
    "data": {"key": "value"},
    "binaryData": {"bin": "AAEC"},
}
SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "sample"},
    "spec": {
        "selector": {"app": "sample"},
        "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        "type": "NodePort",
    },
}
CRON_JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "sample"},
    "spec": {
        "schedule": "*/5 * * * *",
        "timeZone": "Etc/UTC",
        "jobTemplate": {"spec": {"template": {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}}},
    },
}
QUOTA: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "sample"},
    "spec": {"hard": {"pods": "10", "requests.cpu": "1"}, "scopes": ["BestEffort"]},
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.fuzz.example.com"},
    "spec": {
        "group": "fuzz.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "shortNames": ["th"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1, "default": 3},
                                    "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                                },
                                "x-kubernetes-validations": [{"rule": "self.size > 0", "message": "too small"}],
                            }
                        },
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"},
                },
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            }
        ],
    },
}

# Where each is created
PLACES: dict[str, str] = {
    "Pod": "/api/v1/namespaces/fuzz/pods",
    "Deployment": "/apis/apps/v1/namespaces/fuzz/deployments",
    "ConfigMap": "/api/v1/namespaces/fuzz/configmaps",
    "Service": "/api/v1/namespaces/fuzz/services",
    "CronJob": "/apis/batch/v1/namespaces/fuzz/cronjobs",
    "ResourceQuota": "/api/v1/namespaces/fuzz/resourcequotas",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}
ALL = (POD, DEPLOYMENT, CONFIG_MAP, SERVICE, CRON_JOB, QUOTA, DEFINITION)


def encoded(tree: Any) -> bytes:
    """JSON as Python writes it, which says more than orjson: big integers, lone surrogates."""
    return json.dumps(tree).encode()
