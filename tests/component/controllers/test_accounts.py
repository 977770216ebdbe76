"""Pods and the accounts they run as, with the controller that makes `default`."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from apimachinery import errors, gvr
from apimachinery.objects import Object
from client.rest import Client
from tests import harness


def pod(namespace: str, **spec: object) -> Object:
    container = {"name": "c", "image": "registry.example/app:1"}
    metadata = {"name": "p", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]} | spec}


async def test_a_pod_in_a_namespace_of_this_moment_waits_for_its_default_account(client: Client) -> None:
    name = f"t-{uuid.uuid4().hex[:8]}"
    await client.create(gvr.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    created = await client.create(gvr.PODS, pod(name))
    assert created["spec"]["serviceAccountName"] == created["spec"]["serviceAccount"] == "default"


async def test_a_pod_of_a_missing_account_is_refused_until_the_account_is_there(client: Client, namespace: str) -> None:
    with pytest.raises(errors.Forbidden) as refused:
        await client.create(gvr.PODS, pod(namespace, serviceAccountName="robot"))
    lookup = f"error looking up service account {namespace}/robot"
    assert refused.value.message == f'pods "p" is forbidden: {lookup}: serviceaccount "robot" not found'
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": namespace}}
    await client.create(gvr.SERVICE_ACCOUNTS, account | {"imagePullSecrets": [{"name": "registry"}]})
    created = await client.create(gvr.PODS, pod(namespace, serviceAccountName="robot"))
    assert created["spec"]["imagePullSecrets"] == [{"name": "registry"}]


async def test_kubectl_is_told_which_account_is_missing(server: harness.Server, namespace: str) -> None:
    overrides = '{"spec":{"serviceAccountName":"robot"}}'
    run = ("run", "web", "--image=registry.example/app:1", f"--overrides={overrides}", "-n", namespace)
    told = await asyncio.to_thread(server.try_kubectl, *run)
    assert told.stderr == (
        f'Error from server (Forbidden): pods "web" is forbidden: error looking up service account {namespace}/robot: '
        'serviceaccount "robot" not found\n'
    )
