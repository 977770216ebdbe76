"""Objects that the tests create."""

from __future__ import annotations

from typing import Any

from apimachinery.objects import Object


def template(app: str, image: str = "nginx:1", **spec: Any) -> Object:
    containers = [{"name": "c", "image": image}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers} | spec}


def deployment(name: str = "web", replicas: int = 3, **spec: Any) -> Object:
    body = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body | spec}


def replicaset(name: str = "web", replicas: int = 2) -> Object:
    body = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name)}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": body}


def job(name: str = "pi", **spec: Any) -> Object:
    body = {"template": template(name, restartPolicy="Never")}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body | spec}


def node(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
