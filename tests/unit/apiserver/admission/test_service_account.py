from __future__ import annotations

from typing import Any

import orjson
import pytest

from apimachinery import errors
from apimachinery.clock import FixedClock
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.service_account import ServiceAccount
from apiserver.registry.call import LOOPBACK, Call
from apiserver.scheme.resources import Resource
from apiserver.storage.types import Stored

PODS = Resource("", "v1", "pods", "Pod", "pod", True, "/registry/pods")
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "hash"}}
ENFORCING = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}


class Accounts:
    """A store of service accounts in namespace `ns`. `late`: how often each is looked for before it is there."""

    def __init__(self, *accounts: Object, late: int | None = None) -> None:
        self._found = {}
        for one in accounts:
            key = f"/registry/serviceaccounts/ns/{one['metadata']['name']}"
            self._found[key] = Stored(key, orjson.dumps(one), 1)
        self._late = late
        self.asked = 0

    def cached(self, key: str) -> Stored | None:
        return self._found.get(key) if self._late is None else None

    async def get(self, key: str) -> Stored | None:
        self.asked += 1
        return self._found.get(key) if self.asked > (self._late or 0) else None


def account(name: str = "default", *, metadata: Object | None = None, **fields: Any) -> Object:
    return {"metadata": {"name": name} | (metadata or {})} | fields


def pod(*, metadata: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "p"} | (metadata or {}), "spec": {"containers": [{"name": "c"}]} | spec}


async def admitted(store: Any, obj: Object, clock: FixedClock | None = None) -> Object:
    plugin = ServiceAccount(store, clock or FixedClock())
    call = Call(LOOPBACK, PODS, "create", "ns")
    changed = await plugin.mutate(Review(call, "CREATE", obj, None))
    assert changed is not None
    await plugin.validate(Review(call, "CREATE", changed, None))
    return changed


async def test_a_pod_that_names_no_account_runs_as_default() -> None:
    spec = (await admitted(Accounts(account()), pod()))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")


async def test_a_pod_of_a_missing_account_is_refused_at_once() -> None:
    clock, store = FixedClock(), Accounts(account())
    with pytest.raises(errors.Forbidden) as refused:
        await admitted(store, pod(serviceAccountName="robot"), clock)
    assert refused.value.message == (
        'pods "p" is forbidden: error looking up service account ns/robot: serviceaccount "robot" not found'
    )
    assert (store.asked, clock.monotonic()) == (1, 0)


async def test_the_default_account_is_waited_for_because_a_controller_makes_it() -> None:
    clock = FixedClock()
    await admitted(Accounts(account(), late=3), pod(), clock)
    assert 0 < clock.monotonic() < 1


async def test_a_default_account_that_does_not_come_is_waited_for_no_longer_than_two_seconds() -> None:
    clock, store = FixedClock(), Accounts()
    with pytest.raises(errors.Forbidden, match='service account ns/default: serviceaccount "default" not found'):
        await admitted(store, pod(), clock)
    assert store.asked == 10
    assert 1 < clock.monotonic() < 2


async def test_a_pod_takes_its_accounts_pull_secrets_unless_it_has_its_own() -> None:
    store = Accounts(account(imagePullSecrets=[{"name": "registry"}]))
    assert (await admitted(store, pod()))["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    own = pod(imagePullSecrets=[{"name": "mine"}])
    assert (await admitted(store, own))["spec"]["imagePullSecrets"] == [{"name": "mine"}]


async def test_a_mirror_pod_gets_no_account() -> None:
    assert "serviceAccountName" not in (await admitted(Accounts(), pod(metadata=MIRROR)))["spec"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"serviceAccountName": "default"}, "reference service accounts"),
        ({"imagePullSecrets": [{"name": "s"}]}, "reference secrets"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "reference secrets"),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}]}, "reference secrets"),
        ({"volumes": [{"name": "v", "csi": {"nodePublishSecretRef": {"name": "s"}}}]}, "reference secrets"),
        ({"initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "s"}}]}]}, "reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_a_mirror_pod_may_use_neither_accounts_nor_secrets(spec: Object, problem: str) -> None:
    with pytest.raises(errors.Forbidden, match=f"a mirror pod may not {problem}$"):
        await admitted(Accounts(account()), pod(metadata=MIRROR, **spec))


def _env(name: str) -> Object:
    return {"name": "c", "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}]}


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, 'volume with secret.secretName="s"'),
        ({"containers": [_env("s")]}, 'container c with envVar KEY referencing secret.secretName="s"'),
        ({"initContainers": [_env("s")]}, 'init container c with envVar KEY referencing secret.secretName="s"'),
        ({"imagePullSecrets": [{"name": "known"}, {"name": "s"}]}, r'imagePullSecrets\[1\].name="s"'),
    ],
)
async def test_an_account_may_limit_its_pods_to_the_secrets_it_lists(spec: Object, what: str) -> None:
    lists = {"secrets": [{"name": "known"}], "imagePullSecrets": [{"name": "known"}]}
    await admitted(Accounts(account(**lists)), pod(**spec))  # who does not insist
    await admitted(Accounts(account(metadata=ENFORCING, **lists)), pod(containers=[_env("known")]))
    why = "is not allowed because service account default does not reference that (secret|imagePullSecret)$"
    with pytest.raises(errors.Forbidden, match=f'pods "p" is forbidden: {what} {why}'):
        await admitted(Accounts(account(metadata=ENFORCING, **lists)), pod(**spec))


async def test_the_limit_holds_for_containers_that_are_added_later() -> None:
    store: Any = Accounts(account(metadata=ENFORCING))
    call = Call(LOOPBACK, PODS, "update", "ns", "p", "ephemeralcontainers")
    changed = pod(serviceAccountName="default", ephemeralContainers=[_env("s")])
    with pytest.raises(errors.Forbidden, match=r'ephemeral container c with envVar KEY referencing .*"s" is not'):
        await ServiceAccount(store, FixedClock()).validate(Review(call, "UPDATE", changed, pod()))
